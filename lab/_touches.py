"""Kernels that follow a play: moves booked by time and place, and what is red and blue."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["follow", "touch"]


@jit
def touch(moves, step, width, counts, low, share, row, rows):  # type: ignore[no-untyped-def]
    """Add moves to ``counts[time, row, kind]``; the first of them is move number ``step``.

    Block b of vertices begins at ``low[b]``; its vertex v lies in row
    ``row[b] + (v - low[b]) // share[b]``, of which there are ``rows[b]``.
    """
    low30 = np.uint32((1 << 30) - 1)
    block = np.int64(0)
    for i in range(moves.size):
        v = np.int64(moves[i] & low30)
        if v < low[block] or (block + 1 < low.size and v >= low[block + 1]):
            block = np.searchsorted(low, v, side="right") - 1
        place = row[block] + min(np.int64((v - low[block]) / share[block]), rows[block] - 1)
        counts[(step + i) // width, place, moves[i] >> np.uint32(30)] += 1


@jit
def follow(moves, red, blue, made, moving):  # type: ignore[no-untyped-def]
    """Make moves on masks of vertices, unjudged; return their loads and stores.

    ``made`` is what has been computed since somebody cleared it.
    """
    loads = 0
    stores = 0
    for i in range(moves.size):
        v, kind = moves[i] & np.uint32((1 << 30) - 1), moves[i] >> np.uint32(30)
        if kind == 0:
            red[v] = True
            blue[v] &= not moving
            loads += 1
        elif kind == 1:
            blue[v] = True
            stores += 1
        else:
            red[v] = kind == 2
            made[v] |= kind == 2
    return loads, stores
