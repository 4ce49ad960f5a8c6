"""Kernel of the search with recomputation: a value may be dropped unstored and computed again."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from strategies.optimum._space import (
    BUCKET,
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
def is_for(u, w, graph, need):  # type: ignore[no-untyped-def]
    """Whether nothing that is still needed uses u, except w."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    others = 0
    for e in range(up_start[u], up_start[u + 1]):
        others += ups[e] != w and need[ups[e]]
    return others == 0


@jit
def flow(graph, red, blue, done, enough, notes):  # type: ignore[no-untyped-def]  # noqa: C901
    """Return the least number of loads that cut the inputs from the unfinished outputs.

    Every path from an input through vertices without red to an unfinished output must be cut by
    a load of a blue vertex on it: the answer is a minimum vertex cut among the blue vertices, or,
    which is the same, the most paths that share no blue vertex. These are found one by one, by
    augmentation; a path is kept as links from each blue vertex on it to the next. Stops at
    ``enough``.
    """
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    n = given.size
    # Columns: 0 taken, 1 next on its path, 2 candidate for that, 3 how its exit was reached,
    # 4 how its entry was reached, 5 exit seen, 6 entry (or, if not blue, vertex) seen, 7 origin,
    # 8 stack.
    for v in range(n):
        notes[0, v] = 0
    paths = 0
    while paths < enough:
        size = 0
        for v in range(n):
            notes[5, v] = 0
            notes[6, v] = 0
            if out[v] and not done[v] and not red[v]:
                notes[6, v] = 1
                notes[7, v] = -1
                notes[8, size] = v
                size += 1
        start = -1
        while size > 0 and start < 0:
            size -= 1
            v = notes[8, size]
            origin = v if blue[v] else notes[7, v]
            for e in range(op_start[v], op_start[v + 1]):
                u = ops[e]
                if red[u]:
                    continue
                if not blue[u]:
                    if not notes[6, u]:
                        notes[6, u] = 1
                        notes[7, u] = origin
                        notes[8, size] = u
                        size += 1
                    continue
                if notes[5, u]:
                    continue
                notes[5, u] = 1
                notes[2, u] = origin
                notes[3, u] = 0
                if not notes[0, u]:
                    if given[u]:
                        start = u
                        break
                    if not notes[6, u]:
                        notes[6, u] = 1
                        notes[4, u] = -1
                        notes[8, size] = u
                        size += 1
                    continue
                # u is on a path already: that path may turn off here, and so on up the path.
                while u >= 0:
                    x = notes[1, u]
                    if x < 0 or notes[6, x]:
                        break
                    notes[6, x] = 1
                    notes[4, x] = u
                    notes[8, size] = x
                    size += 1
                    if notes[5, x]:
                        break
                    notes[5, x] = 1
                    notes[3, x] = 1
                    u = x
        if start < 0:
            break
        paths += 1
        notes[0, start] = 1
        x = notes[2, start]
        notes[1, start] = x
        while x >= 0:
            if notes[4, x] < 0:
                notes[0, x] = 1
                notes[1, x] = notes[2, x]
                x = notes[2, x]
            else:
                u = notes[4, x]
                while notes[3, u] == 1:
                    notes[0, u] = 0
                    u = notes[4, u]
                notes[1, u] = notes[2, u]
                x = notes[2, u]
    return paths


@jit
def run(w, graph, unstored, done, red, blue):  # type: ignore[no-untyped-def]
    """Compute w, whose operands are red; return the number of stores it brings."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    red[w] = red_bit[w] >= 0
    if out[w] and not done[w]:
        done[w] = 1
        if not unstored:
            blue[w] = 1
            return 1
    return 0


@jit
def is_last(w, graph, done):  # type: ignore[no-untyped-def]
    """Whether all outputs but w are finished."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    left = 0
    for v in range(given.size):
        left += v != w and out[v] and not done[v]
    return left == 0


@jit
def force(  # type: ignore[no-untyped-def]
    graph, memory, unstored, final, done, red, blue, need, reds, log
):
    """Compute whatever can be computed into free slots; return (reds, stores, log's length)."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    logged = 0
    stores = 0
    changed = True
    while changed and reds < memory:
        changed = False
        for w in range(given.size):
            if red[w] or given[w] or not need[w] or reds >= memory:
                continue
            if w == final and not is_last(w, graph, done):
                continue
            ready = True
            for e in range(op_start[w], op_start[w + 1]):
                if not red[ops[e]]:
                    ready = False
                    break
            if not ready:
                continue
            finishes = out[w] and not done[w]
            stores += run(w, graph, unstored, done, red, blue)
            reds += red[w]
            if finishes:
                reds = clean(graph, done, red, blue, need)
            log[logged] = w
            logged += 1
            changed = True
    return reds, stores, logged


@jit
def search(  # type: ignore[no-untyped-def]  # noqa: C901
    graph, symmetry, space, control, mask, memory, rules, source, target, log
):
    """Expand states until the budget is used up; see `strategies.optimum._once.search`.

    A step computes w after its missing operands are loaded and k others evicted, where a dirty
    one may be stored or lost.
    """
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    weight, image = symmetry
    sliding, unstored, start, final = rules
    keys, gs, fs, parents, following, table, head = space
    n = given.size
    words = keys.shape[1]
    done, red, blue = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.uint8)
    need, need2 = np.empty(n, np.uint8), np.empty(n, np.uint8)
    done2, red2, blue2 = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.uint8)
    notes = np.empty((9, n + 1), np.int32)
    candidates, combination = np.empty(n, np.int32), np.empty(n + 1, np.int32)
    chosen = np.zeros(n, np.uint8)
    forced = np.empty(4 * n + 4, np.int32)
    child, found = np.empty(words, np.uint64), np.empty(words, np.uint64)
    empty = np.zeros(words, np.uint64)
    none = np.zeros(weight.shape[1], np.uint64)
    base, scores = np.empty(weight.shape[1], np.uint64), np.empty(weight.shape[1], np.uint64)
    spent = 0

    while True:
        if source >= 0:
            i = source
        else:
            if spent >= control[BUDGET]:
                return PAUSED
            i = pop(space, control)
            if i < 0:
                return EMPTY
        bucket = control[BUCKET]
        g = np.int64(gs[i])
        reds = unpack(keys[i], graph, unstored, done, red, blue)
        clean(graph, done, red, blue, need)
        canonical(keys[i], empty, none, weight, image, scores, found)
        for j in range(base.size):
            base[j] = scores[j]
        control[EXPANDED] += 1
        for w in range(n):
            if red[w] or given[w] or not need[w]:
                continue
            if w == final and not is_last(w, graph, done):
                continue
            ready = True
            missing = 0
            for e in range(op_start[w], op_start[w + 1]):
                u = ops[e]
                if not red[u]:
                    if not blue[u]:
                        ready = False
                        break
                    missing += 1
                    # A blue w is loaded rather than computed from a load that serves w alone.
                    if blue[w] and is_for(u, w, graph, need):
                        ready = False
                        break
            if not ready:
                continue
            total = reds + missing
            k = max(0, total + 1 - memory)
            for e in range(op_start[w], op_start[w + 1]):
                chosen[ops[e]] = 2
            m = 0
            for v in range(n):
                if red[v] and chosen[v] == 0:
                    candidates[m] = v
                    m += 1
            outside = m
            if sliding and k > 0:
                for e in range(op_start[w], op_start[w + 1]):
                    candidates[m] = ops[e]
                    m += 1
            for e in range(op_start[w], op_start[w + 1]):
                chosen[ops[e]] = 0
            if k > m:
                continue
            for j in range(k):
                combination[j] = j
            while True:
                # -- one choice of victims
                spent += 1
                valid = True
                inside = 0
                for j in range(k):
                    chosen[candidates[combination[j]]] = 1
                    inside += combination[j] >= outside
                valid = inside <= 1
                losable = 0  # victims that are dirty: each may be stored or lost
                for j in range(k):
                    u = candidates[combination[j]]
                    t = twin[u]
                    if t >= 0 and not chosen[t] and (red[t] or combination[j] >= outside):
                        valid = False  # of twins the last goes first
                    losable += 1 - blue[u]
                choices = (1 << losable) if valid else 0
                for choice in range(choices):
                    spent += 1
                    for v in range(n):
                        done2[v] = done[v]
                        red2[v] = red[v]
                        blue2[v] = blue[v]
                        need2[v] = need[v]
                    cost = missing
                    dirty = 0
                    for j in range(k):
                        u = candidates[combination[j]]
                        red2[u] = 0
                        if not blue[u]:
                            if (choice >> dirty) & 1:
                                blue2[u] = 1
                                cost += 1
                            dirty += 1
                    for e in range(op_start[w], op_start[w + 1]):
                        if not chosen[ops[e]]:
                            red2[ops[e]] = 1
                    finishes = out[w] and not done[w]
                    cost += run(w, graph, unstored, done2, red2, blue2)
                    reds2 = total - k + red2[w]
                    if finishes:
                        reds2 = clean(graph, done2, red2, blue2, need2)
                    reds2, stores, size = force(
                        graph, memory, unstored, final, done2, red2, blue2, need2, reds2, forced
                    )
                    cost += stores
                    open_outputs = 0
                    for v in range(n):
                        open_outputs += out[v] and not done2[v]
                    h = 0 if unstored else open_outputs
                    allowed = control[CEILING] + start - g - cost
                    if source < 0:
                        if h >= allowed:
                            continue
                        h += flow(graph, red2, blue2, done2, allowed - h, notes)
                        if h >= allowed:
                            continue
                    pack(graph, done2, red2, blue2, child)
                    which = canonical(child, keys[i], base, weight, image, scores, found)
                    if source >= 0:
                        same = True
                        for j in range(words):
                            same &= found[j] == target[j]
                        if same and g + cost < control[CEILING]:
                            log[0] = which
                            log[1] = w
                            log[2] = k
                            dirty = 0
                            for j in range(k):
                                u = candidates[combination[j]]
                                code = 4 * u + 2 * (combination[j] >= outside)
                                if not blue[u]:
                                    code += (choice >> dirty) & 1
                                    dirty += 1
                                log[3 + j] = code
                            log[3 + k] = size
                            for j in range(size):
                                log[4 + k + j] = forced[j]
                            return FOUND
                        continue
                    f = max(np.int64(fs[i]), g + cost + h - start)
                    stored = insert(space, control, mask, found, g + cost, f, f, i)
                    control[GENERATED] += 1
                    if stored < 0:
                        following[i] = head[bucket]
                        head[bucket] = i
                        return FULL
                    if stored == 1 and open_outputs == 0:
                        control[GOAL] = control[COUNT] - 1
                        control[CEILING] = f
                for j in range(k):
                    chosen[candidates[combination[j]]] = 0
                if k == 0:
                    break
                # -- the next combination
                j = k - 1
                while j >= 0 and combination[j] == m - k + j:
                    j -= 1
                if j < 0:
                    break
                combination[j] += 1
                for t in range(j + 1, k):
                    combination[t] = combination[t - 1] + 1
                if spent >= control[BUDGET] and source < 0:
                    following[i] = head[bucket]
                    head[bucket] = i
                    return PAUSED
        if source >= 0:
            return EMPTY
