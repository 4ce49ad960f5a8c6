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
from strategies.schedule import Loop, Step

if TYPE_CHECKING:
    from pebble.moves import Moves
    from strategies.schedule import Schedule

__all__ = ["scribe"]

#: Moves per chunk, so that it stays in a core's cache until it is judged, and the longest run.
CHUNK, RUN = 1 << 17, 1 << 12


@dataclass(slots=True)
class _Run:
    """A pattern of moves: ``words[x] + sum(round[d] * strides[d, x])``."""

    words: npt.NDArray[np.uint32]
    strides: npt.NDArray[np.uint32]  # shape (depth, len(words)); arithmetic modulo 2**32


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
    depth = _emit(items, code, runs, 0)
    if not runs:
        return
    words = np.concatenate([run.words for run in runs])
    strides = np.zeros((max(depth, 1), words.size), np.uint32)
    place = 0
    for run in runs:
        strides[: run.strides.shape[0], place : place + run.words.size] = run.strides
        place += run.words.size
    program = np.array(code, np.int64)
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
        elif node.count == 1:
            # A loop of one round adds nothing to any address.
            items.extend(_flatten(node.body, around))
        elif node.count > 1:
            items.extend(_unroll(node.count, _flatten(node.body, [*around, node]), len(around)))
    return _merge(items)


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


_STAMP, _LOOP, _END = range(3)


def _emit(items: list[Any], code: list[tuple[int, int, int]], runs: list[_Run], depth: int) -> int:
    """Write linear code; return the greatest depth of loops."""
    deepest = depth
    for item in items:
        if isinstance(item, _Run):
            place = runs_length(runs)
            runs.append(item)
            code.append((_STAMP, place, item.words.size))
        else:
            start = len(code)
            code.append((_LOOP, item.count, depth))
            deepest = max(deepest, _emit(item.body, code, runs, depth + 1))
            code.append((_END, start, depth))
    return deepest


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
            _stamp_run(out[place : place + b], words[a : a + b], strides[:, a : a + b], rounds)
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
def _stamp_run(out, words, strides, rounds):  # type: ignore[no-untyped-def]
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
