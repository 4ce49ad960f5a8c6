"""Strategies for any DAG: an order of computation and a rule of eviction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from graphs.registry import GivenDag
from pebble.errors import BudgetError
from strategies.registry import STRATEGIES, Strategy

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["AnyDagStrategy", "Belady", "CleanFirst", "CostAware", "Lru"]


@lru_cache(maxsize=64)
def _least_memory(workload: Workload) -> int:
    return max(1, workload.dag().least_memory)


def least_memory(workload: Workload) -> int:
    """Return the least M of a workload: its largest in-degree plus one."""
    if isinstance(workload, GivenDag):
        return max(1, workload.dag().least_memory)
    # Every operation of a formula takes two operands at most: no DAG need be built to know.
    return 3 if workload.formula() is not None else _least_memory(workload)


@dataclass(frozen=True)
class AnyDagStrategy(Strategy):
    """Base of the strategies that play every DAG and compute each vertex once."""

    any_dag: ClassVar[bool] = True

    def refusal(self, workload: Workload) -> str | None:  # noqa: ARG002
        """Return None: every DAG is played."""
        return None

    def recomputes(self, workload: Workload) -> bool:  # noqa: ARG002
        """Return False: each vertex is computed once."""
        return False

    def least_memory(self, workload: Workload) -> int:
        """Return the largest in-degree plus one; 1 where nothing has to be computed."""
        return least_memory(workload)

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves."""
        dag = workload.dag() if dag is None else dag
        least = max(1, dag.least_memory)
        if memory < least:
            raise BudgetError(f"{self} on {workload} needs M >= {least}, got M = {memory}", least)
        return self.play(workload, memory, dag)

    def play(self, workload: Workload, memory: int, dag: Dag) -> Iterator[Moves]:
        """Yield the moves for a DAG with enough memory."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Evicting(AnyDagStrategy):
    """An order under the rule of eviction that the strategy is named after."""

    order: str = "depth-first"

    def under(self, rules: Rules) -> Strategy:  # type: ignore[override]
        """Return the same order and eviction, operand by operand under partial computation."""
        return _ByEdges(self.order, self.name) if rules.partial else self

    def play(self, workload: Workload, memory: int, dag: Dag) -> Iterator[Moves]:
        """Yield the moves for a DAG with enough memory."""
        from strategies.eviction import schedule_order
        from strategies.orders import order_of

        return schedule_order(dag, order_of(self.order, workload, dag, memory), memory, self.name)


@dataclass(frozen=True)
class _ByEdges(AnyDagStrategy):
    """What a strategy of this module plays under partial computation; not registered itself."""

    order: str
    eviction: str

    def __str__(self) -> str:
        return f"{self.eviction}:order={self.order}"

    def least_memory(self, workload: Workload) -> int:
        """Return 2: an operand and the vertex that absorbs it."""
        return min(2, super().least_memory(workload))

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves."""
        from strategies.absorbing import schedule_edges
        from strategies.orders import order_of

        dag = workload.dag() if dag is None else dag
        order = order_of(self.order, workload, dag, memory)
        return schedule_edges(dag, order, memory, self.eviction)


@STRATEGIES.register
@dataclass(frozen=True)
class Belady(_Evicting):
    """Any DAG in a given order; the value needed again last leaves first.

    That rule is optimal for loads alone. Where a value that was never stored costs a store as
    well, it is not: compare `CostAware`.

    Parameters
    ----------
    order : str
        ``depth-first`` (default), ``construction``, ``recursive`` where the workload knows one,
        or the name of a file with one vertex a line.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.referee import referee
    >>> fft = workload("fft:n=16")
    >>> moves = Belady(order="recursive").moves(fft, 6)
    >>> referee(fft.dag(), moves, 6).io
    62
    """

    name: ClassVar[str] = "belady"
    aliases: ClassVar[tuple[str, ...]] = ("furthest-next-use",)
    summary: ClassVar[str] = "any DAG in a given order; the value needed last leaves first"
    reference: ClassVar[str] = "Belady 1966, for loads; not optimal with stores"


@STRATEGIES.register
@dataclass(frozen=True)
class CostAware(_Evicting):
    """Any DAG in a given order; leaves first what is needed late and is cheap to bring back.

    The distance to the next use is divided by what eviction costs: one move for a value that is
    blue, two for one that must be stored.

    Examples
    --------
    >>> str(CostAware(order="construction"))
    'cost-aware:order=construction'
    """

    name: ClassVar[str] = "cost-aware"
    summary: ClassVar[str] = "any DAG in a given order; far next use, weighed by eviction's cost"
    reference: ClassVar[str] = "write-back-aware caching: Beckmann et al., APOCS 2020"


@STRATEGIES.register
@dataclass(frozen=True)
class CleanFirst(_Evicting):
    """Any DAG in a given order; values that are blue leave before values that must be stored."""

    name: ClassVar[str] = "clean-first"
    summary: ClassVar[str] = "any DAG in a given order; blue values leave before unstored ones"
    reference: ClassVar[str] = "folklore"


@STRATEGIES.register
@dataclass(frozen=True)
class Lru(_Evicting):
    """Any DAG in a given order; the value touched longest ago leaves first.

    Values without a further use are dropped at once, which a cache in hardware would not know.
    """

    name: ClassVar[str] = "lru"
    summary: ClassVar[str] = "any DAG in a given order; the value touched longest ago leaves first"
    reference: ClassVar[str] = "least recently used"
