"""What the functions of this package accept: texts, or the objects that the texts stand for."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

from lab.ranges import read_number
from pebble.errors import BudgetError, SpecError
from pebble.rules import Rules

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from strategies.registry import Strategy

__all__ = ["MemoryLike", "RulesLike", "StrategyLike", "WorkloadLike"]
__all__ += ["as_memory", "as_rules", "as_strategy", "as_workload"]

WorkloadLike: TypeAlias = "str | Workload | Dag"
StrategyLike: TypeAlias = "str | Strategy"
RulesLike: TypeAlias = "str | Rules"
#: A number, or a formula in the workload's sizes such as ``0.25*d^2``.
MemoryLike: TypeAlias = "int | str"


def as_workload(workload: WorkloadLike) -> Workload:
    """Return the workload of a text form, a graph file or a DAG.

    Examples
    --------
    >>> as_workload("pyramid:h=3")
    Pyramid(h=3)
    """
    from graphs.registry import GivenDag, Workload
    from graphs.registry import workload as read
    from pebble.dag import Dag

    if isinstance(workload, Dag):
        return GivenDag(workload)
    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, str):
        return read(workload)
    raise SpecError(f"expected a workload, its text form or a Dag, got {workload!r}")


def as_strategy(strategy: StrategyLike) -> Strategy:
    """Return the strategy of a text form."""
    from strategies.registry import Strategy
    from strategies.registry import strategy as read

    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str):
        return read(strategy)
    raise SpecError(f"expected a strategy or its text form, got {strategy!r}")


def as_rules(rules: RulesLike) -> Rules:
    """Return the rules of a text form."""
    return rules if isinstance(rules, Rules) else Rules.parse(rules)


def as_memory(memory: MemoryLike, workload: Workload) -> int:
    """Return M as a positive integer.

    Examples
    --------
    >>> as_memory("0.25*d^2", as_workload("attention-forward:n=64,d=16"))
    64
    """
    if isinstance(memory, str):
        value = read_number(memory, workload.sizes())
    else:
        try:
            value = operator.index(memory)
        except TypeError:
            value = 0
    if value < 1 or isinstance(memory, bool):
        raise BudgetError(f"M must be a positive integer, got {memory!r}")
    if value >= 1 << 63:
        raise BudgetError(f"M must be below 2**63, got {value}")
    return value
