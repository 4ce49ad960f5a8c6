"""Local search: reorder computations, and recompute, as long as it saves loads and stores."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pebble.dag import Dag
from pebble.errors import SpecError
from pebble.rules import HK, ONE_SHOT
from strategies.any_dag import AnyDagStrategy
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Vertices
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["Found", "LocalSearch", "local_search"]

#: Work of a search that nobody limited: vertices and edges visited, and proposals.
_VISITS, _PROPOSALS = 30_000_000, 40_000
_RULES = ("cost-aware", "belady")
#: Chances in a million that a proposal dearer by one is kept, round by round.
_HEATS = (20_000, 0, 100_000, 3_000)


@dataclass(frozen=True)
class Found:
    """The best schedule that a search found.

    Attributes
    ----------
    io : int
        Loads and stores.
    sequence : array
        Vertices in the order in which they are computed; one that stands in it again is computed
        again.
    eviction : str
        The rule of eviction, one of `strategies.eviction.EVICTIONS`.
    start : int
        The least loads and stores of the orders that the search started from.
    evaluations : int
        Number of sequences judged.
    seconds : float
        Time taken.
    """

    dag: Dag
    memory: int
    io: int
    sequence: Vertices
    eviction: str
    start: int
    evaluations: int
    seconds: float

    def moves(self) -> Iterator[Moves]:
        """Yield the moves of the schedule."""
        from strategies.eviction import schedule_order

        return schedule_order(self.dag, self.sequence, self.memory, self.eviction)


class _Search:
    """The arrays of a search, and the best sequence so far."""

    def __init__(self, dag: Dag, memory: int, seed: int, *, reorder: bool) -> None:
        from strategies.orders import computed

        self.dag, self.memory = dag, memory
        self.reorder = reorder
        self.computed = computed(dag)
        self.blue = np.zeros(len(dag), np.uint8)
        self.blue[dag.inputs] = 1
        self.outputs = np.zeros(len(dag), np.bool_)
        self.outputs[dag.outputs] = True
        self.seeds = np.random.default_rng(seed)
        self.random = self.seeds.integers(1, 1 << 62, 1).astype(np.uint64)
        self.best: tuple[int, Vertices, str] | None = None
        self.evaluations = 0

    def enter(self, sequence: Vertices) -> tuple[int, Vertices, str]:
        """Judge a whole sequence under both rules; keep it if it is the best."""
        from strategies.eviction import cost_of_order

        costs = [
            (cost_of_order(self.dag, sequence, self.memory, r).io, i) for i, r in enumerate(_RULES)
        ]
        self.evaluations += len(costs)
        io, i = min(costs)
        entry = (io, sequence, _RULES[i])
        if self.best is None or io < self.best[0]:
            self.best = entry
        return entry

    def walk(
        self,
        entry: tuple[int, Vertices, str],
        heat: int,
        steps: Callable[[], int],
        slice_steps: int,
        *,
        recompute: bool,
    ) -> None:
        """Walk from a sequence, slice by slice, until ``steps()`` says that none are left."""
        from strategies import _search

        io, sequence, rule = entry
        length = sequence.size
        degrees = np.diff(self.dag.indptr).astype(np.int64)
        slots = int(degrees[sequence].sum()) + length
        extra = 0
        if recompute:
            widest = int(degrees.max()) + 1
            extra = min(3 * length + 16, max(1, 4_000_000 // widest))
            slots += extra * widest
        here = np.zeros(length + extra, np.uint32)
        here[:length] = sequence
        while (todo := min(steps(), slice_steps)) > 0:
            best, size, cost, here, length, io = _search.search(
                here, length, io, self.dag.indptr, self.dag.predecessors, self.computed, self.blue,
                self.outputs, self.memory, rule == "cost-aware", self.reorder, recompute,
                todo, heat, slots, self.random,
            )  # fmt: skip
            self.evaluations += todo
            assert self.best is not None
            better = cost < self.best[0] or (cost == self.best[0] and size < self.best[1].size)
            if better:
                self.best = (int(cost), best[:size].copy(), rule)


@cache
def ready() -> None:
    """Compile what a search runs, or load it where an earlier process has compiled it."""
    pyramid = Dag.from_predecessors([[], [], [], [0, 1], [1, 2], [3, 4]])
    for _ in local_search(pyramid, 3, recompute=True, steps=20).moves():
        pass


def local_search(
    dag: Dag,
    memory: int,
    *,
    recompute: bool = False,
    reorder: bool = True,
    orders: Sequence[npt.ArrayLike] = (),
    seed: int = 1,
    steps: int | None = None,
    seconds: float | None = None,
    enough: int = 0,
    progress: Callable[[float, int], None] | None = None,
) -> Found:
    """Search for a schedule with few loads and stores.

    Starts from several orders (as built, depth first, depth first at random, and those given) and
    changes the best of them: a computation moves to another place and takes along what it needs,
    or what needs it; neighbouring blocks change places; with ``recompute``, operands are computed
    again instead of loaded. Changes that are no dearer are kept. The search starts again from other
    orders in turn. It can be stopped at any time: the best so far is a whole schedule.

    Parameters
    ----------
    dag : Dag
        The graph.
    memory : int
        M, the number of red pebbles.
    recompute : bool
        Whether a vertex may be computed more than once (rules hk).
    reorder : bool
        Whether the computations may be reordered. False keeps the first of ``orders``, so that
        only recomputation is tried.
    orders : sequence of orders
        Further orders to start from.
    seed : int
        Seed of every random choice.
    steps : int, optional
        Number of changes to try. By default, where ``seconds`` is not given either, what takes a
        few seconds; none for a DAG of millions of vertices, which then gets the best of the
        orders. A search limited by steps alone is reproducible.
    seconds : float, optional
        Time to spend, compilation not counted.
    enough : int
        Stop at this many loads and stores, such as a lower bound.
    progress : callable, optional
        Called now and then with the share of the budget used and the best number so far.

    Raises
    ------
    BudgetError
        If M is less than the largest in-degree plus one.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> local_search(workload("pyramid:h=5").dag(), 4).io
    15
    """
    from strategies.orders import check_order, construction, depth_first

    if seconds is not None:
        ready()  # the clock starts when everything is compiled
    started = clock.monotonic()
    memory = HK.check_memory(dag, memory)
    if steps is not None and steps < 0:
        raise SpecError(f"steps must be 0 or more, got {steps}")
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise SpecError(f"a time budget must be a positive number of seconds, got {seconds}")
    if not reorder and not orders:
        raise SpecError("reorder=False keeps a given order: give one")
    search = _Search(dag, memory, seed, reorder=reorder)
    given = [check_order(dag, order) for order in orders]
    entries = [search.enter(order) for order in given]
    if reorder:
        entries += [search.enter(order) for order in (depth_first(dag), construction(dag))]
    assert search.best is not None
    start = search.best[0]
    size = len(dag) + dag.predecessors.size
    if steps is None and seconds is None:
        steps = min(_PROPOSALS, _VISITS // size)
        steps = steps if steps >= 100 else 0
    enough = max(enough, _compulsory(dag, search.computed))

    def used() -> float:
        """Return the share of the budget that is used up, 1 when the search is over."""
        assert search.best is not None
        if search.best[0] <= enough:
            return 1.0
        shares = [0.0]
        if steps is not None:
            shares.append((search.evaluations - before) / steps if steps else 1.0)
        if seconds is not None:
            shares.append((clock.monotonic() - started) / seconds)
        share = min(1.0, max(shares))
        if progress is not None:
            progress(share, search.best[0])
        return share

    before = search.evaluations
    slice_steps = max(20, min(2000, 2_000_000 // size))
    lap = 0
    while used() < 1.0 and search.best[1].size > 1:
        # Ever longer rounds, at most a quarter of what is left: first breadth, then depth.
        end = used() + max(0.04, 0.25 * (1 - used()))
        share = max(1, math.ceil(min(1.0, end) * steps)) if steps is not None else 1 << 60
        room = share + before

        def left(end: float = end, room: int = room) -> int:
            share = used()
            return 0 if share >= min(1.0, end) else max(0, room - search.evaluations)

        # On large graphs a round of reordering alone comes first, which is the greater gain there.
        again = recompute and (lap > 0 or not reorder or size < 1000)
        heat = _HEATS[lap % len(_HEATS)]
        search.walk(_entry(search, entries, lap), heat, left, slice_steps, recompute=again)
        lap += 1
    io, sequence, eviction = search.best
    taken = clock.monotonic() - started
    return Found(dag, memory, io, sequence, eviction, start, search.evaluations, taken)


def _entry(
    search: _Search, entries: list[tuple[int, Vertices, str]], lap: int
) -> tuple[int, Vertices, str]:
    """Choose where a round starts: the given orders once each, then the best and random ones."""
    from strategies.orders import depth_first

    assert search.best is not None
    ranked = sorted(entries, key=lambda entry: entry[0])
    if lap < len(ranked):
        return ranked[lap]
    io, sequence, rule = search.best
    if lap % 3 == 2 and search.reorder:
        return search.enter(depth_first(search.dag, int(search.seeds.integers(1, 1 << 31))))
    if lap % 3 == 1:
        # The same sequence under the other rule, which sees other improvements.
        from strategies.eviction import cost_of_order

        rule = _RULES[1 - _RULES.index(rule)]
        io = cost_of_order(search.dag, sequence, search.memory, rule).io
    return io, sequence, rule


def _compulsory(dag: Dag, computed: npt.NDArray[np.bool_]) -> int:
    """Return the moves that no play avoids: needed inputs that are used, and computed outputs."""
    used = np.zeros(len(dag), bool)
    for v in range(0, len(dag), 1 << 22):
        chunk = slice(v, v + (1 << 22))
        degrees = np.diff(dag.indptr[v : v + (1 << 22) + 1])
        low, high = int(dag.indptr[v]), int(dag.indptr[min(len(dag), v + (1 << 22))])
        used[dag.predecessors[low:high][np.repeat(computed[chunk], degrees)]] = True
    return int(np.count_nonzero(used[dag.inputs]) + np.count_nonzero(computed[dag.outputs]))


@STRATEGIES.register
@dataclass(frozen=True)
class LocalSearch(AnyDagStrategy):
    """Any DAG; computations are reordered as long as that saves loads and stores.

    Parameters
    ----------
    seed : int
        Seed of every random choice.
    steps : int, optional
        Number of changes to try; by default what takes a few seconds at most.
    time : float, optional
        Seconds to spend, instead of a number of changes; the result then depends on the machine.
    recompute : {"auto", "no", "yes"}
        Whether a vertex may be computed more than once; ``auto``: where the rules allow it.
    order : str, optional
        Another order to start from: ``recursive``, or a file.
    windows : int, optional
        Number of windows of the schedule to play again at least cost afterwards, by exact search.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.referee import referee
    >>> grid = workload("grid:rows=3,columns=3")
    >>> for text in ("no", "yes"):
    ...     moves = LocalSearch(recompute=text, steps=2000).moves(grid, 3)
    ...     print(text, referee(grid.dag(), moves, 3).io)
    no 6
    yes 5
    """

    name: ClassVar[str] = "local-search"
    aliases: ClassVar[tuple[str, ...]] = ("search",)
    summary: ClassVar[str] = "any DAG; computations reordered as long as that saves I/O"
    reference: ClassVar[str] = "this project"

    seed: int = 1
    steps: int | None = None
    time: float | None = None
    recompute: Literal["auto", "no", "yes"] = "auto"
    order: str | None = None
    windows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time is not None and not (0 < self.time < math.inf):
            raise SpecError(f"local-search: time must be a positive number, got {self.time!r}")

    def recomputes(self, workload: Workload) -> bool:  # noqa: ARG002
        """Whether the search may recompute."""
        return self.recompute != "no"

    def under(self, rules: Rules) -> LocalSearch:
        """Return the search without recomputation where it may choose and the rules forbid it."""
        once = self.recompute == "auto" and rules.one_shot
        return replace(self, recompute="no") if once else self

    def play(self, workload: Workload, memory: int, dag: Dag) -> Iterator[Moves]:
        """Yield the moves for a DAG with enough memory."""
        from strategies.orders import order_of

        orders = []
        if self.order is not None:
            orders.append(order_of(self.order, workload, dag, memory))
        elif (blocked := workload.blocked_order(memory)) is not None:
            orders.append(blocked)
        found = local_search(
            dag,
            memory,
            recompute=self.recompute != "no",
            orders=orders,
            seed=self.seed,
            steps=self.steps,
            seconds=self.time,
        )
        if self.windows is None:
            return found.moves()
        from strategies.windows import polish

        moves = np.concatenate([np.empty(0, np.uint32), *found.moves()])
        rules = ONE_SHOT if self.recompute == "no" else HK
        return iter([polish(dag, moves, memory, rules, tries=self.windows, seed=self.seed).moves])
