"""An order of computation under partial computation: which edge next, which value leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pebble.operations import INPUT
from pebble.rules import PRBP

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.moves import Moves

__all__ = ["schedule_edges"]


def schedule_edges(
    dag: Dag, order: npt.ArrayLike, memory: int, eviction: str = "cost-aware"
) -> Iterator[Moves]:
    """Yield the moves that compute a DAG in a given order, operand by operand.

    At its turn a vertex absorbs what it lacks; a whole value is absorbed at once by the vertices
    that use it. Each edge is absorbed once, so that the play is legal under ``prbp``.

    Parameters
    ----------
    dag : Dag
        The graph.
    order : sequence of int
        The vertices to compute, each once, after its operands.
    memory : int
        M, at least 2 where anything has an operand.
    eviction : str
        One of `strategies.eviction.EVICTIONS`; finding a victim takes time in proportion to M.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.referee import referee
    >>> from strategies.orders import depth_first
    >>> dag = workload("tree:depth=3").dag()
    >>> [referee(dag, schedule_edges(dag, depth_first(dag), M), M, PRBP).io for M in (2, 3, 4)]
    [15, 11, 9]
    """
    from pebble.errors import unknown
    from strategies import _absorb
    from strategies.eviction import EVICTIONS

    if eviction not in EVICTIONS:
        raise unknown("eviction", eviction, EVICTIONS)
    memory = min(PRBP.check_memory(dag, memory), len(dag) + 1)
    sequence = np.ascontiguousarray(order, np.int64)
    ups = np.argsort(dag.predecessors, kind="stable")
    up_start = np.searchsorted(dag.predecessors[ups], np.arange(len(dag) + 1))
    given = dag.operations == INPUT
    edges, owner = _absorb.edges_of(
        sequence, dag.indptr.astype(np.int64), dag.predecessors, up_start, ups, given
    )
    state = np.where(given, 2, 0).astype(np.uint8)
    state[dag.outputs[~given[dag.outputs]]] |= 4
    out = np.empty(9 * edges.size + 8, np.uint32)
    made = _absorb.play(
        edges,
        dag.predecessors,
        owner,
        state,
        memory,
        list(EVICTIONS).index(eviction),
        len(dag),
        out,
    )
    yield out[:made]
