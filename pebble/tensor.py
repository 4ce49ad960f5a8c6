"""Tensors as affine views on the vertices of a DAG: a name, a base, a shape, strides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from pebble.errors import GraphError

__all__ = ["Listed", "Tensor", "contiguous", "split_name"]

_NAME = re.compile(r"^(?P<tensor>[^\[\]]+)(?:\[(?P<index>-?\d+(?:,-?\d+)*)\])?$")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named array of vertices.

    Entry ``(x_0, x_1, ...)`` is vertex ``base + sum((x_a - first_a) * strides_a)``.

    Attributes
    ----------
    name : str
        As the workload writes it: ``S``, ``S.prod``, ``S.sum``.
    base : int
        Vertex of the first entry.
    shape, strides, first : tuple of int
        Extent, step in vertices, and first index of each axis.

    Examples
    --------
    >>> S = Tensor("S", 10, (2, 3), (3, 1), (0, 0))
    >>> S.vertex((1, 2)), S.label(15)
    (15, 'S[1,2]')
    """

    name: str
    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: tuple[int, ...]

    def __len__(self) -> int:
        return prod(self.shape)

    def vertex(self, index: tuple[int, ...]) -> int:
        """Return the vertex of an entry; raise `GraphError` when the index is out of range."""
        if len(index) != len(self.shape) or not all(
            first <= x < first + size
            for x, first, size in zip(index, self.first, self.shape, strict=True)
        ):
            ranges = ",".join(
                f"{first}..{first + size - 1}"
                for first, size in zip(self.first, self.shape, strict=True)
            )
            came = ",".join(map(str, index))
            raise GraphError(
                f"{self.name}[{came}] does not exist: indices are {self.name}[{ranges}]"
            )
        steps = zip(index, self.first, self.strides, strict=True)
        return self.base + sum((x - first) * stride for x, first, stride in steps)

    def index(self, vertex: int) -> tuple[int, ...]:
        """Return the index of a vertex of a *contiguous* tensor."""
        rest, index = vertex - self.base, []
        for first, stride in zip(self.first, self.strides, strict=True):
            step, rest = divmod(rest, stride)
            index.append(first + step)
        return tuple(index)

    def label(self, vertex: int) -> str:
        """Return the name of a vertex of a contiguous tensor, as ``S[2,3]``."""
        index = ",".join(map(str, self.index(vertex)))
        return f"{self.name}[{index}]" if index else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Listed(Tensor):
    """A tensor whose first axis runs over listed indices, such as the entries (i, j) of a mask.

    Attributes
    ----------
    keys : int64 array, shape (shape[0], r)
        The indices of each entry of the first axis, in ascending order.
    axes : tuple of int
        Where each written index is found: in ``keys`` for numbers below r, in the further axes of
        the tensor for r, r + 1, ...

    Examples
    --------
    >>> S = Listed("S.prod", 10, (2, 3), (3, 1), (0, 0), np.array([[0, 0], [1, 0]]), (0, 1, 2))
    >>> S.label(14), S.vertex((1, 0, 1))
    ('S.prod[1,0,1]', 14)
    """

    keys: npt.NDArray[np.int64]
    axes: tuple[int, ...]

    def vertex(self, index: tuple[int, ...]) -> int:
        """Return the vertex of an entry; raise `GraphError` when the mask leaves it out."""
        pairs = self.keys.shape[1]
        if len(index) == len(self.axes):
            placed = dict(zip(self.axes, index, strict=True))
            key = np.array([placed[a] for a in range(pairs)])
            rows = np.flatnonzero((self.keys == key).all(axis=1))
            if rows.size:
                rest = tuple(placed[a] for a in range(pairs, len(self.axes)))
                return Tensor.vertex(self, (int(rows[0]) + self.first[0], *rest))
        came = ",".join(map(str, index))
        raise GraphError(
            f"{self.name}[{came}] does not exist: it has {len(self.axes)} indices and an entry for "
            "those of the mask only"
        )

    def index(self, vertex: int) -> tuple[int, ...]:
        """Return the index of a vertex."""
        row, *rest = Tensor.index(self, vertex)
        coordinates = (*self.keys[row - self.first[0]].tolist(), *rest)
        return tuple(coordinates[a] for a in self.axes)


def contiguous(
    name: str, base: int, shape: tuple[int, ...], first: tuple[int, ...] | None = None
) -> Tensor:
    """Make a tensor whose entries follow each other in row-major order from ``base``."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return Tensor(name, base, shape, tuple(reversed(strides)), first or (0,) * len(shape))


def split_name(text: str) -> tuple[str, tuple[int, ...]] | None:
    """Split ``S[2,3]`` into its tensor and its index; None when it does not read so.

    Examples
    --------
    >>> split_name("S.sum[2,3,1]")
    ('S.sum', (2, 3, 1))
    """
    match = _NAME.match(text.strip())
    if match is None:
        return None
    index = match["index"]
    return match["tensor"], tuple(map(int, index.split(","))) if index else ()
