"""Who plays a sweep's points: this process, processes of its own, or anybody's executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from lab import footprint, pools
from lab.clusters import Cluster
from lab.journal import code_digest
from lab.running import Outcome, Player, WorkerError, arguments, play_next, play_point
from pebble.errors import PebbleError, SpecError

if TYPE_CHECKING:
    from lab.sweeping import Point

__all__ = ["Finished", "outcomes"]

Finished: TypeAlias = "Generator[tuple[int, Outcome], None, None]"
#: Called with a line that is worth telling.
Notice: TypeAlias = Callable[[str], None]

#: Processes that may die as they start before a sweep gives up.
_STILLBORN = 10
#: Seconds without a result after which an executor is asked whether it is still there.
_PATIENCE = 5.0


def outcomes(
    points: Sequence[Point],
    todo: Sequence[int],
    executor: int | Executor | None,
    notice: Notice,
) -> Finished:
    """Yield (index, outcome) of the points to do as they are finished.

    Closing the generator ends whatever still runs.

    Raises
    ------
    WorkerError
        If whoever plays is gone for good.
    """
    if isinstance(executor, int) and executor < 1:
        raise SpecError(f"expected a positive number of processes, got {executor}")
    missing = [points[index] for index in todo]
    if isinstance(executor, Cluster):
        lines = executor.lines(missing)
    elif isinstance(executor, Executor):
        lines = []
    else:
        lines = footprint.footprint(missing, executor or 1).lines()
    for line in lines:
        notice(line)
    if isinstance(executor, Executor):
        yield from _Elsewhere(points, executor, notice).play(todo)
    elif executor is None or executor == 1:
        player = Player()
        yield from ((index, player.play(points[index])) for index in todo)
    elif todo:
        yield from _Crew(points, min(executor, len(todo)), notice).play(todo)


class _Crew:
    """Worker processes that are given one point at a time, as many as memory has room for."""

    def __init__(self, points: Sequence[Point], count: int, notice: Notice) -> None:
        self.points, self.count, self.notice = points, count, notice
        self.extents = footprint.extents(points)
        self.room = footprint.budget()
        self.idle: list[pools.Worker] = []
        self.busy: dict[Future[Outcome], tuple[pools.Worker, int]] = {}
        self.stillborn, self.alive = 0, False

    def play(self, todo: Sequence[int]) -> Finished:
        """Yield outcomes; a point whose process dies is played once more, alone."""
        queue, alone = deque(todo), deque[int]()
        try:
            while queue or self.busy:
                while queue and (worker := self._worker(queue[0])) is not None:
                    self._give(worker, queue.popleft())
                for future in wait(self.busy, return_when=FIRST).done:
                    worker, index = self.busy.pop(future)
                    outcome = self._result(future, worker, index)
                    if outcome is not None:
                        yield index, outcome
                    elif worker.started:
                        self.notice(_again(self.points[index]))
                        alone.append(index)
                    else:
                        queue.appendleft(index)
            for index in alone:
                self._dismiss(but=1)
                self._give(self.idle.pop() if self.idle else self._opened(index), index)
                (future,) = wait(self.busy).done
                worker, _ = self.busy.pop(future)
                yield index, self._result(future, worker, index) or self._given_up(index)
        except BaseException:
            for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
                worker.kill()
            raise
        self._dismiss()

    def _worker(self, index: int) -> pools.Worker | None:
        """Return a worker that may have a point now, or None: then one must finish first."""
        workload = self.points[index].workload
        # One that has the DAG already, or else has nothing anybody else may want.
        self.idle.sort(key=lambda worker: worker.workload is not workload)
        while True:
            worker = self.idle[0] if self.idle else None
            held = sum(other.holds for other in self.idle[1:])
            held += sum(other.holds for other, _ in self.busy.values())
            fits = self.room is None or held + self._bytes(index) <= self.room
            if fits or not held:  # what is too large for all memory plays alone, or is refused
                if worker is not None:
                    return self.idle.pop(0)
                many = len(self.busy) >= self.count
                return None if many else self._opened(index)
            if len(self.idle) <= 1:
                return None
            self.idle.pop().close()  # so that its memory is free

    def _opened(self, index: int) -> pools.Worker:
        worker = pools.Worker()
        worker.holds = self._bytes(index)
        return worker

    def _bytes(self, index: int) -> int:
        point = self.points[index]
        extent = self.extents.get(point.workload, (0, 0))
        return footprint.PROCESS + footprint.point_bytes(point.strategy, extent)

    def _give(self, worker: pools.Worker, index: int) -> None:
        workload, strategy, memory, rules, method = arguments(self.points[index])
        sent = None if worker.workload is workload else workload
        worker.workload, worker.holds = workload, self._bytes(index)
        try:
            self.busy[worker.submit(play_next, sent, strategy, memory, rules, method)] = (
                worker,
                index,
            )
        except BrokenExecutor as error:
            # It died while it had nothing to do.
            future: Future[Outcome] = Future()
            future.set_exception(error)
            self.busy[future] = worker, index

    def _result(self, future: Future[Outcome], worker: pools.Worker, index: int) -> Outcome | None:
        """Return what came of a point, None if the process died over it."""
        try:
            outcome = future.result()
        except BrokenExecutor:
            worker.close()
            if not worker.started:
                self._stillborn()
            return None
        except Exception as error:  # noqa: BLE001
            # Not the point's own error: it could not be sent, or its outcome not sent back.
            worker.workload = None
            self.idle.append(worker)
            return _unsent(self.points[index], error)
        self.alive = True
        self.idle.append(worker)
        return _checked(outcome)

    def _stillborn(self) -> None:
        self.stillborn += 1
        if self.stillborn > (_STILLBORN if self.alive else self.count):
            raise WorkerError(
                "worker processes die as they start: a script that asks for processes needs its "
                '`if __name__ == "__main__":`; else memory is short, take fewer processes'
            )

    def _given_up(self, index: int) -> Outcome:
        point = self.points[index]
        need = self._bytes(index) / 2**30
        return Player().failed(
            point,
            WorkerError(
                "its worker process died, twice, most likely for want of memory (about "
                f"{need:.1f} GiB are needed): take smaller sizes"
            ),
        )

    def _dismiss(self, but: int = 0) -> None:
        while len(self.idle) > but:
            self.idle.pop().close()


class _Elsewhere:
    """Somebody's executor, which brings its own ideas of order and memory."""

    def __init__(self, points: Sequence[Point], executor: Executor, notice: Notice) -> None:
        self.points, self.executor, self.notice = points, executor, notice
        self.finished: SimpleQueue[Future[Outcome]] = SimpleQueue()
        self.waiting: dict[Future[Outcome], int] = {}

    def play(self, todo: Sequence[int]) -> Finished:
        """Yield outcomes; a point that its worker fails at is played once more, alone."""
        again: list[int] = []
        try:
            with pools.shielded():
                # In the grid's order: a worker meets a workload's points one after the other, so
                # that it builds each DAG once.
                for index in todo:
                    self._submit(index)
            for index, outcome in self._results():
                if isinstance(outcome, Outcome):
                    yield index, outcome
                else:
                    again.append(index)
            for index in again:
                self.notice(_again(self.points[index]))
                self._submit(index)
                for _, outcome in self._results():
                    if not isinstance(outcome, Outcome):
                        outcome = _unsent(self.points[index], outcome)
                    yield index, outcome
        except BaseException:
            for future in self.waiting:
                future.cancel()
            raise

    def _submit(self, index: int) -> None:
        future = self.executor.submit(play_point, *arguments(self.points[index]))
        self.waiting[future] = index
        future.add_done_callback(self.finished.put)

    def _results(self) -> Generator[tuple[int, Outcome | Exception], None, None]:
        while self.waiting:
            try:
                future = self.finished.get(timeout=_PATIENCE)
            except Empty:
                if isinstance(self.executor, Cluster):
                    self.executor.check()
                continue
            index = self.waiting.pop(future)
            try:
                outcome = future.result()
            except (BrokenExecutor, CancelledError) as error:
                raise WorkerError(
                    f"the workers are gone ({type(error).__name__}): take fewer processes or "
                    "smaller sizes, or look after the cluster"
                ) from None
            except Exception as error:  # noqa: BLE001
                yield index, error
            else:
                yield index, _checked(outcome)


def _again(point: Point) -> str:
    return (
        f"a worker died over {point.workload}, {point.strategy}, M = {point.memory}: it is played "
        "once more at the end, alone"
    )


def _unsent(point: Point, error: Exception) -> Outcome:
    words = f"{type(error).__name__}: {error}".splitlines()[0]
    return Player().failed(point, PebbleError(f"its worker could not play it: {words}"))


def _checked(outcome: Outcome) -> Outcome:
    if outcome.code != code_digest():
        raise WorkerError(
            "a worker runs other source code than this process, and counts of two versions are not "
            "mixed: install the same version everywhere, and let files rest while a sweep runs"
        )
    return outcome
