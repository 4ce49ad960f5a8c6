"""What every strategy promises, checked by playing it: for ours and for third parties' alike."""

from __future__ import annotations

import dataclasses
import itertools
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pebble.errors import (
    BudgetError,
    IllegalMoveError,
    InvalidMoveError,
    PebbleError,
    SpecError,
)
from pebble.spec import parse
from strategies import registry
from strategies.registry import STRATEGIES, RefusalError, Strategy

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.report import Report

__all__ = ["ConformanceError", "check_strategy", "small_workloads"]

#: Values that the sizes of a workload take in turn: the smallest, and some that leave remainders.
SIZES = ((1, 1, 1), (2, 1, 3), (5, 2, 3), (4, 3, 2))


class ConformanceError(AssertionError):
    """A strategy that does not keep a promise of `Strategy`; the message says which."""


def check_strategy(
    strategy: Strategy | str, workloads: Iterable[Workload | str] | None = None
) -> list[Report]:
    """Check that a strategy keeps every promise of `Strategy`, by playing it.

    Its text form reads back. A workload that it refuses is refused by all its methods, in words.
    On every other one it refuses M one below its least M and plays legally at it and above; its
    moves are packed in uint32 arrays and the same each time; where it counts, its count is the
    referee's; it never recomputes where it says so, and does where it says so and counts.

    Parameters
    ----------
    strategy : Strategy or str
        The strategy, or its text form.
    workloads : iterable of Workload or str, optional
        What to play; small instances of every registered workload by default.

    Returns
    -------
    list of Report
        The referee's reports of all plays.

    Raises
    ------
    ConformanceError
        At the first promise that is not kept.

    Examples
    --------
    >>> reports = check_strategy("naive", ["matmul:m=2,n=2,k=2"])
    >>> reports[0].memory, reports[0].io
    (4, 20)
    """
    from graphs.registry import workload

    played = registry.strategy(strategy) if isinstance(strategy, str) else strategy
    _check_text(played)
    chosen = small_workloads() if workloads is None else workloads
    reports = [
        report
        for given in chosen
        for report in _Trial(played, workload(given) if isinstance(given, str) else given).run()
    ]
    if not reports:
        raise ConformanceError(f"{played} refuses every workload that was tried")
    return reports


def small_workloads() -> Iterator[Workload]:
    """Yield small instances of every registered workload, each option in turn.

    Examples
    --------
    >>> "attention-forward:n=5,d=2" in map(str, small_workloads())
    True
    """
    from graphs.registry import workloads

    for kind in workloads():
        hints = typing.get_type_hints(kind)
        fields = [f for f in dataclasses.fields(kind) if f.init]
        sizes = [f.name for f in fields if hints[f.name] is int]
        needed = [f.name for f in fields if f.default is dataclasses.MISSING]
        options: list[dict[str, Any]] = [{}]
        for field in fields:
            words = [w for w in typing.get_args(hints[field.name]) if isinstance(w, str)]
            words += field.metadata.get("tried", ())  # of an option that takes any text
            options += [{field.name: word} for word in words if word != field.default]
        if not set(needed) <= set(sizes):
            continue  # it needs something other than sizes, which cannot be made up
        made = set()
        for values, more in itertools.product(SIZES, options):
            try:
                instance = kind(**dict(zip(sizes, values, strict=False)), **more)
            except SpecError:
                continue  # such as an FFT on three points
            if instance not in made:
                made.add(instance)
                yield instance


def _check_text(played: Strategy) -> None:
    """Check name and text form."""
    text = str(played)
    try:
        name, parameters = parse(text)
        again = type(played).from_parameters(parameters)
    except PebbleError as error:
        raise ConformanceError(
            f"{played!r}: its text form {text!r} does not read: {error}"
        ) from None
    if not played.name or name != played.name:
        raise ConformanceError(f"{played!r}: its text form {text!r} must start with its name")
    if again != played or hash(again) != hash(played):
        raise ConformanceError(f"{played!r}: its text form {text!r} reads back as {again!r}")
    registry.strategies()
    for known in (played.name, *played.aliases):
        if STRATEGIES.known(known) and STRATEGIES.find(known) is not type(played):
            raise ConformanceError(
                f"{played!r}: the name {known} is registered for {STRATEGIES.find(known)}"
            )


class _Trial:
    """One strategy on one workload."""

    def __init__(self, played: Strategy, workload: Workload) -> None:
        self.strategy, self.workload = played, workload
        self.counts = False

    def fail(self, what: str) -> NoReturn:
        """Raise `ConformanceError`."""
        raise ConformanceError(f"{self.strategy} on {self.workload}: {what}")

    def run(self) -> list[Report]:
        """Check everything; return the reports, none where the workload is refused."""
        reason = self.strategy.refusal(self.workload)
        if reason is not None:
            self._check_refusal(reason)
            return []
        least = self.strategy.least_memory(self.workload)
        if type(least) is not int or least < 0:
            self.fail(f"least_memory must be an int from 0 on, got {least!r}")
        self._check_budget(least)
        dag = self.workload.dag()
        reports = [
            self._play(dag, memory)
            for memory in dict.fromkeys((least, least + 1, 2 * least + 3, 10 * least + 100))
        ]
        self._check_recomputes(reports)
        return reports

    def _check_refusal(self, reason: str) -> None:
        """Check that a refused workload is refused everywhere."""
        if not isinstance(reason, str) or not reason.strip():
            self.fail(f"refusal must be None or say why, got {reason!r}")
        if self.strategy.any_dag:
            self.fail(f"any_dag says that it plays every DAG, yet it refuses: {reason}")
        calls: dict[str, Callable[[], Any]] = {
            "least_memory": lambda: self.strategy.least_memory(self.workload),
            "moves": lambda: self._first_chunk(1 << 20),
            "count": lambda: self.strategy.count(self.workload, 1 << 20),
        }
        for name, call in calls.items():
            try:
                call()
            except RefusalError:
                continue
            except Exception as error:  # noqa: BLE001 - whatever a third party raises
                self.fail(f"{name} must raise RefusalError since it is refused, raised {error!r}")
            self.fail(f"{name} must raise RefusalError since it is refused ({reason})")

    def _first_chunk(self, memory: int) -> Any:
        return next(iter(self.strategy.moves(self.workload, memory)), None)

    def _check_budget(self, least: int) -> None:
        """Check that M one below the least is refused, with the least M named."""
        if least == 0:
            return
        calls: dict[str, Callable[[], Any]] = {
            "moves": lambda: self._first_chunk(least - 1),
            "count": lambda: self.strategy.count(self.workload, least - 1),
        }
        for name, call in calls.items():
            try:
                call()
            except BudgetError as error:
                if error.least != least:
                    self.fail(
                        f"least_memory is {least}, but {name} at M={least - 1} says that "
                        f"{error.least} is the least"
                    )
                continue
            except RefusalError:
                if name == "count":  # it does not count
                    continue
                self.fail(f"{name} at M={least - 1} must raise BudgetError, not RefusalError")
            self.fail(f"least_memory is {least}, but {name} at M={least - 1} is not refused")

    def _play(self, dag: Dag, memory: int) -> Report:
        """Referee the moves, twice, and hold the count against them."""
        from pebble.referee import referee

        where = f"M={memory}"
        try:
            chunks = self._chunks(memory, None)
            report = referee(
                dag, chunks, memory, workload=str(self.workload), strategy=str(self.strategy)
            )
        except (IllegalMoveError, InvalidMoveError) as error:
            self.fail(f"with {where} the referee refuses: {error}")
        except BudgetError as error:
            self.fail(f"least_memory is at most {memory}, but it is refused there: {error}")
        moves = np.concatenate(chunks) if chunks else np.empty(0, np.uint32)
        again = self._chunks(memory, dag)
        if not np.array_equal(moves, np.concatenate(again) if again else moves[:0]):
            self.fail(f"with {where} the moves differ when asked again, with the DAG given")
        try:
            count = self.strategy.count(self.workload, memory)
        except RefusalError:
            return report
        self.counts = count.strategy == report.strategy
        # Under what name a strategy counts that chooses among others is its own affair.
        for name in (f.name for f in dataclasses.fields(report) if f.name != "strategy"):
            counted, refereed = getattr(count, name), getattr(report, name)
            # Under a mask the dense schedule's height is counted, which is no less.
            masked = self.workload.pairs() is not None
            at_most = name == "peak_red" and masked and refereed <= counted
            if counted != refereed and not at_most:
                self.fail(f"with {where} it counts {name} {counted}, the referee {refereed}")
        return report

    def _chunks(self, memory: int, dag: Dag | None) -> list[np.ndarray[Any, Any]]:
        chunks = []
        for chunk in self.strategy.moves(self.workload, memory, dag):
            if not isinstance(chunk, np.ndarray) or chunk.dtype != np.uint32 or chunk.ndim != 1:
                kind = getattr(chunk, "dtype", type(chunk).__name__)
                self.fail(f"moves must yield one-dimensional uint32 arrays, got {kind}")
            chunks.append(chunk.copy())  # a strategy may fill the same array again
        return chunks

    def _check_recomputes(self, reports: list[Report]) -> None:
        says = self.strategy.recomputes(self.workload)
        does = next((report for report in reports if report.recomputes), None)
        # A search or a choice may find that it need not; a strategy that counts itself knows.
        if says and does is None and self.counts:
            self.fail("it says that it recomputes, and no play does")
        if not says and does is not None:
            self.fail(f"it says that it never recomputes, and does with M={does.memory}")
