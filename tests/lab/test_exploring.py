"""`pebble explore`: the winner with its closed form, its play on a small instance, its gap."""

import dataclasses
import json

import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.exploring import UncheckedError, explore
from strategies import phases


def run(*arguments):
    return CliRunner().invoke(main, ["explore", *arguments])


def test_the_winner_is_refereed_and_held_against_the_bound():
    found = json.loads(run("attention-forward:n=512,d=8", "-M", "1024", "--json").output)

    # Q outside is optimal to its constant: 4 n^2 d^2 / M and a few n d.
    assert found["certified"] == 4 * 512**2 * 64 // 1024
    assert 1 <= found["io_over_certified"] < 1.5
    assert found["formula"] == "2*T_a1*d*n + 2*d*n"
    assert found["checked"]["error"] < 1e-12
    assert found["passes"][0]["resident"] == ["Q", "l", "U"]
    assert found["loads"] + found["stores"] == found["io"]


def test_text():
    shown = run("matmul:m=30,n=20,k=10", "-M", "50").output

    assert "least I/O of all dataflows" in shown
    assert "refereed on matmul:m=6,n=7,k=5" in shown
    assert "certified: no play moves less than" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pyramid:h=3", "-M", "5"), "no formula"),
        (("attention-forward:n=8,d=2", "-M", "3"), "needs M >="),
        (("attention-forward:n=1,d=1", "-M", "30"), "at least 2"),
        (("attention-forward:n=8,d=2", "-M", "x"), "x"),
    ],
)
def test_misuse_is_one_line(arguments, words):
    done = run(*arguments)

    assert done.exit_code == 2
    assert words in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_a_plan_that_is_not_what_it_says_is_refused(monkeypatch):
    honest = phases.TileStrategy.count

    def lying(self, workload, memory):
        report = honest(self, workload, memory)
        return dataclasses.replace(report, loads=report.loads - 1)

    monkeypatch.setattr(phases.TileStrategy, "count", lying)
    with pytest.raises(UncheckedError, match="its text says"):
        explore("attention-forward:n=16,d=2", 40, others=0)
