"""What a count is held against: the I/O that every play needs, and the Θ of the literature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from bounds.bound import Bound
    from bounds.certified import Certified
    from graphs.registry import Workload
    from pebble.dag import Dag

__all__ = ["bounds_of", "certified_least", "compulsory", "compulsory_of", "theta", "values_at"]


def compulsory(workload: Workload) -> int | None:
    """Return inputs plus outputs, from the workload's formula; None where it has no formula.

    Examples
    --------
    >>> from graphs import workload
    >>> compulsory(workload("attention-forward:n=64,d=16"))
    4096
    """
    formula = workload.formula()
    return None if formula is None else int(formula.inputs_size() + formula.outputs_size())


def compulsory_of(dag: Dag) -> int:
    """Return the moves that every play of a DAG makes when inputs start and outputs end blue.

    Each input that leads to an output is loaded at least once, each output that is no input is
    stored at least once.

    Examples
    --------
    >>> from graphs import workload
    >>> compulsory_of(workload("fft:n=8").dag())
    16
    """
    used = np.zeros(len(dag), bool)
    used[dag.predecessors[np.repeat(dag.needed, np.diff(dag.indptr))]] = True
    loaded = np.count_nonzero(used[dag.inputs])
    return int(loaded) + int(np.setdiff1d(dag.outputs, dag.inputs).size)


def bounds_of(workload: Workload, rules: Rules = HK) -> list[Bound]:
    """Return every bound known for a workload that holds under the rules, the compulsory one last.

    Examples
    --------
    >>> from graphs import workload
    >>> [bound.name for bound in bounds_of(workload("grid:rows=3,columns=3"))]
    ['compulsory']
    """
    from bounds.bound import Bound
    from bounds.theorems import theorems_for

    found = [bound for bound in theorems_for(workload) if _holds_under(bound, rules)]
    if any(bound.name.startswith("compulsory") for bound in found):
        return found
    if rules.free_inputs or rules.unstored_outputs:
        return found
    least = compulsory(workload)
    found.append(
        Bound(
            name="compulsory",
            workload=str(workload),
            kind="lower",
            expression=compulsory_of(workload.dag()) if least is None else least,
            condition=True,
            rules=str(rules),
            reference="by definition of the game",
            hypotheses="Inputs start blue and outputs end blue; counted on this graph.",
        )
    )
    return found


def certified_least(workload: Workload, memory: int, rules: Rules = HK) -> Certified | None:
    """Return the greatest certified bound on the I/O of a workload, or None where none is known.

    Examples
    --------
    >>> from graphs import workload
    >>> certified_least(workload("matmul:m=16,n=16,k=16"), 64).value
    1024
    """
    from bounds.certified import best

    return best(workload, memory, rules)


def theta(workload: Workload, rules: Rules = HK) -> Bound | None:
    """Return the Θ of the least I/O of any play of a workload, where the literature has one.

    Examples
    --------
    >>> from graphs import workload
    >>> theta(workload("attention-gradient:n=64,d=16")).name
    'li24-gradient'
    """
    from bounds.theorems import theorems_for

    for bound in theorems_for(workload):
        if bound.kind == "theta" and not bound.algorithm and _holds_under(bound, rules):
            return bound
    return None


def _holds_under(bound: Bound, rules: Rules) -> bool:
    return str(rules) in {name.strip() for name in bound.rules.split(",")}


def values_at(
    bound: Bound, sizes: Mapping[str, int], memory: float | None = None
) -> dict[str, float]:
    """Return the sizes that a bound needs, by name; M is left out where it is None.

    Examples
    --------
    >>> from graphs import workload
    >>> values_at(theta(workload("fft:n=8")), {"n": 8}, 4)
    {'M': 4, 'n': 8}
    """
    every = dict(sizes) if memory is None else {**sizes, "M": memory}
    return {name: every[name] for name in bound.symbols if name in every}
