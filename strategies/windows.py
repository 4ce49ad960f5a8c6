"""Windows: short stretches of a play, played again at least cost by exact search.

A window ends with a computation, from where the play goes on as before: what is red then stays
red, what was stored for later is stored. Between the same entry and that end the exact search
looks for a cheaper way, in another order, with other evictions or, where the rules allow it, with
repeated computations. Whatever it finds is put in place, and the referee judges the whole play.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pebble.dag import Dag
from pebble.errors import GraphError, SpecError
from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from pebble.operations import APPLY, INPUT
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, Rules
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from pebble.moves import Moves
    from strategies.optimum.onward import Position

__all__ = ["Windows", "improve_windows", "polish"]

_VERTEX = (1 << 30) - 1
#: Fewest and most computations in a window; with recomputation, where states are many, fewer.
_SIZES = {True: (3, 14), False: (3, 9)}
#: Seconds and bytes for one window.
_PATIENCE, _BYTES = 0.25, 1 << 26
#: Larger graphs do not get the best eviction, which would take too long.
_MOST_POLISHED = 20_000
#: Beyond this M too many values are red for windows to be searched.
_MOST_MEMORY = 64


@dataclass(frozen=True)
class Windows:
    """A play after windows of it were searched.

    Attributes
    ----------
    moves : uint32 array
        The play; the referee has accepted it.
    io : int
        Its loads and stores.
    tried, improved : int
        Number of windows searched, and of those that became cheaper.
    """

    moves: Moves = field(repr=False)
    io: int
    tried: int
    improved: int


def improve_windows(
    dag: Dag,
    moves: Moves,
    memory: int,
    rules: Rules = HK,
    *,
    seconds: float | None = None,
    tries: int | None = None,
    seed: int = 1,
    enough: int = 0,
    progress: Callable[[float, int], None] | None = None,
) -> Windows:
    """Play short stretches of a play again at least cost, as long as time allows.

    Parameters
    ----------
    dag, memory, rules
        The game, under ``hk`` or ``one-shot``.
    moves : uint32 array
        A legal, finished play.
    seconds : float, optional
        Time to spend, compilation not counted.
    tries : int, optional
        Number of windows to search; at least one of both limits must be given.
    seed : int
        Seed of the choice of windows.
    enough : int
        Stop at this many loads and stores.
    progress : callable, optional
        Called now and then with the share of the budget used and the best number so far.

    Raises
    ------
    IllegalMoveError
        If the play given is not legal and finished.
    RefusalError
        Under other rules.

    Notes
    -----
    With ``tries`` alone the result does not depend on the machine, unless a window takes longer
    than a quarter of a second to search, and is given up.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from strategies.eviction import schedule_order
    >>> from strategies.orders import construction
    >>> grid = workload("grid:rows=4,columns=4").dag()
    >>> play = np.concatenate(list(schedule_order(grid, construction(grid), 3)))
    >>> found = improve_windows(grid, play, 3, tries=60)
    >>> referee(grid, play, 3).io, found.io < 20
    (24, True)
    """
    if rules not in (HK, ONE_SHOT):
        raise RefusalError(f"windows are searched under hk and one-shot, not under {rules}")
    if seconds is None and tries is None:
        raise SpecError("a search of windows needs seconds or a number of tries")
    if seconds is not None:
        from strategies.optimum.solver import ready

        ready()
    start = clock.monotonic()
    io = referee(dag, moves, memory, rules).io
    rng = np.random.default_rng(seed)
    tried = improved = 0
    ends = np.flatnonzero(moves >> 30 == COMPUTE)

    def used() -> float:
        shares = [1.0 if io <= enough else 0.0]
        if tries is not None:
            shares.append(tried / tries if tries else 1.0)
        if seconds is not None:
            shares.append((clock.monotonic() - start) / seconds)
        return min(1.0, max(shares))

    while (share := used()) < 1.0 and ends.size > 1 and memory <= _MOST_MEMORY:
        if progress is not None:
            progress(share, io)
        once = rules.one_shot or bool(rng.integers(2))
        low, high = _SIZES[once]
        length = min(int(rng.integers(low, high + 1)), ends.size)
        first = int(rng.integers(0, ends.size - length + 1))
        tried += 1
        window = _Window(dag, moves, memory, ends, first, first + length - 1, once=once)
        better = window.search()
        if better is None:
            continue
        # The referee has the last word on every change.
        report = referee(dag, better, memory, rules)
        assert report.io < io, "a window that was to be cheaper is not"
        moves, io = better, report.io
        ends = np.flatnonzero(moves >> 30 == COMPUTE)
        improved += 1
    if progress is not None:
        progress(1.0, io)
    return Windows(moves, io, tried, improved)


def polish(
    dag: Dag,
    moves: Moves,
    memory: int,
    rules: Rules = HK,
    *,
    seconds: float | None = None,
    tries: int | None = None,
    seed: int = 1,
    enough: int = 0,
    progress: Callable[[float, int], None] | None = None,
) -> Windows:
    """Give a play the best eviction for its order, then search windows of it.

    Parameters are those of `improve_windows`; of ``seconds`` at most a fifth goes to the eviction.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from strategies.eviction import schedule_order
    >>> from strategies.orders import construction
    >>> fft = workload("fft:n=8").dag()
    >>> play = np.concatenate(list(schedule_order(fft, construction(fft), 4)))
    >>> referee(fft, play, 4).io, polish(fft, play, 4, tries=1).io <= 55
    (56, True)
    """
    from strategies.best_eviction import best_eviction

    start = clock.monotonic()
    io = int(np.count_nonzero(moves >> 30 <= STORE))
    if len(dag) <= _MOST_POLISHED and io > enough:
        order = moves[moves >> 30 == COMPUTE] & np.uint32(_VERTEX)
        time = 10.0 if seconds is None else seconds / 5
        best = best_eviction(dag, order, memory, rules, time=time)
        if best.upper < io:
            moves = best.moves
    if seconds is not None:
        seconds = max(0.01, seconds - (clock.monotonic() - start))
    return improve_windows(
        dag, moves, memory, rules,
        seconds=seconds, tries=tries, seed=seed, enough=enough, progress=progress,
    )  # fmt: skip


class _Window:
    """A stretch of a play as a small game of its own.

    Parameters
    ----------
    ends : int array
        Where the computations stand among the moves.
    first, last : int
        First and last computation of the window.
    once : bool
        Search plays that compute each vertex of the window once.
    """

    def __init__(
        self, dag: Dag, moves: Moves, memory: int, ends: np.ndarray, first: int, last: int,
        *, once: bool,
    ) -> None:  # fmt: skip
        self.dag, self.moves, self.memory, self.once = dag, moves, memory, once
        self.begin = int(ends[first - 1]) + 1 if first else 0
        self.end = int(ends[last]) + 1
        #: Stores and deletes before the next computation belong to the window as well.
        self.rest = int(ends[last + 1]) if last + 1 < ends.size else moves.size
        self.computed = [int(m) & _VERTEX for m in moves[ends[first : last + 1]]]

    def search(self) -> Moves | None:
        """Return the whole play with a cheaper window; None if there is none."""
        from strategies.optimum.engine import Limits
        from strategies.optimum.onward import onward, position_after

        here, there = self.moves[self.begin : self.end], self.moves[self.end : self.rest]
        last, again = self.computed[-1], len(set(self.computed)) < len(self.computed)
        if self.once and again:
            return None
        entry = position_after(self.dag, self.moves[: self.begin], HK)
        leave = position_after(self.dag, self.moves[: self.end], HK)
        kinds = (there >> 30).tolist()
        vertices = (there & np.uint32(_VERTEX)).tolist()
        stored = {v for kind, v in zip(kinds, vertices, strict=True) if kind == STORE}
        deleted = {v for kind, v in zip(kinds, vertices, strict=True) if kind == DELETE}
        loads = [v for kind, v in zip(kinds, vertices, strict=True) if kind == LOAD]
        cost = int(np.count_nonzero(here >> 30 <= STORE)) + len(stored)
        keep = {int(v) for v in np.flatnonzero(leave.red)} - deleted
        if last in deleted and last not in stored:
            return None  # computed for nothing, or an output stored before: leave it
        later = self._loaded_later(loads)
        blue = set(np.flatnonzero(leave.blue & ~entry.blue).tolist()) | stored
        output = set(self.dag.outputs.tolist())
        wanted = {v for v in blue if v in output or v in later}
        if self.once and any(entry.computed[v] for v in self.computed):
            return None
        game = self._game(entry, keep, wanted, last)
        if game is None:
            return None
        small, names, position = game
        extra = 0 if last in wanted else 1  # the last one is an output of the small game only
        limits = Limits(clock.monotonic() + _PATIENCE, _BYTES)
        rules = ONE_SHOT if self.once else HK
        final = names.index(last)
        if extra + cost <= 0:
            return None
        found = onward(small, self.memory, rules, position, cost + extra, limits, final=final)
        if found.moves is None:
            return None
        return self._spliced(found.moves, names, entry, keep, loads, drop=last if extra else -1)

    def _loaded_later(self, loads: list[int]) -> set[int]:
        rest = self.moves[self.rest :]
        return {int(v) & _VERTEX for v in rest[rest >> 30 == LOAD]} | set(loads)

    def _game(
        self, entry: Position, keep: set[int], wanted: set[int], last: int
    ) -> tuple[Dag, list[int], Position] | None:
        """Return the small game, its vertices in the DAG's numbering, and where it begins."""
        from strategies.optimum.onward import Position

        inside = set(self.computed)
        operands = {v: self.dag.operands(v).tolist() for v in inside}
        operands[last] = list(dict.fromkeys(operands[last] + sorted(keep - {last})))
        if len(operands[last]) >= self.memory:
            return None
        names = sorted({u for row in operands.values() for u in row} | inside | wanted)
        place = {v: i for i, v in enumerate(names)}
        rows: list[list[int]] = []
        codes = []
        lost = []  # red and not blue, computed before: cannot be made again
        for v in names:
            if v in inside:
                rows.append([place[u] for u in operands[v]])
                codes.append(APPLY)
            elif entry.blue[v]:
                rows.append([])
                codes.append(INPUT)
            elif entry.red[v]:
                lost.append(len(rows))
                rows.append([])
                codes.append(APPLY)
            else:
                return None
        red = [bool(entry.red[v]) and v != last for v in names]
        # The last one is to be computed, be it red or blue already.
        blue = [bool(entry.blue[v]) and v != last for v in names]
        computed = [i in set(lost) for i in range(len(names))]
        if not self.once and lost:
            # With as many operands as there are red pebbles a vertex cannot be computed.
            beyond = range(len(names), len(names) + self.memory)
            for i in lost:
                rows[i] = list(beyond)
            rows += [[] for _ in beyond]
            codes += [INPUT for _ in beyond]
            red += [False for _ in beyond]
            blue += [True for _ in beyond]
            computed += [False for _ in beyond]
        outputs = [place[v] for v in wanted | {last}]
        try:
            small = Dag.from_predecessors(rows, outputs, operations=codes)
        except GraphError:  # the last computation repeats one that a value kept was made from
            return None
        position = Position(np.array(red), np.array(blue), np.array(computed))
        return small, names, position

    def _spliced(
        self,
        found: Moves,
        names: list[int],
        entry: Position,
        keep: set[int],
        loads: list[int],
        *,
        drop: int,
    ) -> Moves:
        """Put the new window in place of the old one; leave out moves that change nothing."""
        red = set(np.flatnonzero(entry.red).tolist())
        gone = red - (set(names) - {self.computed[-1]})
        words = [DELETE << 30 | v for v in sorted(gone)]
        last = names.index(self.computed[-1])
        for word in found.tolist():
            kind, v = word >> 30, word & _VERTEX
            if kind == STORE and names[v] == drop:
                continue
            words.append(kind << 30 | names[v])
            if kind == COMPUTE and v == last:
                break
        stores = [
            STORE << 30 | names[word & _VERTEX]
            for word in found.tolist()[::-1]
            if word >> 30 == STORE and names[word & _VERTEX] == self.computed[-1] != drop
        ]
        words += stores[:1]
        for word in words:
            kind, v = word >> 30, word & _VERTEX
            if kind == DELETE:
                red.discard(v)
            elif kind != STORE:
                red.add(v)
        words += [DELETE << 30 | v for v in sorted(red - keep)]
        words += [LOAD << 30 | v for v in loads]
        whole = [self.moves[: self.begin], np.array(words, np.uint32), self.moves[self.rest :]]
        return _tidy(self.dag, np.concatenate(whole))


def _tidy(dag: Dag, moves: Moves) -> Moves:
    """Leave out moves that change nothing: stores of what is blue, deletes of what is not red."""
    from strategies._keep import changing

    blue = np.zeros(len(dag), np.bool_)
    blue[dag.inputs] = True
    kept: Moves = moves[changing(moves, blue)]
    return kept
