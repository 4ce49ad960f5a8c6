"""Errors: one root, few classes; each says what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial

__all__ = [
    "BudgetError",
    "GraphError",
    "IllegalMoveError",
    "InvalidMoveError",
    "PebbleError",
    "SpecError",
    "TraceError",
    "UnknownNameError",
    "unknown",
]


class PebbleError(Exception):
    """Root of every error that bad input can cause."""


class SpecError(PebbleError, ValueError):
    """A workload, strategy, range or option that does not read as one."""


class UnknownNameError(PebbleError, KeyError):
    """A name that nothing is registered under."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class GraphError(PebbleError, ValueError):
    """A graph that cannot be pebbled as it stands: cyclic, empty, malformed, too large."""


class BudgetError(PebbleError, ValueError):
    """M is too small for the DAG or the strategy.

    Attributes
    ----------
    least : int or None
        The least number of red pebbles that would do, where it is known.
    """

    def __init__(self, message: str, least: int | None = None) -> None:
        super().__init__(message)
        self.least = least

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.least)


class InvalidMoveError(PebbleError, ValueError):
    """Text that is no move, or a move on a vertex that does not exist."""


class TraceError(PebbleError, ValueError):
    """A trace file that is damaged, truncated, or belongs to another graph."""


class IllegalMoveError(PebbleError, ValueError):
    """A move that breaks a rule, or a play that ends before the outputs are blue.

    Attributes
    ----------
    step : int
        Position of the move in the play, counted from 1; for an unfinished play, the number of
        moves made.
    move : object
        The `Move` refused, or None when the play merely ended too early.
    rule : str
        Name of the rule broken: ``load``, ``store``, ``compute``, ``delete``, ``budget``,
        ``one-shot``, ``sliding``, ``no-deletion``, ``vertex`` (there is none) or ``end``.
    vertex : int
        The vertex concerned.
    missing : tuple of int
        Vertices that lack the pebble needed.
    """

    def __init__(
        self,
        message: str,
        *,
        step: int,
        move: object,
        rule: str,
        vertex: int,
        missing: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.step = step
        self.move = move
        self.rule = rule
        self.vertex = vertex
        self.missing = missing

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling, and sweeps use processes.
        return partial(type(self), **self.__dict__), (str(self),)


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Make the error for a name nobody knows, with the closest known ones.

    Examples
    --------
    >>> str(unknown("strategy", "flsh", ["flash", "naive"]))
    "unknown strategy 'flsh'; did you mean 'flash'? Known: flash, naive"
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    return UnknownNameError(f"unknown {kind} {name!r}{hint} Known: {', '.join(names)}")
