"""The machine's kernels: operations on numbers, value by value."""

from __future__ import annotations

import numpy as np

from pebble._jit import jit
from pebble.operations import ADD, COPY, DIV, EXP, INPUT, KEEP, MAX, MUL, SUB

__all__ = ["evaluate", "execute", "execute_partial", "keep"]


@jit
def keep(seed, v):  # type: ignore[no-untyped-def]
    """Return 2 for half of all vertices and 0 for the others: a hash of the seed and the vertex."""
    h = np.uint64(np.int64(seed * 4294967296.0)) + np.uint64(v) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return 2.0 if (h >> np.uint64(63)) == np.uint64(1) else 0.0


@jit
def _apply(operation, x, y, v):  # type: ignore[no-untyped-def]
    if operation == MUL:
        return x * y
    if operation == ADD:
        return x + y
    if operation == SUB:
        return x - y
    if operation == DIV:
        return np.divide(x, y)
    if operation == EXP:
        return np.exp(x)
    if operation == MAX:
        return np.maximum(x, y)
    if operation == COPY:
        return x
    if operation == KEEP and not np.isnan(x):
        return keep(x, v)
    return np.nan


@jit
def evaluate(order, indptr, preds, operations, values):  # type: ignore[no-untyped-def]
    """Fill in the values of all vertices that are no inputs, in a topological order."""
    for i in range(order.size):
        v = order[i]
        if operations[v] != INPUT:
            # An operand used in both slots stands once: it is the first and the last.
            x, y = values[preds[indptr[v]]], values[preds[indptr[v + 1] - 1]]
            values[v] = _apply(operations[v], x, y, v)


@jit
def execute(moves, indptr, preds, operations, fast, slow, given):  # type: ignore[no-untyped-def]
    """Make moves on numbers, unjudged; return how many were made before a vertex out of range.

    ``given`` holds the inputs where they are computed from nothing; otherwise it is empty.
    """
    for i in range(moves.size):
        v, kind = moves[i] & np.uint32((1 << 30) - 1), moves[i] >> np.uint32(30)
        if v >= slow.size:
            return i
        if kind == 0:
            fast[v] = slow[v]
        elif kind == 1:
            slow[v] = fast[v]
        elif kind == 3:
            fast[v] = np.nan
        elif operations[v] != INPUT:
            x, y = fast[preds[indptr[v]]], fast[preds[indptr[v + 1] - 1]]
            fast[v] = _apply(operations[v], x, y, v)
        elif given.size:
            fast[v] = given[v]
    return moves.size


@jit
def _share(operation, x, is_first, is_last, v):  # type: ignore[no-untyped-def]
    """Return what one operand, in its slot or in both, adds to an aggregate."""
    if is_first and is_last:
        return _apply(operation, x, x, v)
    if is_last and operation == SUB:
        return -x
    if is_last and operation == DIV:
        return np.divide(1.0, x)
    return x


@jit
def _combine(operation, x, y, v):  # type: ignore[no-untyped-def]
    """Join two parts of an aggregate: sums and differences add, products and quotients multiply."""
    if operation == SUB:
        return x + y
    if operation == DIV:
        return x * y
    return _apply(operation, x, y, v)


@jit
def execute_partial(  # type: ignore[no-untyped-def]
    moves, indptr, preds, owner, operations, fast, slow, given, begun
):
    """As `execute`, with partial computes; ``begun`` marks the fast cells that hold something."""
    for i in range(moves.size):
        v, kind = np.int64(moves[i] & np.uint32((1 << 30) - 1)), moves[i] >> np.uint32(30)
        if kind == 2 and slow.size <= v < slow.size + preds.size:
            e = v - slow.size
            v = owner[e]
            is_first, is_last = e == indptr[v], e + 1 == indptr[v + 1]
            share = _share(operations[v], fast[preds[e]], is_first, is_last, v)
            fast[v] = _combine(operations[v], fast[v], share, v) if begun[v] else share
            begun[v] = True
            continue
        if v >= slow.size:
            return i
        if kind == 1:
            slow[v] = fast[v]
            continue
        begun[v] = kind != 3
        if kind == 0:
            fast[v] = slow[v]
        elif kind == 3:
            fast[v] = np.nan
        elif operations[v] != INPUT:
            x, y = fast[preds[indptr[v]]], fast[preds[indptr[v + 1] - 1]]
            fast[v] = _apply(operations[v], x, y, v)
        elif given.size:
            fast[v] = given[v]
    return moves.size
