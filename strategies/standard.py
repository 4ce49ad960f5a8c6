"""The standard implementation: operator by operator, every result written and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies import attention_backward, attention_forward, attention_gradient
from strategies.operators import elementwise
from strategies.phases import Choice, Phase, TileStrategy
from strategies.products import streaming_product as product
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from strategies.schedule import Schedule

__all__ = ["Standard"]


@dataclass(frozen=True)
class _Elementwise:
    """The text of an elementwise operator."""

    name: str

    def __call__(self, s: Schedule) -> None:
        elementwise(s, *s.arrays(self.name))


@STRATEGIES.register
@dataclass(frozen=True)
class Standard(TileStrategy):
    """Operator by operator, as Dao22's Algorithms 0 and 3.

    Each matrix product is played in the best of three streaming forms (C, rows of X or columns of
    Y resident). Forward: S, then A with its row sums, then O, whose division is the epilogue of
    its product. Backward: P from Q, K and l, D, and Algorithm 3's five operators. Where the
    factors of every product fit, forward loads are 2 n^2 + 3 n d + n and stores 2 n^2 + n d + n.
    With ``softmax=early`` they are Algorithm 0's own, 2 n^2 + 3 n d and 2 n^2 + n d, where a row of
    S fits; below, S is read twice. On the training step P is stored once and read three times.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> report = Standard().count(workload("attention-forward:n=32,d=4"), memory=400)
    >>> report.loads, report.stores
    (2464, 2208)
    """

    name: ClassVar[str] = "standard"
    summary: ClassVar[str] = "operator by operator, every result written and read back"
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), Algorithms 0 and 3"
    plays: ClassVar[tuple[str, ...]] = (
        "attention-forward",
        "attention-backward",
        "attention-gradient",
        "attention-layer",
        "attention-training",
        "bilinear",
        "matmul",
    )
    softmax: ClassVar[tuple[str, ...]] = ("late", "early")

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return one phase per operator."""
        if workload.name == "attention-forward":
            return self._forward(formula)
        if workload.name == "attention-layer":
            return [*(product(formula[name]) for name in ("Q", "K", "V")), *self._forward(formula)]
        if workload.name == "attention-backward":
            return [
                product(formula["S"]),
                (Phase("P", attention_backward.probability_rows),),
                *self._backward(formula),
            ]
        if workload.name == "attention-training":
            P: Choice = (Phase("P", _Elementwise("P")),)
            return [*self._forward(formula), P, *self._backward(formula)]
        if workload.name == "attention-gradient":
            return self._gradient(formula)
        return [product(array) for array in formula.arrays.values() if array.is_contraction]

    def _forward(self, formula: Formula) -> list[Choice]:
        if "P" in formula.arrays and "U" not in formula.arrays:
            whole = Phase("P, rows in fast memory", attention_forward.early_rows)
            twice = Phase("P, S read twice", attention_forward.early_rows_twice)
            return [product(formula["S"]), (whole, twice), product(formula["O"])]
        return [
            product(formula["S"]),
            (Phase("A and l", attention_forward.softmax_rows),),
            product(formula["U"], attention_forward.normalise_tile),
        ]

    def _backward(self, formula: Formula) -> list[Choice]:
        """Return Algorithm 3 behind a stored P."""
        return [
            product(formula["dV"]),
            product(formula["dP"]),
            (Phase("D", attention_backward.row_terms),),
            (Phase("dS", attention_backward.score_gradient_rows),),
            product(formula["dQ"]),
            product(formula["dK"]),
        ]

    def _gradient(self, formula: Formula) -> list[Choice]:
        scores: list[Choice] = [
            product(formula["T"]),
            product(formula["S"]),
            (Phase("A and l", attention_forward.softmax_rows),),
            product(formula["h"]),
        ]
        rows: Choice = (Phase("p", attention_gradient.p_rows),)
        middle: list[Choice] = []
        if "U" in formula.arrays:
            middle.append(product(formula["U"], attention_forward.normalise_tile))
        else:
            scores.append((Phase("f", attention_gradient.quotients),))
            rows = (Phase("p", attention_gradient.p_rows_as24),)
            if "O" in formula.arrays:
                middle.append(product(formula["O"]))
        if "c" in formula.arrays:
            middle.append((Phase("c", _Elementwise("c")),))
        last = [product(formula["G"]), product(formula["dX"])]
        return [*scores, *middle, product(formula["q"]), rows, *last]
