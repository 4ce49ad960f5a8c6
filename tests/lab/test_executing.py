"""Plays carried out on numbers: every strategy computes what numpy says."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphs.registry import workload
from lab import executing
from lab.cli import main
from lab.executing import execute
from pebble.moves import LOAD, pack, unpack
from strategies.registry import strategies, strategy

WORKLOADS = [
    "attention-forward:n=7,d=3",
    "attention-forward:n=5,d=2,softmax=safe",
    "attention-forward:n=5,d=2,softmax=early",
    "attention-backward:n=6,d=3",
    "attention-training:n=5,d=2",
    "attention-gradient:n=6,d=3",
    "attention-gradient:n=5,d=2,form=as24,given=dO",
    "attention-forward:n=1,d=1",
    "attention-gradient:n=1,d=1",
    "bilinear:n=5,d=3",
    "matmul:m=4,n=3,k=5",
]


@pytest.mark.parametrize("text", WORKLOADS)
def test_every_tile_strategy_computes_what_numpy_says(text):
    what = workload(text)
    played = 0
    for cls in strategies():
        if not hasattr(cls, "closed_form"):
            continue
        for spec in cls.variants or (cls.name,):
            how = strategy(spec)
            if how.refusal(what) is None:
                for extra in (0, 9):
                    done = execute(what, how, how.least_memory(what) + extra, seed=3)
                    assert done.reference == "numpy"
                    assert done.agrees, (text, str(how), extra, done.errors)
                    played += 1
    assert played >= 4


def test_trees_and_the_naive_order_on_trees():
    assert execute("attention-backward:n=5,d=3,sum=tree", "naive", 4, seed=1).agrees


class Exchanged:
    """A strategy whose loads of Q and K are exchanged."""

    def __init__(self, inner):
        self.inner = inner

    def require(self, what, memory):
        self.inner.require(what, memory)

    def moves(self, what, memory, dag=None):
        Q, K = dag.tensor("Q"), dag.tensor("K")
        other = np.arange(len(dag), dtype=np.uint32)
        other[Q.base : Q.base + len(Q)] = np.arange(K.base, K.base + len(K))
        other[K.base : K.base + len(K)] = np.arange(Q.base, Q.base + len(Q))
        for chunk in self.inner.moves(what, memory, dag):
            kinds, vertices = unpack(chunk)
            yield np.where(kinds == LOAD, pack(LOAD, other[vertices]), chunk)


def test_exchanged_loads_show_as_what_is_not_held(monkeypatch):
    monkeypatch.setattr(executing, "as_strategy", lambda how: Exchanged(strategy(how)))
    done = execute("attention-forward:n=4,d=2", "flash2", 20, seed=5)
    assert np.isnan(done.errors["O"])
    assert not done.agrees


def test_a_result_that_differs_ends_with_exit_code_1(monkeypatch):
    wrong = {**executing._REFERENCES, "matmul": lambda _, given: {"C": given["A"] @ given["B"] + 1}}
    monkeypatch.setattr(executing, "_REFERENCES", wrong)
    call = ["play", "matmul:m=2,n=2,k=2", "--strategy", "naive", "-M", "4", "--execute", "0"]
    answer = CliRunner().invoke(main, call)
    assert answer.exit_code == 1
    assert "largest relative error" in answer.stdout


def test_the_command_says_so():
    call = ["play", "attention-forward:n=6,d=2", "--strategy", "flash", "-M", "20"]
    answer = CliRunner().invoke(main, [*call, "--execute", "7", "--json"])
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)["execution"]
    assert told["seed"] == 7
    assert told["agrees"] is True
    assert 0 <= told["errors"]["O"] < 1e-12
