"""Every bound that can be computed from a DAG alone, each for the rules asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bounds.compulsory import compulsory
from bounds.dag_bound import Clock, Problem, Progress
from bounds.decomposition import Solver, decomposition
from bounds.first_output import first_output
from bounds.partition import span
from bounds.spectral import spectral
from bounds.wavefront import published_wavefront, wavefront
from pebble.rules import GRAPHIO, HK, Rules

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound
    from pebble.dag import Dag

__all__ = ["best_bound", "bounds_of"]


def bounds_of(
    dag: Dag,
    memory: int,
    rules: Rules = HK,
    *,
    time: float | None = None,
    progress: Progress | None = None,
    solver: Solver | None = None,
) -> list[DagBound]:
    """Return the bounds on loads plus stores that hold for a DAG under rules, best first.

    Where recomputation is allowed, the wavefront and the spectral bound are false and left out;
    under partial computation all but the compulsory one.

    Parameters
    ----------
    dag : Dag
        Any DAG.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions; default Hong and Kung's.
    time : float, optional
        Time budget in seconds; bounds that it cuts short say so and hold all the same.
    progress : callable, optional
        Called as ``progress(name, part)`` with the part done, from 0 to 1, of the bound named.
    solver : callable, optional
        Exact solver for the pieces of `bounds.decomposition`; without one there is no such bound.

    Raises
    ------
    BudgetError
        If M is less than the DAG can be played with.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.rules import ONE_SHOT
    >>> for bound in bounds_of(workload("grid:rows=6,columns=6").dag(), 3, ONE_SHOT):
    ...     print(bound.name, bound.value, bound.recomputation)
    wavefront 10 False
    compulsory 2 True
    first output 2 True
    spectral 2 False
    span 1 True
    """
    clock = Clock(time)
    problem = Problem.of(dag, memory, rules)
    if rules.partial:  # the others need all operands of a compute red at once
        return [compulsory(problem)]
    found = [compulsory(problem), first_output(problem)]
    savage = span(problem)
    if savage is not None:
        found.append(savage)
    exact = 0.5 if solver is not None else 1.0
    if not problem.recomputation:
        found.append(spectral(problem, clock.share(0.5 * exact), progress))
        found.append(wavefront(problem, clock.share(exact), progress))
        if rules == GRAPHIO:
            found.append(published_wavefront(problem, clock.share(exact), progress))
    if solver is not None:
        found.append(decomposition(problem, solver, clock, progress))
    return sorted(found, key=lambda bound: -bound.value)


def best_bound(
    dag: Dag,
    memory: int,
    rules: Rules = HK,
    *,
    time: float | None = None,
    progress: Progress | None = None,
    solver: Solver | None = None,
) -> DagBound:
    """Return the largest of `bounds_of`; parameters as there."""
    return bounds_of(dag, memory, rules, time=time, progress=progress, solver=solver)[0]
