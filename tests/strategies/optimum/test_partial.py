"""The optimum under partial computation: the published values, and an independent search."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from graphs.registry import workload
from pebble.dag import Dag
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, PRBP, Rules
from strategies.optimum.solver import solve

_spec = util.spec_from_file_location("optimum_brute_partial", Path(__file__).with_name("brute.py"))
brute = util.module_from_spec(_spec)
_spec.loader.exec_module(brute)


def tree(arity: int, depth: int) -> Dag:
    """The complete in-tree: every vertex that is no leaf has ``arity`` operands."""
    rows: list[list[int]] = [[] for _ in range(arity**depth)]
    level = list(range(len(rows)))
    while len(level) > 1:
        groups = [level[i : i + arity] for i in range(0, len(level), arity)]
        level = list(range(len(rows), len(rows) + len(groups)))
        rows += groups
    return Dag.from_predecessors(rows)


def matrix_vector(m: int) -> Dag:
    """m*m products of an entry and a coordinate, and m sums of m products, each one vertex."""
    rows: list[list[int]] = [[] for _ in range(m * m + m)]
    rows += [[i * m + j, m * m + j] for i in range(m) for j in range(m)]
    first = m * m + m
    rows += [[first + i * m + j for j in range(m)] for i in range(m)]
    return Dag.from_predecessors(rows)


#: Papp, Sobczyk and Yzelman's graphs: M, the optimum of the usual game, with partial computation.
VALUES = [
    (tree(2, 2), 3, 7, 5),
    (tree(2, 3), 3, 15, 11),
    (tree(3, 2), 4, 14, 10),
    (matrix_vector(2), 3, 13, 9),
    (matrix_vector(2), 4, 9, 8),
    (matrix_vector(2), 5, 8, 8),
    (matrix_vector(3), 6, 17, 15),
    (matrix_vector(3), 7, 15, 15),
]


@pytest.mark.parametrize(("dag", "memory", "usual", "partial"), VALUES)
def test_published_values(dag, memory, usual, partial):
    for rules, value in ((ONE_SHOT, usual), (PRBP, partial)):
        found = solve(dag, memory, rules)
        assert found.finished
        assert found.upper == value == referee(dag, found.moves, memory, rules).io
    assert found.method == "edge by edge"


@pytest.mark.parametrize(("arity", "depth"), [(2, 2), (2, 3)])
def test_the_formula_for_trees(arity, depth):
    """k^t + 2 k^(t-k) - 1 for M = k + 1 and depth t >= k."""
    value = arity**depth + 2 * arity ** (depth - arity) - 1
    assert solve(tree(arity, depth), arity + 1, PRBP).upper == value


def agree(seeds, names, most):
    helped = 0
    for seed in seeds:
        dag, extra = brute.random_dag(seed, most)
        for name in names:
            rules = Rules.parse(name)
            memory = max(1, rules.least_memory(dag)) + extra
            found = solve(dag, memory, rules)
            assert found.finished
            assert found.upper == brute.least_cost_partial(dag, memory, rules), (seed, name)
            assert referee(dag, found.moves, memory, rules).io == found.upper
            if rules in (PRBP, Rules(partial=True)) and memory >= dag.least_memory:
                usual = solve(dag, memory, ONE_SHOT if rules.one_shot else HK)
                assert found.upper <= usual.upper
                helped += found.upper < usual.upper
    return helped


BY_EDGES = ["prbp", "prbp+free-inputs", "prbp+unstored-outputs", "prbp+complete"]
BY_MOVES = ["hk+partial", "hk+partial+moving-loads", "prbp+no-deletion", "prbp+moving-loads"]
BY_MOVES += ["hk+partial+free-inputs", "hk+partial+complete", "hk+partial+unstored-outputs"]


def test_brute_force_agrees():
    agree(range(15), BY_EDGES, 5)
    agree(range(20, 28), BY_MOVES, 5)


@pytest.mark.slow
def test_brute_force_agrees_on_hundreds_of_graphs():
    assert agree(range(1000, 1300), [*BY_EDGES, *BY_MOVES], 5) > 0


def test_stopped_searches_give_intervals():
    dag = workload("fft:n=8").dag()
    found = solve(dag, 4, PRBP, time=0.2)
    assert (found.finished, found.stopped_by) == (False, "time")
    assert 16 <= found.lower <= found.upper == referee(dag, found.moves, 4, PRBP).io
    grid = workload("grid:rows=3,columns=3").dag()
    found = solve(grid, 3, Rules(partial=True), memory_limit=400_000)
    assert (found.finished, found.stopped_by) == (False, "memory")
    assert found.lower <= found.upper
