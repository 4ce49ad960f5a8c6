"""Compiled loops that write the edges of regular blocks."""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["fill_one", "fill_two"]


@numba.njit(cache=True)
def fill_one(out, place, steps, counts, base, moves):  # type: ignore[no-untyped-def]
    """Write ``base + moves * index`` at ``place + steps * index`` for a box of indices."""
    for a in range(counts[0]):
        for b in range(counts[1]):
            for c in range(counts[2]):
                p = place + a * steps[0] + b * steps[1] + c * steps[2]
                u = base + a * moves[0] + b * moves[1] + c * moves[2]
                for d in range(counts[3]):
                    out[p + d * steps[3]] = np.uint32(u + d * moves[3])


@numba.njit(cache=True)
def fill_two(out, place, steps, counts, base, moves, base2, moves2):  # type: ignore[no-untyped-def]
    """Write two operands side by side, as `fill_one` writes one."""
    step, move, move2 = steps[3], moves[3], moves2[3]
    for a in range(counts[0]):
        for b in range(counts[1]):
            for c in range(counts[2]):
                p = place + a * steps[0] + b * steps[1] + c * steps[2]
                u = base + a * moves[0] + b * moves[1] + c * moves[2]
                w = base2 + a * moves2[0] + b * moves2[1] + c * moves2[2]
                for d in range(counts[3]):
                    out[p + d * step] = np.uint32(u + d * move)
                    out[p + d * step + 1] = np.uint32(w + d * move2)
