"""The command that draws the gap between schedules and what is possible, against M."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import (
    bar,
    check_target,
    compiling,
    example,
    json_option,
    rules_option,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from lab.gap_curve import GapCurve

__all__ = ["gap_command"]


@click.command(
    "gap",
    short_help="Optimum or interval, best schedule and bounds against M.",
    epilog=example("pebble gap pyramid:h=4 --memory 3:6:+1 --time 1 --out gap.png --out gap.csv"),
)
@click.argument("workload")
@click.option("--memory", "-M", required=True, help="A range of M, as 3:12:+1 or 16:256:x2.")
@rules_option
@click.option(
    "--strategy",
    "-s",
    "strategies",
    help="Schedules to hold against it; by default best, belady and cost-aware.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds for each M.",
)
@click.option("--seed", type=click.IntRange(1), default=1, show_default=True, help="Seed.")
@click.option(
    "--out",
    "outs",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Write .csv or .json, or draw .png, .pdf or .svg; may be given again.",
)
@json_option
def gap_command(
    workload: str,
    memory: str,
    rules: str,
    strategies: str | None,
    seconds: float,
    seed: int,
    outs: tuple[Path, ...],
    *,
    as_json: bool,
) -> None:
    """Hold schedules of WORKLOAD, and bounds, against the optimum or the interval that holds it.

    Every number is proved or refereed. What the exact search does not finish is an interval,
    between the greatest bound and the best play of a local search.
    """
    from lab.arguments import as_rules, as_strategy, as_workload
    from lab.cli.figures import check_picture, save_picture
    from lab.gap_curve import SCHEDULES, gap_curve
    from lab.least import ready
    from lab.ranges import read_range, split_specs

    for out in outs:
        check_target(out)
        if out.suffix.lower() not in (".csv", ".json"):
            check_picture(out)
    what, judged_by = as_workload(workload), as_rules(rules)
    budgets = read_range(memory, what.sizes())
    judged_by.check_memory(what.dag(), max(budgets))
    names = strategies or SCHEDULES
    for name in split_specs(names):
        as_strategy(name)
    compiling(ready)
    with bar("points", len(budgets)) as show:
        curve = gap_curve(
            what, budgets, judged_by,
            strategies=names, seconds=seconds, seed=seed, progress=show,
        )  # fmt: skip
    for out in outs:
        if out.suffix.lower() in (".csv", ".json"):
            curve.write(out)
        else:
            from lab.gap_plot import gap_plot
            from lab.plots import figure

            fig, ax = figure()
            gap_plot(curve, ax)
            save_picture(fig, out)
    if as_json:
        say_json(curve.to_json() | {"files": [str(out) for out in outs]})
        return
    say_table(_table(curve))
    left_out = len(budgets) - len(curve.points)
    if left_out:
        click.echo(
            f"{left_out} values of M are too small: M >= {judged_by.least_memory(what.dag())}"
        )
    for out in outs:
        click.echo(f"wrote {out}")


def _table(curve: GapCurve) -> Any:
    from rich import box
    from rich.table import Table

    from lab.least import number

    table = Table(box=box.SIMPLE_HEAD, title=f"{curve.workload}, rules {curve.rules}")
    table.add_column("M", justify="right")
    table.add_column("optimum", justify="right")
    table.add_column("by")
    table.add_column("best schedule", justify="right")
    table.add_column("which is")
    table.add_column("best bound", justify="right")
    table.add_column("which is ")
    for point in curve.points:
        best = point.best
        bound = max(((v, k) for k, v in point.bounds.items()), default=None)
        by = point.lower_by if point.least.exact else f"{point.lower_by}; {point.upper_by}"
        table.add_row(
            f"{point.memory:,}",
            str(point.least),
            by,
            "" if best is None else number(best[1]),
            "" if best is None else best[0],
            "" if bound is None else f"{bound[0]:,}",
            "" if bound is None else bound[1],
        )
    return table
