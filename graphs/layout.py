"""Where the vertices of a formula lie, and the edges between them.

An array is laid out as contiguous blocks: its products (``S.prod``), its inner partial sums
(``S.sum``; ``S.sum[2,3,1]`` holds the terms 0 and 1) and its final entries (``S``). The first
partial sum is the first term itself, and a sum of one term is that term: a second name for a
vertex, no vertex of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from graphs._fill import fill_one, fill_two
from graphs.memory import check_fits
from pebble.dag import Dag
from pebble.operations import INPUT, MUL
from pebble.tensor import Tensor, contiguous

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Reference

__all__ = ["Layout", "Writer", "build", "extent", "finished"]


@dataclass
class Layout:
    """Addresses of a formula's arrays.

    Attributes
    ----------
    size : int
        Number of vertices.
    blocks : list of Tensor
        Contiguous tensors that partition the vertices, by ascending base.
    tensors : dict of str to Tensor
        Every name, blocks and second names alike.
    """

    size: int = 0
    blocks: list[Tensor] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, formula: Formula) -> Layout:
        """Lay out a formula with integer sizes."""
        layout = cls()
        for array in formula.arrays.values():
            layout._place(array)
        return layout

    def _block(self, name: str, shape: tuple[int, ...], first: tuple[int, ...] = ()) -> None:
        tensor = contiguous(name, self.size, shape, first or None)
        if len(tensor):
            self.blocks.append(tensor)
            self.tensors[name] = tensor
            self.size += len(tensor)

    def _place(self, array: Array) -> None:
        name, shape = array.name, array.shape
        if array.over is None:
            self._block(name, shape)
            return
        terms = array.over.size
        if array.is_contraction:
            self._block(f"{name}.prod", (*shape, terms))
        if terms == 1:
            term = self.term(array)
            first = (0,) * len(shape)
            self.tensors[name] = Tensor(name, term.base, shape, term.strides[:-1], first)
            return
        self._block(f"{name}.sum", (*shape, terms - 2), (*(0 for _ in shape), 1))
        self._block(name, shape)

    def term(self, array: Array) -> Tensor:
        """Return the terms of a sum as a tensor over its free indices and then the summed one."""
        assert array.over is not None
        if array.is_contraction:
            return self.tensors[f"{array.name}.prod"]
        return self.view(array.operands[0], (*array.indices, array.over))

    def view(self, entry: Reference, indices: tuple[Index, ...]) -> Tensor:
        """Return an entry such as ``K[j, l]`` as a tensor over more indices, here (i, j, l)."""
        tensor = self.tensors[entry.array.name]
        step = dict.fromkeys(indices, 0)
        for index, stride in zip(entry.indices, tensor.strides, strict=True):
            step[index] += stride
        shape = tuple(index.size for index in indices)
        strides = tuple(step[index] for index in indices)
        return Tensor(tensor.name, tensor.base, shape, strides, (0,) * len(shape))


def extent(formula: Formula) -> tuple[int, int]:
    """Return the numbers of vertices and edges of a formula's DAG.

    Examples
    --------
    >>> from graphs import workload
    >>> extent(workload("matmul:m=2,n=2,k=2").formula())
    (20, 24)
    """
    if formula.pairs is not None:
        from graphs.masked import edges

        return int(formula.inputs_size() + formula.computed_size()), edges(formula)
    layout = Layout.of(formula)
    return layout.size, _edges(formula, layout)


def build(formula: Formula, source: str = "") -> Dag:
    """Build the DAG of a formula with integer sizes."""
    layout = Layout.of(formula)
    size, edges = layout.size, _edges(formula, layout)
    check_fits(size, edges, source or "the graph")
    writer = Writer(layout, edges)
    for array in formula.arrays.values():
        writer.write(array, tree=formula.summation == "tree")
    return finished(formula, layout, writer, source)


def finished(formula: Formula, layout: Layout, writer: Writer, source: str) -> Dag:
    """Return the DAG whose arrays a writer has filled."""
    outputs = np.unique(
        np.concatenate([_vertices(layout.tensors[a.name]) for a in formula.outputs])
        if formula.outputs
        else np.empty(0, np.uint32)
    )
    own = {id(block) for block in layout.blocks}
    return Dag(
        writer.indptr,
        writer.predecessors,
        writer.operations,
        outputs,
        tensors=layout.blocks,
        views=[tensor for tensor in layout.tensors.values() if id(tensor) not in own],
        source=source,
        checked=True,
    )


def _edges(formula: Formula, layout: Layout) -> int:
    total = 0
    for array in formula.arrays.values():
        if array.over is not None:
            terms = array.over.size
            sums = prod(array.shape) * (terms - 1)
            products = prod(array.shape) * terms if array.is_contraction else 0
            total += 2 * sums + products * _slots(array, layout)
        elif not array.is_input:
            total += prod(array.shape) * _slots(array, layout)
    return total


def _slots(array: Array, layout: Layout) -> int:
    """Return the number of distinct operands of an entry (or product): one for x*x."""
    indices = (*array.indices, array.over) if array.over is not None else array.indices
    views = [layout.view(entry, indices) for entry in array.operands]
    if len(views) == 2 and views[0].base == views[1].base:
        moving = [
            (a, b)
            for a, b, s in zip(views[0].strides, views[1].strides, views[0].shape, strict=True)
            if s > 1
        ]
        if all(a == b for a, b in moving):
            return 1
        # X[i,j] * X[j,i] would have one operand on the diagonal and two elsewhere.
        raise NotImplementedError(f"{array}: operands that coincide only in places")
    return len(views)


def _vertices(tensor: Tensor) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    out = np.array([tensor.base], np.int64)
    for size, stride in zip(tensor.shape, tensor.strides, strict=True):
        out = (out[:, None] + np.arange(size, dtype=np.int64) * stride).ravel()
    return out.astype(np.uint32)


def _padded(values: tuple[int, ...], filler: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array((filler,) * (4 - len(values)) + values, np.int64)


class Writer:
    """Fills the CSR arrays block by block."""

    def __init__(self, layout: Layout, edges: int) -> None:
        self.layout = layout
        self.indptr = np.empty(layout.size + 1, np.uint32)
        self.predecessors = np.empty(edges, np.uint32)
        self.operations = np.empty(layout.size, np.uint8)
        self.indptr[0] = 0
        self.edge = 0

    def _degrees(self, block: Tensor, degree: int, operation: int) -> int:
        """Give a block its operation and in-degree; return the place of its first edge."""
        first, low, high = self.edge, block.base, block.base + len(block)
        self.operations[low:high] = operation
        chunk = 1 << 22
        for s in range(low, high, chunk):
            e = min(s + chunk, high)
            start = first + (s - low + 1) * degree
            self.indptr[s + 1 : e + 1] = (
                np.arange(start, start + (e - s) * degree, degree, dtype=np.uint32)
                if degree
                else first
            )
        self.edge += len(block) * degree
        return first

    def write(self, array: Array, *, tree: bool) -> None:
        """Write an array's edges and operations."""
        layout, name = self.layout, array.name
        if array.is_input:
            self._degrees(layout.tensors[name], 0, INPUT)
            return
        if array.over is None:
            operation = array.term.operation  # type: ignore[union-attr]
            self._entries(layout.tensors[name], array, array.indices, operation)
            return
        if array.is_contraction:
            products = layout.tensors[f"{name}.prod"]
            self._entries(products, array, (*array.indices, array.over), MUL)
        if array.over.size > 1:
            (self._tree if tree else self._chain)(array)

    def _entries(
        self, block: Tensor, array: Array, indices: tuple[Index, ...], operation: int
    ) -> None:
        views = [self.layout.view(entry, indices) for entry in array.operands]
        degree = _slots(array, self.layout)
        first = self._degrees(block, degree, operation)
        self._fill(first, degree, block.strides, block.shape, *views[:degree])

    def _fill(
        self,
        place: int,
        degree: int,
        strides: tuple[int, ...],
        shape: tuple[int, ...],
        *views: Tensor,
    ) -> None:
        """Write the operands of the vertices ``place / degree + strides * index``."""
        counts = _padded(shape, 1)
        steps = _padded(tuple(stride * degree for stride in strides), 0)
        bases = [view.base for view in views]
        moves = [_padded(view.strides, 0) for view in views]
        if degree == 1:
            fill_one(self.predecessors, place, steps, counts, bases[0], moves[0])
        else:
            fill_two(
                self.predecessors, place, steps, counts, bases[0], moves[0], bases[1], moves[1]
            )

    def _sum_blocks(self, array: Array) -> tuple[Tensor | None, Tensor, int, int]:
        """Give the partial and the final sums their degrees; return them and their edges."""
        partial = self.layout.tensors.get(f"{array.name}.sum")
        inner = self._degrees(partial, 2, array.operation) if partial is not None else 0
        final = self.layout.tensors[array.name]
        return partial, final, inner, self._degrees(final, 2, array.operation)

    def _chain(self, array: Array) -> None:
        partial, final, inner, last = self._sum_blocks(array)
        terms, term = array.over.size, self.layout.term(array)  # type: ignore[union-attr]
        if partial is None:
            self._fill(last, 2, final.strides, final.shape, _slice(term, 0), _slice(term, 1))
            return
        free, step = array.shape, partial.strides[-1]
        self._fill(inner, 2, partial.strides[:-1], free, _slice(term, 0), _slice(term, 1))
        if terms > 3:
            rest = (*free, terms - 3)
            self._fill(
                inner + 2 * step,
                2,
                partial.strides,
                rest,
                Tensor("", partial.base, rest, partial.strides, ()),
                Tensor("", _slice(term, 2).base, rest, term.strides, ()),
            )
        self._fill(
            last,
            2,
            final.strides,
            free,
            Tensor("", partial.base + (terms - 3) * step, free, partial.strides[:-1], ()),
            _slice(term, terms - 1),
        )

    def _tree(self, array: Array) -> None:
        partial, final, inner, last = self._sum_blocks(array)
        terms, term = array.over.size, self.layout.term(array)  # type: ignore[union-attr]

        def child(code: int) -> Tensor:
            if code < terms:
                return _slice(term, code)
            assert partial is not None
            base = partial.base + (code - terms) * partial.strides[-1]
            return Tensor("", base, array.shape, partial.strides[:-1], ())

        for node, (left, right) in enumerate(balanced(terms)):
            if node == terms - 2:
                self._fill(last, 2, final.strides, array.shape, child(left), child(right))
            else:
                assert partial is not None
                place = inner + 2 * node * partial.strides[-1]
                strides = partial.strides[:-1]
                self._fill(place, 2, strides, array.shape, child(left), child(right))


def _slice(term: Tensor, t: int) -> Tensor:
    """Return term number ``t`` of every sum."""
    return Tensor("", term.base + t * term.strides[-1], term.shape[:-1], term.strides[:-1], ())


def balanced(terms: int) -> list[tuple[int, int]]:
    """Pair neighbours level by level; codes below ``terms`` are terms, the others earlier nodes.

    Examples
    --------
    >>> balanced(5)
    [(0, 1), (2, 3), (5, 6), (7, 4)]
    """
    level = list(range(terms))
    nodes: list[tuple[int, int]] = []
    while len(level) > 1:
        above = []
        for left, right in zip(level[::2], level[1::2], strict=False):
            above.append(terms + len(nodes))
            nodes.append((left, right))
        level = above + level[len(level) & ~1 :]
    return nodes
