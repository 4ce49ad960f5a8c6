"""Strategies: ways to pebble a workload, registered by name, written ``flash:rows=8``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, ClassVar, Self

from pebble.errors import BudgetError, PebbleError
from pebble.spec import Registry, Spec

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.report import Report
    from pebble.rules import Rules

__all__ = ["STRATEGIES", "RefusalError", "Strategy", "strategies", "strategy"]

#: Entry-point group through which other distributions add strategies.
ENTRY_POINTS = "redblue_pebble.strategies"


class RefusalError(PebbleError, ValueError):
    """A strategy that does not play this workload, or not under these rules."""


@dataclass(frozen=True)
class Strategy(Spec):
    """A way to pebble workloads.

    Subclasses are frozen dataclasses of parameters, registered with
    ``@STRATEGIES.register``; they say what they play in `refusal`, what they need in
    `least_memory`, and give their moves in `moves`.

    Attributes
    ----------
    summary, reference : str
        One line for listings, and the source of the algorithm.
    any_dag : bool
        Whether it plays every DAG.
    """

    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    any_dag: ClassVar[bool] = False

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None when it can."""
        raise NotImplementedError

    def recomputes(self, workload: Workload) -> bool:
        """Whether the strategy computes some vertex of the workload more than once."""
        raise NotImplementedError

    def under(self, rules: Rules) -> Self:  # noqa: ARG002
        """Return the strategy as it plays under these rules; most play the same under all."""
        return self

    def least_memory(self, workload: Workload) -> int:
        """Return the least M with which the strategy plays the workload."""
        raise NotImplementedError

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:
        """Yield the moves, packed, in chunks.

        Parameters
        ----------
        workload : Workload
            What to play.
        memory : int
            M, the number of red pebbles.
        dag : Dag, optional
            The workload's DAG, where it is already built.

        Raises
        ------
        RefusalError, BudgetError
            If the strategy does not play the workload, or not with so little memory.
        """
        raise NotImplementedError

    def count(self, workload: Workload, memory: int) -> Report:  # noqa: ARG002
        """Return loads, stores, computes and peak without building a DAG.

        Raises
        ------
        RefusalError
            Also when the strategy has no count: only its moves can tell.
        """
        raise RefusalError(
            f"{self} cannot count {workload} without its DAG: use `pebble play` instead"
        )

    def require(self, workload: Workload, memory: int) -> None:
        """Raise unless the strategy plays the workload with M = ``memory``."""
        reason = self.refusal(workload)
        if reason is not None:
            raise RefusalError(f"{self} does not play {workload}: {reason}")
        least = self.least_memory(workload)
        if memory < least:
            raise BudgetError(f"{self} on {workload} needs M >= {least}, got M = {memory}", least)


STRATEGIES: Registry[Strategy] = Registry("strategy")


def _discover() -> None:
    """Import every module of this package, and of the entry points: they register themselves."""
    import strategies as package

    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"strategies.{module.name}")
    for point in entry_points(group=ENTRY_POINTS):
        point.load()


def strategies() -> list[type[Strategy]]:
    """Return every registered strategy class, sorted by name."""
    _discover()
    return STRATEGIES.classes()


def strategy(text: str) -> Strategy:
    """Read a strategy's text form.

    Examples
    --------
    >>> str(strategy("flash:columns=4"))
    'flash:columns=4'
    """
    _discover()
    return STRATEGIES.read(text)
