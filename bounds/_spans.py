"""Compiled search through all sets of vertices of one size."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["most_new"]


@jit
def most_new(masks, is_input, count):  # type: ignore[no-untyped-def]
    """Return the most vertices, beside the set's own, that a set of `count` vertices can give."""
    size = masks.size
    chosen = np.arange(count)
    best = 0
    while True:
        have = np.uint64(0)
        for i in range(count):
            have |= np.uint64(1) << np.uint64(chosen[i])
        new = 0
        for v in range(size):
            bit = np.uint64(1) << np.uint64(v)
            if not have & bit and not is_input[v] and not masks[v] & ~have:
                have |= bit
                new += 1
        best = max(best, new)
        i = count - 1
        while i >= 0 and chosen[i] == size - count + i:
            i -= 1
        if i < 0:
            return best
        chosen[i] += 1
        for j in range(i + 1, count):
            chosen[j] = chosen[j - 1] + 1
