"""The naive schedule: entry by entry, operands loaded on demand, nothing kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numba
import numpy as np

from pebble.operations import INPUT
from strategies.operators import elementwise, row_sums
from strategies.phases import Choice, Phase, TileStrategy
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.report import Report
    from strategies.schedule import Schedule

__all__ = ["Naive"]


@STRATEGIES.register
@dataclass(frozen=True)
class Naive(TileStrategy):
    """Every array entry by entry in row order; every result stored, every operand loaded again.

    The products of a sum and its running sum stay red. A DAG without tensor expressions, or with
    ``sum=tree``, is played vertex by vertex in topological order: operands loaded, result stored.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> Naive().count(workload("matmul:m=2,n=2,k=2"), memory=4).io
    20
    """

    name: ClassVar[str] = "naive"
    summary: ClassVar[str] = "entry by entry, operands loaded on demand, nothing kept"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "folklore"
    any_dag: ClassVar[bool] = True

    def refusal(self, workload: Workload) -> str | None:  # noqa: ARG002
        """Return None: every DAG is played."""
        return None

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return one phase per array that is not given."""
        return [
            (Phase(array.name, _Entries(array.name)),)
            for array in formula.arrays.values()
            if not array.is_input and not formula.renames(array)
        ]

    def least_memory(self, workload: Workload) -> int:
        """Return the least M: 4 on sums of products, in-degree + 1 vertex by vertex."""
        if _has_text(workload):
            return super().least_memory(workload)
        formula = workload.formula()
        return 3 if formula is not None else max(1, workload.dag().least_memory)

    def recomputes(self, workload: Workload) -> bool:  # noqa: ARG002
        """Return False: each vertex is computed once."""
        return False

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves."""
        if _has_text(workload):
            return super().moves(workload, memory, dag)
        self.require(workload, memory)
        return vertex_by_vertex(dag if dag is not None else workload.dag())

    def count(self, workload: Workload, memory: int) -> Report:
        """Return exact counts; without a text they need the DAG's edges."""
        if _has_text(workload):
            return super().count(workload, memory)
        from pebble.referee import referee

        self.require(workload, memory)
        dag = workload.dag()
        return referee(
            dag, vertex_by_vertex(dag), memory, workload=str(workload), strategy=str(self)
        )


@dataclass(frozen=True)
class _Entries:
    """The text that makes one array in row order; of a sum, running sum and product stay red."""

    name: str

    def __call__(self, s: Schedule) -> None:
        (named,) = s.arrays(self.name)
        (row_sums if named.array.over is not None else elementwise)(s, named)


def _has_text(workload: Workload) -> bool:
    return workload.formula() is not None and getattr(workload, "sum", "chain") == "chain"


def vertex_by_vertex(dag: Dag) -> Iterator[Moves]:
    """Yield moves that make each needed vertex from loaded operands and store it."""
    needed = dag.needed & (dag.operations != INPUT)
    order = dag.order[needed[dag.order]]
    chunk = 1 << 18
    for low in range(0, order.size, chunk):
        yield _write(dag.indptr, dag.predecessors, order[low : low + chunk])


@numba.njit(cache=True)
def _write(indptr, preds, order):  # type: ignore[no-untyped-def]
    size = 0
    for v in order:
        size += 2 * (indptr[v + 1] - indptr[v]) + 3
    out = np.empty(size, np.uint32)
    place = 0
    for v in order:
        low, high = indptr[v], indptr[v + 1]
        for e in range(low, high):
            out[place] = preds[e]
            place += 1
        out[place] = v | np.uint32(2 << 30)
        out[place + 1] = v | np.uint32(1 << 30)
        out[place + 2] = v | np.uint32(3 << 30)
        place += 3
        for e in range(low, high):
            out[place] = preds[e] | np.uint32(3 << 30)
            place += 1
    return out
