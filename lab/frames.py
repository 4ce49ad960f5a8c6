"""A play as a row of stills, and how one still is drawn: the board, or tensors as matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lab.history import family
from lab.picture import PALETTE
from pebble.errors import GraphError
from pebble.moves import KINDS, VERTEX_MASK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lab.sources import Source
    from pebble.dag import Dag
    from pebble.drawing import Drawing

__all__ = ["Mosaic", "Still", "board", "has_board", "matrices", "stills"]

#: Vertices of the largest graph drawn as a board, and of the largest whose tensors are filmed.
_BOARD, _LARGEST = 150, 1 << 24
#: Side of the largest matrix that is shown entry by entry.
_SIDE = 96

Mask = npt.NDArray[np.bool_]

_RED, _BLUE, _SOFT, _INK = PALETTE[1], PALETTE[0], "#8FC1E3", "#222222"


@dataclass(frozen=True)
class Still:
    """A position on the way, and the move that led to it.

    Attributes
    ----------
    step, steps : int
        Number of moves made, and of all moves.
    move : int
        The last move, packed; -1 before the first.
    loads, stores : int
        Traffic so far.
    red, blue : mask
        Which vertices carry which pebble; overwritten by the next still.
    made : mask
        Which have been computed since the still before; overwritten as well.
    """

    step: int
    steps: int
    move: int
    loads: int
    stores: int
    red: Mask = field(repr=False)
    blue: Mask = field(repr=False)
    made: Mask = field(repr=False)

    @property
    def io(self) -> int:
        """Loads and stores so far."""
        return self.loads + self.stores

    def words(self, dag: Dag) -> str:
        """Return the last move in words, the traffic and the red pebbles in use."""
        made = "start"
        if self.move >= 0:
            made = f"{KINDS[self.move >> 30]} {dag.name(self.move & VERTEX_MASK)}"
        red = int(np.count_nonzero(self.red))
        return f"step {self.step:,} of {self.steps:,}: {made}   I/O {self.io:,}   {red:,} red"


def stills(
    source: Source, most: int = 150, *, progress: Callable[[int], None] | None = None
) -> Iterator[Still]:
    """Judge a play, then give positions evenly spaced over it, the first and the last among them.

    Parameters
    ----------
    source : Source
        The play.
    most : int
        Number of positions at most, two or more.
    progress : callable, optional
        Called with the number of the still that was given last.

    Raises
    ------
    GraphError
        If the graph is too large to keep a mask of.
    IllegalMoveError
        If the play is not legal.

    Examples
    --------
    >>> from lab.sources import of_strategy
    >>> [still.io for still in stills(of_strategy("pyramid:h=1", "naive", 3))]
    [0, 1, 2, 2, 3, 3, 3, 3]
    """
    from lab._touches import follow
    from lab.sources import check_shown
    from pebble.referee import referee

    check_shown(source)
    dag = source.dag
    if len(dag) > _LARGEST:
        raise GraphError(
            f"{source.workload} has {len(dag):,} vertices; a film shows at most {_LARGEST:,}: take "
            "smaller sizes, or a space-time picture (`pebble picture`), which has no limit"
        )
    steps = referee(dag, source.chunks(), source.memory, source.rules).moves
    number = min(max(most, 2), steps + 1)
    stops = np.unique(np.linspace(0, steps, number).round().astype(np.int64))
    red, blue, made = (np.zeros(len(dag), bool) for _ in range(3))
    if not source.rules.free_inputs:
        blue[dag.inputs] = True
    yield Still(0, steps, -1, 0, 0, red, blue, made)
    at, loads, stores = 0, 0, 0
    given = 1
    for chunk in source.chunks():
        begin = at
        while at < begin + len(chunk):
            stop = min(int(stops[given]), begin + len(chunk))
            part = chunk[at - begin : stop - begin]
            more = follow(part, red, blue, made, source.rules.moving_loads)
            loads, stores, at = loads + more[0], stores + more[1], stop
            if stop == stops[given]:
                yield Still(stop, steps, int(part[-1]), loads, stores, red, blue, made)
                made[:] = False
                given += 1
                if progress is not None:
                    progress(given)


def has_board(dag: Dag) -> bool:
    """Whether a graph is small enough to be drawn vertex by vertex."""
    return len(dag) <= _BOARD


# -- the board -------------------------------------------------------------------------------------


def board(
    dag: Dag, still: Still | None = None, ax: Axes | None = None, drawing: Drawing | None = None
) -> Axes:
    """Draw a small graph with its pebbles, as the teaching page does.

    Parameters
    ----------
    dag : Dag
        The graph.
    still : Still, optional
        The position; by default the one at the start.
    ax : Axes, optional
        Where to draw.
    drawing : Drawing, optional
        Of `pebble.drawing.draw`, where it is at hand.

    Raises
    ------
    GraphError
        If the graph has more vertices than an eye can follow.

    Examples
    --------
    >>> from graphs import workload
    >>> ax = board(workload("pyramid:h=2").dag())
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c', '1.0', '1.1', '2.0']
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle, FancyBboxPatch

    from pebble.drawing import draw

    if not has_board(dag):
        raise GraphError(
            f"{dag.source or 'the graph'} has {len(dag):,} vertices; a board shows at most "
            f"{_BOARD}: draw its tensors (`lab.frames.matrices`) or a space-time picture"
        )
    ax = ax if ax is not None else _axes()
    drawing = drawing if drawing is not None else draw(dag)
    places = drawing.places
    lines = [[places[u], *between, places[v]] for u, v, between in drawing.edges]
    ax.add_collection(LineCollection(lines, colors="#b5b9c0", linewidths=1.1, zorder=1))
    outputs = set(dag.outputs.tolist())
    moved = -1 if still is None or still.move < 0 else still.move & VERTEX_MASK
    for v, (x, y) in enumerate(places):
        red = still is not None and bool(still.red[v])
        blue = bool(still.blue[v]) if still is not None else bool((dag.inputs == v).any())
        box = {"boxstyle": "round,pad=0,rounding_size=0.1", "zorder": 2}
        if blue or v in outputs:
            plate = FancyBboxPatch((x - 0.36, y - 0.36), 0.72, 0.72, **box)  # type: ignore[arg-type]
            plate.set(
                facecolor=_BLUE if blue else "none", edgecolor=_BLUE, linewidth=1.4,
                linestyle="-" if blue else (0, (3, 2)),
            )  # fmt: skip
            ax.add_patch(plate)
        disc = Circle((x, y), 0.27, zorder=3, linewidth=1.4)
        disc.set(facecolor=_RED if red else "white", edgecolor="white" if red else "#8a919c")
        ax.add_patch(disc)
        if v == moved:
            ax.add_patch(Circle((x, y), 0.47, fill=False, edgecolor=_INK, linewidth=1.8, zorder=4))
        ax.text(
            x, y, drawing.labels[v], ha="center", va="center", zorder=5,
            color="white" if red else _INK, fontsize=8,
        )  # fmt: skip
    xs, ys = zip(*places, strict=True)
    ax.set_xlim(min(xs) - 0.7, max(xs) + 0.7)
    ax.set_ylim(min(ys) - 0.7, max(ys) + 0.7)
    ax.set_aspect("equal")
    ax.axis("off")
    if still is not None:
        ax.set_title(still.words(dag), fontsize=9.5, loc="left", fontfamily="monospace")
    return ax


# -- tensors as matrices ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Mosaic:
    """Where each vertex has its dot on a canvas of matrices.

    Attributes
    ----------
    dag : Dag
        The graph.
    """

    dag: Dag

    @cached_property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of each tensor's matrix."""
        found: dict[str, tuple[int, int]] = {}
        for tensor in self.dag.tensors:
            name, shape = family(tensor.name), tensor.shape or (1,)
            if len(shape) == 1 and shape[0] > _SIDE:
                # A long vector is folded, so that it does not make the canvas a thread.
                side = math.isqrt(shape[0] - 1) + 1
                shape = (-(-shape[0] // side), side)
            rows, columns = shape[0], shape[1] if len(shape) > 1 else 1
            # A matrix is drawn in the shape of the tensor itself, not of its partial sums.
            if name not in found or tensor.name == name:
                found[name] = (min(rows, _SIDE), min(columns, _SIDE))
        return found

    @cached_property
    def corners(self) -> dict[str, tuple[int, int]]:
        """Upper left corner of each matrix; they fill lines like words."""
        total = sum(columns + self.gap for _, columns in self.shapes.values())
        tried = [self._lines(total // lines) for lines in range(1, 9)]
        # The canvas should be as wide as a film is, compared with its height.
        return min(tried, key=lambda corners: abs(math.log(self._aspect(corners) / 1.7)))

    def _lines(self, wide: int) -> dict[str, tuple[int, int]]:
        corners, x, y, tall = {}, 0, 0, 0
        for name, (rows, columns) in self.shapes.items():
            if x and x + columns > wide:
                x, y, tall = 0, y + tall + 2 * self.gap, 0
            corners[name] = (y, x)
            x, tall = x + columns + self.gap, max(tall, rows)
        return corners

    def _extent(self, corners: dict[str, tuple[int, int]]) -> tuple[int, int]:
        shapes = self.shapes
        ends = [(y + shapes[name][0], x + shapes[name][1]) for name, (y, x) in corners.items()]
        return max(y for y, _ in ends), max(x for _, x in ends)

    def _aspect(self, corners: dict[str, tuple[int, int]]) -> float:
        rows, columns = self._extent(corners)
        return columns / (rows + 2 * self.gap)

    @property
    def gap(self) -> int:
        """Dots between two matrices."""
        return max(2, max(rows for rows, _ in self.shapes.values()) // 8)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the canvas."""
        return self._extent(self.corners)

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """Dot of each vertex, as an index into the canvas laid out flat."""
        width = self.size[1]
        places = np.empty(len(self.dag), np.int64)
        for tensor in self.dag.tensors:
            name = family(tensor.name)
            (rows, columns), (y, x) = self.shapes[name], self.corners[name]
            count = np.arange(len(tensor), dtype=np.int64)
            shape = tensor.shape or (1,)
            if len(shape) == 1:
                across = columns if shape[0] > rows else 1
                i, j, tall, wide = count // across, count % across, rows, across
                if across > 1 and shape[0] > rows * columns:
                    tall, wide = -(-shape[0] // across), across
            else:
                rest = len(tensor) // shape[0]
                i, j = count // rest, count % rest // max(rest // shape[1], 1)
                tall, wide = shape[0], shape[1]
            i = np.minimum(i * rows // max(tall, 1), rows - 1)
            j = np.minimum(j * columns // max(wide, 1), columns - 1)
            places[tensor.base : tensor.base + len(tensor)] = (y + i) * width + x + j
        return places

    def canvas(self, red: Mask, blue: Mask, made: Mask) -> npt.NDArray[np.uint8]:
        """Return 0 beside the matrices, 1 nothing, 2 just computed, 3 blue, 4 red, 5 both."""
        held, kept = np.zeros(self.size, bool), np.zeros(self.size, bool)
        held.ravel()[self.places[red]] = True
        kept.ravel()[self.places[blue]] = True
        shown = np.zeros(self.size, np.uint8)
        for name, (y, x) in self.corners.items():
            rows, columns = self.shapes[name]
            shown[y : y + rows, x : x + columns] = 1
        shown.ravel()[self.places[made]] = 2
        return np.where(held, np.where(kept, 5, 4), np.where(kept, 3, shown)).astype(np.uint8)


def matrices(
    dag: Dag, still: Still | None = None, ax: Axes | None = None, mosaic: Mosaic | None = None
) -> Axes:
    """Draw the tensors of a graph as matrices whose entries are red, blue, both or neither.

    Products and partial sums count as their tensor's entry; large matrices are shown in blocks.

    Examples
    --------
    >>> from graphs import workload
    >>> ax = matrices(workload("matmul:m=4,n=4,k=4").dag())
    >>> [text.get_text() for text in ax.texts]
    ['A', 'B', 'C']
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = ax if ax is not None else _axes()
    mosaic = mosaic if mosaic is not None else Mosaic(dag)
    if still is not None:
        red, blue, made = still.red, still.blue, still.made
    else:
        red, blue, made = (np.zeros(len(dag), bool) for _ in range(3))
        blue[dag.inputs] = True
    colours = ["white", "#ECECEC", "#B4B4B4", _SOFT, PALETTE[4], _RED]
    shown = mosaic.canvas(red, blue, made)
    ax.imshow(shown, cmap=ListedColormap(colours), vmin=-0.5, vmax=5.5, interpolation="nearest")
    for name, (y, x) in mosaic.corners.items():
        ax.text(x - 0.5, y - 1, name, fontsize=9, va="bottom", color=_INK)
    ax.set_ylim(mosaic.size[0] - 0.5 + mosaic.gap / 2, -1.5 - 1.5 * mosaic.gap)
    ax.set_xlim(-1, max(mosaic.size[1], 12))
    ax.axis("off")
    names = ("no pebble", "computed, gone", "blue: slow memory", "red: fast memory", "both")
    patches = [Patch(color=c, label=n) for c, n in zip(colours[1:], names, strict=True)]
    ax.legend(
        handles=patches, ncols=5, fontsize=8, frameon=False, loc="upper left",
        bbox_to_anchor=(0, 0), borderaxespad=0, handlelength=1.2,
    )  # fmt: skip
    if still is not None:
        ax.set_title(still.words(dag), fontsize=9.5, loc="left", fontfamily="monospace")
    return ax


def _axes() -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 6), layout="constrained").subplots()
