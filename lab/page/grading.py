"""Grading of traces: legal or why not, I/O, distance to par."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pebble.errors import PebbleError

if TYPE_CHECKING:
    from lab.page.levels import Level

__all__ = ["Grade", "grade", "write_grades"]


@dataclass(frozen=True)
class Grade:
    """What one trace is worth.

    Attributes
    ----------
    file : str
        The trace's file.
    legal : bool
        Whether it is a legal play that ends with every output blue.
    io, computes, moves : int or None
        Counts of a legal play.
    par : int or None
        The level's least I/O, where it is known.
    above_par : int or None
        I/O beyond par.
    stars : int
        0 for a play that is not legal, 3 for par.
    reason : str
        Why it is not legal, or a remark.
    """

    file: str
    legal: bool
    io: int | None = None
    computes: int | None = None
    moves: int | None = None
    par: int | None = None
    above_par: int | None = None
    stars: int = 0
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def grade(files: Iterable[str | Path], level: Level) -> list[Grade]:
    """Referee traces of a level, by the level's own graph, M and rules.

    A trace that cannot be read, belongs to another graph or breaks a rule gets a row that says so;
    what its header claims of M and rules is not believed.

    Examples
    --------
    >>> from lab.page.levels import find_level
    >>> grade(["missing.txt"], find_level("pyramid"))[0].reason
    'cannot read missing.txt: No such file or directory'
    """
    return [_grade(Path(file), level) for file in files]


def _grade(path: Path, level: Level) -> Grade:
    from pebble.referee import referee
    from pebble.trace import read_trace

    try:
        trace = read_trace(path)
        report = referee(level.dag, trace.chunks(level.dag), level.memory, level.rules)
    except PebbleError as error:
        return Grade(str(path), legal=False, par=level.par, reason=str(error))
    remark = ""
    if trace.header is not None and trace.header.memory != level.memory:
        remark = f"its header says M={trace.header.memory}, the level has M={level.memory}"
    return Grade(
        str(path),
        legal=True,
        io=report.io,
        computes=report.computes,
        moves=report.moves,
        par=level.par,
        above_par=None if level.par is None else report.io - level.par,
        stars=level.stars(report.io),
        reason=remark,
    )


def write_grades(path: str | Path, grades: Sequence[Grade]) -> None:
    """Write grades as csv, under a temporary name first."""
    from pebble.files import replacing

    columns = [field.name for field in fields(Grade)]
    with (
        replacing(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(g.to_json() for g in grades)
