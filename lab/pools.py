"""Worker processes that neither outlive their parent nor argue with Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from graphs.registry import Workload
    from lab.sweeping import Point

__all__ = ["advised", "available", "processes", "shielded"]

#: Vertices of all points together below which starting processes costs more than it saves: a few
#: seconds of play.
_WORTHWHILE = 40_000_000


def available() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def advised(points: Sequence[Point]) -> int:
    """Return how many processes pay off for some points and fit into the memory that is free."""
    from graphs.memory import available_bytes, dag_bytes

    played = [point for point in points if point.method == "referee"]
    vertices = {workload: _vertices(workload) for workload in {p.workload for p in played}}
    if sum(vertices[point.workload] for point in played) < _WORTHWHILE:
        return 1
    # Two edges a vertex is what sums and products have.
    largest = max(dag_bytes(count, 2 * count) for count in vertices.values())
    free = available_bytes()
    room = available() if free is None else int(0.8 * free // largest)
    return max(1, min(available(), len(played), room))


def _vertices(workload: Workload) -> int:
    formula = workload.formula()
    return 0 if formula is None else int(formula.inputs_size() + formula.computed_size())


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Give an executor of ``count`` fresh processes; an error or Ctrl-C ends them at once."""
    # Spawned, not forked: numba and its threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    lifeline, hold = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, context, _begin, (lifeline,))
    try:
        yield pool
    except BaseException:
        # The workers see it and end where they are; the pool then gives up what is pending. To
        # cancel that as well would race with it.
        hold.close()
        raise
    finally:
        pool.shutdown()
        hold.close()
        lifeline.close()


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
