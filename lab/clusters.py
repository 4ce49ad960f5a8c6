"""Sweeps on a cluster: the workers of a Dask scheduler as an executor.

Dask (its part ``distributed``) brings scheduler, workers and network; a sweep only hands it points
through the protocol of `concurrent.futures`. Start a scheduler and, on each machine, a worker a
core::

    dask scheduler
    dask worker tcp://SCHEDULER:8786 --nworkers -1 --nthreads 1
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lab import footprint
from lab.journal import code_digest
from lab.running import Player, WorkerError, play_point
from pebble.errors import GraphError, PebbleError, SpecError

if TYPE_CHECKING:
    from graphs.registry import Workload
    from lab.sweeping import Point
    from strategies.registry import Strategy

__all__ = ["Cluster", "ClusterError", "connected"]

#: Of a worker's memory limit, what is planned with: Dask itself stops it at 95 %.
_SHARE = 0.8


class ClusterError(PebbleError, OSError):
    """A scheduler that does not answer, or workers that cannot be used."""


class Cluster(Executor):
    """The workers of a Dask client as an executor for `lab.sweep`; made by `connected`.

    A point goes only to workers whose memory limit has room for it, and a DAG that somebody
    brought is sent to each worker once. Workers may come and go; where one dies, Dask plays its
    points on others.
    """

    def __init__(self, client: Any, patience: float = 30.0) -> None:
        self._client, self._patience = client, patience
        self._engines: dict[frozenset[str] | None, Any] = {}
        self._brought: dict[Workload, Any] = {}
        self._extents: dict[Workload, tuple[int, int]] = {}
        self._limits = self.limits()
        self._seen = time.monotonic()

    def limits(self) -> dict[str, float]:
        """Return each worker's memory limit in bytes, by its address."""
        info = self._client.scheduler_info(n_workers=-1)["workers"]
        return {name: float(each["memory_limit"] or "inf") for name, each in info.items()}

    def lines(self, points: Sequence[Point]) -> list[str]:
        """Say what the largest of some points takes, and what the workers have."""
        needs = [self._bytes(p.workload, p.strategy) for p in points if p.method == "referee"]
        largest, room = max(needs, default=footprint.PROCESS), max(self._limits.values())
        fit = sum(limit * _SHARE >= largest for limit in self._limits.values())
        return [
            f"{len(points)} points on {len(self._limits)} workers of up to {room / 2**30:.1f} GiB; "
            f"a point takes up to {largest / 2**30:.1f} GiB, for which {fit} of them have room"
        ]

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called by a worker that has room for it."""
        if function is not play_point:
            other: Future[Any] = self._on(None).submit(function, *args, **kwargs)
            return other
        from lab.sweeping import Point

        point = Point(*args)
        need = self._bytes(point.workload, point.strategy) if point.method == "referee" else 0
        roomy = frozenset(name for name, limit in self._limits.items() if limit * _SHARE >= need)
        if not roomy:
            room = max(self._limits.values()) / 2**30
            error = GraphError(
                f"{point.workload} needs about {need / 2**30:.1f} GiB and the largest worker has "
                f"{room:.1f} GiB: take smaller sizes, or start workers with more memory"
            )
            done: Future[Any] = Future()
            done.set_result(Player().failed(point, error))
            return done
        # Named only where it must be, so that workers that come later are used as well.
        engine = self._on(None if len(roomy) == len(self._limits) else roomy)
        future: Future[Any] = engine.submit(function, self._sent(point.workload), *args[1:])
        return future

    def _on(self, workers: frozenset[str] | None) -> Any:
        if workers not in self._engines:
            where = {} if workers is None else {"workers": sorted(workers)}
            self._engines[workers] = self._client.get_executor(pure=False, **where)
        return self._engines[workers]

    def _bytes(self, workload: Workload, strategy: Strategy) -> int:
        if workload not in self._extents:
            try:
                self._extents[workload] = workload.extent() or (0, 0)
            except GraphError:
                self._extents[workload] = 0, 0
        return footprint.PROCESS + footprint.point_bytes(strategy, self._extents[workload])

    def _sent(self, workload: Workload) -> Any:
        from graphs.registry import GivenDag

        if not isinstance(workload, GivenDag):
            return workload
        if workload not in self._brought:
            sent = self._client.scatter(workload, broadcast=True, hash=False)
            self._brought[workload] = sent
        return self._brought[workload]

    def check(self) -> None:
        """Raise `WorkerError` if there is nobody left to play; asked when nothing comes."""
        if self._client.status != "running":
            raise WorkerError("the scheduler is gone: start it again, and the same sweep")
        if self._client.nthreads():
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > self._patience:
            raise WorkerError(
                f"the cluster has had no worker for {self._patience:.0f} s: start some, and the "
                "same sweep"
            )


@contextmanager
def connected(address: str, timeout: float = 10.0) -> Iterator[Cluster]:
    """Give the workers of a scheduler as an executor.

    Parameters
    ----------
    address : str
        Of a Dask scheduler, such as ``tcp://127.0.0.1:8786``.
    timeout : float
        Seconds to wait for it, and then for a first worker.

    Raises
    ------
    SpecError
        If ``distributed`` is not installed.
    ClusterError
        If nothing answers there, there is no worker, or a worker has another version of this
        product or none.

    Examples
    --------
    >>> from lab import sweep
    >>> with connected("tcp://127.0.0.1:8786") as cluster:        # doctest: +SKIP
    ...     results = sweep("fft:n=4096", "belady", "64:1024:x2", executor=cluster)
    """
    try:
        from distributed import Client
    except ImportError:
        raise SpecError(
            "a cluster needs Dask: pip install 'redblue-pebble[cluster]', or leave out --engine"
        ) from None
    # What goes wrong is said once, in our words.
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        client = _client(Client, address, timeout)
        try:
            _check_workers(client, address, timeout)
            yield Cluster(client)
        finally:
            client.close(timeout=timeout)
    finally:
        logger.setLevel(level)


def _client(make: Callable[..., Any], address: str, timeout: float) -> Any:
    try:
        # Asked from a thread, which has no event loop yet: a notebook's main thread has.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(_ask, address, timeout).result()
        return make(address, timeout=timeout, set_as_default=False)
    except Exception as error:  # noqa: BLE001
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s ({why}): start one "
            "with `dask scheduler` and give its address, as tcp://127.0.0.1:8786"
        ) from None


def _ask(address: str, timeout: float) -> None:
    """Raise unless a scheduler answers in time; a client waits forever for one that is mute."""
    import distributed.core

    rpc: Any = distributed.core.rpc

    async def ask() -> None:
        async with rpc(address) as scheduler:
            await scheduler.identity()

    asyncio.run(asyncio.wait_for(ask(), timeout))


def _check_workers(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise ClusterError(
            f"the scheduler at {address} has no workers: start some with `dask worker {address}`"
        ) from None
    try:
        digests = client.run(code_digest)
    except Exception as error:  # noqa: BLE001
        raise ClusterError(
            f"the workers cannot run redblue-pebble ({type(error).__name__}: {error}): install "
            "this version there"
        ) from None
    for worker, digest in digests.items():
        if digest != code_digest():
            raise ClusterError(
                f"the worker {worker} has another version of redblue-pebble, and counts of two "
                "versions are not mixed: install this one there"
            )
