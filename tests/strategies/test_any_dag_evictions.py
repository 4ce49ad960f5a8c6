"""Order x eviction: refereed plays against an independent, slow simulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.registry import GivenDag, workload
from pebble.dag import Dag
from pebble.errors import BudgetError, SpecError, UnknownNameError
from pebble.operations import INPUT
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT
from strategies.eviction import EVICTIONS, Cost, cost_of_order, schedule_order
from strategies.orders import check_order, construction, depth_first, order_of, read_order
from strategies.registry import RefusalError, strategies, strategy
from tests.strategies.random_dags import random_dags


def simulate(dag: Dag, order: list[int], memory: int, eviction: str) -> Cost:
    """Count an order's loads and stores with sets and full scans, one rule after the other."""
    red: set[int] = set()
    blue = set(dag.inputs.tolist())
    outputs = set(dag.outputs.tolist())
    uses = [dag.operands(v).tolist() for v in order]
    touched: dict[int, int] = {}
    loads = stores = 0

    def next_use(u: int, t: int) -> float:
        for s in range(t, len(order)):
            if u in uses[s]:
                return s
            if order[s] == u:
                break
        return float("inf")

    def victim(t: int, busy: set[int]) -> int:
        def rank(u: int) -> tuple[float, ...]:
            distance, clean = next_use(u, t), u in blue
            if eviction == "belady":
                return (distance, clean, u)
            if eviction == "cost-aware":
                # Within one class the furthest leaves; between the classes, distance over cost.
                return ((distance - t) / (1 if clean else 2), clean, u)
            if eviction == "clean-first":
                return (clean, distance, u)
            return (-touched[u], clean, u)

        return max(red - busy, key=rank)

    for t, v in enumerate(order):
        operands = uses[t]
        for u in operands:
            touched[u] = t
        missing = [u for u in operands if u not in red]
        while len(red) + len(missing) + 1 > memory:
            u = victim(t, set(operands))
            stores += u not in blue
            blue.add(u)
            red.remove(u)
        red.update(missing)
        loads += len(missing)
        assert blue.issuperset(missing)
        red.add(v)
        touched[v] = t
        assert len(red) <= memory
        if v in outputs and v not in blue:
            stores += 1
            blue.add(v)
        red = {u for u in red if next_use(u, t + 1) < float("inf")}
    return Cost(loads, stores)


@settings(max_examples=60, deadline=None)
@given(random_dags(), st.sampled_from(sorted(EVICTIONS)), st.integers(0, 3), st.integers(0, 99))
def test_refereed_and_as_simulated(dag: Dag, eviction: str, more: int, seed: int) -> None:
    memory = dag.least_memory + more
    for order in (construction(dag), depth_first(dag), depth_first(dag, seed)):
        report = referee(dag, schedule_order(dag, order, memory, eviction), memory, ONE_SHOT)
        cost = simulate(dag, order.tolist(), memory, eviction)
        assert (report.loads, report.stores) == (cost.loads, cost.stores)
        assert cost_of_order(dag, order, memory, eviction) == cost
        assert report.computes == np.count_nonzero(dag.needed & (dag.operations != INPUT))


@settings(max_examples=60, deadline=None)
@given(random_dags(14), st.sampled_from(sorted(EVICTIONS)), st.data())
def test_sequences_that_compute_again(dag: Dag, eviction: str, data: st.DataObject) -> None:
    order = depth_first(dag).tolist()
    for _ in range(3):
        at = data.draw(st.integers(1, len(order)))
        order.insert(at, data.draw(st.sampled_from(order[:at])))
    memory = dag.least_memory + 1
    report = referee(dag, schedule_order(dag, order, memory, eviction), memory, HK)
    cost = simulate(dag, order, memory, eviction)
    assert (report.loads, report.stores) == (cost.loads, cost.stores)
    assert report.recomputes == 3


def test_chunks_join() -> None:
    """Moves are the same however they are cut."""
    from strategies import eviction

    dag = workload("fft:n=64").dag()
    whole = np.concatenate(list(schedule_order(dag, construction(dag), 8)))
    old, eviction._CHUNK = eviction._CHUNK, 50
    try:
        pieces = list(schedule_order(dag, construction(dag), 8))
    finally:
        eviction._CHUNK = old
    assert len(pieces) > 50
    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize(
    ("text", "memory", "io"),
    [
        # Passes of sub-butterflies that fit: every stage pair costs n loads and n stores.
        ("fft:n=64", 6, 2 * 64 * 3),
        ("fft:n=4096", 18, 2 * 4096 * 3),
        # One strip: the grid's two compulsory moves.
        ("grid:rows=5,columns=100", 6, 2),
        # Square tiles of b = 4: 2 mnk / b + mn.
        ("matmul:m=16,n=16,k=8", 23, 2 * 16 * 16 * 8 // 4 + 16 * 16),
    ],
)
def test_recursive_orders(text: str, memory: int, io: int) -> None:
    w = workload(text)
    moves = strategy("belady:order=recursive").moves(w, memory)
    measured = referee(w.dag(), moves, memory, ONE_SHOT).io
    assert measured <= io
    assert measured > 0.9 * io


@pytest.mark.parametrize("memory", [3, 4, 5, 6, 9, 30])
@pytest.mark.parametrize(
    "text",
    ["fft:n=2", "fft:n=8", "pyramid:h=1", "pyramid:h=7", "grid:rows=3,columns=7",
     "grid:rows=7,columns=2", "matmul:m=3,n=4,k=1", "matmul:m=3,n=4,k=2", "matmul:m=5,n=4,k=5"],
)  # fmt: skip
def test_recursive_orders_are_orders(text: str, memory: int) -> None:
    w = workload(text)
    dag = w.dag()
    order = order_of("recursive", w, dag, memory)  # checks it
    assert order.size == len(dag) - dag.inputs.size


def test_strategies_and_their_texts() -> None:
    known = {cls.name: cls for cls in strategies()}
    for name in EVICTIONS:
        assert known[name].any_dag
        assert str(strategy(f"{name}:order=construction")) == f"{name}:order=construction"
        assert str(strategy(name)) == name
    w = workload("matmul:m=3,n=3,k=3")
    assert strategy("belady").least_memory(w) == 3
    assert not strategy("belady").recomputes(w)
    with pytest.raises(BudgetError, match="needs M >= 3"):
        strategy("lru").moves(w, 2)
    with pytest.raises(RefusalError, match="no recursive order"):
        list(strategy("lru:order=recursive").moves(workload("tree:depth=2"), 3))
    with pytest.raises(UnknownNameError, match="belady"):
        cost_of_order(w.dag(), construction(w.dag()), 3, "beladi")


def test_order_files(tmp_path) -> None:
    w = workload("pyramid:h=2")
    dag = w.dag()
    path = tmp_path / "order.txt"
    path.write_text("# mine\nrow1[1]\n3\n\nrow2[0]  # last\n")
    assert read_order(path, dag).tolist() == [4, 3, 5]
    report = referee(dag, strategy(f"belady:order={path}").moves(w, 3), 3)
    assert report.io == 6
    path.write_text("row1[1]\nrow1[7]\n")
    with pytest.raises(SpecError, match="line 2"):
        read_order(path, dag)
    with pytest.raises(SpecError, match="expected construction, depth-first, recursive or a file"):
        order_of("deep-first", w, dag, 3)


@pytest.mark.parametrize(
    ("order", "match"),
    [([3, 5, 4], "before its operand"), ([3, 4], "must be computed too"), ([3, 4, 4, 5], "twice"),
     ([3, 4, 6], "0 to 5"), ([[3], [4]], "list of vertex numbers"), ([], "and 2 more")],
)  # fmt: skip
def test_orders_that_are_none(order: list[int], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        check_order(workload("pyramid:h=2").dag(), order)


def test_inputs_and_unneeded_vertices_in_an_order() -> None:
    dag = Dag.from_predecessors([[], [0], [0], [1]], outputs=[3])
    assert check_order(dag, [0, 2, 1, 3]).tolist() == [2, 1, 3]
    assert construction(dag).tolist() == depth_first(dag).tolist() == [1, 3]


@pytest.mark.parametrize("name", ["belady", "cost-aware", "clean-first", "lru", "local-search"])
@pytest.mark.parametrize(
    ("rows", "outputs", "memory", "io"),
    [
        ([[]], None, 1, 0),  # one isolated input: nothing to do
        ([[], [0]], None, 2, 2),
        ([[], [0], []], [0, 1], 2, 2),  # an output that is an input is blue already
        ([[], []], [0, 1], 1, 0),
        ([[]] * 40 + [list(range(40))], None, 41, 41),  # M must hold a whole in-degree
    ],
)
def test_smallest_graphs(name: str, rows, outputs, memory: int, io: int) -> None:
    dag = Dag.from_predecessors(rows, outputs)
    w = GivenDag(dag)
    assert strategy(name).least_memory(w) == memory
    assert referee(dag, strategy(name).moves(w, memory), memory, ONE_SHOT).io == io
    if memory > 1:
        with pytest.raises(BudgetError) as caught:
            list(strategy(name).moves(w, memory - 1))
        assert caught.value.least == memory


def test_vertices_computed_from_nothing() -> None:
    """A constant has no operands and is no input."""
    dag = Dag.from_predecessors([[], [], [0, 1]], operations=[1, 0, 1])
    report = referee(dag, strategy("belady").moves(GivenDag(dag), 3), 3, ONE_SHOT)
    assert (report.io, report.computes) == (2, 2)
