"""The cheapest way on from any position of a small board: hints for a player."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move
from pebble.operations import INPUT
from pebble.rules import HK, ONE_SHOT

if TYPE_CHECKING:
    from pebble.game import Game

__all__ = ["LARGEST", "Advice", "advise", "first_costly"]

#: Vertices of the largest board that a hint is looked for on.
LARGEST = 60


@dataclass(frozen=True)
class Advice:
    """What is known of the rest of a play.

    Attributes
    ----------
    moves : tuple of Move
        A cheapest way to the end; empty where none is known.
    io : int or None
        Its loads and stores; None where none is known.
    reason : str
        Why there is no way to show; empty when there is one.
    is_lost : bool
        Whether it is known that no way leads to the end.
    """

    moves: tuple[Move, ...] = ()
    io: int | None = None
    reason: str = ""
    is_lost: bool = False


def first_costly(game: Game, par: int, seconds: float = 10.0) -> tuple[int, str]:
    """Return the step of a play after which ``par`` can no longer be met, or 0 and a reason.

    What is spent plus the cheapest rest never falls along a play, so that halving finds the place.

    Examples
    --------
    >>> from lab.page.levels import find_level
    >>> from pebble import Game
    >>> level = find_level("recompute")
    >>> game = Game(level.dag, level.memory)
    >>> for move in ["L x", "C a", "C b", "S a", "D a", "C c"]:
    ...     game.push(move)
    >>> first_costly(game, par=2)
    (4, '')
    """
    from pebble.game import Game

    deadline = time.monotonic() + seconds
    moves = game.moves
    good, bad = 0, len(moves)
    while bad - good > 1:
        middle = (good + bad) // 2
        here = Game(game.dag, game.memory, game.rules)
        for move in moves[:middle]:
            here.push(move)
        found = advise(here, deadline - time.monotonic())
        if found.io is None and not found.is_lost:
            return 0, found.reason
        if found.io is not None and here.io + found.io <= par:
            good = middle
        else:
            bad = middle
    return bad, ""


class _State(NamedTuple):
    """A position as three sets of vertices, one bit each."""

    red: int
    blue: int
    done: int


def advise(game: Game, seconds: float = 5.0) -> Advice:
    """Find the cheapest way on from where a game stands, under the rules hk and one-shot.

    Parameters
    ----------
    game : Game
        Any position; it is left as it is.
    seconds : float
        Time to search.

    Returns
    -------
    Advice
        With moves that are legal from here on, or with a reason why there are none.

    Examples
    --------
    >>> from graphs import workload
    >>> from pebble import Game
    >>> game = Game(workload("pyramid:h=1").dag(), 3)
    >>> game.push("L 0")
    >>> [move.named(game.dag) for move in advise(game).moves]
    ['L row0[1]', 'C row1[0]', 'S row1[0]']
    """
    if game.rules not in (HK, ONE_SHOT):
        return Advice(reason=f"hints are known for the rules hk and one-shot, not {game.rules}")
    if len(game.dag) > LARGEST:
        return Advice(reason=f"hints are worked out for at most {LARGEST} vertices")
    return _Search(game).run(time.monotonic() + seconds)


class _Search:
    """A* over positions. An output is stored as soon as it is computed; that costs it anyway."""

    def __init__(self, game: Game) -> None:
        dag = game.dag
        self.game, self.size, self.memory = game, len(dag), game.memory
        self.one_shot = game.rules.one_shot
        rows = [dag.operands(v).tolist() for v in range(self.size)]
        self.operands = [_mask(row) for row in rows]
        self.rows = rows
        self.inputs = _mask(v for v in range(self.size) if dag.operations[v] == INPUT)
        self.outputs = _mask(dag.outputs.tolist()) & ~self.inputs
        self.users = [0] * self.size
        self.beyond = [0] * self.size  # outputs above each vertex, itself excepted
        for v in reversed(dag.order.tolist()):
            for u in rows[v]:
                self.users[u] |= 1 << v
                self.beyond[u] |= self.beyond[v] | (self.outputs & (1 << v))

    def run(self, deadline: float) -> Advice:
        game = self.game
        done = _mask(v for v in range(self.size) if game.is_computed(v)) if self.one_shot else 0
        start = self.tidy(_State(_mask(game.red), _mask(game.blue), done))
        known: dict[_State, tuple[int, _State | None, tuple[Move, ...]]] = {start: (0, None, ())}
        heap: list[tuple[float, int, int, _State]] = [(self.rest(start), 0, 0, start)]
        looked = 0
        while heap:
            _, _, negative, state = heapq.heappop(heap)
            cost = known[state][0]
            if -negative > cost:
                continue
            if not self.outputs & ~state.blue:
                return Advice(tuple(self.retrace(known, state)), cost)
            looked += 1
            if looked % 512 == 0 and time.monotonic() > deadline:
                return Advice(reason="from here the best way on is too far to see")
            for price, moves, after in self.steps(state):
                before = known.get(after)
                if before is not None and before[0] <= cost + price:
                    continue
                rest = self.rest(after)
                if rest == float("inf"):
                    continue
                known[after] = (cost + price, state, moves)
                # Of equal totals, the one that has come furthest.
                heapq.heappush(heap, (cost + price + rest, -looked, -(cost + price), after))
        lost = "from here nothing leads to the end: a value is lost; take moves back"
        return Advice(reason=lost, is_lost=True)

    def is_useful(self, state: _State, still: int, v: int) -> bool:
        if still >> v & 1:
            return True
        if not self.beyond[v] & still:
            return False
        return not self.one_shot or bool(self.users[v] & ~state.done)

    def tidy(self, state: _State) -> _State:
        """Forget pebbles that no unfinished output can use: fewer positions to tell apart."""
        still = self.outputs & ~state.blue
        kept = _mask(v for v in _bits(state.red | state.blue) if self.is_useful(state, still, v))
        finished = self.outputs & state.blue
        return _State(state.red & kept, (state.blue & kept) | finished, state.done)

    def rest(self, state: _State) -> float:
        """What must still be paid: a store per open output, a load per input out of reach."""
        still = self.outputs & ~state.blue
        least, seen = still.bit_count(), state.red
        stack = list(_bits(still & ~state.red))
        while stack:
            v = stack.pop()
            if seen >> v & 1:
                continue
            seen |= 1 << v
            if self.inputs >> v & 1:
                least += 1
            elif state.blue >> v & 1:
                least += self.one_shot  # it has been computed: only a load brings it back
            elif self.one_shot and state.done >> v & 1:
                return float("inf")
            else:
                stack += self.rows[v]
        return least

    def steps(self, state: _State) -> Iterator[tuple[int, tuple[Move, ...], _State]]:
        red, blue, done = state
        still = self.outputs & ~blue
        if red.bit_count() >= self.memory:
            for v in _bits(red):
                drop, less = Move(DELETE, v), red & ~(1 << v)
                if not blue >> v & 1:
                    stored = _State(less, blue | 1 << v, done)
                    yield 1, (Move(STORE, v), drop), self.tidy(stored)
                yield 0, (drop,), self.tidy(_State(less, blue, done))
            return
        for v in range(self.size):
            bit = 1 << v
            if red & bit or not self.is_useful(state, still, v):
                continue
            if blue & bit:
                yield 1, (Move(LOAD, v),), _State(red | bit, blue, done)
            if self.inputs & bit or self.operands[v] & ~red or (self.one_shot and done & bit):
                continue
            made = done | bit if self.one_shot else done
            if still & bit:
                after = _State(red | bit, blue | bit, made)
                yield 1, (Move(COMPUTE, v), Move(STORE, v)), self.tidy(after)
            else:
                yield 0, (Move(COMPUTE, v),), self.tidy(_State(red | bit, blue, made))

    def retrace(
        self, known: dict[_State, tuple[int, _State | None, tuple[Move, ...]]], state: _State
    ) -> Iterator[Move]:
        """Give the moves on the real board, where forgotten pebbles are deleted for room."""
        path = []
        at: _State | None = state
        while at is not None:
            _, before, moves = known[at]
            path.append((before, moves))
            at = before
        red, blue = set(self.game.red), set(self.game.blue)
        for before, moves in reversed(path[:-1]):
            assert before is not None
            for move in moves:
                v = move.vertex
                if move.kind in (LOAD, COMPUTE):
                    if v in red:
                        continue
                    if len(red) >= self.memory:
                        idle = next(u for u in sorted(red) if not before.red >> u & 1)
                        red.remove(idle)
                        yield Move(DELETE, idle)
                    red.add(v)
                elif move.kind == STORE:
                    if v in blue:
                        continue
                    blue.add(v)
                else:
                    red.remove(v)
                yield move


def _mask(vertices: Iterable[int]) -> int:
    mask = 0
    for v in vertices:
        mask |= 1 << v
    return mask


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
