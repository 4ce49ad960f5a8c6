"""One play: texts or objects, refusals before any work, traces only of legal plays."""

import numpy as np
import pytest

import graphs
from lab import count, play
from pebble import HK, LOAD, Dag, Rules
from pebble.errors import BudgetError, GraphError, IllegalMoveError, SpecError, UnknownNameError
from pebble.moves import pack
from strategies.registry import RefusalError, Strategy, strategy

FORWARD = "attention-forward:n=6,d=3"


class Cheat(Strategy):
    """Loads every vertex and calls it done."""

    name = "cheat"

    def refusal(self, workload):
        return None

    def recomputes(self, workload):
        return False

    def least_memory(self, workload):
        return 1

    def moves(self, workload, memory, dag=None):
        yield pack(LOAD, np.arange(len(dag)))


def test_texts_and_objects_say_the_same():
    workload, how = graphs.workload(FORWARD), strategy("flash")

    report = play(FORWARD, "flash", 30)

    assert play(workload, how, 30, HK) == report
    assert play(workload, how, "10*d", dag=workload.dag()) == report
    assert (report.workload, report.strategy, report.memory) == (FORWARD, "flash", 30)


@pytest.mark.parametrize("how", ["naive", "standard", "flash", "saha-ye"])
@pytest.mark.parametrize("memory", [20, 57])
def test_count_is_what_the_referee_counts(how, memory):
    assert count(FORWARD, how, memory) == play(FORWARD, how, memory)


def test_a_dag_of_ones_own_is_played():
    dag = Dag.from_predecessors([[], [], [0, 1], [0, 2]])

    report = play(dag, "naive", 3)

    # C 2 from two loads, stored; C 3 from two loads, stored.
    assert (report.loads, report.stores, report.workload) == (4, 2, "graph")


def test_naive_on_one_product_by_hand():
    # Each of the two products loads two operands; the sum is stored.
    assert play("matmul:m=1,n=1,k=2", "naive", 4).io == 5


def test_too_little_memory_names_the_least_that_would_do():
    with pytest.raises(BudgetError, match=r"needs M >= (\d+), got M = 7") as caught:
        play("attention-forward:n=6,d=3", "flash", 7)

    least = caught.value.least
    assert play(FORWARD, "flash", least).peak_red <= least
    with pytest.raises(BudgetError):
        count(FORWARD, "flash", least - 1)


@pytest.mark.parametrize("memory", [0, -1, True, 2.5])
def test_memory_is_a_positive_integer(memory):
    with pytest.raises(BudgetError, match="M must be a positive integer"):
        play(FORWARD, "naive", memory)


def test_a_recomputing_strategy_is_refused_under_one_shot_by_name():
    workload = "attention-gradient:n=6,d=3"

    with pytest.raises(RefusalError, match="flash computes some vertices of attention-gradient"):
        play(workload, "flash", 100, "one-shot")

    assert play(workload, "algorithm6", 100, "one-shot").recomputes == 0


def test_a_strategy_that_does_not_play_the_workload():
    with pytest.raises(RefusalError, match="saha-ye does not play matmul:m=2,n=2,k=2"):
        play("matmul:m=2,n=2,k=2", "saha-ye", 100)


def test_rules_under_which_inputs_are_not_there():
    with pytest.raises(RefusalError, match=r"plays by the rules hk.*breaks the rules hk\+free-in"):
        play(FORWARD, "naive", 10, "hk+free-inputs")


def test_rules_that_allow_more_change_nothing():
    assert play(FORWARD, "naive", 4, "hk+sliding").io == play(FORWARD, "naive", 4).io


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("attention-forwrd:n=4,d=2", "naive", 4), UnknownNameError),
        (("attention-forward:n=4", "naive", 4), SpecError),
        (("attention-forward:n=4,d=0", "naive", 4), SpecError),
        ((FORWARD, "naiv", 4), UnknownNameError),
        ((FORWARD, "naive", 4, "hongkong"), UnknownNameError),
        ((FORWARD, "naive", "4*q"), UnknownNameError),
        ((7, "naive", 4), SpecError),
        ((FORWARD, 7, 4), SpecError),
    ],
)
def test_what_does_not_read(arguments, error):
    with pytest.raises(error):
        play(*arguments)


def test_a_graph_too_large_is_refused_before_it_is_built():
    with pytest.raises(GraphError, match="use `pebble count`"):
        play("attention-forward:n=100000,d=64", "naive", 10)


def test_an_illegal_play_is_the_strategys_fault():
    with pytest.raises(IllegalMoveError) as caught:
        play(FORWARD, Cheat(), 1000)

    assert caught.value.rule == "load"


def test_progress_is_told():
    seen = []

    report = play(FORWARD, "naive", 4, progress=seen.append)

    assert seen[-1] == report.moves
    assert seen == sorted(seen)


def test_rules_objects_are_taken():
    assert play(FORWARD, "naive", 4, Rules(one_shot=True)).rules == Rules(one_shot=True)


@pytest.mark.parametrize("how", ["local-search", "optimal"])
def test_what_may_choose_recomputes_only_where_the_rules_allow_it(how):
    free, once = (play("grid:rows=3,columns=3", how, 3, rules) for rules in ("hk", "one-shot"))
    assert (free.io, once.io, once.recomputes) == (5, 6, 0)
    assert once.strategy == how
