"""Plays carried out on numbers, and compared with what numpy says the result should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lab.arguments import as_memory, as_strategy, as_workload

if TYPE_CHECKING:
    from graphs.registry import Workload
    from lab.arguments import MemoryLike, StrategyLike, WorkloadLike
    from pebble.dag import Dag

__all__ = ["TOLERANCE", "Execution", "execute"]

#: Largest relative error that still counts as the same result, in double precision.
TOLERANCE = 1e-9

Numbers: TypeAlias = npt.NDArray[np.float64]
Given: TypeAlias = dict[str, Numbers]


@dataclass(frozen=True)
class Execution:
    """What a play made of random numbers.

    Attributes
    ----------
    seed : int
        Of the random inputs.
    reference : str
        What the results were held against.
    errors : dict of str to float
        Largest error of each output tensor, relative to its largest entry (or a thousandth of the
        largest input, where that is more); NaN where the play used
        what it did not hold.
    """

    seed: int
    reference: str
    errors: dict[str, float]

    @property
    def agrees(self) -> bool:
        """Whether every output is right within `TOLERANCE`."""
        return all(error <= TOLERANCE for error in self.errors.values())

    def to_json(self) -> dict[str, Any]:
        """Return a dict for JSON, errors that are no numbers as null."""
        errors = {name: None if np.isnan(e) else e for name, e in self.errors.items()}
        return {
            "seed": self.seed,
            "reference": self.reference,
            "errors": errors,
            "agrees": self.agrees,
        }


def execute(
    workload: WorkloadLike,
    strategy: StrategyLike,
    memory: MemoryLike,
    seed: int,
    *,
    dag: Dag | None = None,
) -> Execution:
    """Carry a strategy's play out on random numbers, value by value.

    Red pebbles are cells of fast memory, blue ones of slow memory. Attention and products are
    compared with numpy's matrix products and closed-form gradients; other workloads with the DAG
    evaluated in topological order.

    Parameters
    ----------
    workload, strategy, memory
        As for `lab.play`.
    seed : int
        Of the random inputs.
    dag : Dag, optional
        The workload's DAG, where it is already built.

    Raises
    ------
    GraphError
        If some operation of the DAG is unknown.

    Examples
    --------
    >>> execute("attention-forward:n=6,d=2", "flash", 16, seed=1).agrees
    True
    """
    from pebble import machine

    workload, strategy = as_workload(workload), as_strategy(strategy)
    memory = as_memory(memory, workload)
    strategy.require(workload, memory)
    dag = dag if dag is not None else workload.dag()
    inputs = machine.random_inputs(dag, seed)
    formula = workload.formula()
    reference = _REFERENCES.get(workload.name)
    if formula is None or reference is None:
        slow = machine.execute(dag, strategy.moves(workload, memory, dag), inputs)
        wanted = machine.evaluate(dag, inputs)[dag.outputs]
        errors = {"outputs": _error(slow[dag.outputs], wanted, inputs)}
        return Execution(seed, "the DAG, evaluated in topological order", errors)
    given = _tame(dag, inputs, [a.name for a in formula.arrays.values() if a.is_input])
    slow = machine.execute(dag, strategy.moves(workload, memory, dag), given)
    made = reference(workload, given | _variant(workload, dag, given))
    errors = {
        array.name: _error(machine.read_tensor(dag, slow, array.name), made[array.name], inputs)
        for array in formula.outputs
    }
    return Execution(seed, "numpy", errors)


def _tame(dag: Dag, inputs: Numbers, names: list[str]) -> Given:
    """Return inputs by name; half as large, for the exponentials, and row sums positive."""
    cells = np.full(len(dag), np.nan)
    cells[dag.inputs] = inputs
    given = {}
    for name in names:
        tensor = dag.tensor(name)
        numbers = cells[tensor.base : tensor.base + len(tensor)].reshape(tensor.shape) / 2
        given[name] = 1 + np.abs(numbers) if name == "l" else numbers
    return given


def _error(came: Numbers, wanted: Numbers, inputs: Numbers) -> float:
    """Return the largest error relative to the largest wanted entry; NaN if any is missing.

    A gradient that is zero, as that of a softmax over one score, comes out as a difference of
    rounded numbers: a thousandth of the largest input is the least that errors are held against.
    """
    least = float(np.abs(inputs).max(initial=0.0)) / 1000
    scale = max(float(np.abs(wanted).max(initial=0.0)), least) or 1.0
    return float(np.abs(came - wanted).max(initial=0.0)) / scale


# -- the mathematics, in numpy -------------------------------------------------------------------


def _variant(workload: Workload, dag: Dag, given: Given) -> Given:
    """Return the scores that a mask leaves out as -inf to add, and dropout's factors."""
    from pebble.machine import keep_factors

    found: Given = {}
    pairs = workload.pairs()
    if pairs is not None:
        found["mask"] = np.where(pairs.array(), 0.0, -np.inf)
    if "seed" in given:
        tensor = dag.tensor("R")
        factors = keep_factors(float(given["seed"]), tensor.base + np.arange(len(tensor)))
        n = workload.sizes()["n"]
        found["R"] = np.zeros((n, n))
        found["R"][np.ones((n, n), bool) if pairs is None else pairs.array()] = factors
    return found


def _scores(Q: Numbers, K: Numbers, given: Given) -> Numbers:
    return np.asarray(Q @ K.T + given.get("mask", 0.0))


def _softmax(S: Numbers) -> Numbers:
    A = np.exp(S - S.max(axis=1, keepdims=True))
    return np.asarray(A / A.sum(axis=1, keepdims=True))


def _forward(_: Workload, given: Given) -> Given:
    K, V = (_in_one_piece(given, name) for name in ("K", "V"))
    P = _softmax(_scores(given["Q"], K, given))
    return {"O": (P * given.get("R", 1.0)) @ V}


def _in_one_piece(given: Given, name: str) -> Numbers:
    """Return a tensor that online softmax has in blocks, K1, K2, ..., in their order."""
    if name in given:
        return given[name]
    count = sum(key.startswith(name) for key in given)
    return np.concatenate([given[f"{name}{b}"] for b in range(1, count + 1)])


def _layer(_: Workload, given: Given) -> Given:
    Q, K, V = (given["X"] @ given[name] for name in ("WQ", "WK", "WV"))
    return {"O": _softmax(Q @ K.T) @ V}


def _gradients(P: Numbers, O: Numbers, given: Given) -> Given:
    Q, K, V, dO = (given[name] for name in ("Q", "K", "V", "dO"))
    R = given.get("R", 1.0)
    dP = (dO @ V.T) * R
    dS = P * (dP - (dO * O).sum(axis=1, keepdims=True))
    return {"dQ": dS @ K, "dK": dS.T @ Q, "dV": (P * R).T @ dO}


def _backward(_: Workload, given: Given) -> Given:
    P = np.exp(_scores(given["Q"], given["K"], given)) / given["l"][:, None]
    return _gradients(P, given["O"], given)


def _training(_: Workload, given: Given) -> Given:
    P = _softmax(_scores(given["Q"], given["K"], given))
    O = (P * given.get("R", 1.0)) @ given["V"]
    return {"O": O, **_gradients(P, O, given)}


def _gradient(_: Workload, given: Given) -> Given:
    A1, A2, A3, X, Y = (given[name] for name in ("A1", "A2", "A3", "X", "Y"))
    R = given.get("R", 1.0)
    f, h = _softmax(_scores(A1 @ X, A2, given)), A3 @ Y
    c = (f * R) @ h - given["E"] if "E" in given else given["dO"]
    q = (c @ h.T) * R
    p = f * q - (f * q).sum(axis=1, keepdims=True) * f
    return {"dX": A1.T @ p @ A2}


def _product(_: Workload, given: Given) -> Given:
    return {"C": given["A"] @ given["B"]}


def _bilinear(_: Workload, given: Given) -> Given:
    return {"S": given["A1"] @ given["X"] @ given["A2"].T}


_REFERENCES: dict[str, Callable[[Workload, Given], Given]] = {
    "attention-forward": _forward,
    "attention-backward": _backward,
    "attention-layer": _layer,
    "attention-training": _training,
    "attention-gradient": _gradient,
    "matmul": _product,
    "bilinear": _bilinear,
}
