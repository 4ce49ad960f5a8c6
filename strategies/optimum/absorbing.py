"""The search under partial computation: in steps of one edge, or move by move.

`AbsorbOnce` is A* over steps "v absorbs u" where every edge is absorbed once. As in the compiled
search of the usual game a step evicts exactly as many as must go, loads what is missing, and only
evictions raise the estimate: by 1 for a value that is stored, by 2 for one that is not.
`AbsorbMoves` knows every convention and tries single moves.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from pebble.moves import COMPUTE, DELETE, LOAD, STORE

if TYPE_CHECKING:
    from pebble.moves import Moves
    from strategies.optimum.engine import Limits
    from strategies.optimum.instance import Instance

__all__ = ["AbsorbMoves", "AbsorbOnce", "one_by_one"]

#: What a state costs in Python's dictionaries and heap, roughly.
_BYTES = 450

State = TypeVar("State")


class _Search(Generic[State]):
    """Edges by number, the loop of A*, and the limits; see `strategies.optimum.rulewise.Rulewise`.

    An edge is (operand, vertex); a vertex without operands that is not given has the edge (-1,
    vertex): it is computed from nothing.
    """

    def __init__(self, instance: Instance, limits: Limits) -> None:
        self.instance, self.limits = instance, limits
        self.edges: list[tuple[int, int]] = []
        self.numbers: list[int] = []  # what a packed move says of the edge
        self.into = [0] * instance.size
        self.out_of = [0] * instance.size
        dag = instance.dag
        for v, operands in enumerate(instance.operands):
            if instance.given[v]:
                continue
            where = int(instance.vertices[v])
            for place, u in enumerate(operands or [-1]):
                bit = 1 << len(self.edges)
                self.edges.append((u, v))
                self.into[v] |= bit
                if u >= 0:
                    self.out_of[u] |= bit
                first = len(dag) + int(dag.indptr[where])
                self.numbers.append(first + place if u >= 0 else where)
        self.outputs = [v for v in range(instance.size) if instance.out[v]]
        self.lower = 0
        self.states = 0
        self.moves: Moves | None = None

    def run(self) -> str:
        """Search; return "" when finished, or what stopped the search: time or memory."""
        root, estimate = self.root()
        cost = {root: estimate}
        came: dict[State, tuple[State, tuple[int, ...]]] = {}
        order = itertools.count()
        heap = [(estimate, 0, root)]
        popped = 0
        while heap:
            f, _, state = heapq.heappop(heap)
            if f > cost[state]:
                continue
            self.lower = f
            if self.is_end(state):
                self._trace_back(state, came)
                return ""
            popped += 1
            if popped % 1024 == 0:
                self.states = len(cost)
                if self.limits.progress is not None:
                    self.limits.progress(self.states)
                if self.limits.is_over():
                    return "time"
                if len(cost) * _BYTES > self.limits.bytes:
                    return "memory"
            for step, total, after in self.steps(state, f):
                if total < cost.get(after, total + 1):
                    cost[after] = total
                    came[after] = (state, step)
                    heapq.heappush(heap, (total, -next(order), after))  # the latest first
        raise AssertionError("every graph can be pebbled with two red pebbles")

    def root(self) -> tuple[State, int]:
        raise NotImplementedError

    def is_end(self, state: State) -> bool:
        raise NotImplementedError

    def steps(self, state: State, f: int) -> Iterator[tuple[tuple[int, ...], int, State]]:
        """Yield (moves or what stands for them, estimate after, state after)."""
        raise NotImplementedError

    def written(self, state: State, step: tuple[int, ...]) -> list[int]:
        """Return the packed moves of a step, vertices in the instance's numbering."""
        raise NotImplementedError

    def _trace_back(self, state: State, came: dict[State, tuple[State, tuple[int, ...]]]) -> None:
        path = []
        while state in came:
            state, step = came[state]
            path.append((state, step))
        moves: list[int] = []
        for before, step in reversed(path):
            for move in self.written(before, step):
                kind, v = move >> 30, move & ((1 << 30) - 1)
                number = self.numbers[v] if kind == COMPUTE else int(self.instance.vertices[v])
                moves.append(kind << 30 | number)
        self.states = len(came) + 1
        self.moves = np.array(moves, np.uint32)


#: Edges absorbed; red vertices; red vertices whose aggregate is not stored.
_Once = tuple[int, int, int]


class AbsorbOnce(_Search[_Once]):
    """Each edge absorbed once. What is begun, needed and not red is stored: nothing else can end.

    Forced, since they cost nothing that is not to come anyway: a value without further use is
    dropped, a finished output is stored, and a vertex that is red and not stored absorbs what it
    can.
    """

    def root(self) -> tuple[_Once, int]:
        """Return the start, and the loads and stores that no play avoids."""
        return (0, 0, 0), self.instance.compulsory()

    def is_end(self, state: _Once) -> bool:
        """Whether every edge has been absorbed."""
        return state[0] == (1 << len(self.edges)) - 1

    def steps(self, state: _Once, f: int) -> Iterator[tuple[tuple[int, ...], int, _Once]]:
        """Yield steps as (edge, victims...)."""
        done, red, dirty = state
        for e, (u, v) in enumerate(self.edges):
            if done >> e & 1 or (u >= 0 and self.into[u] & ~done):
                continue
            busy = 1 << v | (1 << u if u >= 0 else 0)
            k = (red | busy).bit_count() - self.instance.memory
            if k <= 0:
                yield (e,), f, self._after(state, e, ())
                continue
            others = [w for w in range(self.instance.size) if (red & ~busy) >> w & 1]
            for victims in itertools.combinations(others, k):
                price = sum(1 + (dirty >> w & 1) for w in victims)
                yield (e, *victims), f + price, self._after(state, e, victims)

    def written(self, state: _Once, step: tuple[int, ...]) -> list[int]:
        """Return the moves of a step."""
        moves: list[int] = []
        self._after(state, step[0], step[1:], moves)
        return moves

    def _after(
        self, state: _Once, e: int, victims: tuple[int, ...], log: list[int] | None = None
    ) -> _Once:
        done, red, dirty = state
        moves: list[int] = [] if log is None else log
        for w in victims:
            if dirty >> w & 1:
                moves.append(STORE << 30 | w)
            moves.append(DELETE << 30 | w)
            red &= ~(1 << w)
            dirty &= ~(1 << w)
        u, v = self.edges[e]
        for w in (u, v):
            begun = w >= 0 and (self.instance.given[w] or self.into[w] & done)
            if begun and not red >> w & 1:
                moves.append(LOAD << 30 | w)
                red |= 1 << w
        todo = [e]
        while todo:
            e = todo.pop()
            u, v = self.edges[e]
            moves.append(COMPUTE << 30 | e)
            done |= 1 << e
            red |= 1 << v
            dirty |= 1 << v
            whole = not self.into[v] & ~done
            if whole and self.instance.out[v] and self.instance.stores:
                moves.append(STORE << 30 | v)
                dirty &= ~(1 << v)
            for w in (u, v):
                if w < 0 or self.out_of[w] & ~done or self.into[w] & ~done:
                    continue
                moves.append(DELETE << 30 | w)
                red &= ~(1 << w)
                dirty &= ~(1 << w)
            todo = next(
                ([e] for e in range(len(self.edges)) if self._free(e, done, red, dirty)), []
            )
        return done, red, dirty

    def _free(self, e: int, done: int, red: int, dirty: int) -> bool:
        u, v = self.edges[e]
        if done >> e & 1 or u < 0 or not (dirty >> v & 1 and red >> u & 1):
            return False
        return not self.into[u] & ~done


#: Red, blue; edges in fast cells, in slow cells, ever; vertices ever whole.
_Full = tuple[int, int, int, int, int, int]


class AbsorbMoves(_Search[_Full]):
    """Single moves under any conventions. Nothing is deleted while a pebble is free, unless slow
    memory holds what the cell lacks.
    """

    def __init__(self, instance: Instance, limits: Limits) -> None:
        super().__init__(instance, limits)
        rules = instance.rules
        self.remembers = rules.complete or rules.unstored_outputs or rules.one_shot

    def root(self) -> tuple[_Full, int]:
        """Return the start and its estimate."""
        blue = sum(1 << v for v in range(self.instance.size) if self.instance.given[v])
        state = (0, blue, 0, 0, 0, 0)
        return state, self._estimate(state)

    def _estimate(self, state: _Full) -> int:
        if self.instance.rules.unstored_outputs:
            return 0
        return sum(not self._is_stored(state, v) for v in self.outputs)

    def _is_stored(self, state: _Full, v: int) -> bool:
        return bool(state[1] >> v & 1) and not self.into[v] & ~state[3]

    def is_end(self, state: _Full) -> bool:
        """Whether the play may end."""
        rules, instance, whole = self.instance.rules, self.instance, state[5]
        if rules.unstored_outputs:
            if not all(whole >> v & 1 for v in self.outputs):
                return False
        elif self._estimate(state):
            return False
        if not rules.complete:
            return True
        return all(whole >> v & 1 or instance.given[v] for v in range(instance.size))

    def steps(self, state: _Full, f: int) -> Iterator[tuple[tuple[int, ...], int, _Full]]:
        """Yield single moves."""
        before = f - self._estimate(state)
        for move, after in self._moves(state):
            price = move >> 30 in (LOAD, STORE)
            yield (move,), before + price + self._estimate(after), after

    def written(self, state: _Full, step: tuple[int, ...]) -> list[int]:  # noqa: ARG002
        """Return the move."""
        return list(step)

    def _moves(self, state: _Full) -> Iterator[tuple[int, _Full]]:
        red, blue, fast, slow, ever, whole = state
        rules, once = self.instance.rules, self.instance.rules.one_shot
        full = red.bit_count() >= self.instance.memory
        for v in range(self.instance.size):
            bit, edges = 1 << v, self.into[v]
            if red & bit:
                kept = blue & bit and not (fast ^ slow) & edges
                if not kept:
                    stored = slow & ~edges | fast & edges
                    yield STORE << 30 | v, (red, blue | bit, fast, stored, ever, whole)
                older = blue & bit and slow & edges & ~fast
                if (full or older) and (kept or not rules.no_deletion):
                    yield DELETE << 30 | v, (red ^ bit, blue, fast & ~edges, slow, ever, whole)
            elif blue & bit and not full:
                loaded, left, still = fast | slow & edges, slow, blue
                if rules.moving_loads:
                    left, still = slow & ~edges, blue ^ bit
                yield LOAD << 30 | v, (red | bit, still, loaded, left, ever, whole)
        for e, (u, v) in enumerate(self.edges):
            bit, edge = 1 << v, 1 << e
            if fast & edge or (once and ever & edge):
                continue
            if u >= 0 and (not red >> u & 1 or self.into[u] & ~fast):
                continue
            if not red & bit and (full or (once and blue & bit)):
                continue
            after = fast | edge
            seen = ever | edge if once else 0
            finished = whole | bit if self.remembers and not self.into[v] & ~after else whole
            yield COMPUTE << 30 | e, (red | bit, blue, after, slow, seen, finished)


def one_by_one(instance: Instance) -> tuple[Moves, int]:
    """Return a play with two pebbles that is legal under all conventions, and its cost."""
    from strategies.optimum.engine import Limits

    search = AbsorbMoves(instance, Limits(None, 0))  # for its edges
    moving = instance.rules.moving_loads
    moves: list[int] = []
    for e, (u, v) in enumerate(search.edges):
        below, above = (int(instance.vertices[w]) for w in (max(u, 0), v))
        if u >= 0:
            moves += [LOAD << 30 | below, *([STORE << 30 | below] if moving else [])]
        moves.append(COMPUTE << 30 | search.numbers[e])
        if u >= 0:
            moves.append(DELETE << 30 | below)
        if not search.into[v] >> (e + 1):
            moves += [STORE << 30 | above, DELETE << 30 | above]
    cost = sum(move >> 30 in (LOAD, STORE) for move in moves)
    return np.array(moves, np.uint32), cost
