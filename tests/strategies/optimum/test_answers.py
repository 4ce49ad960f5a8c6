"""What `solve` answers: intervals when stopped, bad input, and graphs with nothing to do."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.registry import GivenDag, workload
from pebble.dag import Dag
from pebble.errors import BudgetError, GraphError, SpecError
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, Rules
from strategies.optimum import symmetry
from strategies.optimum.instance import Instance
from strategies.optimum.solver import solve
from strategies.registry import RefusalError, strategy

# -- stopped searches ----------------------------------------------


@pytest.mark.parametrize(
    ("text", "memory", "rules", "value"),
    [
        ("grid:rows=4,columns=4", 3, HK, 11),
        ("matmul:m=3,n=3,k=2", 4, ONE_SHOT, 37),
        ("fft:n=8", 5, HK, 26),
        ("pyramid:h=3", 3, Rules.parse("hk+no-deletion"), None),
    ],
)
def test_the_interval_of_a_stopped_search_holds_the_optimum(text, memory, rules, value):
    dag = workload(text).dag()
    found = solve(dag, memory, rules, time=1e-3)
    if value is None:
        value = solve(dag, memory, rules).upper
    assert found.lower <= value <= found.upper
    assert found.finished == (found.lower == found.upper)
    assert found.stopped_by == ("" if found.finished else "time")
    assert referee(dag, found.moves, memory, rules).io == found.upper


def test_a_memory_ceiling_stops_with_an_interval():
    dag = workload("grid:rows=4,columns=4").dag()
    found = solve(dag, 3, HK, memory_limit=100_000)
    assert (found.finished, found.stopped_by) == (False, "memory")
    assert found.lower <= 11 <= found.upper
    slow = solve(dag, 3, Rules.parse("hk+moving-loads"), memory_limit=100_000)
    assert (slow.finished, slow.stopped_by) == (False, "memory")
    assert slow.lower <= slow.upper == slow.report.io


def test_intervals_only_narrow_with_time():
    dag = workload("attention-forward:n=2,d=2").dag()
    short, longer = (solve(dag, 4, HK, time=seconds) for seconds in (0.2, 2.0))
    assert short.lower <= longer.upper
    assert longer.lower <= short.upper
    assert longer.stopped_by in ("", "time")


def test_progress_is_told_the_number_of_states():
    seen = []
    found = solve(workload("grid:rows=4,columns=4").dag(), 3, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == found.states > 1000


@pytest.mark.parametrize("limits", [{"time": 0}, {"time": -1.0}, {"memory_limit": 0}])
def test_limits_must_be_positive(limits):
    with pytest.raises(SpecError, match="positive"):
        solve(workload("pyramid:h=2").dag(), 3, **limits)


# -- graphs at the edge ----------------------------------------------


@pytest.mark.parametrize("rules", [HK, ONE_SHOT, Rules.parse("hk+moving-loads")], ids=str)
@pytest.mark.parametrize(
    ("rows", "outputs", "io"),
    [
        ([[]], None, 0),  # one isolated input
        ([[]], [0], 0),  # an output that is an input is blue already
        ([[], []], [0, 1], 0),
        ([[], [0]], [], 0),  # nothing is wanted
        ([[], [0]], [0, 1], None),  # an output that is an input and an operand
        ([[], [], [0]], None, 2),  # vertex 1 is isolated
        ([[], [0], [0]], [1], 2),  # vertex 2 is not needed
    ],
)
def test_graphs_with_little_to_do(rows, outputs, io, rules):
    dag = Dag.from_predecessors(rows, outputs)
    found = solve(dag, 2, rules)
    if io is None:
        io = 3 if rules.moving_loads else 2  # a load that moves the pebble asks for a store again
    assert found.finished
    assert found.upper == io == referee(dag, found.moves, 2, rules).io


def test_constants_are_computed_from_nothing():
    dag = Dag.from_predecessors([[], [], [0, 1]], operations=[1, 0, 1])
    assert solve(dag, 3).upper == 2  # one load, one store


def test_no_vertices_is_no_graph():
    with pytest.raises(GraphError):
        Dag.from_predecessors([])


def test_too_few_pebbles_name_the_least():
    dag = Dag.from_predecessors([[], [], [], [0, 1, 2]])
    for memory in (0, 3):
        with pytest.raises(BudgetError) as error:
            solve(dag, memory)
        assert error.value.least == 4
    assert solve(dag, 4).upper == 4
    assert solve(dag, 10**12).upper == 4


def test_too_large_a_graph_is_refused():
    with pytest.raises(GraphError, match="at most 2,048"):
        solve(workload("tree:depth=11").dag(), 3)


def test_a_large_graph_gives_an_interval():
    dag = workload("matmul:m=5,n=5,k=5").dag()
    found = solve(dag, 8, time=0.5)
    assert found.lower >= 75
    assert found.lower <= found.upper
    assert found.report.io == found.upper


# -- symmetry ----------------------------------------------


@pytest.mark.parametrize(
    ("text", "order"),
    # 2x2x2: rows, columns and the two summands. FFT-4: outputs and inputs with the same partners
    # are twins, left in place. Matrix products of 3x3x2: 3! 3! 2, and the transpose.
    [
        ("pyramid:h=5", 2),
        ("matmul:m=2,n=2,k=2", 16),
        ("matmul:m=3,n=3,k=2", 144),
        ("fft:n=8", 1024),
    ],
)
def test_groups_are_found_and_are_automorphisms(text, order):
    instance = Instance(workload(text).dag(), 5, HK)
    group = symmetry.automorphisms(instance)
    assert len(group) == len(np.unique(group, axis=0)) == order
    assert group[0].tolist() == list(range(instance.size))
    for row in group:
        for v, operands in enumerate(instance.operands):
            assert {int(row[u]) for u in operands} == set(instance.operands[row[v]])


# -- the strategy ----------------------------------------------


def test_the_strategy_plays_the_certificate():
    grid = workload("grid:rows=3,columns=3")
    for text, io in (("optimal", 5), ("optimal:rules=one-shot", 6)):
        moves = strategy(text).moves(grid, 3)
        assert referee(grid.dag(), moves, 3, Rules.parse("hk" if io == 5 else "one-shot")).io == io
    mine = GivenDag(Dag.from_predecessors([[], [0], [0, 1], [0, 2], [1, 3]]), "s5")
    assert referee(mine.dag(), strategy("optimal").moves(mine, 3), 3).io == 2


def test_the_strategy_refuses_what_it_cannot_finish():
    big = workload("matmul:m=1000000,n=9,k=9")
    assert "local-search" in strategy("optimal").refusal(big)
    with pytest.raises(RefusalError, match="at most 64"):
        next(strategy("optimal").moves(workload("pyramid:h=12"), 3))
    with pytest.raises(RefusalError, match=r"lies between \d+ and \d+"):
        next(strategy("optimal:time=1").moves(workload("attention-forward:n=3,d=1"), 4))
