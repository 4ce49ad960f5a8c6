"""The gap against M: the optimum or its interval, the best schedule, and the bounds."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.arguments import as_rules, as_strategy, as_workload
from lab.least import Interval, Least, least, number, plain
from lab.ranges import read_range, split_specs
from pebble.errors import PebbleError, SpecError
from pebble.rules import HK

if TYPE_CHECKING:
    from fractions import Fraction

    from graphs.registry import Workload
    from lab.arguments import RulesLike, WorkloadLike
    from pebble.dag import Dag
    from pebble.rules import Rules

__all__ = ["SCHEDULES", "GapCurve", "GapPoint", "check_ending", "describe", "gap_curve"]

#: Schedules that are tried unless others are named; those that do not play are left out.
SCHEDULES = "best,belady,cost-aware"

_ENDINGS = (".csv", ".json")


@dataclass(frozen=True)
class GapPoint:
    """What is known at one M.

    Attributes
    ----------
    memory : int
        M.
    least : Interval
        The least cost of any play, or what it lies between.
    lower_by, upper_by : str
        What its ends rest on.
    schedules : dict of str to cost or None
        Cost of each schedule, refereed; None where it does not play with this M.
    bounds : dict of str to int
        Lower bounds by name.
    """

    memory: int
    least: Interval
    lower_by: str
    upper_by: str
    schedules: dict[str, int | Fraction | None]
    bounds: dict[str, int]

    @property
    def best(self) -> tuple[str, int | Fraction] | None:
        """Name and cost of the best of the schedules; None where none plays."""
        costs = [(cost, name) for name, cost in self.schedules.items() if cost is not None]
        return (min(costs)[1], min(costs)[0]) if costs else None

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        schedules = {k: None if v is None else plain(v) for k, v in self.schedules.items()}
        best = self.best
        return {
            "memory": self.memory,
            **self.least.to_json(),
            "lower_by": self.lower_by,
            "upper_by": self.upper_by,
            "best_schedule": None if best is None else best[0],
            "best_cost": None if best is None else plain(best[1]),
            "schedules": schedules,
            "bounds": self.bounds,
        }


@dataclass(frozen=True)
class GapCurve:
    """Points by ascending M, with what they are about."""

    workload: str
    rules: Rules
    points: tuple[GapPoint, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        return {
            "workload": self.workload,
            "rules": str(self.rules),
            "points": [point.to_json() for point in self.points],
        }

    def to_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return columns and rows, one per M: bounds and schedules have a column each."""
        schedules = list(dict.fromkeys(name for p in self.points for name in p.schedules))
        bounds = list(dict.fromkeys(name for p in self.points for name in p.bounds))
        columns = ["workload", "rules", "memory", "lower", "upper", "lower_by", "upper_by"]
        columns += [f"schedule {name}" for name in schedules] + [f"bound {name}" for name in bounds]
        rows = []
        for point in self.points:
            row = [self.workload, str(self.rules), point.memory]
            row += [plain(point.least.lower), plain(point.least.upper)]
            row += [point.lower_by, point.upper_by]
            costs = [point.schedules.get(name) for name in schedules]
            row += ["" if cost is None else plain(cost) for cost in costs]
            row += [point.bounds.get(name, "") for name in bounds]
            rows.append(row)
        return columns, rows

    def write(self, path: str | Path) -> None:
        """Write the points, ``.csv`` or ``.json``.

        Raises
        ------
        SpecError
            If the name ends otherwise.
        """
        from pebble.files import replacing

        path = Path(path)
        check_ending(path)
        with (
            replacing(path) as temporary,
            temporary.open("w", encoding="utf-8", newline="") as file,
        ):
            if path.suffix.lower() == ".json":
                json.dump(self.to_json(), file, indent=2)
            else:
                columns, rows = self.to_table()
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(rows)


def check_ending(path: Path) -> None:
    """Raise unless `GapCurve.write` can write a file of this name."""
    if path.suffix.lower() not in _ENDINGS:
        raise SpecError(f"cannot write {path}: expected a name that ends in .csv or .json")


def gap_curve(
    workload: WorkloadLike,
    memories: str | Iterable[int],
    rules: RulesLike = HK,
    *,
    strategies: str | Sequence[str] = SCHEDULES,
    seconds: float = 5.0,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
) -> GapCurve:
    """Find, for every M, the optimum or its interval, and hold schedules and bounds against it.

    Parameters
    ----------
    workload : str, Workload or Dag
        What to compute.
    memories : str or integers
        Values of M, or a range such as ``3:12:+1``.
    rules : str or Rules
        Conventions.
    strategies : str or sequence of str
        Schedules to play besides; those that do not play the workload are left out.
    seconds : float
        Time to spend for each M, compilation not counted.
    seed : int
        Seed of the local search.
    progress : callable, optional
        Called with the number of points done.

    Notes
    -----
    More memory never costs more, so that each end of an interval also serves the neighbours: the
    lower end those with less memory, the upper end those with more.

    Raises
    ------
    BudgetError
        If even the greatest M is less than the graph can be pebbled with; smaller ones are
        left out.

    Examples
    --------
    >>> curve = gap_curve("pyramid:h=4", "3:6:+1")
    >>> [str(point.least) for point in curve.points]
    ['18', '10', '8', '6']
    """
    what, judged_by = as_workload(workload), as_rules(rules)
    wanted = read_range(memories, what.sizes()) if isinstance(memories, str) else sorted(memories)
    dag = what.dag()
    lowest = max(1, judged_by.least_memory(dag))
    if not wanted:
        raise SpecError("expected at least one M")
    judged_by.check_memory(dag, max(wanted))
    names = split_specs(strategies) if isinstance(strategies, str) else list(strategies)
    points = []
    for memory in (m for m in wanted if m >= lowest):
        points.append(_point(what, dag, memory, judged_by, names, seconds, seed))
        if progress is not None:
            progress(len(points))
    for name in names:  # what plays with no M at all is not worth a column
        if all(point.schedules[name] is None for point in points):
            for point in points:
                del point.schedules[name]
    return GapCurve(str(what), judged_by, tuple(_tightened(points)))


def _point(
    what: Workload,
    dag: Dag,
    memory: int,
    rules: Rules,
    names: list[str],
    seconds: float,
    seed: int,
) -> GapPoint:
    from lab.playing import play
    from lab.yardsticks import certified_least

    schedules: dict[str, int | Fraction | None] = {}
    for name in names:
        strategy = as_strategy(name)
        try:
            schedules[name] = play(what, strategy, memory, rules, dag=dag).cost
        except PebbleError:  # it does not play this, or not with so little memory
            schedules[name] = None
    costs = [(cost, name) for name, cost in schedules.items() if cost is not None]
    known = min(costs) if costs else None
    bounds = {}
    certified = certified_least(what, memory, rules)
    if certified is not None:
        bounds["certified"] = int(certified.value)
    found: Least | None = least(
        what, memory, rules, seconds=seconds, dag=dag, known=known, seed=seed,
        note=lambda bound: bounds.__setitem__(bound.name, int(bound.value)),
    )  # fmt: skip
    if found is None:
        raise SpecError(
            f"no play of {what} is known under the rules {rules}: take a smaller graph, or a "
            "schedule that plays by them"
        )
    interval = Interval(found.lower, found.upper)
    return GapPoint(memory, interval, found.lower_by, found.upper_by, schedules, bounds)


def _tightened(points: list[GapPoint]) -> list[GapPoint]:
    """Let each point's interval profit from those with more and with less memory."""
    result = list(points)
    for i in range(1, len(result)):
        here, before = result[i], result[i - 1]
        if before.least.upper < here.least.upper:
            span = Interval(here.least.lower, before.least.upper)
            by = (
                before.upper_by
                if "with M" in before.upper_by
                else (f"{before.upper_by} with M = {before.memory}")
            )
            result[i] = dataclasses.replace(here, least=span, upper_by=by)
    for i in range(len(result) - 2, -1, -1):
        here, after = result[i], result[i + 1]
        if after.least.lower > here.least.lower:
            span = Interval(after.least.lower, here.least.upper)
            by = (
                after.lower_by
                if "with M" in after.lower_by
                else (f"{after.lower_by} with M = {after.memory}")
            )
            result[i] = dataclasses.replace(here, least=span, lower_by=by)
    return result


def describe(point: GapPoint) -> str:
    """Return one line about a point.

    Examples
    --------
    >>> print(describe(gap_curve("pyramid:h=3", [4]).points[0]))
    M=4: optimum 7 (exact search); best schedule belady 7
    """
    by = point.lower_by if point.least.exact else f"{point.lower_by}; {point.upper_by}"
    best = point.best
    tail = "" if best is None else f"; best schedule {best[0]} {number(best[1])}"
    return f"M={point.memory:,}: optimum {point.least} ({by}){tail}"
