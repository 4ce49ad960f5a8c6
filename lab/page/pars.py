"""Pars: the optimum of a level where it is within reach, an interval that holds it elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pebble.errors import PebbleError
from pebble.moves import Move, unpack

if TYPE_CHECKING:
    from lab.page.levels import Level

__all__ = ["Par", "par_of", "solved"]

#: Vertices of the largest graph that the exact search is tried on.
_LARGEST = 400


@dataclass(frozen=True)
class Par:
    """What a play is held against.

    Attributes
    ----------
    lower : int
        No play moves less.
    upper : int or None
        The least I/O of a play that is known.
    moves : tuple of Move
        That play.
    """

    lower: int
    upper: int | None = None
    moves: tuple[Move, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the optimum is known."""
        return self.upper == self.lower

    def __str__(self) -> str:
        if self.is_exact:
            return f"par {self.upper}"
        known = "" if self.upper is None else f", best known {self.upper:,}"
        return f"lower bound {self.lower:,}{known}"


def par_of(
    level: Level, seconds: float = 2.0, progress: Callable[[int], None] | None = None
) -> Par:
    """Return what is known of the least I/O of a level.

    Parameters
    ----------
    level : Level
        A level; a par that its file states is taken, with its certificate.
    seconds : float
        Time for the exact search; 0 leaves it out.
    progress : callable, optional
        Called now and then with the number of states stored.

    Examples
    --------
    >>> from graphs import workload
    >>> from lab.page.levels import level_of
    >>> print(par_of(level_of(workload("pyramid:h=3"), 4)))
    par 7
    """
    from lab.yardsticks import certified_least
    from strategies.optimum.solver import solve

    if level.par is not None:
        moves = tuple(Move.parse(text, level.dag) for text in level.certificate)
        return Par(level.par, level.par, moves)
    rules = level.rules
    lower = level.lower_bound
    bound = certified_least(level.workload, level.memory, rules)
    if bound is not None:
        lower = max(lower, int(bound.value))
    # With a price on computes the search minimises something else than loads and stores.
    if seconds <= 0 or len(level.dag) > _LARGEST or rules.compute_price:
        return Par(lower)
    try:
        found = solve(level.dag, level.memory, rules, time=seconds, progress=progress)
    except PebbleError:  # rules that the search does not know
        return Par(lower)
    kinds, vertices = unpack(found.moves)
    play = zip(kinds.tolist(), vertices.tolist(), strict=True)
    return Par(max(lower, int(found.lower)), int(found.upper), tuple(Move(k, v) for k, v in play))


def solved(level: Level, seconds: float = 2.0) -> Level:
    """Return a level with its par and a play that reaches it, where the search finds them.

    Examples
    --------
    >>> from graphs import workload
    >>> from lab.page.levels import level_of
    >>> solved(level_of(workload("pyramid:h=3"), 4)).par
    7
    """
    known = par_of(level, seconds)
    if level.par is not None or not known.is_exact or not known.moves:
        return level
    texts = tuple(move.named(level.dag) for move in known.moves)
    return dataclasses.replace(level, par=known.upper, certificate=texts)
