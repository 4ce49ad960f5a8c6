"""Plays as films: gif, mp4, or the teaching page replaying them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.frames import Mosaic, Still, board, has_board, matrices, stills
from pebble.errors import PebbleError, SpecError
from pebble.files import FileError, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lab.sources import Source

__all__ = ["FILMS", "animate", "check_film", "curve"]

#: What a film may end in.
FILMS = (".gif", ".mp4", ".html")
#: Slowest and fastest pace, in stills per second.
_SLOW, _FAST = 1.5, 15.0


class FilmError(PebbleError, ValueError):
    """A film that cannot be made here."""


def check_film(path: str | Path) -> None:
    """Raise, before any work, if a film of this name cannot be made.

    Raises
    ------
    SpecError
        If the name ends in nothing that is known.
    FilmError
        If it ends in ``.mp4`` and there is no ffmpeg.

    Examples
    --------
    >>> check_film("play.avi")
    Traceback (most recent call last):
    pebble.errors.SpecError: play.avi: a film is named .gif, .mp4 or .html
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FILMS:
        raise SpecError(f"{path}: a film is named {', '.join(FILMS[:-1])} or {FILMS[-1]}")
    if suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise FilmError(f"{path}: mp4 needs the program ffmpeg: install it, or write .gif or .html")


def animate(
    source: Source,
    path: str | Path,
    *,
    most: int = 150,
    seconds: float = 20.0,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Film a play: a small graph as a board, a large one as its tensors, the traffic beneath.

    Parameters
    ----------
    source : Source
        The play, of `lab.sources.of_strategy` or `of_trace`; the referee judges it first.
    path : path
        Ends in ``.gif``, ``.mp4`` (needs ffmpeg) or ``.html`` (the teaching page, replaying; for
        small graphs, move by move).
    most : int
        Stills at most, spaced evenly over the moves.
    seconds : float
        Length of the film; less where a play has few moves.
    progress : callable, optional
        Called with the number of the still that was drawn last.

    Returns
    -------
    int
        Number of stills (moves of an html film, plus one).

    Examples
    --------
    >>> import tempfile
    >>> from lab.sources import of_strategy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate(of_strategy("pyramid:h=1", "naive", 3), Path(folder) / "play.html")
    8
    """
    from lab.sources import check_shown

    path = Path(path)
    check_film(path)
    if not (most >= 2 and seconds > 0):
        raise SpecError(f"expected two stills or more and some seconds, got {most} and {seconds}")
    check_shown(source)
    if path.suffix.lower() == ".html":
        return _page(source, path)
    return _film(source, path, most, seconds, progress)


def curve(seen: list[Still], ax: Axes, most: int | None = None) -> Axes:
    """Draw loads and stores over the moves made so far.

    Parameters
    ----------
    seen : list of Still
        The stills so far; the masks in them are not looked at.
    ax : Axes
        Where to draw.
    most : int, optional
        I/O at the top of the axis.
    """
    from lab.spacetime import COLOURS

    steps = [still.step for still in seen]
    loads, io = [still.loads for still in seen], [still.io for still in seen]
    ax.fill_between(steps, loads, step="post", color=COLOURS["loaded"], linewidth=0)
    ax.fill_between(steps, loads, io, step="post", color=COLOURS["stored"], linewidth=0)
    ax.set_xlim(0, max(seen[-1].steps, 1))
    ax.set_ylim(0, 1.05 * max(most or io[-1], 1))
    ax.set_ylabel("I/O", fontsize=8)
    ax.set_xlabel("moves   (blue: loads, orange: stores)", fontsize=8)
    ax.tick_params(labelsize=7.5)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _film(
    source: Source, path: Path, most: int, seconds: float, progress: Callable[[int], None] | None
) -> int:
    from matplotlib.animation import FFMpegWriter, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from pebble.referee import referee

    report = referee(source.dag, source.chunks(), source.memory, source.rules)
    number = min(max(most, 2), report.moves + 1)
    pace = min(max(number / seconds, _SLOW), _FAST)
    writer: Any = PillowWriter(fps=pace)  # type: ignore[arg-type]
    if path.suffix.lower() == ".mp4":
        writer = FFMpegWriter(fps=pace)  # type: ignore[arg-type]
    draw = _drawer(source)
    figure = Figure(figsize=(8, 6.4))
    FigureCanvasAgg(figure)
    over = figure.add_axes((0.03, 0.25, 0.94, 0.64))
    under = figure.add_axes((0.09, 0.09, 0.88, 0.11))
    figure.text(0.03, 0.955, str(source), fontsize=12, weight="bold")
    words = figure.text(0.03, 0.915, "", fontsize=9.5, family="monospace")
    seen: list[Still] = []
    try:
        with replacing(path) as temporary, writer.saving(figure, str(temporary), dpi=100):
            for still in stills(source, most, progress=progress):
                seen.append(still)
                over.clear()
                under.clear()
                draw(still, over)
                over.set_title("", loc="left")
                words.set_text(still.words(source.dag))
                curve(seen, under, report.io)
                writer.grab_frame()
            for _ in range(round(2 * pace)):  # the end stands still for a while
                writer.grab_frame()
    except (OSError, RuntimeError) as error:
        if isinstance(error, PebbleError):
            raise
        raise FileError(f"cannot write {path}: {error}") from None
    return len(seen)


def _drawer(source: Source) -> Callable[[Still, Axes], Axes]:
    dag = source.dag
    if has_board(dag):
        from pebble.drawing import draw

        drawing = draw(dag)
        return lambda still, ax: board(dag, still, ax, drawing)
    mosaic = Mosaic(dag)
    return lambda still, ax: matrices(dag, still, ax, mosaic)


def _page(source: Source, path: Path) -> int:
    """Write the teaching page with the play as the one that it shows on opening."""
    from lab.page.assembly import LONGEST, write_page
    from lab.page.levels import Level
    from lab.page.pars import solved
    from pebble.referee import referee

    dag, workload = source.dag, source.workload
    if not has_board(dag):
        raise FilmError(
            f"{workload} has {len(dag):,} vertices, too many for the page's board: write a .gif, "
            "which shows tensors, or draw a space-time picture (`pebble picture`)"
        )
    report = referee(dag, source.chunks(), source.memory, source.rules)
    if report.moves > LONGEST:
        raise FilmError(
            f"the play has {report.moves:,} moves; the page replays {LONGEST:,} at most"
        )
    title = source.strategy or "the play"
    goal = f"Watch the replay, then move less than {report.io} yourself."
    text = (f"{title} on {workload} with {source.memory} red pebbles moves {report.io}.",)
    level = Level(
        str(workload), str(workload), goal, workload, source.memory, source.rules, text=text
    )
    chunks = list(source.chunks())
    write_page(path, [solved(level)], watch=(title, chunks))
    return report.moves + 1
