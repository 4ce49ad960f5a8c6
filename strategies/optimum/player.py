"""The strategy that plays an optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from strategies.registry import STRATEGIES, RefusalError, Strategy

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["Optimal"]

#: Most vertices of a graph that the strategy takes on.
_LARGEST = 64
_ADVICE = f"at most {_LARGEST} are played; `pebble solve` tries more, `local-search` plays any"


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

    time: int = 10
    rules: Literal["hk", "one-shot"] = "hk"

    def refusal(self, workload: Workload) -> str | None:
        """Return why the graph is not taken on: it is too large."""
        # A graph is not built to learn that it is too large: every size is a number of vertices
        # of some tensor, so that one beyond the limit settles it.
        if max(workload.sizes().values(), default=0) <= _LARGEST:
            size = len(workload.dag())
            if size <= _LARGEST:
                return None
            return f"its graph has {size:,} vertices; {_ADVICE}"
        return f"its graph is larger than {_LARGEST} vertices; {_ADVICE}"

    def recomputes(self, workload: Workload) -> bool:  # noqa: ARG002
        """Return whether it may: not with ``rules=one-shot``."""
        return self.rules == "hk"

    def under(self, rules: Rules) -> Optimal:
        """Return the optimum of plays that compute each vertex once where the rules want these."""
        return replace(self, rules="one-shot") if rules.one_shot else self

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
        from pebble.rules import Rules
        from strategies.optimum.solver import solve

        self.require(workload, memory)
        dag = workload.dag() if dag is None else dag
        found = solve(dag, memory, Rules.parse(self.rules), time=float(self.time))
        if not found.finished:
            raise RefusalError(
                f"{self} on {workload} with M={memory}: stopped by {found.stopped_by}, the optimum "
                f"lies between {found.lower} and {found.upper}; give more with time=, or take "
                f"`pebble solve` for the interval and its play"
            )
        yield found.moves
