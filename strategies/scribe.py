"""The scribe: writes the packed moves of a recorded schedule.

The tree of loops is flattened into a program of *runs*. A run is a pattern of moves (packed words,
and their strides for the loops around it); small loops are unrolled into their runs, so that small
tiles are stamped as fast as large ones. A compiled interpreter stamps the runs into chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pebble._jit import jit
from strategies.masked import Visit
from strategies.schedule import Loop, Step

if TYPE_CHECKING:
    from graphs.masks import Mask
    from pebble.moves import Moves
    from strategies.schedule import Schedule

__all__ = ["scribe", "stamp_run"]

#: Moves per chunk, so that it stays in a core's cache until it is judged, and the longest run.
CHUNK, RUN = 1 << 17, 1 << 12


@dataclass(slots=True)
class _Run:
    """A pattern of moves: ``words[x] + sum(round[d] * strides[d, x])``."""

    words: npt.NDArray[np.uint32]
    strides: npt.NDArray[np.uint32]  # shape (depth, len(words)); arithmetic modulo 2**32


@dataclass(slots=True)
class _Fork:
    """A visit of a mask's rows, columns or entries, with the items of each class."""

    visit: Visit
    depth: int
    bodies: dict[tuple[int, int], list[Any]]
    block: tuple[int, int, int]  # first value: a constant, the row of a loop or -1, its step
    targets: dict[tuple[int, int], int]
    end: int = 0


@dataclass(slots=True)
class _Rounds:
    count: int
    body: list[Any]


def scribe(schedule: Schedule) -> Iterator[Moves]:
    """Yield the moves of a schedule recorded with a layout, in chunks of at most 2**17.

    Parameters
    ----------
    schedule : Schedule
        With a layout and integer sizes.
    """
    items = _flatten(schedule.program, [])
    code: list[tuple[int, int, int]] = []
    runs: list[_Run] = []
    forks: list[_Fork] = []
    depth = _emit(items, code, runs, 0, forks)
    if not runs:
        return
    words = np.concatenate([run.words for run in runs])
    strides = np.zeros((max(depth, 1), words.size), np.uint32)
    place = 0
    for run in runs:
        strides[: run.strides.shape[0], place : place + run.words.size] = run.strides
        place += run.words.size
    program = np.array(code, np.int64)
    if forks:
        yield from _visited(schedule, program, words, strides, forks)
        return
    state = np.zeros(1 + max(depth, 1), np.int64)
    rounds = np.zeros(max(depth, 1), np.uint32)
    while True:
        out = np.empty(CHUNK, np.uint32)
        filled = _stamp(program, words, strides, state, rounds, out)
        if filled:
            yield out[:filled]
        if state[0] >= program.shape[0]:
            return


def _flatten(body: list[Loop | Step], around: list[Loop]) -> list[Any]:
    items: list[Any] = []
    for node in body:
        if isinstance(node, Step):
            items.extend(_flatten_step(node, around))
        elif isinstance(node, Visit):
            items.append(_fork(node, around))
        elif node.count == 1:
            # A loop of one round adds nothing to any address.
            items.extend(_flatten(node.body, around))
        elif node.count > 1:
            items.extend(_unroll(node.count, _flatten(node.body, [*around, node]), len(around)))
    return _merge(items)


def _fork(visit: Visit, around: list[Loop]) -> _Fork:
    inside = [*around, *visit.registers.values()]
    bodies = {key: _flatten(body, inside) for key, body in visit.bodies.items()}
    block = (int(visit.start.constant), -1, 0)
    for loop, step in visit.start.rounds.items():
        if loop.count != 1:
            block = (block[0], around.index(loop), int(step))
    return _Fork(visit, len(around), bodies, block, {})


def _flatten_step(step: Step, around: list[Loop]) -> list[Any]:
    """Turn a box into one run, or into rounds of runs where it is long."""
    if step.count == 0:
        return []
    depth, box = len(around), list(step.box)
    outer: list[tuple[int, int]] = []
    while box and np.prod([size for size, _ in box]) > RUN:
        outer.append(box.pop(0))
    vertices = np.zeros(1, np.int64)
    for size, stride in box:
        vertices = (vertices[:, None] + np.arange(size, dtype=np.int64) * stride).ravel()
    words = (vertices + step.base + (step.kind << 30)).astype(np.uint32)
    own = [step.strides.get(loop, 0) for loop in around] + [stride for _, stride in outer]
    strides = np.repeat(np.array(own, np.int64).astype(np.uint32)[:, None], words.size, axis=1)
    items: list[Any] = [_Run(words, strides)]
    for level, (size, _) in reversed(list(enumerate(outer))):
        items = _unroll(size, items, depth + level)
    return items


def _unroll(count: int, items: list[Any], depth: int) -> list[Any]:
    """Return ``count`` rounds of ``items``, whose rounds are counted in row ``depth``."""
    if not items:
        return []
    if len(items) == 1 and isinstance(items[0], _Run):
        run = items[0]
        copies = min(count, RUN // run.words.size)
        if copies > 1:
            whole, rest = divmod(count, copies)
            wide = _copies(run, 0, copies, depth)
            pieces: list[Any] = []
            if whole == 1:
                pieces.append(_drop(wide, depth))
            else:
                wide.strides[depth] *= np.uint32(copies)
                pieces.append(_Rounds(whole, [wide]))
            if rest:
                pieces.append(_drop(_copies(run, whole * copies, rest, depth), depth))
            return pieces
    return [_Rounds(count, items)]


def _copies(run: _Run, first: int, copies: int, depth: int) -> _Run:
    turns = np.arange(first, first + copies, dtype=np.uint32)
    words = (run.words[None, :] + turns[:, None] * run.strides[depth][None, :]).ravel()
    return _Run(words, np.tile(run.strides, (1, copies)))


def _drop(run: _Run, depth: int) -> _Run:
    return _Run(run.words, run.strides[:depth])


def _merge(items: list[Any]) -> list[Any]:
    """Join neighbouring runs while they stay short enough for a chunk."""
    merged: list[Any] = []
    group: list[_Run] = []
    length = 0

    def close() -> None:
        if group:
            words = np.concatenate([run.words for run in group])
            strides = np.concatenate([run.strides for run in group], axis=1)
            merged.append(_Run(words, strides))
            group.clear()

    for item in items:
        if not isinstance(item, _Run):
            close()
            length = 0
            merged.append(item)
            continue
        if length + item.words.size > 4 * RUN:
            close()
            length = 0
        group.append(item)
        length += item.words.size
    close()
    return merged


_STAMP, _LOOP, _END, _VISIT, _NEXT = range(5)


def _emit(
    items: list[Any],
    code: list[tuple[int, int, int]],
    runs: list[_Run],
    depth: int,
    forks: list[_Fork],
) -> int:
    """Write linear code; return the greatest depth of loops."""
    deepest = depth
    for item in items:
        if isinstance(item, _Run):
            place = runs_length(runs)
            runs.append(item)
            code.append((_STAMP, place, item.words.size))
        elif isinstance(item, _Fork):
            number = len(forks)
            forks.append(item)
            code.append((_VISIT, number, 0))
            inner = depth + len(item.visit.registers)
            for key, body in item.bodies.items():
                item.targets[key] = len(code)
                deepest = max(deepest, inner, _emit(body, code, runs, inner, forks))
                code.append((_NEXT, number, 0))
            item.end = len(code)
        else:
            start = len(code)
            code.append((_LOOP, item.count, depth))
            deepest = max(deepest, _emit(item.body, code, runs, depth + 1, forks))
            code.append((_END, start, depth))
    return deepest


def _visited(
    schedule: Schedule, program: Any, words: Any, strides: Any, forks: list[_Fork]
) -> Iterator[Moves]:
    """Yield the moves of a program with visits."""
    from strategies._mask_stamp import stamp

    kinds = {"rows": 0, "columns": 1, "keys": 2, "queries": 3}
    number = {id(fork.visit): x for x, fork in enumerate(forks)}
    table = np.zeros((len(forks), 11), np.int64)
    targets = np.full((len(forks), 36), -1, np.int64)
    for x, fork in enumerate(forks):
        visit = fork.visit
        line = number[id(visit.line)] if visit.line is not None else -1
        table[x] = (
            kinds[visit.kind],
            fork.depth,
            *fork.block,
            visit.size,
            line,
            *visit.looks,
            len(visit.registers),
            fork.end,
        )
        for (a, b), target in fork.targets.items():
            targets[x, 6 * a + b] = target
    pairs = schedule.formula.pairs
    assert pairs is not None
    tables = _mask_tables(pairs.mask)
    state, rounds = np.zeros(1, np.int64), np.zeros(max(len(strides), 1), np.uint32)
    lows, highs = np.zeros((len(forks), 4), np.int64), np.zeros(len(forks), np.int64)
    while True:
        out = np.empty(CHUNK, np.uint32)
        filled = stamp(
            program, words, strides, table, targets, tables, state, lows, highs, rounds, out
        )
        if filled:
            yield out[:filled]
        if state[0] >= program.shape[0]:
            return


def _mask_tables(mask: Mask) -> tuple[Any, ...]:
    """Return a mask's entries by rows and by columns, and where each line's inner sums begin."""
    indptr, keys = mask.csr
    begins, queries, order = mask.csc
    across = np.empty_like(order)
    across[order] = np.arange(order.size)
    owner = np.repeat(np.arange(mask.n), np.diff(indptr))

    def sums(ptr: Any) -> Any:
        inner = np.maximum(np.diff(ptr) - 2, 0)
        return np.concatenate([[0], np.cumsum(inner)[:-1]])

    return indptr, keys, begins, queries, order, across, owner, sums(indptr), sums(begins)


def runs_length(runs: list[_Run]) -> int:
    """Return the number of words of some runs."""
    return sum(run.words.size for run in runs)


@jit
def _stamp(program, words, strides, state, rounds, out):  # type: ignore[no-untyped-def]
    """Fill a chunk from where the last one ended; return its length."""
    pc, place = state[0], 0
    while pc < program.shape[0]:
        kind, a, b = program[pc, 0], program[pc, 1], program[pc, 2]
        if kind == 0:
            if place + b > out.size:
                break
            stamp_run(out[place : place + b], words[a : a + b], strides[:, a : a + b], rounds)
            place += b
        elif kind == 1:
            rounds[b] = 0
        else:
            rounds[b] += np.uint32(1)
            if rounds[b] < program[a, 1]:
                pc = a
            else:
                rounds[b] = 0
        pc += 1
    state[0] = pc
    return place


@jit
def stamp_run(out, words, strides, rounds):  # type: ignore[no-untyped-def]
    """Write ``words[x] + sum(rounds[d] * strides[d, x])``, as few passes over it as can be."""
    source, depth, d = words, rounds.size, 0
    while True:
        while d < depth and rounds[d] == 0:
            d += 1
        e = d + 1
        while e < depth and rounds[e] == 0:
            e += 1
        if e < depth:
            one, two = rounds[d], rounds[e]
            for x in range(out.size):
                out[x] = source[x] + one * strides[d, x] + two * strides[e, x]
        elif d < depth:
            one = rounds[d]
            for x in range(out.size):
                out[x] = source[x] + one * strides[d, x]
        elif source is words:
            out[:] = words
        source, d = out, e + 1
        if d >= depth:
            return
