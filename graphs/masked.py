"""The DAG of a formula under a mask: arrays over (i, j) have an entry for each of its pairs.

Entries lie in row order, and so do the products of sums over a row; the products of sums over a
column lie in column order, so that the terms of every sum are neighbours. A row of r terms has
r - 2 inner partial sums, named by the term they end with, and its final entry; where r = 1 that
entry is a copy of the term.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from graphs.layout import Layout, Writer, extent, finished
from graphs.memory import check_fits
from pebble.operations import COPY, MUL
from pebble.tensor import Listed, Tensor

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Pairs, Reference
    from pebble.dag import Dag

__all__ = ["MaskedLayout", "build", "edges"]

Integers = npt.NDArray[np.int64]

#: Pairs whose operands are written at a time.
_FILL = 1 << 20


@dataclass
class MaskedLayout(Layout):
    """Addresses of a formula's arrays under a mask.

    A tensor over the pairs has one axis for them, in row order (in column order for the products
    and partial sums of sums over a column), and then the other indices.
    """

    pairs: Pairs | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, formula: Formula) -> MaskedLayout:
        """Lay out a formula with integer sizes and a mask."""
        layout = cls(pairs=formula.pairs)
        for array in formula.arrays.values():
            layout._place(array)
        return layout

    @property
    def mask(self) -> Pairs:
        """The pairs."""
        assert self.pairs is not None
        return self.pairs

    def _place(self, array: Array) -> None:
        if not self.mask.of(array):
            super()._place(array)
            return
        pairs, name = self.mask, array.name
        if pairs.adds(array):
            rows = array.over is pairs.j
            free = self._free(array)
            keys = self.row_keys if rows else self.column_keys
            # The free index first, then the others, then the summed one: the order of dense sums.
            key_axes = (0, 1) if rows else (1, 0)
            axes = (key_axes[0], *range(2, 2 + len(free)), key_axes[1])
            if array.is_contraction:
                self._listed(f"{name}.prod", keys, free, axes)
            inner = self.inner_rows if rows else self.inner_columns
            self._listed(f"{name}.sum", keys[inner], free, axes)
            self._block(name, array.shape)
        elif array.over is None:
            self._listed(name, self.row_keys, self._free(array), self._axes(array.indices))
        else:
            terms, axes = array.over.size, self._axes(array.indices)
            last = (*axes, len(axes))
            if array.is_contraction:
                self._listed(f"{name}.prod", self.row_keys, (terms,), last)
            if terms == 1:
                base = self.term(array).base
                self.tensors[name] = Tensor(name, base, (len(self.row_keys),), (1,), (0,))
                return
            self._listed(f"{name}.sum", self.row_keys, (terms - 2,), last, first=1)
            self._listed(name, self.row_keys, (), axes)

    def _axes(self, indices: tuple[Index, ...]) -> tuple[int, ...]:
        """Return where the indices i and j stand in the keys, further ones behind."""
        return tuple(0 if x is self.mask.i else 1 if x is self.mask.j else 2 for x in indices)

    def _free(self, array: Array) -> tuple[int, ...]:
        return tuple(x.size for x in array.indices if x not in {self.mask.i, self.mask.j})

    def _listed(
        self,
        name: str,
        keys: Integers,
        rest: tuple[int, ...],
        axes: tuple[int, ...],
        first: int = 0,
    ) -> None:
        shape = (len(keys), *rest)
        if not prod(shape):
            return
        strides = tuple(prod(shape[a + 1 :]) for a in range(len(shape)))
        firsts = (0,) * len(rest[:-1]) + (first,) * len(rest[-1:])
        tensor = Listed(name, self.size, shape, strides, (0, *firsts), keys, axes)
        self.blocks.append(tensor)
        self.tensors[name] = tensor
        self.size += len(tensor)

    # -- the order of entries --------------------------------------------------------------------

    @cached_property
    def row_keys(self) -> Integers:
        """The pairs (i, j) in row order."""
        indptr, keys = self.mask.mask.csr
        return np.stack([np.repeat(np.arange(self.mask.mask.n), np.diff(indptr)), keys], axis=1)

    @cached_property
    def column_keys(self) -> Integers:
        """The pairs (i, j) in column order."""
        indptr, queries, _ = self.mask.mask.csc
        keys = np.repeat(np.arange(self.mask.mask.n), np.diff(indptr))
        return np.stack([queries, keys], axis=1)

    @cached_property
    def inner_rows(self) -> npt.NDArray[np.bool_]:
        """Whether an entry, in row order, is neither the first nor the last of its row."""
        return _inner(self.mask.mask.csr[0])

    @cached_property
    def inner_columns(self) -> npt.NDArray[np.bool_]:
        """Whether an entry, in column order, is neither the first nor the last of its column."""
        return _inner(self.mask.mask.csc[0])


def _inner(indptr: Integers) -> npt.NDArray[np.bool_]:
    inner = np.ones(indptr[-1], bool)
    inner[indptr[:-1]] = False
    inner[indptr[1:] - 1] = False
    return inner


def build(formula: Formula, source: str = "") -> Dag:
    """Build the DAG of a formula with integer sizes and a mask."""
    size, total = extent(formula)
    check_fits(size, total, source or "the graph")
    layout = MaskedLayout.of(formula)
    writer = _MaskedWriter(layout, total)
    for array in formula.arrays.values():
        writer.write(array, tree=False)
    return finished(formula, layout, writer, source)


def edges(formula: Formula) -> int:
    """Return the number of edges of a formula's DAG under its mask."""
    total = 0
    for array in formula.arrays.values():
        slots = len(array.operands)
        if array.is_input:
            continue
        if array.over is None:
            total += slots * formula.entries(array)
            continue
        pairs = formula.pairs
        assert pairs is not None
        if not pairs.adds(array):
            each = 2 * (array.over.size - 1)
            each += slots * array.over.size if array.is_contraction else 0
            total += each * formula.entries(array)
            continue
        lengths = pairs.lengths(array)
        rest = prod(array.shape) // len(lengths)
        sums = 2 * int((lengths - 1).sum()) + int((lengths == 1).sum())
        products = slots * int(lengths.sum()) if array.is_contraction else 0
        total += rest * (sums + products)
    return int(total)


class _MaskedWriter(Writer):
    """Fills the CSR arrays block by block."""

    layout: MaskedLayout

    def write(self, array: Array, *, tree: bool) -> None:
        layout = self.layout
        if not layout.mask.of(array):
            super().write(array, tree=tree)
        elif array.over is None:
            assert array.term is not None
            self._rows(array.name, array, array.term.operation)  # type: ignore[union-attr]
        elif layout.mask.adds(array):
            self._line_sums(array)
        else:
            self._entry_sums(array)

    def _rows(self, block: str, array: Array, operation: int) -> None:
        """Write the entries of an array, or the products of a sum, operand by operand."""
        layout, tensor = self.layout, self.layout.tensors[block]
        slots = len(array.operands)
        keys = layout.column_keys if array.over is layout.mask.i else layout.row_keys
        first = self._degrees(tensor, slots, operation)
        rest = tensor.shape[1:]
        edges = self.predecessors[first : first + len(tensor) * slots]
        edges = edges.reshape(len(keys), *rest, slots)
        for slot, operand in enumerate(array.operands):
            starts, steps = self._operand(operand, array, keys)
            offsets = np.zeros((), np.int64)
            for size, step in zip(rest, steps, strict=True):
                offsets = offsets[..., None] + np.arange(size) * step
            for low in range(0, len(keys), _FILL):
                part = starts[low : low + _FILL]
                part = part.reshape(-1, *(1 for _ in rest))
                edges[low : low + _FILL, ..., slot] = part + offsets

    def _operand(
        self, operand: Reference, array: Array, keys: Integers
    ) -> tuple[Integers, list[int]]:
        """Return an operand's vertex for every pair, and its strides along the other indices."""
        layout, pairs = self.layout, self.layout.mask
        tensor = layout.tensors[operand.array.name]
        indices = (*array.indices, array.over) if array.over is not None else array.indices
        others = [x for x in indices if x not in {pairs.i, pairs.j}]
        if pairs.of(operand.array) and not pairs.adds(operand.array):
            place = np.arange(len(keys))
            if array.over is pairs.i:
                place = pairs.mask.csc[2]
            return tensor.base + place * tensor.strides[0], [0] * len(others)
        step = dict(zip(operand.indices, tensor.strides, strict=True))
        starts = np.full(len(keys), tensor.base, np.int64)
        for axis, index in enumerate((pairs.i, pairs.j)):
            starts += keys[:, axis] * step.get(index, 0)
        return starts, [step.get(x, 0) for x in others]

    def _entry_sums(self, array: Array) -> None:
        """Write sums over another index than i and j: one chain for each pair."""
        assert array.over is not None
        layout, name, terms = self.layout, array.name, array.over.size
        if array.is_contraction:
            self._rows(f"{name}.prod", array, MUL)
        if terms == 1:
            return
        products = layout.term(array) if array.is_contraction else None
        assert products is not None, "sums over entries of a third index do not occur"
        partial, final = layout.tensors.get(f"{name}.sum"), layout.tensors[name]
        term = products.base + np.arange(len(layout.row_keys))[:, None] * terms + np.arange(terms)
        if partial is not None:
            first = self._degrees(partial, 2, array.operation)
            edges = self.predecessors[first : first + 2 * len(partial)]
            edges = edges.reshape(len(term), terms - 2, 2)
            edges[:, 0, 0] = term[:, 0]
            edges[..., 1] = term[:, 1:-1]
            made = partial.base + np.arange(len(partial)).reshape(len(term), terms - 2)
            edges[:, 1:, 0] = made[:, :-1]
        first = self._degrees(final, 2, array.operation)
        edges = self.predecessors[first : first + 2 * len(final)].reshape(-1, 2)
        edges[:, 0] = term[:, 0] if partial is None else made[:, -1]
        edges[:, 1] = term[:, -1]

    def _line_sums(self, array: Array) -> None:
        """Write sums over a row or a column: one chain for each, of its own length."""
        layout, name, pairs = self.layout, array.name, self.layout.mask
        rows = array.over is pairs.j
        if array.is_contraction:
            self._rows(f"{name}.prod", array, MUL)
        indptr = pairs.mask.csr[0] if rows else pairs.mask.csc[0]
        inner = layout.inner_rows if rows else layout.inner_columns
        partial, final = layout.tensors.get(f"{name}.sum"), layout.tensors[name]
        width = prod(final.shape[1:])
        if array.is_contraction:
            base, step = layout.tensors[f"{name}.prod"].base, width
        else:
            base, step = layout.tensors[array.operands[0].array.name].base, 1
        place = np.arange(int(indptr[-1]))
        if not rows and not array.is_contraction:
            place = pairs.mask.csc[2]
        term = base + place * step
        # Running sum after each entry: the term itself where it is the first of its line.
        running = term.copy()
        if partial is not None:
            running[inner] = partial.base + np.arange(int(inner.sum())) * width
            first = self._degrees(partial, 2, array.operation)
            edges = self.predecessors[first : first + 2 * len(partial)].reshape(-1, width, 2)
            at = np.flatnonzero(inner)
            edges[..., 0] = running[at - 1][:, None] + np.arange(width)
            edges[..., 1] = term[at][:, None] + np.arange(width)
        self._finals(array, final, indptr, term, running, width)

    def _finals(
        self,
        array: Array,
        final: Tensor,
        indptr: Integers,
        term: Integers,
        running: Integers,
        width: int,
    ) -> None:
        """Write the last addition of each line, or the copy of its only term."""
        last = indptr[1:] - 1
        alone = np.diff(indptr) == 1
        degrees = np.repeat(np.where(alone, 1, 2), width)
        low, high = final.base, final.base + len(final)
        ends = self.edge + np.cumsum(degrees)
        self.indptr[low + 1 : high + 1] = ends
        self.operations[low:high] = np.repeat(np.where(alone, COPY, array.operation), width)
        offsets = np.arange(width)
        self.predecessors[ends - 1] = (term[last][:, None] + offsets).ravel()
        several = np.flatnonzero(~alone)
        before = (running[last[several] - 1][:, None] + offsets).ravel()
        self.predecessors[ends.reshape(-1, width)[several].ravel() - 2] = before
        self.edge = int(ends[-1])
