"""Levels: every par is the optimum, every certificate is refereed, bad files are explained."""

import json

import pytest

from lab.page.levels import find_level, lessons, level_of, read_level
from pebble.errors import PebbleError
from pebble.referee import referee

LEVELS = lessons()


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_certificate_reaches_par(level):
    report = referee(level.dag, level.moves(), level.memory, level.rules)
    assert report.io == level.par >= level.lower_bound


def test_pars():
    # From the published optima of small DAGs, and the bound inputs + outputs where it is met.
    known = {
        "first-steps": 3, "deletion": 4, "spilling": 7, "chain": 9, "pyramid": 7, "recompute": 2,
        "grid": 5, "product": 14, "tiling": 12, "one-pass": 8, "flash": 8, "small-cache": 14,
        "softmax": 7,
    }  # fmt: skip
    assert {level.name: level.par for level in LEVELS} == known
    meets = {level.name for level in LEVELS if level.par == level.lower_bound}
    assert {"first-steps", "deletion", "chain", "recompute", "tiling", "one-pass"} <= meets
    assert {"flash", "small-cache"} <= meets


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_par_is_what_the_exact_search_proves(level):
    from strategies.optimum import solve

    found = solve(level.dag, level.memory, level.rules)
    assert found.finished
    assert found.upper == level.par


@pytest.mark.parametrize("text", ["1", "first-steps"])
def test_found_by_name_and_number(text):
    assert find_level(text).title == "Load, compute, store"


GOOD = {"format": "pebble-level 1", "edges": ["x y -> z"], "memory": 3}


def written(tmp_path, **changes):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({k: v for k, v in (GOOD | changes).items() if v is not None}))
    return path


def test_a_few_lines_make_a_level(tmp_path):
    level = read_level(written(tmp_path))
    assert (level.name, len(level.dag), level.par, level.lower_bound) == ("mine", 3, None, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "pebble-dag 1"}, "pebble-level 1"),
        ({"edges": ["a -> b", "b -> a"]}, "cyclic"),
        ({"edges": ["a b c"]}, "an arrow and a result"),
        ({"edges": None}, 'either "workload"'),
        ({"workload": "fft:n=64", "edges": None, "memory": 4}, "take smaller sizes, or"),
        ({"memory": 2}, "play with M >= 3"),
        ({"memory": None}, '"memory" is missing'),
        ({"memory": "3"}, "whole number"),
        ({"titel": "x"}, "did you mean 'title'"),
        ({"par": 2, "certificate": "L x, L y, C z, S z"}, "the certificate takes 3"),
        ({"par": 3, "certificate": "L x, C z, S z"}, "needs y red"),
        ({"positions": {"q": [0, 0]}}, "'q'"),
        ({"rules": "one-shit"}, "did you mean 'one-shot'"),
        ({"outputs": ["w"]}, "'w'"),
    ],
)
def test_bad_files_are_explained(tmp_path, changes, words):
    path = written(tmp_path, **changes)
    with pytest.raises(PebbleError) as caught:
        read_level(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_not_json(tmp_path):
    path = tmp_path / "level.json"
    path.write_text("{")
    with pytest.raises(PebbleError, match="is no JSON"):
        read_level(path)


def test_a_workload_brings_the_strategies_that_can_play_it():
    from graphs.registry import workload

    level = level_of(workload("attention-forward:n=2,d=1"), 10)
    assert {"flash", "standard", "naive"} <= set(level.strategies)
    assert len(level.dag) == 24
