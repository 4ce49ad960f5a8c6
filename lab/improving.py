"""The best schedule that a local search finds for any DAG, refereed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lab.arguments import as_memory, as_rules, as_workload
from lab.playing import play
from lab.yardsticks import compulsory_of
from pebble.rules import HK, ONE_SHOT

if TYPE_CHECKING:
    from pathlib import Path

    from lab.arguments import MemoryLike, RulesLike, WorkloadLike
    from pebble.report import Report

__all__ = ["Improved", "improve"]

#: Share of the time that the local search gets; the rest goes to eviction and windows.
_SEARCH = 0.6
#: Windows where no time is given, and the most vertices of a graph whose windows are searched.
_WINDOWS, _MOST_WINDOWS = 300, 200_000


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
    searched : int
        Loads and stores of what the local search found, before its eviction and its windows were
        made the best they can be.
    windows : int
        Number of windows searched.
    """

    report: Report
    start: int
    evaluations: int
    searched: int
    windows: int


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

    Local search over orders comes first; what it finds gets the best eviction for its order, and
    short windows of it are played again at least cost by exact search (`strategies.windows`). Under
    rules that allow it, vertices may be computed again.

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
    from strategies.windows import polish

    what, judged_by = as_workload(workload), as_rules(rules)
    budget = as_memory(memory, what)
    again = not judged_by.one_shot
    how = LocalSearch(seed=seed, time=seconds, recompute="yes" if again else "no")
    how.require(what, budget)
    dag = what.dag()
    blocked = what.blocked_order(budget)
    enough = compulsory_of(dag)

    def tell(low: float, high: float) -> Callable[[float, int], None] | None:
        """Return a progress that fills the stretch from low to high."""
        if progress is None:
            return None
        return lambda share, best: progress(low + share * (high - low), best)

    found = local_search(
        dag,
        budget,
        recompute=again,
        orders=[] if blocked is None else [blocked],
        seed=seed,
        seconds=None if seconds is None else _SEARCH * seconds,
        progress=tell(0.0, _SEARCH),
    )
    best = np.concatenate([np.empty(0, np.uint32), *found.moves()])
    windows = 0
    if found.io > enough and len(dag) <= _MOST_WINDOWS:
        polished = polish(
            dag,
            best,
            budget,
            HK if again else ONE_SHOT,
            seconds=None if seconds is None else (1 - _SEARCH) * seconds,
            tries=_WINDOWS if seconds is None else None,
            seed=seed,
            enough=enough,
            progress=tell(_SEARCH, 1.0),
        )
        best, windows = polished.moves, polished.tried

    class Search(LocalSearch):
        """The search that has just been made, under its own text form."""

        def moves(self, *_: object) -> Iterator:  # type: ignore[type-arg]
            return iter([best])

    result = Search(seed=seed, time=seconds, recompute="yes" if again else "no")
    report = play(what, result, budget, judged_by, trace=trace, dag=dag)
    return Improved(report, found.start, found.evaluations, found.io, windows)
