"""The middle regimes: n x n arrays stored once where recomputing them would cost more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from strategies import attention_backward, attention_forward, attention_stored
from strategies.phases import Choice, Phase, Tile, TileStrategy
from strategies.products import streaming_product
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs.expressions import Array, Formula
    from graphs.registry import Workload

__all__ = ["Stored", "outer"]


def outer(name: str, text: Callable[..., None], array: Array) -> Phase:
    """Return a phase on a x b tiles of an array."""
    m, n = array.shape
    return Phase(f"{name} by tiles", text, (Tile("a", "a", (m,)), Tile("b", "b", (n,))))


def _rows(
    name: str, text: Callable[..., None], formula: Formula, tile: str = "rows", symbol: str = "a"
) -> Phase:
    n = formula["S"].shape[0]
    return Phase(name, text, (Tile(tile, symbol, (n,)),))


@STRATEGIES.register
@dataclass(frozen=True)
class Stored(TileStrategy):
    """Between the large and the small cache: scores computed once and stored.

    Forward A is stored: (1 + x)^2 n^2 for x = d / sqrt(M) between 1 and 2. Backward dS is stored
    (``keep=first``: 9 x^2 + 2), or P and dS (``keep=both``: 5 x^2 + 5). On the gradient A is
    stored (6 x^2 + 3), or A and p (2 x^2 + 4 x + 3, and 8 x + 3 below). On the training step A is
    stored by the forward pass, read for O and again for P, and dS is stored (``keep=both``).

    Parameters
    ----------
    keep : {"first", "both"}
        Store one n x n array, or two.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> Stored().count(workload("attention-forward:n=64,d=8"), memory=64).io
    20608
    """

    name: ClassVar[str] = "stored"
    summary: ClassVar[str] = "scores computed once and stored, for M around d^2"
    reference: ClassVar[str] = "docs/certified-bounds.md"
    plays: ClassVar[tuple[str, ...]] = (
        "attention-forward",
        "attention-backward",
        "attention-gradient",
        "attention-training",
    )
    variants: ClassVar[tuple[str, ...]] = ("stored", "stored:keep=both")

    keep: Literal["first", "both"] = "first"

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if getattr(workload, "form", "") == "as24":
            return "with form=as24 the normalised f is formed before f h: algorithm6 plays it"
        if self.keep == "both" and workload.name == "attention-forward":
            return "forward there is one array to keep: take keep=first"
        if self.keep == "first" and workload.name == "attention-training":
            return "on the training step A and dS are both kept: take keep=both"
        return super().refusal(workload)

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        if workload.name == "attention-forward":
            product = streaming_product(formula["U"], attention_forward.normalise_tile)
            return [self._scores(formula), product]
        if workload.name == "attention-backward":
            return self._backward(formula)
        if workload.name == "attention-training":
            dS = _rows("dV and dS", attention_stored.exponentials_pass, formula, "columns", "b")
            return [
                self._scores(formula),
                streaming_product(formula["U"], attention_forward.normalise_tile),
                (Phase("D", attention_backward.row_terms),),
                (dS,),
                *(streaming_product(formula[name]) for name in ("dQ", "dK")),
            ]
        return self._gradient(formula)

    def _scores(self, formula: Formula) -> Choice:
        return (
            _rows("A and l by rows", attention_stored.scores_pass, formula),
            outer("A and l", attention_stored.scores_outer, formula["S"]),
        )

    def _backward(self, formula: Formula) -> list[Choice]:
        D: Choice = (Phase("D", attention_backward.row_terms),)
        if self.keep == "first":
            keeping = partial(attention_backward.columns_pass, keep=True)
            columns = _rows("dK, dV and dS", keeping, formula, "columns", "b")
            return [D, (columns,), streaming_product(formula["dQ"])]
        P: Choice = (
            _rows("P by rows", attention_stored.probabilities_pass, formula),
            outer("P", attention_stored.probabilities_outer, formula["S"]),
        )
        text = attention_backward.stored_probabilities_pass
        dS = _rows("dV and dS", text, formula, "columns", "b")
        return [P, D, (dS,), *(streaming_product(formula[name]) for name in ("dQ", "dK"))]

    def _gradient(self, formula: Formula) -> list[Choice]:
        by_rows, _, by_tiles = streaming_product(
            formula["U"], attention_stored.finish_gradient_tile
        )
        first = [
            streaming_product(formula["T"]),
            streaming_product(formula["h"]),
            self._scores(formula),
            (by_rows, by_tiles),
        ]
        if self.keep == "first":
            last: list[Choice] = [(_rows("G", attention_stored.gradient_pass, formula),)]
        else:
            p = (
                _rows("p by rows", attention_stored.p_pass, formula),
                outer("p", attention_stored.p_outer, formula["q"]),
            )
            last = [p, streaming_product(formula["G"])]
        return [*first, *last, streaming_product(formula["dX"])]
