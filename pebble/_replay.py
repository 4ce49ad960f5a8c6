"""The referee's kernel: packed moves against one byte of state per vertex."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit

__all__ = ["BLUE", "COMPUTED", "COUNTERS", "FIXED", "RED", "replay"]

#: Bits of a state byte; FIXED marks an input that cannot be computed.
RED, BLUE, COMPUTED, FIXED = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)

#: Places in the array of counters, and their number.
LOADS, STORES, COMPUTES, RECOMPUTES, RED_COUNT, PEAK_RED, OVERFULL, BLOCK = range(8)
COUNTERS = 8


@jit
def replay(  # type: ignore[no-untyped-def]  # noqa: C901 (one kernel for every set of rules)
    moves, indptr, preds, state, counters, block_starts, traffic, memory, rules
):
    """Make moves until one is illegal; return how many were made.

    ``rules`` is (bits that forbid a COMPUTE, bits that a LOAD leaves, bits that a DELETE needs,
    sliding). All conventions but sliding are masks, so that they cost nothing; sliding is looked
    at only where the memory is full.
    """
    forbid, keep, need, sliding = rules
    low30 = np.uint32((1 << 30) - 1)
    size = np.uint64(state.size)
    blocks = block_starts.size
    loads, stores = counters[LOADS], counters[STORES]
    computes, recomputes = counters[COMPUTES], counters[RECOMPUTES]
    red, peak, overfull = counters[RED_COUNT], counters[PEAK_RED], counters[OVERFULL]

    # Traffic is booked when it leaves the block of the last load or store, not move by move.
    block = counters[BLOCK]
    block_low = np.uint64(block_starts[block])
    block_high = np.uint64(block_starts[block + 1]) if block + 1 < blocks else size
    booked_loads, booked_stores = loads, stores

    made = 0
    for i in range(moves.size):
        v = np.uint64(moves[i] & low30)
        kind = moves[i] >> np.uint32(30)
        if v >= size:
            break
        s = state[v]
        if overfull >= 0:
            # The last COMPUTE took one red too many: only an operand's deletion may follow.
            is_operand = False
            for e in range(indptr[overfull], indptr[overfull + 1]):
                is_operand |= preds[e] == v
            if kind != 3 or not is_operand:
                break
        if kind == 2:  # COMPUTE
            operands = RED
            low, high = indptr[v], indptr[v + np.uint64(1)]
            for e in range(low, high):
                operands &= state[preds[e]]
            if operands & RED == 0 or s & forbid != 0:
                break
            if red >= memory:
                if not sliding or low == high:
                    break
                overfull = np.int64(v)
            state[v] = s | (RED | COMPUTED)
            computes += 1
            recomputes += np.int64((s & COMPUTED) != 0)
            red += 1
            if red > peak and overfull < 0:
                peak = red
        elif kind == 3:  # DELETE
            if s & need != need:
                break
            state[v] = s & ~RED
            red -= 1
            overfull = -1
        else:
            if kind == 0:  # LOAD
                if s & (RED | BLUE) != BLUE or red >= memory:
                    break
            elif s & (RED | BLUE) != RED:
                break
            if v < block_low or v >= block_high:
                traffic[block, 0] += loads - booked_loads
                traffic[block, 1] += stores - booked_stores
                booked_loads, booked_stores = loads, stores
                block = np.searchsorted(block_starts, np.int64(v), side="right") - 1
                block_low = np.uint64(block_starts[block])
                block_high = np.uint64(block_starts[block + 1]) if block + 1 < blocks else size
            if kind == 0:
                state[v] = (s | RED) & keep
                loads += 1
                red += 1
                peak = max(peak, red)
            else:
                state[v] = s | BLUE
                stores += 1
        made += 1

    traffic[block, 0] += loads - booked_loads
    traffic[block, 1] += stores - booked_stores
    counters[LOADS], counters[STORES] = loads, stores
    counters[COMPUTES], counters[RECOMPUTES] = computes, recomputes
    counters[RED_COUNT], counters[PEAK_RED] = red, peak
    counters[OVERFULL], counters[BLOCK] = overfull, block
    return made
