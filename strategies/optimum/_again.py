"""Kernel of the search with recomputation: a value may be dropped unstored and computed again."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from strategies.optimum._space import (
    BUDGET,
    CEILING,
    COUNT,
    EMPTY,
    EXPANDED,
    FOUND,
    FULL,
    GENERATED,
    GOAL,
    PAUSED,
    canonical,
    insert,
    pop,
)

__all__ = ["search"]


@jit
def unpack(key, graph, unstored, done, red, blue):  # type: ignore[no-untyped-def]
    """Read a state: outputs done, red, blue; return the number of reds."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    one = np.uint64(1)
    reds = 0
    for v in range(given.size):
        p = done_bit[v]
        done[v] = 0 if p < 0 else np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        p = red_bit[v]
        red[v] = 0 if p < 0 else np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        reds += red[v]
        p = dirty_bit[v]
        if given[v]:
            blue[v] = 1
        elif p < 0:
            blue[v] = done[v] if out[v] and not unstored else np.uint8(0)
        elif red[v]:
            blue[v] = np.uint8(1) - np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        else:
            p = blue_bit[v]
            blue[v] = np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
    return reds


@jit
def pack(graph, done, red, blue, words):  # type: ignore[no-untyped-def]
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    one = np.uint64(1)
    for k in range(words.size):
        words[k] = 0
    for v in range(given.size):
        p = done_bit[v]
        if p >= 0 and done[v]:
            words[p >> 6] |= one << np.uint64(p & 63)
        if red[v]:
            p = red_bit[v]
            words[p >> 6] |= one << np.uint64(p & 63)
            p = dirty_bit[v]
            if p >= 0 and not blue[v]:
                words[p >> 6] |= one << np.uint64(p & 63)
        elif blue[v]:
            p = blue_bit[v]
            if p >= 0:
                words[p >> 6] |= one << np.uint64(p & 63)


@jit
def clean(graph, done, red, blue, need):  # type: ignore[no-untyped-def]
    """Mark what an unfinished output needs; drop the rest; return the number of reds."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    reds = 0
    for v in range(given.size - 1, -1, -1):
        needed = out[v] and not done[v]
        if not needed:
            for e in range(up_start[v], up_start[v + 1]):
                if need[ups[e]]:
                    needed = True
                    break
        need[v] = needed
        if not needed:
            red[v] = 0
            if dirty_bit[v] >= 0:
                blue[v] = 0
        reds += red[v]
    return reds


@jit
def estimate(graph, stores, done, red, blue, mark, stack):  # type: ignore[no-untyped-def]
    """Return loads and stores that every way on needs.

    Each unfinished output is stored. Walking back from these through vertices neither red nor
    blue, every input met must be loaded; every blue vertex met must be loaded or computed again,
    and the paths back to its inputs must be cut by loads: disjoint ones are counted.
    """
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    n = given.size
    h = 0
    # mark: 1 = must become red; 2 = its load is counted, or a path counted goes through it.
    for v in range(n - 1, -1, -1):
        mark[v] = 0
        if red[v]:
            continue
        wanted = out[v] and not done[v]
        if wanted and stores:
            h += 1
        if not wanted:
            for e in range(up_start[v], up_start[v + 1]):
                x = ups[e]
                if mark[x] == 1 and not blue[x]:
                    wanted = True
                    break
        if wanted:
            mark[v] = 1
            if given[v]:
                mark[v] = 2
                h += 1
    # Blue vertices met: look for a path back to a load not counted yet.
    for b in range(n):
        if mark[b] != 1 or not blue[b]:
            continue
        size = 1
        stack[0] = b
        free = True
        mark[b] = 2
        while size > 0 and free:
            size -= 1
            v = stack[size]
            for e in range(op_start[v], op_start[v + 1]):
                u = ops[e]
                if red[u] or mark[u] == 2 or mark[u] == 3:
                    continue
                if given[u]:
                    h += 1
                    mark[u] = 2
                    free = False
                    break
                if blue[u]:
                    continue  # its load would cut this path, and perhaps others
                mark[u] = 3 if mark[u] == 0 else mark[u]
                stack[size] = u
                size += 1
        for v in range(n):
            if mark[v] == 3:
                mark[v] = 0
    return h
