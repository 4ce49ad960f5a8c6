"""From the steps of a play to its moves, and two quick plays to start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from strategies.optimum.engine import Step

if TYPE_CHECKING:
    from fractions import Fraction

    from pebble.moves import Moves
    from strategies.optimum.instance import Instance

__all__ = ["Start", "greedy", "step_by_step", "write_moves"]


@dataclass(frozen=True)
class Start:
    """A position to start from, in the instance's numbering."""

    red: frozenset[int] = frozenset()
    blue: frozenset[int] = frozenset()
    computed: frozenset[int] = frozenset()


class _Writer:
    """A position of the instance, and the moves made so far in the DAG's numbering."""

    def __init__(self, instance: Instance, start: Start | None, *, again: bool) -> None:
        self.instance, self.again = instance, again
        self.moves: list[int] = []
        if start is None:
            start = Start(blue=frozenset(v for v in range(instance.size) if instance.given[v]))
        self.red, self.blue, self.finished = set(start.red), set(start.blue), set(start.computed)
        self.left = [sum(x not in start.computed for x in row) for row in instance.successors]

    def make(self, kind: int, vertex: int) -> None:
        self.moves.append(kind << 30 | int(self.instance.vertices[vertex]))
        {
            LOAD: self.red.add,
            STORE: self.blue.add,
            COMPUTE: self.red.add,
            DELETE: self.red.discard,
        }[kind](vertex)

    def evict(self, vertex: int, *, stored: bool) -> None:
        if stored:
            self.make(STORE, vertex)
        self.make(DELETE, vertex)

    def step(self, step: Step) -> None:
        slid = [v for v, _, slid in step.victims if slid]
        for v, stored, slides in step.victims:
            if not slides:
                self.evict(v, stored=stored)
        for u in self.instance.operands[step.vertex]:
            if u not in self.red:
                self.make(LOAD, u)
        for v, stored, slides in step.victims:
            if slides and stored:
                self.make(STORE, v)
        self.compute(step.vertex, slid)
        for w in step.forced:
            self.compute(w, [])

    def compute(self, w: int, slid: list[int]) -> None:
        instance = self.instance
        self.make(COMPUTE, w)
        for u in slid:
            self.make(DELETE, u)
        for u in instance.operands[w]:
            self.left[u] -= 1
        finishes = bool(instance.out[w]) and w not in self.finished
        if not self.again:
            dead = [u for u in instance.operands[w] if u in self.red and not self.left[u]]
            # Under sliding the operand that is replaced must go first: dead ones go before w.
            for u in dead:
                self.make(DELETE, u)
        if finishes:
            self.finished.add(w)
            if instance.stores:
                self.make(STORE, w)
        if self.again:
            if finishes or not instance.successors[w]:
                need = self.needed()
                for u in sorted(self.red):
                    if not need[u]:
                        self.make(DELETE, u)
        elif not self.left[w]:
            self.make(DELETE, w)

    def needed(self) -> list[bool]:
        instance = self.instance
        need = [False] * instance.size
        for v in reversed(range(instance.size)):
            wanted = bool(instance.out[v]) and v not in self.finished
            need[v] = wanted or any(need[x] for x in instance.successors[v])
        return need


def write_moves(
    instance: Instance, steps: list[Step], *, again: bool, start: Start | None = None
) -> Moves:
    """Return the packed moves of a path found with (``again``) or without recomputation."""
    writer = _Writer(instance, start, again=again)
    for step in steps:
        writer.step(step)
    return np.array(writer.moves, np.uint32)


def greedy(instance: Instance) -> list[Step]:
    """Return a one-shot play at once: topological order, clean values evicted first.

    Among equally dear victims goes the one whose next use is furthest.
    """
    red: set[int] = set()
    clean = {v for v in range(instance.size) if instance.given[v]}
    uses = [list(reversed(row)) for row in instance.successors]  # the next use stands last
    steps = []
    for w in range(instance.size):
        if instance.given[w]:
            continue
        operands = instance.operands[w]
        together = red | set(operands)
        k = max(0, len(together) + 1 - instance.memory)
        dying = [u for u in operands if len(uses[u]) == 1]
        slides = instance.rules.sliding and k > 0 and bool(operands)
        if slides:
            k -= 1
        order = sorted(red - set(operands), key=lambda v: (v not in clean, -uses[v][-1]))
        victims = [(v, v not in clean, False) for v in order[:k]]
        if slides and not dying:
            u = max(operands, key=lambda u: (u in clean, uses[u][-2]))
            victims.append((u, u not in clean, True))
        steps.append(Step(w, tuple(victims), ()))
        gone = {v for v, _, _ in victims}
        clean |= gone
        for u in operands:
            uses[u].pop()
        red = {u for u in together - gone if uses[u]}
        if uses[w]:
            red.add(w)
        if instance.out[w] and instance.stores:
            clean.add(w)
    return steps


def step_by_step(instance: Instance) -> tuple[Moves, int | Fraction]:
    """Return a play that is legal under all rules, and its cost: every value stored at once."""
    rules = instance.rules
    moves: list[int] = []
    cost: int | Fraction = 0
    for w in range(instance.size):
        if instance.given[w]:
            continue
        operands = instance.operands[w]
        row = [(LOAD, u) for u in operands]
        if rules.moving_loads:
            row += [(STORE, u) for u in operands]
        row.append((COMPUTE, w))
        row += [(DELETE, u) for u in operands]
        if instance.successors[w] or instance.out[w] or rules.no_deletion:
            row.append((STORE, w))
        row.append((DELETE, w))
        moves += [kind << 30 | int(instance.vertices[v]) for kind, v in row]
        cost += sum(kind in (LOAD, STORE) for kind, _ in row) + rules.compute_price
    return np.array(moves, np.uint32), cost
