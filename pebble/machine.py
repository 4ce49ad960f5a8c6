"""The machine: a DAG evaluated, and a play carried out, on numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import GraphError, InvalidMoveError
from pebble.moves import VERTEX_MASK
from pebble.operations import APPLY, INPUT, OPERATIONS

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.tensor import Tensor

__all__ = ["Values", "evaluate", "execute", "keep_factors", "random_inputs", "read_tensor"]

#: One number per vertex.
Values: TypeAlias = npt.NDArray[np.float64]

_CHUNK = 1 << 24  # vertices checked at a time


def evaluate(dag: Dag, inputs: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> Values:
    """Compute the value of every vertex.

    Parameters
    ----------
    dag : Dag
        Every vertex that is no input must carry an arithmetic operation.
    inputs : array or mapping of str to array
        One number per input, in the order of ``dag.inputs``; or arrays by tensor (or vertex) name.

    Returns
    -------
    float64 array, shape (V,)

    Raises
    ------
    GraphError
        If an operation is unknown or the inputs do not fit.

    Examples
    --------
    >>> from pebble import Dag
    >>> from pebble.operations import ADD, INPUT, MUL
    >>> square_plus_y = [[], [], [0], [2, 1]]
    >>> dag = Dag.from_predecessors(square_plus_y, operations=[INPUT, INPUT, MUL, ADD])
    >>> evaluate(dag, [3, 4]).tolist()
    [3.0, 4.0, 9.0, 13.0]
    """
    from pebble import _execute

    _check_operations(dag)
    values = _placed(dag, inputs)
    _execute.evaluate(dag.order, dag.indptr, dag.predecessors, dag.operations, values)
    return values


def execute(
    dag: Dag,
    chunks: Moves | Iterable[Moves],
    inputs: npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    free_inputs: bool = False,
    partial: bool = False,
) -> Values:
    """Carry a play out on numbers and return what slow memory holds at the end.

    Red pebbles are cells of fast memory, blue ones cells of slow memory. All start as NaN but the
    inputs in slow memory; LOAD and STORE copy, COMPUTE works on fast memory alone, DELETE makes a
    cell NaN again. So a play that uses what it does not hold ends in NaN. The rules are not
    checked here; that is the referee's work.

    Parameters
    ----------
    dag : Dag
        Every vertex that is no input must carry an arithmetic operation.
    chunks : array or iterable of arrays
        Packed moves.
    inputs : array or mapping of str to array
        As for `evaluate`.
    free_inputs : bool
        Inputs appear in fast memory when they are computed, as under rules with free inputs,
        instead of lying in slow memory at the start.
    partial : bool
        Read partial computes, as under rules with partial computation: a cell is then the sum (the
        product, the greatest) of what it has absorbed, and quotients are products with inverses.

    Returns
    -------
    float64 array, shape (V,)
        Slow memory: the value of each vertex stored, NaN elsewhere.

    Examples
    --------
    >>> from pebble import Dag, COMPUTE, LOAD, STORE
    >>> from pebble.moves import pack
    >>> from pebble.operations import INPUT, MUL
    >>> dag = Dag.from_predecessors([[], [], [0, 1]], operations=[INPUT, INPUT, MUL])
    >>> execute(dag, [pack(LOAD, [0, 1]), pack(COMPUTE, [2]), pack(STORE, [2])], [3, 4]).tolist()
    [3.0, 4.0, 12.0]
    >>> execute(dag, [pack(LOAD, [0]), pack(COMPUTE, [2]), pack(STORE, [2])], [3, 4]).tolist()
    [3.0, 4.0, nan]
    """
    from pebble import _execute

    _check_operations(dag)
    slow = _placed(dag, inputs)
    fast = np.full(len(dag), np.nan)
    given = np.empty(0)
    if free_inputs:
        given, slow = slow, fast.copy()
    step = 0
    owner, begun = np.empty(0, np.int64), np.empty(0, bool)
    if partial:
        owner = np.repeat(np.arange(len(dag)), np.diff(dag.indptr).astype(np.int64))
        begun = np.zeros(len(dag), bool)
    for chunk in [chunks] if isinstance(chunks, np.ndarray) else chunks:
        if partial:
            made = _execute.execute_partial(
                chunk, dag.indptr, dag.predecessors, owner, dag.operations, fast, slow, given, begun
            )
        else:
            made = _execute.execute(
                chunk, dag.indptr, dag.predecessors, dag.operations, fast, slow, given
            )
        step += made
        if made < chunk.size:
            raise InvalidMoveError(
                f"step {step + 1}: there is no vertex {int(chunk[made]) & VERTEX_MASK}; "
                f"vertices are 0 to {len(dag) - 1}"
            )
    return slow


def random_inputs(dag: Dag, seed: int) -> Values:
    """Return one standard normal number per input, the same for the same seed."""
    return np.random.default_rng(seed).standard_normal(dag.inputs.size)


def keep_factors(seed: float, vertices: npt.ArrayLike) -> Values:
    """Return dropout's factors as the operation ``keep`` makes them: 2 with probability 1/2, or 0.

    Parameters
    ----------
    seed : float
        Value of the seed vertex.
    vertices : array of int
        The vertices that hold the factors; each is a hash of the seed and of its own number.

    Examples
    --------
    >>> keep_factors(0.5, range(8)).tolist()
    [2.0, 0.0, 2.0, 2.0, 0.0, 2.0, 0.0, 2.0]
    """
    from pebble._execute import keep

    return np.array([keep(seed, v) for v in np.asarray(vertices, np.int64)], np.float64)


def read_tensor(dag: Dag, values: Values, name: str) -> Values:
    """Return the values of a tensor in its own shape.

    Raises
    ------
    UnknownNameError
        If the DAG has no tensor of that name.
    """
    numbers: Values = values[_vertices(dag.tensor(name))]
    return numbers


def _vertices(tensor: Tensor) -> npt.NDArray[np.int64]:
    """Return the vertices of a tensor in its own shape."""
    vertices = np.full((1,) * len(tensor.shape), tensor.base, np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True)):
        shape = [1] * len(tensor.shape)
        shape[axis] = size
        vertices = vertices + (np.arange(size) * stride).reshape(shape)
    return vertices


def _placed(dag: Dag, inputs: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> Values:
    """Return one cell per vertex, NaN but for the inputs."""
    cells = np.full(len(dag), np.nan)
    if not isinstance(inputs, Mapping):
        numbers = np.asarray(inputs, np.float64)
        if numbers.shape != (dag.inputs.size,):
            raise GraphError(
                f"expected {dag.inputs.size} numbers, one per input, got shape {numbers.shape}"
            )
        cells[dag.inputs] = numbers
        return cells
    given = np.zeros(len(dag), bool)
    for name, value in inputs.items():
        numbers = np.asarray(value, np.float64)
        if any(tensor.name == name for tensor in (*dag.views, *dag.tensors)):
            vertices = _vertices(dag.tensor(name))
        else:
            vertices = np.array(dag.vertex(name))
        if numbers.shape != vertices.shape:
            raise GraphError(f"{name} has shape {vertices.shape}, got numbers of {numbers.shape}")
        if not np.all(dag.operations[vertices] == INPUT):
            raise GraphError(f"{name} is no input: give numbers for inputs only")
        cells[vertices] = numbers
        given[vertices] = True
    lacking = dag.inputs[~given[dag.inputs]]
    if lacking.size:
        raise GraphError(
            f"no number was given for {lacking.size} inputs, {dag.name(lacking[0])} first"
        )
    return cells


def _check_operations(dag: Dag) -> None:
    """Raise unless every vertex can be computed from the operands it has."""
    most = np.array([0 if o.arity is None else o.arity for o in OPERATIONS])
    for start in range(0, len(dag), _CHUNK):
        operations = dag.operations[start : start + _CHUNK]
        degrees = np.diff(dag.indptr[start : start + _CHUNK + 1])
        # One operand in two slots stands once, so an operation of two may have one operand.
        bad = (degrees > most[operations]) | ((degrees == 0) & (operations != INPUT))
        bad |= operations == APPLY
        if bad.any():
            v = start + int(bad.argmax())
            if dag.operations[v] == APPLY:
                why = "nobody told what its operation computes: give each vertex an operation"
            else:
                why = f"it has {dag.operands(v).size} operands"
            raise GraphError(f"{dag.describe(v)} cannot be evaluated: {why}")
