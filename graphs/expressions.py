"""Tensor expressions: a workload writes its formula once, a DAG and its sizes are read from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pebble.errors import GraphError
from pebble.operations import ADD, DIV, EXP, MAX, MUL, SUB

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["Array", "Expression", "Formula", "Index", "Reference", "Size", "exp", "maximum"]

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
            name = {EXP: "exp", MAX: "max"}[self.term.operation]
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
        self.outputs: tuple[Array, ...] = ()

    def index(self, name: str, size: Size) -> Index:
        """Declare an index."""
        return Index(name, size)

    def input(self, name: str, *indices: Index) -> Array:
        """Declare a given array."""
        return self._add(Array(name, indices))

    def map(self, name: str, expression: Expression) -> Array:
        """Define an array entry by entry; its indices are those of the operands, in order."""
        return self._add(Array(name, _free(expression.operands), expression))

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

    # -- sizes ---------------------------------------------------------------------------------

    def inputs_size(self) -> Size:
        """Number of input vertices."""
        return sum(_product(a.shape) for a in self.arrays.values() if a.is_input)

    def outputs_size(self) -> Size:
        """Number of output vertices."""
        return sum(_product(a.shape) for a in self.outputs)

    def computed_size(self) -> Size:
        """Number of vertices that are computed: products, sums and elementwise entries."""
        total: Size = 0
        for array in self.arrays.values():
            if array.over is not None:
                each = array.over.size - 1 + (array.over.size if array.is_contraction else 0)
                total += _product(array.shape) * each
            elif not array.is_input:
                total += _product(array.shape)
        return total

    def dag(self, source: str = "") -> Dag:
        """Build the DAG: one vertex a scalar, arrays one after the other as defined.

        Raises
        ------
        GraphError
            If the DAG would not fit in the memory that is free.
        """
        from graphs.layout import build

        return build(self, source)


def _free(entries: tuple[Reference, ...]) -> tuple[Index, ...]:
    return tuple(dict.fromkeys(index for entry in entries for index in entry.indices))


def _product(sizes: tuple[Size, ...]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total
