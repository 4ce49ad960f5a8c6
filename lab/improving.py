"""The best schedule that a local search finds for any DAG, refereed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.arguments import as_memory, as_rules, as_workload
from lab.playing import play
from pebble.rules import HK

if TYPE_CHECKING:
    from pathlib import Path

    from lab.arguments import MemoryLike, RulesLike, WorkloadLike
    from pebble.report import Report

__all__ = ["Improved", "improve"]


@dataclass(frozen=True)
class Improved:
    """What a search found.

    Attributes
    ----------
    report : Report
        The referee's counts of the best schedule.
    start : int
        Loads and stores of the best order that the search started from.
    evaluations : int
        Number of schedules judged.
    """

    report: Report
    start: int
    evaluations: int


def improve(
    workload: WorkloadLike,
    memory: MemoryLike,
    rules: RulesLike = HK,
    *,
    seconds: float | None = None,
    seed: int = 1,
    trace: str | Path | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Improved:
    """Search for a schedule of a workload with few loads and stores; the referee counts.

    Under rules that allow it, vertices may be computed again.

    Parameters
    ----------
    workload, memory, rules
        What to play, M, and the conventions.
    seconds : float, optional
        Time to spend; a few seconds at most by default.
    seed : int
        Seed of every random choice.
    trace : path, optional
        Write the best schedule there.
    progress : callable, optional
        Called now and then with the share of the budget used and the best number so far.

    Examples
    --------
    >>> found = improve("grid:rows=3,columns=3", 3)
    >>> found.start, found.report.io
    (6, 5)
    """
    from strategies.local_search import LocalSearch, local_search

    what, judged_by = as_workload(workload), as_rules(rules)
    budget = as_memory(memory, what)
    again = not judged_by.one_shot
    how = LocalSearch(seed=seed, time=seconds, recompute="yes" if again else "no")
    how.require(what, budget)
    dag = what.dag()
    blocked = what.blocked_order(budget)
    found = local_search(
        dag,
        budget,
        recompute=again,
        orders=[] if blocked is None else [blocked],
        seed=seed,
        seconds=seconds,
        progress=progress,
    )

    class Search(LocalSearch):
        """The search that has just been made, under its own text form."""

        def moves(self, *_: object) -> Iterator:  # type: ignore[type-arg]
            return found.moves()

    result = Search(seed=seed, time=seconds, recompute="yes" if again else "no")
    report = play(what, result, budget, judged_by, trace=trace, dag=dag)
    return Improved(report, found.start, found.evaluations)
