"""Claims hold; a wrong strategy, exponent or reading of each family is rejected."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.verify import claim, claims, tolerances, verify
from lab.verify.crossovers import limit
from lab.verify.measuring import fit_powers
from pebble.errors import UnknownNameError

# Every claim that the literature has, by paper: none may be lost.
PAPERS = {
    "Li et al. 2024": 10,
    "Saha, Ye 2024": 4,
    "Dao et al. 2022": 4,
    "Hong, Kung 1981": 2,
}


def failing(verdict):
    return [check.name for check in verdict.checks if not check.holds]


def test_every_paper_has_its_claims():
    found = {}
    for each in claims():
        found[each.source] = found.get(each.source, 0) + 1
    assert {paper: found[paper] >= least for paper, least in PAPERS.items()} == dict.fromkeys(
        PAPERS, True
    )


def test_fitted_powers_and_their_errors_are_those_of_textbook_regression():
    # y = 5 x^3 exactly but for one point; slope and error by the formulas for one variable.
    xs, ys = [1.0, 2.0, 4.0, 8.0], [5.0, 40.0, 320.0, 2800.0]
    a, b = [math.log(x) for x in xs], [math.log(y) for y in ys]
    mean_a, mean_b = sum(a) / 4, sum(b) / 4
    spread = sum((x - mean_a) ** 2 for x in a)
    slope = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / spread
    rest = [y - mean_b - slope * (x - mean_a) for x, y in zip(a, b, strict=True)]
    error = math.sqrt(sum(r * r for r in rest) / 2 / spread)

    (found,) = fit_powers([(x,) for x in xs], ys)

    assert (found.exponent, found.error) == pytest.approx((slope, error))
    with pytest.raises(ValueError, match="too few"):
        fit_powers([(1.0,), (1.0,), (1.0,)], [1.0, 2.0, 3.0])


def test_a_limit_with_its_error():
    generator = np.random.default_rng(1)
    heads = [16, 32, 64, 128, 256, 512, 1024]
    noise = generator.normal(0, 0.01, len(heads))
    c, error, correction = limit(
        heads, [0.7 + 5 / d + e for d, e in zip(heads, noise, strict=True)]
    )
    assert abs(c - 0.7) < 3 * error < 0.05
    assert correction == pytest.approx(5, abs=1)


# One claim of each family in its quick form; the slow test takes them all.
@pytest.mark.parametrize(
    "name",
    ["dao22-no-better", "li24-sparse", "hk81-fft"],
)
def test_a_claim_holds(name):
    verdict = claim(name).measure(quick=True)
    assert failing(verdict) == []
    assert len({tuple(row) for row in verdict.rows}) == 1


WRONG = [
    ("dao22-no-better", {"exponents": (2, 1, -0.5)}, "certified bound / order, least"),
    ("li24-sparse", {"reading": "every"}, "block-diagonal count / bound, exponent of n"),
    ("li24-sparse", {"boundary": -0.5}, "where the regimes meet"),
]
SLOW_WRONG = [
    ("dao22-block-sparse", {"exponents": (2, 2, -1)}, "exponents of the I/O above 4nd in s, n, M"),
    ("dao22-block-sparse", {"strategy": "naive"}, "exponents of the I/O above 4nd in s, n, M"),
    # The small-cache schedule where FlashAttention is needed, and the other way round.
    ("sy24-forward-large", {"strategy": "saha-ye"}, "exponents of the count in n, d, M"),
    ("sy24-forward-large", {"strategy": "naive"}, "count / certified bound, most"),
    ("sy24-forward-large", {"exponents": (2, 1, -0.5)}, "exponents of the count in n, d, M"),
    ("li24-gradient-short", {"exponents": (2, 1, -0.5)}, "exponents of the count in n, d, M"),
    ("dao22-forward", {"standard": "flash2"}, "exponent of M/d^2 in the gain"),
    ("hk81-matmul", {"exponents": (1, 1, 1, -1)}, "exponents of the count in m, n, k, M"),
    ("hk81-matmul", {"strategy": "naive"}, "count / certified bound, most"),
    ("sy24-forward-small", {"strategy": "flash"}, "exponents of the count in n, d, M"),
    ("sy24-forward-small", {"exponents": (2, 2, -1)}, "certified bound / Θ, least"),
    ("li24-backward-large", {"strategy": "algorithm6"}, "exponents of the count in n, d, M"),
    ("li24-backward-small", {"strategy": "split"}, "exponents of the count in n, d, M"),
    ("li24-gradient-large", {"strategy": "algorithm6"}, "exponents of the count in n, d, M"),
    ("li24-gradient-small", {"strategy": "flash"}, "exponents of the count in n, d, M"),
    ("sy24-crossover", {"power": 1}, "limit c of M/d^1 = c + c'/d"),
    ("sy24-crossover", {"large": "saha-ye", "small": "flash"}, "crossings found"),
    ("li24-backward-crossover", {"power": 1.5}, "exponent of d from d = 128 on"),
    ("li24-gradient-crossover", {"power": 1}, "where the terms of the Θ meet"),
    (
        "sy24-flash-below",
        {"strategy": "saha-ye"},
        "exponent of d/sqrt(M) in the ratio of saha-ye",
    ),
    ("li24-backward-flash-below", {"rival": "flash"}, "ratio of flash, most"),
    ("li24-gradient-flash-below", {"power": 2}, "exponent of d/sqrt(M) in the ratio of flash"),
    ("dao22-backward", {"standard": "split"}, "exponent of M/d^2 in the gain"),
    ("hk81-fft", {"exponents": (1, 0)}, "exponents of the count in n log n, log M"),
    ("hk81-fft", {"strategy": "naive"}, "exponents of the count in n log n, log M"),
]


def check_wrong(name, change, where):
    verdict = replace(claim(name), **change).measure(quick=True)
    assert not verdict.holds
    assert where in failing(verdict)


@pytest.mark.parametrize(("name", "change", "where"), WRONG)
def test_a_wrong_claim_is_rejected(name, change, where):
    check_wrong(name, change, where)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change", "where"), SLOW_WRONG)
def test_more_wrong_claims_are_rejected(name, change, where):
    check_wrong(name, change, where)


@pytest.mark.slow
def test_each_claim_has_a_wrong_one():
    assert {each.id for each in claims()} == {name for name, _, _ in WRONG + SLOW_WRONG}


@pytest.mark.slow
def test_every_claim_holds():
    assert {each.id: failing(verdict) for each, verdict in verify().items()} == {
        each.id: [] for each in claims()
    }


def test_an_unknown_claim_names_close_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'sy24-crossover'"):
        claim("sy24-crosover")
    done = CliRunner().invoke(main, ["verify", "hk81-mathmul", "--out", "nowhere"])
    assert done.exit_code == 2
    assert "hk81-matmul" in done.stderr
    assert done.stdout == ""


def test_the_command_writes_a_figure_and_a_csv_of_each_claim(tmp_path):
    out = tmp_path / "a" / "b"
    arguments = ["verify", "dao22-no-better", "--quick", "--out", str(out), "--format", "svg"]
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["claims"]
    assert {"name", "statement", "reference", "predicted", "measured", "holds"} <= set(found)
    assert found["holds"] is True
    assert sorted(path.name for path in out.iterdir()) == [
        "dao22-no-better.csv", "dao22-no-better.svg",
    ]  # fmt: skip
    with (out / "dao22-no-better.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    # At M = n d the order is n d, and inputs and outputs are 4 n d.
    assert {line["ratio"] for line in lines if line["M_over_nd"] == "1.0"} == {"4.0"}


def test_a_claim_that_does_not_hold_says_so_and_exits_1(monkeypatch):
    # No bound reaches a constant of a thousand.
    monkeypatch.setattr("lab.verify.flash.LEAST", 1000)
    done = CliRunner().invoke(main, ["verify", "dao22-no-better", "--quick"])
    assert done.exit_code == 1
    assert "DOES NOT HOLD" in done.stdout
    assert "does not hold: dao22-no-better" in done.stdout


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = CliRunner().invoke(main, ["verify", "--quick", "--out", str(tmp_path / "taken")])
    assert done.exit_code == 2
    assert (tmp_path / "taken").read_text() == "mine"


def test_the_figure_holds_the_measured_points():
    from lab.plots import figure

    verdict = claim("dao22-no-better").measure(quick=True)
    _, ax = figure()
    assert verdict.draw(ax) is ax
    drawn = sorted(y for line in ax.get_lines() for y in line.get_ydata())
    assert drawn == sorted(row["ratio"] for row in verdict.rows)


def test_tolerances_tell_the_theorems_exponents_apart():
    assert 0 < 2 * tolerances.EXPONENT < 1 - 0.5
