"""Compiled passes over a topologically numbered DAG: cones, closures and live values."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["ancestors", "count_inputs", "depth_first", "descendants", "prefix_bounds", "set_bounds"]


@jit
def ancestors(indptr, preds, x):  # type: ignore[no-untyped-def]
    """Mark the vertices with a path to x, x itself not."""
    found = np.zeros(indptr.size - 1, np.bool_)
    found[x] = True
    for v in range(x, -1, -1):
        if found[v]:
            for e in range(indptr[v], indptr[v + 1]):
                found[preds[e]] = True
    found[x] = False
    return found


@jit
def descendants(indptr, preds, x):  # type: ignore[no-untyped-def]
    """Mark the vertices with a path from x, x itself not."""
    found = np.zeros(indptr.size - 1, np.bool_)
    found[x] = True
    for v in range(x + 1, indptr.size - 1):
        for e in range(indptr[v], indptr[v + 1]):
            if found[preds[e]]:
                found[v] = True
                break
    found[x] = False
    return found


@jit
def depth_first(indptr, preds, out_degrees):  # type: ignore[no-untyped-def]
    """Topological order that finishes each sink's ancestors before the next sink is begun."""
    size = indptr.size - 1
    order = np.empty(size, np.int64)
    seen = np.zeros(size, np.bool_)
    stack = np.empty(size + 1, np.int64)
    slot = np.zeros(size, np.int64)
    tail = 0
    for root in range(size):
        if out_degrees[root] > 0 or seen[root]:
            continue
        top = 0
        stack[0] = root
        seen[root] = True
        while top >= 0:
            v = stack[top]
            if slot[v] < indptr[v + 1] - indptr[v]:
                u = preds[indptr[v] + slot[v]]
                slot[v] += 1
                if not seen[u]:
                    seen[u] = True
                    top += 1
                    stack[top] = u
            else:
                order[tail] = v
                tail += 1
                top -= 1
    return order


@jit
def prefix_bounds(indptr, preds, out_degrees, weights, order, spared, most):  # type: ignore[no-untyped-def]
    """Lower most[x] to the live weight just after x in an order; less x and operands if spared."""
    size = indptr.size - 1
    left = out_degrees.copy()
    live = np.zeros(size, np.bool_)
    total = 0
    for i in range(size):
        x = order[i]
        for e in range(indptr[x], indptr[x + 1]):
            u = preds[e]
            left[u] -= 1
            if left[u] == 0 and live[u]:
                live[u] = False
                total -= weights[u]
        if left[x] > 0:
            live[x] = True
            total += weights[x]
        mine = 0
        if spared:
            mine = weights[x] if live[x] else 0
            for e in range(indptr[x], indptr[x + 1]):
                if live[preds[e]]:
                    mine += weights[preds[e]]
        most[x] = min(most[x], total - mine)


@jit
def set_bounds(indptr, preds, weights, inside, spared, most):  # type: ignore[no-untyped-def]
    """Do the same for every maximal vertex x of one closed set."""
    size = indptr.size - 1
    live = np.zeros(size, np.bool_)
    maximal = inside.copy()
    for w in range(size):
        for e in range(indptr[w], indptr[w + 1]):
            u = preds[e]
            if inside[w]:
                maximal[u] = False
            elif inside[u]:
                live[u] = True
    total = 0
    for v in range(size):
        if live[v]:
            total += weights[v]
    for x in range(size):
        if maximal[x]:
            mine = 0
            if spared:
                mine = weights[x] if live[x] else 0
                for e in range(indptr[x], indptr[x + 1]):
                    if live[preds[e]]:
                        mine += weights[preds[e]]
            most[x] = min(most[x], total - mine)


@jit
def count_inputs(indptr, preds, is_input):  # type: ignore[no-untyped-def]
    """Count, for each vertex, the inputs with a path to it (itself, if it is one)."""
    size = indptr.size - 1
    counts = np.zeros(size, np.int64)
    places = np.full(size, -1, np.int64)
    number = 0
    for v in range(size):
        if is_input[v]:
            places[v] = number
            number += 1
    seen = np.empty(size, np.uint64)
    for word in range((number + 63) // 64):
        for v in range(size):
            bits = np.uint64(0)
            if places[v] >= 0:
                if places[v] // 64 == word:
                    bits = np.uint64(1) << np.uint64(places[v] % 64)
            else:
                for e in range(indptr[v], indptr[v + 1]):
                    bits |= seen[preds[e]]
            seen[v] = bits
            while bits:
                bits &= bits - np.uint64(1)
                counts[v] += 1
    return counts
