"""What is known of the least cost of a workload: the optimum, or an interval that holds it."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble.operations import INPUT
from pebble.rules import HK, ONE_SHOT

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from bounds.dag_bound import DagBound
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["Interval", "Least", "least", "number", "plain", "ready"]

#: Graphs of at most this many vertices are given to the exact search.
_MOST_SOLVED = 400
#: Graphs of at most this many vertices are given to the local search.
_MOST_SEARCHED = 2_000_000


@dataclass(frozen=True)
class Interval:
    """A number that is known exactly, or to lie between two others.

    Examples
    --------
    >>> print(Interval(17, 17), "or", Interval(12, 17))
    17 or 12 to 17
    """

    lower: int | Fraction
    upper: int | Fraction

    @property
    def exact(self) -> bool:
        """Whether it is known exactly."""
        return self.lower == self.upper

    def __str__(self) -> str:
        low, high = number(self.lower), number(self.upper)
        return low if self.exact else f"{low} to {high}"

    def __sub__(self, other: Interval) -> Interval:
        """Return where the difference lies."""
        return Interval(self.lower - other.upper, self.upper - other.lower)

    def at_least(self, least: int) -> Interval:
        """Cut off what lies below a number."""
        return Interval(max(least, self.lower), max(least, self.upper))

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        return {"lower": plain(self.lower), "upper": plain(self.upper), "exact": self.exact}


def number(value: int | Fraction) -> str:
    """Return a cost as people read it: ``1,024`` or ``4/3``."""
    return f"{int(value):,}" if value == int(value) else str(value)


def plain(value: int | Fraction) -> int | str:
    """Return a cost for JSON."""
    return int(value) if value == int(value) else str(value)


@dataclass(frozen=True)
class Least(Interval):
    """The least cost of a workload, as far as it is known.

    Attributes
    ----------
    lower, upper : int (Fraction where computes have a price)
        No play costs less than ``lower``; some play, refereed, costs ``upper``.
    lower_by, upper_by : str
        Where they come from: ``exact search``, the name of a bound, the name of a strategy.
    moves : uint32 array or None
        The play of cost ``upper``, where it is at hand.
    """

    lower_by: str = ""
    upper_by: str = ""
    moves: Moves | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        return super().to_json() | {"lower_by": self.lower_by, "upper_by": self.upper_by}


def ready() -> None:
    """Compile the searches, or load them where an earlier process has compiled them."""
    from strategies import local_search
    from strategies.optimum import solver

    local_search.ready()
    solver.ready()


def least(
    workload: Workload,
    memory: int,
    rules: Rules = HK,
    *,
    seconds: float = 10.0,
    dag: Dag | None = None,
    known: tuple[int | Fraction, str] | None = None,
    orders: list[npt.NDArray[np.uint32]] | None = None,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
    note: Callable[[DagBound], None] | None = None,
) -> Least | None:
    """Find the least cost of a workload, or the best interval that the time allows.

    Up to 400 vertices the exact search is tried. What it leaves open, certified bounds and bounds
    of the graph itself narrow from below and a local search from above.

    Parameters
    ----------
    workload : Workload
        What to compute.
    memory : int
        M.
    rules : Rules
        Conventions.
    seconds : float
        Time to spend, compilation not counted.
    dag : Dag, optional
        The workload's DAG, where it is already built.
    known : (cost, name), optional
        Some play's cost, and whose.
    orders : list of orders, optional
        Orders that the local search starts from as well.
    seed : int
        Seed of the local search.
    progress : callable, optional
        Called now and then with the share of the time used.
    note : callable, optional
        Called with each bound of the graph itself, which are then computed in any case.

    Returns
    -------
    Least or None
        None where no play is known: under rules that only the exact search plays, on a graph that
        is too large for it.

    Examples
    --------
    >>> from graphs import workload
    >>> print(least(workload("pyramid:h=4"), 4))
    10
    """
    from strategies.optimum.solver import is_compiled, solve

    ready()
    start = clock.monotonic()

    def left(share: float = 1.0) -> float:
        return max(0.05, share * (start + seconds - clock.monotonic()))

    def tell(*_: object) -> None:
        if progress is not None:
            progress(min(1.0, (clock.monotonic() - start) / seconds))

    dag = workload.dag() if dag is None else dag
    memory = rules.check_memory(dag, memory)
    best = Least(0, 0, "nothing", "") if known is None else Least(0, known[0], "nothing", known[1])
    have = known is not None
    size = int(np.count_nonzero(dag.needed)) if not rules.complete else len(dag)
    if size <= (_MOST_SOLVED if is_compiled(rules) else 40):
        found = solve(dag, memory, rules, time=left(0.6), progress=tell)
        if not have or found.upper <= best.upper:
            how = "exact search" if found.finished else "exact search, stopped"
            best = Least(found.lower, found.upper, how, how, found.moves)
        else:
            best = Least(found.lower, best.upper, "exact search, stopped", best.upper_by)
        have = True
        if best.exact and note is None:
            return best
    if rules.compute_price == 0:
        value, name = _bound(workload, dag, memory, rules, left(0.5), note)
        if value > best.lower:
            best = Least(value, best.upper, name, best.upper_by, best.moves)
    if have and best.exact:
        return best
    if rules in (HK, ONE_SHOT) and size <= _MOST_SEARCHED:
        from strategies.local_search import local_search

        search = local_search(
            dag,
            memory,
            recompute=not rules.one_shot,
            orders=_starts(workload, dag, memory, orders),
            seed=seed,
            seconds=left(),
            enough=int(best.lower),
            progress=tell,
        )
        if not have or search.io < best.upper:
            moves = np.concatenate([np.empty(0, np.uint32), *search.moves()])
            best = Least(best.lower, search.io, best.lower_by, "local search", moves)
        have = True
    return best if have else None


def _starts(
    workload: Workload,
    dag: Dag,
    memory: int,
    orders: list[npt.NDArray[np.uint32]] | None,
) -> list[npt.NDArray[np.uint32]]:
    found = list(orders or [])
    blocked = workload.blocked_order(memory)
    if blocked is not None:
        found.append(blocked)
    computed = dag.needed & (dag.operations != INPUT)
    return [order[computed[order]] for order in found]


def _bound(
    workload: Workload,
    dag: Dag,
    memory: int,
    rules: Rules,
    seconds: float,
    note: Callable[[DagBound], None] | None,
) -> tuple[int, str]:
    """Return the greatest lower bound that holds under the rules, and its name."""
    from lab.dag_bounds import dag_bounds_of
    from lab.yardsticks import certified_least, compulsory_of

    value, name = 0, "nothing"
    if not (rules.free_inputs or rules.unstored_outputs):
        value, name = compulsory_of(dag), "compulsory"
    certified = certified_least(workload, memory, rules)
    if certified is not None and certified.value > value:
        value, name = int(certified.value), certified.name
    for bound in dag_bounds_of(workload, memory, rules, time=seconds):
        if bound.value > value:
            value, name = bound.value, bound.name
        if note is not None:
            note(bound)
    return value, name
