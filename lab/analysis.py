"""What the rows of a sweep say: slopes on log axes, crossovers, the scale of a Θ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pebble.errors import SpecError

if TYPE_CHECKING:
    from lab.results import Results, Row

__all__ = ["Crossover", "Fit", "axis_value", "crossovers", "fit_scale", "fit_slope", "winner"]


class Fit(NamedTuple):
    """A straight line through the logarithms of some points.

    Attributes
    ----------
    slope : float
        Exponent: y grows like x to this power.
    error : float
        Standard error of the slope; nan with two points.
    points : int
        Number of points.
    """

    slope: float
    error: float
    points: int


@dataclass(frozen=True)
class Crossover:
    """Where the strategy with the least I/O changes.

    Attributes
    ----------
    row : Row
        The winner at the measured point before it.
    x : float
        Place on the axis, interpolated between two measured points, both axes logarithmic.
    io : float
        I/O there, interpolated likewise.
    before, after : str
        The strategies with the least I/O on the two sides.
    low, high : int
        The measured points that it lies between.
    """

    row: Row
    x: float
    io: float
    before: str
    after: str
    low: int
    high: int

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types; the workload is that of the measured point before."""
        names = ("x", "io", "before", "after", "low", "high")
        return {"workload": self.row.workload} | {name: getattr(self, name) for name in names}


def axis_value(row: Row, x: str) -> int:
    """Return a row's place on an axis: ``M``, or one of the workload's sizes."""
    if x == "M":
        return row.memory
    if x not in row.sizes:
        known = ", ".join(["M", *row.sizes])
        raise SpecError(
            f"{row.workload} has no size {x!r} to draw against; expected one of {known}"
        )
    return row.sizes[x]


def fit_slope(points: Iterable[tuple[float, float]]) -> Fit | None:
    """Fit a power law by least squares on logarithms; None with fewer than two places.

    Examples
    --------
    >>> fit = fit_slope([(1, 8), (2, 4), (4, 2)])
    >>> round(fit.slope, 6), round(fit.error, 6), fit.points
    (-1.0, 0.0, 3)
    """
    logs = np.array([(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0])
    if len(logs) < 2 or np.ptp(logs[:, 0]) == 0:
        return None
    x, y = logs[:, 0] - logs[:, 0].mean(), logs[:, 1] - logs[:, 1].mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    error = math.nan
    if len(logs) > 2:
        rest = y - slope * x
        error = math.sqrt(float(rest @ rest) / (len(logs) - 2) / spread)
    return Fit(slope, error, len(logs))


def fit_scale(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the constant that carries curve values to measured ones, in the mean of logarithms.

    Examples
    --------
    >>> fit_scale([(10, 20), (100, 800)])
    4.0
    """
    logs = [math.log(measured / value) for value, measured in pairs if value > 0 and measured > 0]
    return round(math.exp(sum(logs) / len(logs)), 12) if logs else None


def winner(rows: Iterable[Row]) -> Row | None:
    """Return the row with the least I/O; the first of equals, None where nothing was played."""
    played = [row for row in rows if row.io is not None]
    return min(played, key=lambda row: row.io or 0, default=None)


def crossovers(results: Results, x: str = "M") -> list[Crossover]:
    """Find where the strategy with the least I/O changes along an axis.

    Only points at which both strategies were played count: where one becomes playable and wins at
    once, nothing was crossed.

    Parameters
    ----------
    results : Results
        Rows of a sweep.
    x : str
        The axis: ``M``, or a size such as ``n``; every other quantity must be fixed for the
        comparison to mean anything, so rows are compared within equal ones.

    Returns
    -------
    list of Crossover
        By workload, then along the axis.

    Examples
    --------
    >>> from lab import sweep
    >>> grid = sweep("attention-gradient:n=32,d=8", "flash,algorithm6", "16:512:x2", method="tally")
    >>> [(c.before, c.after) for c in crossovers(grid)]
    [('algorithm6', 'flash')]
    """
    found = []
    for rows in series(results, x).values():
        found += _along(rows, x)
    return found


#: What a group of rows has in common, as (("workload", "matmul"), ("k", "4"), ("M", "64")).
Key = tuple[tuple[str, str], ...]


def series(results: Results, x: str) -> dict[Key, list[Row]]:
    """Group rows by everything but the strategy and the axis: one group, one set of curves.

    Along another axis than M, the budgets of different workloads belong together where they are
    equal, or the same multiple of d², or else the first with the first, the second with the
    second.

    Examples
    --------
    >>> from lab import sweep
    >>> grid = sweep("attention-forward:n=8,16,d=4", "naive", "d^2,4*d^2", method="tally")
    >>> for key in series(grid, "n"):
    ...     print(dict(key))
    {'workload': 'attention-forward', 'd': '4', 'rules': 'hk', 'M': '16'}
    {'workload': 'attention-forward', 'd': '4', 'rules': 'hk', 'M': '64'}
    """
    budgets = _Budgets(results) if x != "M" else None
    groups: dict[Key, list[Row]] = {}
    for row in results:
        axis_value(row, x)
        family, _, options = row.workload.partition(":")
        pieces = [piece.partition("=") for piece in options.split(",") if "=" in piece]
        key = [("workload", family if pieces else row.workload)]
        key += [(name, value) for name, _, value in pieces if name != x]
        key.append(("rules", row.rules))
        if budgets is not None:
            key.append(("M", budgets.name(row)))
        groups.setdefault(tuple(key), []).append(row)
    return groups


class _Budgets:
    """Finds which M of one workload corresponds to which of another."""

    def __init__(self, results: Results) -> None:
        self.each: dict[str, list[int]] = {}
        ratios: dict[str, list[str]] = {}
        for row in results:
            budgets = self.each.setdefault(row.workload, [])
            if row.memory not in budgets:
                budgets.append(row.memory)
                ratios.setdefault(row.workload, []).append(_ratio(row))
        self.equal = set.intersection(*map(set, self.each.values())) if self.each else set()
        alike = set.intersection(*map(set, ratios.values())) if ratios else set()
        self.alike = {
            ratio for ratio in alike if all(each.count(ratio) == 1 for each in ratios.values())
        }

    def name(self, row: Row) -> str:
        if row.memory in self.equal:
            return str(row.memory)
        if _ratio(row) in self.alike:
            return "d²" if _ratio(row) == "1" else f"{_ratio(row)} d²"
        return f"number {self.each[row.workload].index(row.memory) + 1}"


def _ratio(row: Row) -> str:
    # Two digits: a multiple of d² has been rounded to an integer.
    return "" if row.memory_over_d2 is None else f"{row.memory_over_d2:.2g}"


def _along(rows: Sequence[Row], x: str) -> list[Crossover]:
    places: dict[int, dict[str, int]] = {}
    for row in rows:
        if row.io:
            places.setdefault(axis_value(row, x), {})[row.strategy] = row.io
    found = []
    for low, high in pairwise(sorted(places)):
        left, right = places[low], places[high]
        before, after = min(left, key=left.__getitem__), min(right, key=right.__getitem__)
        # Equal I/O on both sides, or a strategy that was not played there, crosses nothing.
        if before == after or after not in left or before not in right:
            continue
        gap_low = math.log(left[after] / left[before])
        gap_high = math.log(right[before] / right[after])
        if gap_low + gap_high <= 0:
            continue
        share = gap_low / (gap_low + gap_high)
        place = math.exp(math.log(low) + share * math.log(high / low))
        io = math.exp(math.log(left[before]) + share * math.log(right[before] / left[before]))
        row = next(r for r in rows if axis_value(r, x) == low and r.strategy == before)
        found.append(Crossover(row, place, io, before, after, low, high))
    return found
