"""Compiled kernels of the local search: a quick evaluator and the proposals."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from strategies._orders import random_below

__all__ = ["cost", "search"]

#: Cost of a sequence that uses a value before it is computed, or that is dearer than the limit.
TOO_MUCH = 1 << 40


# fmt: off
@jit
def cost(  # type: ignore[no-untyped-def]  # noqa: C901 - as `strategies._evict.evict`
    sequence, length, indptr, preds, blue_at_start, outputs, memory, weighed, limit, scratch, slots,
):
    # fmt: on
    """Return loads + stores of a sequence; `TOO_MUCH` if more than ``limit`` or not a sequence.

    ``weighed`` chooses the rule cost-aware, otherwise furthest next use. Red vertices are scanned
    one by one, which beats heaps at the sizes that are searched. ``scratch`` holds three int64 per
    vertex, ``slots`` one per operand slot and one per position.
    """
    last, where, blue = scratch[0], scratch[1], scratch[2]
    never = np.int64(1 << 40)
    size = blue_at_start.size
    for v in range(size):
        last[v] = never
        where[v] = -1
        blue[v] = blue_at_start[v]
    k = np.int64(slots.size)
    for t in range(length - 1, -1, -1):
        v = sequence[t]
        k -= 1
        slots[k] = last[v]
        last[v] = never
        for e in range(np.int64(indptr[v + 1]) - 1, np.int64(indptr[v]) - 1, -1):
            u = preds[e]
            k -= 1
            slots[k] = last[u]
            last[u] = t
    # `last` is free now: it becomes the next use of each red vertex; `red` lists these.
    red = scratch[3]
    count = 0
    io = np.int64(0)
    for t in range(length):
        v = sequence[t]
        low, high = np.int64(indptr[v]), np.int64(indptr[v + 1])
        missing = 0
        for e in range(low, high):
            u = preds[e]
            if where[u] < 0:
                if blue[u] == 0:
                    return np.int64(1 << 40)
                missing += 1
            last[u] = t
        for _ in range(count + missing + 1 - memory):
            best, best_rank = -1, np.int64(-1)
            for i in range(count):
                u = red[i]
                away = last[u] - t
                if away == 0:
                    continue
                if weighed:
                    rank = (away << 2) + 1 if blue[u] else away << 1
                else:
                    rank = (away << 1) + blue[u]
                rank = (rank << 30) | np.int64(u)
                if rank > best_rank:
                    best, best_rank = i, rank
            u = red[best]
            if blue[u] == 0:
                io += 1
                blue[u] = 1
            where[u] = -1
            count -= 1
            red[best] = red[count]
            where[red[best]] = best
            where[u] = -1
        for e in range(low, high):
            u = preds[e]
            if where[u] < 0:
                io += 1
                where[u] = count
                red[count] = u
                count += 1
        if outputs[v] and blue[v] == 0:
            io += 1
            blue[v] = 1
        if io > limit:
            return np.int64(1 << 40)
        for e in range(low, high):
            u = preds[e]
            last[u] = slots[k]
            k += 1
            if last[u] == never:
                i = where[u]
                count -= 1
                red[i] = red[count]
                where[red[i]] = i
                where[u] = -1
        last[v] = slots[k]
        k += 1
        if last[v] != never:
            where[v] = count
            red[count] = v
            count += 1
    return io


@jit
def _pull(sequence, low, high, indptr, preds, mark, stamp, out):  # type: ignore[no-untyped-def]
    """Move the vertex at ``high`` to ``low``, with the operands it needs from in between."""
    mark[sequence[high]] = stamp
    for t in range(high, low - 1, -1):
        v = sequence[t]
        if mark[v] == stamp:
            for e in range(indptr[v], indptr[v + 1]):
                mark[preds[e]] = stamp
    place = low
    for t in range(low, high + 1):
        if mark[sequence[t]] == stamp:
            out[place] = sequence[t]
            place += 1
    for t in range(low, high + 1):
        if mark[sequence[t]] != stamp:
            out[place] = sequence[t]
            place += 1


@jit
def _push(sequence, low, high, indptr, preds, mark, stamp, out):  # type: ignore[no-untyped-def]
    """Move the vertex at ``low`` to ``high``, with what uses it in between."""
    mark[sequence[low]] = stamp
    place = low
    # By position and not by vertex: of a vertex that stands twice, only the second may be late.
    late = np.zeros(high + 1 - low, np.bool_)
    for t in range(low, high + 1):
        v = sequence[t]
        moved = mark[v] == stamp
        for e in range(indptr[v], indptr[v + 1]):
            moved |= mark[preds[e]] == stamp
        late[t - low] = moved
        if moved:
            mark[v] = stamp
        else:
            out[place] = v
            place += 1
    for t in range(low, high + 1):
        if late[t - low]:
            out[place] = sequence[t]
            place += 1


@jit
def _rotate(sequence, low, cut, high, out):  # type: ignore[no-untyped-def]
    """Swap the blocks before and after ``cut``; illegal where the second needs the first."""
    place = low
    for t in range(cut, high):
        out[place] = sequence[t]
        place += 1
    for t in range(low, cut):
        out[place] = sequence[t]
        place += 1


@jit
def _insert(  # type: ignore[no-untyped-def]
    sequence, length, at, depth, indptr, preds, computed, random, stack, mark, stamp, out
):
    """Compute some operand of position ``at`` again just before it, with operands of its own.

    Returns the new length. Up to ``depth`` levels of operands are rebuilt, at random.
    """
    v = sequence[at]
    degree = np.int64(indptr[v + 1]) - np.int64(indptr[v])
    if degree == 0:
        return length
    u = preds[np.int64(indptr[v]) + random_below(random, degree)]
    if not computed[u]:
        return length
    # Breadth first, then turned round: operands come before what uses them.
    stack[0] = u
    mark[u] = stamp
    size, head = 1, 0
    while head < size < depth:
        w = stack[head]
        head += 1
        for e in range(indptr[w], indptr[w + 1]):
            x = preds[e]
            if computed[x] and mark[x] != stamp and size < depth and random_below(random, 2):
                mark[x] = stamp
                stack[size] = x
                size += 1
    if length + size > sequence.size:
        return length
    for t in range(length - 1, at - 1, -1):
        out[t + size] = sequence[t]
    for i in range(size):
        out[at + i] = stack[size - 1 - i]
    return length + size


@jit
def _drop(sequence, length, at, span, seen, stamp, out):  # type: ignore[no-untyped-def]
    """Leave out the repeats among ``span`` positions from ``at``; return the new length."""
    for t in range(at):
        seen[sequence[t]] = stamp
    place = at
    for t in range(at, length):
        v = sequence[t]
        if seen[v] == stamp and t < at + span:
            continue
        seen[v] = stamp
        out[place] = v
        place += 1
    return place


# fmt: off
@jit
def search(  # type: ignore[no-untyped-def]
    sequence, length, current, indptr, preds, computed, blue, outputs, memory, weighed, reorder,
    recompute, steps, heat, slot_room, random,
):
    # fmt: on
    """Propose ``steps`` changes, keep those no dearer; return (best, its length, its cost, ...).

    ``reorder`` and ``recompute`` choose the kinds of proposals: moving computations, and adding or
    dropping repeated ones. ``slot_room`` bounds operand slots and positions together. A
    proposal dearer by one is kept with probability ``heat`` in a million. The last values returned
    are the sequence that the walk stands at, its length and its cost.
    """
    size = computed.size
    here = sequence.copy()
    best = sequence.copy()
    trial = sequence.copy()
    best_length, best_cost = length, current
    scratch = np.empty((4, size), np.int64)
    slots = np.empty(slot_room, np.int64)
    mark = np.zeros(size, np.int64)
    stack = np.empty(64, np.uint32)
    stamp = np.int64(0)
    for _ in range(steps):
        if length < 2:
            break
        kind = random_below(random, 16 if recompute else 10)
        if not reorder:
            kind = 10 + kind % 6
        span = 2 + random_below(random, 4 if random_below(random, 2) else min(length, 64))
        low = random_below(random, length)
        high = min(low + span - 1, length - 1)
        low = max(0, high - span + 1)
        new = length
        stamp += 1
        trial[:length] = here[:length]
        if kind < 4:
            _pull(here, low, high, indptr, preds, mark, stamp, trial)
        elif kind < 8:
            _push(here, low, high, indptr, preds, mark, stamp, trial)
        elif kind < 10:
            cut = low + 1 + random_below(random, max(1, high - low))
            _rotate(here, low, min(cut, high), high + 1, trial)
        elif kind < 13:
            depth = 1 + random_below(random, 2 if random_below(random, 2) else 16)
            new = _insert(
                here, length, low, depth, indptr, preds, computed, random, stack, mark, stamp, trial
            )
        else:
            new = _drop(here, length, low, span, mark, stamp, trial)
        limit = current
        if random_below(random, 1000000) < heat:
            limit = current + 1
        # A walk far above the best is called back.
        limit = min(limit, best_cost + 3)
        value = cost(
            trial, new, indptr, preds, blue, outputs, memory, weighed, limit, scratch, slots
        )
        if value > limit:
            continue
        here[:new] = trial[:new]
        length, current = new, value
        if current < best_cost or (current == best_cost and length < best_length):
            best[:length] = here[:length]
            best_length, best_cost = length, current
    return best, best_length, best_cost, here, length, current
