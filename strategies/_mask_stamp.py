"""The scribe's interpreter for schedules under a mask."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from strategies.scribe import stamp_run

__all__ = ["ROWS", "stamp"]

ROWS, COLUMNS, KEYS, QUERIES = range(4)


@jit
def _first_at_least(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return the first place in ``values[low:high]``, ascending, whose value is >= wanted."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _place(number, terms):  # type: ignore[no-untyped-def]
    """Return the place (`strategies.mask_classes`) of term ``number`` of a sum."""
    if terms == 1:
        return 0
    if number == 0:
        return 1
    if number == terms - 1:
        return 5 if terms == 2 else 4
    return 2 if number == 1 else 3


@jit
def _begin(fork, table, lows, highs, rounds):  # type: ignore[no-untyped-def]
    """Set a visit's cursor to its first element."""
    kind, line = table[fork, 0], table[fork, 6]
    lows[fork, 2] = lows[fork, 3] = 0
    if kind < KEYS:
        lows[fork, 0] = 0
        start = table[fork, 2]
        if table[fork, 3] >= 0:
            start += np.int64(rounds[table[fork, 3]]) * table[fork, 4]
        lows[fork, 1] = start
    else:
        lows[fork, 0] = lows[line, 2]
        highs[fork] = lows[line, 3]


@jit
def _advance(fork, table, lows, highs, rounds, mask):  # type: ignore[no-untyped-def]
    """Set the registers to the next element; return its class, or -1 at the end."""
    indptr, keys, begins, queries, order, across, owner, row_sums, column_sums = mask
    kind, depth = table[fork, 0], table[fork, 1]
    if kind < KEYS:
        low, high = lows[fork, 1], lows[fork, 1] + table[fork, 5]
        ptr, values = (indptr, keys) if kind == ROWS else (begins, queries)
        line = lows[fork, 0]
        while line < ptr.size - 1:
            a = _first_at_least(values, ptr[line], ptr[line + 1], low)
            b = _first_at_least(values, a, ptr[line + 1], high)
            if a < b:
                break
            line += 1
        if line == ptr.size - 1:
            return -1
        lows[fork, 0], lows[fork, 2], lows[fork, 3] = line + 1, a, b
        rounds[depth] = line
        if kind == COLUMNS:
            return 0
        start = row_sums[line] - ptr[line] - 1
        rounds[depth + 1], rounds[depth + 2] = np.uint32(a - 1), np.uint32(start + a - 1)
        rounds[depth + 3], rounds[depth + 4] = np.uint32(b - 1), np.uint32(start + b - 1)
        before = min(a - ptr[line], 2)
        after = 3 if b == ptr[line + 1] else min(b - ptr[line], 2)
        return before * 6 + after
    cursor = lows[fork, 0]
    if cursor == highs[fork]:
        return -1
    lows[fork, 0] = cursor + 1
    if kind == KEYS:
        e, f = cursor, across[cursor]
    else:
        e, f = order[cursor], cursor
    i, j = owner[e], keys[e]
    rounds[depth] = j if kind == KEYS else i
    rounds[depth + 1], rounds[depth + 2] = e, f
    rounds[depth + 3] = np.uint32(row_sums[i] + e - indptr[i] - 1)
    rounds[depth + 4] = np.uint32(column_sums[j] + f - begins[j] - 1)
    key = 0
    if table[fork, 7]:
        key += 6 * _place(e - indptr[i], indptr[i + 1] - indptr[i])
    if table[fork, 8]:
        key += _place(f - begins[j], begins[j + 1] - begins[j])
    return key


@jit
def stamp(  # type: ignore[no-untyped-def]
    program, words, strides, table, targets, mask, state, lows, highs, rounds, out
):
    """Fill a chunk from where the last one ended; return its length.

    ``program`` holds (0, first word, words), (1, rounds, depth), (2, start, depth) as the scribe's,
    (3, visit, end) and (4, visit, 0): begin a visit, and go on with it.
    """
    pc, filled = state[0], 0
    while pc < program.shape[0]:
        kind, a, b = program[pc, 0], program[pc, 1], program[pc, 2]
        if kind == 0:
            if filled + b > out.size:
                break
            stamp_run(out[filled : filled + b], words[a : a + b], strides[:, a : a + b], rounds)
            filled += b
        elif kind == 1:
            rounds[b] = 0
        elif kind == 2:
            rounds[b] += np.uint32(1)
            if rounds[b] < program[a, 1]:
                pc = a
            else:
                rounds[b] = 0
        else:
            if kind == 3:
                _begin(a, table, lows, highs, rounds)
            key = _advance(a, table, lows, highs, rounds, mask)
            if key >= 0:
                pc = targets[a, key]
            else:
                for d in range(table[a, 1], table[a, 1] + table[a, 9]):
                    rounds[d] = 0
                pc = table[a, 10]
            continue
        pc += 1
    state[0] = pc
    return filled
