"""Schedule texts between the regimes: some n x n arrays are stored, others recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_backward import (
    store_probabilities,
    store_row_gradients,
    store_score_gradients,
)
from strategies.attention_forward import residual, roles, store_exponentials, stream_scores
from strategies.operators import put, stationary

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Range, Schedule

__all__ = [
    "exponentials_pass",
    "finish_gradient_tile",
    "gradient_pass",
    "p_outer",
    "p_pass",
    "probabilities_outer",
    "probabilities_pass",
    "score_gradients_outer",
    "scores_outer",
    "scores_pass",
]


def scores_pass(s: Schedule, rows: Size) -> None:
    """A and l, each stored once, with Q rows resident and K streaming past."""
    Q, _, _ = roles(s)
    (l,) = s.arrays("l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for j in s.each(n):
            stream_scores(s, I, j)
            store_exponentials(s, I, j)
        s.free(Q[I, :])
        put(s, l[I])


def exponentials_pass(s: Schedule, columns: Size) -> None:
    """dV and dS from stored A: V and dV resident, A is read and dS written once."""
    A, P, V, l, dV = s.arrays("A", "P", "V", "l", "dV")
    n, _ = V.size
    for J in s.blocks(n, columns):
        s.load(V[J, :])
        for i in s.each(n):
            s.load(l[i])
            for j in s.each(J):
                s.load(A[i, j])
                s.compute(P[i, j])
                s.free(A[i, j])
            s.free(l[i])
            store_row_gradients(s, i, J)
        put(s, dV[J, :])
        s.free(V[J, :])


def scores_outer(s: Schedule, a: Size, b: Size) -> None:
    """A and l, each stored once, by a x b tiles."""
    S, l = s.arrays("S", "l")

    def finish(s: Schedule, I: Range, J: Range) -> None:
        store_exponentials(s, I, J)
        if J.last:
            put(s, l[I])

    stationary(s, S, a, b, finish)


def probabilities_pass(s: Schedule, rows: Size) -> None:
    """P, stored once, with Q rows and l resident and K streaming past."""
    Q, _, _ = roles(s)
    (l,) = s.arrays("l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :], l[I])
        for j in s.each(n):
            stream_scores(s, I, j)
            store_probabilities(s, I, j)
        s.free(Q[I, :], l[I])


def probabilities_outer(s: Schedule, a: Size, b: Size) -> None:
    """P, stored once, by a x b tiles."""
    S, l = s.arrays("S", "l")

    def finish(s: Schedule, I: Range, J: Range) -> None:
        s.load(l[I])
        store_probabilities(s, I, J)
        s.free(l[I])

    stationary(s, S, a, b, finish)


def score_gradients_outer(s: Schedule, a: Size, b: Size) -> None:
    """dS, stored once, by a x b tiles of dP; P is read."""
    dP, D = s.arrays("dP", "D")

    def finish(s: Schedule, I: Range, J: Range) -> None:
        s.load(D[I])
        store_score_gradients(s, I, J)
        s.free(D[I])

    stationary(s, dP, a, b, finish)


def finish_gradient_tile(s: Schedule, I: Range, K: Range) -> None:
    """Turn a tile of U into c and a part of r; r is stored with the last tile of its rows."""
    U, l, O, r = s.arrays("U", "l", "O", "r")
    c = residual(s)
    s.load(l[I])
    for i in s.each(I):
        for k in s.each(K):
            s.compute(O[i, k])
            s.free(U[i, k])
            if c.array.is_input:
                s.load(c[i, k])
            else:
                (E,) = s.arrays("E")
                s.load(E[i, k])
                s.compute(c[i, k])
                s.free(E[i, k])
                s.store(c[i, k])
            s.accumulate(r[i], k, release=(c[i, k], O[i, k]))
    s.free(l[I])
    if K.last:
        put(s, r[I])


def _p(s: Schedule, i: Range, j: Range) -> None:
    """Turn finished q[i,j] and f[i,j] into p[i,j], with r red."""
    q, f, t, p = s.arrays("q", "f", "s", "p")
    s.compute(t[i, j])
    s.free(q[i, j])
    s.compute(p[i, j])
    s.free(f[i, j], t[i, j])


def _quotients_and_q(s: Schedule, I: Range, j: Range) -> None:
    """Make f[I, j] from stored A, and q[I, j] with rows of c red and h streaming past."""
    A, f, q, h = s.arrays("A", "f", "q", "h")
    for i in s.each(I):
        s.load(A[i, j])
        s.compute(f[i, j])
        s.free(A[i, j])
    for m in s.each(h.size[1]):
        s.load(h[j, m])
        for i in s.each(I):
            s.accumulate(q[i, j], m)
        s.free(h[j, m])


def gradient_pass(s: Schedule, rows: Size) -> None:
    """G from stored A: c and G resident, A2 and h streaming past."""
    A2, l, r, p, G = s.arrays("A2", "l", "r", "p", "G")
    c = residual(s)
    n, d = G.size
    for I in s.blocks(n, rows):
        s.load(c[I, :], l[I], r[I])
        for j in s.each(n):
            _quotients_and_q(s, I, j)
            for i in s.each(I):
                _p(s, i, j)
            for m in s.each(d):
                s.load(A2[j, m])
                for i in s.each(I):
                    s.accumulate(G[i, m], j)
                s.free(A2[j, m])
            s.free(p[I, j])
        put(s, G[I, :])
        s.free(c[I, :], l[I], r[I])


def p_pass(s: Schedule, rows: Size) -> None:
    """p from stored A, stored once: c resident, h streaming past."""
    l, r, p = s.arrays("l", "r", "p")
    c = residual(s)
    n, _ = p.size
    for I in s.blocks(n, rows):
        s.load(c[I, :], l[I], r[I])
        for j in s.each(n):
            _quotients_and_q(s, I, j)
            for i in s.each(I):
                _p(s, i, j)
                put(s, p[i, j])
        s.free(c[I, :], l[I], r[I])


def p_outer(s: Schedule, a: Size, b: Size) -> None:
    """p from stored A, stored once, by a x b tiles of q."""
    A, f, l, q, r, p = s.arrays("A", "f", "l", "q", "r", "p")

    def finish(s: Schedule, I: Range, J: Range) -> None:
        s.load(l[I], r[I])
        for i in s.each(I):
            for j in s.each(J):
                s.load(A[i, j])
                s.compute(f[i, j])
                s.free(A[i, j])
                _p(s, i, j)
                put(s, p[i, j])
        s.free(l[I], r[I])

    stationary(s, q, a, b, finish)
