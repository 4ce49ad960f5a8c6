"""Schedule texts for online softmax: what a row keeps is rescaled block by block.

The key blocks are those of the workload; a text visits them one after the other, each by its own
names.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from strategies.operators import put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Named, Range, Schedule

__all__ = ["key_blocks_outside", "query_blocks_outside"]


def key_blocks_outside(s: Schedule, rows: Size) -> None:
    """FlashAttention: K and V blocks outside; m, l and U of every row are read and written."""
    (Q,) = s.arrays("Q")
    n, _ = Q.size
    last = _blocks(s)
    for b in range(1, last + 1):
        K, V = s.arrays(f"K{b}", f"V{b}")
        s.load(K[:, :], V[:, :])
        for I in s.blocks(n, rows):
            s.load(Q[I, :])
            if b > 1:
                m, l, U = _kept(s, b - 1)
                s.load(m[I], l[I], U[I, :])
            for i in s.each(I):
                _block(s, b, i)
            s.free(Q[I, :])
            if b == last:
                _finish(s, I, last)
            else:
                m, l, U = _kept(s, b)
                put(s, m[I], l[I], U[I, :])
        s.free(K[:, :], V[:, :])


def query_blocks_outside(s: Schedule, rows: Size) -> None:
    """FlashAttention-2: Q blocks outside; m, l and U stay in fast memory, K and V stream."""
    (Q,) = s.arrays("Q")
    n, _ = Q.size
    last = _blocks(s)
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for b in range(1, last + 1):
            K, V = s.arrays(f"K{b}", f"V{b}")
            s.load(K[:, :], V[:, :])
            for i in s.each(I):
                _block(s, b, i)
            s.free(K[:, :], V[:, :])
        s.free(Q[I, :])
        _finish(s, I, last)


def _blocks(s: Schedule) -> int:
    """Return the number of key blocks."""
    return next(b for b in count(1) if f"K{b + 1}" not in s.formula.arrays)


def _kept(s: Schedule, b: int) -> tuple[Named, ...]:
    """Return what a row keeps after block b: m, l and U."""
    return s.arrays(f"m{b}", f"l{b}", f"U{b}")


def _block(s: Schedule, b: int, i: Range) -> None:
    """Take key block b into row i, with the block and what the row kept before red."""
    S, Z, A = s.arrays(f"S{b}", f"Z{b}", f"A{b}")
    m, l, U = _kept(s, b)
    width = S.size[1]
    s.accumulate(S[i, :])
    if b == 1:
        s.accumulate(m[i], keep=True)
    else:
        x, t, c = s.arrays(f"x{b}", f"t{b}", f"c{b}")
        before = _kept(s, b - 1)
        s.accumulate(x[i], keep=True)
        s.compute(m[i])
        s.free(x[i])
        s.compute(t[i])
        s.free(before[0][i])
        s.compute(c[i])
        s.free(t[i])
    for j in s.each(width):
        s.compute(Z[i, j])
        s.free(S[i, j])
        s.compute(A[i, j])
        s.free(Z[i, j])
    if b == 1:
        s.accumulate(U[i, :])
        s.accumulate(l[i])
        return
    c, W, R, y, r = s.arrays(f"c{b}", f"W{b}", f"R{b}", f"y{b}", f"r{b}")
    _, sums, products = _kept(s, b - 1)
    for k in s.each(U.size[1]):
        s.accumulate(W[i, k])
        s.compute(R[i, k])
        s.free(products[i, k])
        s.compute(U[i, k])
        s.free(W[i, k], R[i, k])
    s.accumulate(y[i])
    s.compute(r[i])
    s.free(sums[i], c[i])
    s.compute(l[i])
    s.free(y[i], r[i])


def _finish(s: Schedule, I: Range, last: int) -> None:
    """Turn what the rows I keep after the last block into stored outputs."""
    m, l, U = _kept(s, last)
    (O,) = s.arrays("O")
    s.free(m[I])
    for i in s.each(I):
        for k in s.each(U.size[1]):
            s.compute(O[i, k])
            s.free(U[i, k])
            put(s, O[i, k])
    s.free(l[I])
