"""Sweeps: a grid of workload × strategy × M, every point refereed, in one process or many."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from lab import playing, pools
from lab.arguments import as_memory, as_rules, as_strategy, as_workload
from lab.ranges import expand, read_range, split_specs
from lab.results import COUNTS, Results, Row
from pebble.errors import BudgetError, GraphError, PebbleError, SpecError
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from bounds.bound import Bound
    from graphs.registry import Workload
    from lab.arguments import RulesLike, StrategyLike, WorkloadLike
    from pebble.dag import Dag
    from pebble.report import Report
    from strategies.registry import Strategy

__all__ = ["Method", "Point", "Progress", "WorkerError", "plan", "sweep"]
__all__ += ["sweep_points"]

Method: TypeAlias = Literal["referee", "tally"]
#: Called with the number of points done, the number of points, and the row just finished.
Progress: TypeAlias = Callable[[int, int, Row], None]
Finished: TypeAlias = "Generator[tuple[int, Outcome], None, None]"
T = TypeVar("T")
MemoriesLike: TypeAlias = "str | int | Iterable[int]"


class WorkerError(PebbleError, RuntimeError):
    """A worker process that died."""


@dataclass(frozen=True)
class Point:
    """One point of the grid."""

    workload: Workload
    strategy: Strategy
    memory: int
    rules: Rules
    method: Method


@dataclass(frozen=True)
class Outcome:
    """What came of a point: a report, or the error that tells why there is none."""

    report: Report | None = None
    error: PebbleError | None = None
    compulsory: int | None = None


def sweep(
    workloads: WorkloadLike | Iterable[WorkloadLike],
    strategies: StrategyLike | Iterable[StrategyLike],
    memories: MemoriesLike,
    *,
    rules: RulesLike = HK,
    method: Method = "referee",
    executor: int | Executor | None = None,
    progress: Progress | None = None,
) -> Results:
    """Play every strategy on every workload under every M.

    Parameters
    ----------
    workloads : str, Workload, Dag, or several
        A text may be a list, and its integers may be ranges
        (``attention-backward:n=64:1024:x2,d=16``).
    strategies : str, Strategy, or several
        A text may be a list: ``naive,flash:rows=8,columns=4``.
    memories : str, int or several ints
        Values of M; a text is a range, possibly in the workload's sizes
        (``0.25*d^2:4*d^2:x2``).
    rules : str or Rules
        Conventions to be judged by.
    method : {"referee", "tally"}
        Play and judge every move, or count from the schedules' texts without a DAG, at any size.
        Every row says which it was.
    executor : int or Executor, optional
        A number of processes, or an executor of one's own; by default this process does it all.
        As always with processes, a script that asks for them needs its
        ``if __name__ == "__main__":``.
    progress : callable, optional
        Called after each point.

    Returns
    -------
    Results
        One row per point, ordered by workload, strategy, M, whoever finished first. A point that
        cannot be played is a row without counts whose status says why: ``needs M >= 87``,
        ``does not play``, ``failed``.

    Raises
    ------
    PebbleError
        If no point at all can be played, or a text does not read.

    Examples
    --------
    >>> results = sweep("matmul:m=4,n=4,k=4", "naive", "4:16:x2")
    >>> [(row.memory, row.io) for row in results]
    [(4, 144), (8, 144), (16, 144)]
    """
    points = plan(workloads, strategies, memories, rules=rules, method=method)
    return sweep_points(points, executor=executor, progress=progress)


def sweep_points(
    points: Sequence[Point],
    *,
    executor: int | Executor | None = None,
    progress: Progress | None = None,
) -> Results:
    """Play the points that `plan` made; the other half of `sweep`."""
    rows: dict[int, Row] = {}
    errors: list[PebbleError] = []
    yardsticks = _Yardsticks()
    # Closed at once when a callback fails, so that no worker goes on.
    with closing(_run(points, executor)) as outcomes:
        for done, (index, outcome) in enumerate(outcomes, start=1):
            rows[index] = yardsticks.row(points[index], outcome)
            if outcome.error is not None:
                errors.append(outcome.error)
            if progress is not None:
                progress(done, len(points), rows[index])
    if len(errors) == len(points):
        raise _cheapest(errors)
    return Results(rows[index] for index in range(len(points)))


def plan(
    workloads: WorkloadLike | Iterable[WorkloadLike],
    strategies: StrategyLike | Iterable[StrategyLike],
    memories: MemoriesLike,
    *,
    rules: RulesLike = HK,
    method: Method = "referee",
) -> list[Point]:
    """Return the points of a sweep, in order; parameters and errors as in `sweep`."""
    if method not in ("referee", "tally"):
        raise SpecError(f"method must be referee or tally, got {method!r}")
    judged_by = as_rules(rules)
    given: Iterator[WorkloadLike] = _several(workloads, _workload_texts)
    works = [as_workload(each) for each in given]
    ways = [as_strategy(each) for each in _several(strategies, split_specs)]
    points = [
        Point(workload, strategy, memory, judged_by, method)
        for workload in dict.fromkeys(works)
        for strategy in dict.fromkeys(ways)
        for memory in _memories(memories, workload)
    ]
    if not points:
        raise SpecError("nothing to sweep: expected a workload, a strategy and a value of M")
    return points


def _workload_texts(text: str) -> list[str]:
    return [written for each in split_specs(text) for written in expand(each)]


def _several(
    given: T | str | Iterable[T | str], split: Callable[[str], list[str]]
) -> Iterator[T | str]:
    """Yield the things of a list, or one thing, with texts split into theirs."""
    for each in [given] if isinstance(given, str) or not isinstance(given, Iterable) else given:
        if isinstance(each, str):
            yield from split(each)
        else:
            yield each


def _memories(memories: MemoriesLike, workload: Workload) -> list[int]:
    if isinstance(memories, str):
        return read_range(memories, workload.sizes())
    each = [memories] if isinstance(memories, int) else list(memories)
    return sorted({as_memory(memory, workload) for memory in each})


# -- playing ------------------------------------------------------------------------------------


class _Player:
    """Plays points one after the other and keeps the DAG of the last one."""

    def __init__(self) -> None:
        self._workload: Workload | None = None
        self._dag: Dag | None = None

    def play(self, point: Point) -> Outcome:
        workload = point.workload
        try:
            playing.check_playable(workload, point.strategy, point.memory, point.rules)
            if point.method == "tally":
                return Outcome(playing.count(workload, point.strategy, point.memory))
            dag = self.dag(workload)
            report = playing.play(workload, point.strategy, point.memory, point.rules, dag=dag)
        except PebbleError as error:
            return Outcome(error=error)
        except MemoryError:
            return Outcome(error=GraphError(f"{workload} does not fit into memory"))
        return Outcome(report, compulsory=self._compulsory)

    def dag(self, workload: Workload) -> Dag:
        """Return the workload's DAG, built once for points that follow one another."""
        from lab.yardsticks import compulsory, compulsory_of

        if self._dag is None or self._workload != workload:
            self._workload = self._dag = None  # the old one goes before the new one comes
            self._dag = workload.dag()
            self._workload = workload
            least = compulsory(workload)
            self._compulsory = compulsory_of(self._dag) if least is None else least
        return self._dag


#: The player of a worker process.
_player = _Player()


def _play(point: Point) -> Outcome:
    outcome = _player.play(point)
    try:
        pickle.loads(pickle.dumps(outcome.error))  # noqa: S301
    except Exception as error:  # noqa: BLE001
        # An error class that does not survive the way home would take the pool with it.
        return Outcome(error=PebbleError(f"{outcome.error} ({type(error).__name__})"))
    return outcome


def _run(points: Sequence[Point], executor: int | Executor | None) -> Finished:
    """Yield (index, outcome) as points are finished."""
    if isinstance(executor, Executor):
        yield from _collect(points, executor, own=False)
        return
    if executor is not None and executor < 1:
        raise SpecError(f"expected a positive number of processes, got {executor}")
    if executor is None or executor == 1 or len(points) == 1:
        player = _Player()
        yield from ((index, player.play(point)) for index, point in enumerate(points))
        return
    with pools.processes(min(executor, len(points))) as pool:
        yield from _collect(points, pool, own=True)


def _collect(points: Sequence[Point], executor: Executor, *, own: bool) -> Finished:
    # In the grid's order: a worker meets a workload's points one after the other, so that it
    # builds each DAG once.
    futures: dict[Future[Outcome], int] = {}
    try:
        with pools.shielded():
            for index, point in enumerate(points):
                futures[executor.submit(_play, point)] = index
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
    except BrokenProcessPool:
        raise WorkerError(
            "a worker process died, most likely for want of memory: take fewer processes or "
            "smaller sizes"
        ) from None
    except BaseException:
        if not own:
            for future in futures:
                future.cancel()
        raise


# -- rows -----------------------------------------------------------------------------------------


class _Yardsticks:
    """Makes rows: adds what the counts are held against, looked up once per workload."""

    def __init__(self) -> None:
        self._known: dict[Workload, tuple[Bound | None, int | None]] = {}

    def row(self, point: Point, outcome: Outcome) -> Row:
        from lab.yardsticks import certified_least, compulsory, theta, values_at

        workload, report = point.workload, outcome.report
        if workload not in self._known:
            self._known[workload] = theta(workload, point.rules), compulsory(workload)
        bound, least = self._known[workload]
        more: dict[str, Any] = {}
        if report is not None:
            more = {name: getattr(report, name) for name in COUNTS}
        if bound is not None:
            values = values_at(bound, workload.sizes(), point.memory)
            more["bound"] = bound.name
            more["bound_value"] = float(bound.evaluate(**values))
            more["in_regime"] = bound.holds(**values)
        proved = certified_least(workload, point.memory, point.rules)
        if proved is not None:
            more |= {"certified": proved.value, "certified_by": proved.name}
        return Row(
            workload=str(workload),
            sizes=workload.sizes(),
            strategy=str(point.strategy),
            memory=point.memory,
            rules=str(point.rules),
            method=point.method,
            status=_status(outcome),
            compulsory=least if least is not None else outcome.compulsory,
            **more,
        )


def _status(outcome: Outcome) -> str:
    from strategies.registry import RefusalError

    error = outcome.error
    if error is None:
        return "ok"
    if isinstance(error, BudgetError) and error.least is not None:
        return f"needs M >= {error.least}"
    if isinstance(error, RefusalError):
        return f"does not play: {error}"
    return f"failed: {error}"


def _cheapest(errors: Sequence[PebbleError]) -> PebbleError:
    """Return the error that is least far from success: the smallest budget that would do."""
    budgets = [e for e in errors if isinstance(e, BudgetError) and e.least is not None]
    return min(budgets, key=lambda error: error.least or 0) if budgets else errors[0]
