"""The schedule text under a mask: the same loops and verbs, on the scores that the mask keeps.

A text's loops over scores (`Schedule.rows`, `columns`, `queries`, `keys`) become *visits*: loops
over lists that the mask gives. What a visit does may depend on where an entry stands among the
terms of its row and of its column, or on what a row has done before a block of columns; the body is
recorded once for each such class, and the mask says how many times each class occurs (for the
tally) and which class comes when (for the scribe).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pebble.errors import PebbleError
from pebble.moves import COMPUTE, DELETE
from strategies.mask_classes import (
    DONE,
    FIRST,
    LAST,
    ONE,
    ONLY,
    SECOND,
    SECOND_LAST,
    Classes,
)
from strategies.mask_symbols import MaskSymbols
from strategies.schedule import Schedule
from strategies.views import Affine, Loop, Range, View, equals, whole

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Pairs, Size
    from graphs.layout import Layout
    from strategies.symbols import Algebra

__all__ = ["MaskedSchedule", "Visit", "schedule"]

#: What a visit sets, by kind: the index, and addresses that follow from it.
REGISTERS = {
    "rows": ("i", "before", "before.sum", "after", "after.sum"),
    "columns": ("j",),
    "keys": ("j", "entry", "entry.column", "row.sum", "column.sum"),
    "queries": ("i", "entry", "entry.column", "row.sum", "column.sum"),
}


@dataclass(slots=True, eq=False)
class Visit:
    """A loop over rows, columns or entries of the mask.

    Attributes
    ----------
    kind : str
        ``rows`` with an entry in a block of columns, ``columns`` with an entry in a block of rows,
        the ``keys`` of a row within the block, the ``queries`` of a column within the block.
    start, size : Affine, Size
        The block.
    line : Visit or None
        For keys and queries, the visit that gives the row or column.
    registers : dict of str to Loop
        What an address may move with.
    bodies : dict of key to body
        One for each class that occurs.
    counts : dict of key to Size
        How often each class occurs, over all blocks.
    looks : tuple of bool
        Whether the body depends on the place in the row, in the column.
    again : bool
        Whether the same rounds are counted elsewhere, where the body was recorded first.
    """

    kind: str
    start: Affine
    size: Size
    line: Visit | None
    registers: dict[str, Loop]
    bodies: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    counts: dict[tuple[int, int], Any] = field(default_factory=dict)
    looks: tuple[bool, bool] = (False, False)
    again: bool = False


class _Entry:
    """The entry whose body is being recorded: its places in its row and column, and who asked."""

    def __init__(self, visit: Visit, key: tuple[int, int]) -> None:
        self.visit, self.key = visit, key
        self.looked = [False, False]

    def place(self, axis: int) -> int:
        """Return the place in the row (0) or column (1)."""
        self.looked[axis] = True
        return self.key[axis]


def schedule(
    formula: Formula, layout: Layout | None = None, algebra: Algebra | None = None
) -> Schedule:
    """Return what a text is written on: a schedule, under the formula's mask if it has one."""
    kind = Schedule if formula.pairs is None else MaskedSchedule
    return kind(formula, layout, algebra)


class MaskedSchedule(Schedule):
    """A schedule whose loops over scores visit the entries of a mask."""

    def __init__(
        self, formula: Formula, layout: Layout | None = None, algebra: Algebra | None = None
    ) -> None:
        super().__init__(formula, layout, algebra)
        assert formula.pairs is not None
        self.pairs: Pairs = formula.pairs
        mask = formula.pairs.mask
        self.classes = mask if isinstance(mask, MaskSymbols) else Classes(mask)
        self._again = False
        self._visited = False
        self._block: Size = 0  # size of the full blocks around, 0 outside
        self._row_state = (0, 0)
        self._row: Visit | None = None
        self._entry: _Entry | None = None
        # Visited rows and columns, and the visits that gave them.
        self._lines: list[tuple[Range, Visit]] = []

    # -- loops -----------------------------------------------------------------------------------

    def blocks(self, extent: Size, size: Size) -> Iterator[Range]:
        """Visit tiles; what their visits do is counted in the first of them, for all."""
        outer, around = self._again, self._block
        for number, tile in enumerate(super().blocks(extent, size)):
            if number == 0:
                self._block = tile.size
            self._again, self._visited = outer or number > 0, False
            yield tile
            if self._visited and tile.looked:
                raise PebbleError("under a mask ask begun() and ended(), not a block's first, last")
            self._again = outer
        self._block = around

    def rows(self, J: Range, extent: Size, size: Size = 1) -> Iterator[Range]:  # noqa: ARG002
        """Visit the rows that have scores in the columns J, one by one."""
        visit = self._visit("rows", J)
        # The last block may be smaller; classes are told apart over all of them.
        visit.counts = self.classes.row_states(self._block or J.size)
        outer = self._again
        for key in visit.counts:
            self._row_state, self._row = key, visit
            i = self._line(visit, "i")
            with_body = self._body_of(visit, key)
            yield i
            self._end(with_body)
            self._again = True
        self._again = outer

    def columns(self, I: Range, extent: Size, size: Size = 1) -> Iterator[Range]:  # noqa: ARG002
        """Visit the columns that have scores in the rows I, one by one."""
        visit = self._visit("columns", I)
        visit.counts = {(0, 0): self.classes.meetings(self._block or I.size)}
        outer = self._body_of(visit, (0, 0))
        yield self._line(visit, "j")
        self._end(outer)

    def queries(self, I: Range, J: Range) -> Iterator[Range]:
        """Visit the rows of I that have scores in the column J; a visited row is itself."""
        if self._visit_of(I) is not None:
            yield I
            return
        yield from self._entries("queries", "i", I, J)

    def keys(self, i: Range, J: Range) -> Iterator[Range]:
        """Visit the columns of J in which the row i has scores; a visited column is itself."""
        if self._visit_of(J) is not None:
            yield J
            return
        yield from self._entries("keys", "j", J, i)

    def _entries(self, kind: str, letter: str, block: Range, line: Range) -> Iterator[Range]:
        visit = self._visit(kind, block)
        visit.line = self._visit_of(line)
        if visit.line is None:
            raise PebbleError("entries are visited within a visited row or column")
        outer, first = self._entry, self.classes.first()
        queue: list[tuple[int, int]] = [first]
        while queue:
            key = queue.pop(0)
            self._entry = entry = _Entry(visit, key)
            body = self._body_of(visit, key)
            yield Range(Affine(0, {visit.registers[letter]: 1}), 1, False, False)
            self._end(body)
            if key == first:
                visit.looks = (entry.looked[0], entry.looked[1])
                visit.counts = self.classes.entries(visit.looks)
                recorded = visit.bodies.pop(first)
                own = (first[0] if visit.looks[0] else 0, first[1] if visit.looks[1] else 0)
                visit.bodies[own] = recorded
                queue = [key for key in visit.counts if key != own]
        self._entry = outer

    def begun(self, I: Range, J: Range) -> bool:  # noqa: ARG002
        """Whether the visited row has scores in columns before J."""
        return self._row_state[0] > 0

    def ended(self, I: Range, J: Range) -> bool:  # noqa: ARG002
        """Whether the visited row has no scores in columns after J."""
        return self._row_state[1] == DONE

    def points(
        self, array: Array, indices: Sequence[Index], at: Mapping[Index, Range] | None = None
    ) -> Iterator[dict[Index, Range]]:
        """Visit the values of some indices of an array: of i and j, those that the mask keeps."""
        if not self.pairs.of(array):
            yield from super().points(array, indices, at)
            return
        at = dict(at or {})
        if not indices:
            yield at
            return
        i, j = self.pairs.i, self.pairs.j
        head = indices[0]
        every = whole(self.pairs.mask.n)
        if head is i:
            visited = self.queries(every, at[j]) if j in at else self.rows(every, head.size)
        elif head is j:
            visited = self.keys(at[i], every) if i in at else self.columns(every, head.size)
        else:
            visited = self.each(head.size)
        for x in visited:
            yield from self.points(array, indices[1:], {**at, head: x})

    # -- bodies ----------------------------------------------------------------------------------

    def _visit(self, kind: str, block: Range) -> Visit:
        registers = {name: Loop(2) for name in REGISTERS[kind]}
        visit = Visit(kind, block.start, block.size, None, registers, again=self._again)
        self._body.append(visit)  # type: ignore[arg-type]
        self._visited = True
        return visit

    def _line(self, visit: Visit, letter: str) -> Range:
        line = Range(Affine(0, {visit.registers[letter]: 1}), 1, False, False)
        self._lines.append((line, visit))
        return line

    def _visit_of(self, line: Range) -> Visit | None:
        """Return the visit that gave a row or column, also where `each` came between."""
        ranges = {id(line), id(line.parent)}
        return next((visit for known, visit in self._lines if id(known) in ranges), None)

    def _body_of(self, visit: Visit, key: tuple[int, int]) -> list[Any]:
        """Record into the body of a class; return where recording went before."""
        outer = self._body
        visit.bodies[key] = self._body = []
        return outer

    def _end(self, outer: list[Any]) -> None:
        self._body = outer

    # -- verbs -----------------------------------------------------------------------------------

    def accumulate(
        self,
        view: View,
        terms: Range | None = None,
        release: tuple[View, ...] = (),
        keep: bool = False,
    ) -> None:
        """Advance running sums; those over a row or a column of the mask by the visited entry."""
        if not self.pairs.adds(view.array):
            super().accumulate(self._flat(view), terms, release, keep)
            return
        array, entry = view.array, self._entry
        if entry is None or terms is None or keep:
            raise PebbleError(f"{array.name} adds the entries of the mask one by one")
        rest, opened = [], 0
        for index, r in zip(array.indices, view.ranges, strict=True):
            if index in {self.pairs.i, self.pairs.j}:
                continue
            if not equals(r.size, 1):
                r, _ = self._open(r.start, 1, 1, r.size, True, True)
                opened += 1
            rest.append(r)
        if release and opened:
            raise PebbleError("operands can be released only in a sum of one entry by one term")
        self._add_entry(array, entry, view, tuple(rest), release)
        for _ in range(opened):
            self._close()

    def _add_entry(
        self,
        array: Array,
        entry: _Entry,
        view: View,
        rest: tuple[Range, ...],
        release: tuple[View, ...],
    ) -> None:
        """Add the entry's term: the first is the running sum, the last completes it."""
        row = array.over is self.pairs.j
        place = entry.place(0 if row else 1)
        registers = entry.visit.registers
        term = registers["entry" if row or not array.is_contraction else "entry.column"]
        if array.is_contraction:
            self._entry_box(COMPUTE, array, term, 0, rest)
            self.free(*release)
        if place == FIRST:
            return
        sums = registers["row.sum" if row else "column.sum"]
        if place in {ONLY, LAST, SECOND_LAST}:
            axis = array.indices.index(self.pairs.i if row else self.pairs.j)
            ranges = list(rest)
            ranges.insert(axis, view.ranges[axis])
            self._box(COMPUTE, array.name, self._tensor(array.name), tuple(ranges))
        else:
            self._sum_box(COMPUTE, array, sums, 0, rest)
        if place in {SECOND, SECOND_LAST}:
            if not row and not array.is_contraction:
                raise PebbleError(f"{array.name}: entries of a column are no neighbours")
            self._entry_box(DELETE, array, term, -1, rest)
        elif place != ONLY:
            self._sum_box(DELETE, array, sums, -1, rest)
        self._entry_box(DELETE, array, term, 0, rest)

    def _entry_box(
        self, kind: int, array: Array, register: Loop, step: int, rest: tuple[Range, ...]
    ) -> None:
        """Record a move on the term of an entry: a product, or an entry of the array added up."""
        place = Range(Affine(step, {register: 1}), 1, False, False)
        if array.is_contraction:
            name = f"{array.name}.prod"
            self._box(kind, name, self._tensor(name), (place, *rest))
        else:
            name = array.operands[0].array.name
            self._box(kind, self._owner(self.formula[name]), self._tensor(name), (place,))

    def _sum_box(
        self, kind: int, array: Array, register: Loop, step: int, rest: tuple[Range, ...]
    ) -> None:
        """Record a move on an inner running sum."""
        place = Range(Affine(step, {register: 1}), 1, False, False)
        name = f"{array.name}.sum"
        self._box(kind, name, self._tensor(name), (place, *rest))

    def _owner(self, array: Array) -> str:
        """Return the tensor that owns an array's entries: sums over a line own theirs."""
        return array.name if self.pairs.adds(array) else super()._owner(array)

    def _tensor(self, name: str) -> Any:
        return self.layout.tensors[name] if self.layout is not None else None

    def _record(self, kind: int, view: View) -> None:
        if view.terms is None or not self.pairs.adds(view.array):
            super()._record(kind, self._flat(view))
            return
        state, row, array = self._row_state[int(view.done)], self._row, view.array
        if row is None or array.over is not self.pairs.j:
            raise PebbleError(f"{array.name}: running sums are moved row by row")
        if not view.done and state == 0:
            raise PebbleError(f"{array.name} has no running sum before its first term")
        if view.done and state == DONE:
            super()._record(kind, View(array, view.ranges))
            return
        rest = tuple(
            r for x, r in zip(array.indices, view.ranges, strict=True) if x is not self.pairs.i
        )
        name = "after" if view.done else "before"
        if state == ONE:
            self._entry_box(kind, array, row.registers[name], 0, rest)
        else:
            self._sum_box(kind, array, row.registers[f"{name}.sum"], 0, rest)

    def _flat(self, view: View) -> View:
        """Return a view of the visited entry with one place for i and j."""
        array, pairs = view.array, self.pairs
        if not pairs.of(array) or pairs.adds(array):
            return view
        if self._entry is None:
            raise PebbleError(f"{array.name} is reached entry by entry")
        place = Range(Affine(0, {self._entry.visit.registers["entry"]: 1}), 1, False, False)
        rest = (
            r
            for x, r in zip(array.indices, view.ranges, strict=True)
            if x not in {pairs.i, pairs.j}
        )
        return View(array, (place, *rest), view.terms, view.done)
