"""Schedule texts for the gradient dX = A1^T p A2 of Li24."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_forward import residual, score
from strategies.dropout import drop, seeded, undrop
from strategies.operators import multiply, put, stationary

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Named, Range, Schedule

__all__ = [
    "output_by_tiles",
    "output_outer",
    "p_rows",
    "p_rows_as24",
    "p_sweep",
    "quotients",
    "residuals",
    "row_terms",
    "rows_pass",
]


@seeded
def p_sweep(s: Schedule, rows: Size, columns: Size) -> None:
    """G = p A2 by FlashAttention's backward loops; S, A, q and p are recomputed, never stored."""
    T, A2, h, l, r = s.arrays("T", "A2", "h", "l", "r")
    A, f, q, t, p, G = s.arrays("A", "f", "q", "s", "p", "G")
    c = residual(s)
    n, _ = T.size
    for J in s.blocks(n, columns):
        s.load(A2[J, :], h[J, :])
        for I in s.rows(J, n, rows):
            s.load(T[I, :], c[I, :], l[I], r[I])
            if s.begun(I, J):
                s.load(G[I, :].before(J))
            for i in s.queries(I, J):
                for j in s.keys(i, J):
                    score(s, i, j)
                    s.compute(f[i, j])
                    s.free(A[i, j])
                    s.accumulate(q[i, j])
                    drop(s, "q", i, j)
                    s.compute(t[i, j])
                    undrop(s, "q", i, j)
                    s.free(q[i, j])
                    s.compute(p[i, j])
                    s.free(f[i, j], t[i, j])
                    s.accumulate(G[i, :], j)
                    s.free(p[i, j])
            put(s, G[I, :].after(J))
            s.free(T[I, :], c[I, :], l[I], r[I])
        s.free(A2[J, :], h[J, :])


@seeded
def rows_pass(s: Schedule, rows: Size) -> None:
    """G with T, c and G resident; rows of A2 and scalars of h stream past."""
    T, A2, h, l, r = s.arrays("T", "A2", "h", "l", "r")
    A, f, q, t, p, G = s.arrays("A", "f", "q", "s", "p", "G")
    c = residual(s)
    n, d = T.size
    for I in s.blocks(n, rows):
        s.load(T[I, :], c[I, :], l[I], r[I])
        for j in s.columns(I, n):
            s.load(A2[j, :])
            for i in s.queries(I, j):
                score(s, i, j)
                s.compute(f[i, j])
                s.free(A[i, j])
            for m in s.each(d):
                s.load(h[j, m])
                for i in s.queries(I, j):
                    s.accumulate(q[i, j], m)
                s.free(h[j, m])
            for i in s.queries(I, j):
                drop(s, "q", i, j)
                s.compute(t[i, j])
                undrop(s, "q", i, j)
                s.free(q[i, j])
                s.compute(p[i, j])
                s.free(f[i, j], t[i, j])
                s.accumulate(G[i, :], j)
                s.free(p[i, j])
            s.free(A2[j, :])
        put(s, G[I, :])
        s.free(T[I, :], c[I, :], l[I], r[I])


def output_by_tiles(s: Schedule, tile: Size) -> None:
    """O = U / l (or O = f h), and c = O - E where E is given, by square tiles; both are stored."""
    made, l = _summed(s)
    n, d = made.size
    for I in s.blocks(n, tile):
        s.load(*(named[I] for named in l))
        for K in s.blocks(d, tile):
            multiply(s, made, I, K, tile)
            _finish_output(s, I, K)
        s.free(*(named[I] for named in l))


def output_outer(s: Schedule, a: Size, b: Size) -> None:
    """O and c by a x b tiles of the running sums."""
    made, l = _summed(s)

    def finish(s: Schedule, I: Range, K: Range) -> None:
        s.load(*(named[I] for named in l))
        _finish_output(s, I, K)
        s.free(*(named[I] for named in l))

    stationary(s, made, a, b, finish)


def _summed(s: Schedule) -> tuple[Named, tuple[Named, ...]]:
    """Return the sum that O comes from and what divides it: U and l; with ``form=as24`` O alone."""
    if "U" in s.formula.arrays:
        return s.arrays("U")[0], s.arrays("l")
    return s.arrays("O")[0], ()


def _finish_output(s: Schedule, I: Range, K: Range) -> None:
    """Turn a tile of finished sums into stored O and c, with l red."""
    made, _ = _summed(s)
    (O,) = s.arrays("O")
    for i in s.each(I):
        for k in s.each(K):
            if made.array is not O.array:
                s.compute(O[i, k])
                s.free(made[i, k])
            s.store(O[i, k])
            residuals(s, i, k)
            s.free(O[i, k])


def residuals(s: Schedule, i: Range, k: Range) -> None:
    """c[i,k] = O[i,k] - E[i,k] with O red, where c is no input."""
    if "c" not in s.formula.arrays:
        return
    c, E = s.arrays("c", "E")
    s.load(E[i, k])
    s.compute(c[i, k])
    s.free(E[i, k])
    put(s, c[i, k])


def row_terms(s: Schedule, i: Range) -> None:
    """r_i = <c_i, O_i> for one row, both factors streaming; r_i stays red."""
    O, r = s.arrays("O", "r")
    c = residual(s)
    for m in s.each(O.size[1]):
        s.load(c[i, m], O[i, m])
        s.accumulate(r[i], m, release=(c[i, m], O[i, m]))


def p_rows(s: Schedule) -> None:
    """p = (A / l) (q - r) row by row: A and q are read, p is written, r stays in fast memory."""
    A, l, q, r, f, t, p = s.arrays("A", "l", "q", "r", "f", "s", "p")
    n, _ = p.size
    for i in s.each(n):
        row_terms(s, i)
        s.load(l[i])
        for j in s.each(n):
            s.load(A[i, j])
            s.compute(f[i, j])
            s.free(A[i, j])
            s.load(q[i, j])
            s.compute(t[i, j])
            s.free(q[i, j])
            s.compute(p[i, j])
            s.free(f[i, j], t[i, j])
            put(s, p[i, j])
        s.free(l[i], r[i])


def quotients(s: Schedule) -> None:
    """f = A / l row by row."""
    A, l, f = s.arrays("A", "l", "f")
    n, _ = f.size
    for i in s.each(n):
        s.load(l[i])
        for j in s.each(n):
            s.load(A[i, j])
            s.compute(f[i, j])
            s.free(A[i, j])
            put(s, f[i, j])
        s.free(l[i])


def p_rows_as24(s: Schedule) -> None:
    """p = w - r f with w = f o q, row by row: w is written with its row sum, then read again."""
    f, q, w, r, t, p = s.arrays("f", "q", "w", "r", "s", "p")
    n, _ = p.size
    for i in s.each(n):
        for j in s.each(n):
            s.load(f[i, j], q[i, j])
            s.compute(w[i, j])
            s.free(f[i, j], q[i, j])
            s.store(w[i, j])
            s.accumulate(r[i], j)
        for j in s.each(n):
            s.load(f[i, j])
            s.compute(t[i, j])
            s.free(f[i, j])
            s.load(w[i, j])
            s.compute(p[i, j])
            s.free(w[i, j], t[i, j])
            put(s, p[i, j])
        s.free(r[i])
