"""The tally: exact counts of a recorded schedule, for integers, arrays of candidates, symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from strategies.schedule import Loop, Step
from strategies.symbols import full_tiles, never_negative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphs.expressions import Size
    from strategies.schedule import Schedule
    from strategies.symbols import Algebra

__all__ = ["Counts", "tally"]


@dataclass(slots=True)
class Counts:
    """What a schedule costs.

    Attributes
    ----------
    tensors : dict of str to [loads, stores]
        Traffic by the tensor that owns the vertices.
    computes, moves : Size
        Numbers of computes, and of moves of all kinds.
    net : Size
        Red pebbles left at the end minus those at the start.
    peaks : list of Size
        The greatest number of red pebbles at any time, counted from the start, is the largest of
        these: one number for integers and arrays, several polynomials for symbols.
    """

    tensors: dict[str, list[Size]] = field(default_factory=dict)
    computes: Size = 0
    moves: Size = 0
    net: Size = 0
    peaks: list[Size] = field(default_factory=lambda: [0])

    @property
    def loads(self) -> Size:
        """Number of loads."""
        return sum((row[0] for row in self.tensors.values()), start=0)

    @property
    def stores(self) -> Size:
        """Number of stores."""
        return sum((row[1] for row in self.tensors.values()), start=0)

    @property
    def io(self) -> Size:
        """Loads and stores."""
        return self.loads + self.stores

    @property
    def peak(self) -> Size:
        """Greatest number of red pebbles at any time, for integers and arrays."""
        (peak,) = self.peaks
        return peak

    def add(self, other: Counts, times: Size = 1, algebra: Algebra | None = None) -> None:
        """Add ``times`` rounds of another part of the schedule, played after this one."""
        for name, row in other.tensors.items():
            mine = self.tensors.setdefault(name, [0, 0])
            mine[0] = mine[0] + times * row[0]
            mine[1] = mine[1] + times * row[1]
        self.computes = self.computes + times * other.computes
        self.moves = self.moves + times * other.moves
        if not self.peaks:  # under a mask
            return
        # Round x starts with x * net more red pebbles: the last or the first round is the worst.
        extra = _positive((times - 1) * other.net, algebra)
        heights = [self.net + lift + peak for lift in extra for peak in other.peaks]
        self.peaks = _largest(self.peaks, heights, times, algebra)
        self.net = self.net + times * other.net


def tally(schedule: Schedule) -> Counts:
    """Count a recorded schedule, visiting each class of tile once.

    Parameters
    ----------
    schedule : Schedule
        On which a text has been written.

    Returns
    -------
    Counts
        Integers for integer sizes, arrays for arrays of candidate sizes, polynomials for symbols.
    """
    if schedule.formula.pairs is not None:
        total = Counts(peaks=[])
        _visit(schedule.program, total, 1, None)
        return total
    return _walk(schedule.program, schedule.algebra)


def _visit(body: Sequence[Any], total: Counts, times: Size, inside: Size | None) -> None:
    """Count a schedule under a mask: each class of a visit as often as it occurs in all.

    ``inside`` is the number of rounds of the loops between here and the visit around, None where
    there is none: the counts of a visit are those over all blocks, so the loop over blocks does not
    multiply them. Heights are not followed.
    """
    for node in body:
        if isinstance(node, Loop):
            inner = None if inside is None else inside * node.count
            _visit(node.body, total, times * node.count, inner)
        elif isinstance(node, Step):
            total.add(_step(node.kind, node.owner), times * node.count)
        elif not node.again:
            for key, rounds in node.bodies.items():
                _visit(rounds, total, node.counts[key] * (inside or 1), 1)


def _walk(body: Sequence[Loop | Step], algebra: Algebra | None) -> Counts:
    total = Counts()
    for node in body:
        if isinstance(node, Loop):
            if not (isinstance(node.count, int) and node.count == 0):
                total.add(_walk(node.body, algebra), node.count, algebra)
        else:
            total.add(_step(node.kind, node.owner), node.count, algebra)
    return total


def _step(kind: int, owner: str) -> Counts:
    if kind == LOAD:
        return Counts({owner: [1, 0]}, 0, 1, 1, [1])
    if kind == STORE:
        return Counts({owner: [0, 1]}, 0, 1, 0, [0])
    if kind == COMPUTE:
        return Counts({}, 1, 1, 1, [1])
    assert kind == DELETE
    return Counts({}, 0, 1, -1, [0])


def _positive(value: Size, algebra: Algebra | None) -> list[Any]:
    """Return max(0, value); for a symbolic value of unknown sign, both."""
    if isinstance(value, int):
        return [max(0, value)]
    if isinstance(value, np.ndarray):
        return [np.maximum(0, value)]
    assert algebra is not None
    if never_negative(algebra, value):
        return [value]
    return [0] if never_negative(algebra, -value) else [0, value]


def _largest(ours: list[Any], others: list[Any], times: Size, algebra: Algebra | None) -> list[Any]:
    """Return the largest of two lists; the others count only where they happen at all."""
    if isinstance(times, np.ndarray):
        others = [np.where(times > 0, other, 0) for other in others]
    values = [*ours, *others]
    if all(isinstance(value, int) for value in values):
        return [max(values)]
    if any(isinstance(value, np.ndarray) for value in values):
        best = values[0]
        for value in values[1:]:
            best = np.maximum(best, value)
        return [best]
    assert algebra is not None
    kept: list[Any] = []
    for value in (full_tiles(algebra, value) for value in values):
        if any(never_negative(algebra, other - value) for other in kept):
            continue
        kept = [other for other in kept if not never_negative(algebra, value - other)]
        kept.append(value)
    return kept
