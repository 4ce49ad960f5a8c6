"""The command devices: real fast memories on the axis M / d², and the schedule that moves least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import bar, example, json_option, say_json, say_table

if TYPE_CHECKING:
    from lab.devices import Verdict

__all__ = ["devices_command"]


@click.command(
    "devices",
    short_help="Real devices: M, M/d², regime, and the strategy with the least I/O.",
    epilog=example("pebble devices --n 4096 --d 128"),
)
@click.option("--n", "length", type=click.IntRange(min=1), default=4096, show_default=True,
              help="Sequence length.")  # fmt: skip
@click.option("--d", "heads", default="64,128,256", show_default=True,
              help="Head dimensions, a range: 128 or 64,128,256.")  # fmt: skip
@click.option(
    "--workload",
    default="attention-forward",
    show_default=True,
    help="An attention without its sizes, such as attention-backward.",
)
@click.option("--sources", is_flag=True, help="Also say where each figure is published.")
@json_option
def devices_command(
    length: int, heads: str, workload: str, *, sources: bool, as_json: bool
) -> None:
    """Hold a dozen devices against M = d².

    Fast memory is that of one core (an SM, a compute unit), counted in scalars of the data type as
    if all of it held them. The strategy is the tile schedule with the least I/O at that M.
    """
    from lab.arguments import as_workload
    from lab.devices import devices, verdicts
    from lab.ranges import read_range

    sizes = read_range(heads, what="d")
    joint = "," if ":" in workload else ":"
    what = [as_workload(f"{workload}{joint}n={length},d={d}") for d in sizes]
    with bar("devices", len(what) * len(devices())) as progress:
        found = verdicts(what, progress)
    if as_json:
        say_json({"verdicts": [verdict.to_json() for verdict in found]})
        return
    say_table(_table(found))
    click.echo(
        "M: scalars of one core's fast memory; regime: M against d²; least I/O among the tile "
        "schedules,\nand over inputs + outputs, which every play moves"
    )
    if sources:
        for device in devices():
            click.echo(f"{device.name}: {device.source}\n  {device.address}")


def _table(found: list[Verdict]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("device", "fast memory", "KiB", "type"):
        table.add_column(heading, justify="right" if heading == "KiB" else "left")
    for heading in ("d", "M", "M/d²"):
        table.add_column(heading, justify="right")
    for heading in ("regime", "least I/O"):
        table.add_column(heading)
    for heading in ("I/O", "over least"):
        table.add_column(heading, justify="right")
    before = ""
    for verdict in found:
        if before not in {"", verdict.workload}:
            table.add_section()
        before = verdict.workload
        device = verdict.device
        table.add_row(
            device.name,
            device.memory,
            f"{device.bytes // 1024:,}",
            device.data_type,
            f"{verdict.d:,}",
            f"{verdict.memory:,}",
            f"{verdict.ratio:.3g}",
            verdict.regime,
            verdict.strategy or "–",
            "–" if verdict.io is None else f"{verdict.io:,}",
            "–" if verdict.over_compulsory is None else f"{verdict.over_compulsory:.3g}",
        )
    return table
