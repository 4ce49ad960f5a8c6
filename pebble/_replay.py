"""The referee's kernel: packed moves against one byte of state per vertex."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from pebble._prefetch import prefetch

__all__ = ["BLUE", "COMPUTED", "COUNTERS", "FIXED", "RED", "replay"]

#: Bits of a state byte; FIXED marks an input that cannot be computed.
RED, BLUE, COMPUTED, FIXED = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)

#: Places in the array of counters, and their number.
LOADS, STORES, COMPUTES, RECOMPUTES, RED_COUNT, PEAK_RED, OVERFULL, BLOCK = range(8)
COUNTERS = 8


#: Packed moves of a kind start here; LOADs are below.
_STORE, _COMPUTE, _DELETE = np.uint32(1 << 30), np.uint32(2 << 30), np.uint32(3 << 30)
#: How many moves ahead memory is asked for: the state, and then the edges, of the vertex there.
_FAR, _NEAR = 64, 32


@jit
def replay(  # type: ignore[no-untyped-def]  # noqa: C901 (one kernel for every set of rules)
    moves, indptr, preds, state, counters, block_starts, traffic, memory, rules
):
    """Make moves until one is illegal; return how many were made.

    ``rules`` is (bits that forbid a COMPUTE, bits that a LOAD leaves, bits that a DELETE needs,
    sliding). All conventions but sliding are masks, so that they cost nothing; sliding is looked
    at only where the memory is full.

    Computes and deletes are most of a play, so that their branches hold as few variables as can be:
    loads and stores are counted in memory, and computes follow from the other counts.
    """
    forbid, keep, need, sliding = rules
    low30 = np.uint32((1 << 30) - 1)
    size = np.uint64(state.size)
    blocks = block_starts.size
    loads, stores = counters[LOADS], counters[STORES]
    red_before = red = counters[RED_COUNT]
    peak, overfull = counters[PEAK_RED], counters[OVERFULL]

    # Traffic is booked when it leaves the block of the last load or store, not move by move.
    block = counters[BLOCK]
    block_low = np.uint64(block_starts[block])
    block_high = np.uint64(block_starts[block + 1]) if block + 1 < blocks else size
    booked_loads, booked_stores = loads, stores

    made = moves.size
    last = moves.size - _FAR
    for i in range(moves.size):
        move = moves[i]
        v = np.uint64(move & low30)
        if v >= size:
            made = i
            break
        s = state[v]
        if overfull >= 0:
            # The last COMPUTE took one red too many: only an operand's deletion may follow.
            is_operand = False
            for e in range(indptr[overfull], indptr[overfull + 1]):
                is_operand |= preds[e] == v
            if move < _DELETE or not is_operand:
                made = i
                break
        if move >= _DELETE:
            if s & need != need:
                made = i
                break
            state[v] = s & ~RED
            red -= 1
            overfull = -1
        elif move >= _COMPUTE:
            if i < last:
                # Not for every move: schedules repeat, and what follows a compute is mostly one.
                far = np.uint64(moves[i + _FAR] & low30)
                prefetch(state, far)
                prefetch(indptr, far)
                near = np.uint64(moves[i + _NEAR] & low30)
                if near < size:
                    prefetch(preds, indptr[near])
            low, high = np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])
            operands = RED
            if high - low == np.uint64(2):
                operands = state[preds[low]] & state[preds[low + np.uint64(1)]]
            else:
                for e in range(low, high):
                    operands &= state[preds[e]]
            if (~operands & RED) | (s & forbid) != 0:
                made = i
                break
            if red >= peak:  # and peak <= memory
                if red < memory:
                    peak = red + 1
                elif sliding and low < high:
                    overfull = np.int64(v)
                else:
                    made = i
                    break
            if s & COMPUTED != 0:
                counters[RECOMPUTES] += 1
            state[v] = s | (RED | COMPUTED)
            red += 1
        else:
            if v < block_low or v >= block_high:
                traffic[block, 0] += counters[LOADS] - booked_loads
                traffic[block, 1] += counters[STORES] - booked_stores
                booked_loads, booked_stores = counters[LOADS], counters[STORES]
                block = np.searchsorted(block_starts, np.int64(v), side="right") - 1
                block_low = np.uint64(block_starts[block])
                block_high = np.uint64(block_starts[block + 1]) if block + 1 < blocks else size
            if move >= _STORE:
                if s & (RED | BLUE) != RED:
                    made = i
                    break
                state[v] = s | BLUE
                counters[STORES] += 1
            else:
                if s & (RED | BLUE) != BLUE or red >= memory:
                    made = i
                    break
                state[v] = (s | RED) & keep
                counters[LOADS] += 1
                red += 1
                peak = max(peak, red)

    traffic[block, 0] += counters[LOADS] - booked_loads
    traffic[block, 1] += counters[STORES] - booked_stores
    loads, stores = counters[LOADS] - loads, counters[STORES] - stores
    # Moves are loads + stores + computes + deletes, and red grew by loads + computes - deletes.
    counters[COMPUTES] += (made + red - red_before - 2 * loads - stores) // 2
    counters[RED_COUNT], counters[PEAK_RED] = red, peak
    counters[OVERFULL], counters[BLOCK] = overfull, block
    return made
