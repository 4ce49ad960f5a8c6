"""`improve`: refereed, and as good as the known optima of small DAGs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lab.cli import main
from lab.improving import improve
from lab.playing import check
from pebble.errors import BudgetError


def test_improve_under_both_rules(tmp_path) -> None:
    path = tmp_path / "grid.txt"
    assert improve("grid:rows=3,columns=3", 3, trace=path).report.io == 5
    assert check(path).io == 5
    once = improve("grid:rows=3,columns=3", 3, "one-shot").report
    assert (once.io, once.recomputes) == (6, 0)
    with pytest.raises(BudgetError, match="M >= 3"):
        improve("grid:rows=3,columns=3", 2)


def test_command() -> None:
    arguments = ["improve", "pyramid:h=5", "-M", "4", "--time", "0.3", "--json"]
    data = json.loads(CliRunner().invoke(main, arguments).output)
    assert data["io"] == 15
    assert data["start"] >= 15
    text = CliRunner().invoke(main, [*arguments[:-1]]).output
    assert "best found: 15" in text
