"""Sweeps: every point refereed, gaps with their reason, the same rows whoever plays them."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lab import count, play, pools, sweep
from lab.footprint import footprint
from lab.running import arguments, play_point
from lab.sweeping import plan
from pebble import LOAD, Dag
from pebble.errors import BudgetError, PebbleError, SpecError
from pebble.moves import pack
from strategies.registry import RefusalError, Strategy

GRADIENT = "attention-gradient:n=12,d=4"


class Cheat(Strategy):
    """Breaks the first rule at M = 64 and above; plays no smaller M."""

    name = "cheat"

    def refusal(self, workload):
        return None

    def recomputes(self, workload):
        return False

    def least_memory(self, workload):
        return 64

    def moves(self, workload, memory, dag=None):
        yield pack(LOAD, np.arange(len(dag)))


@pytest.fixture(scope="module")
def grid():
    return sweep(GRADIENT, "naive,flash,algorithm6", "8:128:x4")


def test_rows_come_in_the_order_of_the_grid(grid):
    assert [(row.strategy, row.memory) for row in grid] == [
        (strategy, memory)
        for strategy in ("naive", "flash", "algorithm6")
        for memory in (8, 32, 128)
    ]


def test_each_row_is_what_the_referee_counted(grid):
    for row in grid.played:
        report = play(row.workload, row.strategy, row.memory)
        assert (row.loads, row.stores, row.io) == (report.loads, report.stores, report.io)
        assert (row.computes, row.recomputes) == (report.computes, report.recomputes)
        assert (row.peak_red, row.moves) == (report.peak_red, report.moves)
        assert (row.method, row.rules, row.sizes) == ("referee", "hk", {"n": 12, "d": 4})


def test_a_point_below_the_least_memory_is_a_gap(grid):
    row = grid[3]

    with pytest.raises(BudgetError) as caught:
        count(GRADIENT, "flash", 8)
    assert row.status == f"needs M >= {caught.value.least}"
    assert (row.loads, row.io, row.io_over_bound, row.moves) == (None, None, None, None)


def test_yardsticks_of_a_row(grid):
    row = grid[1]

    # A1, A2, A3, E of 12 x 4, X, Y and dX of 4 x 4.
    assert row.compulsory == 4 * 48 + 3 * 16
    assert (row.bound, row.in_regime) == ("li24-gradient", True)
    # M = 32 is beyond d**2 = 16: (n**2 d**2 + n d**3) / M.
    assert row.bound_value == (144 * 16 + 12 * 64) / 32
    assert row.io_over_bound == row.io / row.bound_value
    assert row.memory_over_d2 == 2
    assert grid[2].in_regime is False  # M = 128 > n d = 48


def test_processes_give_the_same_rows(grid):
    seen = []

    parallel = sweep(
        GRADIENT,
        "naive,flash,algorithm6",
        "8:128:x4",
        executor=2,
        progress=lambda done, total, row: seen.append((done, total, row)),
    )

    assert parallel == grid
    assert [(done, total) for done, total, _ in seen] == [(i, 9) for i in range(1, 10)]
    assert {row for _, _, row in seen} == set(grid)


def test_an_error_of_the_caller_ends_the_workers():
    def progress(done, total, row):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sweep(
            "attention-gradient:n=128,d=32", "naive", "16:8192:x1.01", executor=2, progress=progress
        )

    assert multiprocessing.active_children() == []


def test_any_executor_will_do(grid):
    with ThreadPoolExecutor(1) as executor:
        assert sweep(GRADIENT, "naive,flash,algorithm6", "8:128:x4", executor=executor) == grid


def test_tally_gives_the_same_counts_and_says_so(grid):
    tally = sweep(GRADIENT, "naive,flash,algorithm6", "8:128:x4", method="tally")

    assert [row.io for row in tally] == [row.io for row in grid]
    assert {row.method for row in tally} == {"tally"}
    assert [row.compulsory for row in tally] == [row.compulsory for row in grid]


def test_sizes_and_budgets_may_be_ranges():
    results = sweep("attention-forward:n=4:8:x2,d=2,3", "naive,flash", "d^2:4*d^2:x4")

    assert results.workloads == [
        "attention-forward:n=4,d=2",
        "attention-forward:n=4,d=3",
        "attention-forward:n=8,d=2",
        "attention-forward:n=8,d=3",
    ]
    assert [row.memory for row in results[:4]] == [4, 16, 4, 16]
    assert [row.memory for row in results.where(d=3, n=4, strategy="naive")] == [9, 36]


def test_several_workloads_texts_and_objects():
    dag = Dag.from_predecessors([[], [], [0, 1]], source="sum")

    results = sweep([dag, "pyramid:h=1,fft:n=4"], ["naive"], [3, 4])

    assert [row.workload for row in results] == ["sum"] * 2 + ["pyramid:h=1"] * 2 + ["fft:n=4"] * 2
    assert [row.io for row in results] == [3, 3, 3, 3, 24, 24]
    assert [row.compulsory for row in results] == [3, 3, 3, 3, 8, 8]
    assert [row.bound for row in results] == [""] * 4 + ["hk81-fft"] * 2
    assert results[4].in_regime is True


def test_a_dag_is_built_once_for_points_that_follow_one_another(monkeypatch):
    from graphs.registry import FormulaWorkload

    built = []
    original = FormulaWorkload.dag
    monkeypatch.setattr(FormulaWorkload, "dag", lambda self: built.append(self) or original(self))

    sweep("matmul:m=2,n=2,k=2,matmul:m=3,n=3,k=3", "naive,standard", "16,32")

    assert [str(workload) for workload in built] == ["matmul:m=2,n=2,k=2", "matmul:m=3,n=3,k=3"]


def test_a_strategy_that_does_not_play_is_a_status():
    results = sweep("matmul:m=2,n=2,k=2", "naive,saha-ye", 32)

    assert results[0].played
    assert results[1].status.startswith("does not play: saha-ye does not play matmul")


def test_one_shot_refusals_are_a_status():
    results = sweep(GRADIENT, "flash,algorithm6", 128, rules="one-shot")

    assert results[0].status.startswith("does not play: flash computes some vertices")
    assert (results[1].played, results[1].rules) == (True, "one-shot")
    # Li's gradient bound is stated for recomputation.
    assert results[1].bound == ""


def test_a_strategy_that_breaks_a_rule_is_a_failed_point():
    results = sweep(GRADIENT, ["naive", Cheat()], 64)

    assert results[0].played
    assert results[1].status.startswith("failed: step ")


def test_an_error_if_nothing_can_be_played():
    with pytest.raises(BudgetError, match="needs M >= ") as caught:
        sweep(GRADIENT, [Cheat(), "flash"], "4,5")
    assert caught.value.least < 64  # the cheapest way out is named

    with pytest.raises(RefusalError, match="saha-ye does not play"):
        sweep("matmul:m=2,n=2,k=2", "saha-ye", 32)


def test_errors_cross_process_borders():
    outcome = play_point(*arguments(plan(GRADIENT, Cheat(), 64)[0]))

    # IllegalMoveError has required keywords; what cannot be rebuilt elsewhere travels as its text.
    assert isinstance(outcome.error, PebbleError)
    assert str(outcome.error).startswith("step ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], "naive", 4), "nothing to sweep"),
        ((GRADIENT, [], 4), "nothing to sweep"),
        ((GRADIENT, "naive", []), "nothing to sweep"),
        ((GRADIENT, "naive", [0]), "positive integer"),
        ((GRADIENT, "naive,", "4"), "nothing between two commas"),
    ],
)
def test_an_empty_grid(arguments, words):
    with pytest.raises(PebbleError, match=words):
        sweep(*arguments)


def test_unknown_method_and_number_of_processes():
    with pytest.raises(SpecError, match="method must be referee or tally"):
        sweep(GRADIENT, "naive", 4, method="guess")
    with pytest.raises(SpecError, match="positive number of processes"):
        sweep(GRADIENT, "naive", 4, executor=0)


def test_advice_on_processes(monkeypatch):
    small = plan(GRADIENT, "naive", "8:64:x2")
    large = plan("attention-gradient:n=128,d=32", "naive,flash", "256:4096:x2")
    monkeypatch.setattr(pools, "available", lambda: 4)

    assert pools.advised(small) == 1
    assert pools.advised(large) == 4
    # 128² (4·32 + 8) products and sums and more, 15 bytes each, thrice; libraries 200 MiB.
    assert footprint(large, 4).processes == 4
    monkeypatch.setattr("graphs.memory.available_bytes", lambda: 1_200_000_000)
    assert footprint(large, 4).processes == 2
    assert pools.advised(plan("matmul:m=9999,n=9999,k=999", "naive", "8,9", method="tally")) == 1
