"""Rows of results: they read back as written, and damage is told."""

import json

import pytest

from lab import Results, sweep
from lab.results import COLUMNS, ResultsError
from pebble.errors import SpecError, UnknownNameError
from pebble.files import FileError


@pytest.fixture(scope="module")
def results():
    return sweep("attention-forward:n=6,d=2,fft:n=4", "naive,flash", "4:64:x4")


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_round_trip(results, tmp_path, suffix):
    path = tmp_path / f"rows.{suffix}"

    results.write(path)

    assert Results.read(path) == results
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_csv_has_a_column_for_every_size(results, tmp_path):
    results.write(tmp_path / "rows.csv")

    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0].startswith("workload,n,d,strategy,memory,memory_over_d2,rules,method,status,")
    assert lines[1].startswith('"attention-forward:n=6,d=2",6,2,naive,4,1.0,hk,referee,ok,')
    assert lines[4].startswith('"attention-forward:n=6,d=2",6,2,flash,4,1.0,hk,referee,needs M >= ')
    assert "fft:n=4,4,,naive,4,,hk,referee,ok," in lines[7]


def test_json_has_the_columns_as_keys(results, tmp_path):
    results.write(tmp_path / "rows.json")

    data = json.loads((tmp_path / "rows.json").read_text())
    assert data["format"] == "pebble-results 1"
    assert set(data["rows"][0]) == {*COLUMNS, "sizes"}
    assert data["rows"][0]["io"] == results[0].io
    assert data["rows"][3]["io"] is None


def test_frame(results):
    frame = results.to_frame()

    assert len(frame) == len(results)
    assert frame["io"].dtype == "Int64"
    assert frame["io"].isna().tolist() == [not row.played for row in results]
    naive = frame[(frame.strategy == "naive") & (frame.n == 6)]
    assert naive["io"].tolist() == [row.io for row in results if row.strategy == "naive"][:3]


def test_numbers_of_more_than_64_bits(tmp_path):
    n = 10**15
    results = sweep(f"attention-forward:n={n},d=64", "naive,flash", "2,4096", method="tally")
    assert any(row.io > 2**63 for row in results.played)

    for suffix in ("csv", "json", "parquet"):
        results.write(tmp_path / f"rows.{suffix}")
        assert Results.read(tmp_path / f"rows.{suffix}") == results
    frame = results.to_frame()
    assert frame["n"].dtype == "Int64"
    assert [None if not row.played else row.io for row in results] == [
        cell if isinstance(cell, int) else None for cell in frame["io"]
    ]


def test_choosing_rows(results):
    assert results.strategies == ["naive", "flash"]
    assert results.workloads == ["attention-forward:n=6,d=2", "fft:n=4"]
    assert results.memories == [4, 16, 64]
    assert [row.strategy for row in results.where(n=6, memory=4)] == ["naive", "flash"]
    assert len(results.where(status="ok")) == len(results.played)
    assert results[:2] + results[2:] == results
    with pytest.raises(UnknownNameError, match="unknown column 'memry'; did you mean 'memory'"):
        results.where(memry=4)


def test_no_rows_at_all(tmp_path):
    for suffix in ("csv", "json"):
        Results().write(tmp_path / f"none.{suffix}")
        assert Results.read(tmp_path / f"none.{suffix}") == Results()


def test_other_endings_are_refused(results, tmp_path):
    with pytest.raises(SpecError, match=r"written as \.csv, \.json, \.parquet, not '\.xls'"):
        results.write(tmp_path / "rows.xls")
    with pytest.raises(SpecError, match=r"rows\.xls"):
        Results.read(tmp_path / "rows.xls")


def test_a_folder_that_is_not_there(results, tmp_path):
    with pytest.raises(FileError, match="No such file or directory"):
        results.write(tmp_path / "nowhere" / "rows.csv")
    with pytest.raises(ResultsError, match="no such file"):
        Results.read(tmp_path / "nowhere" / "rows.csv")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "a,b\n1,2\n",
        lambda text: text.replace("strategy", "way", 1),
        lambda text: text[: len(text) // 2],
        lambda text: text[:-3],
        lambda text: text[:-3] + "\n",
        lambda text: text.replace("referee,ok,", "referee,ok,9", 1),  # loads changed, io not
        lambda text: text.replace("referee,ok,", "referee,lost,", 1),
        lambda text: text.replace("referee,ok,", "referee,ok,x", 1),
        lambda text: "\x00\x01",
    ],
)
def test_damaged_csv(results, tmp_path, damage):
    path = tmp_path / "rows.csv"
    results.write(path)
    text = path.read_text()
    assert damage(text) != text
    path.write_text(damage(text))

    with pytest.raises(ResultsError, match="run the sweep again"):
        Results.read(path)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "other 1", "rows": []}', '{"format": "pebble-results 1"}']
)
def test_foreign_json(tmp_path, text):
    path = tmp_path / "rows.json"
    path.write_text(text)

    with pytest.raises(ResultsError, match="holds no results of a sweep"):
        Results.read(path)


def test_foreign_parquet(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_text("PAR0")

    with pytest.raises(ResultsError, match="holds no results of a sweep"):
        Results.read(path)


def test_without_pandas_the_remedy_is_named(results, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)

    with pytest.raises(SpecError, match=r"pip install 'redblue-pebble\[frames\]'"):
        results.to_frame()


def test_a_half_written_file_is_never_left(results, tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("old")
    monkeypatch.setattr("csv.writer", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        results.write(path)

    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]
    assert path.read_text() == "old"
