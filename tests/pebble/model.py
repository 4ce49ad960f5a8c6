"""A third statement of the rules, in sets, and what is played with it: the oracle of the tests."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

from pebble.dag import Dag
from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from pebble.rules import PRESETS, Rules

#: Every combination of two switches, the presets, and everything at once.
SWITCHES = (
    "one_shot",
    "free_inputs",
    "unstored_outputs",
    "complete",
    "sliding",
    "moving_loads",
    "no_deletion",
)
SOME_RULES = sorted(
    {
        *PRESETS.values(),
        *(Rules(**dict.fromkeys(pair, True)) for pair in itertools.combinations(SWITCHES, 2)),
        *(Rules(**{name: True, "partial": True}) for name in SWITCHES if name != "sliding"),
        Rules(partial=True),
        Rules(**dict.fromkeys(SWITCHES, True), compute_price=Fraction(1, 3)),
    },
    key=str,
)

#: (edges 0>1, 0>2, 1>2, 0>3, 2>3, 1>4, 3>4): one-shot costs 4 at M = 3, recomputation 2.
S5 = Dag.from_predecessors([[], [0], [0, 1], [0, 2], [1, 3]])
FFT2 = Dag.from_predecessors([[], [], [0, 1], [0, 1]])
PYRAMID2 = Dag.from_predecessors([[], [], [], [0, 1], [1, 2], [3, 4]])


class State(NamedTuple):
    red: frozenset[int] = frozenset()
    blue: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()
    must_delete: frozenset[int] = frozenset()  # under sliding: one of these, at once


class Model:
    def __init__(self, dag: Dag, M: int, rules: Rules) -> None:
        self.M, self.rules = M, rules
        self.before = [frozenset(dag.operands(v).tolist()) for v in range(len(dag))]
        inputs = frozenset(dag.inputs.tolist())
        self.given = frozenset() if rules.free_inputs else inputs
        self.outputs = frozenset(dag.outputs.tolist())
        self.everything = frozenset(range(len(dag)))
        self.numbers = range(len(dag))  # what a move may name
        self.start = State(blue=self.given)

    def after(self, state: State, kind: int, v: int) -> State | None:
        """The position after a move; None if it is illegal."""
        red, blue, done, must = state
        if v not in self.everything or (must and (kind != DELETE or v not in must)):
            return None
        new = frozenset([v])
        if kind == LOAD and v in blue - red and len(red) < self.M:
            return State(red | new, blue - new if self.rules.moving_loads else blue, done)
        if kind == STORE and v in red - blue:
            return State(red, blue | new, done)
        if kind == DELETE and v in (red & blue if self.rules.no_deletion else red):
            return State(red - new, blue, done)
        if kind == COMPUTE and v not in red | self.given and self.before[v] <= red:
            if self.rules.one_shot and v in done:
                return None
            if len(red) < self.M:
                return State(red | new, blue, done | new)
            if self.rules.sliding and self.before[v]:
                return State(red | new, blue, done | new, self.before[v])
        return None

    def is_finished(self, state: State) -> bool:
        computed = state.done | self.given
        wanted = computed if self.rules.unstored_outputs else state.blue
        is_complete = computed == self.everything or not self.rules.complete
        return not state.must_delete and self.outputs <= wanted and is_complete

    def moves(self, state: State) -> Iterator[tuple[int, int, State]]:
        for kind in range(4):
            for v in self.numbers:
                after = self.after(state, kind, v)
                if after is not None:
                    yield kind, v, after

    def repeats(self, state: State, v: int) -> bool:
        return v in state.done

    def judge(self, moves: list[tuple[int, int]]) -> tuple[int, State, dict[str, int]]:
        """Moves made before the first illegal one, where that leads, and what was counted."""
        state, seen = self.start, []
        peak = recomputes = 0
        for kind, v in moves:
            after = self.after(state, kind, v)
            if after is None:
                break
            recomputes += kind == COMPUTE and self.repeats(state, v)
            seen.append(kind)
            state = after
            peak = max(peak, 0 if state.must_delete else len(state.red))
        counts = {
            "loads": seen.count(LOAD),
            "stores": seen.count(STORE),
            "computes": seen.count(COMPUTE),
            "recomputes": recomputes,
            "peak_red": peak,
        }
        return len(seen), state, counts

    def can_finish(self) -> bool:
        """Whether any position that can be reached is an end."""
        seen, todo = {self.start}, [self.start]
        while todo:
            state = todo.pop()
            if self.is_finished(state):
                return True
            new = {after for _, _, after in self.moves(state)} - seen
            seen |= new
            todo += new
        return False

    def optimum(self) -> int:
        """The least I/O of any play, by Dijkstra's algorithm over all positions."""
        forget = not (
            self.rules.partial
            or self.rules.one_shot
            or self.rules.complete
            or self.rules.unstored_outputs
        )
        queue, closed, tie = [(0, 0, self.start)], set(), itertools.count(1)
        while queue:
            cost, _, state = heapq.heappop(queue)
            if self.is_finished(state):
                return cost
            if state in closed:
                continue
            closed.add(state)
            for kind, _, after in self.moves(state):
                kept = after._replace(done=frozenset()) if forget else after
                heapq.heappush(queue, (cost + (kind in (LOAD, STORE)), next(tie), kept))
        raise AssertionError("no play ends")


class PartialState(NamedTuple):
    """Cells as sets of (vertex, operands absorbed); edges absorbed ever; vertices ever whole."""

    fast: frozenset[tuple[int, frozenset[int]]] = frozenset()
    slow: frozenset[tuple[int, frozenset[int]]] = frozenset()
    ever: frozenset[tuple[int, int]] = frozenset()
    done: frozenset[int] = frozenset()
    must_delete: frozenset[int] = frozenset()

    @property
    def red(self) -> frozenset[int]:
        return frozenset(v for v, _ in self.fast)

    @property
    def blue(self) -> frozenset[int]:
        return frozenset(v for v, _ in self.slow)


class PartialModel(Model):
    """Partial computation: both memories as dictionaries from vertices to operands absorbed."""

    def __init__(self, dag: Dag, M: int, rules: Rules) -> None:
        super().__init__(dag, M, rules)
        self.edges = [(u, v) for v in range(len(dag)) for u in dag.operands(v).tolist()]
        self.numbers = range(len(dag) + len(self.edges))
        self.start = PartialState(slow=frozenset((v, frozenset()) for v in self.given))

    def after(self, state, kind, number):  # noqa: C901 - one rule after the other
        if number not in self.numbers or (kind != COMPUTE and number >= len(self.everything)):
            return None
        fast, slow, rules = dict(state.fast), dict(state.slow), self.rules
        if kind == COMPUTE and number >= len(self.everything):
            new = [self.edges[number - len(self.everything)]]
            v = new[0][1]
            if v in fast and new[0][0] in fast[v]:
                return None
        else:
            v = number
            new = [(u, v) for u in self.before[v]]
        ever, done = state.ever, state.done
        if kind == LOAD:
            if v in fast or v not in slow:
                return None
            fast[v] = slow.pop(v) if rules.moving_loads else slow[v]
        elif kind == STORE:
            if v not in fast or (v in slow and slow[v] == fast[v]):
                return None
            slow[v] = fast[v]
        elif kind == DELETE:
            if v not in fast or (rules.no_deletion and slow.get(v) != fast[v]):
                return None
            del fast[v]
        else:
            if v in self.given or (v in fast and v == number):
                return None
            if any(fast.get(u) != self.before[u] for u, _ in new):
                return None
            if rules.one_shot and (set(new) & ever or (v == number and v in done)):
                return None
            if rules.one_shot and v not in fast and v in slow and v != number:
                return None
            if rules.one_shot and v == number and any(w == v for _, w in ever):
                return None
            fast[v] = fast.get(v, frozenset()) | {u for u, _ in new}
            ever = ever | set(new)
            if fast[v] == self.before[v]:
                done = done | {v}
        if len(fast) > self.M:
            return None
        return PartialState(frozenset(fast.items()), frozenset(slow.items()), ever, done)

    def is_finished(self, state):
        computed = state.done | self.given
        blue = {v for v, operands in state.slow if operands == self.before[v]}
        wanted = computed if self.rules.unstored_outputs else blue
        is_complete = computed == self.everything or not self.rules.complete
        return self.outputs <= wanted and is_complete

    def repeats(self, state, number):
        if number >= len(self.everything):
            return self.edges[number - len(self.everything)] in state.ever
        return number in state.done or any(v == number for _, v in state.ever)


def model_of(dag: Dag, M: int, rules: Rules) -> Model:
    return (PartialModel if rules.partial else Model)(dag, M, rules)


def wander(model: Model, length: int, seed: int, wild: float) -> list[tuple[int, int]]:
    """A random play; each move is with probability ``wild`` any move, otherwise a legal one."""
    rng, state, moves = random.Random(seed), model.start, []  # noqa: S311
    for _ in range(length):
        legal = list(model.moves(state))
        if rng.random() < wild or not legal:
            kind, v = rng.randrange(4), rng.randrange(len(model.numbers) + 1)
            after = model.after(state, kind, v)
        else:
            # Deletes are as many as red vertices; without weights they would undo every plan.
            weights = [1 if kind == DELETE else 3 for kind, _, _ in legal]
            kind, v, after = rng.choices(legal, weights)[0]
        moves.append((kind, v))
        if after is None:
            break
        state = after
    return moves


def careful_play(dag: Dag, rules: Rules, vertices: Collection[int]) -> list[tuple[int, int]]:
    """A legal play with the least M under any rules: every value is stored and fetched again."""
    moves = []
    for v in dag.order.tolist():
        operands = dag.operands(v).tolist()
        if v not in vertices or (v in dag.inputs.tolist() and not rules.free_inputs):
            continue
        if rules.partial and operands:
            first = len(dag) + int(dag.indptr[v])
            for edge, u in enumerate(operands, first):
                moves += [(LOAD, u), *([(STORE, u)] if rules.moving_loads else [])]
                moves += [(COMPUTE, edge), (DELETE, u)]
            moves += [(STORE, v), (DELETE, v)]
            continue
        moves += [(LOAD, u) for u in operands]
        if rules.moving_loads:  # keep a blue pebble of everything
            moves += [(STORE, u) for u in operands]
        moves.append((COMPUTE, v))
        gone = operands[:1] if rules.sliding else []
        moves += [(DELETE, u) for u in gone]
        moves.append((STORE, v))
        moves += [(DELETE, u) for u in [v, *operands] if u not in gone]
    return moves


@st.composite
def dags(draw: st.DrawFn, most: int = 8) -> Dag:
    """Small DAGs with constants, isolated vertices, and outputs that are inputs or inner."""
    size = draw(st.integers(1, most))
    rows = [
        draw(st.lists(st.integers(0, v - 1), max_size=3, unique=True)) if v else []
        for v in range(size)
    ]
    operations = [1 if row else draw(st.sampled_from([0, 0, 0, 1])) for row in rows]
    outputs = draw(st.none() | st.lists(st.integers(0, size - 1), max_size=3, unique=True))
    # Numbered at random, so that order and numbers differ.
    number = draw(st.permutations(range(size)))
    place = {new: old for old, new in enumerate(number)}
    return Dag.from_predecessors(
        [[number[u] for u in rows[place[v]]] for v in range(size)],
        None if outputs is None else [number[v] for v in outputs],
        operations=[operations[place[v]] for v in range(size)],
    )
