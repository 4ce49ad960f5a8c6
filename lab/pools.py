"""Worker processes that neither outlive their parent nor argue with Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from graphs.registry import Workload
    from lab.sweeping import Point

__all__ = ["Worker", "advised", "available", "shielded"]

P = ParamSpec("P")
T = TypeVar("T")

#: Vertices of all points together below which starting processes costs more than it saves: a few
#: seconds of play.
_WORTHWHILE = 40_000_000


def available() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def advised(points: Sequence[Point]) -> int:
    """Return how many processes pay off; where memory is short, fewer play at a time."""
    from lab.footprint import extents

    played = [point for point in points if point.method == "referee"]
    known = extents(played)
    if sum(known[point.workload][0] for point in played) < _WORTHWHILE:
        return 1
    return min(available(), len(played))


class Worker:
    """One process, as a pool of its own: when it dies, it is known over which point.

    Attributes
    ----------
    holds : int
        Bytes that it is thought to hold.
    workload : Workload or None
        The one it was sent last.
    """

    def __init__(self) -> None:
        # Spawned, not forked: numba and its threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._lifeline, self._hold = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(1, context, _begin, (self._lifeline,))
        self.holds = 0
        self.workload: Workload | None = None
        self._started = self.submit(int)

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called by the process."""
        with shielded():
            return self._pool.submit(function, *args, **kwargs)

    @property
    def started(self) -> bool:
        """Whether it ever came to life."""
        return self._started.done() and self._started.exception() is None

    def close(self) -> None:
        """End it when it has done what it was asked."""
        self._pool.shutdown()
        self._hold.close()
        self._lifeline.close()

    def kill(self) -> None:
        """End it where it is."""
        # The process sees it, and the pool then gives up what is pending. To cancel that as well
        # would race with it.
        self._hold.close()
        self._pool.shutdown()
        self._lifeline.close()


@contextmanager
def shielded() -> Iterator[None]:
    """Hold Ctrl-C back; processes started meanwhile never hear it.

    It reaches every process of a terminal, and a worker that is still importing would die of it
    with a traceback. The parent alone decides what it means, when the block ends.
    """
    main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "pthread_sigmask") or not main:
        yield
        return
    heard: list[int] = []
    # The mask is what new processes inherit. The handler is for a signal that another thread of
    # ours catches: Python would interrupt this one all the same, in the middle of a start.
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler or signal.default_int_handler)
    if heard:
        raise KeyboardInterrupt


def _begin(lifeline: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be held back
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()


def _end_with_parent(lifeline: Connection) -> None:
    """Wait for the other end of the pipe to close, which it does when the parent is gone."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        pass
    finally:
        os._exit(1)
