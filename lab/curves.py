"""What a picture of a sweep shows, as numbers: measured points, fits, the Θ, its regime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.analysis import Fit, axis_value, fit_scale, fit_slope, series, winner
from lab.yardsticks import values_at
from pebble.errors import SpecError

if TYPE_CHECKING:
    from bounds.bound import Bound
    from lab.analysis import Key
    from lab.results import Results, Row

__all__ = ["Curves", "Scene"]

#: Points of a curve that is drawn from its formula.
FINE = 241

Points = tuple[list[float], list[float]]


@dataclass
class Curves:
    """Rows that share everything but the strategy and the place on the axis.

    Attributes
    ----------
    rows : list of Row
        The rows.
    x : str
        The axis.
    suffix : str
        What tells this group from the others; empty if there are none.
    bound : Bound or None
        The Θ of the workload.
    """

    rows: list[Row]
    x: str
    suffix: str
    bound: Bound | None

    @cached_property
    def places(self) -> list[int]:
        """Measured places on the axis, ascending."""
        return sorted({axis_value(row, self.x) for row in self.rows})

    def at(self, place: int) -> list[Row]:
        """Return the rows at a place."""
        return [row for row in self.rows if axis_value(row, self.x) == place]

    @property
    def meeting(self) -> Any:
        """M as a formula in the sizes, where the two regimes of the Θ meet; None if it has one."""
        return None if self.bound is None else _meeting(self.bound)

    @cached_property
    def switch(self) -> float | None:
        """The place where the two regimes meet, on an axis of M."""
        if self.x != "M" or self.meeting is None:
            return None
        sizes = self.rows[0].sizes
        return float(self.meeting.subs({s: sizes[str(s)] for s in self.meeting.free_symbols}))

    def measured(self, strategy: str, *, ratio: bool) -> Points:
        """Return places and heights of a strategy's points; nan where there is no count."""
        rows = [row for row in self.rows if row.strategy == strategy]
        rows.sort(key=lambda row: axis_value(row, self.x))
        heights = [row.io_over_bound if ratio else row.io for row in rows]
        return (
            [float(axis_value(row, self.x)) for row in rows],
            [math.nan if height is None else float(height) for height in heights],
        )

    def slopes(self, strategy: str, *, ratio: bool) -> list[Fit]:
        """Fit a strategy's points inside the regime; its two halves each, if both have three."""
        inside = {place for place in self.places if self.at(place)[0].in_regime is not False}
        pairs = zip(*self.measured(strategy, ratio=ratio), strict=True)
        points = [(a, b) for a, b in pairs if a in inside and math.isfinite(b)]
        parts = [points]
        if self.switch is not None:
            switch = self.switch
            parts = [[p for p in points if p[0] <= switch], [p for p in points if p[0] >= switch]]
            if min(map(len, parts)) < 3:
                parts = [points]
        return [fit for fit in map(fit_slope, parts) if fit is not None]

    def growth(self, slopes: Sequence[float]) -> str:
        """Word fitted slopes as powers of the axis: one, or one on each side of the switch.

        A slope that is zero to two places reads "constant".
        """
        powers = [_power(self.x, slope) for slope in slopes]
        if not powers:
            return ""
        if len(set(powers)) == 1:
            return powers[0]
        import sympy

        meeting = f"${sympy.latex(self.meeting)}$"
        return f"{powers[0]} below {meeting}, {powers[1]} above"

    def values(self, place: float) -> dict[str, float]:
        """Return the sizes that the Θ needs at a place, measured or (on an axis of M) not."""
        assert self.bound is not None
        if self.x == "M":
            return values_at(self.bound, self.rows[0].sizes, place)
        row = self.at(int(place))[0]
        return values_at(self.bound, row.sizes, row.memory)

    def theta(self, scale: float, *, ratio: bool) -> Points:
        """Return max(inputs + outputs, scale × Θ) inside the regime; for ratios, the scale."""
        places: list[float] = [float(place) for place in self.places]
        if self.x == "M" and len(places) > 1:
            places = np.geomspace(places[0], places[-1], FINE).tolist()
        found: Points = ([], [])
        for place in places if self.bound is not None else ():
            assert self.bound is not None
            values = self.values(place)
            if self.bound.holds(**values):
                height = max(scale * self.bound.evaluate(**values), self.least(place))
                found[0].append(place)
                found[1].append(scale if ratio else height)
        return found

    def least(self, place: float) -> float:
        """Return inputs plus outputs at a place, 0 where they are not known."""
        rows = self.rows if self.x == "M" else self.at(int(place))
        return float(max((row.compulsory or 0 for row in rows), default=0))

    def floor(self) -> Points:
        """Return inputs plus outputs along the axis."""
        known = [(float(place), self.least(place)) for place in self.places if self.least(place)]
        return [place for place, _ in known], [least for _, least in known]


class Scene:
    """All groups of a sweep along one axis, and what they share.

    Examples
    --------
    >>> from lab import sweep
    >>> scene = Scene(sweep("attention-forward:n=64,128,d=4", "flash", "64", method="tally"), "n")
    >>> [round(fit.slope, 2) for fit in scene.groups[0].slopes("flash", ratio=False)]
    [1.99]
    """

    def __init__(self, results: Results, x: str) -> None:
        self.results, self.x = results, x
        groups = series(results, x)
        suffixes = _suffixes(groups)
        self.groups = [
            Curves(rows, x, suffix, _bound(rows))
            for rows, suffix in zip(groups.values(), suffixes, strict=True)
        ]
        places = [axis_value(row, x) for row in results]
        self.low, self.high = float(min(places)), float(max(places))

    @cached_property
    def bounded(self) -> list[Curves]:
        """Groups that have a Θ."""
        return [group for group in self.groups if group.bound is not None]

    @cached_property
    def bound_names(self) -> str:
        """Names and sources of the Θ, for a legend."""
        bounds = dict.fromkeys(g.bound for g in self.groups if g.bound is not None)
        return "; ".join(f"{b.name}, {b.reference.partition(' (')[0]}" for b in bounds)

    @cached_property
    def scale(self) -> float | None:
        """The constant that carries the Θ to the least measured I/O, inside its regime."""
        pairs = []
        for group in self.bounded:
            for place in group.places:
                best = winner(group.at(place))
                if best is not None and best.in_regime and best.bound_value and best.io:
                    pairs.append((best.bound_value, best.io))
        return fit_scale(pairs)

    @cached_property
    def head_size(self) -> int | None:
        """The head dimension, if all workloads have the same."""
        sizes = {row.sizes.get("d") for row in self.results}
        return sizes.pop() if len(sizes) == 1 else None

    def outside(self, low: float, high: float) -> list[tuple[float, float]]:
        """Return the stretches between two places that lie in the regime of no group's Θ."""
        if not self.bounded:
            return []
        if self.x == "M":
            places = np.geomspace(max(low, 1.0), high, 4 * FINE).tolist()
            edges = places
        else:
            places = sorted({float(place) for group in self.bounded for place in group.places})
            middles = [math.sqrt(a * b) for a, b in pairwise(places)]
            edges = [low, *middles, high]
        inside = [any(self._holds(group, place) for group in self.bounded) for place in places]
        spans: list[tuple[float, float]] = []
        for i, holds in enumerate(inside):
            if holds or (self.x == "M" and i + 1 == len(places)):
                continue
            left, right = edges[i], edges[i + 1]
            if spans and spans[-1][1] == left:
                spans[-1] = (spans[-1][0], right)
            else:
                spans.append((left, right))
        return spans

    def _holds(self, group: Curves, place: float) -> bool:
        assert group.bound is not None
        if self.x != "M" and place not in group.places:
            return False
        return group.bound.holds(**group.values(place))

    def title(self) -> str:
        """Return the workloads in a few words."""
        works = self.results.workloads
        if len(works) == 1:
            return works[0]
        families = list(dict.fromkeys(work.partition(":")[0] for work in works))
        if len(families) > 1:
            return ", ".join(families[:3]) + (", …" if len(families) > 3 else "")
        sizes: dict[str, list[int]] = {}
        for row in self.results:
            for name, size in row.sizes.items():
                if size not in sizes.setdefault(name, []):
                    sizes[name].append(size)
        words = [
            f"{name}={values[0]}" + (f" … {values[-1]}" if len(values) > 1 else "")
            for name, values in sizes.items()
        ]
        return f"{families[0]}: {', '.join(words)}"


def _power(name: str, slope: float) -> str:
    rounded = round(slope, 2) + 0.0  # no negative zero
    return f"$\\propto {name}^{{{rounded:.2f}}}$" if rounded else "constant"


@cache
def _meeting(bound: Bound) -> Any:
    from bounds.bound import crossover

    try:
        return crossover(bound)
    except SpecError:  # one regime
        return None


def _bound(rows: list[Row]) -> Bound | None:
    from bounds.theorems import all_theorems

    named = {bound.name: bound for bound in all_theorems()}
    return next((named[row.bound] for row in rows if row.bound in named), None)


def _suffixes(groups: dict[Key, list[Row]]) -> list[str]:
    """Name what tells groups apart; nothing when there is one."""
    every = [dict(key) for key in groups]
    names = dict.fromkeys(name for key in every for name in key)
    differing = [name for name in names if len({key.get(name) for key in every}) > 1]
    suffixes = []
    for key, rows in zip(every, groups.values(), strict=True):
        words = []
        for name in differing:
            value = key.get(name, "")
            if name == "M" and value.startswith("number"):
                budgets = sorted({row.memory for row in rows})
                value = f"{budgets[0]} to {budgets[-1]}"
            words.append(value if name in {"workload", "rules"} else f"{name}={value}")
        suffixes.append(f", {', '.join(words)}" if words else "")
    return suffixes
