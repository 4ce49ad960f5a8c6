"""Dropout in schedule texts: factors R made from a seed where they are wanted, and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategies.schedule import Range, Schedule

__all__ = ["drop", "seeded", "undrop"]


def seeded(text: Callable[..., None]) -> Callable[..., None]:
    """Let a text run with dropout's seed red, where the formula has one."""

    @wraps(text)
    def play(s: Schedule, *args: Any, **sizes: Any) -> None:
        if "seed" not in s.formula.arrays:
            text(s, *args, **sizes)
            return
        seed = s.arrays("seed")[0][()]
        s.load(seed)
        text(s, *args, **sizes)
        s.free(seed)

    return play


def drop(s: Schedule, name: str, i: Range, j: Range) -> None:
    """With dropout, make the entry times its factor; the entry itself stays red."""
    if "R" in s.formula.arrays:
        R, made = s.arrays("R", f"{name}R")
        s.compute(R[i, j])
        s.compute(made[i, j])
        s.free(R[i, j])


def undrop(s: Schedule, name: str, i: Range, j: Range) -> None:
    """With dropout, free the entry times its factor."""
    if "R" in s.formula.arrays:
        s.free(s.arrays(f"{name}R")[0][i, j])
