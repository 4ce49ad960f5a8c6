"""Bounds of a workload's own DAG, where it is small enough to be built for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphs.registry import GivenDag
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound, Progress
    from graphs.registry import Workload

__all__ = ["MOST_VERTICES", "dag_bounds_of", "is_small"]

#: Larger DAGs are not built for their bounds: eigenvalues and cuts would take minutes.
MOST_VERTICES = 60_000
#: Without a formula the number of vertices is not known beforehand, only the sizes are.
_LARGEST_SIZE = 4096


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


def dag_bounds_of(
    workload: Workload,
    memory: int,
    rules: Rules = HK,
    *,
    time: float | None = None,
    progress: Progress | None = None,
) -> list[DagBound]:
    """Return what `bounds.any_dag.bounds_of` finds; an empty list if the DAG is large.

    Examples
    --------
    >>> from graphs import workload
    >>> dag_bounds_of(workload("fft:n=8"), 3)[0].value
    16
    """
    from bounds.any_dag import bounds_of

    if not is_small(workload):
        return []
    return bounds_of(workload.dag(), memory, rules, time=time, progress=progress)
