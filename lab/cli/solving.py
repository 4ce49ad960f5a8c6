"""The command that finds the optimum."""

from __future__ import annotations

from pathlib import Path

import click

from lab.cli.group import (
    bar,
    check_target,
    compiling,
    example,
    json_option,
    memory_option,
    rules_option,
    say_json,
)

__all__ = ["solve_command"]


@click.command(
    "solve",
    short_help="Find the least I/O of a workload, or an interval that holds it.",
    epilog=example("pebble solve fft:n=4 --memory 4", "pebble solve fft:n=8 --memory 4 --time 5"),
)
@click.argument("workload")
@memory_option
@rules_option
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds after which to stop, with a proven interval.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the best play: .txt to read, .pbl compact.",
)
@json_option
def solve_command(
    workload: str,
    memory: str,
    rules: str,
    seconds: float | None,
    trace: Path | None,
    *,
    as_json: bool,
) -> None:
    """Find the least loads + stores of any play of WORKLOAD, with a play that attains it.

    The referee judges the play. A search that is stopped by --time, or for want of memory, gives
    an interval: no play costs less than lower, the play found costs upper.
    """
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.solving import solve
    from strategies.optimum.solver import ready

    check_target(trace)
    what = as_workload(workload)
    as_rules(rules).check_memory(what.dag(), as_memory(memory, what))
    compiling(ready)
    with bar("states", None) as show:
        found = solve(what, memory, rules, time=seconds, trace=trace, progress=show)
    if as_json:
        more = {"workload": str(what), "trace": None if trace is None else str(trace)}
        say_json(more | found.to_json())
        return
    click.echo(f"{what}: {found}\n")
    click.echo(str(found.report))
    click.echo(
        f"\n{found.states:,} states, {found.automorphisms:,} automorphisms, "
        f"{found.seconds:.2f} s, {found.method}"
    )
    if trace is not None:
        click.echo(f"wrote {trace}")
