"""Compiled kernels: an order of computations becomes moves under an eviction rule.

A sequence may compute a vertex more than once. What a value is kept for is its next event: the
position of its next use, or NEVER where no use comes before it is computed anew.
"""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["BLUE", "NEVER", "OUTPUT", "bound", "evict", "next_uses"]

NEVER = (1 << 32) - 1
#: Bits of a state byte.
BLUE, OUTPUT = 1, 2


@jit
def next_uses(sequence, indptr, preds, last):  # type: ignore[no-untyped-def]
    """Return the next use after each operand slot of the sequence, and after each computation.

    ``last`` is scratch of one uint32 per vertex.
    """
    never = np.uint32(0xFFFFFFFF)
    slots = np.int64(0)
    for v in sequence:
        slots += np.int64(indptr[v + np.uint32(1)]) - np.int64(indptr[v])
    after_slot = np.empty(slots, np.uint32)
    after_compute = np.empty(sequence.size, np.uint32)
    last[:] = never
    k = slots
    for t in range(sequence.size - 1, -1, -1):
        v = sequence[t]
        after_compute[t] = last[v]
        last[v] = never
        low, high = indptr[v], indptr[v + np.uint32(1)]
        k -= np.int64(high) - np.int64(low)
        for e in range(low, high):
            u = preds[e]
            after_slot[k + np.int64(e) - np.int64(low)] = last[u]
            last[u] = np.uint32(t)
    return after_slot, after_compute


@jit
def bound(sequence, low, indptr, room):  # type: ignore[no-untyped-def]
    """Return the end of the longest chunk from ``low`` whose moves certainly fit in ``room``."""
    used = np.int64(0)
    for t in range(low, sequence.size):
        v = sequence[t]
        used += 4 * (np.int64(indptr[v + np.uint32(1)]) - np.int64(indptr[v])) + 5
        if used > room and t > low:
            return t, used
    return sequence.size, used


@jit
def _up(keys, where, i):  # type: ignore[no-untyped-def]
    key = keys[i]
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] >= key:
            break
        keys[i] = keys[parent]
        where[keys[i] & 0x3FFFFFFF] = i
        i = parent
    keys[i] = key
    where[key & 0x3FFFFFFF] = i


@jit
def _down(keys, size, where, i):  # type: ignore[no-untyped-def]
    key = keys[i]
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[i] = keys[child]
        where[keys[i] & 0x3FFFFFFF] = i
        i = child
    keys[i] = key
    where[key & 0x3FFFFFFF] = i


@jit
def _change(keys, size, where, i, key):  # type: ignore[no-untyped-def]
    old = keys[i]
    keys[i] = key
    if key > old:
        _up(keys, where, i)
    else:
        _down(keys, size, where, i)


@jit
def _remove(keys, size, where, i):  # type: ignore[no-untyped-def]
    """Take entry ``i`` out; return the new size."""
    where[keys[i] & 0x3FFFFFFF] = -1
    size -= 1
    if i < size:
        moved = keys[size]
        old = keys[i]
        keys[i] = moved
        where[moved & 0x3FFFFFFF] = i
        if moved > old:
            _up(keys, where, i)
        else:
            _down(keys, size, where, i)
    return size


@jit
def _key(rule, t, after, v):  # type: ignore[no-untyped-def]
    """Order of eviction, greatest first: by next use, or by age; ties by vertex number."""
    first = np.int64(0xFFFFFFFF) - t if rule == 3 else np.int64(after)
    return (first << 30) | np.int64(v)


# fmt: off
@jit
def evict(  # type: ignore[no-untyped-def]  # noqa: C901 - one pass over all kinds of moves
    sequence, low, high, indptr, preds, after_slot, after_compute, state, where,
    clean, dirty, sizes, memory, rule, out,
):
    # fmt: on
    """Play positions ``low`` to ``high`` of a sequence; return how many moves were written.

    ``clean`` and ``dirty`` are heaps of the red vertices that are blue as well, and that are not;
    ``where[v]`` is v's place in its heap, or -1 when v is not red. ``sizes`` holds both heaps'
    sizes, the loads, the stores and the number of operand slots passed. ``rule`` is a position in
    `strategies.eviction.EVICTIONS`. An ``out`` of size zero counts without writing. Returns -1 if
    a value is used before it is computed.
    """
    load, store = np.uint32(0), np.uint32(1 << 30)
    compute, delete = np.uint32(2 << 30), np.uint32(3 << 30)
    n_clean, n_dirty, loads, stores, k = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    place = 0
    write = out.size > 0
    for t in range(low, high):
        v = sequence[t]
        first, end = np.int64(indptr[v]), np.int64(indptr[v + np.uint32(1)])
        # Operands already red are used now: nothing is kept less willingly than they.
        missing = 0
        for e in range(first, end):
            u = preds[e]
            i = where[u]
            if i < 0:
                missing += 1
                continue
            key = _key(rule, np.int64(t), np.int64(t), u)
            if state[u] & 1:
                _change(clean, n_clean, where, i, key)
            else:
                _change(dirty, n_dirty, where, i, key)
        # Room for the missing operands and the result.
        for _ in range(n_clean + n_dirty + missing + 1 - memory):
            take_clean = n_dirty == 0
            if n_clean > 0 and n_dirty > 0:
                c, d = clean[0] >> 30, dirty[0] >> 30
                if rule == 1:
                    take_clean = 2 * (c - t) >= d - t
                elif rule == 2:
                    take_clean = c > t
                else:
                    take_clean = c >= d
            if take_clean:
                u = np.uint32(clean[0] & 0x3FFFFFFF)
                n_clean = _remove(clean, n_clean, where, 0)
            else:
                u = np.uint32(dirty[0] & 0x3FFFFFFF)
                n_dirty = _remove(dirty, n_dirty, where, 0)
                state[u] |= np.uint8(1)
                stores += 1
                if write:
                    out[place] = store | u
                    place += 1
            if write:
                out[place] = delete | u
                place += 1
        for e in range(first, end):
            u = preds[e]
            if where[u] >= 0:
                continue
            if state[u] & 1 == 0:
                return -1
            loads += 1
            if write:
                out[place] = load | u
                place += 1
            clean[n_clean] = _key(rule, np.int64(t), np.int64(t), u)
            n_clean += 1
            _up(clean, where, n_clean - 1)
        if write:
            out[place] = compute | v
            place += 1
        if state[v] & 3 == 2:  # an output not yet blue
            state[v] |= np.uint8(1)
            stores += 1
            if write:
                out[place] = store | v
                place += 1
        after = after_compute[t]
        if after == np.uint32(0xFFFFFFFF):
            if write:
                out[place] = delete | v
                place += 1
        elif state[v] & 1:
            clean[n_clean] = _key(rule, np.int64(t), np.int64(after), v)
            n_clean += 1
            _up(clean, where, n_clean - 1)
        else:
            dirty[n_dirty] = _key(rule, np.int64(t), np.int64(after), v)
            n_dirty += 1
            _up(dirty, where, n_dirty - 1)
        for e in range(first, end):
            u = preds[e]
            after = after_slot[k]
            k += 1
            i = where[u]
            if after == np.uint32(0xFFFFFFFF):
                if state[u] & 1:
                    n_clean = _remove(clean, n_clean, where, i)
                else:
                    n_dirty = _remove(dirty, n_dirty, where, i)
                if write:
                    out[place] = delete | u
                    place += 1
            elif rule != 3:
                key = _key(rule, np.int64(t), np.int64(after), u)
                if state[u] & 1:
                    _change(clean, n_clean, where, i, key)
                else:
                    _change(dirty, n_dirty, where, i, key)
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = n_clean, n_dirty, loads, stores, k
    return place
