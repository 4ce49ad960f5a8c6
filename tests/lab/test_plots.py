"""Pictures: what the artists hold is what was measured."""

import math
import sys

import matplotlib as mpl
import numpy as np
import pytest

from lab import Results, Row, io_versus, sweep
from lab.analysis import crossovers, fit_slope
from lab.picture import MARKERS, PALETTE
from lab.plots import figure, sheet
from pebble.errors import SpecError


@pytest.fixture(scope="module")
def results():
    return sweep(
        "attention-gradient:n=64,d=16", "naive,flash,algorithm6", "16:2048:x2", method="tally"
    )


@pytest.fixture(scope="module")
def ax(results):
    return io_versus(results)


def lines(ax, gid):
    return [line for line in ax.get_lines() if line.get_gid() == gid]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("strategy", ["naive", "flash", "algorithm6"])
def test_measured_points_are_the_rows(ax, results, strategy):
    (line,) = lines(ax, f"measured:{strategy}")

    rows = results.where(strategy=strategy)
    assert line.get_xdata().tolist() == [row.memory for row in rows]
    heights = [math.nan if row.io is None else row.io for row in rows]
    np.testing.assert_array_equal(line.get_ydata(), heights)


def test_points_that_could_not_be_played_are_gaps(ax):
    (line,) = lines(ax, "measured:flash")

    assert np.isnan(line.get_ydata()).tolist() == [True] * 3 + [False] * 5


def test_both_axes_are_logarithmic_and_lines_differ_in_colour_and_marker(ax):
    measured = [line for line in ax.get_lines() if str(line.get_gid()).startswith("measured")]

    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [line.get_color() for line in measured] == list(PALETTE[:3])
    assert [line.get_marker() for line in measured] == list(MARKERS[:3])


def test_theta_is_scaled_to_the_least_io_and_says_by_how_much(ax, results):
    (theta,) = lines(ax, "theta")
    best = {}
    for row in results.played:
        if row.in_regime:
            best[row.memory] = min(best.get(row.memory, math.inf), row.io_over_bound)
    scale = math.exp(sum(map(math.log, best.values())) / len(best))

    assert any(label.startswith(f"{scale:.3g} × Θ: ") for label in labels(ax))
    assert "li24-gradient, Li et al. 2024, Theorem 1.1" in ax.get_legend().get_title().get_text()
    # Drawn inside its regime alone, M <= n d, and never below inputs plus outputs.
    assert theta.get_xdata().min() == 16
    assert 0.95 * 1024 < theta.get_xdata().max() <= 1024
    assert theta.get_ydata().min() >= results[0].compulsory
    expected = scale * (64**2 * 16 + 64 * 16**2) / 4
    assert theta.get_ydata()[0] == pytest.approx(expected)


def test_floor_is_inputs_plus_outputs(ax):
    (floor,) = lines(ax, "floor")

    assert set(floor.get_ydata()) == {4 * 64 * 16 + 3 * 16**2}


def test_small_sizes_lift_theta_to_the_floor():
    # Twice the compulsory 4 n d at M = d**2, and exactly that much at M = n d.
    common = {"workload": "attention-forward:n=32,d=4", "sizes": {"n": 32, "d": 4}}
    common |= {"strategy": "best", "rules": "hk", "method": "referee", "stores": 0}
    common |= {"bound": "sy24-forward", "in_regime": True, "compulsory": 512}
    rows = [
        Row(memory=16, loads=1024, bound_value=1024.0, **common),
        Row(memory=128, loads=512, bound_value=128.0, **common),
    ]

    (theta,) = lines(io_versus(Results(rows)), "theta")

    assert theta.get_ydata()[0] == 2 * 1024  # scale: the square root of 1 * 4
    assert theta.get_ydata()[-1] == 512


def test_d_squared_and_the_regime_are_marked(ax):
    (switch,) = lines(ax, "switch")
    (grey,) = [patch for patch in ax.patches if patch.get_gid() == "outside"]

    assert set(switch.get_xdata()) == {256}
    assert "$M = d^{2}$" in texts(ax)
    assert grey.get_x() == pytest.approx(1024, rel=0.02)
    assert grey.get_x() + grey.get_width() == pytest.approx(ax.get_xlim()[1])


def test_the_measured_crossover_is_marked_and_labelled(ax, results):
    (ring,) = lines(ax, "crossover")
    (crossing,) = crossovers(results)

    assert ring.get_xdata()[0] == pytest.approx(crossing.x)
    assert ring.get_ydata()[0] == pytest.approx(crossing.io)
    # FlashAttention loses for small M and wins for large M.
    flash, tiles = (lines(ax, f"measured:{s}")[0].get_ydata() for s in ("flash", "algorithm6"))
    below = lines(ax, "measured:flash")[0].get_xdata() < crossing.x
    assert np.all((flash > tiles)[below & ~np.isnan(flash)])
    assert np.all((flash < tiles)[~below])
    (note,) = [text for text in texts(ax) if "crossover" in text]
    assert note == (
        f"measured crossover: {crossing.low} < M ≤ {crossing.high} "
        f"({crossing.low / 256:.2f} to {crossing.high / 256:.2f} d²)\n"
        "← algorithm6    flash →"
    )


def test_slopes_are_fitted_in_each_half_of_the_regime(ax, results):
    rows = results.where(strategy="algorithm6")
    small = fit_slope([(row.memory, row.io) for row in rows if row.memory <= 256])
    large = fit_slope([(row.memory, row.io) for row in rows if 256 <= row.memory <= 1024])

    powers = [rf"$\propto M^{{{fit.slope:.2f}}}$" for fit in (small, large)]
    assert f"algorithm6: {powers[0]} below $d^{{2}}$, {powers[1]} above" in labels(ax)
    assert "naive: constant" in labels(ax)


def test_the_second_axis_shows_m_over_d_squared(ax):
    (top,) = ax.child_axes

    ax.figure.canvas.draw()
    assert top.get_xlabel() == "M / d²"
    low, high = ax.get_xlim()
    assert top.get_xlim() == pytest.approx((low / 256, high / 256))
    forward = sweep("attention-forward:n=8,d=4", "naive", "4,8", method="tally")
    assert io_versus(forward, over_d2=False).child_axes == []


def test_ratio_is_flat_at_the_scale(results):
    drawn = io_versus(results, ratio=True)

    (line,) = lines(drawn, "measured:algorithm6")
    assert line.get_ydata().tolist() == [
        row.io_over_bound for row in results.where(strategy="algorithm6")
    ]
    (theta,) = lines(drawn, "theta")
    assert len(set(theta.get_ydata())) == 1
    assert lines(drawn, "floor") == []
    assert drawn.get_ylabel() == "I/O ÷ Θ"
    assert len(lines(drawn, "crossover")) == 1


def test_ratio_needs_a_theta():
    with pytest.raises(SpecError, match="no Θ is known for pyramid:h=3"):
        io_versus(sweep("pyramid:h=3", "naive", "3,4"), ratio=True)


def test_against_n_every_budget_is_a_curve():
    grid = sweep("attention-forward:n=32:256:x2,d=8", "flash", "64,256", method="tally")

    drawn = io_versus(grid, "n")

    for memory in (64, 256):
        (line,) = lines(drawn, f"measured:flash, M={memory}")
        assert line.get_xdata().tolist() == [32, 64, 128, 256]
        assert line.get_ydata().tolist() == [row.io for row in grid.where(memory=memory)]
    assert drawn.get_xlabel() == "n, sequence length"
    assert drawn.get_title(loc="left") == "attention-forward: n=32 … 256, d=8"


def test_axes_given_are_drawn_on_and_returned(results):
    fig, given = figure(3, 2)

    assert io_versus(results, ax=given, legend=False, title="") is given
    assert given.get_legend() is None
    assert given.get_title(loc="left") == ""
    assert tuple(fig.get_size_inches()) == (3, 2)


def test_a_sheet_has_both_panels_where_a_theta_is_known(results):
    upper, lower = sheet(results).axes

    assert lower.get_ylabel() == "I/O ÷ Θ"
    assert upper.get_xlim() == lower.get_xlim()
    assert len(sheet(sweep("pyramid:h=3", "naive", "3,4")).axes) == 1


def test_nothing_global_is_touched(results):
    before = dict(mpl.rcParams)
    loaded = "matplotlib.pyplot" in sys.modules

    sheet(results)

    assert dict(mpl.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_nothing_to_draw():
    with pytest.raises(SpecError, match="no point of these results was played"):
        io_versus(Results())


def test_one_point_alone_can_be_drawn(tmp_path):
    sheet(sweep("matmul:m=2,n=2,k=2", "naive", 4)).savefig(tmp_path / "one.png")

    assert (tmp_path / "one.png").stat().st_size > 1000
