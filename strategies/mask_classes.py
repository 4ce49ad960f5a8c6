"""How often each class of entry or row of a mask occurs, from its intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from graphs.masks import Lines, Mask

__all__ = ["DONE", "FIRST", "LAST", "MANY", "MIDDLE", "NONE", "ONE", "ONLY", "SECOND"]
__all__ += ["SECOND_LAST", "Classes", "column_positions", "joint_positions", "meetings", "places"]
__all__ += ["row_positions", "row_states"]

#: Places of an entry among the terms of its row or column.
ONLY, FIRST, SECOND, MIDDLE, LAST, SECOND_LAST = range(6)

#: What a row has added before a block of columns, and when it is left: nothing, one term (which is
#: its own running sum), several, or all.
NONE, ONE, MANY, DONE = range(4)

Integers = npt.NDArray[np.int64]


def places(number: Integers, lengths: Integers) -> npt.NDArray[np.uint8]:
    """Return the place of term ``number`` (from 0) of a sum of ``lengths`` terms."""
    place = np.full(np.broadcast(number, lengths).shape, MIDDLE, np.uint8)
    place[number == lengths - 1] = LAST
    place[number == 1] = SECOND
    place[(number == 1) & (lengths == 2)] = SECOND_LAST
    place[number == 0] = FIRST
    place[lengths == 1] = ONLY
    return place


def _positions(lines: Lines) -> dict[int, int]:
    lengths, sizes = lines.counts, lines.sizes
    one, two = int(sizes[lengths == 1].sum()), int(sizes[lengths == 2].sum())
    more = int(sizes[lengths > 2].sum())
    total = int((lengths * sizes).sum())
    found = {
        ONLY: one,
        FIRST: two + more,
        SECOND: more,
        MIDDLE: total - one - 2 * two - 3 * more,
        LAST: more,
        SECOND_LAST: two,
    }
    return {place: count for place, count in found.items() if count}


@lru_cache(maxsize=64)
def row_positions(mask: Mask) -> dict[int, int]:
    """Return how many entries stand in each place of their row."""
    return _positions(mask.rows)


@lru_cache(maxsize=64)
def column_positions(mask: Mask) -> dict[int, int]:
    """Return how many entries stand in each place of their column."""
    return _positions(mask.columns)


@lru_cache(maxsize=64)
def joint_positions(mask: Mask) -> dict[tuple[int, int], int]:
    """Return how many entries stand in each pair of places, in their row and in their column.

    Only entries at the ends of rows are looked up; the others are what is left of each column's.
    """
    rows, columns = mask.rows, mask.columns
    lengths = rows.each(rows.counts)
    heights = columns.each(columns.counts)
    ends = columns.ends()
    left = column_positions(mask).copy()
    found: dict[tuple[int, int], int] = {}
    i = np.arange(mask.n)
    for number, j in enumerate(rows.ends()):
        # The last entry of a row of one or two is its first or second.
        kept = np.flatnonzero(lengths > number)
        row, column = i[kept], j[kept]
        term = np.full(len(kept), number) if number < 2 else lengths[kept] - 1
        place = places(term, lengths[kept])
        across = _column_places(row, column, ends, heights[column])
        for key, count in zip(*_tallied(place, across), strict=True):
            pair = (int(key) // 6, int(key) % 6)
            found[pair] = found.get(pair, 0) + int(count)
            left[pair[1]] -= int(count)
    for place_in_column, count in left.items():
        if count:
            found[MIDDLE, place_in_column] = count
    return dict(sorted(found.items()))


def _column_places(
    row: Integers,
    column: Integers,
    ends: tuple[Integers, Integers, Integers],
    height: Integers,
) -> npt.NDArray[np.uint8]:
    top, below, bottom = ends
    place = np.full(len(row), MIDDLE, np.uint8)
    place[row == bottom[column]] = LAST
    second = row == below[column]
    place[second] = np.where(height[second] == 2, SECOND_LAST, SECOND)
    place[row == top[column]] = FIRST
    place[height == 1] = ONLY
    return place


def _tallied(
    place: npt.NDArray[np.uint8], across: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    counts = np.bincount(place.astype(np.int64) * 6 + across, minlength=36)
    keys = np.flatnonzero(counts)
    return keys, counts[keys]


def meetings(lines: Lines, size: int) -> int:
    """Return the number of pairs of a line and a block of ``size`` values that meet."""
    blocks, _ = lines.touched(size)
    return int((blocks * lines.sizes).sum())


@lru_cache(maxsize=256)
def row_states(mask: Mask, size: int) -> dict[tuple[int, int], int]:
    """Return what rows have done before and after each block of ``size`` columns they meet.

    Returns
    -------
    dict of (before, after) to int
        `NONE`, `ONE` or `MANY` before, `ONE`, `MANY` or `DONE` after, over all rows and blocks.
    """
    blocks, leading = mask.rows.touched(size)
    sizes = mask.rows.sizes
    found: dict[tuple[int, int], int] = {}

    def add(before: int, after: int, chosen: npt.NDArray[np.bool_], times: Integers) -> None:
        total = int((sizes * times)[chosen].sum())
        if total:
            found[before, after] = found.get((before, after), 0) + total

    once = np.ones(len(sizes), np.int64)
    add(NONE, DONE, blocks == 1, once)
    for state, lead in ((ONE, leading == 1), (MANY, leading > 1)):
        add(NONE, state, lead & (blocks > 1), once)
        add(state, DONE, lead & (blocks == 2), once)
        add(state, MANY, lead & (blocks > 2), once)
    add(MANY, DONE, blocks > 2, once)
    add(MANY, MANY, blocks > 3, blocks - 3)
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Classes:
    """How often each class of a visit occurs under a mask.

    Attributes
    ----------
    mask : Mask
        The mask.
    """

    mask: Mask

    def row_states(self, size: Any) -> dict[tuple[int, int], Any]:
        """Return what rows have done before and after each block of columns they meet."""
        return dict(row_states(self.mask, int(size)))

    def meetings(self, size: Any) -> Any:
        """Return the number of pairs of a column and a block of rows that meet."""
        return meetings(self.mask.columns, int(size))

    def first(self) -> tuple[int, int]:
        """Return a class of entry that occurs."""
        return next(iter(joint_positions(self.mask)))

    def entries(self, looks: tuple[bool, bool]) -> dict[tuple[int, int], Any]:
        """Return the classes of entries that a body tells apart, by its row, by its column."""
        if looks == (True, True):
            return dict(joint_positions(self.mask))
        if looks[0]:
            return {(place, 0): count for place, count in row_positions(self.mask).items()}
        if looks[1]:
            return {(0, place): count for place, count in column_positions(self.mask).items()}
        return {(0, 0): self.mask.pairs}
