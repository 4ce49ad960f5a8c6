"""Bounds of a workload's own DAG, where it is small enough to be built for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphs.registry import GivenDag
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound, Progress
    from graphs.registry import Workload
    from pebble.dag import Dag
    from strategies.optimum.solver import Solution

__all__ = ["MOST_VERTICES", "dag_bounds_of", "is_small", "piece_solver"]

#: Larger DAGs are not built for their bounds: eigenvalues and cuts would take minutes.
MOST_VERTICES = 60_000
#: Without a formula the number of vertices is not known beforehand, only the sizes are.
_LARGEST_SIZE = 4096
#: Memory for the states of one piece's search.
_PIECE_BYTES = 1 << 29


def is_small(workload: Workload) -> bool:
    """Whether the DAG of a workload has at most `MOST_VERTICES` vertices.

    Examples
    --------
    >>> from graphs import workload
    >>> is_small(workload("matmul:m=16,n=16,k=16")), is_small(workload("matmul:m=99,n=99,k=99"))
    (True, False)
    """
    formula = workload.formula()
    if formula is not None:
        return int(formula.inputs_size() + formula.computed_size()) <= MOST_VERTICES
    if not isinstance(workload, GivenDag) and max(workload.sizes().values(), default=0) > (
        _LARGEST_SIZE
    ):
        return False
    return len(workload.dag()) <= MOST_VERTICES


def piece_solver(
    dag: Dag, memory: int, rules: Rules = HK, *, time: float | None = None
) -> Solution:
    """Solve a piece of a DAG exactly, or as far as the time goes, for `bounds.decomposition`.

    Examples
    --------
    >>> from graphs import workload
    >>> piece_solver(workload("pyramid:h=3").dag(), 3).lower
    11
    """
    from strategies.optimum.solver import solve

    time = None if time is None else max(time, 0.001)
    return solve(dag, memory, rules, time=time, memory_limit=_PIECE_BYTES)


def dag_bounds_of(
    workload: Workload,
    memory: int,
    rules: Rules = HK,
    *,
    time: float | None = None,
    progress: Progress | None = None,
) -> list[DagBound]:
    """Return what `bounds.any_dag.bounds_of` finds; an empty list if the DAG is large.

    Pieces of the DAG are solved exactly. Compiling the search, once per machine, and loading it are
    not counted as time.

    Examples
    --------
    >>> from graphs import workload
    >>> [(bound.name, bound.value) for bound in dag_bounds_of(workload("pyramid:h=4"), 3)][:2]
    [('decomposition', 18), ('compulsory', 6)]
    """
    from bounds.any_dag import bounds_of
    from graphs.classics import Pyramid

    if not is_small(workload):
        return []
    if time is None or time > 0:
        piece_solver(Pyramid(3).dag(), 3, Rules(one_shot=rules.one_shot))
    return bounds_of(
        workload.dag(), memory, rules, time=time, progress=progress, solver=piece_solver
    )
