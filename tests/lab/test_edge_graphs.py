"""Graphs at the edge, through every command that plays or bounds: an answer, or a refusal."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lab.cli import main

#: Commands with what they need beside a graph and M.
COMMANDS = {
    "play": ["--strategy", "belady"],
    "solve": ["--time", "5"],
    "improve": ["--time", "0.05"],
    "bound": [],
    "explain": ["--strategy", "naive", "--time", "0.5"],
}

#: Graphs with their least M and least I/O.
DEFINED = {
    "one input": ([[]], None, 1, 0),
    "the only output is an input": ([[]], [0], 1, 0),
    "no outputs": ([[], [0]], [], 1, 0),
    "one output is an input": ([[], [0]], [0, 1], 2, 2),
    "isolated inputs": ([[], [], [0], []], None, 2, 2),
    "vertices that no output needs": ([[], [0], [0, 1], [0]], [3], 2, 2),
    "only isolated vertices": ([[], [], []], [], 1, 0),
}

REFUSED = {
    "no vertices": ([], None, "the graph is empty: expected at least one vertex"),
    "a cycle": ([[1], [0]], None, "the graph is cyclic"),
    "its own operand": ([[], [1]], None, "is its own predecessor: remove the self-loop"),
    "a missing operand": ([[], [7]], None, "which does not exist"),
    "a missing output": ([[], [0]], [7], "outputs must be vertices 0 to 1"),
}


def _run(command: str, tmp_path, rows, outputs, memory):
    path = tmp_path / "g.json"
    data = {"format": "pebble-dag 1", "predecessors": rows}
    path.write_text(json.dumps(data | ({} if outputs is None else {"outputs": outputs})))
    words = [command, str(path), "--memory", str(memory), *COMMANDS[command], "--json"]
    return CliRunner().invoke(main, words)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", DEFINED)
def test_defined(command: str, name: str, tmp_path) -> None:
    rows, outputs, memory, io = DEFINED[name]
    done = _run(command, tmp_path, rows, outputs, memory)
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    if command == "bound":
        lower = [b for b in data["bounds"] if b.get("kind") == "lower" and "value" in b]
        assert all(bound["value"] <= io for bound in lower)
    elif command == "solve":
        assert (data["lower"], data["upper"], data["finished"]) == (io, io, True)
    else:
        assert data["io"] == io
    if command == "explain":
        assert data["is_optimal"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(command: str, name: str, tmp_path) -> None:
    rows, outputs, says = REFUSED[name]
    done = _run(command, tmp_path, rows, outputs, 3)
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1  # before anything is compiled


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("memory", ["2", "0", "-1", "1.5", "many"])
def test_too_little_memory(command: str, memory: str, tmp_path) -> None:
    done = _run(command, tmp_path, [[], [], [0, 1]], None, memory)
    assert done.exit_code == 2
    if memory == "2":
        assert "M >= 3" in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
