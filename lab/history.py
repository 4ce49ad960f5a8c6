"""The history of a play, summed up: which parts of which tensors it touches when, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pebble.moves import COMPUTE, DELETE, LOAD, STORE

if TYPE_CHECKING:
    from lab.sources import Source
    from pebble.dag import Dag
    from pebble.report import Report

__all__ = ["History", "Strip", "family", "record"]

#: Rows of a picture, and at most of one tensor in it.
_ROWS, _TALLEST = 360, 48
#: Moves per call of the referee.
_SLICE = 1 << 22


def family(tensor: str) -> str:
    """Return the tensor that products and partial sums belong to: ``S`` for ``S.prod``.

    Examples
    --------
    >>> family("S.prod"), family("Q")
    ('S', 'Q')
    """
    return tensor.partition(".")[0]


@dataclass(frozen=True)
class Strip:
    """The rows of a picture that show one tensor with its products and partial sums.

    Attributes
    ----------
    name : str
        The tensor.
    first, rows : int
        First row, and number of rows.
    vertices : int
        Vertices of the tensor, its products and its partial sums.
    extent : int
        Extent of the tensor along its first axis, which the rows show from top to bottom.
    """

    name: str
    first: int
    rows: int
    vertices: int
    extent: int


@dataclass(frozen=True)
class History:
    """What a play did, by time and place.

    Attributes
    ----------
    report : Report
        The referee's counts.
    width : int
        Moves per step of time.
    counts : int64 array, times by rows by kinds
        Moves of each kind (LOAD, STORE, COMPUTE, DELETE) in a step of time and a row.
    strips : tuple of Strip
        Which tensor is in which rows.
    """

    report: Report
    width: int
    counts: npt.NDArray[np.int64] = field(repr=False)
    strips: tuple[Strip, ...]

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """Number of moves made by the end of each step of time."""
        ends = np.arange(1, len(self.counts) + 1, dtype=np.int64) * self.width
        return np.minimum(ends, self.report.moves)

    @property
    def red(self) -> npt.NDArray[np.int64]:
        """Red pebbles at the end of each step of time, by row."""
        counts = self.counts
        change = counts[:, :, LOAD] + counts[:, :, COMPUTE] - counts[:, :, DELETE]
        held: npt.NDArray[np.int64] = np.cumsum(change, axis=0)
        return held

    @property
    def io(self) -> npt.NDArray[np.int64]:
        """Loads and stores by the end of each step of time, as two columns."""
        moved = np.stack([self.counts[:, :, kind].sum(axis=1) for kind in (LOAD, STORE)], axis=1)
        total: npt.NDArray[np.int64] = np.cumsum(moved, axis=0)
        return total

    def traffic(self) -> dict[str, tuple[int, int]]:
        """Return loads and stores of each strip."""
        found = {}
        for strip in self.strips:
            part = self.counts[:, strip.first : strip.first + strip.rows]
            found[strip.name] = (int(part[:, :, LOAD].sum()), int(part[:, :, STORE].sum()))
        return found


def record(
    source: Source, times: int = 480, *, progress: Callable[[int], None] | None = None
) -> History:
    """Let the referee judge a play, and sum up what it touches when.

    Parameters
    ----------
    source : Source
        The play, of `lab.sources.of_strategy` or `of_trace`.
    times : int
        Steps of time: the history has more than half as many, at most so many.
    progress : callable, optional
        Called now and then with the number of moves judged so far.

    Returns
    -------
    History
        In memory of a few megabytes, however long the play is.

    Raises
    ------
    IllegalMoveError
        At the first illegal move.

    Examples
    --------
    >>> from lab.sources import of_strategy
    >>> history = record(of_strategy("attention-forward:n=8,d=4", "flash", 40))
    >>> history.report.io, history.io[-1].tolist()
    (352, [240, 112])
    >>> [strip.name for strip in history.strips]
    ['Q', 'K', 'S', 'V', 'A', 'l', 'U', 'O']
    """
    from lab._touches import touch
    from lab.sources import check_shown
    from pebble.referee import Replay

    check_shown(source)
    replay = Replay(source.dag, source.memory, source.rules)
    strips, places = _strips(source.dag)
    height = sum(strip.rows for strip in strips)
    times = max(2, times + times % 2)
    counts, width = np.zeros((times, height, 4), np.int64), 1
    for chunk in source.chunks():
        for start in range(0, len(chunk), _SLICE):
            moves = chunk[start : start + _SLICE]
            step = replay.step
            replay.feed(moves)
            # The number of moves is not known beforehand: steps of time are doubled as they come.
            while replay.step > width * times:
                counts[: times // 2] = counts[0::2] + counts[1::2]
                counts[times // 2 :] = 0
                width *= 2
            touch(moves, step, width, counts, *places)
            if progress is not None:
                progress(replay.step)
    report = replay.finish(str(source.workload), source.strategy)
    return History(report, width, counts[: max(1, -(-replay.step // width))], strips)


def _strips(dag: Dag) -> tuple[tuple[Strip, ...], tuple[Any, ...]]:
    """Give every tensor its rows, in the builder's order; also as the arrays of the kernel."""
    sizes: dict[str, int] = {}
    extents: dict[str, int] = {}
    for tensor in dag.tensors:
        name = family(tensor.name)
        sizes[name] = sizes.get(name, 0) + len(tensor)
        extents[name] = max(extents.get(name, 1), tensor.shape[0] if tensor.shape else 1)
    tallest = max(3, min(_TALLEST, _ROWS // len(sizes)))
    strips, first = {}, 0
    for name, size in sizes.items():
        rows = min(extents[name], tallest)
        strips[name] = Strip(name, first, rows, size, extents[name])
        first += rows
    mine = [strips[family(tensor.name)] for tensor in dag.tensors]
    places = (
        np.array([tensor.base for tensor in dag.tensors], np.int64),
        np.array([max(len(t), 1) / s.rows for t, s in zip(dag.tensors, mine, strict=True)]),
        np.array([strip.first for strip in mine], np.int64),
        np.array([strip.rows for strip in mine], np.int64),
    )
    return tuple(strips.values()), places
