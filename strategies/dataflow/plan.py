"""A plan: passes one after the other, which together make every output. A strategy like any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies.dataflow.text import phases_of
from strategies.phases import Choice, TileStrategy

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from strategies.dataflow.space import Pass

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan(TileStrategy):
    """Passes that the explorer put together.

    Parameters
    ----------
    passes : tuple of Pass
        In the order in which they are played.

    Examples
    --------
    FlashAttention's backward pass cut in two:

    >>> from graphs.registry import workload
    >>> from strategies.dataflow.space import Pass
    >>> two = Plan((Pass("rows", ("D", "dQ"), ()), Pass("columns", ("dK", "dV"), ("D",))))
    >>> two.count(workload("attention-backward:n=64,d=8"), memory=131).io
    45952
    """

    name: ClassVar[str] = "dataflow"
    summary: ClassVar[str] = "passes put together by the explorer"

    passes: tuple[Pass, ...] = ()

    def __post_init__(self) -> None:
        """Take the passes as they are: no text form gives them."""

    def __str__(self) -> str:
        return "dataflow"

    def refusal(self, workload: Workload) -> str | None:
        """Return why the plan cannot play a workload, or None."""
        if workload.formula() is None or getattr(workload, "sum", "chain") != "chain":
            return "it plays formulas whose sums are chains"
        return None

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return the texts of the passes."""
        return [phases_of(formula, each) for each in self.passes]
