"""The rules as values: the published table, and an independent search under every rule set."""

from __future__ import annotations

from fractions import Fraction
from importlib import util
from pathlib import Path

import pytest

from graphs.registry import workload
from pebble.dag import Dag
from pebble.referee import referee
from pebble.rules import GRAPHIO, HK, ONE_SHOT, PRESETS, Rules
from strategies.optimum.solver import is_compiled, solve

# Tests are no package: the brute force stands in the file beside this one.
_spec = util.spec_from_file_location("optimum_brute", Path(__file__).with_name("brute.py"))
brute = util.module_from_spec(_spec)
_spec.loader.exec_module(brute)

COLUMNS = [
    "one-shot", "hk", "hk+sliding", "hk+unstored-outputs", "one-shot+free-inputs",
    "hk+free-inputs", "graphio", "hk+free-inputs+unstored-outputs",
]  # fmt: skip
TABLE = {
    ("matmul:m=2,n=2,k=2", 4): [17, 17, 14, 13, 12, 4, 8, 0],
    ("fft:n=4", 3): [14, 14, 12, 10, 10, 8, 6, 4],
    ("fft:n=4", 4): [11, 11, 10, 7, 8, 4, 4, 0],
    ("pyramid:h=4", 3): [18, 18, 10, 17, 13, 11, 12, 10],
    ("pyramid:h=4", 4): [10, 10, 8, 9, 5, 5, 4, 4],
    ("tree:depth=3", 3): [15, 15, 11, 14, 7, 7, 6, 6],
    ("grid:rows=4,columns=4", 3): [14, 11, 4, 10, 13, 8, 12, 7],
}
COMPILED = [
    *COLUMNS, "one-shot+sliding", "one-shot+unstored-outputs", "one-shot+complete",
    "hk+free-inputs+sliding", "graphio+sliding", "one-shot+compute-price=1/3",
]  # fmt: skip
RULEWISE = [
    "hk+moving-loads", "one-shot+moving-loads", "hk+no-deletion", "one-shot+no-deletion",
    "hk+compute-price=1/2", "hk+complete", "hk+no-deletion+sliding+moving-loads",
]  # fmt: skip


def test_columns_are_the_presets():
    assert set(COLUMNS) == set(PRESETS) - {"prbp"}  # which the table has no column for


#: The rows of the table that take seconds.
LONG = {("grid:rows=4,columns=4", 3), ("pyramid:h=4", 3)}


@pytest.mark.parametrize(
    ("text", "memory"),
    [pytest.param(*row, marks=[pytest.mark.slow] if row in LONG else []) for row in TABLE],
)
def test_what_the_rules_change(text, memory):
    dag = workload(text).dag()
    found = [solve(dag, memory, Rules.parse(rules)) for rules in COLUMNS]
    assert [solution.upper for solution in found] == TABLE[text, memory]
    assert all(solution.finished for solution in found)
    assert (
        solve(workload("grid:rows=4,columns=4").dag(), 3, Rules.parse("one-shot+sliding")).upper
        == 6
    )


@pytest.mark.parametrize(
    ("text", "io"), [("fft:n=2", 5), ("fft:n=4", 17), ("matmul:m=2,n=2,k=2", 25)]
)
def test_two_pebbles_suffice_with_sliding(text, io):
    assert solve(workload(text).dag(), 2, Rules.parse("hk+sliding")).upper == io


@pytest.mark.slow
def test_values_published_by_graphio():
    dag = workload("fft:n=8").dag()
    assert [solve(dag, memory, GRAPHIO).upper for memory in (4, 5, 6)] == [15, 11, 8]


def test_s5_needs_recomputation():
    dag = Dag.from_predecessors([[], [0], [0, 1], [0, 2], [1, 3]])
    assert solve(dag, 3, ONE_SHOT).upper == 4
    found = solve(dag, 3, HK)
    assert found.upper == 2
    assert found.report.recomputes > 0


def agree(seeds, names, most):
    for seed in seeds:
        dag, extra = brute.random_dag(seed, most)
        for name in names:
            rules = Rules.parse(name)
            memory = max(1, rules.least_memory(dag)) + extra
            found = solve(dag, memory, rules)
            assert found.finished
            assert found.lower == found.upper == brute.least_cost(dag, memory, rules), (seed, name)
            report = referee(dag, found.moves, memory, rules)
            assert report.io + rules.compute_price * report.computes == found.upper


def test_brute_force_agrees_under_compiled_rules():
    assert all(is_compiled(Rules.parse(name)) for name in COMPILED)
    agree(range(100), COMPILED, 6)


def test_brute_force_agrees_under_the_other_rules():
    assert not any(is_compiled(Rules.parse(name)) for name in RULEWISE)
    agree(range(100), RULEWISE, 5)


@pytest.mark.slow
def test_brute_force_agrees_on_hundreds_of_graphs_under_each_rule_set():
    agree(range(1000, 1300), COMPILED + RULEWISE, 6)
    agree(range(2000, 2100), ["one-shot", "hk", "one-shot+sliding", "one-shot+free-inputs"], 9)


def test_a_price_per_compute_is_part_of_the_cost():
    dag = workload("pyramid:h=2").dag()
    assert solve(dag, 4, Rules.parse("one-shot+compute-price=1/2")).upper == 4 + Fraction(3, 2)
