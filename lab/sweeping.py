"""Sweeps: a grid of workload × strategy × M, every point refereed, in one process or many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from lab import crew, journal, playing
from lab.arguments import as_memory, as_rules, as_strategy, as_workload
from lab.ranges import expand, read_range, split_specs
from lab.results import Results, Row, check_name
from lab.running import WorkerError
from pebble.errors import BudgetError, PebbleError, SpecError
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from graphs.registry import Workload
    from lab.arguments import RulesLike, StrategyLike, WorkloadLike
    from strategies.registry import Strategy

__all__ = ["Method", "Point", "Progress", "WorkerError", "plan", "sweep"]
__all__ += ["sweep_points"]

Method: TypeAlias = Literal["referee", "tally"]
#: Called with the number of points done, the number of points, and the row just finished.
Progress: TypeAlias = Callable[[int, int, Row], None]
#: Called with a line that is worth telling: what was found in a file, which process died.
Notice: TypeAlias = Callable[[str], None]
T = TypeVar("T")
MemoriesLike: TypeAlias = "str | int | Iterable[int]"


@dataclass(frozen=True)
class Point:
    """One point of the grid."""

    workload: Workload
    strategy: Strategy
    memory: int
    rules: Rules
    method: Method


def sweep(
    workloads: WorkloadLike | Iterable[WorkloadLike],
    strategies: StrategyLike | Iterable[StrategyLike],
    memories: MemoriesLike,
    *,
    rules: RulesLike = HK,
    method: Method = "referee",
    executor: int | Executor | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    notice: Notice | None = None,
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
        A number of processes, of which as many play at a time as memory has room for; or an
        executor of one's own, such as a Dask client's (`lab.clusters`); by default this process
        does it all. As always with processes, a script that asks for them needs its
        ``if __name__ == "__main__":``.
    progress : callable, optional
        Called after each point.
    out : path, optional
        Write the rows there, ``.csv``, ``.json`` or ``.parquet``. Until all are known, each row is
        kept in the journal beside it (``rows.csv.journal``) as soon as it is finished, and the
        same call goes on from there, whatever ended the one before; failed points are tried again.
    fresh : bool
        Forget the journal and play everything.
    notice : callable, optional
        Called with lines worth telling.

    Returns
    -------
    Results
        One row per point, ordered by workload, strategy, M, whoever finished first. A point that
        cannot be played is a row without counts whose status says why: ``needs M >= 87``,
        ``does not play``, ``failed``. The others are none the worse for it; a point whose worker
        process dies is played once more, alone, before it counts as failed.

    Raises
    ------
    PebbleError
        If no point at all can be played, or a text does not read.
    JournalError
        If the journal belongs to another sweep, another version, or is damaged, or another process
        is writing it.
    FileError
        If a file cannot be written; what was finished before is in the journal.
    WorkerError
        If the workers are gone for good; likewise.

    Examples
    --------
    >>> results = sweep("matmul:m=4,n=4,k=4", "naive", "4:16:x2")
    >>> [(row.memory, row.io) for row in results]
    [(4, 144), (8, 144), (16, 144)]
    """
    points = plan(workloads, strategies, memories, rules=rules, method=method)
    return sweep_points(
        points, executor=executor, progress=progress, out=out, fresh=fresh, notice=notice
    )


def sweep_points(
    points: Sequence[Point],
    *,
    executor: int | Executor | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    notice: Notice | None = None,
) -> Results:
    """Play the points that `plan` made; the other half of `sweep`."""
    tell = notice if notice is not None else lambda _: None
    errors: list[PebbleError] = []
    with _kept(points, out, fresh, tell) as book:
        rows = {} if book is None else {i: row for i, row in book.rows.items() if not row.failed}
        todo = [index for index in range(len(points)) if index not in rows]
        # Closed at once when a callback fails, so that no worker goes on.
        with closing(crew.outcomes(points, todo, executor, tell)) as outcomes:
            for index, outcome in outcomes:
                rows[index] = outcome.row
                if book is not None:
                    book.add(index, outcome.row)
                if outcome.error is not None:
                    errors.append(outcome.error)
                if progress is not None:
                    progress(len(rows), len(points), outcome.row)
        if not any(row.played for row in rows.values()):
            if book is not None:
                book.forget()
            raise _cheapest(errors or _reasons(points))
        results = Results(rows[index] for index in range(len(points)))
        if out is not None:
            results.write(out)
    return results


@contextmanager
def _kept(
    points: Sequence[Point], out: str | Path | None, fresh: bool, tell: Notice
) -> Iterator[journal.Journal | None]:
    """Open the journal of a file of results, and say what is in it."""
    if out is None:
        yield None
        return
    check_name(out)
    path = journal.journal_of(out)
    with journal.opened(path, journal.identity(points), fresh=fresh) as book:
        if book.cut:
            tell(f"{path} ended in half a line, which is dropped")
        if book.rows:
            failed = sum(row.failed for row in book.rows.values())
            more = f"; {failed} that failed are tried again" if failed else ""
            tell(f"{len(book.rows) - failed} of {len(points)} points come from {path}{more}")
        try:
            yield book
        except BaseException:
            if book.rows:
                tell(
                    f"{len(book.rows)} of {len(points)} points are kept in {path}: the same sweep "
                    "goes on from there"
                )
            raise


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


# -- when nothing can be played -----------------------------------------------------------------


def _reasons(points: Sequence[Point]) -> list[PebbleError]:
    """Return why points cannot be played, where all that is left of it is a row."""
    found: list[PebbleError] = []
    for point in points:
        try:
            playing.check_playable(point.workload, point.strategy, point.memory, point.rules)
        except PebbleError as error:
            found.append(error)
    return found


def _cheapest(errors: Sequence[PebbleError]) -> PebbleError:
    """Return the error that is least far from success: the smallest budget that would do."""
    budgets = [e for e in errors if isinstance(e, BudgetError) and e.least is not None]
    return min(budgets, key=lambda error: error.least or 0) if budgets else errors[0]
