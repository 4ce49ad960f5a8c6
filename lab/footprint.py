"""What a sweep will take, said before it starts: bytes and time by formula, nothing is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pebble.errors import GraphError

if TYPE_CHECKING:
    from graphs.registry import Workload
    from lab.sweeping import Point
    from strategies.registry import Strategy

__all__ = ["PROCESS", "Footprint", "budget", "extents", "footprint", "point_bytes"]

#: Bytes of a process with its libraries and compiled kernels, before it holds a DAG.
PROCESS = 200 << 20
#: Of the memory that is free, what a sweep plans with.
_SHARE = 0.8
#: Peak memory of a play over that of DAG and state: buffers and what building leaves behind; a
#: strategy for any DAG adds its order and its next uses. Measured at 8 to 60 million vertices.
_TILES, _ANY = 3, 4
#: Seconds a vertex, likewise.
_TILES_SECONDS, _ANY_SECONDS = 60e-9, 250e-9


@dataclass(frozen=True)
class Footprint:
    """An estimate.

    Attributes
    ----------
    points : int
        Number of points.
    vertices : int
        Of the largest DAG.
    bytes : int
        That a process needs for the largest point, its libraries included.
    processes : int
        That play at the same time where points are largest.
    free : int or None
        Bytes of memory that are free, where that is known.
    seconds : float
        Of the whole sweep.
    misfits : dict of str to str
        For each workload that cannot fit, what it needs.
    """

    points: int
    vertices: int
    bytes: int
    processes: int
    free: int | None
    seconds: float
    misfits: dict[str, str]

    def lines(self) -> list[str]:
        """Return the estimate in words; none where everything is small."""
        found = [
            f"{workload} does not fit, its points will have no counts: {why}"
            for workload, why in self.misfits.items()
        ]
        if self.seconds >= 5:
            free = "" if self.free is None else f", {_gib(self.free)} free"
            times = "process" if self.processes == 1 else "processes"
            found.append(
                f"{self.points} points of up to {self.vertices:,} vertices: up to "
                f"{_gib(self.bytes)} in each of {self.processes} {times}{free}; roughly "
                f"{_time(self.seconds)}"
            )
        return found


def extents(points: Sequence[Point]) -> dict[Workload, tuple[int, int]]:
    """Return vertices and edges of the workloads that are played; zeros where nothing is known."""
    found: dict[Workload, tuple[int, int]] = {}
    for point in points:
        if point.method == "referee" and point.workload not in found:
            try:
                found[point.workload] = point.workload.extent() or (0, 0)
            except GraphError:  # too large to count: refused when its turn comes
                found[point.workload] = 0, 0
    return found


def point_bytes(strategy: Strategy, extent: tuple[int, int]) -> int:
    """Return the bytes that one play takes, beside those of the process.

    Examples
    --------
    >>> from graphs import workload
    >>> from strategies.registry import strategy
    >>> point_bytes(strategy("naive"), workload("attention-forward:n=256,d=32").extent()) >> 20
    338
    """
    from graphs.memory import dag_bytes
    from strategies.any_dag import AnyDagStrategy

    return dag_bytes(*extent) * (_ANY if isinstance(strategy, AnyDagStrategy) else _TILES)


def budget() -> int | None:
    """Return the bytes that a sweep on this machine may plan with, where the system tells."""
    from graphs.memory import available_bytes

    free = available_bytes()
    return None if free is None else int(_SHARE * free)


def footprint(points: Sequence[Point], processes: int) -> Footprint:
    """Estimate what a sweep takes on this machine.

    Examples
    --------
    >>> from lab.sweeping import plan
    >>> estimate = footprint(plan("pyramid:h=3", "naive", "4,8"), 2)
    >>> estimate.points, estimate.vertices, estimate.lines()
    (2, 10, [])
    """
    from graphs.memory import available_bytes, check_fits
    from strategies.any_dag import AnyDagStrategy

    known, room, misfits = extents(points), budget(), {}
    for workload, extent in known.items():
        try:
            check_fits(*extent, str(workload))
        except GraphError as error:
            misfits[str(workload)] = str(error).partition(": ")[0]
    played = [
        (point, known[point.workload])
        for point in points
        if point.method == "referee" and str(point.workload) not in misfits
    ]
    largest = PROCESS + max((point_bytes(p.strategy, extent) for p, extent in played), default=0)
    at_once = processes if room is None else max(1, min(processes, room // largest))
    work = sum(
        extent[0] * (_ANY_SECONDS if isinstance(p.strategy, AnyDagStrategy) else _TILES_SECONDS)
        for p, extent in played
    )
    return Footprint(
        points=len(points),
        vertices=max((extent[0] for _, extent in played), default=0),
        bytes=largest,
        processes=at_once,
        free=available_bytes(),
        seconds=work / at_once,
        misfits=misfits,
    )


def _gib(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
