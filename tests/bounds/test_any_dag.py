"""No bound of any DAG exceeds what an exhaustive search, a table of optima or a play needs."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from bounds.any_dag import best_bound, bounds_of
from bounds.dag_bound import Problem
from bounds.decomposition import decomposition, grown_pieces
from bounds.first_output import first_output
from bounds.partition import span, spans
from bounds.wavefront import wavefront
from graphs.registry import workload
from pebble.dag import Dag
from pebble.errors import BudgetError
from pebble.referee import referee
from pebble.rules import GRAPHIO, HK, ONE_SHOT, Rules
from tests.bounds.brute_force import exact, least_io, random_dag, shuffled

RULES = ["hk", "one-shot"]
GRID = "grid:rows=4,columns=4"
VARIANTS = [
    "graphio",
    "hk+sliding",
    "one-shot+sliding",
    "hk+unstored-outputs",
    "one-shot+unstored-outputs",
    "hk+free-inputs",
    "one-shot+free-inputs",
    "hk+complete",
    "one-shot+complete",
    "one-shot+unstored-outputs+complete",
]
FAMILIES = {
    "pyramid": "pyramid:h={}",
    "tree": "tree:depth={}",
    "fft": "fft:n={}",
    "grid": "grid:rows={},columns={}",
    "matmul": "matmul:m={},n={},k={}",
    "attn": "attention-forward:n={},d={},softmax=early",
}


def table():
    path = Path(__file__).parents[1] / "data" / "optimal.csv"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        text = FAMILIES[row["dag"]].format(*re.findall(r"\d+", row["params"]))
        rules = ONE_SHOT if row["rules"] == "nore" else HK
        yield text, int(row["M"]), rules, int(row["optimal_io"])


def check(rng, rules, size):
    """Hold all bounds of one random DAG against the least I/O of it."""
    dag = shuffled(random_dag(rng, size), rng)
    memory = max(1, rules.least_memory(dag)) + int(rng.integers(0, 2))
    least = least_io(dag, memory, rules)
    found = bounds_of(dag, memory, rules, solver=exact)
    assert {bound.name for bound in found} >= {"compulsory", "first output", "decomposition"}
    for bound in found:
        assert bound.value <= least, f"{bound} exceeds {least}: {dag!r} M={memory}"
    # A single piece is the whole game, so that the reductions of the rules are exact, too.
    if not rules.sliding:
        assert next(bound for bound in found if bound.name == "decomposition").value == least
    problem = Problem.of(dag, memory, rules)
    for pieces in ((1,), (2,), (3,), (4,)):
        bound = decomposition(problem, exact, sizes=pieces)
        assert bound.value <= least, f"pieces of {pieces}: {bound} exceeds {least}: {dag!r}"


@pytest.mark.parametrize("rules", RULES)
def test_no_bound_exceeds_an_exhaustive_search(rules):
    rng = np.random.default_rng(5)
    for _ in range(80):
        check(rng, Rules.parse(rules), int(rng.integers(3, 7)))


@pytest.mark.parametrize("rules", VARIANTS)
def test_no_bound_exceeds_an_exhaustive_search_under_other_conventions(rules):
    rng = np.random.default_rng(6)
    for _ in range(25):
        check(rng, Rules.parse(rules), int(rng.integers(3, 7)))


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES + VARIANTS)
def test_no_bound_exceeds_an_exhaustive_search_on_many_graphs(rules):
    rng = np.random.default_rng(7)
    for _ in range(300):
        check(rng, Rules.parse(rules), int(rng.integers(3, 8)))


@pytest.mark.parametrize(("text", "memory", "rules", "least"), list(table()))
def test_no_bound_exceeds_an_optimum(text, memory, rules, least):
    for bound in bounds_of(workload(text).dag(), memory, rules):
        assert bound.value <= least
        assert bound.recomputation or rules.one_shot


def test_wavefront_is_false_where_vertices_are_computed_again():
    # Five values of one input, all used to get y and all again after it. Computed again they cost
    # nothing; computed once, three of them at least wait in slow memory while y is computed.
    values = [[0]] * 5
    first = [[1, 2], [6, 3], [7, 4], [8, 5]]
    second = [[9, 1], [10, 2], [11, 3], [12, 4], [13, 5]]
    dag = Dag.from_predecessors([[], *values, *first, *second])

    found = wavefront(Problem.of(dag, 4, ONE_SHOT))

    assert found.value == 2 + 2 * (4 - 1)
    assert not found.recomputation
    assert least_io(dag, 4, HK) == 2
    assert [bound.name for bound in bounds_of(dag, 4, HK)] == ["compulsory", "first output", "span"]


def test_optima_with_and_without_recomputation_differ():
    # Grids are the table's case: no bound for one-shot may be held against the row of hk.
    optimum = {rules: io for text, M, rules, io in table() if (text, M) == (GRID, 3)}

    assert optimum == {HK: 11, ONE_SHOT: 14}
    assert wavefront(Problem.of(workload(GRID).dag(), 3, ONE_SHOT)).value == 6


@pytest.mark.parametrize(
    ("text", "strategy", "memory"),
    [
        ("attention-forward:n=8,d=2", "flash", 24),
        ("attention-forward:n=6,d=3", "naive", 4),
        ("attention-gradient:n=4,d=2", "naive", 4),
        ("matmul:m=6,n=6,k=6", "naive", 4),
        ("fft:n=64", "naive", 3),
        ("pyramid:h=12", "naive", 3),
    ],
)
def test_no_bound_exceeds_a_refereed_play(text, strategy, memory):
    from strategies.registry import strategy as named

    work = workload(text)
    dag = work.dag()
    io = referee(dag, named(strategy).moves(work, memory), memory).io

    assert best_bound(dag, memory).value <= io


@pytest.mark.parametrize("rules", RULES)
def test_a_time_budget_leaves_bounds_that_hold(rules):
    dag = workload("fft:n=64").dag()
    found = bounds_of(dag, 4, Rules.parse(rules), time=0.0, solver=exact)

    assert all(bound.value >= 128 for bound in found if bound.name != "span")
    assert not next(b for b in found if b.name == "decomposition").finished


def test_progress_is_told():
    heard = set()
    dag = workload("grid:rows=6,columns=6").dag()
    bounds_of(dag, 3, ONE_SHOT, progress=lambda name, part: heard.add((name, 0 <= part <= 1)))

    assert heard == {("spectral", True), ("wavefront", True)}


def test_too_little_memory_is_told():
    with pytest.raises(BudgetError, match="M >= 3"):
        bounds_of(workload("pyramid:h=3").dag(), 2)


def test_nothing_to_do_needs_nothing():
    dag = Dag.from_predecessors([[], [0]], outputs=[0])

    assert {bound.value for bound in bounds_of(dag, 1, ONE_SHOT, solver=exact)} == {0}


def test_pieces_are_disjoint_and_cover_the_graph():
    problem = Problem.of(workload("attention-forward:n=4,d=2").dag(), 4)
    pieces = grown_pieces(problem, 12)

    assert max(len(piece) for piece in pieces) == 12
    assert sorted(v for piece in pieces for v in piece) == list(range(len(problem.dag)))


@pytest.mark.slow
def test_equal_pieces_are_solved_once():
    asked = []

    def solver(dag, memory, rules, *, time):
        asked.append(dag.fingerprint)
        return exact(dag, memory, rules)

    problem = Problem.of(workload("fft:n=16").dag(), 3, ONE_SHOT)
    found = decomposition(problem, solver, sizes=(12,))

    # Forwards: four FFTs of 4 points (14, of which 4 stores are not asked for), then eight
    # butterflies on 2 points whose operands are free, 2 stores each. Two different games.
    forwards = [len(piece) for piece in grown_pieces(problem, 12)]
    assert forwards == [12] * 4 + [4] * 8
    assert found.value >= 4 * (14 - 4) + 8 * 2
    assert len(asked) == len(set(asked))


def test_spans_of_a_pyramid_are_triangles():
    # X neighbours in a row give the triangle above them.
    assert spans(Problem.of(workload("pyramid:h=3").dag(), 3), 4) == [0, 0, 1, 3, 6]
    assert spans(Problem.of(workload("fft:n=4").dag(), 3), 4) == [0, 0, 2, 4, 8]


def test_span_is_not_for_large_graphs():
    assert span(Problem.of(workload("fft:n=32").dag(), 3)) is None


def test_first_output_is_half_as_much_again_as_the_compulsory_bound_of_an_fft():
    problem = Problem.of(workload("fft:n=1024").dag(), 4)

    # All inputs lead to each output: they are loaded before the first store, and again after it.
    assert first_output(problem).value == 1024 + 1024 + (1024 - 2 * 5)


def test_first_output_exceeds_the_compulsory_bound_of_a_product():
    problem = Problem.of(workload("matmul:m=8,n=8,k=8").dag(), 4)

    # Before C[i,j] is stored its 16 operands are loaded; the cut of 128 less 2 (M + 1) comes after.
    assert first_output(problem).value == 64 + 16 + 118


def test_a_bound_prints_and_goes_into_json():
    bound = best_bound(workload("fft:n=16").dag(), 4, GRAPHIO)

    assert bound.to_json()["value"] == bound.value
    assert "rules graphio" in str(bound)
