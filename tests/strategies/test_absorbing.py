"""Schedules for any DAG under partial computation: refereed, and PSY25's trees at their optimum."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab
from graphs.registry import workload
from pebble.errors import BudgetError, UnknownNameError
from pebble.machine import evaluate, execute, random_inputs
from pebble.referee import referee
from pebble.rules import PRBP
from strategies.absorbing import schedule_edges
from strategies.eviction import EVICTIONS
from strategies.orders import construction, depth_first
from tests.strategies.random_dags import random_dags


@settings(max_examples=40, deadline=None)
@given(random_dags(), st.sampled_from(sorted(EVICTIONS)), st.integers(2, 6))
def test_refereed(dag, eviction, memory):
    for order in (construction(dag), depth_first(dag)):
        report = referee(dag, schedule_edges(dag, order, memory, eviction), memory, PRBP)
        assert report.recomputes == 0


@pytest.mark.parametrize("depth", [2, 3, 4, 7])
def test_binary_trees_at_their_published_optimum(depth):
    """2^t + 2 * 2^(t-2) - 1 at M = 3."""
    report = lab.play(f"tree:depth={depth}", "cost-aware", 3, "prbp")
    assert report.io == 2**depth + 2 ** (depth - 1) - 1


def test_two_pebbles_suffice_and_one_does_not():
    assert lab.play("tree:depth=3", "belady", 2, "prbp").peak_red == 2
    with pytest.raises(BudgetError) as caught:
        lab.play("tree:depth=3", "belady", 1, "prbp")
    assert caught.value.least == 2
    with pytest.raises(BudgetError):
        lab.play("tree:depth=3", "belady", 2)
    with pytest.raises(UnknownNameError):
        list(schedule_edges(workload("fft:n=4").dag(), [], 3, "fifo"))


def test_numbers():
    dag = workload("attention-forward:n=4,d=2").dag()
    inputs = random_inputs(dag, 1)
    slow = execute(dag, schedule_edges(dag, depth_first(dag), 5), inputs, partial=True)
    wanted = evaluate(dag, inputs)[dag.outputs]
    assert slow[dag.outputs] == pytest.approx(wanted, rel=1e-12)
