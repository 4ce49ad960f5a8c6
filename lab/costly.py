"""The moves that cost something: after which the cheapest end of a play is out of reach."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.least import plain
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move
from pebble.operations import INPUT

if TYPE_CHECKING:
    from fractions import Fraction

    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["Costly", "Losses", "losses", "over_by"]

#: Bytes for the states of one search.
_BYTES = 1 << 30
_VERTEX = np.uint32((1 << 30) - 1)


@dataclass(frozen=True)
class Costly:
    """A move after which the least total cost of the play is greater than before.

    Attributes
    ----------
    step : int
        Its number, from 1.
    move : str
        The move with the vertex's name.
    before, after : int (Fraction where computes have a price)
        Least total cost of a play that begins like this one, up to this move without and with it.
    """

    step: int
    move: str
    before: int | Fraction
    after: int | Fraction

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        values = {"before": plain(self.before), "after": plain(self.after)}
        return {"step": self.step, "move": self.move} | values


@dataclass(frozen=True)
class Losses:
    """Which moves cost something, as far as the time allowed to find out.

    Attributes
    ----------
    moves : tuple of Costly
        In order; the first, or all that were asked for.
    between : (int, int) or None
        Where the search was stopped: the next costly move is one of these, first and last.
    stopped : bool
        Whether the time, or the memory, ran out.
    """

    moves: tuple[Costly, ...] = ()
    between: tuple[int, int] | None = None
    stopped: bool = False


class _Prefixes:
    """A finished play, its cost up to each move, and what is possible from there on."""

    def __init__(self, dag: Dag, moves: Moves, memory: int, rules: Rules, deadline: float) -> None:
        from strategies.optimum.onward import instance_for

        self.dag, self.played, self.memory, self.rules = dag, moves, memory, rules
        self.deadline = deadline
        self.instance = instance_for(dag, memory, rules)
        kinds = moves >> 30
        self.io = np.concatenate([[0], np.cumsum((kinds == LOAD) | (kinds == STORE))])
        self.computes = np.concatenate([[0], np.cumsum(kinds == COMPUTE)])
        change = np.where(kinds == DELETE, -1, np.where(kinds == STORE, 0, 1))
        red = np.concatenate([[0], np.cumsum(change)])
        #: Numbers of moves after which the play stands in no slide.
        self.stops = np.flatnonzero(red <= memory)
        self.total = self.cost(moves.size)

    def cost(self, k: int) -> int | Fraction:
        """Return what the first k moves cost."""
        price = self.rules.compute_price
        io = int(self.io[k])
        return io + price * int(self.computes[k]) if price else io

    def least(self, k: int, most: int | Fraction) -> tuple[int | Fraction, bool]:
        """Return the least total cost after k moves if it is at most ``most``; whether certain.

        Otherwise something greater than ``most``.
        """
        from strategies.optimum.engine import Limits
        from strategies.optimum.onward import onward, position_after

        begun = self.cost(k)
        there = position_after(self.dag, self.played[:k], self.rules)
        ceiling = most - begun + 1
        if ceiling <= 0:
            return begun, True
        found = onward(
            self.dag, self.memory, self.rules, there, ceiling, Limits(self.deadline, _BYTES),
            self.instance,
        )  # fmt: skip
        if found.upper is not None and (found.upper <= found.lower or found.upper + begun <= most):
            return begun + found.upper, found.upper == found.lower
        return begun + found.lower, begun + found.lower > most

    def name(self, step: int) -> str:
        """Return a move, by its number from 1, with the vertex's name."""
        word = int(self.played[step - 1])
        move = Move(word >> 30, word & int(_VERTEX))
        return f"{str(move).split()[0]} {self.dag.name(move.vertex)}"


def losses(
    dag: Dag,
    moves: Moves,
    memory: int,
    rules: Rules,
    optimum: int | Fraction,
    *,
    seconds: float = 10.0,
    every: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Losses:
    """Find the first move of a play, or every one, after which its least total cost is greater.

    Parameters
    ----------
    dag, memory, rules
        The game.
    moves : uint32 array
        A legal, finished play.
    optimum : int or Fraction
        The least cost of any play.
    seconds : float
        Time to spend.
    every : bool
        Find all such moves, not only the first.
    progress : callable, optional
        Called now and then with the share of the cost that is explained.

    Notes
    -----
    The least total cost of a play that begins with the first k moves can only grow with k, from
    the optimum to the cost of the play. So each costly move is found by bisection, with one exact
    search from the middle of the play for each question.

    Examples
    --------
    >>> from graphs import workload
    >>> from pebble.rules import HK
    >>> from strategies.registry import strategy
    >>> pyramid = workload("pyramid:h=2")
    >>> play = np.concatenate(list(strategy("naive").moves(pyramid, 4)))
    >>> losses(pyramid.dag(), play, 4, HK, 4).moves[0]
    Costly(step=4, move='S row1[0]', before=4, after=5)
    """
    play = _Prefixes(dag, moves, memory, rules, clock.monotonic() + seconds)
    found: list[Costly] = []
    least, low = optimum, 0
    while least < play.total:
        if progress is not None:
            whole = play.total - optimum
            progress(float((least - optimum) / whole))
        low, high, certain = _next(play, low, least)
        if not certain:
            return Losses(tuple(found), (low + 1, high), stopped=True)
        before = least
        value, certain = play.least(high, play.total - 1)
        least = min(value, play.total) if certain else play.total
        if not certain:
            # The move is found, what it costs is not.
            return Losses(tuple(found), (high, high), stopped=True)
        found.append(Costly(high, play.name(high), before, least))
        low = high
        if not every:
            break
    return Losses(tuple(found))


def _next(play: _Prefixes, low: int, least: int | Fraction) -> tuple[int, int, bool]:
    """Bisect for the first move after which the total is more than ``least``.

    Returns the last stop known to be before it, the first known to be after, and whether these
    are neighbours. A question that is not answered in time is taken to lie before the move, so
    that the later ones, which are easier, are still asked.
    """
    stops = play.stops
    left, right = int(np.searchsorted(stops, low)), len(stops) - 1
    sure = left
    while right - left > 1:
        middle = (left + right) // 2
        value, certain = play.least(int(stops[middle]), least)
        if certain and value > least:
            right = middle
        elif value <= least and certain:
            left = sure = middle
        else:
            left = middle
    return int(stops[sure]), int(stops[right]), sure == left


def over_by(dag: Dag, moves: Moves, rules: Rules, known: int | Fraction) -> int | None:
    """Return the first move after which a play certainly costs more than ``known``; or None.

    On any graph: whatever comes later, inputs not loaded yet must be loaded and outputs not
    stored yet stored.

    Examples
    --------
    >>> from graphs import workload
    >>> from pebble.rules import HK
    >>> from strategies.registry import strategy
    >>> pyramid = workload("pyramid:h=2")
    >>> play = np.concatenate(list(strategy("naive").moves(pyramid, 4)))
    >>> over_by(pyramid.dag(), play, HK, 4)
    4
    """
    from lab.yardsticks import compulsory_of

    if rules.free_inputs or rules.unstored_outputs or rules.compute_price:
        return None
    kinds, vertices = moves >> 30, moves & _VERTEX
    inputs = dag.operations == INPUT
    output = np.zeros(len(dag), bool)
    output[dag.outputs] = True
    output &= ~inputs
    costs = (kinds == LOAD) | (kinds == STORE)
    needed = np.zeros(moves.size, bool)
    for kind, mask in ((LOAD, inputs & _used(dag)), (STORE, output)):
        at = np.flatnonzero((kinds == kind) & mask[vertices])
        _, first = np.unique(vertices[at], return_index=True)
        needed[at[first]] = True
    over = compulsory_of(dag) + np.cumsum(costs & ~needed)
    late = np.flatnonzero(over > known)
    return int(late[0]) + 1 if late.size else None


def _used(dag: Dag) -> np.ndarray[Any, np.dtype[np.bool_]]:
    used = np.zeros(len(dag), bool)
    used[dag.predecessors[np.repeat(dag.needed, np.diff(dag.indptr))]] = True
    return used
