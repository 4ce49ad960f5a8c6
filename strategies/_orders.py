"""Compiled kernels for orders of computation."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["depth_first", "first_early", "random_below"]


@jit
def random_below(state, limit):  # type: ignore[no-untyped-def]
    """Draw an integer from 0 on below ``limit`` by xorshift64*; ``state`` is one uint64 > 0."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    high = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33)
    return np.int64(high % np.uint64(limit))


@jit
def depth_first(indptr, preds, roots, computed, shuffle, random):  # type: ignore[no-untyped-def]
    """Post-order from the roots, operands in slot order or, with ``shuffle``, at random.

    ``random`` is the state of `random_below`; ``computed`` marks the vertices that are
    no inputs; only these are listed.
    """
    size = computed.size
    order = np.empty(size, np.uint32)
    entered = np.zeros(size, np.uint8)
    stack = np.empty(size, np.uint32)
    edge = np.empty(size, np.uint32)
    operands = preds
    if shuffle:
        operands = preds.copy()
        for v in range(size):
            low, high = np.int64(indptr[v]), np.int64(indptr[v + 1])
            for e in range(high - 1, low, -1):
                f = low + random_below(random, e - low + 1)
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
