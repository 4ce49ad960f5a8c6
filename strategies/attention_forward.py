"""Schedule texts for attention's forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.operators import multiply, put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Named, Range, Schedule

__all__ = ["flash", "normalise", "normalise_tile", "scores_by_tiles", "softmax_rows"]
__all__ += ["values_by_tiles"]


def score(s: Schedule, S: Named, A: Named, i: Range, j: Range) -> None:
    """Make A[i,j] = exp(S[i,j]) from the rows of its two factors."""
    s.accumulate(S[i, j])
    s.compute(A[i, j])
    s.free(S[i, j])


def normalise(s: Schedule, I: Range, K: Range | Size) -> None:
    """Turn finished sums U[I, K] into stored outputs O = U / l, with l red."""
    U, O = s.arrays("U", "O")
    for i in s.each(I):
        for k in s.each(K):
            s.compute(O[i, k])
            s.free(U[i, k])
            put(s, O[i, k])


def normalise_tile(s: Schedule, I: Range, K: Range) -> None:
    """Finish a tile of U: load its row sums and `normalise`."""
    (l,) = s.arrays("l")
    s.load(l[I])
    normalise(s, I, K)
    s.free(l[I])


def flash(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention forward, Dao22 Algorithm 1: K and V blocks outside, row blocks inside.

    O is normalised in the last round only: until then the running sums U and l are what is read
    and written, which moves as many scalars as Algorithm 1's rescaled O does.
    """
    Q, K, V, S, A, l, U = s.arrays("Q", "K", "V", "S", "A", "l", "U")
    n, d = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for I in s.blocks(n, rows):
            s.load(Q[I, :])
            if not J.first:
                s.load(U[I, :].before(J), l[I].before(J))
            for i in s.each(I):
                for j in s.each(J):
                    score(s, S, A, i, j)
                    s.accumulate(U[i, :], j)
                    s.accumulate(l[i], j)
            s.free(Q[I, :])
            if J.last:
                normalise(s, I, d)
                s.free(l[I])
            else:
                put(s, U[I, :].after(J), l[I].after(J))
        s.free(K[J, :], V[J, :])


def scores_by_tiles(s: Schedule, tile: Size) -> None:
    """A = exp(S) by square tiles, written once, with the row sums l (SY24, Algorithm 1)."""
    S, A, l = s.arrays("S", "A", "l")
    n, _ = S.size
    for I in s.blocks(n, tile):
        for J in s.blocks(n, tile):
            multiply(s, S, I, J, tile)
            for i in s.each(I):
                for j in s.each(J):
                    s.compute(A[i, j])
                    s.free(S[i, j])
                    s.store(A[i, j])
                    s.accumulate(l[i], j)
        put(s, l[I])


def values_by_tiles(s: Schedule, tile: Size) -> None:
    """O = (A V) / l by square tiles (SY24, Algorithm 1)."""
    l, U = s.arrays("l", "U")
    n, d = U.size
    for I in s.blocks(n, tile):
        s.load(l[I])
        for K in s.blocks(d, tile):
            multiply(s, U, I, K, tile)
            normalise(s, I, K)
        s.free(l[I])


def softmax_rows(s: Schedule) -> None:
    """A = exp(S) and its row sums, entry by entry: S is read, A and l are written."""
    S, A, l = s.arrays("S", "A", "l")
    n, _ = S.size
    for i in s.each(n):
        for j in s.each(n):
            s.load(S[i, j])
            s.compute(A[i, j])
            s.free(S[i, j])
            s.store(A[i, j])
            s.accumulate(l[i], j)
        put(s, l[i])
