"""pebble page and pebble grade."""

import csv
import json

import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.page.levels import find_level
from pebble.trace import Header, write_trace


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], standalone_mode=False)


@pytest.fixture
def traces(tmp_path):
    level = find_level("recompute")
    write_trace(tmp_path / "best.txt", Header.of(level.dag, 3), level.moves())
    write_trace(tmp_path / "cut.txt", Header.of(level.dag, 3), level.moves()[:-1])
    (tmp_path / "own.txt").write_text("L x\nC b\n")
    other = find_level("grid")
    write_trace(tmp_path / "other.pbl", Header.of(other.dag, 3), other.moves())
    return tmp_path


def test_page_is_written(tmp_path):
    out = tmp_path / "page.html"
    result = run(
        "page", "--level", "grid", "--workload", "fft:n=4", "-M", 4, "--out", out, "--json"
    )
    assert json.loads(result.output)["levels"] == ["grid", "fft:n=4"]
    assert out.read_text().count("<script>") == 1


def test_text_cannot_break_out_of_the_page(tmp_path):
    level = {"format": "pebble-level 1", "edges": ["x y -> z"], "memory": 3}
    (tmp_path / "l.json").write_text(json.dumps(level | {"goal": "</script><script>boom()"}))
    out = tmp_path / "page.html"
    assert run("page", "--level", tmp_path / "l.json", "--out", out).exception is None
    assert "<script>boom" not in out.read_text()


def test_grades(traces):
    files = [traces / name for name in ("best.txt", "cut.txt", "own.txt", "other.pbl")]
    out = traces / "grades.csv"
    result = run("grade", *files, "--level", "recompute", "--out", out, "--json")
    best, cut, own, other = json.loads(result.output)["grades"]
    assert (best["legal"], best["io"], best["above_par"], best["stars"]) == (True, 2, 0, 3)
    assert "with output top not blue; it is red only: store it" in cut["reason"]
    assert own["reason"].startswith("step 2: COMPUTE b needs a red")
    assert "belongs to another graph" in other["reason"]
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["legal"] for row in rows] == ["True", "False", "False", "False"]


def test_too_large_a_graph_is_refused(tmp_path):
    result = run("page", "--workload", "fft:n=64", "-M", 4, "--out", tmp_path / "x.html")
    assert "the board shows at most 150" in str(result.exception)
    assert not (tmp_path / "x.html").exists()


def test_a_level_without_par_is_graded_by_the_optimum(tmp_path):
    level = {"format": "pebble-level 1", "edges": ["x y -> z", "z y -> t"], "memory": 3}
    (tmp_path / "mine.json").write_text(json.dumps(level))
    (tmp_path / "play.txt").write_text("L x\nL y\nC z\nS z\nD x\nC t\nS t\n")
    data = json.loads(
        run("grade", tmp_path / "play.txt", "--level", tmp_path / "mine.json", "--json").output
    )
    # Two inputs and one output; storing z was for nothing.
    assert (data["par"], data["grades"][0]["above_par"]) == (3, 1)


def test_every_strategy_that_can_play_is_there_to_watch():
    from lab.page.assembly import page_level

    plays = page_level(find_level("flash"))["plays"]
    titles = [play["title"] for play in plays]
    assert titles[:4] == ["naive", "standard", "flash", "the best possible play"]
    assert {"lru", "belady", "attenio", "flash2"} <= {p["title"] for p in plays if p.get("other")}
    assert len(set(titles)) == len(titles)
