"""`pebble bound` with the bounds that a DAG's own edges prove."""

import json
import re

import pytest
from click.testing import CliRunner

from graphs.registry import workload
from lab.cli import main
from lab.dag_bounds import dag_bounds_of, is_small
from lab.playing import play


def bound(*arguments):
    result = CliRunner().invoke(main, ["bound", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def named(*arguments):
    found = json.loads(bound(*arguments, "--json"))["bounds"]
    return {b["name"]: b for b in found if "recomputation" in b}


def test_bounds_of_a_dag_are_listed_for_the_rules():
    once = named("pyramid:h=20", "--memory", "4", "--rules", "one-shot", "--time", "1")
    again = named("pyramid:h=20", "--memory", "4", "--time", "1")

    cut = once["wavefront"]
    assert cut["value"] == 44 or (not cut["finished"] and cut["value"] < 44)
    assert not once["wavefront"]["recomputation"]
    assert set(again) == {"compulsory", "first output", "decomposition"}
    assert again["decomposition"]["recomputation"]
    assert {"name", "kind", "rules", "expression", "condition", "value", "reference"} <= set(
        again["compulsory"]
    )


def test_bounds_of_a_dag_are_printed():
    shown = bound("fft:n=64", "--memory", "4", "--time", "0.5")

    assert "182  first output, of this DAG: " in shown


# Least I/O from tests/data/optimal.csv: one piece that is the whole graph is solved exactly.
@pytest.mark.parametrize(
    ("text", "memory", "rules", "least"),
    [("pyramid:h=3", 3, "hk", 11), ("pyramid:h=3", 4, "one-shot", 7)],
)
def test_a_small_dag_is_its_own_piece(text, memory, rules, least):
    found = named(text, "--memory", str(memory), "--rules", rules)

    assert found["decomposition"]["value"] == least
    assert found["decomposition"]["finished"]


def test_pieces_are_worth_more_than_what_is_compulsory():
    found = named("pyramid:h=12", "--memory", "3", "--rules", "one-shot", "--time", "2")
    moved = play("pyramid:h=12", "belady", 3, rules="one-shot").io

    assert found["compulsory"]["value"] < found["decomposition"]["value"] <= moved


def test_without_memory_no_dag_is_built():
    assert named("pyramid:h=20") == {}


def test_a_time_budget_is_told():
    shown = bound("fft:n=128", "--memory", "4", "--rules", "one-shot", "--time", "0")

    assert re.search(r"spectral, of this DAG: .*; stopped by --time", shown)


@pytest.mark.parametrize("text", ["attention-forward:n=999,d=64", "fft:n=1048576"])
def test_large_dags_are_left_alone(text):
    assert not is_small(workload(text))
    assert dag_bounds_of(workload(text), 100) == []
