"""Compiled kernels for orders of computation."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["first_early", "depth_first"]


@jit
def depth_first(indptr, preds, roots, computed, shuffle, seed):  # type: ignore[no-untyped-def]
    """Post-order from the roots, operands in slot order or, with ``shuffle``, at random.

    ``computed`` marks the vertices that are no inputs; only these are listed.
    """
    size = computed.size
    order = np.empty(size, np.uint32)
    entered = np.zeros(size, np.uint8)
    stack = np.empty(size, np.uint32)
    edge = np.empty(size, np.uint32)
    operands = preds
    if shuffle:
        np.random.seed(seed)
        operands = preds.copy()
        for v in range(size):
            low, high = np.int64(indptr[v]), np.int64(indptr[v + 1])
            for e in range(high - 1, low, -1):
                f = low + np.random.randint(0, e - low + 1)
                operands[e], operands[f] = operands[f], operands[e]
    listed = 0
    for root in roots:
        if entered[root] or not computed[root]:
            continue
        depth = 0
        stack[0] = root
        edge[0] = indptr[root]
        entered[root] = 1
        while depth >= 0:
            v = stack[depth]
            if edge[depth] < indptr[v + np.uint32(1)]:
                u = operands[edge[depth]]
                edge[depth] += np.uint32(1)
                if computed[u] and not entered[u]:
                    entered[u] = 1
                    depth += 1
                    stack[depth] = u
                    edge[depth] = indptr[u]
            else:
                order[listed] = v
                listed += 1
                depth -= 1
    return order[:listed].copy()


@jit
def first_early(order, indptr, preds, computed):  # type: ignore[no-untyped-def]
    """Return (position, operand) of the first use before its computation; (-1, 0) if none."""
    done = np.zeros(computed.size, np.bool_)
    for t in range(order.size):
        v = order[t]
        for e in range(indptr[v], indptr[v + np.uint32(1)]):
            u = preds[e]
            if computed[u] and not done[u]:
                return t, np.int64(u)
        done[v] = True
    return -1, np.int64(0)
