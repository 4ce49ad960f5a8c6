"""Pieces of schedule texts: matrix products by tiles, and elementwise operators.

Every piece reads its operands from slow memory and leaves nothing red. An array C is a contraction
C[i, j] = sum_l X[i, l] Y[l, j], up to the order of indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from strategies.schedule import Range, Schedule, whole

if TYPE_CHECKING:
    from graphs.expressions import Array, Size
    from strategies.schedule import Named, View

__all__ = [
    "by_columns",
    "by_rows",
    "elementwise",
    "multiply",
    "put",
    "row_sums",
    "square_tiles",
    "stationary",
]

#: What to do with a finished tile C[I, J], all of it red.
Finish: TypeAlias = Callable[[Schedule, Range, Range], None]


def _factors(array: Array) -> tuple[int, int]:
    """Return which operand carries the first, and which the second index of C."""
    first = array.indices[0]
    return (0, 1) if first in array.operands[0].indices else (1, 0)


def put(s: Schedule, *views: View) -> None:
    """Store and free."""
    s.store(*views)
    s.free(*views)


def multiply(s: Schedule, C: Named, I: Range, J: Range, B: Size) -> None:
    """Make the tile C[I, J]; operands come in tiles of B along the summed index."""
    array = C.array
    i, j = array.indices
    assert array.over is not None
    for L in s.blocks(array.over.size, B):
        operands = s.operands(array, {i: I, j: J, array.over: L})
        s.load(*operands)
        s.accumulate(C[I, J], L)
        s.free(*operands)


def square_tiles(s: Schedule, C: Named, B: Size) -> None:
    """Make C by B x B tiles of C, X and Y: 3 B^2 + 2 red pebbles (SY24)."""
    m, n = C.size
    for I in s.blocks(m, B):
        for J in s.blocks(n, B):
            multiply(s, C, I, J, B)
            put(s, C[I, J])


def stationary(s: Schedule, C: Named, a: Size, b: Size, finish: Finish | None = None) -> None:
    """Make C by a x b tiles that stay while one column of X and scalars of Y stream past."""
    array = C.array
    i, j = array.indices
    assert array.over is not None
    left, right = _factors(array)
    m, n = C.size
    for I in s.blocks(m, a):
        for J in s.blocks(n, b):
            for l in s.each(array.over.size):
                column = s.operands(array, {i: I, j: J, array.over: l})[left]
                s.load(column)
                for y in s.each(J):
                    scalar = s.operands(array, {i: I, j: y, array.over: l})[right]
                    s.load(scalar)
                    s.accumulate(C[I, y], l)
                    s.free(scalar)
                s.free(column)
            _finish(s, C, I, J, finish)


def by_rows(s: Schedule, C: Named, a: Size, finish: Finish | None = None) -> None:
    """Make C with a rows of X resident, and scalars of Y streaming past each block of them."""
    array = C.array
    i, j = array.indices
    assert array.over is not None
    left, right = _factors(array)
    m, n = C.size
    for I in s.blocks(m, a):
        rows = s.operands(array, {i: I, j: I, array.over: whole(array.over.size)})[left]
        s.load(rows)
        for y in s.each(n):
            for l in s.each(array.over.size):
                scalar = s.operands(array, {i: I, j: y, array.over: l})[right]
                s.load(scalar)
                s.accumulate(C[I, y], l)
                s.free(scalar)
            _finish(s, C, I, y, finish)
        s.free(rows)


def by_columns(s: Schedule, C: Named, b: Size, finish: Finish | None = None) -> None:
    """Make C with b columns of Y resident, and scalars of X streaming past each block of them."""
    array = C.array
    i, j = array.indices
    assert array.over is not None
    left, right = _factors(array)
    m, n = C.size
    for J in s.blocks(n, b):
        columns = s.operands(array, {i: J, j: J, array.over: whole(array.over.size)})[right]
        s.load(columns)
        for x in s.each(m):
            for l in s.each(array.over.size):
                scalar = s.operands(array, {i: x, j: J, array.over: l})[left]
                s.load(scalar)
                s.accumulate(C[x, J], l)
                s.free(scalar)
            _finish(s, C, x, J, finish)
        s.free(columns)


def elementwise(s: Schedule, named: Named) -> None:
    """Make an elementwise array entry by entry in row order, operands loaded for each entry."""
    indices = named.array.indices
    for at in s.points(named.array, indices):
        entry = named[tuple(at[x] for x in indices)]
        operands = s.operands(named.array, at)
        s.load(*operands)
        s.compute(entry)
        s.free(*operands)
        put(s, entry)


def row_sums(s: Schedule, named: Named) -> None:
    """Make a sum entry by entry, its terms streaming past; the sum stays red until it is done."""
    array = named.array
    assert array.over is not None
    for at in s.points(array, array.indices):
        view = named[tuple(at[x] for x in array.indices)]
        for term in s.points(array, [array.over], at):
            operands = s.operands(array, term)
            s.load(*operands)
            release = tuple(operands) if array.is_contraction else ()
            s.accumulate(view, term[array.over], release=release)
        put(s, view)


def _finish(s: Schedule, C: Named, I: Range, J: Range, finish: Finish | None) -> None:
    """Dispose of the finished entries C[I, J]: by default store and free them."""
    if finish is None:
        put(s, C[I, J])
    else:
        finish(s, I, J)
