"""The texts of passes: a loop nest written from what a pass makes, for any formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategies.dataflow.space import Anatomy, Pass, Roles, tile_chain
from strategies.operators import put
from strategies.phases import Choice, Phase, Tile
from strategies.products import streaming_product
from strategies.schedule import whole

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Reference, Size
    from strategies.schedule import Range, Schedule, View

__all__ = ["phases_of"]

Places = Mapping["Index", "Range"]


def phases_of(formula: Formula, form: Pass) -> Choice:
    """Return the texts of one pass, of which the cheapest at M is played.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> formula = workload("attention-backward:n=8,d=2").formula()
    >>> [phase.name for phase in phases_of(formula, Pass("rows", ("D", "dQ"), ()))]
    ['D, dQ by rows', 'D, dQ by rows, scalars streaming']
    """
    roles = Roles(formula)
    if form.form != "tiles":
        extent = roles.pair[0 if form.form == "rows" else 1].size
        sides = (Tile("size", "a" if form.form == "rows" else "b", (extent,)),)
        return (
            Phase(str(form), Sweep(form, wide=False), sides),
            Phase(f"{form}, scalars streaming", Sweep(form, wide=True), sides),
        )
    product = roles.formula[form.product]
    chain = tile_chain(roles, form)
    assert chain is not None
    if not chain:
        return streaming_product(product)
    if any(array.over is not None for array in chain):
        m, n = product.shape
        tiles = (Tile("a", "a", (m,)), Tile("b", "b", (n,)))
        return (Phase(str(form), Tiles(form), tiles),)
    return streaming_product(product, Finish(form))


def _at(array: Array, places: Places) -> View:
    """Return the entries of an array at some places, all values of its other indices."""
    from strategies.schedule import View

    ranges = (places[i] if i in places else whole(i.size) for i in array.indices)
    return View(array, tuple(ranges))


# -- sweeps ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Blocks of one side resident, the other side streaming past, value by value.

    With ``wide``, every operation is done for the whole block before the next one, so that a
    streamed vector that is read once passes scalar by scalar.
    """

    form: Pass
    wide: bool

    def __call__(self, s: Schedule, size: Size) -> None:
        """Write the text."""
        _Sweep(s, self.form, self.wide).write(size)


class _Sweep:
    def __init__(self, s: Schedule, form: Pass, wide: bool) -> None:
        self.s, self.form, self.wide = s, form, wide
        self.a = a = Anatomy(Roles(s.formula), form)
        self.R, self.Z = a.resident, a.streamed
        self.wanted = set(form.makes)
        late = {x.name for x in a.after}
        # What only the end of a row reads is loaded there.
        self.resident = a.on(self.R, a.early)
        self.streamed = a.on(self.Z, a.early)
        self.here = [x for x in a.sums if a.roles.side(x) is self.R]
        self.there = [x for x in a.sums if a.roles.side(x) is self.Z]
        self.after_here = [x for x in a.after if a.roles.side(x) is self.R]
        self.after_there = [x for x in a.after if a.roles.side(x) is self.Z]
        self.events = self._events()
        self.last: dict[str, int] = {}
        for number, event in enumerate(self.events):
            for entry in self._reads(event):
                self.last[entry.array.name] = number
        self.late = late
        # Streamed vectors that one event reads pass scalar by scalar.
        reads = [e.array.name for event in self.events for e in self._reads(event)]
        self.scalars = {
            x.name
            for x in self.streamed
            if wide and len(x.indices) == 2 and reads.count(x.name) == 1 and self._sliced(x)
        }

    def _events(self) -> list[Array]:
        """Return pair arrays and sums in the order in which a pair visits them."""
        a = self.a
        events: list[Array] = []
        for pair in a.pairs:
            events.append(pair)
            events += [x for x in a.sums if x.is_contraction and self._pair_of(x) is pair]
        for total in (x for x in a.sums if not x.is_contraction):
            pair = self._pair_of(total)
            # It uses its terms up: after everybody else who reads them.
            readers = [n for n, e in enumerate(events) if pair in [o.array for o in self._reads(e)]]
            events.insert(1 + max([*readers, events.index(pair)]), total)
        return events

    def _reads(self, event: Array) -> tuple[Reference, ...]:
        """Return the operands of an event; what is loaded reads nothing."""
        return () if event.name in self.a.loaded else event.operands

    def _pair_of(self, total: Array) -> Array:
        return next(e.array for e in total.operands if self.a.roles.is_pair(e.array))

    def _sliced(self, vector: Array) -> bool:
        """Whether the event that reads a streamed vector can take it scalar by scalar."""
        for event in self.events:
            if any(e.array is vector for e in self._reads(event)):
                return event in self.here or (
                    self.a.roles.is_pair(event) and event.over is not None
                )
        return False

    # -- loops ---------------------------------------------------------------------------------

    def write(self, size: Size) -> None:
        s, R, Z = self.s, self.R, self.Z
        for B in s.blocks(R.size, size):
            s.load(*(_at(x, {R: B}) for x in self.resident))
            for x in self.a.before:
                for r in s.each(B):
                    self._prologue(x, r)
                if x.name in self.wanted:
                    s.store(_at(x, {R: B}))
            if self.events:
                for z in s.each(Z.size):
                    self._step(B, z)
            s.free(*(_at(x, {R: B}) for x in self.resident if not self._reads_late(x)))
            s.free(*(_at(x, {R: B}) for x in self.a.before))
            if self.after_here:
                for r in s.each(B):
                    self._finish(r, self.R, self.here, self.after_here)
                self._put_scalars(B, R, self.here)
            else:
                for x in self.here:
                    put(s, _at(x, {R: B}))
            s.free(*(_at(x, {R: B}) for x in self.resident if self._reads_late(x)))

    def _reads_late(self, x: Array) -> bool:
        """Whether a loaded array is read once more when sums are finished."""
        return any(e.array is x for y in self.a.after for e in y.operands)

    def _prologue(self, x: Array, r: Range) -> None:
        """Make a row's sum of products, its operands streaming where nothing else needs them."""
        s = self.s
        assert x.over is not None
        for k in s.each(x.over.size):
            own = [
                _at(e.array, {self.R: r, x.over: k})
                for e in x.operands
                if e.array.name not in self.a.early
            ]
            s.load(*own)
            s.accumulate(_at(x, {self.R: r}), k, release=tuple(own))

    def _step(self, B: Range, z: Range) -> None:
        s, Z = self.s, self.Z
        rows = [x for x in self.streamed if x.name not in self.scalars]
        s.load(*(_at(x, {Z: z}) for x in rows))
        if self.there and not B.first:
            s.load(*(_at(x, {Z: z}).before(B) for x in self.there))
        if self.wide:
            for number, event in enumerate(self.events):
                self._event_for_all(number, event, B, z)
        else:
            for r in s.each(B):
                for number, event in enumerate(self.events):
                    self._event(number, event, r, z)
        s.free(*(_at(x, {Z: z}) for x in rows if not (self.after_there and self._reads_late(x))))
        if not self.there:
            return
        if self.after_there and B.last:
            self._finish(z, Z, self.there, self.after_there)
            self._put_scalars(z, Z, self.there)
        else:
            for x in self.there:
                put(s, _at(x, {Z: z}).after(B))
        s.free(*(_at(x, {Z: z}) for x in rows if self.after_there and self._reads_late(x)))

    # -- one event -----------------------------------------------------------------------------

    def _event_for_all(self, number: int, event: Array, B: Range, z: Range) -> None:
        s = self.s
        sliced = [e.array for e in self._reads(event) if e.array.name in self.scalars]
        if not sliced:
            for r in s.each(B):
                self._event(number, event, r, z)
            return
        (vector,) = sliced
        index = next(i for i in vector.indices if i is not self.Z)
        for k in s.each(index.size):
            s.load(_at(vector, {self.Z: z, index: k}))
            for r in s.each(B):
                places = {self.R: r, self.Z: z, index: k}
                s.accumulate(_at(event, places), k if event.over is index else z)
            s.free(_at(vector, {self.Z: z, index: k}))
        for r in s.each(B):
            self._keep_and_free(number, event, r, z)

    def _event(self, number: int, event: Array, r: Range, z: Range) -> None:
        s = self.s
        places = {self.R: r, self.Z: z}
        if self.a.roles.is_pair(event):
            if event.name in self.a.loaded:
                s.load(_at(event, places))
            elif event.over is not None:
                s.accumulate(_at(event, places))
            else:
                s.compute(_at(event, places))
        else:
            s.accumulate(_at(event, places), z if event.over is self.Z else r)
        self._keep_and_free(number, event, r, z)

    def _keep_and_free(self, number: int, event: Array, r: Range, z: Range) -> None:
        """Store what is wanted, and delete the pair's entries that nobody reads any more."""
        s, places = self.s, {self.R: r, self.Z: z}
        pair = self.a.roles.is_pair
        if pair(event) and event.name in self.wanted:
            s.store(_at(event, places))
        uses_up = event.over is not None and not event.is_contraction
        done = [
            e.array
            for e in self._reads(event)
            if pair(e.array) and self.last[e.array.name] == number and not uses_up
        ]
        if pair(event) and event.name not in self.last:
            done.append(event)
        s.free(*(_at(x, places) for x in done))

    # -- the end of a row ------------------------------------------------------------------------

    def _finish(self, x: Range, index: Index, sums: list[Array], after: list[Array]) -> None:
        """Make what follows from finished sums, column by column of the row."""
        s = self.s
        vectors = [y for y in after if len(y.indices) == 2]
        totals = [y for y in after if len(y.indices) == 1]
        rows = [y for y in sums if len(y.indices) == 2]
        scalars = {e.array.name: e.array for y in after for e in y.operands}
        extra = [
            y
            for y in scalars.values()
            if len(y.indices) == 1 and y.name in self.a.loaded and y.name not in self.a.early
        ]
        s.load(*(_at(y, {index: x}) for y in extra))
        (k_index,) = {i for y in [*vectors, *rows] for i in y.indices if i is not index}
        steps = [*vectors, *totals]
        last = {e.array.name: n for n, y in enumerate(steps) for e in y.operands}
        for k in s.each(k_index.size):
            at = {index: x, k_index: k}
            live: set[str] = {y.name for y in rows}
            for y in rows:
                if y.name in self.wanted:
                    s.store(_at(y, at))
                if y.name not in last:
                    s.free(_at(y, at))
            for number, y in enumerate(steps):
                operands = [e.array for e in y.operands if len(e.array.indices) == 2]
                for o in operands:
                    if o.name not in live and o.name not in self.a.early:
                        s.load(_at(o, at))
                        live.add(o.name)
                gone = [_at(o, at) for o in operands if last[o.name] == number and o.name in live]
                if y.over is None:
                    s.compute(_at(y, at))
                    s.free(*gone)
                    live.add(y.name)
                    if y.name in self.wanted:
                        s.store(_at(y, at))
                    if y.name not in last:
                        s.free(_at(y, at))
                else:
                    s.accumulate(_at(y, {index: x}), k, release=tuple(gone))
        for y in totals:
            if y.name in self.wanted:
                s.store(_at(y, {index: x}))
            s.free(_at(y, {index: x}))
        s.free(*(_at(y, {index: x}) for y in extra))

    def _put_scalars(self, B: Range, index: Index, sums: list[Array]) -> None:
        for x in sums:
            if len(x.indices) == 1:
                if x.name in self.wanted:
                    self.s.store(_at(x, {index: B}))
                self.s.free(_at(x, {index: B}))


# -- tiles -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finish:
    """What becomes of a finished tile of a product: elementwise arrays, stored where wanted."""

    form: Pass

    def __call__(self, s: Schedule, I: Range, J: Range) -> None:
        """Write the text."""
        product, chain = self._chain(s)
        i, j = product.indices
        sides = self._sides(chain)
        s.load(*(_at(x, {i: I, j: J}) for x in sides))
        self.entries(s, chain, product, I, J)
        s.free(*(_at(x, {i: I, j: J}) for x in sides))

    def _chain(self, s: Schedule) -> tuple[Array, list[Array]]:
        chain = tile_chain(Roles(s.formula), self.form)
        assert chain is not None
        return s.formula[self.form.product], chain

    def _sides(self, chain: list[Array]) -> list[Array]:
        """Return the row and column scalars that entries read."""
        reads = {e.array.name: e.array for x in chain for e in x.operands}
        given = [x for x in reads.values() if x.is_input or x.name in self.form.loads]
        return [x for x in given if len(x.indices) == 1]

    def entries(self, s: Schedule, chain: list[Array], product: Array, I: Range, J: Range) -> None:
        """Write what happens to each entry."""
        i, j = product.indices
        steps = sorted(chain, key=lambda x: x.over is not None)
        last = {e.array.name: n for n, x in enumerate(steps) for e in x.operands}
        for x in s.each(I):
            for y in s.each(J):
                at = {i: x, j: y}
                live = {product.name}
                if product.name in self.form.makes:
                    s.store(_at(product, at))
                for number, step in enumerate(steps):
                    operands = [e.array for e in step.operands if len(e.array.indices) == 2]
                    for o in operands:
                        if o.name not in live:
                            s.load(_at(o, at))
                            live.add(o.name)
                    if step.over is None:
                        s.compute(_at(step, at))
                        live.add(step.name)
                        if step.name in self.form.makes:
                            s.store(_at(step, at))
                    else:
                        s.accumulate(_at(step, at), y)
                    # A sum uses its term up.
                    done = [o for o in operands if last[o.name] == number and step.over is None]
                    if step.over is None and step.name not in last:
                        done.append(step)
                    s.free(*(_at(o, at) for o in done))


@dataclass(frozen=True)
class Tiles:
    """A product by a x b tiles with sums along the rows of what is made of it."""

    form: Pass

    def __call__(self, s: Schedule, a: Size, b: Size) -> None:
        """Write the text."""
        finish = Finish(self.form)
        product, chain = finish._chain(s)  # noqa: SLF001 - one subject, two classes
        i, j = product.indices
        k = product.over
        assert k is not None
        sides = finish._sides(chain)  # noqa: SLF001
        sums = [x for x in chain if x.over is not None]
        left = next(e.array for e in product.operands if i in e.array.indices)
        right = next(e.array for e in product.operands if e.array is not left)
        for I in s.blocks(i.size, a):
            s.load(*(_at(x, {i: I}) for x in sides if x.indices[0] is i))
            for J in s.blocks(j.size, b):
                s.load(*(_at(x, {j: J}) for x in sides if x.indices[0] is j))
                for l in s.each(k.size):
                    s.load(_at(left, {i: I, k: l}))
                    for y in s.each(J):
                        s.load(_at(right, {j: y, k: l}))
                        s.accumulate(_at(product, {i: I, j: y}), l)
                        s.free(_at(right, {j: y, k: l}))
                    s.free(_at(left, {i: I, k: l}))
                finish.entries(s, chain, product, I, J)
                s.free(*(_at(x, {j: J}) for x in sides if x.indices[0] is j))
            put(s, *(_at(x, {i: I}) for x in sums))
            s.free(*(_at(x, {i: I}) for x in sides if x.indices[0] is i))
