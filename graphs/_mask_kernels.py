"""Compiled loops over the intervals of a mask."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["touched"]


@jit
def touched(ptr, low, high, size):  # type: ignore[no-untyped-def]
    """Return the number of blocks each group's intervals meet, and the entries in the first."""
    groups = ptr.size - 1
    blocks, leading = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    for g in range(groups):
        last, first_end = np.int64(-1), np.int64(0)
        for x in range(ptr[g], ptr[g + 1]):
            begin, end = low[x] // size, (high[x] - 1) // size
            if x == ptr[g]:
                first_end = (begin + 1) * size
            if low[x] < first_end:
                leading[g] += min(high[x], first_end) - low[x]
            blocks[g] += end - begin + (1 if begin > last else 0)
            last = end
    return blocks, leading
