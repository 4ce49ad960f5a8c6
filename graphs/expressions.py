"""Tensor expressions: a workload writes its formula once, a DAG and its sizes are read from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pebble.errors import GraphError
from pebble.operations import ADD, DIV, EXP, KEEP, MAX, MUL, SUB

if TYPE_CHECKING:
    from graphs.masks import Mask
    from pebble.dag import Dag

__all__ = ["Array", "Expression", "Formula", "Index", "Pairs", "Reference", "Size", "exp"]
__all__ += ["keep", "maximum"]

#: A number of things: an int, or a sympy expression where a formula is wanted.
Size: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Index:
    """An index letter and its extent; two indices are the same only if they are one object."""

    name: str
    size: Size


@dataclass(frozen=True, eq=False)
class Expression:
    """One elementwise operation on entries of arrays."""

    operation: int
    operands: tuple[Reference, ...]


@dataclass(frozen=True, eq=False)
class Reference:
    """An entry of an array at named indices, as ``Q[i, l]``; arithmetic makes expressions."""

    array: Array
    indices: tuple[Index, ...]

    def __mul__(self, other: Reference) -> Expression:
        return Expression(MUL, (self, other))

    def __add__(self, other: Reference) -> Expression:
        return Expression(ADD, (self, other))

    def __sub__(self, other: Reference) -> Expression:
        return Expression(SUB, (self, other))

    def __truediv__(self, other: Reference) -> Expression:
        return Expression(DIV, (self, other))


def exp(entry: Reference) -> Expression:
    """Return the exponential of an entry."""
    return Expression(EXP, (entry,))


def maximum(one: Reference, other: Reference) -> Expression:
    """Return the larger of two entries."""
    return Expression(MAX, (one, other))


def keep(seed: Reference) -> Expression:
    """Return dropout's factor of an entry, made from the seed and the entry's place."""
    return Expression(KEEP, (seed,))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The entries of a mask: an array over both indices has an entry for these pairs only.

    Attributes
    ----------
    i, j : Index
        The indices of rows and columns.
    mask : Mask
        The pairs.
    """

    i: Index
    j: Index
    mask: Mask

    def of(self, array: Array) -> bool:
        """Whether an array has only the mask's entries, or is a sum over them."""
        indices = array.indices if array.over is None else (*array.indices, array.over)
        return self.i in indices and self.j in indices

    def adds(self, array: Array) -> bool:
        """Whether an array is a sum over a row or a column of the mask."""
        return array.over in {self.i, self.j} and self.of(array)

    def lengths(self, array: Array) -> Any:
        """Return the number of terms of each sum over a row or a column, as an int64 array."""
        lines = self.mask.rows if array.over is self.j else self.mask.columns
        return lines.each(lines.counts)


@dataclass(frozen=True, eq=False)
class Array:
    """A tensor of a formula: an input, an elementwise expression, or a sum.

    Attributes
    ----------
    name : str
        The paper's letter.
    indices : tuple of Index
        Free indices.
    term : Expression, Reference or None
        What an entry is, or for a sum what it adds up: a product, or an entry of another array.
        None for inputs.
    over : Index or None
        The summation index.
    operation : int
        How a sum combines its terms: ``ADD``, or ``MAX`` for a maximum.
    """

    name: str
    indices: tuple[Index, ...]
    term: Expression | Reference | None = None
    over: Index | None = None
    operation: int = ADD

    def __getitem__(self, key: Index | tuple[Index, ...]) -> Reference:
        indices = key if isinstance(key, tuple) else (key,)
        if len(indices) != len(self.indices):
            raise GraphError(f"{self.name} has {len(self.indices)} indices, got {len(indices)}")
        return Reference(self, indices)

    @property
    def shape(self) -> tuple[Size, ...]:
        """Extents of the free indices."""
        return tuple(index.size for index in self.indices)

    @property
    def is_input(self) -> bool:
        """Whether the array is given."""
        return self.term is None

    @property
    def is_contraction(self) -> bool:
        """Whether the array is a sum of products."""
        return self.over is not None and isinstance(self.term, Expression)

    @property
    def operands(self) -> tuple[Reference, ...]:
        """The arrays that an entry, or a term of the sum, reads."""
        if self.term is None:
            return ()
        return self.term.operands if isinstance(self.term, Expression) else (self.term,)

    def __str__(self) -> str:
        head = _written(self.name, self.indices)
        if self.term is None:
            return f"{head} given"
        signs = {MUL: "*", ADD: "+", SUB: "-", DIV: "/"}
        entries = [_written(r.array.name, r.indices) for r in self.operands]
        if isinstance(self.term, Reference):
            body = entries[0]
        elif self.term.operation in signs:
            body = f" {signs[self.term.operation]} ".join(entries)
        else:
            name = {EXP: "exp", MAX: "max", KEEP: "keep"}[self.term.operation]
            body = f"{name}({', '.join(entries)})"
        if self.over is not None:
            word = "sum" if self.operation == ADD else "max"
            body = f"{word}_{self.over.name} {body}"
        return f"{head} = {body}"


def _written(name: str, indices: tuple[Index, ...]) -> str:
    return f"{name}[{','.join(index.name for index in indices)}]" if indices else name


class Formula:
    """A list of array definitions, each one operation or one sum deep.

    Parameters
    ----------
    summation : {"chain", "tree"}
        Order of every sum: left to right, or balanced.

    Examples
    --------
    A matrix product, and the DAG it stands for:

    >>> g = Formula()
    >>> i, j, l = g.index("i", 2), g.index("j", 2), g.index("l", 3)
    >>> A, B = g.input("A", i, l), g.input("B", l, j)
    >>> C = g.sum("C", l, A[i, l] * B[l, j])
    >>> g.output(C)
    >>> print(C)
    C[i,j] = sum_l A[i,l] * B[l,j]
    >>> dag = g.dag()
    >>> len(dag), dag.describe(dag.vertex("C[0,1]"))
    (32, 'C[0,1] (vertex 29) = add(C.sum[0,1,1], C.prod[0,1,2]), output')
    """

    def __init__(self, summation: str = "chain") -> None:
        if summation not in ("chain", "tree"):
            raise GraphError(f"summation must be chain or tree, got {summation!r}")
        self.summation = summation
        self.arrays: dict[str, Array] = {}
        self.pairs: Pairs | None = None
        self.outputs: tuple[Array, ...] = ()

    def index(self, name: str, size: Size) -> Index:
        """Declare an index."""
        return Index(name, size)

    def input(self, name: str, *indices: Index) -> Array:
        """Declare a given array."""
        return self._add(Array(name, indices))

    def mask(self, i: Index, j: Index, pairs: Mask) -> None:
        """Let arrays over i and j have entries for a mask's pairs only, and sums run over these.

        A sum of one term is then a vertex of its own, a copy of the term.
        """
        if self.summation != "chain":
            raise GraphError("a mask needs sum=chain: rows of several lengths have no one tree")
        self.pairs = Pairs(i, j, pairs)

    def map(
        self, name: str, expression: Expression, indices: tuple[Index, ...] | None = None
    ) -> Array:
        """Define an array entry by entry; its indices are those of the operands, in order."""
        free = _free(expression.operands) if indices is None else indices
        return self._add(Array(name, free, expression))

    def sum(self, name: str, over: Index, term: Expression | Reference) -> Array:
        """Define an array as a sum over an index of products or of an array's entries."""
        return self._reduce(name, over, term, ADD)

    def maximum(self, name: str, over: Index, term: Reference) -> Array:
        """Define an array as a maximum over an index of an array's entries."""
        return self._reduce(name, over, term, MAX)

    def output(self, *arrays: Array) -> None:
        """Say which arrays are wanted."""
        self.outputs = arrays

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def __str__(self) -> str:
        lines = [str(array) for array in self.arrays.values()]
        if self.pairs is not None:
            i, j, mask = self.pairs.i.name, self.pairs.j.name, self.pairs.mask
            lines.append(f"{i},{j} in {mask.text}: {mask.pairs:,} of {mask.n:,} x {mask.n:,} pairs")
        return "\n".join([*lines, f"wanted: {', '.join(array.name for array in self.outputs)}"])

    def _reduce(
        self, name: str, over: Index, term: Expression | Reference, operation: int
    ) -> Array:
        entries = term.operands if isinstance(term, Expression) else (term,)
        free = tuple(index for index in _free(entries) if index is not over)
        return self._add(Array(name, free, term, over, operation))

    def _add(self, array: Array) -> Array:
        if array.name in self.arrays:
            raise GraphError(f"{array.name} is defined twice")
        self.arrays[array.name] = array
        return array

    def renames(self, array: Array) -> bool:
        """Whether an array is a second name for another's vertices: a sum of one entry each."""
        if array.over is None or array.is_contraction:
            return False
        one = isinstance(array.over.size, int) and array.over.size == 1
        return one and not (self.pairs is not None and self.pairs.adds(array))

    # -- sizes ---------------------------------------------------------------------------------

    def inputs_size(self) -> Size:
        """Number of input vertices."""
        return sum(_product(a.shape) for a in self.arrays.values() if a.is_input)

    def outputs_size(self) -> Size:
        """Number of output vertices."""
        return sum(_product(a.shape) for a in self.outputs)

    def computed_size(self) -> Size:
        """Number of vertices that are computed: products, sums and elementwise entries."""
        return sum(self.vertices(a) for a in self.arrays.values() if not a.is_input)

    def entries(self, array: Array) -> Size:
        """Number of entries of an array."""
        if self.pairs is None or not self.pairs.of(array) or self.pairs.adds(array):
            return _product(array.shape)
        rest = (x.size for x in array.indices if x not in {self.pairs.i, self.pairs.j})
        return self.pairs.mask.pairs * _product(tuple(rest))

    def vertices(self, array: Array) -> Size:
        """Number of vertices that belong to an array: its products, sums and entries."""
        if array.over is None:
            return self.entries(array)
        if self.pairs is None or not self.pairs.adds(array):
            each = array.over.size - 1 + (array.over.size if array.is_contraction else 0)
            return self.entries(array) * each
        free = (x.size for x in array.indices if x not in {self.pairs.i, self.pairs.j})
        terms = self.pairs.mask.pairs
        lines = len(self.pairs.lengths(array))
        copies = int((self.pairs.lengths(array) == 1).sum())
        products = terms if array.is_contraction else 0
        return (terms - lines + copies + products) * _product(tuple(free))

    def dag(self, source: str = "") -> Dag:
        """Build the DAG: one vertex a scalar, arrays one after the other as defined.

        Raises
        ------
        GraphError
            If the DAG would not fit in the memory that is free.
        """
        if self.pairs is not None:
            from graphs.masked import build
        else:
            from graphs.layout import build
        return build(self, source)


def _free(entries: tuple[Reference, ...]) -> tuple[Index, ...]:
    return tuple(dict.fromkeys(index for entry in entries for index in entry.indices))


def _product(sizes: tuple[Size, ...]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total
