"""A strategy written inside a test gets moves, count, fit and formula with no other code."""

import itertools
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest
import sympy

from graphs import workload
from pebble.errors import BudgetError, PebbleError
from pebble.machine import evaluate, execute, random_inputs
from pebble.referee import referee
from strategies import check_strategy, strategy
from strategies.phases import Phase, Tile, TileStrategy, breakpoints
from strategies.schedule import Schedule


@dataclass(frozen=True)
class Toy(TileStrategy):
    """C by tiles; rows of A stay for a whole block of rows, or come again for every tile."""

    name: ClassVar[str] = "toy"
    plays: ClassVar[tuple[str, ...]] = ("matmul",)
    hold: Literal["rows", "nothing"] = "rows"

    def phases(self, workload, formula):
        m, n = formula["C"].shape
        return [(Phase("C", self.text, (Tile("rows", "a", (m,)), Tile("columns", "b", (n,)))),)]

    def text(self, s, rows, columns):
        A, B, C = s.arrays("A", "B", "C")
        m, n = C.size
        for I in s.blocks(m, rows):
            if self.hold == "rows":
                s.load(A[I, :])
            for J in s.blocks(n, columns):
                if self.hold == "nothing":
                    s.load(A[I, :])
                s.load(B[:, J])
                s.accumulate(C[I, J])
                s.store(C[I, J])
                s.free(C[I, J], B[:, J])
                if self.hold == "nothing":
                    s.free(A[I, :])
            if self.hold == "rows":
                s.free(A[I, :])


M_, N_, K_ = sympy.symbols("m n k", positive=True, integer=True)
T_A, T_B = sympy.symbols("T_a T_b", positive=True, integer=True)
FORMULA = {
    "rows": M_ * K_ + T_A * K_ * N_ + M_ * N_,
    "nothing": T_B * M_ * K_ + T_A * K_ * N_ + M_ * N_,
}


@pytest.mark.parametrize("hold", ["rows", "nothing"])
@pytest.mark.parametrize("memory", [14, 15, 20, 30, 47, 200])
def test_moves_count_and_formula_follow_from_the_text(hold, memory):
    toy, given = Toy(hold=hold), workload("matmul:m=7,n=9,k=5")
    dag = given.dag()
    report = referee(dag, toy.moves(given, memory), memory, strategy=str(toy))
    assert report == toy.count(given, memory)
    ((_, sizes),) = toy.fitted(given, memory)
    tiles = {"T_a": -(-7 // sizes["rows"]), "T_b": -(-9 // sizes["columns"])}
    again = tiles["T_b"] if hold == "nothing" else 1
    assert report.loads == again * 35 + tiles["T_a"] * 45
    assert report.stores == 63
    form = toy.closed_form(given)
    assert sympy.expand(form.io - FORMULA[hold]) == 0
    if min(tiles.values()) >= 2:
        values = {"m": 7, "n": 9, "k": 5, "a1": sizes["rows"], "b1": sizes["columns"]}
        values |= {"a": sizes["rows"], "b": sizes["columns"]}
        assert form.evaluate(form.io, **values) == report.io


def test_one_verb_changes_all_three_readings():
    given, one, other = workload("matmul:m=7,n=9,k=5"), Toy(), Toy(hold="nothing")
    a, b = (np.concatenate(list(toy.moves(given, 14))) for toy in (one, other))
    assert a.size < b.size
    assert one.count(given, 14).io < other.count(given, 14).io
    assert sympy.expand(other.closed_form(given).io - one.closed_form(given).io) == sympy.expand(
        (T_B - 1) * M_ * K_
    )


def test_a_toy_is_a_strategy_like_any_other():
    check_strategy(
        Toy(), ["matmul:m=1,n=1,k=1", "matmul:m=3,n=4,k=1", "matmul:m=4,n=3,k=2", "fft:n=2"]
    )


def test_its_least_m_is_what_one_row_and_one_column_take():
    # 5 + 5 operands; an old sum, a product and a new sum
    given = workload("matmul:m=7,n=9,k=5")
    assert Toy().least_memory(given) == 13
    with pytest.raises(BudgetError, match=r"toy on matmul.*needs M >= 13, got M = 12"):
        Toy().moves(given, 12)


# -- fit -----------------------------------------------------------------------------------------


def brute_force(phase, formula, memory):
    """Least (I/O, computes) over all sizes up to the extents that fit; None where none does."""
    best = None
    ranges = [range(1, max(map(int, tile.extents)) + 1) for tile in phase.free()]
    for sizes in itertools.product(*ranges):
        named = {tile.name: size for tile, size in zip(phase.free(), sizes, strict=True)}
        counts = phase.counts(formula, named)
        if counts.peak <= memory and (best is None or (counts.io, counts.computes) < best):
            best = counts.io, counts.computes
    return best


CASES = [
    (Toy(), "matmul:m=7,n=9,k=2"),
    (strategy("flash"), "attention-forward:n=11,d=2"),
    (strategy("flash"), "attention-backward:n=9,d=2"),
    (strategy("flash2"), "attention-forward:n=9,d=2"),
    (strategy("saha-ye"), "attention-forward:n=7,d=3"),
    (strategy("standard"), "matmul:m=6,n=7,k=2"),
]


@pytest.mark.parametrize(("played", "text"), CASES, ids=str)
def test_fit_finds_what_trying_all_sizes_finds(played, text):
    given = workload(text)
    formula, least = given.formula(), played.least_memory(given)
    choices = played.phases(given, formula)
    for memory in (least - 1, least, least + 3, least + 10, least + 40, 400):
        best = [[brute_force(phase, formula, memory) for phase in choice] for choice in choices]
        if memory < least:
            assert any(all(b is None for b in found) for found in best)
            continue
        for (phase, sizes), found in zip(played.fitted(given, memory), best, strict=True):
            counts = phase.counts(formula, sizes)
            assert counts.peak <= memory
            assert (counts.io, counts.computes) == min(b for b in found if b is not None)


@pytest.mark.parametrize("extent", [1, 2, 10, 37, 100])
def test_breakpoints_are_the_least_sizes_of_every_number_of_tiles(extent):
    least = {}
    for size in range(extent, 0, -1):
        least[-(-extent // size)] = size
    assert set(least.values()) <= set(breakpoints([extent]).tolist()) <= set(range(1, extent + 1))


@pytest.mark.parametrize(("played", "text"), CASES, ids=str)
def test_tallies_of_arrays_are_those_of_their_entries(played, text):
    given = workload(text)
    formula = given.formula()
    for phase, *_ in played.phases(given, formula):
        tiles = phase.free()
        grid = np.meshgrid(*[np.arange(1, max(t.extents) + 2) for t in tiles], indexing="ij")
        sizes = [axis.ravel().astype(np.int64) for axis in grid]
        names = [tile.name for tile in tiles]
        if not names:
            continue
        whole = phase.counts(formula, dict(zip(names, sizes, strict=True)))
        for field in ("loads", "stores", "computes", "moves", "net", "peak"):
            many = np.broadcast_to(getattr(whole, field), sizes[0].shape)
            for place, chosen in enumerate(zip(*(s.tolist() for s in sizes), strict=True)):
                one = phase.counts(formula, dict(zip(names, chosen, strict=True)))
                assert many[place] == getattr(one, field), (field, chosen)


# -- verbs ---------------------------------------------------------------------------------------


def test_a_running_sum_of_nothing_cannot_be_loaded():
    s = Schedule(workload("matmul:m=2,n=2,k=4").formula())
    (C,) = s.arrays("C")
    first = next(s.blocks(4, 2))
    with pytest.raises(PebbleError, match="no running sum before its first term"):
        s.load(C[:, :].before(first))


def test_the_wrong_number_of_indices_is_refused():
    s = Schedule(workload("matmul:m=2,n=2,k=4").formula())
    (C,) = s.arrays("C")
    with pytest.raises(PebbleError, match="C has 2 indices"):
        C[:]


@pytest.mark.parametrize("name", ["naive", "standard", "flash", "saha-ye", "flash2", "attenio"])
def test_every_pebbling_of_attention_is_softmax_attention(name):
    given = workload("attention-forward:n=7,d=3")
    dag, played = given.dag(), strategy(name)
    source = np.random.default_rng(3)
    Q, K, V = (source.normal(size=(7, 3)) for _ in range(3))
    A = np.exp(Q @ K.T)
    expected = (A / A.sum(axis=1, keepdims=True)) @ V
    inputs = {"Q": Q, "K": K, "V": V}
    assert np.allclose(evaluate(dag, inputs)[dag.outputs], expected.ravel(), rtol=1e-12)
    for more in (0, 9, 80):
        memory = played.least_memory(given) + more
        blue = execute(dag, played.moves(given, memory), inputs)
        np.testing.assert_allclose(blue[dag.outputs], expected.ravel(), rtol=1e-12)
        assert np.array_equal(
            execute(dag, played.moves(given, memory), random_inputs(dag, 1))[dag.outputs],
            execute(dag, played.moves(given, memory), random_inputs(dag, 1))[dag.outputs],
        )
