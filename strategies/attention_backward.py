"""Schedule texts for attention's backward pass: dQ, dK, dV from Q, K, V, O, dO, l."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_forward import score
from strategies.operators import multiply, put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Range, Schedule

__all__ = ["flash", "probabilities_by_tiles", "probability_rows", "row_terms"]
__all__ += ["score_gradient_rows", "score_gradients_by_tiles"]


def row_term(s: Schedule, i: Range) -> None:
    """Make D_i = <dO_i, O_i> with row dO_i red and O_i streaming past."""
    O, D = s.arrays("O", "D")
    for k in s.each(O.size[1]):
        s.load(O[i, k])
        s.accumulate(D[i], k)
        s.free(O[i, k])


def flash(s: Schedule, rows: Size, columns: Size) -> None:
    """FlashAttention backward, Dao22 Algorithm 4: K, V, dK, dV resident, all else streaming.

    As printed, O streams in every round and D_i is computed anew.
    """
    Q, K, V, dO, l = s.arrays("Q", "K", "V", "dO", "l")
    A, P, dP, D, Z, dS = s.arrays("A", "P", "dP", "D", "Z", "dS")
    dQ, dK, dV = s.arrays("dQ", "dK", "dV")
    n, _ = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for I in s.blocks(n, rows):
            s.load(Q[I, :], dO[I, :], l[I])
            for i in s.each(I):
                row_term(s, i)
            if not J.first:
                s.load(dQ[I, :].before(J))
            for i in s.each(I):
                for j in s.each(J):
                    score(s, i, j)
                    s.compute(P[i, j])
                    s.free(A[i, j])
                    s.accumulate(dV[j, :], i)
                    s.accumulate(dP[i, j])
                    s.compute(Z[i, j])
                    s.free(dP[i, j])
                    s.compute(dS[i, j])
                    s.free(P[i, j], Z[i, j])
                    s.accumulate(dQ[i, :], j)
                    s.accumulate(dK[j, :], i)
                    s.free(dS[i, j])
            put(s, dQ[I, :].after(J))
            s.free(Q[I, :], dO[I, :], l[I], D[I])
        put(s, dK[J, :], dV[J, :])
        s.free(K[J, :], V[J, :])


def probabilities_by_tiles(s: Schedule, tile: Size) -> None:
    """P = exp(S) / l by square tiles, written once."""
    l, S, A, P = s.arrays("l", "S", "A", "P")
    n, _ = S.size
    for I in s.blocks(n, tile):
        s.load(l[I])
        for J in s.blocks(n, tile):
            multiply(s, S, I, J, tile)
            for i in s.each(I):
                for j in s.each(J):
                    s.compute(A[i, j])
                    s.free(S[i, j])
                    s.compute(P[i, j])
                    s.free(A[i, j])
                    put(s, P[i, j])
        s.free(l[I])


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
    P, dP, D, Z, dS = s.arrays("P", "dP", "D", "Z", "dS")
    n, _ = P.size
    for I in s.blocks(n, tile):
        s.load(D[I])
        for J in s.blocks(n, tile):
            multiply(s, dP, I, J, tile)
            for i in s.each(I):
                for j in s.each(J):
                    s.compute(Z[i, j])
                    s.free(dP[i, j])
                    s.load(P[i, j])
                    s.compute(dS[i, j])
                    s.free(P[i, j], Z[i, j])
                    put(s, dS[i, j])
        s.free(D[I])


def probability_rows(s: Schedule) -> None:
    """P = exp(S) / l entry by entry: S is read, P is written."""
    l, S, A, P = s.arrays("l", "S", "A", "P")
    n, _ = S.size
    for i in s.each(n):
        s.load(l[i])
        for j in s.each(n):
            s.load(S[i, j])
            s.compute(A[i, j])
            s.free(S[i, j])
            s.compute(P[i, j])
            s.free(A[i, j])
            put(s, P[i, j])
        s.free(l[i])


def score_gradient_rows(s: Schedule) -> None:
    """dS = P o (dP - D) entry by entry: P and dP are read, dS is written."""
    P, dP, D, Z, dS = s.arrays("P", "dP", "D", "Z", "dS")
    n, _ = P.size
    for i in s.each(n):
        s.load(D[i])
        for j in s.each(n):
            s.load(dP[i, j])
            s.compute(Z[i, j])
            s.free(dP[i, j])
            s.load(P[i, j])
            s.compute(dS[i, j])
            s.free(P[i, j], Z[i, j])
            put(s, dS[i, j])
        s.free(D[i])
