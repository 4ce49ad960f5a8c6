"""Schedule texts for softmax with a row statistic that comes first: a maximum, or the row sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategies.attention_forward import finish_rows, stream_scores
from strategies.dropout import drop, seeded, undrop
from strategies.operators import put

if TYPE_CHECKING:
    from graphs.expressions import Size
    from strategies.schedule import Range, Schedule

__all__ = ["output", "statistics"]


def statistics(s: Schedule, rows: Size) -> None:
    """Make the row maxima m (``softmax=safe``) or the row sums l (``early``), Q rows resident."""
    Q, S = s.arrays("Q", "S")
    safe = "m" in s.formula.arrays
    (z,) = s.arrays("m" if safe else "l")
    n, _ = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for j in s.columns(I, n):
            stream_scores(s, I, j)
            for i in s.queries(I, j):
                if not safe:
                    (A,) = s.arrays("A")
                    s.compute(A[i, j])
                    s.free(S[i, j])
                s.accumulate(z[i], j)
        s.free(Q[I, :])
        put(s, z[I])


@seeded
def output(s: Schedule, rows: Size) -> None:
    """Make O from the row statistics, Q rows resident, K and V streaming scalar by scalar."""
    Q, V = s.arrays("Q", "V")
    safe = "m" in s.formula.arrays
    (z,) = s.arrays("m" if safe else "l")
    weight, sums = s.arrays("A", "U") if safe else s.arrays("P", "O")
    n, d = V.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :], z[I])
        for j in s.columns(I, n):
            stream_scores(s, I, j)
            for i in s.queries(I, j):
                _weight(s, i, j)
                drop(s, weight.array.name, i, j)
            for k in s.each(d):
                s.load(V[j, k])
                for i in s.queries(I, j):
                    s.accumulate(sums[i, k], j)
                s.free(V[j, k])
            for i in s.queries(I, j):
                undrop(s, weight.array.name, i, j)
                if safe:
                    (l,) = s.arrays("l")
                    s.accumulate(l[i], j)
                else:
                    s.free(weight[i, j])
        s.free(Q[I, :], z[I])
        if safe:
            finish_rows(s, I)
        else:
            put(s, sums[I, :])


def _weight(s: Schedule, i: Range, j: Range) -> None:
    """Turn S[i,j] into exp(S - m), or into exp(S) / l."""
    S, A = s.arrays("S", "A")
    if "m" in s.formula.arrays:
        (shifted,) = s.arrays("Sm")
        s.compute(shifted[i, j])
        s.free(S[i, j])
        s.compute(A[i, j])
        s.free(shifted[i, j])
    else:
        (P,) = s.arrays("P")
        s.compute(A[i, j])
        s.free(S[i, j])
        s.compute(P[i, j])
        s.free(A[i, j])
