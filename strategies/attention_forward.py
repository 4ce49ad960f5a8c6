"""Schedule texts that make O: attention's forward pass, and the first pass of its gradient.

In the gradient T = A1 X, A2 and h = A3 Y stand in the places of Q, K and V, and a finished row of
O goes on to c = O - E and r_i = <c_i, O_i>.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.dropout import drop, seeded, undrop
from strategies.operators import multiply, put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Named, Range, Schedule

__all__ = [
    "early_rows",
    "early_rows_twice",
    "finish_rows",
    "flash",
    "flash2",
    "key_rows",
    "normalise",
    "normalise_tile",
    "q_outer",
    "residual",
    "roles",
    "score",
    "scores_by_tiles",
    "softmax_rows",
    "values_by_tiles",
]


def roles(s: Schedule) -> tuple[Named, ...]:
    """Return the arrays in the places of Q, K and V."""
    names = ("T", "A2", "h") if "T" in s.formula.arrays else ("Q", "K", "V")
    return s.arrays(*names)


def score(s: Schedule, i: Range, j: Range) -> None:
    """Make A[i,j] = exp(S[i,j]) from the rows of its two factors."""
    S, A = s.arrays("S", "A")
    s.accumulate(S[i, j])
    s.compute(A[i, j])
    s.free(S[i, j])


# -- what becomes of finished rows of U ----------------------------------------------------------


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


def residual(s: Schedule) -> Named:
    """Return c = O - E; with ``given=dO`` it is an input, dO itself."""
    return s.arrays("c" if "c" in s.formula.arrays else "dO")[0]


def _finish_gradient_row(s: Schedule, i: Range) -> None:
    """Turn the finished sums U_i into c_i, stored where it is made, and r_i = <c_i, O_i>."""
    U, O, r = s.arrays("U", "O", "r")
    c = residual(s)
    for m in s.each(U.size[1]):
        s.compute(O[i, m])
        s.free(U[i, m])
        if c.array.is_input:
            s.load(c[i, m])
        else:
            (E,) = s.arrays("E")
            s.load(E[i, m])
            s.compute(c[i, m])
            s.free(E[i, m])
            s.store(c[i, m])
        s.accumulate(r[i], m, release=(c[i, m], O[i, m]))
    put(s, r[i])


def finish_rows(s: Schedule, I: Range) -> None:
    """Dispose of finished rows of U and l; l is stored where a backward pass will want it."""
    U, l = s.arrays("U", "l")
    if "r" in s.formula.arrays:
        for i in s.each(I):
            _finish_gradient_row(s, i)
    else:
        normalise(s, I, U.size[1])
    if "P" in s.formula.arrays or "f" in s.formula.arrays:
        s.store(l[I])
    s.free(l[I])


# -- key blocks outside --------------------------------------------------------------------------


@seeded
def flash(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention forward, Dao22 Algorithm 1: K and V blocks outside, row blocks inside.

    O is normalised in the last round only: until then the running sums U and l are what is read
    and written, which moves as many scalars as Algorithm 1's rescaled O does.
    """
    Q, K, V = roles(s)
    U, l = s.arrays("U", "l")
    n, _ = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for I in s.rows(J, n, rows):
            s.load(Q[I, :])
            if s.begun(I, J):
                s.load(U[I, :].before(J), l[I].before(J))
            for i in s.queries(I, J):
                for j in s.keys(i, J):
                    score(s, i, j)
                    drop(s, "A", i, j)
                    s.accumulate(U[i, :], j)
                    undrop(s, "A", i, j)
                    s.accumulate(l[i], j)
            s.free(Q[I, :])
            if s.ended(I, J):
                finish_rows(s, I)
            else:
                put(s, U[I, :].after(J), l[I].after(J))
        s.free(K[J, :], V[J, :])


# -- query blocks outside ------------------------------------------------------------------------


@seeded
def flash2(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention-2 forward (Dao23): Q blocks outside, K and V blocks stream past."""
    Q, K, V = roles(s)
    U, l = s.arrays("U", "l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for J in s.columns(I, n, columns):
            s.load(K[J, :], V[J, :])
            for i in s.queries(I, J):
                for j in s.keys(i, J):
                    score(s, i, j)
                    drop(s, "A", i, j)
                    s.accumulate(U[i, :], j)
                    undrop(s, "A", i, j)
                    s.accumulate(l[i], j)
            s.free(K[J, :], V[J, :])
        s.free(Q[I, :])
        finish_rows(s, I)


@seeded
def key_rows(s: Schedule, rows: Size) -> None:
    """AttenIO forward (AIO26): Q blocks outside, one row of K, then one row of V at a time."""
    Q, K, V = roles(s)
    U, l = s.arrays("U", "l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for j in s.columns(I, n):
            s.load(K[j, :])
            for i in s.queries(I, j):
                score(s, i, j)
            s.free(K[j, :])
            s.load(V[j, :])
            for i in s.queries(I, j):
                drop(s, "A", i, j)
                s.accumulate(U[i, :], j)
                undrop(s, "A", i, j)
                s.accumulate(l[i], j)
            s.free(V[j, :])
        s.free(Q[I, :])
        finish_rows(s, I)


@seeded
def q_outer(s: Schedule, rows: Size) -> None:
    """Q blocks outside, K and V stream scalar by scalar: a (2 d + 2) + 3 red pebbles."""
    Q, _, V = roles(s)
    U, l = s.arrays("U", "l")
    n, d = V.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for j in s.columns(I, n):
            stream_scores(s, I, j)
            for i in s.queries(I, j):
                _exponential(s, i, j)
                drop(s, "A", i, j)
            for k in s.each(d):
                s.load(V[j, k])
                for i in s.queries(I, j):
                    s.accumulate(U[i, k], j)
                s.free(V[j, k])
            for i in s.queries(I, j):
                undrop(s, "A", i, j)
                s.accumulate(l[i], j)
        s.free(Q[I, :])
        finish_rows(s, I)


def stream_scores(s: Schedule, I: Range, j: Range) -> None:
    """Make S[I, j] with the rows of I red, while the row K_j streams past."""
    Q, K, _ = roles(s)
    (S,) = s.arrays("S")
    for k in s.each(Q.size[1]):
        s.load(K[j, k])
        for i in s.queries(I, j):
            s.accumulate(S[i, j], k)
        s.free(K[j, k])


def _exponential(s: Schedule, i: Range, j: Range) -> None:
    S, A = s.arrays("S", "A")
    s.compute(A[i, j])
    s.free(S[i, j])


# -- scores stored -------------------------------------------------------------------------------


def scores_by_tiles(s: Schedule, tile: Size) -> None:
    """A = exp(S) by square tiles, written once, with the row sums l (SY24, Algorithm 1)."""
    S, l = s.arrays("S", "l")
    n, _ = S.size
    for I in s.blocks(n, tile):
        for J in s.blocks(n, tile):
            multiply(s, S, I, J, tile)
            store_exponentials(s, I, J)
        put(s, l[I])


def store_exponentials(s: Schedule, I: Range, J: Range) -> None:
    """Turn S[I, J] into stored A[I, J], and add A to the row sums l, which stay red."""
    S, A, l = s.arrays("S", "A", "l")
    for i in s.each(I):
        for j in s.each(J):
            s.compute(A[i, j])
            s.free(S[i, j])
            s.store(A[i, j])
            s.accumulate(l[i], j)


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
    S, l = s.arrays("S", "l")
    n, _ = S.size
    for i in s.each(n):
        for j in s.each(n):
            s.load(S[i, j])
            store_exponentials(s, i, j)
        put(s, l[i])


def early_rows(s: Schedule) -> None:
    """P = exp(S) / l row by row, a row of S in fast memory: S is read once, P written once.

    The sum l uses its terms up, so that each exponential is computed twice.
    """
    S, A, l = s.arrays("S", "A", "l")
    n, _ = S.size
    for i in s.each(n):
        s.load(S[i, :])
        for j in s.each(n):
            s.compute(A[i, j])
            s.accumulate(l[i], j)
        for j in s.each(n):
            _early(s, i, j)
        s.free(l[i])


def early_rows_twice(s: Schedule) -> None:
    """P = exp(S) / l row by row, entry by entry: S is read twice."""
    S, A, l = s.arrays("S", "A", "l")
    n, _ = S.size
    for i in s.each(n):
        for j in s.each(n):
            s.load(S[i, j])
            s.compute(A[i, j])
            s.free(S[i, j])
            s.accumulate(l[i], j)
        for j in s.each(n):
            s.load(S[i, j])
            _early(s, i, j)
        s.free(l[i])


def _early(s: Schedule, i: Range, j: Range) -> None:
    """Turn S[i,j] into stored P[i,j], with l_i red."""
    S, A, P = s.arrays("S", "A", "P")
    s.compute(A[i, j])
    s.free(S[i, j])
    s.compute(P[i, j])
    s.free(A[i, j])
    put(s, P[i, j])
