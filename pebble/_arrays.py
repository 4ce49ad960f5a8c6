"""Compiled loops over CSR arrays."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from pebble.operations import INPUT

__all__ = ["first_fault", "reaches", "successors", "topological_order", "used", "widest"]

NO_FAULT, RANGE, SELF_LOOP, DUPLICATE = range(4)


@jit
def first_fault(indptr, preds):  # type: ignore[no-untyped-def]
    """Return (vertex, predecessor, fault) of the first malformed edge; also whether ids ascend."""
    ascending = True
    for v in range(indptr.size - 1):
        low, high = indptr[v], indptr[v + 1]
        for e in range(low, high):
            u = preds[e]
            if u >= indptr.size - 1:
                return v, np.int64(u), RANGE, False
            if u == v:
                return v, np.int64(u), SELF_LOOP, False
            if u > v:
                ascending = False
            if high - low <= 32:
                for f in range(low, e):
                    if preds[f] == u:
                        return v, np.int64(u), DUPLICATE, False
        if high - low > 32:  # quadratic search would take minutes on a vertex of a million operands
            ranked = np.sort(preds[low:high])
            for e in range(1, ranked.size):
                if ranked[e] == ranked[e - 1]:
                    return v, np.int64(ranked[e]), DUPLICATE, False
    return 0, 0, NO_FAULT, ascending


@jit
def successors(indptr, preds):  # type: ignore[no-untyped-def]
    """Transpose a CSR structure; successors of a vertex come out in ascending order."""
    size = indptr.size - 1
    start = np.zeros(size + 1, np.uint32)
    for e in range(preds.size):
        start[preds[e] + 1] += 1
    for v in range(size):
        start[v + 1] += start[v]
    fill = start[:-1].copy()
    out = np.empty(preds.size, np.uint32)
    for v in range(size):
        for e in range(indptr[v], indptr[v + 1]):
            u = preds[e]
            out[fill[u]] = v
            fill[u] += 1
    return start, out


@jit
def topological_order(indptr, start, succ):  # type: ignore[no-untyped-def]
    """Kahn's order, first in first out; shorter than the DAG exactly when there is a cycle."""
    size = indptr.size - 1
    missing = np.empty(size, np.uint32)
    order = np.empty(size, np.uint32)
    tail = 0
    for v in range(size):
        missing[v] = indptr[v + 1] - indptr[v]
        if missing[v] == 0:
            order[tail] = v
            tail += 1
    head = 0
    while head < tail:
        u = order[head]
        head += 1
        for e in range(start[u], start[u + 1]):
            v = succ[e]
            missing[v] -= 1
            if missing[v] == 0:
                order[tail] = v
                tail += 1
    return order[:tail]


@jit
def reaches(indptr, preds, order, outputs):  # type: ignore[no-untyped-def]
    """Mark the vertices from which an output can be reached, the outputs included."""
    needed = np.zeros(indptr.size - 1, np.bool_)
    for v in outputs:
        needed[v] = True
    for i in range(order.size - 1, -1, -1):
        v = order[i]
        if needed[v]:
            for e in range(indptr[v], indptr[v + 1]):
                needed[preds[e]] = True
    return needed


@jit
def used(preds, size):  # type: ignore[no-untyped-def]
    """Mark the vertices that are an operand of some vertex."""
    mask = np.zeros(size, np.bool_)
    for u in preds:
        mask[u] = True
    return mask


@jit
def widest(indptr, operations, needed, everything):  # type: ignore[no-untyped-def]
    """Return the first needed vertex with most operands, inputs left out; -1 if there is none."""
    best, most = -1, np.int64(-1)
    for v in range(operations.size):
        degree = np.int64(indptr[v + 1]) - np.int64(indptr[v])
        if degree > most and operations[v] != INPUT and (everything or needed[v]):
            best, most = v, degree
    return best
