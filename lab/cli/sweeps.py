"""The command sweep: a grid of plays, a table, files, a picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from lab.cli.figures import check_picture, save_picture
from lab.cli.group import (
    FINDING,
    bar,
    check_target,
    example,
    json_option,
    rules_option,
    say_json,
    say_table,
)
from lab.cli.layer import as_layer, layer_options

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from lab.analysis import Crossover
    from lab.layers import Layer
    from lab.results import Results, Row
    from lab.sweeping import Point

__all__ = ["sweep_command"]


@click.command(
    "sweep",
    short_help="Play a grid of workloads, strategies and M.",
    epilog=example(
        "pebble sweep attention-gradient:n=32,d=8 -s naive,flash,algorithm6 --memory 16:512:x2"
        " --out rows.csv --plot io.png"
    ),
)
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...")
@click.option(
    "--strategy", "-s", "strategies", required=True, help="A list: naive,flash:rows=8,algorithm6."
)
@click.option(
    "--memory",
    "-M",
    required=True,
    help="A range: 64,128 or 3:6 or 16:8192:x2 or 64:512:+64, also 0.25*d^2:4*d^2:x2.",
)
@rules_option
@click.option(
    "--method",
    type=click.Choice(["referee", "tally"]),
    default="referee",
    show_default=True,
    help="Judge every move, or count from the schedules' texts at any size.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the rows: .csv, .json or .parquet. A sweep that is cut short goes on from there.",
)
@click.option("--fresh", is_flag=True, help="Forget what is left of an earlier sweep to --out.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw I/O: .png, .pdf or .svg.")
@click.option("--x", "axis", help="Axis of the picture: M, n or d; by default what varies.")
@click.option(
    "--processes",
    "-j",
    type=click.IntRange(min=1),
    help="Number of processes; by default as many as pay off.",
)
@click.option(
    "--engine",
    type=click.Choice(["processes", "dask"]),
    default="processes",
    show_default=True,
    help="Who plays: processes of this machine, or the workers of a Dask scheduler.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask scheduler: tcp://HOST:8786.")
@layer_options
@json_option
def sweep_command(
    workloads: tuple[str, ...],
    strategies: str,
    memory: str,
    rules: str,
    method: str,
    out: Path | None,
    plot: Path | None,
    axis: str | None,
    processes: int | None,
    engine: str,
    scheduler: str | None,
    heads: int | None,
    batch: int | None,
    width: str | None,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    """Play every strategy on every WORKLOAD under every M; each point is judged by the referee.

    Integers of a WORKLOAD may be ranges: attention-backward:n=64:1024:x2,d=16. A strategy that
    needs a larger M, or does not play a workload, leaves a gap.

    With --out every finished point is kept at once in a journal beside the file, and the same
    command goes on from it, whatever ended the one before. Exit code 1 says that points failed:
    the same command tries them again.
    """
    from lab.analysis import crossovers
    from lab.results import check_name
    from lab.sweeping import plan, sweep_points

    layer = as_layer(heads, batch, width)
    for target in (out, plot):
        check_target(target)
    if out is not None:
        check_name(out)
    if plot is not None:
        check_picture(plot)
    points = plan(workloads, strategies, memory, rules=rules, method=cast("Any", method))
    x = axis or _axis(points)
    with (
        _engine(points, engine, scheduler, processes) as executor,
        bar("points", len(points)) as progress,
    ):
        results = sweep_points(
            points,
            executor=executor,
            progress=lambda done, _total, _row: progress(done),
            out=out,
            fresh=fresh,
            notice=_tell,
        )
    if plot is not None:
        _draw(results, x, plot)
    crossings = crossovers(results, x)
    written = [str(path) for path in (out, plot) if path is not None]
    if as_json:
        rows = [row.to_json() | _scaled(row, layer) for row in results]
        found = [crossing.to_json() for crossing in crossings]
        more = {} if layer is None else {"layer": layer.to_json()}
        say_json({"rows": rows, "axis": x, "crossovers": found, "files": written} | more)
    else:
        _say(results, crossings, x, layer)
        for name in written:
            click.echo(f"wrote {name}")
    if any(row.status.startswith("failed") for row in results):
        raise click.exceptions.Exit(FINDING)


def _scaled(row: Row, layer: Layer | None) -> dict[str, Any]:
    """Return a row's traffic for the layer, beside its own counts."""
    if layer is None:
        return {}
    counts = {"loads": row.loads, "stores": row.stores, "io": row.io}
    return {"layer": layer.scaled(counts)}


def _tell(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _engine(
    points: list[Point], engine: str, scheduler: str | None, processes: int | None
) -> Iterator[int | Executor]:
    """Give who plays."""
    from lab import pools

    if engine == "processes":
        if scheduler is not None:
            raise click.UsageError("--scheduler belongs to --engine dask")
        yield processes if processes is not None else pools.advised(points)
        return
    if scheduler is None or processes is not None:
        raise click.UsageError(
            "--engine dask needs --scheduler ADDRESS, and its workers are started there, not by -j"
        )
    from lab.clusters import connected

    with connected(scheduler) as cluster:
        yield cluster


def _axis(points: list[Point]) -> str:
    """Return what varies: M within a workload, or else the first size that does."""
    budgets: dict[str, set[int]] = {}
    for point in points:
        budgets.setdefault(str(point.workload), set()).add(point.memory)
    if max(map(len, budgets.values())) > 1:
        return "M"
    sizes = [point.workload.sizes() for point in points]
    names = [name for name in sizes[0] if all(name in each for each in sizes)]
    return next((name for name in names if len({each[name] for each in sizes}) > 1), "M")


def _draw(results: Results, x: str, path: Path) -> None:
    from lab.plots import sheet

    save_picture(sheet(results, x), path)


# -- text ---------------------------------------------------------------------------------------


def _say(results: Results, crossings: list[Crossover], x: str, layer: Layer | None) -> None:
    say_table(_table(results, layer))
    if layer is not None:
        click.echo(f"I/O of a layer: {layer}, each head and sequence a play of its own")
    for line in _notes(results):
        click.echo(line)
    for crossing in crossings:
        # Counts are steps: only the measured points are known, not what lies between them.
        between = f"{x} = {crossing.low:,} and {crossing.high:,}"
        if x == "M" and (d := crossing.row.sizes.get("d")):
            between += f" ({crossing.low / d**2:.2f} and {crossing.high / d**2:.2f} d²)"
        what = f" on {crossing.row.workload}" if len(results.workloads) > 1 and x == "M" else ""
        click.echo(
            f"crossover{what}: between the measured {between} the least I/O passes from "
            f"{crossing.before} to {crossing.after}"
        )


def _table(results: Results, layer: Layer | None) -> Any:
    """Return one line per workload and M, one column per strategy."""
    from rich import box
    from rich.table import Table

    from lab.analysis import winner

    lines: dict[tuple[str, int], dict[str, Row]] = {}
    for row in results:
        lines.setdefault((row.workload, row.memory), {})[row.strategy] = row
    several, strategies = len(results.workloads) > 1, results.strategies
    heads = any(row.memory_over_d2 is not None for row in results)
    names = list(dict.fromkeys(row.bound for row in results if row.bound))
    table = Table(box=box.SIMPLE_HEAD, title=None if several else results.workloads[0])
    if several:
        table.add_column("workload")
    table.add_column("M", justify="right")
    if heads:
        table.add_column("M/d²", justify="right")
    for strategy in strategies:
        table.add_column(f"{strategy}\n{'I/O' if layer is None else 'layer I/O'}", justify="right")
    if names:
        for strategy in strategies:
            table.add_column(f"{strategy}\nI/O / Θ", justify="right")
    certified = any(row.io_over_certified is not None for row in results)
    if certified:
        for strategy in strategies:
            table.add_column(f"{strategy}\nI/O / low", justify="right")
    table.add_column("least I/O")
    for (workload, memory), rows in lines.items():
        cells = [workload] if several else []
        cells.append(f"{memory:,}")
        one = next(iter(rows.values()))
        best = winner(rows.values())
        if heads:
            cells.append("" if one.memory_over_d2 is None else f"{one.memory_over_d2:.3g}")
        cells += [_count(rows.get(strategy), best, layer) for strategy in strategies]
        if names:
            cells += [_ratio(rows.get(strategy)) for strategy in strategies]
        if certified:
            cells += [_over_certified(rows.get(strategy)) for strategy in strategies]
        cells.append(best.strategy if best is not None else "–")
        table.add_row(*cells)
    return table


def _count(row: Row | None, best: Row | None, layer: Layer | None) -> Any:
    from rich.text import Text

    if row is None or row.io is None:
        return Text("–", style="dim")
    least = best is not None and row.io == best.io
    shown = f"{row.io:,}" if layer is None else layer.short(row.io)
    return Text(shown, style="bold green" if least else "")


def _ratio(row: Row | None) -> Any:
    from rich.text import Text

    if row is None or row.io_over_bound is None:
        return Text("–", style="dim")
    outside = row.in_regime is False
    return Text(f"({row.io_over_bound:.1f})" if outside else f"{row.io_over_bound:.1f}")


def _over_certified(row: Row | None) -> Any:
    from rich.text import Text

    if row is None or row.io_over_certified is None:
        return Text("–", style="dim")
    return Text(f"{row.io_over_certified:.3g}")


def _notes(results: Results) -> list[str]:
    """Say what the table's signs mean and who counted."""
    notes = []
    names = list(dict.fromkeys(row.bound for row in results if row.bound))
    if names:
        note = f"Θ: {', '.join(names)}, without a constant"
        outside = any(row.in_regime is False and row.played for row in results)
        notes.append(
            note + ("; in brackets outside the regime it is stated for" if outside else "")
        )
    by = list(dict.fromkeys(row.certified_by for row in results if row.certified_by))
    if any(row.io_over_certified is not None for row in results):
        notes.append(
            f"low: the greatest certified lower bound; no ratio is below 1 ({', '.join(by)})"
        )
    reasons: dict[tuple[str, str], int] = {}
    for row in results:
        if not row.played:
            key = (row.strategy, row.status)
            reasons[key] = reasons.get(key, 0) + 1
    for (strategy, status), times in reasons.items():
        notes.append(f"– {strategy} {status} ({times} point{'' if times == 1 else 's'})")
    played: dict[Literal["referee", "tally"], int] = {}
    for row in results.played:
        method = cast("Literal['referee', 'tally']", row.method)
        played[method] = played.get(method, 0) + 1
    words = {"referee": "refereed move by move", "tally": "counted from the schedule's text"}
    counted = ", ".join(f"{number} {words[method]}" for method, number in played.items())
    notes.append(f"{len(results)} points: {counted}, rules {results[0].rules}")
    return notes
