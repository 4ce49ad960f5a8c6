"""A minimum cut at the moment when the first output has been stored; true with recomputation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound, Problem

__all__ = ["first_output"]


def first_output(problem: Problem) -> DagBound:
    """Bound by what is loaded before the first output is stored and what is loaded after.

    Before that moment every input that leads to the first stored output is loaded. At that moment
    at most M vertices are red; every path from an input to an output not yet stored meets a red
    vertex or one that is loaded later. Such a vertex costs one load if it is an input and, unless
    it is an output, a store besides if not. The least of that over all separators is a minimum cut.

    Examples
    --------
    >>> from bounds.dag_bound import Problem
    >>> from graphs.registry import workload
    >>> problem = Problem.of(workload("matmul:m=8,n=8,k=8").dag(), 4)
    >>> first_output(problem).detail
    '64 outputs; before the first one 16 loads, after it 118'
    """
    stores, reached = problem.stored, 0
    after = 0
    if stores.size and problem.loaded.size:
        reached = _fewest_inputs(problem)
    if stores.size > 1 and problem.loaded.size:
        # An output of capacity p may be left out for p: at most M red ones and the first stored.
        after = max(_cut(problem, p) - p * (problem.memory + 1) for p in (2, 3, 4, 6))
    after = max(0, after)
    return problem.bound(
        "first output",
        stores.size + reached + after,
        "minimum vertex cut at the first store of an output",
        detail=f"{stores.size} outputs; before the first one {reached} loads, after it {after}",
    )


def _fewest_inputs(problem: Problem) -> int:
    """Least number of inputs that lead to one stored output, by bit sets of 64 inputs at a time."""
    from bounds import _cones

    dag = problem.dag
    counts = _cones.count_inputs(dag.indptr, dag.predecessors, problem.is_input)
    return int(counts[problem.stored].min())


def _cut(problem: Problem, capacity: int) -> int:
    """Least weight that separates the inputs from the stored outputs.

    An input weighs 1, a computed vertex 2, an output not separated `capacity`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    dag, size = problem.dag, len(problem.dag)
    vertices = np.arange(size)
    rows = np.repeat(vertices, np.diff(dag.indptr).astype(np.int64))
    stored = np.zeros(size, bool)
    stored[problem.stored] = True
    unlimited = size + 2 * capacity * int(stored.sum()) + 1
    weights: npt.NDArray[np.int64] = np.where(problem.is_input, 1, 2)
    # A stored output costs, to be cut, its share of what may be left out.
    weights[stored] = capacity
    source, sink = 2 * size, 2 * size + 1
    inputs, outputs = problem.loaded, problem.stored
    tails = [vertices, size + dag.predecessors.astype(np.int64), np.full(inputs.size, source)]
    heads = [size + vertices, rows, inputs]
    capacities = [weights, np.full(rows.size, unlimited), np.full(inputs.size, unlimited)]
    tails.append(size + outputs)
    heads.append(np.full(outputs.size, sink))
    capacities.append(np.full(outputs.size, capacity))
    entries = np.concatenate(capacities).astype(np.int32)
    places = (np.concatenate(tails), np.concatenate(heads))
    network = csr_array((entries, places), shape=(2 * size + 2, 2 * size + 2))
    return int(maximum_flow(network, source, sink).flow_value)
