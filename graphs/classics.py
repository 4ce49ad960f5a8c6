"""The classic DAGs of the pebbling literature: pyramid, tree, FFT, grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from graphs.blocked import fft_order, grid_order, pyramid_order
from graphs.memory import check_fits
from graphs.registry import WORKLOADS, Workload
from pebble.dag import Dag, Vertices
from pebble.errors import GraphError, SpecError
from pebble.operations import APPLY, INPUT
from pebble.tensor import contiguous

__all__ = ["Fft", "Grid", "Pyramid", "Tree"]


def _layered(
    source: str,
    names: Sequence[str],
    widths: Sequence[int],
    degree: int,
    operands: Callable[[int, npt.NDArray[np.int64]], list[npt.NDArray[np.int64]]],
) -> Dag:
    """Build a DAG of layers: ``operands(layer, positions)`` gives positions in the layer before."""
    bases = np.cumsum([0, *widths])
    size, computed = int(bases[-1]), int(bases[-1]) - widths[0]
    check_fits(size, computed * degree, source)
    indptr = np.concatenate(
        [np.zeros(widths[0], np.uint32), np.arange(computed + 1, dtype=np.uint32) * degree]
    )
    predecessors = np.empty((computed, degree), np.uint32)
    for layer in range(1, len(widths)):
        low = int(bases[layer]) - widths[0]
        columns = operands(layer, np.arange(widths[layer]))
        for slot, column in enumerate(columns):
            predecessors[low : low + widths[layer], slot] = column + bases[layer - 1]
    operations = np.full(size, APPLY, np.uint8)
    operations[: widths[0]] = INPUT
    tensors = [
        contiguous(name, int(base), (width,))
        for name, base, width in zip(names, bases, widths, strict=False)
    ]
    outputs = np.arange(bases[-2], size, dtype=np.uint32)
    return Dag(
        indptr,
        predecessors.ravel(),
        operations,
        outputs,
        tensors=tensors,
        source=source,
        checked=True,
    )


@WORKLOADS.register
@dataclass(frozen=True)
class Pyramid(Workload):
    """Rows of h + 1, h, ..., 1 vertices, each computed from the two below it.

    Examples
    --------
    >>> dag = Pyramid(h=2).dag()
    >>> dag.describe(5)
    'row2[0] (vertex 5) = apply(row1[0], row1[1]), output'
    """

    name: ClassVar[str] = "pyramid"
    summary: ClassVar[str] = "rows of h+1, h, ..., 1 vertices, each from the two below"
    reference: ClassVar[str] = "Cook 1974; HK81"

    h: int

    def blocked_order(self, memory: int) -> Vertices:
        """Return the order by strips of rows, walked along diagonals."""
        return pyramid_order(self.h, memory)

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        size = (self.h + 1) * (self.h + 2) // 2
        return size, 2 * (size - self.h - 1)

    def dag(self) -> Dag:
        """Build the DAG."""
        rows = range(self.h + 1)
        check_fits(*self.extent(), str(self))
        return _layered(
            str(self),
            [f"row{r}" for r in rows],
            [self.h + 1 - r for r in rows],
            2,
            lambda _, i: [i, i + 1],
        )


@WORKLOADS.register
@dataclass(frozen=True)
class Tree(Workload):
    """A complete in-tree: arity**depth leaves, one root.

    Examples
    --------
    >>> Tree(depth=2).dag()
    <Dag tree:depth=2: 7 vertices, 6 edges, 4 inputs, 1 outputs>
    """

    name: ClassVar[str] = "tree"
    summary: ClassVar[str] = "complete in-tree of arity**depth leaves"
    reference: ClassVar[str] = "PSY25 (arXiv 2506.10854)"

    depth: int
    arity: int = 2

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        # Too many digits to work with, let alone print; or, a path, too many levels to name.
        if self.depth * (self.arity - 1).bit_length() > 60 or self.depth > 1 << 20:
            raise GraphError(f"{self} is far too large to hold: take a smaller depth or arity")
        size = sum(self.arity**level for level in range(self.depth + 1))
        return size, size - 1

    def dag(self) -> Dag:
        """Build the DAG."""
        check_fits(*self.extent(), str(self))
        levels, a = range(self.depth + 1), self.arity
        return _layered(
            str(self),
            [f"level{s}" for s in levels],
            [a ** (self.depth - s) for s in levels],
            a,
            lambda _, i: [a * i + child for child in range(a)],
        )


@WORKLOADS.register
@dataclass(frozen=True)
class Fft(Workload):
    """The radix-2 butterfly on n points: log2(n) stages of n vertices over n inputs.

    Examples
    --------
    >>> Fft(n=8).dag()
    <Dag fft:n=8: 32 vertices, 48 edges, 8 inputs, 8 outputs>
    """

    name: ClassVar[str] = "fft"
    summary: ClassVar[str] = "radix-2 butterfly on n points, n a power of two"
    reference: ClassVar[str] = "HK81, section 4"

    n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 2 or self.n & (self.n - 1):
            raise SpecError(f"fft: n must be a power of two from 2 on, got {self.n}")

    def blocked_order(self, memory: int) -> Vertices:
        """Return the order by sub-butterflies that fit."""
        return fft_order(self.n, memory)

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        stages = self.n.bit_length()
        return self.n * stages, 2 * self.n * (stages - 1)

    def dag(self) -> Dag:
        """Build the DAG."""
        stages = range(self.n.bit_length())
        return _layered(
            str(self),
            [f"stage{s}" for s in stages],
            [self.n for _ in stages],
            2,
            lambda s, i: [i, i ^ (1 << (s - 1))],
        )


@WORKLOADS.register
@dataclass(frozen=True)
class Grid(Workload):
    """A grid (diamond): each vertex from its upper and left neighbours; one input, one output.

    Examples
    --------
    >>> dag = Grid(rows=2, columns=2).dag()
    >>> dag.describe(3)
    'v[1,1] (vertex 3) = apply(v[0,1], v[1,0]), output'
    """

    name: ClassVar[str] = "grid"
    aliases: ClassVar[tuple[str, ...]] = ("diamond",)
    summary: ClassVar[str] = "each vertex from its upper and left neighbours"
    reference: ClassVar[str] = "Aggarwal, Chandra 1988 (diamond DAG)"

    rows: int
    columns: int

    def blocked_order(self, memory: int) -> Vertices:
        """Return the order by strips of rows or columns."""
        return grid_order(self.rows, self.columns, memory)

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        rows, columns = self.rows, self.columns
        return rows * columns, (rows - 1) * columns + (columns - 1) * rows

    def dag(self) -> Dag:
        """Build the DAG."""
        rows, columns = self.rows, self.columns
        size, edges = self.extent()
        check_fits(size, edges, str(self))
        up = np.ones((rows, columns), bool)
        left = up.copy()
        up[0], left[:, 0] = False, False
        v = np.arange(size, dtype=np.int64).reshape(rows, columns)
        pairs = np.stack([v - columns, v - 1], axis=-1)
        predecessors = pairs[np.stack([up, left], axis=-1)].astype(np.uint32)
        degrees = up.astype(np.uint32) + left
        indptr = np.concatenate([[0], np.cumsum(degrees.ravel())]).astype(np.uint32)
        operations = np.full(size, APPLY, np.uint8)
        operations[0] = INPUT
        return Dag(
            indptr,
            predecessors,
            operations,
            [size - 1],
            tensors=[contiguous("v", 0, (rows, columns))],
            source=str(self),
            checked=True,
        )
