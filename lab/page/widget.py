"""The page's board inside a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from lab.arguments import as_memory, as_rules, as_workload
from pebble.errors import SpecError
from pebble.rules import HK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.arguments import MemoryLike, RulesLike, WorkloadLike
    from lab.page.levels import Level

__all__ = ["Widget", "widget"]


@dataclass(frozen=True)
class Widget:
    """The teaching page in a frame, which a notebook shows.

    Attributes
    ----------
    text : str
        The page.
    height : int
        Of the frame, in pixels.
    """

    text: str = field(repr=False)
    height: int = 760

    def _repr_html_(self) -> str:
        # The page runs for itself: it reaches neither the notebook nor the network.
        return (
            f'<iframe srcdoc="{escape(self.text)}" sandbox="allow-scripts allow-downloads" '
            f'title="The red-blue pebble game" style="width: 100%; height: {self.height}px; '
            'border: 1px solid #d9d5cb; border-radius: 8px"></iframe>'
        )


def widget(
    what: WorkloadLike | Level | Sequence[Level] | None = None,
    memory: MemoryLike | None = None,
    rules: RulesLike = HK,
    *,
    height: int = 760,
) -> Widget:
    """Return the page's board as an object that a notebook shows and that is played in place.

    Parameters
    ----------
    what : workload, text form, Dag, Level or Levels, optional
        What to play: a small graph with ``memory`` red pebbles; a lesson by name
        (``"pyramid"``); by default the course.
    memory : int or str, optional
        M, for a graph.
    rules : str or Rules
        Conventions, for a graph.
    height : int
        Of the frame, in pixels.

    Raises
    ------
    GraphError
        If the graph is too large for the board.
    SpecError, UnknownNameError
        If there is no such lesson or workload, or no M for a graph.

    Examples
    --------
    >>> board = widget("pyramid:h=3", memory=4)
    >>> board._repr_html_()[:16]
    '<iframe srcdoc="'
    """
    from lab.page.assembly import page
    from lab.page.levels import Level, find_level, lessons, level_of
    from lab.page.pars import solved

    if what is None:
        levels = lessons()
    elif isinstance(what, Level):
        levels = [what]
    elif isinstance(what, list | tuple):
        levels = list(what)
    elif isinstance(what, str) and memory is None:
        levels = [find_level(what)]
    elif memory is None:
        raise SpecError("a graph needs memory=M, the number of red pebbles")
    else:
        workload = as_workload(what)  # type: ignore[arg-type]
        levels = [solved(level_of(workload, as_memory(memory, workload), as_rules(rules)))]
    return Widget(page(levels), height)
