"""The schedule text: a loop nest over tiles with a few verbs, written once and read three ways.

A tile schedule is a function of a `Schedule` and tile sizes. Its loops (`Schedule.blocks`,
`Schedule.each`) visit one representative of every class of tile, first, middle and last, with its
multiplicity; its verbs (`load`, `store`, `free`, `compute`, `accumulate`) record moves. What is
recorded is a small tree of loops and steps, whose size depends on the text and not on n. Three
readers walk it: `strategies.scribe` writes the moves, `strategies.tally` counts them, for integers
or whole arrays of candidate tile sizes, and the tally on sympy symbols gives the closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble.errors import PebbleError
from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from strategies.views import Affine, Loop, Named, Range, Step, View, equals, whole

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Size
    from graphs.layout import Layout
    from pebble.tensor import Tensor
    from strategies.symbols import Algebra

__all__ = ["Loop", "Named", "Range", "Schedule", "Step", "View", "whole"]


class Schedule:
    """What a schedule text is written on.

    Parameters
    ----------
    formula : Formula
        The arrays, with sizes that are integers or symbols.
    layout : Layout, optional
        Where their vertices lie; without it only counts are meant.
    algebra : Algebra, optional
        The ring of sizes, where they are symbols.

    Examples
    --------
    A matrix product, row by row of C, an entry at a time:

    >>> from graphs import workload
    >>> from strategies.tally import tally
    >>> def text(s):
    ...     A, B, C = s.arrays("A", "B", "C")
    ...     m, n = C.size
    ...     for i in s.each(m):
    ...         s.load(A[i, :])
    ...         for j in s.each(n):
    ...             s.load(B[:, j])
    ...             s.accumulate(C[i, j])
    ...             s.store(C[i, j])
    ...             s.free(C[i, j], B[:, j])
    ...         s.free(A[i, :])
    >>> s = Schedule(workload("matmul:m=5,n=4,k=3").formula())
    >>> text(s)
    >>> counts = tally(s)
    >>> counts.loads, counts.stores, counts.computes, counts.peak
    (75, 20, 100, 9)
    """

    def __init__(
        self, formula: Formula, layout: Layout | None = None, algebra: Algebra | None = None
    ) -> None:
        self.formula = formula
        self.layout = layout
        self.algebra = algebra
        self.program: list[Loop | Step] = []
        self._body = self.program
        self._outer: list[list[Loop | Step]] = []
        # Sums of one entry of an array: a second name for that array's only vertex.
        self._root: dict[str, str] = {}
        self._holders: dict[str, set[str]] = {}
        # By which of its names a vertex was stored: another name need not store it again.
        self._blue: dict[str, str] = {}
        for array in formula.arrays.values():
            if formula.renames(array):
                term = array.operands[0].array.name
                root = self._root.get(term, term)
                self._root[term] = self._root[array.name] = root
                self._holders[root] = set()
                if formula[root].is_input:
                    self._blue[root] = ""

    # -- loops -----------------------------------------------------------------------------------

    def arrays(self, *names: str) -> tuple[Named, ...]:
        """Return arrays by name, to be indexed by ranges."""
        return tuple(Named(self.formula[name]) for name in names)

    def operands(self, array: Array, ranges: Mapping[Index, Range]) -> list[View]:
        """Return what an entry of an array, or a term of a sum, reads at the given ranges."""
        return [
            View(entry.array, tuple(ranges[index] for index in entry.indices))
            for entry in array.operands
        ]

    def blocks(self, extent: Size, size: Size) -> Iterator[Range]:
        """Visit the tiles of ``size`` values that cover ``extent`` values; the last is the rest."""
        if not (isinstance(extent, int) and isinstance(size, int)):
            yield from self._general_blocks(extent, size)
            return
        size = min(size, extent)
        tiles, full = -(-extent // size), extent // size
        tile, loop = self._open(Affine(0), size, size, 1, True, tiles == 1)
        yield tile
        self._close()
        if not tile.looked:
            loop.count = full
            if full < tiles:
                yield from self._one(full * size, extent - full * size, False, True)
            return
        done = 1
        if size == 1 and tiles > 2:  # one term done: that partial sum is the term itself
            yield from self._one(1, 1, False, False)
            done = 2
        if tiles - 1 > done:
            tile, _ = self._open(Affine(done * size), size, size, tiles - 1 - done, False, False)
            yield tile
            self._close()
        if tiles > 1:
            yield from self._one((tiles - 1) * size, extent - (tiles - 1) * size, False, True)

    def each(self, values: Range | Size) -> Iterator[Range]:
        """Visit the values of a range (or of a whole index) one by one."""
        parent = values if isinstance(values, Range) else whole(values)
        size, start = parent.size, parent.start
        single = equals(size, 1)
        value, loop = self._open(start, 1, 1, 1, True, single, parent)
        yield value
        self._close()
        if single:
            return
        if not value.looked:
            loop.count = size
            return
        last = int(parent.last)
        done = 1
        if not parent.first and not start.equals(1):
            done = loop.count = size - last
        elif isinstance(size, int) and parent.first and size - last > 1:
            yield from self._inner(start + 1, 1, parent)
            done = 2
        if not equals(size - last - done, 0):
            yield from self._inner(start + done, size - last - done, parent)
        if last:
            value, _ = self._open(start + (size - 1), 1, 1, 1, False, True, parent)
            yield value
            self._close()

    # Loops over the scores that a mask keeps; without a mask they are all kept. -------------------

    def rows(self, J: Range, extent: Size, size: Size = 1) -> Iterator[Range]:  # noqa: ARG002
        """Visit the tiles of rows that have scores in the columns J."""
        yield from self.blocks(extent, size)

    def columns(self, I: Range, extent: Size, size: Size = 1) -> Iterator[Range]:  # noqa: ARG002
        """Visit the tiles of columns that have scores in the rows I."""
        if equals(size, 1):
            yield from self.each(extent)
        else:
            yield from self.blocks(extent, size)

    def queries(self, I: Range, J: Range) -> Iterator[Range]:  # noqa: ARG002
        """Visit the rows of I that have scores in the columns J, one by one."""
        yield from self.each(I)

    def keys(self, i: Range, J: Range) -> Iterator[Range]:  # noqa: ARG002
        """Visit the columns of J that row i has scores in, one by one."""
        yield from self.each(J)

    def begun(self, I: Range, J: Range) -> bool:  # noqa: ARG002
        """Whether the rows I have scores in columns before J."""
        return not J.first

    def ended(self, I: Range, J: Range) -> bool:  # noqa: ARG002
        """Whether the rows I have no scores in columns after J."""
        return J.last

    def points(
        self, array: Array, indices: Sequence[Index], at: Mapping[Index, Range] | None = None
    ) -> Iterator[dict[Index, Range]]:
        """Visit the values of some indices of an array, the last one fastest, each by its index."""
        at = dict(at or {})
        if not indices:
            yield at
            return
        for x in self.each(indices[0].size):
            yield from self.points(array, indices[1:], {**at, indices[0]: x})

    def _inner(self, start: Affine, count: Size, parent: Range) -> Iterator[Range]:
        value, _ = self._open(start, 1, 1, count, False, False, parent)
        yield value
        self._close()

    def _one(self, start: Size, size: Size, first: bool, last: bool, count: Size = 1) -> Any:
        tile, _ = self._open(Affine(start), size, size, count, first, last)
        yield tile
        self._close()

    def _general_blocks(self, extent: Size, size: Size) -> Iterator[Range]:
        """`blocks` for arrays of candidate sizes, or for symbols with at least two tiles."""
        if isinstance(size, np.ndarray):
            size = np.minimum(size, extent)
            tiles, full = -(-extent // size), extent // size
            several, middle = (tiles > 1).astype(np.int64), np.maximum(tiles - 2, 0)
            rest = (full < tiles).astype(np.int64)
        elif size == extent:
            yield from self._one(0, extent, True, True)
            return
        else:
            tiles = extent if equals(size, 1) else self._algebra().count(extent, size)
            several, full, middle, rest = 1, tiles - 1, tiles - 2, 1
            if equals(size, 1):
                full, rest = tiles, 0
        tile, loop = self._open(Affine(0), size, size, several, True, False)
        yield tile
        self._close()
        if not tile.looked:
            loop.count = full
            if not equals(rest, 0):
                yield from self._one(0, self._rest(extent, size, tiles), False, True, rest)
            return
        if isinstance(size, np.ndarray):
            yield from self._one(0, extent, True, True, 1 - several)
        yield from self._one(0, size, False, False, middle)
        yield from self._one(0, self._rest(extent, size, tiles), False, True, several)

    def _rest(self, extent: Any, size: Any, tiles: Any) -> Any:
        """Return the size of the last tile, a symbol of its own where sizes are symbols."""
        if isinstance(size, (int, np.ndarray)):
            return extent - (tiles - 1) * size
        return self._algebra().rest(extent, size)

    def _algebra(self) -> Algebra:
        assert self.algebra is not None, "symbolic sizes need their ring"
        return self.algebra

    def _open(
        self,
        start: Affine,
        step: Size,
        size: Size,
        count: Size,
        first: bool,
        last: bool,
        parent: Range | None = None,
    ) -> tuple[Range, Loop]:
        loop = Loop(count)
        self._body.append(loop)
        self._outer.append(self._body)
        self._body = loop.body
        return Range(start.along(loop, step), size, first, last, parent), loop

    def _close(self) -> None:
        self._body = self._outer.pop()
        loop = self._body[-1]
        assert isinstance(loop, Loop)

    # -- verbs -----------------------------------------------------------------------------------

    def load(self, *views: View) -> None:
        """Load entries, or running sums `View.before` some terms."""
        for view in views:
            if not self._shares(view, LOAD):
                self._record(LOAD, view)

    def store(self, *views: View) -> None:
        """Store entries, or running sums `View.after` some terms."""
        for view in views:
            if not self._shares(view, STORE):
                self._record(STORE, view)

    def free(self, *views: View) -> None:
        """Delete the red pebbles of entries or of running sums."""
        for view in views:
            if not self._shares(view, DELETE):
                self._record(DELETE, view)

    def compute(self, *views: View) -> None:
        """Compute elementwise entries from their operands, which stay red."""
        for view in views:
            if not self._shares(view, COMPUTE):
                self._record(COMPUTE, view)

    def accumulate(
        self,
        view: View,
        terms: Range | None = None,
        release: tuple[View, ...] = (),
        keep: bool = False,
    ) -> None:
        """Advance running sums by some terms, by all of them if none are named.

        A product is computed, added and freed; its operands stay red. A sum over an array uses
        its terms up: they are freed, but for the first, which is the running sum.

        Parameters
        ----------
        view : View
            The sums.
        terms : Range, optional
            The terms, as values of the summed index.
        release : tuple of View
            Operands to free between the product and the sum, for one entry and one term.
        keep : bool
            Leave the terms of a sum over an array red; only for all its terms at once.
        """
        array = view.array
        if keep and (array.is_contraction or terms is not None):
            raise PebbleError("only the terms of a whole sum over an array can be kept")
        assert array.over is not None
        terms = terms if terms is not None else whole(array.over.size)
        if array.name in self._root and not array.is_contraction:
            term = array.operands[0].array.name
            holders = self._holders[self._root[term]]
            if not keep:
                holders.discard(term)
            holders.add(array.name)
            return
        if array.name in self._root:  # a product whose only vertex has a second name
            holders = self._holders[self._root[array.name]]
            if holders - {array.name}:
                if terms.last:
                    holders.add(array.name)
                return
            if terms.last:
                holders.add(array.name)
        entry, opened = [], 0
        for r in view.ranges:
            if equals(r.size, 1):
                entry.append(r)
            else:
                one, _ = self._open(r.start, 1, 1, r.size, True, True)
                entry.append(one)
                opened += 1
        if release and not (equals(terms.size, 1) and opened == 0):
            raise PebbleError("operands can be released only in a sum of one entry by one term")
        self._chain(array, tuple(entry), terms, release, keep)
        for _ in range(opened):
            self._close()

    def _chain(
        self,
        array: Array,
        entry: tuple[Range, ...],
        terms: Range,
        release: tuple[View, ...],
        keep: bool = False,
    ) -> None:
        start, left = terms.start, terms.size
        if terms.first:
            if array.is_contraction:
                self._term(COMPUTE, array, entry, start)
                self.free(*release)
            start, left = start + 1, left - 1
            if equals(left, 0):
                return
        total = array.over.size  # type: ignore[union-attr]
        if isinstance(left, int) and start.equals(1):
            self._add(array, entry, start, 1, release, last=total == 2, keep=keep)
            start, left = start + 1, left - 1
        final = int(terms.last)
        if isinstance(left, int) and final and left:
            self._add(array, entry, start, left - 1, release, keep=keep)
            self._add(array, entry, start + (left - 1), 1, release, last=True, keep=keep)
        elif not equals(left, 0):
            self._add(array, entry, start, left, release, keep=keep)

    def _add(
        self,
        array: Array,
        entry: tuple[Range, ...],
        start: Affine,
        count: Size,
        release: tuple[View, ...],
        last: bool = False,
        keep: bool = False,
    ) -> None:
        """Add ``count`` terms from number ``start`` >= 1 on; ``last`` completes the sum."""
        if equals(count, 0):
            return
        t, _ = self._open(start, 1, 1, count, False, last)
        if array.is_contraction:
            self._term(COMPUTE, array, entry, t.start)
            self.free(*release)
        self._partial(COMPUTE, array, entry, t.start + 1, last)
        # The running sum of one term is that term, which may be kept with the others.
        if not (keep and t.start.equals(1)):
            self._partial(DELETE, array, entry, t.start, False)
        if not keep:
            self._term(DELETE, array, entry, t.start)
        self._close()

    # -- addresses -------------------------------------------------------------------------------

    def _term(self, kind: int, array: Array, entry: tuple[Range, ...], t: Affine) -> None:
        """Record a move on term number ``t`` of a sum."""
        tensor = self.layout.term(array) if self.layout is not None else None
        self._box(kind, self._term_owner(array), tensor, (*entry, Range(t, 1, False, False)))

    def _partial(
        self, kind: int, array: Array, entry: tuple[Range, ...], t: Affine, complete: bool
    ) -> None:
        """Record a move on the running sums of ``t`` terms."""
        if complete:
            tensor = self.layout.tensors[array.name] if self.layout is not None else None
            self._box(kind, self._owner(array), tensor, entry)
        elif t.equals(1):
            self._term(kind, array, entry, Affine(0))
        else:
            tensor = self.layout.tensors[f"{array.name}.sum"] if self.layout is not None else None
            place = Range(t + (-1), 1, False, False)  # t terms end with number t - 1
            self._box(kind, f"{array.name}.sum", tensor, (*entry, place))

    def _owner(self, array: Array) -> str:
        """Return the tensor that owns an array's entries."""
        if array.over is not None and equals(array.over.size, 1):
            return self._term_owner(array)
        return array.name

    def _term_owner(self, array: Array) -> str:
        if array.is_contraction:
            return f"{array.name}.prod"
        return self._owner(array.operands[0].array)

    def _record(self, kind: int, view: View) -> None:
        if view.terms is None:
            tensor = self.layout.tensors[view.array.name] if self.layout is not None else None
            self._box(kind, self._owner(view.array), tensor, view.ranges)
            return
        terms, done = view.terms, view.terms.start
        complete = False
        if view.done:
            complete = terms.last
            done = done + terms.size
        elif terms.first:
            raise PebbleError(f"{view.array.name} has no running sum before its first term")
        self._partial(kind, view.array, view.ranges, done, complete)

    def _box(self, kind: int, owner: str, tensor: Tensor | None, ranges: tuple[Range, ...]) -> None:
        count: Size = 1
        for r in ranges:
            count = count * r.size
        if tensor is None:
            self._body.append(Step(kind, owner, count, 0, {}, ()))
            return
        base, box = tensor.base, []
        strides: dict[Loop, int] = {}
        for r, stride, first in zip(ranges, tensor.strides, tensor.first, strict=True):
            base += (r.start.constant - first) * stride
            for loop, step in r.start.rounds.items():
                strides[loop] = strides.get(loop, 0) + step * stride
            if r.size > 1:
                box.append((r.size, stride))
        self._body.append(Step(kind, owner, count, base, strides, tuple(box)))

    def _shares(self, view: View, kind: int) -> bool:
        """Whether a move on a vertex of two names is no move, since the other name made it."""
        root = self._root.get(view.array.name)
        if root is None:
            return False
        holders, name = self._holders[root], view.array.name
        if kind == STORE:
            return self._blue.setdefault(root, name) != name
        if kind == DELETE:
            holders.discard(name)
            return bool(holders)
        held = bool(holders)
        holders.add(name)
        return held
