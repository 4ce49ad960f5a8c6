"""The optimum of a workload, or an interval that holds it, with the play written to a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.arguments import as_memory, as_rules, as_workload
from pebble.rules import HK

if TYPE_CHECKING:
    from pathlib import Path

    from lab.arguments import MemoryLike, RulesLike, WorkloadLike
    from strategies.optimum.solver import Solution

__all__ = ["solve"]


def solve(
    workload: WorkloadLike,
    memory: MemoryLike,
    rules: RulesLike = HK,
    *,
    time: float | None = None,
    trace: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Solution:
    """Find the least cost of pebbling a workload, and a play of that cost.

    Parameters
    ----------
    workload : str, Workload or Dag
        What to compute, as ``matmul:m=2,n=2,k=2``; a graph file; a DAG.
    memory : int or str
        M, or a formula in the workload's sizes.
    rules : str or Rules
        Conventions.
    time : float, optional
        Seconds after which to stop with an interval.
    trace : path, optional
        Write the play there, ``.txt`` or ``.pbl``.
    progress : callable, optional
        Called now and then with the number of states stored.

    Returns
    -------
    Solution
        See `strategies.optimum.solver.Solution`.

    Examples
    --------
    >>> print(solve("pyramid:h=4", 4))
    optimum 10 (M=4, rules hk)
    """
    from pebble.trace import Header, write_trace
    from strategies.optimum.solver import solve as search

    what, rules = as_workload(workload), as_rules(rules)
    budget, dag = as_memory(memory, what), what.dag()
    found = search(dag, budget, rules, time=time, progress=progress)
    if trace is not None:
        how = "optimal" if found.finished else "best found by the exact search"
        header = Header(str(what), dag.fingerprint, len(dag), budget, rules, how)
        write_trace(trace, header, found.moves, graph=dag)
    return found
