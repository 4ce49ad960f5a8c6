"""The command that searches for a better schedule."""

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

__all__ = ["improve_command"]


@click.command("improve", epilog=example("pebble improve pyramid:h=6 --memory 4 --time 1"))
@click.argument("workload")
@memory_option
@rules_option
@click.option("--time", "seconds", type=float, help="Seconds to spend, compilation not counted.")
@click.option("--seed", type=click.IntRange(1), default=1, show_default=True, help="Seed.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the moves: .txt to read, .pbl compact.",
)
@json_option
def improve_command(
    workload: str,
    memory: str,
    rules: str,
    seconds: float | None,
    seed: int,
    trace: Path | None,
    *,
    as_json: bool,
) -> None:
    """Search for a schedule of WORKLOAD with few loads and stores; the referee counts.

    Computations are reordered and, unless the rules forbid it, repeated. Then short windows of the
    schedule are played again at least cost by exact search.
    """
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.improving import improve
    from lab.least import ready

    check_target(trace)
    what = as_workload(workload)
    as_rules(rules).check_memory(what.dag(), as_memory(memory, what))
    compiling(ready)
    with bar("search", 1000) as show:
        found = improve(
            what,
            memory,
            rules,
            seconds=seconds,
            seed=seed,
            trace=trace,
            progress=lambda share, _: show(int(1000 * share)),
        )
    if as_json:
        more = {
            "start": found.start,
            "searched": found.searched,
            "evaluations": found.evaluations,
            "windows": found.windows,
        }
        say_json(found.report.to_json() | more)
        return
    click.echo(str(found.report))
    click.echo(
        f"\nbest order to start from: {found.start:,}; best found: {found.report.io:,}"
        f" (local search {found.searched:,}, then {found.windows:,} windows)"
    )
