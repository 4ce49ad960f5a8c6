"""Credit where due: what a play loses by its order, its eviction, and each of its moves."""

from __future__ import annotations

import dataclasses
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.arguments import as_memory, as_rules, as_workload
from lab.costly import Losses, losses, over_by
from lab.least import Interval, Least, least
from lab.sources import of_strategy, of_trace
from pebble.errors import GraphError, SpecError
from pebble.moves import COMPUTE
from pebble.rules import HK, Rules
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from graphs.registry import Workload
    from lab.arguments import MemoryLike, RulesLike, StrategyLike, WorkloadLike
    from pebble.dag import Dag, Vertices
    from pebble.moves import Moves
    from pebble.report import Report
    from pebble.trace import Trace

__all__ = ["Credit", "explain", "explain_trace"]

#: Called with what is being found out and the share of it done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Credit:
    """Where the cost of a play comes from.

    The cost is the optimum, plus what the order of its computations adds under the best eviction,
    plus what its own eviction adds to that.

    Attributes
    ----------
    report : Report
        The referee's counts.
    cost : int (Fraction where computes have a price)
        What the play costs.
    optimum : Least or None
        The least cost of any play under its rules; None where nothing is known.
    order : Interval or None
        The least cost of a play that computes in the same order; None where the rules are not
        among those that `strategies.best_eviction` knows.
    order_by : str
        ``exact``, or where the upper end comes from.
    once : Interval or None
        The same with each vertex computed once, when first computed; None where nothing is
        computed twice.
    repeated : int or None
        The least found when this order may repeat computations; None where that was not tried.
    without, with_ : Least or None
        The least cost of any play that computes each vertex once, and that may repeat.
    losses : Losses
        The moves after which the optimum is out of reach.
    late : int or None
        A move after which a cheaper play that is known cannot be matched any more.
    """

    report: Report
    cost: int | Fraction
    optimum: Least | None
    order: Interval | None
    order_by: str
    once: Interval | None
    repeated: int | None
    without: Least | None
    with_: Least | None
    losses: Losses
    late: int | None

    @property
    def is_optimal(self) -> bool:
        """Whether no play costs less, for certain."""
        return self.optimum is not None and self.cost <= self.optimum.lower

    @property
    def by_order(self) -> Interval | None:
        """What the order costs over the optimum."""
        if self.order is None or self.optimum is None:
            return None
        return (self.order - self.optimum).at_least(0)

    @property
    def by_eviction(self) -> Interval | None:
        """What the eviction costs over the best one for the order."""
        return None if self.order is None else Interval(self.cost, self.cost) - self.order

    @property
    def by_recomputation(self) -> Interval | None:
        """What plays that may recompute save over those that may not, at best."""
        if self.without is None or self.with_ is None:
            return None
        return (self.without - self.with_).at_least(0)

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""

        def shown(value: Interval | None) -> dict[str, Any] | None:
            return None if value is None else value.to_json()

        between = self.losses.between
        return self.report.to_json() | {
            "is_optimal": self.is_optimal,
            "optimum": shown(self.optimum),
            "order": shown(self.order),
            "order_by": self.order_by or None,
            "by_order": shown(self.by_order),
            "by_eviction": shown(self.by_eviction),
            "each_once": shown(self.once),
            "order_with_recomputes": self.repeated,
            "optimum_each_once": shown(self.without),
            "optimum_recomputing": shown(self.with_),
            "recomputation_saves": shown(self.by_recomputation),
            "costly_moves": [move.to_json() for move in self.losses.moves],
            "costly_between": None if between is None else list(between),
            "costly_at_the_latest": self.late,
        }


def explain(
    workload: WorkloadLike,
    strategy: StrategyLike | None = None,
    memory: MemoryLike = 0,
    rules: RulesLike = HK,
    *,
    order: str | Vertices | None = None,
    seconds: float = 20.0,
    every: bool = False,
    progress: Progress | None = None,
) -> Credit:
    """Explain where the cost of a strategy's play, or of an order of computation, comes from.

    Parameters
    ----------
    workload : str, Workload or Dag
        What is computed.
    strategy : str or Strategy, optional
        Who plays.
    memory : int or str
        M, or a formula in the workload's sizes.
    rules : str or Rules
        Conventions.
    order : str or sequence of int, optional
        Instead of a strategy: an order, by name or as in `strategies.orders`; it is played with
        the best eviction that is found.
    seconds : float
        Time to spend, compilation not counted.
    every : bool
        Find every costly move, not only the first.
    progress : callable, optional
        Called now and then with what is being found out and the share of it done.

    Returns
    -------
    Credit
        With intervals where the time or the size of the graph forbid exact answers.

    Raises
    ------
    RefusalError, BudgetError
        If the strategy does not play the workload, or not with this M.
    SpecError
        If neither or both of strategy and order are given.

    Examples
    --------
    >>> found = explain("grid:rows=3,columns=3", "lru:order=construction", 3)
    >>> found.cost, found.optimum.upper, found.order.upper
    (8, 5, 8)
    """
    what, judged_by = as_workload(workload), as_rules(rules)
    if (strategy is None) == (order is None):
        raise SpecError("explain needs a strategy or an order, and not both")
    budget = judged_by.check_memory(what.dag(), as_memory(memory, what))
    dag = what.dag()
    if strategy is not None:
        found = of_strategy(what, strategy, budget, judged_by, dag=dag)
        moves, name = _together(found.chunks()), found.strategy
    else:
        from strategies.best_eviction import best_eviction
        from strategies.orders import check_order, order_of

        if isinstance(order, str):
            sequence, name = order_of(order, what, dag, budget), f"order {order}"
        else:
            assert order is not None
            sequence, name = check_order(dag, order), "the order given"
        moves = best_eviction(dag, sequence, budget, judged_by, time=0.3 * seconds).moves
    return _explain(what, dag, moves, budget, judged_by, name, seconds, every, progress)


def explain_trace(
    trace: str | Path | Trace,
    graph: WorkloadLike | None = None,
    memory: MemoryLike | None = None,
    rules: RulesLike | None = None,
    *,
    seconds: float = 20.0,
    every: bool = False,
    progress: Progress | None = None,
) -> Credit:
    """Explain where the cost of a trace comes from; see `explain` and `lab.check`.

    Raises
    ------
    IllegalMoveError
        If the trace is no legal, finished play.
    TraceError
        If the file is damaged, or nobody says what it was played on.
    """
    found = of_trace(trace, graph, memory, rules)
    moves = _together(found.chunks())
    return _explain(
        found.workload, found.dag, moves, found.memory, found.rules, found.strategy,
        seconds, every, progress,
    )  # fmt: skip


def _together(chunks: Iterator[Moves]) -> Moves:
    return np.concatenate([np.empty(0, np.uint32), *chunks])


def _explain(
    workload: Workload,
    dag: Dag,
    moves: Moves,
    memory: int,
    rules: Rules,
    strategy: str,
    seconds: float,
    every: bool,
    progress: Progress | None,
) -> Credit:
    from pebble.referee import referee

    if not seconds > 0:
        raise SpecError(f"a time budget must be a positive number of seconds, got {seconds}")
    if rules.partial:
        raise RefusalError(
            f"explain does not know partial computation (rules {rules}): `pebble solve` and "
            "`pebble check` do"
        )
    deadline = clock.monotonic() + seconds

    def left(share: float) -> float:
        return max(0.05, share * (deadline - clock.monotonic()))

    def tell(what: str) -> Callable[[float], None]:
        return (lambda _: None) if progress is None else (lambda share: progress(what, share))

    report = referee(dag, moves, memory, rules, workload=str(workload), strategy=strategy)
    cost = report.cost
    sequence = np.ascontiguousarray(moves[moves >> 30 == COMPUTE] & np.uint32((1 << 30) - 1))
    tell("order")(0.0)
    order, order_by, once, known = _orders(dag, sequence, memory, rules, cost, left(0.25))
    # Orders may be searched from where each needed vertex stands once.
    optimum = least(
        workload, memory, rules, seconds=left(0.6), dag=dag,
        known=(cost, strategy or "this play") if known is None else known,
        orders=[_first(sequence)], progress=tell("optimum"),
    )  # fmt: skip
    without, with_, repeated = _recomputing(
        workload, dag, sequence, memory, rules, optimum, left(0.4), tell("recomputation")
    )
    lost, late = Losses(), None
    if optimum is not None and cost > optimum.upper:
        late = over_by(dag, moves, rules, optimum.upper)
    if optimum is not None and optimum.exact and cost > optimum.upper:
        try:
            lost = losses(
                dag, moves, memory, rules, optimum.upper, seconds=left(1.0), every=every,
                progress=tell("costly moves"),
            )  # fmt: skip
        except GraphError:
            lost = Losses(stopped=True)
    return Credit(
        report, cost, optimum, order, order_by, once, repeated, without, with_, lost, late
    )


def _first(sequence: Vertices) -> Vertices:
    """Return a sequence without its repeats."""
    _, first = np.unique(sequence, return_index=True)
    return sequence[np.sort(first)]


def _orders(
    dag: Dag,
    sequence: Vertices,
    memory: int,
    rules: Rules,
    cost: int | Fraction,
    seconds: float,
) -> tuple[Interval | None, str, Interval | None, tuple[int | Fraction, str] | None]:
    """Return what the order costs, how that is known, the same without repeats, and a play."""
    from strategies.best_eviction import best_eviction, knows

    if not knows(rules):
        return None, "", None, None
    price = rules.compute_price or 0
    best = best_eviction(dag, sequence, memory, rules, time=seconds)
    upper = min(best.upper + price * sequence.size, cost)
    lower = best.lower + price * sequence.size
    how = "exact" if lower == upper else best.how
    known = None if upper == cost else (upper, "its order, best eviction")
    single = _first(sequence)
    once = None
    if single.size < sequence.size:
        kept = best_eviction(dag, single, memory, rules, time=seconds)
        once = Interval(kept.lower + price * single.size, kept.upper + price * single.size)
        if known is None or once.upper < known[0]:
            known = (once.upper, "its order, each vertex once") if once.upper < cost else known
    return Interval(lower, upper), how, once, known


def _recomputing(
    workload: Workload,
    dag: Dag,
    sequence: Vertices,
    memory: int,
    rules: Rules,
    optimum: Least | None,
    seconds: float,
    tell: Callable[[float], None],
) -> tuple[Least | None, Least | None, int | None]:
    """Return the least cost without and with recomputation, and with it in this order."""
    from strategies.local_search import local_search
    from strategies.orders import check_order

    if rules.compute_price or rules.complete:
        return None, None, None  # repeats are never free there
    other = dataclasses.replace(rules, one_shot=not rules.one_shot)
    known = None
    if optimum is not None and rules.one_shot:
        known = (optimum.upper, optimum.upper_by)  # legal under hk as well
    found = least(
        workload, memory, other, seconds=0.7 * seconds, dag=dag, known=known,
        orders=[_first(sequence)], progress=tell,
    )  # fmt: skip
    without, with_ = (optimum, found) if rules.one_shot else (found, optimum)
    if with_ is not None and without is not None:
        # Each holds the other: what computes once is legal where repeats are, too.
        without = dataclasses.replace(without, lower=max(without.lower, with_.lower))
        with_ = dataclasses.replace(with_, upper=min(with_.upper, without.upper))
    repeated = None
    if dataclasses.replace(rules, one_shot=False) == HK and len(dag) <= 100_000:
        order = check_order(dag, _first(sequence))
        if order.size:
            search = local_search(
                dag, memory, recompute=True, reorder=False, orders=[order],
                seconds=max(0.05, 0.3 * seconds), steps=40_000,
                enough=0 if with_ is None else int(with_.lower),
            )  # fmt: skip
            repeated = search.io
    return without, with_, repeated
