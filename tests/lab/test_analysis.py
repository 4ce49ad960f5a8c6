"""Slopes, scales and crossovers, on rows whose answers are known by hand."""

import math

import pytest

from lab import Results, Row, crossovers
from lab.analysis import axis_value, fit_scale, fit_slope, series, winner
from pebble.errors import SpecError


def row(strategy, memory, io, n=64, d=16, **more):
    status = "ok" if io is not None else "needs M >= 99"
    counts = {"loads": io, "stores": 0} if io is not None else {}
    return Row(
        workload=f"attention-gradient:n={n},d={d}",
        sizes={"n": n, "d": d},
        strategy=strategy,
        memory=memory,
        rules="hk",
        method="referee",
        status=status,
        **counts,
        **more,
    )


def curve(strategy, memories, io):
    return [row(strategy, M, io(M)) for M in memories]


def test_slope_of_a_power_law_and_its_error():
    exact = fit_slope([(x, 7 * x**-1.5) for x in (1, 3, 10, 50)])

    assert exact.slope == pytest.approx(-1.5)
    assert exact.error == pytest.approx(0, abs=1e-12)
    # By hand: x = -1, 0, 1 and y = 0, 1, 0 in logarithms: slope 0, residual 2/3, spread 2.
    bent = fit_slope([(math.exp(x), math.exp(y)) for x, y in [(-1, 0), (0, 1), (1, 0)]])
    assert bent.slope == pytest.approx(0, abs=1e-12)
    assert bent.error == pytest.approx(math.sqrt(2 / 3 / 1 / 2))
    assert math.isnan(fit_slope([(1, 1), (2, 4)]).error)


def test_no_slope_without_two_places():
    assert fit_slope([]) is None
    assert fit_slope([(2, 3), (2, 4)]) is None


def test_scale_is_the_mean_of_logarithms():
    assert fit_scale([(1, 2), (1, 8)]) == 4
    assert fit_scale([]) is None


def test_winner_ignores_gaps_and_prefers_the_first_of_equals():
    assert winner([row("a", 4, None), row("b", 4, 9), row("c", 4, 9)]).strategy == "b"
    assert winner([row("a", 4, None)]) is None


def test_a_crossing_is_found_where_two_power_laws_meet():
    memories = [16, 64, 256, 1024]
    rows = curve("flash", memories, lambda M: 10**6 // M)
    rows += curve("tiles", memories, lambda M: round(10**6 / 10 / math.sqrt(M)))

    (found,) = crossovers(Results(rows))

    assert (found.before, found.after, found.low, found.high) == ("tiles", "flash", 64, 256)
    assert found.x == pytest.approx(100, rel=0.01)  # sqrt(M) = 10
    assert found.io == pytest.approx(10**4, rel=0.01)
    assert found.to_json()["workload"] == "attention-gradient:n=64,d=16"


def test_gaps_and_single_strategies_cross_nothing():
    rows = [row("a", 4, 10), row("b", 4, None), row("a", 8, 10), row("b", 8, 5)]

    assert crossovers(Results(rows)) == []
    assert crossovers(Results(curve("a", [4, 8], lambda M: 9))) == []
    assert crossovers(Results([])) == []


def test_crossings_back_and_forth_are_all_found():
    rows = [row("a", M, io) for M, io in [(4, 1), (8, 4), (16, 1)]]
    rows += [row("b", M, 2) for M in (4, 8, 16)]

    found = crossovers(Results(rows))

    assert [(c.before, c.after) for c in found] == [("a", "b"), ("b", "a")]
    assert found[0].x == pytest.approx(math.sqrt(32))


def test_crossings_are_sought_within_one_workload():
    rows = [
        row("a", 4, 1, n=64),
        row("b", 4, 2, n=64),
        row("a", 8, 2, n=128),
        row("b", 8, 1, n=128),
    ]

    assert crossovers(Results(rows)) == []
    (found,) = crossovers(Results([*rows[:2], row("a", 4, 2, n=128), row("b", 4, 1, n=128)]), "n")
    assert found.x == pytest.approx(64 * math.sqrt(2))


def test_axis_must_exist():
    assert axis_value(row("a", 4, 1), "M") == 4
    assert axis_value(row("a", 4, 1), "d") == 16
    with pytest.raises(SpecError, match="no size 'k' to draw against; expected one of M, n, d"):
        axis_value(row("a", 4, 1), "k")


def test_budgets_of_different_sizes_are_matched():
    rows = [
        row("a", M, 1, d=d) for d in (8, 16, 32) for M in (64, round(0.3 * d**2), d**2 + d, 7 + d)
    ]

    keys = [dict(key)["M"] for key in series(Results(rows), "d")]

    # 64 is common to all; 0.3 d² up to rounding; the two others go by their rank.
    assert keys[:2] == ["64", "0.3 d²"]
    assert keys[2:] == ["number 3", "number 4"]
