"""The best eviction of a fixed order, against a search over every eviction of it."""

from __future__ import annotations

import heapq
import random

import numpy as np
import pytest

from graphs.registry import workload
from pebble.dag import Dag
from pebble.errors import BudgetError, SpecError
from pebble.operations import INPUT
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, SLIDING, UNSTORED, Rules
from strategies.best_eviction import best_eviction, knows
from strategies.eviction import cost_of_order
from strategies.orders import construction, depth_first
from strategies.registry import RefusalError


def every_eviction(dag: Dag, sequence: list[int], memory: int, rules: Rules) -> int:
    """Return the least I/O of an order: all loads, stores and deletes are tried, one at a time."""
    given = {v for v in range(len(dag)) if dag.operations[v] == INPUT and not rules.free_inputs}
    outputs = frozenset() if rules.unstored_outputs else frozenset(dag.outputs.tolist()) - given
    start = (0, frozenset(), frozenset(given), -1)
    best = {start: 0}
    heap = [(0, 0, start)]
    tick = 0
    while heap:
        cost, _, state = heapq.heappop(heap)
        if cost > best[state]:
            continue
        t, red, blue, over = state
        if t == len(sequence) and outputs <= blue and over < 0:
            return cost
        found = []
        if over >= 0:
            found = [(0, (t, red - {u}, blue, -1)) for u in dag.operands(over).tolist()]
        else:
            for v in red:
                found.append((0, (t, red - {v}, blue, -1)))
                if v not in blue:
                    found.append((1, (t, red, blue | {v}, -1)))
            if len(red) < memory:
                found += [(1, (t, red | {v}, blue, -1)) for v in blue - red]
            if t < len(sequence):
                v = sequence[t]
                operands = frozenset(dag.operands(v).tolist())
                if operands <= red and v not in red:
                    if len(red) < memory:
                        found.append((0, (t + 1, red | {v}, blue, -1)))
                    elif rules.sliding and operands:
                        found.append((0, (t + 1, red | {v}, blue, v)))
        for price, after in found:
            if cost + price < best.get(after, 1 << 30):
                best[after] = cost + price
                tick += 1
                heapq.heappush(heap, (cost + price, tick, after))
    raise AssertionError("an order can be played")


def _random_order(rng: random.Random, rules: Rules) -> tuple[Dag, list[int]]:
    rows: list[list[int]] = [[] for _ in range(rng.randint(1, 3))]
    last = rng.randint(len(rows) + 1, 8)
    near = [range(max(0, v - 5), v) for v in range(len(rows), last)]
    rows += [rng.sample(row, min(len(row), rng.randint(1, 2))) for row in near]
    dag = Dag.from_predecessors(rows)
    first = 0 if rules.free_inputs else sum(not row for row in rows)
    left, sequence = list(range(first, len(rows))), []
    while left:
        v = rng.choice([v for v in left if not set(rows[v]) & set(left)])
        left.remove(v)
        sequence.append(v)
    if not rules.one_shot:
        for _ in range(rng.randint(0, 2)):  # computed again, any time after
            at = rng.randrange(len(sequence))
            sequence.insert(rng.randint(at + 1, len(sequence)), sequence[at])
    return dag, sequence


@pytest.mark.parametrize(
    "rules", [HK, ONE_SHOT, SLIDING, UNSTORED, Rules.parse("one-shot+free-inputs")], ids=str
)
def test_against_every_eviction(rules: Rules) -> None:
    rng = random.Random(7)  # noqa: S311
    for _ in range(16):
        dag, sequence = _random_order(rng, rules)
        memory = max(1, rules.least_memory(dag)) + rng.choice([0, 0, 1])
        found = best_eviction(dag, sequence, memory, rules)
        assert found.exact
        assert found.how == "exact"
        assert found.upper == every_eviction(dag, sequence, memory, rules)
        report = referee(dag, found.moves, memory, rules)
        assert report.io == found.upper
        assert (found.moves[found.moves >> 30 == 2] & ((1 << 30) - 1)).tolist() == sequence


def test_no_rule_of_eviction_is_the_best_on_every_order() -> None:
    dag = workload("fft:n=64").dag()
    order = construction(dag)
    found = best_eviction(dag, order, 8)
    rules = [cost_of_order(dag, order, 8, rule).io for rule in ("belady", "cost-aware")]
    assert found.exact
    assert found.upper < min(rules)
    assert referee(dag, found.moves, 8, ONE_SHOT).io == found.upper


def test_stopped_it_gives_an_interval() -> None:
    dag = workload("fft:n=64").dag()
    order = construction(dag)
    stopped = best_eviction(dag, order, 8, time=0.01)
    exact = best_eviction(dag, order, 8).upper
    assert stopped.lower <= exact <= stopped.upper
    assert referee(dag, stopped.moves, 8).io == stopped.upper


def test_edges() -> None:
    one = Dag.from_predecessors([[]])
    assert best_eviction(one, [], 1).upper == 0
    assert best_eviction(one, [0], 1, Rules.parse("hk+free-inputs")).upper == 0
    dag = workload("pyramid:h=3").dag()
    order = depth_first(dag)
    with pytest.raises(BudgetError, match="M >= 3"):
        best_eviction(dag, order, 2)
    with pytest.raises(SpecError, match="before it is computed"):
        best_eviction(dag, order[::-1], 3)
    moving = Rules.parse("hk+moving-loads")
    assert not knows(moving)
    with pytest.raises(RefusalError, match="moving-loads"):
        best_eviction(dag, order, 3, moving)
    assert np.array_equal(best_eviction(dag, order, 3).moves, best_eviction(dag, order, 3).moves)
