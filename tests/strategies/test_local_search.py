"""Local search: never worse than its starts, refereed, near the known optima, reproducible."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.registry import GivenDag, workload
from pebble.dag import Dag
from pebble.errors import BudgetError, SpecError
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, Rules
from strategies.any_dag import least_memory
from strategies.eviction import cost_of_order
from strategies.local_search import LocalSearch, local_search
from strategies.orders import construction, depth_first
from strategies.registry import strategy
from tests.strategies.random_dags import random_dags
from tests.strategies.table import optima


@pytest.mark.parametrize("rules", [ONE_SHOT, HK], ids=str)
def test_near_the_optima_in_its_defaults(rules: Rules) -> None:
    ratios = []
    for row in optima():
        if row.one_shot != rules.one_shot:
            continue
        w = workload(row.text)
        how = strategy("local-search").under(rules)
        io = referee(w.dag(), how.moves(w, row.memory), row.memory, rules).io
        assert io >= row.io, row  # nothing beats an optimum
        ratios.append(io / row.io)
    assert len(ratios) > 30
    assert np.mean(ratios) <= 1.02
    assert max(ratios) <= 1.26


@settings(max_examples=40, deadline=None)
@given(random_dags(), st.integers(0, 3), st.booleans(), st.integers(1, 9))
def test_refereed_and_no_worse_than_its_starts(
    dag: Dag, more: int, recompute: bool, seed: int
) -> None:
    memory = dag.least_memory + more
    found = local_search(dag, memory, recompute=recompute, steps=300, seed=seed)
    report = referee(dag, found.moves(), memory, HK if recompute else ONE_SHOT)
    assert report.io == found.io <= found.start
    starts = [
        cost_of_order(dag, order, memory, rule).io
        for order in (construction(dag), depth_first(dag))
        for rule in ("belady", "cost-aware")
    ]
    assert found.start == min(starts)


def test_steps_are_reproducible_and_more_are_no_worse() -> None:
    dag = workload("pyramid:h=12").dag()
    first = local_search(dag, 6, steps=4000, seed=5)
    again = local_search(dag, 6, steps=4000, seed=5)
    assert first.io == again.io
    assert np.array_equal(first.sequence, again.sequence)
    assert local_search(dag, 6, steps=0).io == first.start
    assert first.io < first.start


def test_time_budget_and_progress() -> None:
    dag = workload("fft:n=64").dag()
    shares: list[float] = []
    bests: list[int] = []

    def note(share: float, best: int) -> None:
        shares.append(share)
        bests.append(best)

    local_search(dag, 4, steps=1)  # compiled by now
    started = time.monotonic()
    found = local_search(dag, 4, seconds=0.5, progress=note)
    assert 0.4 < time.monotonic() - started < 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert bests == sorted(bests, reverse=True)
    assert bests[-1] == found.io < found.start


def test_starts_from_given_orders() -> None:
    w = workload("fft:n=256")
    dag = w.dag()
    blocked = w.blocked_order(10)
    found = local_search(dag, 10, orders=[blocked], steps=100)
    assert found.start == cost_of_order(dag, blocked, 10).io
    # The strategy knows the workload's own order.
    assert referee(dag, LocalSearch(steps=10).moves(w, 10), 10).io <= found.start


def test_recomputation_alone_keeps_the_order() -> None:
    dag = workload("grid:rows=4,columns=4").dag()
    order = construction(dag)
    kept = local_search(dag, 4, orders=[order], reorder=False, recompute=True, steps=4000)
    once: list[int] = []
    for v in kept.sequence.tolist():
        if v not in once:
            once.append(v)
    assert once == order.tolist()
    assert kept.io < kept.start


def test_stops_at_enough() -> None:
    dag = workload("pyramid:h=6").dag()
    assert local_search(dag, 8, seconds=60).seconds < 30  # compulsory moves alone: nothing to gain
    loose = local_search(dag, 4, seconds=60, enough=200)
    assert (loose.io, loose.seconds < 30) == (loose.start, True)


def test_text_form_and_mistakes() -> None:
    text = "local-search:seed=3,steps=500,time=0.5,recompute=yes"
    assert str(strategy(text)) == text
    assert strategy(text).recomputes(workload("pyramid:h=2"))
    pyramid = workload("pyramid:h=2")
    assert strategy("local-search").recomputes(pyramid)
    assert not strategy("local-search").under(ONE_SHOT).recomputes(pyramid)
    assert strategy("local-search:recompute=yes").under(ONE_SHOT).recomputes(pyramid)
    for wrong in ("time=0", "time=nan", "time=inf", "recompute=maybe", "seed=0", "steps=-1"):
        with pytest.raises(SpecError):
            strategy(f"local-search:{wrong}")
    dag = workload("pyramid:h=3").dag()
    with pytest.raises(BudgetError, match="M >= 3"):
        local_search(dag, 2)
    with pytest.raises(SpecError, match="positive number of seconds"):
        local_search(dag, 3, seconds=0)
    with pytest.raises(SpecError, match="give one"):
        local_search(dag, 3, reorder=False)
    with pytest.raises(SpecError, match="twice"):
        local_search(dag, 3, orders=[[4, 4]])


def test_wide_vertices() -> None:
    """A sum of many operands does not make the search's arrays large."""
    rows = [[] for _ in range(3000)] + [list(range(3000))]
    found = local_search(Dag.from_predecessors([*rows, [3000]]), 3001, recompute=True, steps=50)
    assert found.io == 3001


def test_least_memory_without_a_dag() -> None:
    assert least_memory(workload("matmul:m=100000,n=100000,k=100000")) == 3
    assert least_memory(workload("tree:depth=2,arity=5")) == 6
    assert least_memory(GivenDag(Dag.from_predecessors([[]]))) == 1


def test_a_repeated_computation_loses_no_other():
    # Once, pushing a vertex that stood twice overwrote what came after it: dX was never computed.
    what = workload("attention-gradient:n=2,d=1,form=as24")
    for memory in (7, 8, 9, 10):
        for seed in (1, 2, 3):
            moves = LocalSearch(recompute="yes", seed=seed, steps=20000).moves(what, memory)
            referee(what.dag(), moves, memory)
