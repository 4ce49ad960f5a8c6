"""Schedule texts by chunks of queries, each a program of its own: Rabe and Staats.

A chunk reads all keys and values; backward it makes its part of dK and dV, which is added to what
the chunks before it have made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_backward import (
    make_probability,
    make_score_gradient,
    row_term,
)
from strategies.attention_forward import normalise, score
from strategies.operators import put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Range, Schedule

__all__ = ["backward", "checkpointed", "forward"]


def _attend(s: Schedule, I: Range, columns: Size) -> None:
    """Make the sums U and l of the rows I, Q[I] red, keys and values by chunks."""
    _, K, V, U, l = s.arrays("Q", "K", "V", "U", "l")
    n, _ = K.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        for i in s.each(I):
            for j in s.each(J):
                score(s, i, j)
                s.accumulate(U[i, :], j)
                s.accumulate(l[i], j)
        s.free(K[J, :], V[J, :])


def forward(s: Schedule, rows: Size, columns: Size) -> None:
    """O by chunks of queries; nothing but O is kept."""
    Q, U, l = s.arrays("Q", "U", "l")
    n, d = U.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        _attend(s, I, columns)
        s.free(Q[I, :])
        normalise(s, I, d)
        s.free(l[I])


def backward(s: Schedule, rows: Size, columns: Size) -> None:
    """dQ, dK, dV by chunks of queries, from given O and l."""
    Q, dO, l = s.arrays("Q", "dO", "l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :], dO[I, :], l[I])
        for i in s.each(I):
            row_term(s, i)
        _gradients(s, I, columns)


def checkpointed(s: Schedule, rows: Size, columns: Size) -> None:
    """dQ, dK, dV by chunks of queries, each of which makes its O and l anew."""
    Q, dO, l, U, O, D = s.arrays("Q", "dO", "l", "U", "O", "D")
    n, d = U.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        _attend(s, I, columns)
        for i in s.each(I):
            for k in s.each(d):
                s.compute(O[i, k])
                s.free(U[i, k])
                s.load(dO[i, k])
                s.accumulate(D[i], k, release=(dO[i, k], O[i, k]))
        s.load(dO[I, :])
        _gradients(s, I, columns)


def _gradients(s: Schedule, I: Range, columns: Size) -> None:
    """Make dQ[I] and the part of I in dK and dV, with Q, dO, l and D of I red."""
    Q, K, V, dO, l, D = s.arrays("Q", "K", "V", "dO", "l", "D")
    dP, dS, dQ, dK, dV = s.arrays("dP", "dS", "dQ", "dK", "dV")
    n, _ = Q.size
    for J in s.blocks(n, columns):
        s.load(K[J, :], V[J, :])
        if not I.first:
            s.load(dK[J, :].before(I), dV[J, :].before(I))
        for i in s.each(I):
            for j in s.each(J):
                make_probability(s, i, j)
                s.accumulate(dV[j, :], i)
                s.accumulate(dP[i, j])
                make_score_gradient(s, i, j)
                s.accumulate(dQ[i, :], j)
                s.accumulate(dK[j, :], i)
                s.free(dS[i, j])
        put(s, dK[J, :].after(I), dV[J, :].after(I))
        s.free(K[J, :], V[J, :])
    put(s, dQ[I, :])
    s.free(Q[I, :], dO[I, :], l[I], D[I])
