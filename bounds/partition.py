"""Savage's span, the computable side of Hong and Kung's partitions; true with recomputation.

For small graphs only: all sets of a size are tried.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound, Problem

__all__ = ["MOST_VERTICES", "span", "spans"]

SAVAGE = "Savage, Extending the Hong-Kung model to memory hierarchies, COCOON 1995"

#: The sets of vertices are bits of one word.
MOST_VERTICES = 63
#: How many sets may be tried.
MOST_SETS = 2_000_000


def spans(problem: Problem, largest: int) -> list[int]:
    """Return, for X = 0 ... largest, the most vertices that X vertices give without I/O.

    The vertices given are those that can be computed from the X, the X themselves not counted. The
    list is shorter where the sets of a size are too many to be tried.

    Examples
    --------
    >>> from bounds.dag_bound import Problem
    >>> from graphs.registry import workload
    >>> spans(Problem.of(workload("pyramid:h=3").dag(), 3), 4)
    [0, 0, 1, 3, 6]
    """
    from bounds import _spans

    dag, size = problem.dag, len(problem.dag)
    if size > MOST_VERTICES:
        return []
    masks = np.zeros(size, np.uint64)
    for v in range(size):
        for u in dag.operands(v):
            masks[v] |= np.uint64(1) << np.uint64(u)
    most: list[int] = []
    for count in range(min(largest, size) + 1):
        if comb(size, count) > MOST_SETS:
            break
        found = int(_spans.most_new(masks, problem.is_input, count))
        most.append(max(found, most[-1] if most else 0))
    return most + [most[-1]] * (largest - size if most and len(most) == size + 1 else 0)


def span(problem: Problem) -> DagBound | None:
    """Bound by how much can be computed between T loads, at the best T.

    Cut a play just before its loads number T + 1, 2 T + 1, and so on. What is computed for the
    first time between two cuts can be computed from the at most M red vertices at the first cut and
    the T loaded ones; before the first cut, from T alone.

    Returns
    -------
    DagBound or None
        None if the graph is too large.

    Examples
    --------
    >>> from bounds.dag_bound import Problem
    >>> from graphs.registry import workload
    >>> span(Problem.of(workload("fft:n=4").dag(), 3)).detail
    '4 outputs + 4 loads, in pieces of 3'
    """
    M, stores = problem.memory, int(problem.stored.size)
    computed = int(np.count_nonzero(~problem.is_input))
    most = spans(problem, len(problem.dag) + M)
    if len(most) < M + 2:
        return None
    loads, chosen = 0, 0
    for T in range(1, len(most) - M):
        if most[T] >= computed or most[M + T] == 0:
            break
        cuts = -(-(computed - most[T]) // most[M + T])
        if T * cuts + 1 > loads:
            loads, chosen = T * cuts + 1, T
    return problem.bound(
        "span",
        stores + loads,
        SAVAGE,
        detail=f"{stores} outputs + {loads} loads, in pieces of {chosen}",
    )
