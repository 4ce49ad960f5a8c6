"""The command that explores dataflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lab.cli.group import bar, example, json_option, memory_option, say_json

if TYPE_CHECKING:
    from lab.exploring import Explored

__all__ = ["explore_command"]


@click.command(
    "explore",
    short_help="Generate all dataflows of attention and find the one that moves least.",
    epilog=example("pebble explore attention-forward:n=4096,d=64 --memory 2048"),
)
@click.argument("workload")
@memory_option
@click.option(
    "--others",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How many plans that keep other arrays are shown too.",
)
@json_option
def explore_command(workload: str, memory: str, others: int, *, as_json: bool) -> None:
    """Find the fused schedule of WORKLOAD with the least I/O under M red pebbles.

    A plan is a sequence of passes. A pass keeps blocks of rows or of columns resident while the
    other side streams past, or makes one product by tiles; it makes any set of arrays, loads any
    of the earlier ones and computes the rest anew. All of them are generated from the formula;
    tile sizes are fitted and counted from the texts. The winner is refereed and carried out on
    numbers on a small instance.
    """
    from lab.exploring import explore

    with bar("passes counted", None) as progress:
        found = explore(workload, memory, others=others, progress=progress)
    if as_json:
        say_json(found.to_json())
        return
    _say(found)


def _say(found: Explored) -> None:
    report = found.report
    click.echo(f"{report.workload}, M={report.memory}, rules {report.rules}")
    click.echo(f"least I/O of all dataflows: {report.io:,}, {len(found.passes)} pass(es)")
    for number, each in enumerate(found.passes, 1):
        sizes = ", ".join(f"{name} {size:,}" for name, size in each.tiles.items())
        click.echo(f"\n{number}. {each.text}: I/O {each.io:,}" + (f" ({sizes})" if sizes else ""))
        for part in ("resident", "streamed", "recomputed", "stored"):
            names = getattr(each, part)
            if names:
                click.echo(f"   {part + ':':12}{', '.join(names)}")
    click.echo(f"\n{found.form}")
    checked = found.checked
    numbers = "" if checked.error is None else f", numpy's results within {checked.error:.0e}"
    click.echo(
        f"\nrefereed on {checked.workload}, M={checked.report.memory}: legal, I/O "
        f"{checked.report.io:,} as counted{numbers}"
    )
    if found.certified is not None:
        ratio = report.io / found.certified.value
        click.echo(
            f"certified: no play moves less than {found.certified.value:,} "
            f"({found.certified.name}); this one {ratio:.4g} times that"
        )
    if found.built_in is not None:
        name, io = found.built_in
        less = f", {100 * (1 - report.io / io):.2g}% more" if io > report.io else ", as much"
        click.echo(f"best registered schedule: {name}, {io:,}{less if io >= report.io else ''}")
    for other in found.others:
        kept = f"keeping {', '.join(other.kept)}" if other.kept else "keeping nothing"
        plan = "; ".join(str(form) for form in other.plan.passes)
        click.echo(f"{kept}: {other.io:,} ({plan})")
    click.echo(f"{found.space} passes in the space, {found.counted} had to be counted")
