"""What the rows of a sweep say: slopes on log axes, crossovers, the scale of a Θ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

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
    workload : str
        Text form; empty where the workload itself varies along the axis.
    x : float
        Place on the axis, interpolated between two measured points, both axes logarithmic.
    io : float
        I/O there, interpolated likewise.
    before, after : str
        The strategies with the least I/O on the two sides.
    low, high : int
        The measured points that it lies between.
    """

    workload: str
    x: float
    io: float
    before: str
    after: str
    low: int
    high: int


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
    >>> fit_slope([(1, 8), (2, 4), (4, 2)])
    Fit(slope=-1.0, error=0.0, points=3)
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


def series(results: Results, x: str) -> dict[tuple[object, ...], list[Row]]:
    """Group rows by everything but the strategy and the axis: one group, one set of curves.

    Along another axis than M, the budgets of each workload are matched by value where all
    workloads have the same, and otherwise by rank, so that ``0.25*d^2,4*d^2`` gives two groups.
    """
    budgets: dict[str, list[int]] = {}
    for row in results:
        budgets.setdefault(row.workload, []).append(row.memory)
    budgets = {workload: sorted(set(each)) for workload, each in budgets.items()}
    alike = len({tuple(each) for each in budgets.values()}) == 1
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in results:
        axis_value(row, x)
        key: tuple[object, ...] = (row.workload, row.rules)
        if x != "M":
            rank = budgets[row.workload].index(row.memory)
            key = (_family(row, x), row.rules, row.memory if alike else rank)
        groups.setdefault(key, []).append(row)
    return groups


def _family(row: Row, x: str) -> str:
    """Return the workload's text form without the size that varies."""
    return re.sub(rf"(?<=[:,]){re.escape(x)}=\d+", f"{x}=", row.workload)


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
        workload = rows[0].workload if x == "M" else ""
        found.append(Crossover(workload, place, io, before, after, low, high))
    return found
