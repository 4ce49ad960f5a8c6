"""The eager framework: every operator a kernel of its own that reads and writes slow memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies.operators import elementwise, row_sums
from strategies.phases import Choice, Phase, TileStrategy
from strategies.products import streaming_product
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs.expressions import Array, Formula
    from graphs.registry import Workload
    from strategies.schedule import Named, Schedule

__all__ = ["Eager"]


@dataclass(frozen=True)
class _Kernel:
    """The text of one kernel."""

    name: str
    operator: Callable[[Schedule, Named], None]

    def __call__(self, s: Schedule) -> None:
        (named,) = s.arrays(self.name)
        self.operator(s, named)


@STRATEGIES.register
@dataclass(frozen=True)
class Eager(TileStrategy):
    """Array by array: products by streaming tiles, sums and elementwise steps entry by entry.

    Nothing is fused: every result is written and every operand read again, as by a framework that
    launches a kernel per operator. It plays every workload that is written as tensor expressions.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> Eager().count(workload("attention-forward:n=8,d=2"), memory=64).io
    440
    """

    name: ClassVar[str] = "eager"
    summary: ClassVar[str] = "every operator a kernel that reads and writes slow memory"
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), Figure 2, the standard implementation"
    softmax: ClassVar[tuple[str, ...]] = ("late", "early", "safe")
    drops: ClassVar[bool] = True

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if workload.formula() is None:
            return "it plays workloads written as tensor expressions; naive plays any DAG"
        if getattr(workload, "sum", "chain") != "chain":
            return "tile schedules add terms one by one: take sum=chain (naive plays sum=tree)"
        return self.variant_refusal(workload)

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return one phase per array that is not given."""
        return [
            self._kernel(array)
            for array in formula.arrays.values()
            if not array.is_input and not formula.renames(array)
        ]

    def _kernel(self, array: Array) -> Choice:
        if array.is_contraction and len(array.indices) == 2:
            return streaming_product(array)
        operator = row_sums if array.over is not None else elementwise
        return (Phase(array.name, _Kernel(array.name, operator)),)
