"""One query row at a time: the forward pass with least fast memory and most loads of K and V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies.phases import Choice, Phase, TileStrategy
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from strategies.schedule import Schedule

__all__ = ["OneRow"]


def one_row(s: Schedule) -> None:
    """Make O row by row; K and V stream past each row, scalar by scalar."""
    Q, K, V, S, A, l, U, O = s.arrays("Q", "K", "V", "S", "A", "l", "U", "O")
    n, d = Q.size
    for i in s.each(n):
        s.load(Q[i, :])
        for j in s.each(n):
            for k in s.each(d):
                s.load(K[j, k])
                s.accumulate(S[i, j], k)
                s.free(K[j, k])
            s.compute(A[i, j])
            s.free(S[i, j])
            for k in s.each(d):
                s.load(V[j, k])
                s.accumulate(U[i, k], j)
                s.free(V[j, k])
            s.accumulate(l[i], j)
        s.free(Q[i, :])
        for k in s.each(d):
            s.compute(O[i, k])
            s.free(U[i, k])
            s.store(O[i, k])
            s.free(O[i, k])
        s.free(l[i])


@STRATEGIES.register
@dataclass(frozen=True)
class OneRow(TileStrategy):
    """One query row at a time: 2 d n^2 loads of K and V, whatever M is."""

    name: ClassVar[str] = "one-row"
    summary: ClassVar[str] = "one query row at a time, K and V scalar by scalar"
    reference: ClassVar[str] = "docs/writing-a-strategy.md"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward",)

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return the one phase, which has no tile sizes."""
        return [(Phase("O", one_row),)]
