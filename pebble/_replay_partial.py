"""The referee's kernel under partial computation: one byte per edge beside that per vertex."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble._jit import jit
from pebble._replay import (
    BLOCK,
    BLUE,
    COMPUTED,
    COMPUTES,
    FIXED,
    LOADS,
    PEAK_RED,
    RECOMPUTES,
    RED,
    RED_COUNT,
    STORES,
)
from pebble.partial import EVER, FAST, SLOW, check_size

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["Board", "replay"]

_FAST, _SLOW, _EVER = np.uint8(FAST), np.uint8(SLOW), np.uint8(EVER)


class Board:
    """What vertices have absorbed, in arrays.

    Attributes
    ----------
    arrays : tuple
        Marks of each edge (`FAST`, `SLOW`, `EVER`), the vertex each edge leads to, and of each
        vertex: operands that its fast cell lacks, that its slow cell lacks, in which they differ.
    """

    def __init__(self, dag: Dag) -> None:
        check_size(dag)
        self.dag = dag
        degrees = np.diff(dag.indptr).astype(np.int32)
        owner = np.repeat(np.arange(len(dag), dtype=np.uint32), degrees)
        self.marks = np.zeros(dag.predecessors.size, np.uint8)
        self.lacks = degrees.copy()
        self.slow_lacks = degrees.copy()
        self.arrays: tuple[Any, ...] = (
            self.marks, owner, self.lacks, self.slow_lacks, np.zeros(len(dag), np.int32)
        )  # fmt: skip

    def absorbed(self, vertex: int, where: int) -> AbstractSet[int]:
        """Return the operands that a vertex has absorbed in `FAST`, `SLOW`, or `EVER`."""
        low, high = int(self.dag.indptr[vertex]), int(self.dag.indptr[vertex + 1])
        marks = self.marks[low:high]
        return frozenset(self.dag.predecessors[low:high][marks & where != 0].tolist())


@jit
def _copy(low, high, marks, source, target):  # type: ignore[no-untyped-def]
    """Make the marks of one cell those of the other."""
    for e in range(low, high):
        if marks[e] & source:
            marks[e] |= target
        else:
            marks[e] &= ~target


@jit
def _empty(v, low, high, board):  # type: ignore[no-untyped-def]
    """Forget what the fast cell holds."""
    marks, owner, lacks, slow_lacks, differ = board
    for e in range(low, high):
        marks[e] &= ~_FAST
    lacks[v] = high - low
    differ[v] = high - low - slow_lacks[v]


@jit
def _absorb(v, e, board):  # type: ignore[no-untyped-def]
    marks, owner, lacks, slow_lacks, differ = board
    differ[v] += -1 if marks[e] & _SLOW else 1
    marks[e] |= _FAST | _EVER
    lacks[v] -= 1


@jit
def replay(  # type: ignore[no-untyped-def]  # noqa: C901 (as `pebble._replay.replay`)
    moves, indptr, preds, state, counters, block_starts, traffic, memory, rules, board
):
    """Make moves until one is illegal; return how many were made.

    ``rules`` is (each edge once, loads move the pebble, nothing may be lost).
    """
    once, moving, keeping = rules
    marks, owner, lacks, slow_lacks, differ = board
    low30 = np.uint32((1 << 30) - 1)
    size = np.int64(state.size)
    red = counters[RED_COUNT]
    made = 0
    for i in range(moves.size):
        v = np.int64(moves[i] & low30)
        kind = moves[i] >> np.uint32(30)
        if kind == 2 and v >= size:  # P u v
            e = np.int64(v - size)
            if e >= preds.size:
                break
            u, v = preds[e], np.int64(owner[e])
            if not state[u] & RED or lacks[u] > 0:
                break
            s = state[v]
            if once and marks[e] & _EVER:
                break
            if s & RED:
                if marks[e] & _FAST:
                    break
            else:
                if red >= memory or (once and s & BLUE):
                    break
                _empty(v, np.int64(indptr[v]), np.int64(indptr[v + 1]), board)
                red += 1
            counters[COMPUTES] += 1
            counters[RECOMPUTES] += (marks[e] & _EVER) != 0
            _absorb(v, e, board)
            state[v] = s | (RED if lacks[v] else RED | COMPUTED)
            counters[PEAK_RED] = max(counters[PEAK_RED], red)
            made += 1
            continue
        if v >= size:
            break
        s = state[v]
        low, high = np.int64(indptr[v]), np.int64(indptr[v + 1])
        if kind == 2:  # C v
            if s & (RED | FIXED) or red >= memory or (once and s & COMPUTED):
                break
            ready = True
            again = s & COMPUTED
            for e in range(low, high):  # type: ignore[assignment]
                again |= marks[e] & _EVER
                if not state[preds[e]] & RED or lacks[preds[e]] > 0:
                    ready = False
                    break
            if not ready or (once and again):
                break
            _empty(v, low, high, board)
            for e in range(low, high):  # type: ignore[assignment]
                _absorb(v, e, board)
            state[v] = s | (RED | COMPUTED)
            counters[COMPUTES] += 1
            counters[RECOMPUTES] += again != 0
            red += 1
        elif kind == 3:  # DELETE
            if not s & RED or (keeping and (not s & BLUE or differ[v])):
                break
            state[v] = s & ~RED
            red -= 1
        elif kind == 0:  # LOAD
            if s & (RED | BLUE) != BLUE or red >= memory:
                break
            _copy(low, high, marks, _SLOW, _FAST)
            lacks[v] = slow_lacks[v]
            differ[v] = 0
            state[v] = s | RED
            if moving:
                state[v] &= ~BLUE
                for e in range(low, high):  # type: ignore[assignment]
                    marks[e] &= ~_SLOW
                slow_lacks[v] = high - low
                differ[v] = slow_lacks[v] - lacks[v]
            red += 1
            counters[LOADS] += 1
            traffic[np.searchsorted(block_starts, v, side="right") - 1, 0] += 1
        else:  # STORE
            if not s & RED or (s & BLUE and not differ[v]):
                break
            _copy(low, high, marks, _FAST, _SLOW)
            slow_lacks[v] = lacks[v]
            differ[v] = 0
            state[v] = s | BLUE
            counters[STORES] += 1
            traffic[np.searchsorted(block_starts, v, side="right") - 1, 1] += 1
        counters[PEAK_RED] = max(counters[PEAK_RED], red)
        made += 1
    counters[RED_COUNT] = red
    counters[BLOCK] = 0
    return made
