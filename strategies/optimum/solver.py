"""The least cost of pebbling a DAG, with a play that attains it; or a proven interval."""

from __future__ import annotations

import math
import os
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble.dag import Dag
from pebble.errors import SpecError
from pebble.referee import referee
from pebble.rules import HK, Rules
from strategies.optimum.absorbing import AbsorbMoves, AbsorbOnce, one_by_one
from strategies.optimum.certificate import greedy, step_by_step, write_moves
from strategies.optimum.engine import Engine, Limits
from strategies.optimum.instance import Instance
from strategies.optimum.rulewise import Rulewise

if TYPE_CHECKING:
    from fractions import Fraction

    from pebble.moves import Moves
    from pebble.report import Report

__all__ = ["Solution", "is_compiled", "solve"]

#: Memory for states unless the caller says otherwise: 4 GiB, or half of what is free.
_MEMORY = 4 << 30

#: A beam of this width, on graphs of at most this many vertices, gives the first good play.
_BEAM, _BEAM_SIZE = 30, 400


@dataclass(frozen=True)
class Solution:
    """What is known of the least cost of pebbling a DAG with M red pebbles.

    Attributes
    ----------
    memory : int
        M.
    rules : Rules
        Conventions that it holds under.
    lower, upper : int (Fraction where computes have a price)
        No play costs less than ``lower``; ``moves`` costs ``upper``. The cost is loads + stores
        plus, where the rules say so, the price of the computes.
    finished : bool
        Whether ``lower == upper``: the optimum.
    stopped_by : str
        ``"time"`` or ``"memory"``; empty when finished.
    moves : uint32 array
        The play, packed; the referee has accepted it.
    report : Report
        The referee's counts of it.
    method : str
        ``compiled`` (A* over computes, packed states), ``edge by edge`` (A* over partial computes)
        or ``rule by rule`` (A* over single moves).
    states : int
        Number of states stored by all searches together.
    automorphisms : int
        Number of relabellings of the graph used to merge states.
    seconds : float
        Time taken.
    """

    memory: int
    rules: Rules
    lower: int | Fraction
    upper: int | Fraction
    finished: bool
    stopped_by: str
    moves: Moves = field(repr=False, compare=False)
    report: Report = field(repr=False, compare=False)
    method: str = field(default="compiled", compare=False)
    states: int = field(default=0, compare=False)
    automorphisms: int = field(default=1, compare=False)
    seconds: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        found = f"{self.upper}" if self.finished else f"between {self.lower} and {self.upper}"
        why = "" if self.finished else f", stopped by {self.stopped_by}"
        return f"optimum {found} (M={self.memory}, rules {self.rules}{why})"

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a dict for JSON."""
        return {
            "memory": self.memory,
            "rules": str(self.rules),
            "lower": _plain(self.lower),
            "upper": _plain(self.upper),
            "finished": self.finished,
            "stopped_by": self.stopped_by or None,
            "loads": self.report.loads,
            "stores": self.report.stores,
            "io": self.report.io,
            "computes": self.report.computes,
            "recomputes": self.report.recomputes,
            "peak_red": self.report.peak_red,
            "moves": self.report.moves,
            "method": self.method,
            "states": self.states,
            "automorphisms": self.automorphisms,
            "seconds": round(self.seconds, 3),
        }


def _plain(value: int | Fraction) -> int | str:
    return int(value) if value == int(value) else str(value)


def is_compiled(rules: Rules) -> bool:
    """Whether the compiled search knows these rules; the others are searched move by move.

    It does not know partial computation, loads that move the pebble and forbidden deletion, nor,
    with recomputation, a price per compute and the duty to compute every vertex.

    Examples
    --------
    >>> from pebble.rules import PRESETS
    >>> [name for name, rules in PRESETS.items() if not is_compiled(rules)]
    ['prbp']
    """
    if rules.partial or rules.moving_loads or rules.no_deletion:
        return False
    return rules.one_shot or not (rules.complete or rules.compute_price)


@cache
def ready() -> None:
    """Compile the searches, or load them where an earlier process has compiled them."""
    solve(Dag.from_predecessors([[], [], [], [0, 1], [1, 2], [3, 4]]), 3)


def solve(
    dag: Dag,
    memory: int,
    rules: Rules = HK,
    *,
    time: float | None = None,
    memory_limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Solution:
    """Find the least cost of pebbling a DAG, and a play of that cost.

    Parameters
    ----------
    dag : Dag
        The graph. What no output needs is left out of it.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions; default Hong and Kung's.
    time : float, optional
        Seconds after which to stop; default: no limit. The clock starts after compilation, once
        per machine; the first quick play is not cut short.
    memory_limit : int, optional
        Bytes for the states of the search; default: 4 GiB or half of the free memory.
    progress : callable, optional
        Called now and then with the number of states stored so far.

    Returns
    -------
    Solution
        With ``finished`` the optimum; otherwise a proven interval. A graph of which nothing has to
        be computed (no outputs, or outputs that are inputs) costs 0; isolated inputs cost nothing.

    Raises
    ------
    BudgetError
        If M is less than the graph can be pebbled with; ``.least`` says how much it needs. Every
        acyclic graph can be pebbled with enough.
    GraphError
        If more than 2,048 vertices matter.
    SpecError
        If a limit is not a positive number.

    Notes
    -----
    A state is what one-shot needs to know (computed, red, not yet stored) or what recomputation
    needs to know (finished outputs, red, blue); a step computes one vertex, after its missing
    operands are loaded and exactly as many others evicted as must be. Automorphisms of the graph
    and domination merge states. One-shot estimates by the outputs and the live values that are
    not red; recomputation by the outputs and a minimum cut of blue vertices between them and the
    inputs, and looks only for what is cheaper than the one-shot optimum.

    Examples
    --------
    >>> from pebble import Dag
    >>> dag = Dag.from_predecessors([[], [0], [0, 1], [0, 2], [1, 3]])
    >>> print(solve(dag, 3))
    optimum 2 (M=3, rules hk)
    >>> from pebble.rules import ONE_SHOT
    >>> solve(dag, 3, ONE_SHOT).upper
    4
    """
    if time is not None and is_compiled(rules):
        ready()  # the clock starts when everything is compiled
    start = clock.monotonic()
    memory = rules.check_memory(dag, memory)
    for name, limit in (("time", time), ("memory_limit", memory_limit)):
        if limit is not None and not limit > 0:
            raise SpecError(f"{name} must be a positive number, got {limit!r}")
    if time is not None and math.isinf(time):
        time = None
    instance = Instance(dag, memory, rules)
    limits = Limits(
        None if time is None else start + time, memory_limit or _default_memory(), progress
    )
    if instance.given.all():  # also when nothing is left: there is nothing to compute
        known = _Known(0, 0, np.empty(0, np.uint32))
    elif is_compiled(rules):
        known = _compiled(instance, limits)
    else:
        known = _rule_by_rule(instance, limits)
    report = referee(dag, known.moves, memory, rules, strategy="optimal")
    price = rules.compute_price
    assert report.io + price * report.computes == known.upper, "a play costs what it should not"
    return Solution(
        memory=memory,
        rules=rules,
        lower=known.lower,
        upper=known.upper,
        finished=known.lower == known.upper,
        stopped_by=known.stopped_by if known.lower < known.upper else "",
        moves=known.moves,
        report=report,
        method=_method(rules),
        states=limits.states,
        automorphisms=known.automorphisms,
        seconds=clock.monotonic() - start,
    )


def _by_edges(rules: Rules) -> bool:
    """Whether the search by edges knows these rules with partial computation."""
    return rules.one_shot and not (rules.moving_loads or rules.no_deletion)


def _method(rules: Rules) -> str:
    if rules.partial and _by_edges(rules):
        return "edge by edge"
    return "compiled" if is_compiled(rules) else "rule by rule"


def _default_memory() -> int:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MEMORY
    return max(1 << 28, min(_MEMORY, free // 2))


@dataclass
class _Known:
    """Best play and best bound so far."""

    lower: int | Fraction
    upper: int | Fraction
    moves: Moves
    stopped_by: str = ""
    automorphisms: int = 1


def _rule_by_rule(instance: Instance, limits: Limits) -> _Known:
    rules = instance.rules
    search: Rulewise | AbsorbMoves | AbsorbOnce
    moves, upper = one_by_one(instance) if rules.partial else step_by_step(instance)
    if rules.partial:
        search = (AbsorbOnce if _by_edges(rules) else AbsorbMoves)(instance, limits)
    else:
        search = Rulewise(instance, limits)
    stopped = search.run()
    limits.states = search.states
    if search.moves is not None:
        return _Known(search.lower, search.lower, search.moves)
    assert stopped, "every graph can be pebbled with enough red pebbles"
    return _Known(search.lower, upper, moves, stopped)


def _compiled(instance: Instance, limits: Limits) -> _Known:
    rules = instance.rules
    least = instance.compulsory()
    computes = int((instance.given == 0).sum())
    fixed = rules.compute_price * computes if rules.compute_price else 0
    moves = write_moves(instance, greedy(instance), again=False)
    upper = int(np.isin(moves >> 30, (0, 1)).sum())
    known = _Known(least, upper, moves)
    if upper > least and instance.size <= _BEAM_SIZE:
        _improve(known, instance, _share(limits, 0.25), beam=_BEAM)
    if known.upper > least:
        _improve(known, instance, limits if rules.one_shot else _share(limits, 0.35))
    if not rules.one_shot:
        # Without recomputation the one-shot bound is no bound here: start again from the least.
        known.lower = least
        if known.upper > least:
            _improve(known, instance, limits, again=True)
    known.lower += fixed
    known.upper += fixed
    return known


def _improve(
    known: _Known, instance: Instance, limits: Limits, *, again: bool = False, beam: int = 0
) -> None:
    """Search for a cheaper play; keep the best one and what is proved."""
    least = instance.compulsory()
    ceiling = int(known.upper) - least
    engine = Engine(instance, again=again, ceiling=ceiling, limits=limits, beam=beam)
    known.stopped_by = engine.run()
    known.automorphisms = max(known.automorphisms, len(engine.group))
    if engine.found is not None:
        known.upper = least + engine.found
        known.moves = write_moves(instance, engine.path(), again=again)
    if not beam:
        known.lower = known.upper if not known.stopped_by else least + engine.lower


def _share(limits: Limits, share: float) -> Limits:
    """Return limits with a share of the time that is left."""
    if limits.deadline is None:
        return limits
    now = clock.monotonic()
    return Limits(now + share * max(0.0, limits.deadline - now), limits.bytes, parent=limits)
