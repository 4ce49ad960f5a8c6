"""Compiled kernel: an order of computations and a choice of what to keep become moves."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["changing", "write_kept"]


# fmt: off
@jit
def write_kept(  # type: ignore[no-untyped-def]
    sequence, indptr, preds, keep_slot, keep_compute, blue, stored, out,
):
    # fmt: on
    """Write the moves of a sequence; return how many.

    ``keep_slot`` says for each operand slot, in the sequence's order, whether the operand stays
    red until its next use, ``keep_compute`` the same of each result. ``stored`` marks values that
    are stored when they are first computed. ``blue`` is used up.
    """
    load, store = np.uint32(0), np.uint32(1 << 30)
    compute, delete = np.uint32(2 << 30), np.uint32(3 << 30)
    red = np.zeros(blue.size, np.bool_)
    place = 0
    k = 0
    for t in range(sequence.size):
        v = sequence[t]
        low, high = np.int64(indptr[v]), np.int64(indptr[v + np.uint32(1)])
        for e in range(low, high):
            u = preds[e]
            if not red[u]:
                red[u] = True
                out[place] = load | u
                place += 1
        out[place] = compute | v
        place += 1
        red[v] = True
        # Under sliding, an operand whose place the result takes must go at once.
        for e in range(low, high):
            u = preds[e]
            if not keep_slot[k]:
                red[u] = False
                out[place] = delete | u
                place += 1
            k += 1
        if stored[v] and not blue[v]:
            blue[v] = True
            out[place] = store | v
            place += 1
        if not keep_compute[t]:
            red[v] = False
            out[place] = delete | v
            place += 1
    return place


@jit
def changing(moves, blue):  # type: ignore[no-untyped-def]
    """Return which moves change something; ``blue`` is used up."""
    red = np.zeros(blue.size, np.bool_)
    keep = np.ones(moves.size, np.bool_)
    for t in range(moves.size):
        kind, v = moves[t] >> np.uint32(30), moves[t] & np.uint32(0x3FFFFFFF)
        if kind == 1:
            keep[t] = not blue[v]
            blue[v] = True
        elif kind == 3:
            keep[t] = red[v]
            red[v] = False
        else:
            keep[t] = not red[v]
            red[v] = True
    return keep
