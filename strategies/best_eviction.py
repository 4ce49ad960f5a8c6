"""The best eviction for an order of computations: least loads and stores when the order is fixed.

For a fixed order the choice left is which values stay red from one use to the next. That is
caching where an eviction costs one load and, the first time a computed value leaves, one store;
furthest next use is optimal for the loads alone (Belady 1966), not with stores. As an integer
programme it has one variable per gap between two touches of a value, one per computed value, and
a chain of counters; its linear relaxation is nearly integral, so that graphs of thousands of
vertices are solved exactly in seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pebble.errors import SpecError
from pebble.operations import INPUT
from pebble.rules import HK, Rules
from strategies.eviction import EVICTIONS, cost_of_order, schedule_order
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from pebble.dag import Dag, Vertices
    from pebble.moves import Moves

__all__ = ["BestEviction", "best_eviction", "knows"]

#: More gaps than this are not given to the integer programme.
_MOST_GAPS = 150_000


@dataclass(frozen=True)
class BestEviction:
    """What an order of computations costs at least, and a play of it.

    Attributes
    ----------
    lower, upper : int
        No play that computes in this order has fewer loads and stores than ``lower``; ``moves``
        has ``upper``. Computes and their price are not counted.
    how : str
        Where ``upper`` comes from: ``exact`` when it is the least, otherwise the rule of eviction
        or ``integer programme, stopped``.
    moves : uint32 array
        A play with ``upper`` loads and stores.
    """

    lower: int
    upper: int
    how: str
    moves: Moves = field(repr=False, compare=False)

    @property
    def exact(self) -> bool:
        """Whether ``lower == upper``."""
        return self.lower == self.upper


def knows(rules: Rules) -> bool:
    """Whether the model of a fixed order holds under these rules.

    It does not where a load takes the blue pebble away or nothing may be lost.

    Examples
    --------
    >>> knows(HK), knows(Rules(moving_loads=True))
    (True, False)
    """
    known = Rules(
        one_shot=rules.one_shot,
        free_inputs=rules.free_inputs,
        unstored_outputs=rules.unstored_outputs,
        complete=rules.complete,
        sliding=rules.sliding,
        compute_price=rules.compute_price,
    )
    return known == rules


def best_eviction(
    dag: Dag,
    order: npt.ArrayLike,
    memory: int,
    rules: Rules = HK,
    *,
    time: float = 10.0,
) -> BestEviction:
    """Find the least loads and stores of any play that computes in a given order.

    Parameters
    ----------
    dag : Dag
        The graph.
    order : sequence of int
        Vertices in the order in which they are computed; one that stands in it again is computed
        again. Under rules where inputs are computed they stand in it too.
    memory : int
        M.
    rules : Rules
        Conventions.
    time : float
        Seconds for the integer programme, where it is needed; then an interval is returned.

    Raises
    ------
    BudgetError
        If M is less than the graph can be pebbled with.
    SpecError
        If the order uses a value before it is computed.
    RefusalError
        If the rules are not among those that `knows` names.

    Notes
    -----
    A lower bound that holds without the programme: the loads of furthest next use, which no
    eviction undercuts, and a store for each output computed.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from strategies.orders import construction
    >>> dag = workload("fft:n=16").dag()
    >>> found = best_eviction(dag, construction(dag), 8)
    >>> found.upper, found.how, cost_of_order(dag, construction(dag), 8, "belady").io
    (112, 'exact', 116)
    """
    if not knows(rules):
        raise RefusalError(
            f"the best eviction of an order is not known under the rules {rules}: it is under "
            "hk and one-shot, with or without free inputs, unstored outputs and sliding"
        )
    memory = rules.check_memory(dag, memory)
    sequence = np.ascontiguousarray(order, np.uint32)
    model = _Model(dag, sequence, memory, rules)
    known = model.quick()
    if known.exact or model.size > _MOST_GAPS:
        return known
    return model.solve(known, time)


class _Model:
    """Gaps between touches of a value: what may stay red from where to where.

    Attributes
    ----------
    vertex, start, end : arrays, one entry per gap
        Whose gap, and the positions of the touches before and after it.
    source : int64 array
        Where the gap begins: an operand slot, or minus one minus a position whose result it is.
    given, stored : bool arrays, one entry per vertex
        Blue at the start; to be stored in any case.
    fixed : int
        Loads and stores that no choice avoids: first uses of given values, outputs.
    """

    def __init__(self, dag: Dag, sequence: Vertices, memory: int, rules: Rules) -> None:
        self.dag, self.sequence, self.memory, self.rules = dag, sequence, memory, rules
        length = sequence.size
        self.degrees = np.diff(dag.indptr).astype(np.int64)[sequence]
        slots = int(self.degrees.sum())
        first = np.cumsum(self.degrees) - self.degrees
        edges = np.arange(slots) + np.repeat(
            dag.indptr[sequence].astype(np.int64) - first, self.degrees
        )
        vertices = np.concatenate([dag.predecessors[edges], sequence]).astype(np.int64)
        when = np.concatenate([np.repeat(np.arange(length), self.degrees), np.arange(length)])
        source = np.concatenate([np.arange(slots), -1 - np.arange(length)])
        sort = np.lexsort((when, vertices))
        vertices, when, source = vertices[sort], when[sort], source[sort]
        self.slots = slots
        self.given = np.zeros(len(dag), bool)
        if not rules.free_inputs:
            self.given[dag.operations == INPUT] = True
        used = source >= 0
        same = np.zeros(vertices.size, bool)
        same[1:] = vertices[1:] == vertices[:-1]
        early = np.flatnonzero(used & ~same & ~self.given[vertices])
        if early.size:
            u = int(vertices[early[0]])
            raise SpecError(f"the order uses {dag.name(u)} (vertex {u}) before it is computed")
        gap = np.flatnonzero(used & same)
        self.vertex, self.end = vertices[gap], when[gap]
        self.start, self.source = when[gap - 1], source[gap - 1]
        self.stored = np.zeros(len(dag), bool)
        computed = np.zeros(len(dag), bool)
        computed[sequence] = True
        if not rules.unstored_outputs:
            self.stored[dag.outputs] = True
            self.stored &= computed & ~self.given
        self.fixed = int(np.count_nonzero(used & ~same) + np.count_nonzero(self.stored))

    @property
    def size(self) -> int:
        """Number of gaps."""
        return int(self.vertex.size)

    def quick(self) -> BestEviction:
        """Return the best of the rules of eviction, and what Belady's loads prove."""
        rules = self.rules
        if rules.free_inputs or rules.sliding or rules.unstored_outputs:
            # The rules of eviction play Hong and Kung's game; here nothing is kept to start with.
            nothing = np.zeros(self.size, bool)
            upper = self._cost(nothing)
            how = "exact" if upper == self.fixed else "nothing kept"
            return BestEviction(self.fixed, upper, how, self._moves(nothing))
        costs = {
            name: cost_of_order(self.dag, self.sequence, self.memory, name)
            for name in EVICTIONS
            if name != "lru"
        }
        name = min(costs, key=lambda name: costs[name].io)
        lower = costs["belady"].loads + int(np.count_nonzero(self.stored))
        chunks = schedule_order(self.dag, self.sequence, self.memory, name)
        moves = np.concatenate([np.empty(0, np.uint32), *chunks])
        upper = costs[name].io
        return BestEviction(lower, upper, "exact" if lower == upper else name, moves)

    def solve(self, known: BestEviction, time: float) -> BestEviction:
        """Solve the integer programme; keep what is known where it is stopped before."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        matrix, low, high, cost, most, whole = self._programme()
        found = milp(
            cost,
            integrality=whole,
            bounds=Bounds(0, most),
            constraints=LinearConstraint(matrix, low, high),
            options={"time_limit": max(time, 0.01)},
        )
        lower = known.lower
        bound = getattr(found, "mip_dual_bound", None)
        if bound is not None and math.isfinite(bound):
            lower = max(lower, self.fixed + self.size + math.ceil(bound - 1e-6))
        if found.x is not None:
            kept = np.round(found.x[: self.size]).astype(bool)
            upper = self._cost(kept)
            if upper < known.upper:
                how = "integer programme, stopped"
                known = BestEviction(lower, upper, how, self._moves(kept))
        lower = min(lower, known.upper)
        return replace(known, lower=lower, how="exact" if lower == known.upper else known.how)

    def _programme(self) -> tuple[Any, ...]:
        """Return rows, their limits, costs, upper limits of the variables and which are whole.

        Variables: each gap kept or not; each computed value stored or not; how many values pass
        each position (and, under sliding, how many are red after it).
        """
        from scipy.sparse import coo_array

        gaps, length = self.size, self.sequence.size
        pays = ~self.given[self.vertex] & ~self.stored[self.vertex]
        values, which = np.unique(self.vertex[pays], return_inverse=True)
        first_count = gaps + values.size
        columns = first_count + length
        number = np.arange(gaps)
        # Passing counts: c[t] = c[t-1] + kept gaps that start at t-1 - kept gaps that end at t.
        ahead = self.start + 1
        at = np.arange(length)
        row = [at, at[1:], ahead, self.end]
        column = [first_count + at, first_count + at[:-1], number, number]
        entry = [np.ones(length), -np.ones(length - 1), -np.ones(gaps), np.ones(gaps)]
        low, high = [np.zeros(length)], [np.zeros(length)]
        rows = length
        # A value that is not kept in some gap is stored: stored + kept >= 1.
        paying = number[pays]
        row += [rows + np.arange(paying.size)] * 2
        column += [paying, gaps + which]
        entry += [np.ones(paying.size)] * 2
        low.append(np.ones(paying.size))
        high.append(np.full(paying.size, np.inf))
        rows += paying.size
        room = self.memory - self.degrees - 1
        if self.rules.sliding:
            # Before the result comes it needs no place; afterwards the operands kept need theirs.
            room = np.where(self.degrees > 0, room + 1, room)
            row += [rows + at, rows + self.start]
            column += [first_count + at, number]
            entry += [np.ones(length), np.ones(gaps)]
            # The result itself is red when it is made, kept or not.
            own = self.source < 0
            row.append(rows + self.start[own])
            column.append(number[own])
            entry.append(-np.ones(int(own.sum())))
            low.append(np.full(length, -np.inf))
            high.append(np.full(length, float(self.memory - 1)))
            rows += length
        matrix = coo_array(
            (np.concatenate(entry), (np.concatenate(row), np.concatenate(column))),
            shape=(rows, columns),
        ).tocsr()
        cost = np.concatenate([-np.ones(gaps), np.ones(values.size), np.zeros(length)])
        most = np.concatenate([np.ones(first_count), np.minimum(room, gaps).astype(float)])
        whole = np.concatenate([np.ones(gaps), np.zeros(columns - gaps)])
        return matrix, np.concatenate(low), np.concatenate(high), cost, most, whole

    def _to_store(self, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        stored = self.stored.copy()
        lost = self.vertex[~kept]
        stored[lost[~self.given[lost]]] = True
        return stored

    def _cost(self, kept: npt.NDArray[np.bool_]) -> int:
        """Return loads and stores when these gaps are kept."""
        more = np.count_nonzero(self._to_store(kept)) - np.count_nonzero(self.stored)
        return self.fixed + int(np.count_nonzero(~kept)) + int(more)

    def _moves(self, kept: npt.NDArray[np.bool_]) -> Moves:
        """Write the play that keeps these gaps."""
        from strategies._keep import write_kept

        keep_slot = np.zeros(self.slots, np.bool_)
        keep_compute = np.zeros(self.sequence.size, np.bool_)
        source = self.source[kept]
        keep_slot[source[source >= 0]] = True
        keep_compute[-1 - source[source < 0]] = True
        out = np.empty(2 * self.slots + 3 * self.sequence.size, np.uint32)
        count = write_kept(
            self.sequence, self.dag.indptr, self.dag.predecessors, keep_slot, keep_compute,
            self.given.copy(), self._to_store(kept), out,
        )  # fmt: skip
        return out[:count].copy()
