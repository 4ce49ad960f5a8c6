"""Kernel of the one-shot search: every vertex is computed exactly once."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from strategies.optimum._space import (
    BEAM,
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
    WIDTH,
    canonical,
    insert,
    pop,
)

__all__ = ["search"]

#: Combinations of victims that a beam tries per vertex.
FEW = 24


@jit
def unpack(key, done_bit, red_bit, dirty_bit, given, done, red, dirty):  # type: ignore[no-untyped-def]
    one = np.uint64(1)
    reds = 0
    for v in range(given.size):
        p = done_bit[v]
        done[v] = given[v] if p < 0 else np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        p = red_bit[v]
        red[v] = 0 if p < 0 else np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        p = dirty_bit[v]
        dirty[v] = 0 if p < 0 else np.uint8((key[p >> 6] >> np.uint64(p & 63)) & one)
        reds += red[v]
    return reds


@jit
def pack(done_bit, red_bit, dirty_bit, done, red, dirty, words):  # type: ignore[no-untyped-def]
    one = np.uint64(1)
    for k in range(words.size):
        words[k] = 0
    for v in range(done.size):
        p = done_bit[v]
        if p >= 0 and done[v]:
            words[p >> 6] |= one << np.uint64(p & 63)
        p = red_bit[v]
        if red[v] and p >= 0:
            words[p >> 6] |= one << np.uint64(p & 63)
            p = dirty_bit[v]
            if dirty[v] and p >= 0:
                words[p >> 6] |= one << np.uint64(p & 63)


@jit
def make(w, graph, done, red, dirty, left):  # type: ignore[no-untyped-def]
    """Compute w, whose operands are red, and drop what is dead; return the change in red."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    change = 0
    done[w] = 1
    if left[w] > 0:
        red[w] = 1
        dirty[w] = dirty_bit[w] >= 0
        change += 1
    for e in range(op_start[w], op_start[w + 1]):
        u = ops[e]
        left[u] -= 1
        if left[u] == 0:
            red[u] = 0
            dirty[u] = 0
            change -= 1
    return change


@jit
def is_forced(w, graph, red, dirty, left, room, final):  # type: ignore[no-untyped-def]
    """Whether computing w now, into a free slot, loses nothing.

    It does not if w is a sink; if w takes the place of its operand u, dirty and used for the last
    time (all that a play may later do with u it can do with w), or of two operands, dirty or not
    (while a play keeps one of them, it could keep w); or if w and its only user together do.
    """
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    if left[w] == 0:
        return True
    dying = 0 if dirty_bit[w] >= 0 else 1  # a stored output costs no more than a clean operand
    for e in range(op_start[w], op_start[w + 1]):
        u = ops[e]
        if left[u] == 1:
            dying += 2 if dirty[u] else 1
    if dying >= 2:
        return True
    if room < 2 or dirty_bit[w] < 0 or up_start[w + 1] - up_start[w] != 1:
        return False
    x = ups[up_start[w]]
    if x == final:
        return False  # it may have to wait
    dying = 0
    for e in range(op_start[x], op_start[x + 1]):
        u = ops[e]
        if u == w:
            continue
        if not red[u]:
            return False
        shared = 0
        for i in range(op_start[w], op_start[w + 1]):
            if ops[i] == u:
                shared = 1
        if left[u] == 1 + shared:
            dying += 2 if dirty[u] else 1
    if left[x] == 0:
        return True
    for e in range(op_start[w], op_start[w + 1]):
        u = ops[e]
        if left[u] == 1:
            dying += 2 if dirty[u] else 1
    return dying >= 2


@jit
def is_last(w, done):  # type: ignore[no-untyped-def]
    """Whether everything but w is done."""
    left = 0
    for v in range(done.size):
        left += v != w and not done[v]
    return left == 0


@jit
def force(graph, done, red, dirty, left, reds, memory, final, log, logged):  # type: ignore[no-untyped-def]
    """Make all forced computes; return (red count, length of the log)."""
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    changed = True
    while changed and reds < memory:
        changed = False
        for w in range(given.size):
            if done[w] or reds >= memory:
                continue
            if w == final and not is_last(w, done):
                continue
            ready = True
            for e in range(op_start[w], op_start[w + 1]):
                if not red[ops[e]]:
                    ready = False
                    break
            if ready and is_forced(w, graph, red, dirty, left, memory - reds, final):
                reds += make(w, graph, done, red, dirty, left)
                log[logged] = w
                logged += 1
                changed = True
    return reds, logged


@jit
def search(  # type: ignore[no-untyped-def]  # noqa: C901
    graph, symmetry, space, control, mask, memory, rules, source, target, log
):
    """Expand states until the budget is used up.

    With ``source`` >= 0 only that state is expanded, nothing is stored, and the step that leads to
    the state ``target`` is written to ``log``: the automorphism used, w, number of victims, victims
    (4 v, plus 1 if stored first, plus 2 for an operand slid over), number of forced computes,
    those.
    """
    op_start, ops, up_start, ups, given, out, done_bit, red_bit, dirty_bit, blue_bit, twin = graph
    weight, image = symmetry
    sliding, final = rules[0], rules[3]
    keys, gs, fs, parents, following, table, head = space
    n = given.size
    words = keys.shape[1]
    done, red, dirty = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.uint8)
    left = np.empty(n, np.int32)
    done2, red2, dirty2 = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, np.uint8)
    left2 = np.empty(n, np.int32)
    candidates, combination = np.empty(n, np.int32), np.empty(n + 1, np.int32)
    chosen, forced = np.zeros(n, np.uint8), np.empty(n + 1, np.int32)
    child, found = np.empty(words, np.uint64), np.empty(words, np.uint64)
    empty = np.zeros(words, np.uint64)
    none = np.zeros(weight.shape[1], np.uint64)
    base, scores = np.empty(weight.shape[1], np.uint64), np.empty(weight.shape[1], np.uint64)
    beam = control[BEAM] > 0 and source < 0
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
        f = np.int64(fs[i])
        if source >= 0:
            f = np.int64(gs[i])
        reds = unpack(keys[i], done_bit, red_bit, dirty_bit, given, done, red, dirty)
        canonical(keys[i], empty, none, weight, image, scores, found)
        for j in range(base.size):
            base[j] = scores[j]
        for v in range(n):
            left[v] = 0
            for e in range(up_start[v], up_start[v + 1]):
                left[v] += 1 - done[ups[e]]
        control[EXPANDED] += 1
        for w in range(n):
            if done[w] or (w == final and not is_last(w, done)):
                continue
            total = reds
            ready = True
            dies = 0
            for e in range(op_start[w], op_start[w + 1]):
                u = ops[e]
                if not done[u]:
                    ready = False
                    break
                total += 1 - red[u]
                if left[u] == 1:
                    dies = 1
            if not ready:
                continue
            k = max(0, total + 1 - memory)
            slide = sliding and k > 0 and op_start[w + 1] > op_start[w]
            if slide and dies:
                k -= 1  # the result takes the dying operand's place, for free
                slide = False
            if f + k >= control[CEILING]:
                continue
            for e in range(op_start[w], op_start[w + 1]):
                chosen[ops[e]] = 2
            m = 0
            for price in range(2):  # clean ones first
                for v in range(n):
                    if red[v] and dirty[v] == price and chosen[v] == 0:
                        candidates[m] = v
                        m += 1
            outside = m
            if slide:
                for e in range(op_start[w], op_start[w + 1]):
                    candidates[m] = ops[e]
                    m += 1
            for e in range(op_start[w], op_start[w + 1]):
                chosen[ops[e]] = 0
            if k > m:
                continue
            for j in range(k):
                combination[j] = j
            tried = 0
            while True:
                # -- one choice of victims
                spent += 1
                cost = 0
                valid = True
                inside = 0
                for j in range(k):
                    u = candidates[combination[j]]
                    chosen[u] = 1
                    cost += 1 + dirty[u]
                    inside += combination[j] >= outside
                if inside > 1 or f + cost >= control[CEILING]:
                    valid = False
                for j in range(k):
                    t = twin[candidates[combination[j]]]
                    if t >= 0 and red[t] and not chosen[t]:
                        valid = False  # of twins the last goes first
                if valid:
                    tried += 1
                    for v in range(n):
                        done2[v] = done[v]
                        red2[v] = red[v]
                        dirty2[v] = dirty[v]
                        left2[v] = left[v]
                    for j in range(k):
                        u = candidates[combination[j]]
                        red2[u] = 0
                        dirty2[u] = 0
                    for e in range(op_start[w], op_start[w + 1]):
                        if not chosen[ops[e]]:
                            red2[ops[e]] = 1
                    reds2 = total - k
                    # An operand that is slid over died with the compute, unless it lives on blue.
                    reds2 = reds2 + make(w, graph, done2, red2, dirty2, left2)
                    reds2, size = force(
                        graph, done2, red2, dirty2, left2, reds2, memory, final, forced, 0
                    )
                    pack(done_bit, red_bit, dirty_bit, done2, red2, dirty2, child)
                    which = canonical(child, keys[i], base, weight, image, scores, found)
                    if source >= 0:
                        same = True
                        for j in range(words):
                            same &= found[j] == target[j]
                        if same and f + cost <= control[CEILING] - 1:
                            log[0] = which
                            log[1] = w
                            log[2] = k
                            for j in range(k):
                                u = candidates[combination[j]]
                                log[3 + j] = 4 * u + dirty[u] + 2 * (combination[j] >= outside)
                            log[3 + k] = size
                            for j in range(size):
                                log[4 + k + j] = forced[j]
                            return FOUND
                    else:
                        g = f + cost
                        level = 0
                        finished = True
                        for v in range(n):
                            level += done2[v]
                            if not done2[v]:
                                finished = False
                        where = level * control[WIDTH] + g if beam else g
                        stored = insert(space, control, mask, found, g, g, where, i)
                        control[GENERATED] += 1
                        if stored < 0:
                            following[i] = head[bucket]
                            head[bucket] = i
                            return FULL
                        if stored == 1 and finished:
                            control[GOAL] = control[COUNT] - 1
                            control[CEILING] = g
                for j in range(k):
                    chosen[candidates[combination[j]]] = 0
                if k == 0 or (beam and tried >= FEW):
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
