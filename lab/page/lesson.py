"""The lessons as workloads, ``lesson:level=recompute``, for every command to play or check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from graphs.registry import WORKLOADS, Workload

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["Lesson"]


@WORKLOADS.register
@dataclass(frozen=True)
class Lesson(Workload):
    """The graph of a lesson of the teaching page.

    Examples
    --------
    >>> Lesson("recompute").dag()
    <Dag lesson:level=recompute: 5 vertices, 7 edges, 1 inputs, 1 outputs>
    """

    name: ClassVar[str] = "lesson"
    summary: ClassVar[str] = "the graph of a lesson of `pebble page`"

    level: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self._dag()  # an unknown lesson is refused by name at once

    def dag(self) -> Dag:
        """Build the DAG."""
        return self._dag()

    def _dag(self) -> Dag:
        from lab.page.levels import lesson_graph

        return lesson_graph(self.level)
