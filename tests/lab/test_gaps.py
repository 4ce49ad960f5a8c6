"""The gap table: closed forms over certified bounds, in both regimes."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
import sympy
from click.testing import CliRunner

from graphs.registry import workload
from lab.cli import main
from lab.formulas import written
from lab.gaps import REGIMES, best_certified, gap_lines, gaps, ratios
from strategies.closed_form import leading_terms
from strategies.registry import strategy

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
LARGE, SMALL = REGIMES

# Constants derived by hand in docs/certified-bounds.md, and those of the schedules' loops.
HEADLINES = [
    ("attention-forward:n=64,d=8", "q-outer", LARGE, Fraction(1)),
    ("attention-forward:n=64,d=8", "flash", LARGE, Fraction(6, 4)),
    ("attention-backward:n=64,d=8", "split", LARGE, Fraction(1)),
    ("attention-backward:n=64,d=8", "flash2", LARGE, Fraction(16, 14)),
    ("attention-forward:n=64,d=8", "saha-ye:tiles=outer", SMALL, Fraction(1)),
]


def readme_rows():
    lines = README.split("<!-- gaps -->\n")[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip().strip("`*") for cell in line.strip("|").split("|")] for line in lines]
    return cells[0], cells[2:]


def check_readme(wanted):
    head, rows = readme_rows()
    families = {}
    rows = [row for row in rows if row[1] != "no play below" and wanted(row)]
    for family, name, *_ in rows:
        families.setdefault(family, []).append(name)

    found = []
    for family, names in families.items():
        text = family.replace(":", ":n=64,d=8,") if ":" in family else f"{family}:n=64,d=8"
        shown = gap_lines(gaps([text], names))
        assert head == shown[0]
        found += shown[2:]
        assert shown[1] in readme_rows()[1]

    assert rows == found, "replace these rows by those that `pebble list --gaps` prints"


def test_the_readmes_table_is_what_the_code_gives():
    cheap = {"q-outer", "flash", "flash2", "split", "saha-ye:tiles=outer"}
    check_readme(lambda row: row[1] in cheap and row[0] != "attention-gradient")


@pytest.mark.slow
def test_all_of_the_readmes_table_is_what_the_code_gives():
    check_readme(lambda row: True)


@pytest.mark.parametrize(("text", "how", "regime", "expected"), HEADLINES)
def test_headlines(text, how, regime, expected):
    (gap,) = (gap for gap in gaps([text], [how]) if gap.regime == regime)

    assert gap.ratio == sympy.Rational(expected.numerator, expected.denominator)
    assert gap.to_json()["optimal"] == (expected == 1)


def test_the_leading_term_is_where_the_counts_go():
    # A second way: the counts themselves, far inside the regime; 3d + 4 pebbles a row are not 3d.
    for text, how in (("attention-backward", "split"), ("attention-forward", "flash")):
        what = workload(f"{text}:n=16777216,d=128")
        term = leading_terms(strategy(how), workload(f"{text}:n=64,d=8"))[LARGE]
        n, d, M = sorted(term.free_symbols, key=lambda s: "ndM".index(s.name))
        value = float(term.subs({n: 1 << 24, d: 128, M: 1 << 21}))

        assert strategy(how).count(what, 1 << 21).io == pytest.approx(value, rel=0.02)


def test_no_bound_is_taken_outside_its_regime():
    backward = workload("attention-backward:n=64,d=8")

    assert best_certified(backward, LARGE)[0].name == "certified-backward"
    assert best_certified(backward, SMALL)[0].name == "certified-backward-small"
    assert best_certified(workload("fft:n=8"), LARGE) is None


def test_ratios_to_every_bound():
    found = {
        (each.regime, each.bound): each.ratio
        for each in ratios(workload("attention-backward:n=64,d=8"), ["split"])
    }
    d, M = (sympy.Symbol(name, positive=True, integer=True) for name in "dM")

    # 14 over 14, over 12 (loads alone), over a theta; in small cache 14 x^2 over 6 x.
    assert found[LARGE, "certified-backward"] == 1
    assert found[LARGE, "certified-backward-loads"] == sympy.Rational(14, 12)
    assert found[LARGE, "li24-backward"] == 14
    assert found[SMALL, "certified-backward-small"] == 7 * d / (3 * sympy.sqrt(M))
    assert (SMALL, "certified-backward") not in found


def test_formulas_are_written_as_by_hand():
    n, d, M, x = sympy.symbols("n d M x", positive=True)

    assert written(n**12 * d / (3 * sympy.sqrt(M) * M)) == "n¹²d/(3M√M)"
    assert written(sympy.Integer(0)) == "0"
    assert written(sympy.log(x)) == "log(x)"
    assert written(-n / 2) == "-n/2"


@pytest.mark.slow
def test_the_command_lists_every_strategy():
    result = CliRunner().invoke(main, ["list", "--gaps", "--json"])
    found = json.loads(result.output)["gaps"]

    assert {"split", "q-outer", "two-pass", "standard"} <= {gap["strategy"] for gap in found}
    shown = CliRunner().invoke(main, ["list", "--gaps"]).output
    assert "optimal" in shown
    assert "grows: d/√M" in shown
