"""The slow search, move by move, for rules that the compiled searches do not know."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pebble.moves import COMPUTE, DELETE, LOAD, STORE

if TYPE_CHECKING:
    from pebble.moves import Moves
    from strategies.optimum.engine import Limits
    from strategies.optimum.instance import Instance

__all__ = ["Rulewise"]

#: What a state costs in Python's dictionaries and heap, roughly.
_BYTES = 400

#: Red, blue and computed vertices as bit sets; the vertex that makes one red too many, or -1.
State = tuple[int, int, int, int]


class Rulewise:
    """A* over single moves, with the outputs that are not blue yet as its estimate.

    It knows every convention, and one normal form: nothing is deleted while a pebble is free.
    Good for about a dozen vertices.

    Attributes
    ----------
    lower : int or Fraction
        Proven so far: no play costs less.
    moves : array or None
        The cheapest play, once it is found.

    The state to start from, where it is not the start of the game, is ``root``.
    """

    def __init__(self, instance: Instance, limits: Limits, root: State | None = None) -> None:
        self.instance, self.limits = instance, limits
        price = instance.rules.compute_price
        self.unit, self.price = price.denominator, price.numerator
        self.outputs = [v for v in range(instance.size) if instance.out[v]]
        self.before = [sum(1 << u for u in row) for row in instance.operands]
        self.lower: int | Fraction = 0
        self.states = 0
        self.moves: Moves | None = None
        blue = sum(1 << v for v in range(instance.size) if instance.given[v])
        self.root: State = (0, blue, 0, -1) if root is None else root

    def run(self) -> str:
        """Search; return "" when finished, or what stopped the search: time or memory.

        Where no play leads to the end, it has finished without ``moves``.
        """
        root = self.root
        cost = {root: 0}
        came: dict[State, tuple[State, int]] = {}
        heap = [(self._estimate(root), 0, root)]
        popped = 0
        while heap:
            f, g, state = heapq.heappop(heap)
            if g > cost[state]:
                continue
            self.lower = self._value(f)
            if self._is_end(state):
                self._trace_back(state, came)
                return ""
            popped += 1
            if popped % 2048 == 0:
                self.states = len(cost)
                if self.limits.progress is not None:
                    self.limits.progress(self.states)
                if self.limits.is_over():
                    return "time"
                if len(cost) * _BYTES > self.limits.bytes:
                    return "memory"
            for move, price, after in self._moves(state):
                total = g + price
                if total < cost.get(after, total + 1):
                    cost[after] = total
                    came[after] = (state, move)
                    heapq.heappush(heap, (total + self._estimate(after), total, after))
        return ""  # only from the middle of a play, where a value may be lost for good

    def _value(self, f: int) -> int | Fraction:
        return f if self.unit == 1 else Fraction(f, self.unit)

    def _estimate(self, state: State) -> int:
        if self.instance.rules.unstored_outputs:
            return 0
        return self.unit * sum(not state[1] >> v & 1 for v in self.outputs)

    def _is_end(self, state: State) -> bool:
        _, blue, computed, over = state
        rules, instance = self.instance.rules, self.instance
        if over >= 0:
            return False
        where = computed if rules.unstored_outputs else blue
        if not all(where >> v & 1 for v in self.outputs):
            return False
        if not rules.complete:
            return True
        return all(computed >> v & 1 or instance.given[v] for v in range(instance.size))

    def _moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        """Yield (packed move in the instance's numbering, price, state after)."""
        red, blue, computed, over = state
        rules, instance = self.instance.rules, self.instance
        remembers = rules.one_shot or rules.complete or rules.unstored_outputs
        full = red.bit_count() >= instance.memory
        for v in range(instance.size):
            bit = 1 << v
            if red & bit:
                if over < 0 and not blue & bit:
                    yield STORE << 30 | v, self.unit, (red, blue | bit, computed, -1)
                may_go = full and (blue & bit or not rules.no_deletion)
                if may_go and (over < 0 or self.before[over] & bit):
                    yield DELETE << 30 | v, 0, (red ^ bit, blue, computed, -1)
                continue
            if over >= 0:
                continue
            if blue & bit and not full:
                left = blue ^ bit if rules.moving_loads else blue
                yield LOAD << 30 | v, self.unit, (red | bit, left, computed, -1)
            if instance.given[v] or red & self.before[v] != self.before[v]:
                continue
            if rules.one_shot and computed & bit:
                continue
            if not full or (rules.sliding and self.before[v]):
                after = computed | bit if remembers else computed
                yield COMPUTE << 30 | v, self.price, (red | bit, blue, after, v if full else -1)

    def _trace_back(self, state: State, came: dict[State, tuple[State, int]]) -> None:
        moves = []
        while state in came:
            state, move = came[state]
            vertex = int(self.instance.vertices[move & ((1 << 30) - 1)])
            moves.append(move >> 30 << 30 | vertex)
        self.moves = np.array(moves[::-1], np.uint32)
