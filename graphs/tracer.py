"""Straight-line Python arithmetic becomes a DAG: run it once on symbols and note each operation."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from pebble.dag import Dag
from pebble.errors import GraphError
from pebble.operations import ADD, APPLY, DIV, EXP, INPUT, MAX, MUL, SUB

__all__ = ["Symbol", "exp", "maximum", "trace"]


#: Constants that change nothing.
_NEUTRAL: dict[int, Any] = {ADD: 0, SUB: 0, MUL: 1, DIV: 1}


class _Record:
    """The vertices noted so far."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self.operations: list[int] = []
        self.names: list[str] = []

    def add(self, operation: int, operands: Iterable[int] = (), name: str = "") -> Symbol:
        row = list(dict.fromkeys(operands))  # x*x has one operand
        self.names.append(name or f"t{len(self.rows)}")
        self.rows.append(row)
        self.operations.append(operation)
        return Symbol(self, len(self.rows) - 1)


class Symbol:
    """A scalar that notes what is computed from it; `trace` makes them."""

    __slots__ = ("record", "vertex")

    def __init__(self, record: _Record, vertex: int) -> None:
        self.record, self.vertex = record, vertex

    def combine(self, operation: int, other: Any, *, swapped: bool = False) -> Any:
        """Note an operation with another symbol or a number."""
        if isinstance(other, Symbol):
            if other.record is not self.record:
                raise GraphError("two traces are mixed: a symbol belongs to the call it came from")
            pair = (other, self) if swapped else (self, other)
            return self.record.add(operation, [symbol.vertex for symbol in pair])
        if isinstance(other, numbers.Number):
            # A constant is part of the operation, not a value that has to be held.
            neutral = _NEUTRAL.get(operation)
            if (
                neutral is not None
                and not (swapped and operation in {SUB, DIV})
                and other == neutral
            ):
                return self
            return self.record.add(APPLY, [self.vertex])
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return self.combine(ADD, other)

    def __radd__(self, other: Any) -> Any:
        return self.combine(ADD, other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self.combine(SUB, other)

    def __rsub__(self, other: Any) -> Any:
        return self.combine(SUB, other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self.combine(MUL, other)

    def __rmul__(self, other: Any) -> Any:
        return self.combine(MUL, other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self.combine(DIV, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.combine(DIV, other, swapped=True)

    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, int) or power < 1:
            raise GraphError(f"a power must be a positive integer, got {power!r}")
        result = self
        for _ in range(power - 1):
            result = result * self
        return result

    def __neg__(self) -> Symbol:
        return self.record.add(APPLY, [self.vertex])

    def __pos__(self) -> Symbol:
        return self

    def exp(self) -> Symbol:
        """Return the exponential; numpy's exp calls this."""
        return self.record.add(EXP, [self.vertex])

    def _branches(self, *_: Any) -> NoReturn:
        raise GraphError(
            "the function looks at the value of a symbol (by if, while, a comparison, int or "
            "float), so that its operations depend on the numbers; only straight-line arithmetic "
            "is one graph. For a maximum use graphs.tracer.maximum"
        )

    __bool__ = __int__ = __float__ = __index__ = _branches
    __lt__ = __le__ = __gt__ = __ge__ = _branches


def exp(value: Any) -> Any:
    """Return the exponential of a symbol, a number or an array of either."""
    return value.exp() if isinstance(value, Symbol) else np.exp(value)


def maximum(first: Any, second: Any) -> Any:
    """Return the greater of two symbols, entry by entry for arrays."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.frompyfunc(maximum, 2, 1)(first, second)
    if isinstance(first, Symbol):
        return first if second is first else first.combine(MAX, second)
    if isinstance(second, Symbol):
        return second.combine(MAX, first, swapped=True)
    return max(first, second)


def trace(function: Callable[..., Any], *shapes: int | tuple[int, ...], source: str = "") -> Dag:
    """Run a function once on symbols and return the DAG of its operations.

    Parameters
    ----------
    function : callable
        Straight-line arithmetic (``+ - * / **``, `exp`, `maximum`) on scalars and on numpy arrays,
        ``@`` and ``sum`` included. It returns the outputs: a symbol, an array, or a tuple of them.
    *shapes : int or tuple of int
        One for each argument: ``()`` is a scalar, n or ``(n,)`` a vector, ``(m, n)`` a matrix.
    source : str
        What the DAG is called; by default the function's name.

    Returns
    -------
    Dag
        Inputs are named after the parameters, results ``t0, t1, ...`` by vertex number. Operations
        with a number are vertices of one operand (``apply``): a constant takes no memory.

    Raises
    ------
    GraphError
        If the function branches on a symbol, or returns something that is no symbol.

    Examples
    --------
    >>> dag = trace(lambda a, x: a @ x, (2, 2), 2)
    >>> dag.describe(8)
    't8 (vertex 8) = add(t6, t7), output'
    >>> len(trace(lambda x, y: x * x + 2 * y, (), ()))
    5
    """
    record = _Record()
    arguments = []
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    for position, shape in enumerate(shapes):
        name = names[position] if position < len(names) else f"x{position}"
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(not isinstance(size, int) or size < 1 for size in sizes):
            raise GraphError(f"a shape must hold positive integers, got {shape!r}")
        array = np.empty(sizes, object)
        for index in np.ndindex(*sizes):
            label = f"{name}[{','.join(map(str, index))}]" if sizes else name
            array[index] = record.add(INPUT, name=label)
        arguments.append(array if sizes else array[()])
    outputs = [_vertex(value, record) for value in _flat(function(*arguments))]
    if not outputs:
        raise GraphError("the function returns nothing: it must return its results")
    called = source or getattr(function, "__name__", "trace")
    return Dag.from_predecessors(record.rows, outputs, record.names, record.operations, called)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return list(value.flat)
    if isinstance(value, (tuple, list)):
        return [entry for part in value for entry in _flat(part)]
    return [] if value is None else [value]


def _vertex(value: Any, record: _Record) -> int:
    if not isinstance(value, Symbol) or value.record is not record:
        raise GraphError(
            f"the function returns {value!r}, which is not computed from its arguments"
        )
    return value.vertex
