"""What a sweep's process does with a point: build the DAG once, play, judge, make the row.

The same code runs in this process, in worker processes and on a cluster's machines.
"""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab import playing
from lab.journal import code_digest
from lab.results import COUNTS, Row
from pebble.errors import BudgetError, GraphError, PebbleError

if TYPE_CHECKING:
    from bounds.bound import Bound
    from graphs.registry import Workload
    from lab.sweeping import Method, Point
    from pebble.dag import Dag
    from pebble.report import Report
    from pebble.rules import Rules
    from strategies.registry import Strategy

__all__ = ["Outcome", "Player", "WorkerError", "arguments", "play_next", "play_point"]


class WorkerError(PebbleError, RuntimeError):
    """A worker process, or a cluster, that died."""


@dataclass(frozen=True)
class Outcome:
    """What came of a point.

    Attributes
    ----------
    row : Row
        The row, with counts or the reason why there are none.
    error : PebbleError or None
        That reason.
    code : str
        Checksum of the source code that made the row.
    """

    row: Row
    error: PebbleError | None
    code: str


class Player:
    """Plays points one after the other and keeps the DAG of the last one.

    Threads take turns: the game's kernels hold Python's lock, so that two at once would gain
    nothing and hold two DAGs.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._workload: Workload | None = None
        self._dag: Dag | None = None
        self._least: int | None = None
        self._judged: tuple[Workload, Rules] | None = None
        self._yardsticks: tuple[Bound | None, int | None] = (None, None)

    def play(self, point: Point) -> Outcome:
        """Play a point; whatever goes wrong in it is part of its outcome."""
        with self._turn:
            report, least, error = None, None, None
            try:
                report, least = self._report(point)
            except PebbleError as caught:
                error = caught
            except MemoryError:
                error = GraphError(f"{point.workload} does not fit into memory")
            except Exception as caught:  # noqa: BLE001
                # A strategy or a workload may be anybody's; the other points are none the worse.
                error = PebbleError(f"{type(caught).__name__}: {caught}")
            return self._outcome(point, report, error, least)

    def failed(self, point: Point, error: PebbleError) -> Outcome:
        """Return the outcome of a point that nobody could play."""
        return self._outcome(point, None, error, None)

    def _report(self, point: Point) -> tuple[Report, int | None]:
        workload = point.workload
        playing.check_playable(workload, point.strategy, point.memory, point.rules)
        if point.method == "tally":
            return playing.count(workload, point.strategy, point.memory), None
        dag = self._built(workload)
        report = playing.play(workload, point.strategy, point.memory, point.rules, dag=dag)
        return report, self._least

    def _built(self, workload: Workload) -> Dag:
        """Return the workload's DAG, built once for points that follow one another."""
        from lab.yardsticks import compulsory, compulsory_of

        if self._dag is None or self._workload != workload:
            self._workload = self._dag = None  # the old one goes before the new one comes
            self._dag = workload.dag()
            self._workload = workload
            least = compulsory(workload)
            self._least = compulsory_of(self._dag) if least is None else least
        return self._dag

    def _outcome(
        self, point: Point, report: Report | None, error: PebbleError | None, counted: int | None
    ) -> Outcome:
        from lab.yardsticks import certified_least, compulsory, theta, values_at

        workload = point.workload
        if self._judged != (workload, point.rules):
            self._yardsticks = theta(workload, point.rules), compulsory(workload)
            self._judged = workload, point.rules
        bound, least = self._yardsticks
        more: dict[str, Any] = {}
        if report is not None:
            more = {name: getattr(report, name) for name in COUNTS}
        if bound is not None:
            values = values_at(bound, workload.sizes() | workload.facts(), point.memory)
            more["bound"] = bound.name
            more["bound_value"] = float(bound.evaluate(**values))
            more["in_regime"] = bound.holds(**values)
        proved = certified_least(workload, point.memory, point.rules)
        if proved is not None:
            more |= {"certified": proved.value, "certified_by": proved.name}
        row = Row(
            workload=str(workload),
            sizes=workload.sizes(),
            strategy=str(point.strategy),
            memory=point.memory,
            rules=str(point.rules),
            method=point.method,
            status=_status(error),
            compulsory=least if least is not None else counted,
            **more,
        )
        return Outcome(row, error, code_digest())


def _status(error: PebbleError | None) -> str:
    from strategies.registry import RefusalError

    if error is None:
        return "ok"
    if isinstance(error, BudgetError) and error.least is not None:
        return f"needs M >= {error.least}"
    if isinstance(error, RefusalError):
        return f"does not play: {error}"
    return f"failed: {error}"


# -- in other processes -------------------------------------------------------------------------

#: The player of a worker process, and the workload that came last.
_player = Player()
_last: list[Workload] = []


def arguments(point: Point) -> tuple[Workload, Strategy, int, Rules, Method]:
    """Return what `play_point` takes."""
    return point.workload, point.strategy, point.memory, point.rules, point.method


def play_point(
    workload: Workload, strategy: Strategy, memory: int, rules: Rules, method: Method
) -> Outcome:
    """Play a point in a worker process; its outcome can be sent home."""
    from lab.sweeping import Point

    outcome = _player.play(Point(workload, strategy, memory, rules, method))
    try:
        pickle.loads(pickle.dumps(outcome.error))  # noqa: S301
    except Exception as error:  # noqa: BLE001
        # An error class that does not survive the way home would take the pool with it.
        plain = PebbleError(f"{outcome.error} ({type(error).__name__})")
        return Outcome(outcome.row, plain, outcome.code)
    return outcome


def play_next(
    workload: Workload | None, strategy: Strategy, memory: int, rules: Rules, method: Method
) -> Outcome:
    """Play a point of the workload that came before where none is given.

    A DAG that somebody brought may be large: it travels once to each process.
    """
    if workload is not None:
        _last[:] = [workload]
    return play_point(_last[0], strategy, memory, rules, method)
