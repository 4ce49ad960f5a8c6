"""Commands that show schedules: picture, animate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli.figures import check_picture, save_picture
from lab.cli.group import bar, check_target, example, json_option, say_json
from pebble.errors import SpecError

if TYPE_CHECKING:
    from lab.sources import Source

__all__ = ["animate_command", "picture_command"]

_WHAT = (
    click.argument("what", metavar="WORKLOAD|TRACE"),
    click.option("--memory", "-M", help="M: a number, or a formula such as 0.25*d^2."),
    click.option("--rules", help="hk (the default), one-shot, ...: see `pebble list`."),
    click.option("--graph", help="What a trace was played on; by default what its header says."),
)


@click.command(
    "picture",
    short_help="Draw schedules in space and time.",
    epilog=example(
        "pebble picture attention-forward:n=16,d=4 --strategy standard,flash --memory 64 "
        "--out schedules.png",
    ),
)
@_WHAT[0]
@click.option("--strategy", "-s", help="Strategies, as naive,flash,algorithm6; none for a trace.")
@_WHAT[1]
@_WHAT[2]
@_WHAT[3]
@click.option("--out", type=click.Path(path_type=Path), required=True, help=".png, .svg, .pdf, ...")
@json_option
def picture_command(
    what: str,
    strategy: str | None,
    memory: str | None,
    rules: str | None,
    graph: str | None,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Draw which part of which tensor a schedule touches when, the red pebbles, I/O per tensor.

    With --strategy, WORKLOAD is played by each of them under M red pebbles; without, the file
    TRACE is drawn. The referee judges every move.
    """
    from lab.history import record
    from lab.spacetime import sheet

    check_target(out)
    check_picture(out)
    histories = []
    for source in _sources(what, strategy, memory, rules, graph):
        with bar(source.strategy or "moves", None) as progress:
            histories.append(record(source, progress=progress))
    save_picture(sheet(histories), out)
    if as_json:
        say_json({"file": str(out), "plays": [h.report.to_json() for h in histories]})
        return
    for history in histories:
        report = history.report
        click.echo(f"{report.strategy or 'a play'} on {report.workload}: I/O {report.io:,}")
    click.echo(f"wrote {out}")


@click.command(
    "animate",
    short_help="Film a schedule: gif, mp4, or a page that replays it.",
    epilog=example(
        "pebble animate pyramid:h=3 --strategy lru --memory 4 --out pyramid.html",
    ),
)
@_WHAT[0]
@click.option("--strategy", "-s", help="Who plays WORKLOAD; leave it out for a trace.")
@_WHAT[1]
@_WHAT[2]
@_WHAT[3]
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help=".gif, .html, or .mp4 (ffmpeg)."
)
@click.option(
    "--frames",
    type=click.IntRange(min=2),
    default=150,
    show_default=True,
    help="Stills at most, spaced evenly over the moves.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20,
    show_default=True,
    help="Length of the film.",
)
@json_option
def animate_command(
    what: str,
    strategy: str | None,
    memory: str | None,
    rules: str | None,
    graph: str | None,
    out: Path,
    frames: int,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Film the file TRACE, or with --strategy its play of WORKLOAD under M red pebbles.

    A small graph is shown as on the teaching page, a large one as its tensors, entry by entry. An
    .html film is the page itself, replaying; it takes small graphs only.
    """
    from lab.animation import animate, check_film

    check_target(out)
    check_film(out)
    source, *more = _sources(what, strategy, memory, rules, graph)
    if more:
        raise SpecError(f"a film shows one strategy, got {strategy!r}: make one film for each")
    with bar("stills", frames) as progress:
        number = animate(source, out, most=frames, seconds=seconds, progress=progress)
    if as_json:
        say_json({"file": str(out), "frames": number})
    else:
        click.echo(f"wrote {out} ({number} stills of {source})")


def _sources(
    what: str, strategy: str | None, memory: str | None, rules: str | None, graph: str | None
) -> list[Source]:
    """Open what is to be shown, from whichever way it was named."""
    from lab.ranges import split_specs
    from lab.sources import of_strategy, of_trace

    if strategy is None:
        if not _is_trace(what):
            raise click.UsageError(
                f"{what} is no trace (.txt, .pbl): to let it be played, add --strategy"
            )
        return [of_trace(what, graph, memory, rules)]
    if graph is not None:
        raise click.UsageError("--graph belongs to a trace, --strategy to a workload")
    if memory is None:
        raise click.UsageError("--memory is missing: the number of red pebbles")
    names = split_specs(strategy)
    first = of_strategy(what, names[0], memory, rules or "hk")
    rest = [
        of_strategy(first.workload, name, memory, rules or "hk", dag=first.dag)
        for name in names[1:]
    ]
    return [first, *rest]


def _is_trace(what: str) -> bool:
    from graphs.files import is_graph_file

    if what.endswith(".pbl"):
        return True
    path = Path(what)
    if not what.endswith(".txt") and is_graph_file(what):
        return False
    return path.suffix == ".txt" or path.is_file()
