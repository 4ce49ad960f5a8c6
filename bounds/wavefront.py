"""Wavefront bounds: values that are still needed at one moment and do not fit in fast memory.

They are false when vertices may be computed again: a value that is needed later need not be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bounds import _cones
from bounds.dag_bound import Clock, Problem, Progress

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound

__all__ = ["published_wavefront", "wavefront", "widest_wavefront"]

ELANGO = "Elango, Rastello, Pouchet, Ramanujam, Sadayappan, RR-8522, 2014"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Wavefront:
    """The vertex whose computing finds most live values around it.

    Attributes
    ----------
    value : int
        The largest, over the vertices looked at, of the least live weight less the discount.
    vertex : int
        Where; -1 if no vertex exceeds what the search started from.
    looked_at : int
        Number of minimum cuts.
    finished : bool
        Whether no vertex can have more.
    """

    value: int
    vertex: int
    looked_at: int
    finished: bool


def wavefront(
    problem: Problem, clock: Clock | None = None, progress: Progress | None = None
) -> DagBound:
    """Bound by the values that wait, at the best moment, for their last use.

    Just after x is computed its operands and x hold in-degree + 1 of the red pebbles. Of the other
    computed values that are still operands of something to come, at most M - in-degree - 1 are red;
    the rest has been stored and will be loaded. An input used before and after costs one more load,
    a stored output one load. The least over all sets of vertices that may have been computed by
    then is a minimum cut; see ``docs/bounds-for-any-dag.md``.

    Parameters
    ----------
    problem : Problem
        The DAG, M and rules; without recomputation.
    clock : Clock, optional
        Time budget.
    progress : callable, optional
        Told the part done.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.rules import ONE_SHOT
    >>> wavefront(Problem.of(workload("pyramid:h=6").dag(), 3, ONE_SHOT)).value
    13
    """
    clock = clock or Clock()
    dag = problem.dag
    stored = np.zeros(len(dag), bool)
    stored[problem.stored] = True
    cheap = stored | problem.is_input
    degrees = np.diff(dag.indptr).astype(np.int64)
    discount = 2 * (problem.memory - 1 - degrees)
    base = problem.loaded.size + problem.stored.size
    best = Wavefront(0, -1, 0, finished=True)
    finished, looked_at = True, 0
    # Values alone, then inputs and outputs too: the second counts more but discounts as much.
    for part, weight_of_cheap in enumerate((1, 0)):
        weights = np.where(cheap, weight_of_cheap, 2).astype(np.int64)
        found = widest_wavefront(
            problem,
            weights,
            discount,
            clock.share(1 - 0.5 * (1 - part)),
            (lambda done, part=part: progress("wavefront", (part + done) / 2))
            if progress
            else None,
            floor=best.value,
        )
        finished, looked_at = finished and found.finished, looked_at + found.looked_at
        if found.value > best.value:
            best = found
    where = f"at vertex {best.vertex}, " if best.vertex >= 0 else ""
    return problem.bound(
        "wavefront",
        base + best.value,
        f"{ELANGO}, refined",
        recomputation=False,
        finished=finished,
        detail=f"compulsory {base} + {best.value} {where}{looked_at} minimum cuts",
    )


def published_wavefront(
    problem: Problem, clock: Clock | None = None, progress: Progress | None = None
) -> DagBound:
    """Bound in the published form 2 (max w - M), for the game in which nothing starts blue.

    There inputs are computed like any other vertex (rules ``graphio``), so that each of the w live
    values that is not red has been stored.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.rules import GRAPHIO
    >>> published_wavefront(Problem.of(workload("fft:n=128").dag(), 4, GRAPHIO)).value
    8
    """
    size = len(problem.dag)
    found = widest_wavefront(
        problem,
        np.ones(size, np.int64),
        np.zeros(size, np.int64),
        clock or Clock(),
        (lambda done: progress("published wavefront", done)) if progress else None,
        spared=False,
    )
    return problem.bound(
        "published wavefront",
        2 * (found.value - problem.memory),
        ELANGO,
        recomputation=False,
        finished=found.finished,
        detail=f"w = {found.value}, {found.looked_at} minimum cuts",
    )


def widest_wavefront(
    problem: Problem,
    weights: Integers,
    discount: Integers,
    clock: Clock,
    progress: Any = None,
    *,
    spared: bool = True,
    floor: int = 0,
) -> Wavefront:
    """Maximise, over the computed vertices x, the least live weight around x less a discount.

    A set that is closed under operands bounds all its maximal vertices from above, so that most
    vertices never need a minimum cut: the prefixes of a few topological orders bound every vertex
    once, and each cut that is found bounds the maximal vertices of its own set.

    Parameters
    ----------
    problem : Problem
        The DAG.
    weights, discount : int arrays
        Per vertex.
    clock : Clock
        Time budget.
    progress : callable, optional
        Told the part done.
    spared : bool
        Whether x and its operands count nothing.
    floor : int
        Values up to this one are of no interest.
    """
    dag = problem.dag
    indptr, preds = dag.indptr, dag.predecessors
    size = len(dag)
    top = np.iinfo(np.int64).max // 4
    most = np.full(size, top)
    orders = [np.arange(size), _cones.depth_first(indptr, preds, problem.out_degrees)]
    for order in orders:
        _cones.prefix_bounds(indptr, preds, problem.out_degrees, weights, order, spared, most)
    most -= discount
    done = problem.is_input.copy()
    best, where, looked_at = floor, -1, 0
    rows = np.repeat(np.arange(size), np.diff(indptr).astype(np.int64))
    first_gap = max(1, int(most[~done].max(initial=best)) - best)

    def lower(inside: npt.NDArray[np.bool_]) -> None:
        bound = np.full(size, top)
        _cones.set_bounds(indptr, preds, weights, inside, spared, bound)
        np.minimum(most, bound - discount, out=most)

    while True:
        x = int(np.argmax(np.where(done, -top, most)))
        if done[x] or most[x] <= best:
            return Wavefront(best, where, looked_at, finished=True)
        if clock.over:
            return Wavefront(best, where, looked_at, finished=False)
        if progress:
            progress(1 - (int(most[x]) - best) / first_gap if first_gap > 1 else 0.5)
        above = _cones.ancestors(indptr, preds, x)
        above[x] = True
        below = _cones.descendants(indptr, preds, x)
        lower(above)
        if most[x] > best:
            lower(~below)
        if most[x] > best:
            looked_at += 1
            mine = weights.copy()
            if spared:
                mine[x] = 0
                mine[dag.operands(x)] = 0
            cut, inside = _least_live_weight(preds, rows, mine, above, below)
            most[x] = cut - discount[x]
            lower(inside)
            if most[x] > best:
                best, where = int(most[x]), x
        done[x] = True


def _least_live_weight(
    preds: Any,
    rows: Integers,
    weights: Integers,
    above: npt.NDArray[np.bool_],
    below: npt.NDArray[np.bool_],
) -> tuple[int, npt.NDArray[np.bool_]]:
    """Least weight of members with a successor outside, over closed sets between two cones.

    Each free vertex v has two nodes: it is a member if v.in is on the source's side, and has no
    successor outside if v.out is too. Members that are fixed need only v.out.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    size = above.size
    free = ~(above | below)
    from_above, into_below = above[preds], below[rows]
    certain = np.zeros(size, bool)
    certain[preds[from_above & into_below]] = True
    fixed = int(weights[certain].sum())
    leaving = from_above & free[rows] & (weights[preds] > 0) & ~certain[preds]
    sources = np.unique(preds[leaving])
    if not sources.size:
        return fixed, above.copy()
    # Nodes: 0 source, 1 sink, then v.in and v.out of the free vertices, v.out of the sources.
    count = int(np.count_nonzero(free))
    entry, exit_ = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
    entry[free] = 2 + np.arange(count)
    exit_[free] = 2 + count + np.arange(count)
    exit_[sources] = 2 + 2 * count + np.arange(sources.size)
    unlimited = int(weights[sources].sum()) + 1
    within = free[preds] & free[rows]
    ending = np.unique(preds[free[preds] & into_below])
    parts = [
        (np.zeros(sources.size, np.int64), exit_[sources], weights[sources]),
        (exit_[preds[leaving]], entry[rows[leaving]], unlimited),
        (entry[free], exit_[free], np.minimum(weights[free], unlimited)),
        (exit_[preds[within]], entry[rows[within]], unlimited),
        (entry[rows[within]], entry[preds[within]], unlimited),
        (exit_[ending], np.ones(ending.size, np.int64), unlimited),
    ]
    tails = np.concatenate([tail for tail, _, _ in parts])
    heads = np.concatenate([head for _, head, _ in parts])
    capacities = np.concatenate([np.broadcast_to(c, tail.shape) for tail, _, c in parts])
    nodes = 2 + 2 * count + sources.size
    network = csr_array((capacities.astype(np.int32), (tails, heads)), shape=(nodes, nodes))
    result = maximum_flow(network, 0, 1)
    residual = csr_array(network - result.flow)
    residual.eliminate_zeros()
    reached = np.zeros(nodes, bool)
    reached[breadth_first_order(residual, 0, return_predecessors=False)] = True
    inside = above.copy()
    inside[free] = reached[entry[free]]
    return fixed + int(result.flow_value), inside
