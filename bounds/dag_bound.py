"""What every bound of a DAG shares: its value, the problem it is about, and its time budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.dag import Dag
from pebble.operations import APPLY, INPUT
from pebble.rules import HK, Rules

__all__ = ["Clock", "DagBound", "Problem", "Progress"]

#: Called with the name of a bound and how much of its work is done, from 0 to 1.
Progress: TypeAlias = Callable[[str, float], None]


@dataclass(frozen=True)
class DagBound:
    """A number of loads and stores that no play of one DAG with M red pebbles can go below.

    Attributes
    ----------
    name : str
        Name of the method: ``wavefront``.
    value : int
        The bound: every legal play makes at least so many loads and stores.
    rules : str
        The rules of the game that it was computed for.
    recomputation : bool
        Whether it also holds when vertices may be computed again. If not, it says nothing about
        plays under rules that allow that.
    reference : str
        Paper and theorem.
    finished : bool
        False if the time budget ran out first; the value is the best found by then, and holds.
    detail : str
        How the value came about, in a few words.

    Examples
    --------
    >>> print(DagBound("compulsory", 16, "hk", True, "by definition of the game"))
    compulsory: at least 16 loads and stores (rules hk; by definition of the game)
    """

    name: str
    value: int
    rules: str
    recomputation: bool
    reference: str
    finished: bool = True
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain form for ``--json``."""
        return dataclasses.asdict(self) | {"kind": "lower"}

    def __str__(self) -> str:
        stopped = "" if self.finished else "; stopped by its time budget"
        return (
            f"{self.name}: at least {self.value:,} loads and stores (rules {self.rules}; "
            f"{self.reference}{stopped})"
        )


class Clock:
    """A time budget in seconds; None is no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else perf_counter() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0; infinite without a limit."""
        return float("inf") if self._end is None else max(0.0, self._end - perf_counter())

    @property
    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.left <= 0

    def share(self, part: float) -> Clock:
        """Return a clock for a part of what is left."""
        return Clock(None if self._end is None else part * self.left)


@dataclass(frozen=True)
class Problem:
    """A DAG, M and rules, brought to a form in which two games are left: with recomputation or not.

    Every vertex of `dag` must be computed or, if it is an input, is loaded at least once by any
    play; its numbering is topological. All conventions but one reduce to this form:

    - ``free_inputs``: inputs become constants, vertices that are computed from nothing;
    - ``sliding``: a play with M red pebbles is a play without sliding with M + 1;
    - ``unstored_outputs``: `stored` is empty;
    - ``complete``: vertices that lead to no output are kept, where otherwise they are dropped;
    - ``moving_loads``, ``no_deletion`` and ``compute_price`` only take plays away or leave loads
      and stores as they are, so that a bound without them holds with them;
    - ``partial`` adds plays: of the bounds of a Problem only the compulsory one holds under it.

    Parameters
    ----------
    dag : Dag
        The vertices that must be touched, in topological order.
    memory : int
        Red pebbles at the instant of a compute, its result among them.
    rules : Rules
        The rules asked for.

    Examples
    --------
    >>> dag = Dag.from_predecessors([[], [0], [0]], outputs=[1])
    >>> problem = Problem.of(dag, 2)
    >>> len(problem.dag), problem.loaded.tolist(), problem.stored.tolist()
    (2, [0], [1])
    """

    dag: Dag
    memory: int
    rules: Rules

    @classmethod
    def of(cls, dag: Dag, memory: int, rules: Rules = HK) -> Problem:
        """Reduce a DAG under rules.

        Raises
        ------
        BudgetError
            If M is less than the DAG can be played with.
        """
        M = rules.check_memory(dag, memory) + rules.sliding
        order = dag.order
        kept = order if rules.complete else order[dag.needed[order]]
        operations = dag.operations
        if rules.free_inputs:
            operations = np.where(operations == INPUT, APPLY, operations).astype(np.uint8)
        if kept.size == len(dag) and order is not None and bool(np.all(np.diff(order) == 1)):
            same = operations is dag.operations
            part = dag if same else induced(dag, np.arange(len(dag)), operations)
        elif kept.size == 0:
            part = Dag([0, 0], [], [INPUT], [])  # nothing is needed: one vertex that nobody touches
        else:
            part = induced(dag, kept, operations)
        return cls(part, M, rules)

    @property
    def recomputation(self) -> bool:
        """Whether a vertex may be computed again."""
        return not self.rules.one_shot

    @cached_property
    def out_degrees(self) -> npt.NDArray[np.int64]:
        """Number of successors of each vertex."""
        return np.bincount(self.dag.predecessors, minlength=len(self.dag))

    @cached_property
    def is_input(self) -> npt.NDArray[np.bool_]:
        """Mask of the vertices that start blue."""
        mask: npt.NDArray[np.bool_] = self.dag.operations == INPUT
        return mask

    @cached_property
    def loaded(self) -> npt.NDArray[np.int64]:
        """Inputs that are an operand of something: each is loaded at least once."""
        return np.flatnonzero(self.is_input & (self.out_degrees > 0))

    @cached_property
    def stored(self) -> npt.NDArray[np.int64]:
        """Outputs that must be stored: computed, and required to end blue."""
        if self.rules.unstored_outputs:
            return np.zeros(0, np.int64)
        return self.dag.outputs[~self.is_input[self.dag.outputs]].astype(np.int64)

    @cached_property
    def stored_sinks(self) -> int:
        """How many of the stored outputs are operands of nothing."""
        return int(np.count_nonzero(self.out_degrees[self.stored] == 0))

    def bound(
        self,
        name: str,
        value: float,
        reference: str,
        *,
        recomputation: bool = True,
        finished: bool = True,
        detail: str = "",
    ) -> DagBound:
        """Make a bound of this problem; a fraction of a move is a move."""
        return DagBound(
            name,
            max(0, int(np.ceil(value))),
            str(self.rules),
            recomputation,
            reference,
            finished,
            detail,
        )


def induced(
    dag: Dag,
    vertices: npt.NDArray[Any],
    operations: npt.NDArray[np.uint8] | None = None,
    outputs: npt.NDArray[np.bool_] | None = None,
    scratch: npt.NDArray[np.int64] | None = None,
) -> Dag:
    """Return the subgraph on some vertices, renumbered in the order given, which is topological.

    A vertex keeps its operation when its operands are left out: a computed one without operands is
    a constant, and no input.

    Parameters
    ----------
    dag : Dag
        The whole graph.
    vertices : integer array
        The vertices kept.
    operations : uint8 array, optional
        Operations of all vertices, in place of the graph's own.
    outputs : bool array, optional
        Mask over all vertices of the outputs, in place of the graph's own.
    scratch : int64 array, optional
        As long as the graph, all -1, and so again afterwards: saves time where pieces are many.
    """
    number = np.full(len(dag), -1, np.int64) if scratch is None else scratch
    number[vertices] = np.arange(len(vertices))
    starts, ends = dag.indptr[vertices].astype(np.int64), dag.indptr[vertices + 1].astype(np.int64)
    degrees = ends - starts
    first = np.cumsum(degrees) - degrees
    slots = np.repeat(starts - first, degrees) + np.arange(int(degrees.sum()))
    operands = number[dag.predecessors[slots]]
    number[vertices] = -1
    rows = np.repeat(np.arange(len(vertices)), degrees)[operands >= 0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(vertices)))])
    if outputs is None:
        outputs = np.zeros(len(dag), bool)
        outputs[dag.outputs] = True
    codes = dag.operations if operations is None else operations
    return Dag(
        indptr,
        operands[operands >= 0],
        codes[vertices],
        np.flatnonzero(outputs[vertices]),
        checked=True,
    )
