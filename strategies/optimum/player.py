"""The strategy that plays an optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies.registry import STRATEGIES, RefusalError, Strategy

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves

__all__ = ["Optimal"]

#: Most vertices of a graph that the strategy takes on.
_LARGEST = 200


@STRATEGIES.register
@dataclass(frozen=True)
class Optimal(Strategy):
    """An optimal play, found by exact search; refused when the search does not finish in time.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.referee import referee
    >>> pyramid = workload("pyramid:h=4")
    >>> referee(pyramid.dag(), Optimal().moves(pyramid, 4), 4).io
    10
    """

    name: ClassVar[str] = "optimal"
    aliases: ClassVar[tuple[str, ...]] = ("optimum", "exact")
    summary: ClassVar[str] = "the true optimum, by exact search, on small graphs; time= seconds"
    reference: ClassVar[str] = "HK81 (the game); A* over packed states"
    any_dag: ClassVar[bool] = True

    time: int = 60
    once: int | None = None

    def refusal(self, workload: Workload) -> str | None:
        """Return why the graph is not taken on: it is too large."""
        from graphs.registry import FormulaWorkload

        if isinstance(workload, FormulaWorkload) and any(
            size > _LARGEST for size in workload.sizes().values()
        ):
            return f"its graph has more than {_LARGEST} vertices; `local-search` takes any"
        size = len(workload.dag())
        if size > _LARGEST:
            return f"its graph has {size:,} vertices, more than {_LARGEST}; `local-search` takes any"
        return None

    def recomputes(self, workload: Workload) -> bool:  # noqa: ARG002
        """Return whether it may: not with ``once=1``."""
        return not self.once

    def least_memory(self, workload: Workload) -> int:
        """Return the largest in-degree plus one."""
        return max(1, workload.dag().least_memory)

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves.

        Raises
        ------
        RefusalError
            If the search does not finish in ``time`` seconds; it says what it has proved.
        """
        from pebble.rules import HK, ONE_SHOT
        from strategies.optimum.solve import solve

        self.require(workload, memory)
        rules = ONE_SHOT if self.once else HK
        found = solve(
            workload.dag() if dag is None else dag, memory, rules, time=float(self.time)
        )
        if not found.finished:
            raise RefusalError(
                f"{self} on {workload} with M={memory}: stopped by {found.stopped_by}, the optimum "
                f"lies between {found.lower} and {found.upper}; give more with time=, or take "
                f"`pebble solve` for the interval and its play"
            )
        yield found.moves
