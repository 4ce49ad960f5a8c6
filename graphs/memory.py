"""Will a DAG fit in the memory that is free? Asked before anything is allocated."""

from __future__ import annotations

from pathlib import Path

from pebble.errors import GraphError
from pebble.moves import MAX_VERTICES

__all__ = ["available_bytes", "check_fits", "dag_bytes"]


def dag_bytes(vertices: int, edges: int) -> int:
    """Bytes of a DAG together with the referee's state: 6 a vertex, 4 an edge."""
    return 6 * vertices + 4 * edges


def available_bytes() -> int | None:
    """Bytes of memory that are free for a new program, where the system tells."""
    known = [count for count in (_system_bytes(), _container_bytes()) if count is not None]
    return min(known, default=None)


def _system_bytes() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _container_bytes(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return what a container's limit leaves, of which the system as a whole knows nothing."""
    try:
        limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.startswith("inactive_file "):  # kept copies of files, given up when needed
                used -= int(line.split()[1])
    except (OSError, ValueError):  # no container, or "max": no limit
        return None
    return max(0, limit - used)


def check_fits(vertices: int, edges: int, what: str) -> None:
    """Raise `GraphError` when a DAG is too large to number or to hold.

    Parameters
    ----------
    vertices, edges : int
        Sizes of the DAG to be built.
    what : str
        Its name, for the message.
    """
    remedy = "take smaller sizes, or use `pebble count`, which needs no DAG"
    if vertices > MAX_VERTICES or edges >= 1 << 32:
        raise GraphError(
            f"{what} has {vertices:,} vertices and {edges:,} edges; the game holds at most "
            f"{MAX_VERTICES:,} vertices and {(1 << 32) - 1:,} edges: {remedy}"
        )
    free, need = available_bytes(), dag_bytes(vertices, edges)
    if free is not None and need > free:
        raise GraphError(
            f"{what} needs {need / 2**30:.1f} GiB for {vertices:,} vertices, and "
            f"{free / 2**30:.1f} GiB are free: {remedy}"
        )
