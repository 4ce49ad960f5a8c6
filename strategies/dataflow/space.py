"""The space of passes: which arrays one sweep over rows and columns makes, and what it needs.

Nothing here knows attention. In a formula two indices span the large arrays, such as S[i, j]:
those are the *pair* indices, and arrays with both are *pair arrays*. All other arrays lie on the
row side, on the column side, or on neither. A pass keeps blocks of one side resident and streams
the other past, or makes one product by tiles. What it does not load it computes anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index

__all__ = ["Anatomy", "Option", "Pass", "Roles", "described", "passes", "tile_chain"]

Names = frozenset[str]


class Roles:
    """Which part the arrays of a formula play.

    Parameters
    ----------
    formula : Formula
        The formula.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> roles = Roles(workload("attention-backward:n=8,d=2").formula())
    >>> [index.name for index in roles.pair], sorted(roles.keepable)
    (['i', 'j'], ['D', 'P', 'dK', 'dQ', 'dS', 'dV'])
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        spans = Counter(
            array.indices
            for array in formula.arrays.values()
            if len(array.indices) == 2 and not array.is_input
        )
        # The most frequent pair; the first one defined where several are.
        self.pair: tuple[Index, Index] = spans.most_common(1)[0][0]
        self.consumers: dict[str, list[Array]] = {name: [] for name in formula.arrays}
        for array in formula.arrays.values():
            for entry in {entry.array.name: entry for entry in array.operands}.values():
                self.consumers[entry.array.name].append(array)
        self.outputs = {array.name for array in formula.outputs}
        #: Arrays worth keeping in slow memory: what a sum reads, what several read, what spreads
        #: over a larger array, and outputs. Of a chain of other maps only the last is worth it.
        self.keepable = {
            name
            for name, array in formula.arrays.items()
            if not array.is_input and self._worth_keeping(array)
        }

    def _worth_keeping(self, array: Array) -> bool:
        readers = self.consumers[array.name]
        spread = any(len(reader.indices) > len(array.indices) for reader in readers)
        summed = any(reader.over is not None for reader in readers)
        return array.name in self.outputs or summed or len(readers) > 1 or spread

    def is_pair(self, array: Array) -> bool:
        """Whether an array spans rows and columns."""
        return all(index in array.indices for index in self.pair)

    def side(self, array: Array) -> Index | None:
        """Return the pair index of an array that has one of them."""
        found = [index for index in self.pair if index in array.indices]
        return found[0] if len(found) == 1 else None

    def is_long_sum(self, array: Array) -> bool:
        """Whether an array is a sum of pair arrays' entries along a pair index."""
        return array.over in self.pair and any(self.is_pair(e.array) for e in array.operands)


@dataclass(frozen=True, order=True)
class Pass:
    """One pass: what it keeps, loads instead of computing, and how it goes.

    Attributes
    ----------
    form : {"rows", "columns", "tiles"}
        Blocks of rows resident and columns streaming, the reverse, or tiles of one product.
    makes : tuple of str
        Arrays that it leaves in slow memory.
    loads : tuple of str
        Arrays made by earlier passes that it reads.
    product : str
        With ``tiles``, the array that is made tile by tile.
    """

    form: Literal["rows", "columns", "tiles"]
    makes: tuple[str, ...]
    loads: tuple[str, ...]
    product: str = ""

    def __str__(self) -> str:
        how = self.form if self.form != "tiles" else f"tiles of {self.product}"
        reads = f" from {', '.join(self.loads)}" if self.loads else ""
        return f"{', '.join(self.makes)} by {how}{reads}"


class Anatomy:
    """What happens within a pass, found by going back from what it makes.

    Attributes
    ----------
    pairs : list of Array
        Pair arrays that are computed, or loaded entry by entry, in the order of the formula.
    sums : list of Array
        Sums along a pair index that are run up in the pass.
    before, after : list of Array
        Side arrays made before the pairs of a row (sums of products), and after the sums.
    loaded : set of str
        Arrays that are read from slow memory, inputs among them.
    early : set of str
        Of these, those that the pairs and sums read; the others wait for the end of a row.
    """

    def __init__(self, roles: Roles, form: Pass) -> None:
        self.roles, self.form = roles, form
        self.resident = roles.pair[0 if form.form != "columns" else 1]
        self.streamed = roles.pair[1 if form.form != "columns" else 0]
        self.loaded: set[str] = set()
        self.early: set[str] = set()
        self._made: dict[str, str] = {}
        self.possible = all(self._need(roles.formula[name]) for name in form.makes)
        self.possible = self.possible and set(form.loads) <= self.loaded
        self.possible = self.possible and all(name in self._made for name in form.makes)
        arrays = roles.formula.arrays.values()
        self.pairs = [
            a
            for a in arrays
            if roles.is_pair(a) and (a.name in self._made or a.name in self.loaded)
        ]
        self.sums = [a for a in arrays if self._made.get(a.name) == "sum"]
        self.possible = self.possible and not any(map(self._spills_a_kept_term, self.sums))
        self.before = [a for a in arrays if self._made.get(a.name) == "before"]
        self.after = [a for a in arrays if self._made.get(a.name) == "after"]

    @property
    def requires(self) -> Names:
        """Arrays that earlier passes must have made."""
        formula = self.roles.formula
        return frozenset(name for name in self.loaded if not formula[name].is_input)

    def _spills_a_kept_term(self, total: Array) -> bool:
        """Whether a running sum would be stored whose first term is in slow memory already.

        That term and the sum of one term are the same vertex.
        """
        kept = {*self.form.makes, *self.loaded}
        streams = self.roles.side(total) is self.streamed and not total.is_contraction
        return streams and any(entry.array.name in kept for entry in total.operands)

    @property
    def spills(self) -> Names:
        """Arrays of which vertices are stored and loaded again: sums that stream, their terms."""
        streaming = [x for x in self.sums if self.roles.side(x) is self.streamed]
        terms = {e.array.name for x in streaming if not x.is_contraction for e in x.operands}
        return frozenset({x.name for x in streaming} | terms)

    def _given(self, array: Array) -> bool:
        return array.is_input or array.name in self.form.loads

    def _need(self, array: Array, early: bool = False) -> bool:
        """Plan for an array; False if this pass cannot have it."""
        roles = self.roles
        if self._given(array):
            self.loaded.add(array.name)
            if early:
                self.early.add(array.name)
            return True
        if array.name in self._made:
            # What comes after a whole row cannot be read by its pairs.
            return not early or self._made[array.name] in {"pair", "before"}
        operands = [entry.array for entry in array.operands]
        if roles.is_pair(array):
            self._made[array.name] = "pair"
            if array.over is not None:
                return (
                    array.is_contraction
                    and array.over not in roles.pair
                    and self._tiled(array)
                    and sorted(map(self._place, operands)) == ["resident", "streamed"]
                    and all(self._given(each) and self._need(each, True) for each in operands)
                )
            return all(self._need(each, early=True) for each in operands)
        if roles.is_long_sum(array) and not early:
            self._made[array.name] = "sum"
            vectors = [each for each in operands if not roles.is_pair(each)]
            return all(
                self._given(each) and roles.side(each) is array.over for each in vectors
            ) and all(self._need(each, early=True) for each in operands)
        if roles.side(array) is None or any(roles.side(each) is None for each in operands):
            return False
        if array.over in roles.pair or any(
            roles.side(each) is not roles.side(array) for each in operands
        ):
            return False
        if all(self._given(each) for each in operands):
            # Made from what is at hand, once for each resident row, before its pairs.
            self._made[array.name] = "before"
            return (
                array.is_contraction
                and self._place(array) == "resident"
                and len(array.indices) == 1
                and all(self._need(each) for each in operands)
            )
        self._made[array.name] = "after"
        shape = len(array.indices) == 2 or (array.is_contraction and len(array.indices) == 1)
        return not early and shape and all(self._need(each) for each in operands)

    def _tiled(self, array: Array) -> bool:
        """Whether a pair product may be computed here: by tiles, only the one that they are of."""
        return self.form.form != "tiles" or array.name == self.form.product

    def _place(self, array: Array) -> str:
        side = self.roles.side(array)
        return "resident" if side is self.resident else "streamed" if side else "neither"

    def on(self, index: Index, names: set[str]) -> list[Array]:
        """Return those of some arrays that lie on one side, in the order of the formula."""
        arrays = self.roles.formula.arrays.values()
        return [a for a in arrays if a.name in names and self.roles.side(a) is index]


@dataclass(frozen=True)
class Option:
    """A pass with what it asks of the passes before it.

    Attributes
    ----------
    form : Pass
        The pass.
    requires : frozenset of str
        Arrays that must have been made.
    spills : frozenset of str
        Arrays of which vertices are stored besides those that are kept. No pass stores a vertex
        that another one has stored.
    """

    form: Pass
    requires: Names
    spills: Names = frozenset()


def passes(formula: Formula) -> Iterator[Option]:
    """Yield every pass over a formula, with what it asks of the passes before.

    Every set of arrays that are worth keeping is tried as what a pass makes, and every set of the
    others as what it loads instead of computing.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> for option in passes(workload("attention-forward:n=8,d=2").formula()):
    ...     if option.form.makes == ("O",):
    ...         print(option.form)
    O by rows
    O by columns
    O by rows from A
    O by rows from l
    O by columns from l
    O by rows from A, l
    O by columns from A, l
    O by tiles of U from A, l
    """
    roles = Roles(formula)
    names = [name for name in formula.arrays if name in roles.keepable]
    # What lies on neither side is no part of a sweep: its products are made by tiles.
    swept = [name for name in names if _is_swept(roles, roles.formula[name])]
    sided = [name for name in names if _has_side(roles, roles.formula[name])]
    for makes in _subsets(swept):
        above = [name for name in sided if name not in makes and _matters(roles, name, makes)]
        for loads in _subsets(above):
            for form in ("rows", "columns"):
                each = Pass(form, makes, loads)
                anatomy = Anatomy(roles, each)
                if makes and anatomy.possible:
                    yield Option(each, anatomy.requires, anatomy.spills)
    for array in formula.arrays.values():
        if array.is_contraction:
            yield from _products(roles, array, names)


def _has_side(roles: Roles, array: Array) -> bool:
    return roles.is_pair(array) or roles.side(array) is not None


def _is_swept(roles: Roles, array: Array) -> bool:
    return _has_side(roles, array) and all(_has_side(roles, e.array) for e in array.operands)


def _products(roles: Roles, array: Array, names: list[str]) -> Iterator[Option]:
    """Yield the ways to make one product by tiles, with what can follow from it at once."""
    if len(array.indices) != 2:
        return
    given = {e.array.name for e in array.operands if not e.array.is_input}
    if not given <= roles.keepable:
        return
    if array.name in roles.keepable:
        alone = Pass("tiles", (array.name,), tuple(sorted(given)), array.name)
        yield Option(alone, frozenset(given))
    followers = _followers(roles, array)
    for makes in _subsets([name for name in names if name in followers and name != array.name]):
        rest = [name for name in names if name not in makes and name != array.name]
        for loads in _subsets([name for name in rest if _matters(roles, name, makes)]):
            if not makes or not given <= set(loads):
                continue
            each = Pass("tiles", makes, loads, array.name)
            if tile_chain(roles, each) is not None:
                yield Option(each, frozenset(loads))


def _followers(roles: Roles, array: Array) -> set[str]:
    """Return what can be made from an array entry by entry, and sums of that along rows."""
    found: set[str] = {array.name}
    for each in roles.formula.arrays.values():
        reads = {entry.array.name for entry in each.operands}
        if not reads & found:
            continue
        row_sum = each.over is array.indices[1] and not each.is_contraction
        if (each.over is None and each.indices == array.indices) or row_sum:
            found.add(each.name)
    return found


def _matters(roles: Roles, name: str, makes: tuple[str, ...]) -> bool:
    """Whether an array is an ancestor of what is made."""
    seen: set[str] = set()
    todo = list(makes)
    while todo:
        for entry in roles.formula[todo.pop()].operands:
            if entry.array.name not in seen:
                seen.add(entry.array.name)
                todo.append(entry.array.name)
    return name in seen


def tile_chain(roles: Roles, form: Pass) -> list[Array] | None:
    """Return what is made of each finished entry of a product, in order; None if impossible.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> roles = Roles(workload("attention-backward:n=8,d=2").formula())
    >>> [a.name for a in tile_chain(roles, Pass("tiles", ("dS",), ("D", "P"), "dP"))]
    ['Z', 'dS']
    """
    product = roles.formula[form.product]
    chain: set[str] = set()
    used: set[str] = set()

    def need(array: Array) -> bool:
        if array is product or array.name in chain:
            return True
        if array.is_input or array.name in form.loads:
            used.add(array.name)
            return set(array.indices) <= set(product.indices)
        chain.add(array.name)
        if array.over is not None:
            reads = array.operands[0].array
            return (
                array.name in form.makes
                and array.over is product.indices[1]
                and not array.is_contraction
                and need(reads)
            )
        return array.indices == product.indices and all(need(e.array) for e in array.operands)

    if not all(need(roles.formula[name]) for name in form.makes):
        return None
    sums = {n for n in chain if roles.formula[n].over is not None}
    # A sum along the row is complete only after the entries that would read it.
    if any(e.array.name in sums for n in chain for e in roles.formula[n].operands):
        return None
    given = {entry.array.name for entry in product.operands}
    if not set(form.loads) <= used | given:
        return None
    found = [a for a in roles.formula.arrays.values() if a.name in chain]
    reads = {entry.array for array in found for entry in array.operands}
    return found if product in reads or form.makes == (product.name,) else None


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names) + 1):
        yield from combinations(names, size)


def described(formula: Formula, form: Pass) -> dict[str, tuple[str, ...]]:
    """Return the names of a pass's arrays by the part they play.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> formula = workload("attention-backward:n=8,d=2").formula()
    >>> described(formula, Pass("rows", ("dQ",), ("D",)))["resident"]
    ('Q', 'l', 'dO', 'D', 'dQ')
    """
    roles = Roles(formula)
    if form.form == "tiles":
        product = formula[form.product]
        chain = tile_chain(roles, form) or []
        factors = [entry.array.name for entry in product.operands]
        computed = [product.name, *(array.name for array in chain)]
        return {
            "resident": (product.name,),
            "streamed": tuple(factors),
            "recomputed": tuple(name for name in computed if name not in form.makes),
            "stored": form.makes,
            "loaded": form.loads,
        }
    anatomy = Anatomy(roles, form)
    sums = {array.name for array in anatomy.sums}
    made = [*anatomy.pairs, *anatomy.before, *anatomy.after, *anatomy.sums]
    return {
        "resident": tuple(a.name for a in anatomy.on(anatomy.resident, anatomy.early | sums)),
        "streamed": tuple(a.name for a in anatomy.on(anatomy.streamed, anatomy.early | sums)),
        "recomputed": tuple(
            a.name for a in made if a.name not in form.makes and a.name not in anatomy.loaded
        ),
        "stored": form.makes,
        "loaded": tuple(name for name in formula.arrays if name in anatomy.requires),
    }
