"""Schedule texts for attention's backward pass: dQ, dK, dV from Q, K, V, O, dO, l."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_forward import score
from strategies.dropout import drop, seeded, undrop
from strategies.operators import multiply, put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Range, Schedule

__all__ = [
    "columns_pass",
    "flash",
    "flash2",
    "make_probability",
    "make_score_gradient",
    "probabilities_by_tiles",
    "probability_rows",
    "row_term",
    "row_terms",
    "rows_pass",
    "score_gradient_rows",
    "score_gradients_by_tiles",
    "store_probabilities",
    "store_row_gradients",
    "store_score_gradients",
    "stored_probabilities_pass",
    "stream_gradients",
]


def row_term(s: Schedule, i: Range) -> None:
    """Make D_i = <dO_i, O_i> with row dO_i red and O_i streaming past."""
    O, D = s.arrays("O", "D")
    for k in s.each(O.size[1]):
        s.load(O[i, k])
        s.accumulate(D[i], k)
        s.free(O[i, k])


def make_probability(s: Schedule, i: Range, j: Range) -> None:
    """Make P[i,j] from the rows Q_i and K_j, and l_i."""
    A, P = s.arrays("A", "P")
    score(s, i, j)
    s.compute(P[i, j])
    s.free(A[i, j])


def make_score_gradient(s: Schedule, i: Range, j: Range) -> None:
    """Turn finished dP[i,j] and P[i,j] into dS[i,j], with D_i red."""
    P, dP, Z, dS = s.arrays("P", "dP", "Z", "dS")
    drop(s, "dP", i, j)
    s.compute(Z[i, j])
    undrop(s, "dP", i, j)
    s.free(dP[i, j])
    s.compute(dS[i, j])
    s.free(P[i, j], Z[i, j])


def flash(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention backward, Dao22 Algorithm 4: K, V, dK, dV resident, all else streaming.

    As printed, O streams in every round and D_i is computed anew.
    """
    _fused(s, rows, columns, again=True)


def flash2(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention-2 backward (Dao23): Algorithm 4 with D made and stored beforehand."""
    _fused(s, rows, columns, again=False)


@seeded
def _fused(s: Schedule, rows: Size, columns: Size, again: bool) -> None:
    Q, K, V, dO, l, D = s.arrays("Q", "K", "V", "dO", "l", "D")
    dP, dS, dQ, dK, dV = s.arrays("dP", "dS", "dQ", "dK", "dV")
    n, _ = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for I in s.rows(J, n, rows):
            s.load(Q[I, :], dO[I, :], l[I])
            if again:
                for i in s.each(I):
                    row_term(s, i)
            else:
                s.load(D[I])
            if s.begun(I, J):
                s.load(dQ[I, :].before(J))
            for i in s.queries(I, J):
                for j in s.keys(i, J):
                    make_probability(s, i, j)
                    drop(s, "P", i, j)
                    s.accumulate(dV[j, :], i)
                    undrop(s, "P", i, j)
                    s.accumulate(dP[i, j])
                    make_score_gradient(s, i, j)
                    s.accumulate(dQ[i, :], j)
                    s.accumulate(dK[j, :], i)
                    s.free(dS[i, j])
            put(s, dQ[I, :].after(J))
            s.free(Q[I, :], dO[I, :], l[I], D[I])
        put(s, dK[J, :], dV[J, :])
        s.free(K[J, :], V[J, :])


@seeded
def rows_pass(s: Schedule, rows: Size) -> None:
    """dQ with Q, dO and dQ resident; rows of K and scalars of V stream; D is made and stored."""
    Q, K, V, dO, l, D = s.arrays("Q", "K", "V", "dO", "l", "D")
    dP, dS, dQ = s.arrays("dP", "dS", "dQ")
    n, d = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :], dO[I, :], l[I])
        for i in s.each(I):
            row_term(s, i)
        s.store(D[I])
        for j in s.columns(I, n):
            s.load(K[j, :])
            for i in s.queries(I, j):
                make_probability(s, i, j)
            for k in s.each(d):
                s.load(V[j, k])
                for i in s.queries(I, j):
                    s.accumulate(dP[i, j], k)
                s.free(V[j, k])
            for i in s.queries(I, j):
                make_score_gradient(s, i, j)
                s.accumulate(dQ[i, :], j)
                s.free(dS[i, j])
            s.free(K[j, :])
        put(s, dQ[I, :])
        s.free(Q[I, :], dO[I, :], l[I], D[I])


@seeded
def columns_pass(s: Schedule, columns: Size, keep: bool = False) -> None:
    """dK and dV with K, V, dK and dV resident; rows of Q and scalars of dO stream.

    With ``keep``, dS is stored for a later product.
    """
    Q, K, V, l, D = s.arrays("Q", "K", "V", "l", "D")
    dS, dK, dV = s.arrays("dS", "dK", "dV")
    n, d = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for i in s.rows(J, n):
            s.load(Q[i, :], l[i])
            for j in s.keys(i, J):
                make_probability(s, i, j)
                drop(s, "P", i, j)
            s.free(l[i])
            stream_gradients(s, i, J, d)
            s.load(D[i])
            for j in s.keys(i, J):
                undrop(s, "P", i, j)
                make_score_gradient(s, i, j)
                s.accumulate(dK[j, :], i)
                if keep:
                    s.store(dS[i, j])
                s.free(dS[i, j])
            s.free(Q[i, :], D[i])
        put(s, dK[J, :], dV[J, :])
        s.free(K[J, :], V[J, :])


def stream_gradients(s: Schedule, i: Range, J: Range, d: Size) -> None:
    """Add dO_i, scalar by scalar, to dV[J, :] by P[i, J] and to dP[i, J] by V[J, :]."""
    dO, dP, dV = s.arrays("dO", "dP", "dV")
    for k in s.each(d):
        s.load(dO[i, k])
        for j in s.keys(i, J):
            s.accumulate(dV[j, k], i)
            s.accumulate(dP[i, j], k)
        s.free(dO[i, k])


def store_row_gradients(s: Schedule, i: Range, J: Range) -> None:
    """Turn P[i, J] into stored dS[i, J] and add to dV[J, :], with V[J, :] red."""
    V, D, dS = s.arrays("V", "D", "dS")
    stream_gradients(s, i, J, V.size[1])
    s.load(D[i])
    for j in s.each(J):
        make_score_gradient(s, i, j)
        put(s, dS[i, j])
    s.free(D[i])


def stored_probabilities_pass(s: Schedule, columns: Size) -> None:
    """dV and dS from stored P: V and dV resident, P is read and dS written once."""
    P, V, dV = s.arrays("P", "V", "dV")
    n, _ = V.size
    for J in s.blocks(n, columns):
        s.load(V[J, :])
        for i in s.each(n):
            s.load(P[i, J])
            store_row_gradients(s, i, J)
        put(s, dV[J, :])
        s.free(V[J, :])


def probabilities_by_tiles(s: Schedule, tile: Size) -> None:
    """P = exp(S) / l by square tiles, written once."""
    l, S = s.arrays("l", "S")
    n, _ = S.size
    for I in s.blocks(n, tile):
        s.load(l[I])
        for J in s.blocks(n, tile):
            multiply(s, S, I, J, tile)
            store_probabilities(s, I, J)
        s.free(l[I])


def store_probabilities(s: Schedule, I: Range, J: Range) -> None:
    """Turn S[I, J] into stored P[I, J], with l red."""
    S, A, P = s.arrays("S", "A", "P")
    for i in s.each(I):
        for j in s.each(J):
            s.compute(A[i, j])
            s.free(S[i, j])
            s.compute(P[i, j])
            s.free(A[i, j])
            put(s, P[i, j])


def row_terms(s: Schedule) -> None:
    """D_i = <dO_i, O_i> for every row, both factors streaming."""
    O, dO, D = s.arrays("O", "dO", "D")
    n, d = O.size
    for i in s.each(n):
        for k in s.each(d):
            s.load(dO[i, k], O[i, k])
            s.accumulate(D[i], k, release=(dO[i, k], O[i, k]))
        put(s, D[i])


def score_gradients_by_tiles(s: Schedule, tile: Size) -> None:
    """dS = P o (dP - D) by square tiles of dP = dO V^T, written once."""
    P, dP, D = s.arrays("P", "dP", "D")
    n, _ = P.size
    for I in s.blocks(n, tile):
        s.load(D[I])
        for J in s.blocks(n, tile):
            multiply(s, dP, I, J, tile)
            store_score_gradients(s, I, J)
        s.free(D[I])


def store_score_gradients(s: Schedule, I: Range, J: Range) -> None:
    """Turn dP[I, J] into stored dS[I, J], with D red; P is read."""
    P, dP, Z, dS = s.arrays("P", "dP", "Z", "dS")
    for i in s.each(I):
        for j in s.each(J):
            s.compute(Z[i, j])
            s.free(dP[i, j])
            s.load(P[i, j])
            s.compute(dS[i, j])
            s.free(P[i, j], Z[i, j])
            put(s, dS[i, j])


def probability_rows(s: Schedule) -> None:
    """P = exp(S) / l entry by entry: S is read, P is written."""
    l, S = s.arrays("l", "S")
    n, _ = S.size
    for i in s.each(n):
        s.load(l[i])
        for j in s.each(n):
            s.load(S[i, j])
            store_probabilities(s, i, j)
        s.free(l[i])


def score_gradient_rows(s: Schedule) -> None:
    """dS = P o (dP - D) entry by entry: P and dP are read, dS is written."""
    P, dP, D = s.arrays("P", "dP", "D")
    n, _ = P.size
    for i in s.each(n):
        s.load(D[i])
        for j in s.each(n):
            s.load(dP[i, j])
            store_score_gradients(s, i, j)
        s.free(D[i])
