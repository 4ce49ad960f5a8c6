"""Orders of computation for any DAG: as built, depth first, recursive, or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pebble.errors import PebbleError, SpecError
from pebble.operations import INPUT
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag, Vertices

__all__ = ["ORDERS", "check_order", "construction", "depth_first", "order_of", "read_order"]

#: Orders by name; any other text is the name of a file.
ORDERS = ("construction", "depth-first", "recursive")


def computed(dag: Dag) -> npt.NDArray[np.bool_]:
    """Mask of the vertices that a play must compute: needed, and no inputs."""
    mask: npt.NDArray[np.bool_] = dag.needed & (dag.operations != INPUT)
    return mask


def construction(dag: Dag) -> Vertices:
    """Return the needed vertices in the order in which the DAG was built.

    Where that is no topological order, the nearest one: ready vertices first in, first out.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> construction(workload("pyramid:h=2").dag()).tolist()
    [3, 4, 5]
    """
    order: Vertices = dag.order[computed(dag)[dag.order]]
    return order


def depth_first(dag: Dag, seed: int | None = None) -> Vertices:
    """Return the post-order of a depth-first walk from the outputs to the inputs.

    Parameters
    ----------
    dag : Dag
        The graph.
    seed : int, optional
        Visit outputs and operands at random; by default in ascending order and in slot order.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> depth_first(workload("tree:depth=2").dag()).tolist()
    [4, 5, 6]
    """
    from strategies import _orders

    roots, random = dag.outputs, np.ones(1, np.uint64)
    if seed is not None:
        generator = np.random.default_rng(seed)
        roots = generator.permutation(roots)
        random[0] = generator.integers(1, 1 << 62)
    order: Vertices = _orders.depth_first(
        dag.indptr, dag.predecessors, roots, computed(dag), seed is not None, random
    )
    return order


def read_order(path: str | Path, dag: Dag) -> Vertices:
    """Read an order from a text file: vertex numbers or names, one a line, ``#`` for remarks.

    Raises
    ------
    SpecError
        If the file cannot be read, names a vertex that does not exist, or is no order of the DAG.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(
            f"order {str(path)!r}: {reason}; expected {', '.join(ORDERS)} or a file with one "
            "vertex a line"
        ) from None
    order = []
    for number, line in enumerate(lines, 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        try:
            order.append(dag.vertex(text))
        except PebbleError as error:
            raise SpecError(f"{path}, line {number}: {error}") from None
    return check_order(dag, np.array(order, np.uint32), str(path))


def check_order(dag: Dag, order: npt.ArrayLike, what: str = "the order") -> Vertices:
    """Return an order of computation as an array, or raise `SpecError` saying what is wrong.

    Every needed vertex that is no input must stand in it once, after its operands. Vertices that
    no output needs may stand in it, and inputs are passed over.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> check_order(workload("pyramid:h=2").dag(), [3, 5, 4])
    Traceback (most recent call last):
    pebble.errors.SpecError: the order: row2[0] (vertex 5) stands before its operand row1[1] (4)
    """
    from strategies import _orders

    given = np.asarray(order)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise SpecError(f"{what}: expected a list of vertex numbers")
    if given.size and not (0 <= int(given.min()) and int(given.max()) < len(dag)):
        raise SpecError(f"{what}: vertices are 0 to {len(dag) - 1}")
    given = given.astype(np.uint32)
    operation = dag.operations != INPUT
    chosen: Vertices = np.ascontiguousarray(given[operation[given]])
    count = np.bincount(chosen, minlength=len(dag))
    if count.size and count.max() > 1:
        twice = int(count.argmax())
        raise SpecError(f"{what}: {dag.name(twice)} (vertex {twice}) stands twice")
    missing = np.flatnonzero(computed(dag) & (count == 0))
    if missing.size:
        first = int(missing[0])
        more = f" and {missing.size - 1:,} more" if missing.size > 1 else ""
        raise SpecError(f"{what}: {dag.name(first)} (vertex {first}){more} must be computed too")
    t, u = _orders.first_early(chosen, dag.indptr, dag.predecessors, operation)
    if t >= 0:
        v = int(chosen[t])
        raise SpecError(
            f"{what}: {dag.name(v)} (vertex {v}) stands before its operand {dag.name(u)} ({u})"
        )
    return chosen


def order_of(name: str, workload: Workload, dag: Dag, memory: int) -> Vertices:
    """Return an order by name: one of `ORDERS`, or a file.

    Raises
    ------
    RefusalError
        If the workload knows no recursive order.
    SpecError
        If the name is neither an order nor a readable file of one.
    """
    if name == "construction":
        return construction(dag)
    if name == "depth-first":
        return depth_first(dag)
    if name == "recursive":
        order = workload.blocked_order(memory)
        if order is None:
            raise RefusalError(
                f"{workload} knows no recursive order: take order=depth-first, or a file"
            )
        return check_order(dag, order, f"recursive order of {workload}")
    return read_order(name, dag)
