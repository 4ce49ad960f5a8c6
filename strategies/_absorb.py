"""Compiled kernels: an order of computation, edge by edge, under partial computation."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["edges_of", "play"]

_RED, _BLUE, _OUTPUT = 1, 2, 4


@jit
def edges_of(order, indptr, preds, up_start, ups, given):  # type: ignore[no-untyped-def]
    """Return the edges in the order in which they are absorbed.

    At its turn a vertex absorbs the operands that it lacks; when it is whole, the vertices that
    use it absorb it at once, which may make them whole in turn. Constants come as -1 - vertex.
    ``ups`` lists the edges that leave each vertex.
    """
    n = given.size
    wanted = np.zeros(n, np.bool_)
    for v in order:
        wanted[v] = True
    lacks = np.empty(n, np.int64)
    total = 0
    for v in range(n):
        lacks[v] = np.int64(indptr[v + 1]) - np.int64(indptr[v])
        if wanted[v]:
            total += max(lacks[v], 1)
    owner = np.empty(preds.size, np.int64)
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            owner[e] = v
    done = np.zeros(preds.size, np.bool_)
    out = np.empty(total, np.int64)
    made = 0
    stack = np.empty(n + 1, np.int64)
    for v in order:
        size = 0
        if lacks[v] > 0:
            for e in range(indptr[v], indptr[v + 1]):
                if not done[e]:
                    done[e] = True
                    out[made] = e
                    made += 1
            lacks[v] = 0
            stack[0], size = v, 1
        elif indptr[v] == indptr[v + 1]:
            out[made] = -1 - np.int64(v)
            made += 1
            stack[0], size = v, 1
        while size > 0:
            size -= 1
            u = stack[size]
            for k in range(up_start[u], up_start[u + 1]):
                e = ups[k]
                w = owner[e]
                if done[e] or not wanted[w]:
                    continue
                done[e] = True
                out[made] = e
                made += 1
                lacks[w] -= 1
                if lacks[w] == 0:
                    stack[size] = w
                    size += 1
    return out[:made], owner


@jit
def play(edges, preds, owner, state, memory, rule, limit, out):  # type: ignore[no-untyped-def]  # noqa: C901
    """Write the moves that absorb the edges in their order; return how many they are.

    ``state`` has bits for blue inputs and outputs; ``rule`` is a place in
    `strategies.eviction.EVICTIONS`; ``limit`` is the number of vertices.
    """
    never = np.int64(1) << 40
    steps = edges.size
    following = np.full((steps, 2), never, np.int64)  # next touch of operand and vertex
    last = np.full(limit, never, np.int64)
    for t in range(steps - 1, -1, -1):
        e = edges[t]
        v = owner[e] if e >= 0 else -1 - e
        following[t, 1] = last[v]
        if e >= 0:
            following[t, 0] = last[preds[e]]
            last[preds[e]] = t
        last[v] = t
    left = np.zeros(limit, np.int64)
    for e in edges:
        if e >= 0:
            left[owner[e]] += 1
    begun = np.zeros(limit, np.bool_)
    kept = np.zeros(limit, np.bool_)  # slow memory holds what fast memory holds
    touch = np.zeros(limit, np.int64)
    red = np.empty(memory + 2, np.int64)
    reds = 0
    made = 0
    for t in range(steps):
        e = edges[t]
        v = owner[e] if e >= 0 else -1 - e
        u = np.int64(preds[e]) if e >= 0 else np.int64(-1)
        need = np.int64(not state[v] & 1)
        if u >= 0:
            need += not state[u] & 1
        while reds + need > memory:
            best = -1
            best_score = -1.0
            for i in range(reds):
                w = red[i]
                if w in (u, v):
                    continue
                far = float(last[w] - t)
                if rule == 1 and not kept[w]:
                    far /= 2
                elif rule == 2 and kept[w]:
                    far += 1e15
                elif rule == 3:
                    far = float(t - touch[w])
                if far > best_score or (far == best_score and kept[w]):
                    best, best_score = i, far
            w = red[best]
            if not kept[w]:
                out[made] = np.uint32((1 << 30) | w)
                made += 1
                kept[w] = True
            out[made] = np.uint32((3 << 30) | w)
            made += 1
            state[w] &= ~np.uint8(1)
            reds -= 1
            red[best] = red[reds]
        for w in (u, v):
            if w < 0 or state[w] & 1:
                continue
            if state[w] & 2 or begun[w]:
                out[made] = np.uint32(w)
                made += 1
                kept[w] = True
            state[w] |= np.uint8(1)
            red[reds] = w
            reds += 1
        out[made] = np.uint32((2 << 30) | (limit + e if e >= 0 else v))
        made += 1
        begun[v] = True
        kept[v] = False
        if e >= 0:
            left[v] -= 1
            last[u] = following[t, 0]
            touch[u] = t
        last[v] = following[t, 1]
        touch[v] = t
        if left[v] == 0 and state[v] & 4:
            out[made] = np.uint32((1 << 30) | v)
            made += 1
            kept[v] = True
        for w in (u, v):
            if w >= 0 and last[w] == never and left[w] == 0:
                out[made] = np.uint32((3 << 30) | w)
                made += 1
                state[w] &= ~np.uint8(1)
                for i in range(reds):
                    if red[i] == w:
                        reds -= 1
                        red[i] = red[reds]
                        break
    return made
