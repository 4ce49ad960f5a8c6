"""The best tile schedule known here for a workload at M."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pebble.errors import BudgetError
from strategies.phases import TileStrategy
from strategies.registry import STRATEGIES, RefusalError, Strategy, strategies

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.report import Report

__all__ = ["Best"]


@STRATEGIES.register
@dataclass(frozen=True)
class Best(Strategy):
    """Whichever tile schedule has the least count at the given n, d and M.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> str(Best().choose(workload("attention-backward:n=4096,d=8"), 1024))
    'split'
    """

    name: ClassVar[str] = "best"
    summary: ClassVar[str] = "the tile schedule with the least count at the given n, d, M"
    reference: ClassVar[str] = "the other tile schedules"

    def candidates(self, workload: Workload) -> list[TileStrategy]:
        """Return the tile schedules that play a workload."""
        found = []
        for cls in strategies():
            if issubclass(cls, TileStrategy):
                for text in cls.variants or (cls.name,):
                    strategy = STRATEGIES.read(text)
                    if strategy.refusal(workload) is None:
                        assert isinstance(strategy, TileStrategy)
                        found.append(strategy)
        return found

    def choose(self, workload: Workload, memory: int) -> TileStrategy:
        """Return the schedule with the least I/O at M, ties to fewer computes.

        Raises
        ------
        RefusalError, BudgetError
            If none plays the workload, or none with so little memory.
        """
        self._check(workload)
        options = []
        for strategy in self.candidates(workload):
            try:
                report = strategy.count(workload, memory)
            except BudgetError:
                continue
            options.append((report.io, report.computes, str(strategy), strategy))
        if not options:
            least = self.least_memory(workload)
            message = f"{self} on {workload} needs M >= {least}, got M = {memory}"
            raise BudgetError(message, least)
        return min(options, key=lambda option: option[:3])[3]

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if workload.formula() is None or getattr(workload, "sum", "chain") != "chain":
            return "it chooses among tile schedules: take belady or local-search for any DAG"
        return None

    def _check(self, workload: Workload) -> None:
        reason = self.refusal(workload)
        if reason is not None:
            raise RefusalError(f"{self} does not play {workload}: {reason}")

    def recomputes(self, workload: Workload) -> bool:
        """Whether any of the schedules computes some vertex twice: one M may choose it."""
        self._check(workload)
        return any(strategy.recomputes(workload) for strategy in self.candidates(workload))

    def least_memory(self, workload: Workload) -> int:
        """Return the least M with which any of the schedules plays."""
        self._check(workload)
        return min(strategy.least_memory(workload) for strategy in self.candidates(workload))

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves of the schedule that is chosen."""
        return self.choose(workload, memory).moves(workload, memory, dag)

    def count(self, workload: Workload, memory: int) -> Report:
        """Return the counts of the schedule that is chosen, under its name."""
        return self.choose(workload, memory).count(workload, memory)
