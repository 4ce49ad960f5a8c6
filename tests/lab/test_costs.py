"""The table of strategies: every one has a row, and its formulas are what counting gives."""

import json
from pathlib import Path

import pytest
import sympy
from click.testing import CliRunner

from graphs import workload
from lab import costs
from lab.cli import main
from strategies import strategy

ROOT = Path(__file__).resolve().parents[2]
ROWS = {(row.strategy, row.workload): row for row in costs.stored()}
REGENERATE = "derive the table anew: python -m lab.costs README.md"


def at(formula, **sizes):
    expression = sympy.sympify(formula)
    return expression.subs({s: sizes[str(s)] for s in expression.free_symbols})


def sized(kind, n, d):
    name, _, options = kind.partition(":")
    return workload(f"{name}:n={n},d={d}{options and f',{options}'}")


@pytest.mark.slow
def test_every_strategy_has_a_row_for_every_attention_it_plays():
    made = [(str(how), costs._kind(what)) for how, what in costs.pairs()]

    assert made == list(ROWS), REGENERATE
    assert {"flash", "algorithm6:tiles=outer", "two-pass"} <= {name for name, _ in made}


def test_the_readme_shows_the_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("<!-- strategies -->\n")[1].split("<!-- /strategies -->")[0]

    assert shown == costs.markdown(costs.stored()), REGENERATE


# Constants of the literature and of docs/certified-bounds.md, x = d / sqrt(M).
LARGE = {
    ("flash", "attention-forward"): 6,
    ("flash2", "attention-forward"): 4,
    ("attenio", "attention-forward"): 4,
    ("q-outer", "attention-forward"): 4,
    ("two-pass", "attention-forward:softmax=safe"): 5,
    ("flash2", "attention-backward"): 16,
    ("split", "attention-backward"): 14,
    ("q-outer", "attention-gradient"): 10,
}
SMALL = {
    ("saha-ye:tiles=outer", "attention-forward"): 4,
    ("standard", "attention-forward"): 4,
    ("algorithm6:tiles=outer", "attention-backward"): 10,
    ("algorithm6:tiles=outer", "attention-gradient"): 8,
}


def test_leading_constants_of_the_literature():
    for key, constant in LARGE.items():
        assert ROWS[key].leading[costs.LARGE] == f"{constant}*d**2*n**2/M"
    for key, constant in SMALL.items():
        assert ROWS[key].leading[costs.SMALL] == f"{constant}*d*n**2/sqrt(M)"


QUICK = [("split", "attention-backward"), ("flash", "attention-forward")]
# The others take seconds to fit all together.
KEYS = [pytest.param(k, id=":".join(k), marks=() if k in QUICK else pytest.mark.slow) for k in ROWS]


@pytest.mark.parametrize("key", KEYS)
def test_the_least_memory_is_what_fitting_gives(key):
    least = strategy(key[0]).least_memory(sized(key[1], 5, 4))

    assert least == at(ROWS[key].least_memory, n=5, d=4)


@pytest.mark.parametrize(
    "key", [key for key, row in ROWS.items() if row.operations != "1"], ids=":".join
)
def test_operations_are_what_counting_gives(key):
    row, how = ROWS[key], strategy(key[0])
    large = sized(row.workload, 1 << 14, 256)
    memory = 8 * 256**2 if costs.LARGE in row.leading else 4096
    once = large.formula().computed_size()
    ratio = how.count(large, memory).computes / once
    assert ratio == pytest.approx(float(sympy.Rational(row.operations)), rel=0.05)


@pytest.mark.parametrize("key", QUICK, ids=":".join)
def test_rows_are_what_the_code_derives(key):
    assert costs.cost(strategy(key[0]), sized(key[1], 8, 2)) == ROWS[key], REGENERATE


@pytest.mark.slow
def test_all_rows_are_what_the_code_derives():
    assert [costs.cost(how, what).to_json() for how, what in costs.pairs()] == [
        row.to_json() for row in costs.stored()
    ], REGENERATE


def test_list_prints_the_table():
    shown = CliRunner().invoke(main, ["list", "--strategies"]).stdout
    assert "4 √3 d n²/√M" in shown
    assert "7/5" in shown

    data = json.loads(CliRunner().invoke(main, ["list", "--strategies", "--json"]).stdout)
    assert [row["strategy"] for row in data["costs"]] == [name for name, _ in ROWS]
    assert data["costs"][0]["tiles"]


@pytest.mark.slow
def test_a_strategy_that_has_no_row_is_derived(monkeypatch):
    monkeypatch.setattr(costs, "stored", lambda: [r for k, r in ROWS.items() if k not in QUICK])

    assert costs.costs() == list(ROWS.values())
