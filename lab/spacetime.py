"""Space-time pictures of schedules: tensors from top to bottom, time from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.picture import PALETTE
from pebble.moves import COMPUTE, LOAD, STORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lab.history import History

__all__ = ["COLOURS", "red_count", "sheet", "spacetime", "traffic"]

#: What a row does in a step of time; where it does several, the last in this list that it does.
COLOURS = {
    "held red": "#F3E3D3",
    "computed": "#B9B9B9",
    "loaded": PALETTE[0],
    "stored": PALETTE[1],
    "loaded and stored": PALETTE[6],
}
_INK, _GREY = "#333333", "#777777"


def kinds(history: History) -> Any:
    """Return, for each row and step of time, 0 for nothing or the place in `COLOURS`, from 1."""
    counts = history.counts
    loaded, stored = counts[:, :, LOAD] > 0, counts[:, :, STORE] > 0
    shown = np.zeros(counts.shape[:2], np.uint8)
    shown[history.red > 0] = 1
    shown[counts[:, :, COMPUTE] > 0] = 2
    shown[loaded] = 3
    shown[stored] = 4
    shown[loaded & stored] = 5
    return shown.T


def spacetime(history: History, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw what a play does to each tensor over time.

    Parameters
    ----------
    history : History
        Of `lab.history.record`.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    legend : bool
        Whether to say what the colours mean.

    Returns
    -------
    Axes
        A strip for each tensor, its first index running downwards; products and partial sums stand
        in the strip of their tensor.

    Examples
    --------
    >>> from lab.history import record
    >>> from lab.sources import of_strategy
    >>> history = record(of_strategy("attention-forward:n=8,d=4", "flash", 40))
    >>> ax = spacetime(history)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['Q', 'K', 'S', 'V', 'A', 'l', 'U', 'O']
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = ax if ax is not None else _axes((9, 6))
    gap = 2
    shown, end = kinds(history), history.report.moves
    scale = _scale(end)
    ticks, labels, top = [], [], 0.0
    colours = ListedColormap(["white", *COLOURS.values()])
    right = len(history.counts) * history.width / scale[0]
    for strip in history.strips:
        # Every strip is as tall as any: a short tensor is as easy to see as a long one.
        tall = 12.0
        ax.imshow(
            shown[strip.first : strip.first + strip.rows],
            aspect="auto",
            interpolation="nearest",
            extent=(0, right, top + tall, top),
            cmap=colours,
            vmin=-0.5,
            vmax=len(COLOURS) + 0.5,
            gid=f"strip:{strip.name}",
        )
        ticks.append(top + tall / 2)
        labels.append(strip.name)
        top += tall + gap
        ax.axhline(top - gap / 2, color="#dddddd", linewidth=0.6)
    ax.set_ylim(top - gap, 0)
    ax.set_xlim(0, end / scale[0])
    ax.set_yticks(ticks, labels)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"moves{scale[1]}")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend:
        patches = [Patch(facecolor=c, edgecolor="#999999", label=n) for n, c in COLOURS.items()]
        ax.legend(
            handles=patches, ncols=5, fontsize=8, frameon=False, loc="lower left",
            bbox_to_anchor=(0, 1), borderaxespad=0.2, handlelength=1.2, columnspacing=1.2,
        )  # fmt: skip
    return ax


def red_count(history: History, ax: Axes | None = None) -> Axes:
    """Draw the number of red pebbles over time, and M."""
    from matplotlib.ticker import MaxNLocator

    ax = ax if ax is not None else _axes((9, 2))
    scale = _scale(history.report.moves)
    red, times = history.red.sum(axis=1), history.times / scale[0]
    ax.fill_between(times, red, step="pre", color="#E8B99A", linewidth=0, gid="red")
    ax.plot(times, red, drawstyle="steps-pre", color=PALETTE[1], linewidth=0.9, gid="red-line")
    memory = history.report.memory
    top = memory if memory <= 3 * max(history.report.peak_red, 1) else history.report.peak_red
    if top == memory:
        ax.axhline(memory, color=_INK, linestyle=":", linewidth=1.2, gid="M")
        ax.annotate(
            f"M = {memory:,}", (0, memory), (3, 3), textcoords="offset points", fontsize=8,
            color=_INK,
        )  # fmt: skip
    else:
        ax.set_title(f"peak {top:,} of M = {memory:,}", fontsize=8, loc="left", color=_INK, pad=2)
    ax.set_ylim(0, 1.25 * max(top, 1))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    ax.set_xlim(0, history.report.moves / scale[0])
    ax.set_ylabel("red")
    ax.set_xlabel(f"moves{scale[1]}")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def traffic(history: History, ax: Axes | None = None) -> Axes:
    """Draw the loads and stores of each tensor, in the order of `spacetime`."""
    ax = ax if ax is not None else _axes((3, 6))
    moved = history.traffic()
    places = np.arange(len(moved))
    loads = np.array([pair[0] for pair in moved.values()])
    stores = np.array([pair[1] for pair in moved.values()])
    ax.barh(places, loads, color=COLOURS["loaded"], height=0.7, gid="loads")
    ax.barh(places, stores, left=loads, color=COLOURS["stored"], height=0.7, gid="stores")
    most = max(int((loads + stores).max(initial=0)), 1)
    for place, total in zip(places.tolist(), (loads + stores).tolist(), strict=True):
        ax.annotate(
            f"{total:,}" if total else "–", (total, place), (3, 0), textcoords="offset points",
            va="center", fontsize=7.5, color=_INK if total else _GREY,
        )  # fmt: skip
    ax.set_xlim(0, most * 1.45)
    ax.set_ylim(len(moved) - 0.45, -0.55)
    ax.set_yticks(places, list(moved))
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    ax.set_xlabel("loads + stores")
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    return ax


def sheet(histories: Sequence[History]) -> Figure:
    """Draw plays below each other: space-time, I/O per tensor beside it, red pebbles beneath.

    Examples
    --------
    >>> from lab.history import record
    >>> from lab.sources import of_strategy
    >>> plays = [of_strategy("attention-forward:n=8,d=4", s, 40) for s in ("flash", "naive")]
    >>> len(sheet([record(play) for play in plays]).axes)
    6
    """
    from matplotlib.figure import Figure

    strips = max(len(history.strips) for history in histories)
    tall = max(2.4, min(0.22 * strips, 6.0))
    figure = Figure(figsize=(11, len(histories) * (tall + 1.9) + 0.3), layout="constrained")
    parts = figure.subfigures(len(histories), 1, squeeze=False)[:, 0]
    # Bars of one scale can be compared from play to play.
    most = max(sum(pair) for history in histories for pair in history.traffic().values())
    for history, part in zip(histories, parts, strict=True):
        report = history.report
        who = report.strategy or "a play"
        part.suptitle(
            f"{who} on {report.workload}, M = {report.memory:,}: I/O {report.io:,} "
            f"({report.loads:,} loads, {report.stores:,} stores), {report.moves:,} moves",
            x=0.01, ha="left", fontsize=11,
        )  # fmt: skip
        grid = part.add_gridspec(2, 2, width_ratios=(4.6, 1), height_ratios=(tall, 0.75))
        over = part.add_subplot(grid[0, 0])
        spacetime(history, over, legend=history is histories[0])
        over.set_xlabel("")
        over.tick_params(axis="x", labelbottom=False)
        bars = part.add_subplot(grid[0, 1])
        traffic(history, bars)
        bars.set_xlim(0, 1.45 * max(most, 1))
        bars.set_yticklabels([])
        red_count(history, part.add_subplot(grid[1, 0], sharex=over))
    return figure


def _scale(moves: int) -> tuple[float, str]:
    """Return a factor for an axis of moves, and its name."""
    for factor, word in ((10**9, " (billions)"), (10**6, " (millions)"), (10**3, " (thousands)")):
        if moves >= 3 * factor:
            return float(factor), word
    return 1.0, ""


def _axes(size: tuple[float, float]) -> Axes:
    from matplotlib.figure import Figure

    axes: Axes = Figure(figsize=size, layout="constrained").subplots()
    return axes
