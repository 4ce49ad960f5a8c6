"""The README's numbers and commands, and the examples, are what the code gives."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab import sweep
from lab.cli import main
from lab.layers import bytes_text

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_demos_table():
    lines = README.split("<!-- demo -->\n")[1].split("\n\n")[0].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert head == ["M", "M/d²", "naive", "flash", "algorithm6", "least I/O"]

    memories = [int(row[0].replace(",", "")) for row in rows]
    strategies = head[2:5]
    counted = sweep("attention-gradient:n=128,d=32", strategies, memories, method="tally")
    for memory, row in zip(memories, rows, strict=True):
        points = {point.strategy: point.io for point in counted.where(memory=memory)}
        best = min((io, name) for name, io in points.items() if io is not None)[1]
        shown = ["–" if points[name] is None else f"{points[name]:,}" for name in strategies]
        assert row[1:] == [f"{memory / 1024:.3g}", *shown, best]


COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
]


#: Searches, sweeps and pictures take their time, and have tests of their own.
LONG = {"animate", "explore", "gap", "improve", "picture", "sweep", "verify"}


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_command_of_the_readme_runs(long):
    chosen = [command for command in COMMANDS if long or command.split()[1] not in LONG]
    assert len(chosen) > 5
    for command in chosen:
        program, *arguments = shlex.split(command)
        done = CliRunner().invoke(main, arguments)
        assert (program, done.exit_code) == ("pebble", 0), f"{command}: {done.output}"


def test_every_file_that_the_readme_names_is_there():
    named = re.findall(r"`((?:pebble|graphs|strategies|bounds|lab|examples)/[\w./]*)`", README)

    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def example(name, *arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    return capsys.readouterr().out


def test_the_example_of_a_picture(folder, monkeypatch, capsys):
    arguments = ("--n", "32", "--d", "8", "--out", "a.png", "--referee")

    out = example("io_versus_memory.py", *arguments, monkeypatch=monkeypatch, capsys=capsys)

    assert re.search(r"algorithm6 moves least at M = \d+ \(\d\.\d+ d²\), flash at M = \d+", out)
    assert (folder / "a.png").stat().st_size > 10_000


def test_the_example_of_ones_own_dag(monkeypatch, capsys):
    out = example("your_own_dag.py", monkeypatch=monkeypatch, capsys=capsys)

    # 24 inputs and 24 outputs; with 32 pebbles a row and a bit fit, and nothing else is moved.
    assert "inputs + outputs: 48" in out
    assert re.search(r"M = 32: .*belady 48", out)
    # Vertex by vertex: 3 loads and a store for 22 cells of 8 rows, 2 and 1 for the two others.
    assert f"M =  4: I/O of naive {8 * (22 * 4 + 2 * 3)}" in out
    assert "the trace is legal and moves 405" in out
    assert "under M = 7: step 17: COMPUTE u[1,3] would make 8 red: delete one first" in out


def test_the_example_of_ones_own_model(monkeypatch, capsys):
    arguments = ("--d", "16", "--n", "64", "--heads", "2", "--layers", "3", "--batch", "5")
    more = ("--bytes", "fp16", "--strategies", "flash,flash2")

    out = example("your_model.py", *arguments, *more, monkeypatch=monkeypatch, capsys=capsys)

    # No play moves less than Q, K, V, dO in and O, dQ, dK, dV out, once each: for 2 x 3 heads and
    # 5 sequences, in bytes of two.
    assert bytes_text(8 * 64 * 16 * 2 * 3 * 5 * 2) in out.splitlines()[-1]
    assert "no less than" in out


def test_the_example_of_ones_own_strategy(monkeypatch, capsys):
    out = example("your_own_strategy.py", monkeypatch=monkeypatch, capsys=capsys)

    # By hand: of 150, a row of K and one of V take 16, temporaries 3, and a row of Q with its sums
    # 17: seven rows, ten blocks. Q and O are moved once, K and V once for each block.
    n, d, blocks = 64, 8, -(-64 // ((150 - 16 - 3) // 17))
    assert f"I/O          {2 * n * d + 2 * n * d * blocks:,} " in out
    assert "I/O = 2*T_a*d*n + 2*d*n" in out
    assert "it is attention: True" in out
    assert re.search(r"check_strategy: \d+ plays, every promise kept", out)


def test_the_example_of_a_lecture(folder, monkeypatch, capsys):
    out = example("teaching_a_lecture.py", "--stills", "2", monkeypatch=monkeypatch, capsys=capsys)

    # Six inputs and the output, and with three pebbles two of the three products wait outside.
    assert "the homework has par 11" in out
    assert "COMPUTE r needs q red" in out
    assert re.search(r"ada.txt: I/O \d+, \d+ above par", out)
    assert "bob.txt: step 4: LOAD b would make 4 red" in out
    made = {path.name for path in (folder / "lecture").iterdir()}
    assert {"lecture.html", "flash.png", "flash.gif", "grades.csv"} <= made


def test_the_example_that_verifies_a_paper(monkeypatch, capsys):
    arguments = ("--n", "16384", "--d", "64")

    out = example("verify_li24.py", *arguments, monkeypatch=monkeypatch, capsys=capsys)

    judged = re.findall(r"refereed (\d+), counted (\d+)", out)
    assert len(judged) == 2
    assert all(refereed == counted for refereed, counted in judged)
    below, above = (float(x) for x in re.findall(r"I/O ~ M\^(-\d\.\d+)", out))
    assert abs(below + 1 / 2) < 0.15  # d is small: terms of n² tell
    assert abs(above + 1) < 0.1
