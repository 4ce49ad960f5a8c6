"""The gap against M: published optima, bounds below, plays above, and what the picture shows."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.gap_curve import GapCurve, GapPoint, gap_curve
from lab.gap_plot import gap_plot
from lab.least import Interval, least
from lab.playing import play
from pebble.errors import BudgetError, SpecError
from pebble.rules import HK, Rules
from tests.strategies.table import optima


@pytest.fixture(scope="module")
def pyramid() -> GapCurve:
    return gap_curve("pyramid:h=4", "2:7:+1", seconds=0.8)


def test_published_optima(pyramid: GapCurve) -> None:
    known = {r.memory: r.io for r in optima() if r.text == "pyramid:h=4" and not r.one_shot}
    assert {p.memory: p.least.upper for p in pyramid.points if p.memory in known} == known
    assert [p.memory for p in pyramid.points] == [3, 4, 5, 6, 7]  # 2 is too small
    for point in pyramid.points:
        assert point.least.exact
        assert point.schedules["belady"] == play("pyramid:h=4", "belady", point.memory).io
        assert all(value <= point.least.lower for value in point.bounds.values())
        assert point.best is not None
        assert point.best[1] >= point.least.upper


@pytest.mark.slow
def test_intervals_hold_the_optimum_and_neighbours_narrow_them() -> None:
    curve = gap_curve("fft:n=8", [4, 5, 9], seconds=0.4, strategies="belady,flash")
    for point, value in zip(curve.points, (31, 26, 17), strict=True):
        assert point.least.lower <= value <= point.least.upper
        assert "flash" not in point.schedules  # it does not play this
    uppers = [point.least.upper for point in curve.points]
    lowers = [point.least.lower for point in curve.points]
    assert uppers == sorted(uppers, reverse=True)
    assert lowers == sorted(lowers, reverse=True)


def test_other_rules() -> None:
    from graphs.registry import workload

    fft = workload("fft:n=4")
    known = least(fft, 4, Rules.parse("graphio"), seconds=20)
    assert known is not None
    assert known.upper == 4  # published
    assert least(workload("fft:n=256"), 6, Rules.parse("graphio"), seconds=0.2) is None


def test_the_picture_shows_the_points(pyramid: GapCurve) -> None:
    ax = gap_plot(pyramid)
    lines = {line.get_gid(): line.get_ydata() for line in ax.get_lines()}
    assert np.array_equal(lines["optimum"], [18, 10, 8, 6, 6])
    assert np.array_equal(lines["schedule:belady"], [p.schedules["belady"] for p in pyramid.points])
    assert "bound:compulsory" in lines
    assert not [band for band in ax.collections if band.get_gid() == "interval"]
    open_points = (
        GapPoint(3, Interval(5, 9), "span", "local search", {"belady": None}, {}),
        GapPoint(4, Interval(5, 5), "span", "local search", {"belady": 6}, {"span": 5}),
    )
    ax = gap_plot(GapCurve("x", HK, open_points), title="")
    lines = {line.get_gid(): np.asarray(line.get_ydata()) for line in ax.get_lines()}
    assert [band.get_gid() for band in ax.collections] == ["interval"]
    assert np.isnan(lines["optimum"][0])
    assert np.isnan(lines["schedule:belady"][0])
    assert lines["bound:span"][1] == 5
    with pytest.raises(SpecError, match="nothing to draw"):
        gap_plot(GapCurve("x", HK, ()))


def test_command(tmp_path) -> None:
    def run(*words: object):
        return CliRunner().invoke(main, ["gap", *map(str, words)])

    files = [tmp_path / name for name in ("gap.csv", "gap.json", "gap.png")]
    outs = [word for file in files for word in ("--out", file)]
    done = run("pyramid:h=3", "-M", "2:5:+1", "--time", 1, *outs, "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert [point["upper"] for point in data["points"]] == [11, 7, 5]
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [rows[0][key] for key in ("memory", "lower", "upper")] == ["3", "11", "11"]
    assert json.loads(files[1].read_text())["points"] == data["points"]
    assert files[2].read_bytes().startswith(b"\x89PNG")
    text = run("pyramid:h=3", "-M", "2:5:+1", "--time", 1).stdout
    assert "1 values of M are too small: M >= 3" in text
    for words, says in [
        (("-M", "2"), "M >= 3"),
        (("-M", "4", "--out", tmp_path / "gap.txt"), "picture"),
        (("-M", "4", "--strategy", "beladi"), "did you mean"),
        (("-M", "four"), "four"),
    ]:
        wrong = run("pyramid:h=3", *words)
        assert wrong.exit_code == 2
        assert says in wrong.stderr


def test_misuse() -> None:
    with pytest.raises(BudgetError, match="M >= 3"):
        gap_curve("pyramid:h=3", [1, 2])
    with pytest.raises(SpecError, match="at least one M"):
        gap_curve("pyramid:h=3", [])
    with pytest.raises(SpecError, match=r"\.csv or \.json"):
        GapCurve("x", HK, ()).write("gap.parquet")
