"""`pebble solve`: keys, an interval when stopped, the play that it writes."""

import json

import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.playing import check
from lab.solving import solve


def run(*arguments):
    return CliRunner().invoke(main, ["solve", *map(str, arguments)])


def test_the_keys_and_the_trace(tmp_path):
    path = tmp_path / "play.txt"
    done = run("matmul:m=2,n=2,k=2", "--memory", 4, "--trace", path, "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert (data["lower"], data["upper"], data["finished"], data["rules"]) == (17, 17, True, "hk")
    assert data["workload"] == "matmul:m=2,n=2,k=2"
    assert (data["stopped_by"], data["io"], data["memory"]) == (None, 17, 4)
    assert check(path).io == 17


def test_rules_and_text():
    done = run("fft:n=8", "--memory", 4, "--rules", "graphio")
    assert done.exit_code == 0
    assert "optimum 15 (M=4, rules graphio)" in done.stdout


def test_a_stopped_search_says_its_interval():
    done = run("attention-forward:n=3,d=2", "-M", 5, "--time", 0.2, "--json")
    data = json.loads(done.stdout)
    assert data["finished"] is False
    assert data["stopped_by"] == "time"
    assert data["lower"] < data["upper"] == data["io"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pyramid:h=3", "-M", 2), "play with M >= 3"),
        (("tree:depth=12", "-M", 3), "at most 2,048"),
        (("pyramid:h=3", "-M", 4, "--time", 0), "0"),
        (("pyramid:h=3", "-M", 4, "--rules", "hq"), "did you mean"),
    ],
)
def test_misuse_is_explained(arguments, says):
    from lab.cli.group import PebbleGroup

    assert isinstance(main, PebbleGroup)
    done = run(*arguments)
    assert done.exit_code != 0
    assert says in (done.stderr + str(done.exception))


def test_memory_as_a_formula():
    assert solve("matmul:m=2,n=2,k=2", "2*m").upper == 17
