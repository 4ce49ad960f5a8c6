"""The compulsory bound: what every play moves, whatever M is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound, Problem

__all__ = ["compulsory"]


def compulsory(problem: Problem) -> DagBound:
    """Each needed input is loaded at least once, each computed output stored at least once.

    Examples
    --------
    >>> from bounds.dag_bound import Problem
    >>> from graphs.registry import workload
    >>> print(compulsory(Problem.of(workload("fft:n=8").dag(), 4)))
    compulsory: at least 16 loads and stores (rules hk; by definition of the game)
    """
    loads, stores = problem.loaded.size, problem.stored.size
    return problem.bound(
        "compulsory",
        loads + stores,
        "by definition of the game",
        detail=f"{loads} inputs, {stores} outputs",
    )
