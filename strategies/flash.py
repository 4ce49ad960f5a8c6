"""FlashAttention: key blocks outside, scores never stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from strategies import (
    attention_backward,
    attention_forward,
    attention_gradient,
    attention_online,
)
from strategies.phases import Choice, Phase, Tile, TileStrategy
from strategies.products import streaming_product
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs.expressions import Formula
    from graphs.registry import Workload

__all__ = ["BlockSparseFlash", "Flash"]


@STRATEGIES.register
@dataclass(frozen=True)
class Flash(TileStrategy):
    """FlashAttention, the algorithm of the large cache.

    Forward it is Dao22's Algorithm 1, backward Algorithm 4. On Li24's gradient it is the
    large-cache algorithm: T and h by streaming products, one sweep in forward order that
    completes every O, l, c and r, one sweep in backward order that recomputes the scores and makes
    G = p A2, and last dX = A1^T G.

    The I/O does not depend on the number of rows, so that ``fit`` takes one row at a time and as
    many columns as fit. ``sizes=paper`` keeps Dao22's B_c = ceil(M / 4d) and
    B_r = min(ceil(M / 4d), d) and is refused where they do not fit; backward they never do, since
    K, V, dK and dV alone would fill M.

    Parameters
    ----------
    rows, columns : int, optional
        B_r and B_c, where they are not to be chosen.
    sizes : {"fit", "paper"}
        Choose the sizes that fit best, or take Dao22's.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> w = workload("attention-forward:n=1048576,d=64")
    >>> Flash().count(w, memory=98304).io
    278552117248
    """

    name: ClassVar[str] = "flash"
    aliases: ClassVar[tuple[str, ...]] = ("flashattention", "flash-attention")
    summary: ClassVar[str] = "key blocks outside, scores recomputed instead of stored"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), Algorithms 1 and 4; Li24, section 4"
    plays: ClassVar[tuple[str, ...]] = (
        "attention-forward",
        "attention-backward",
        "attention-gradient",
        "attention-training",
        "attention-layer",
    )
    softmax: ClassVar[tuple[str, ...]] = ("late", "online")

    rows: int | None = None
    columns: int | None = None
    sizes: Literal["fit", "paper"] = "fit"

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if getattr(workload, "form", "") == "as24":
            return (
                "with form=as24 the normalised f is formed before f h, which takes a sweep of its "
                "own: algorithm6 plays it"
            )
        if getattr(workload, "block", None) and (self.columns or self.sizes == "paper"):
            return (
                "with softmax=online the key blocks are the workload's: leave columns and sizes out"
            )
        if self.sizes == "paper" and workload.name == "attention-layer":
            return "Dao22 prints no sizes for the projections: leave sizes out"
        if self.sizes == "paper" and workload.name in self.plays[1:]:
            return "Dao22's printed sizes never fit backward loops (K, V, dK, dV alone fill M)"
        return super().refusal(workload)

    def paper_sizes(self, workload: Workload, memory: Any) -> dict[str, Any] | None:
        """Return Dao22's sizes."""
        if self.sizes == "fit":
            return None
        n, d = workload.sizes()["n"], workload.sizes()["d"]
        if not isinstance(memory, (int, np.ndarray)):  # the symbol M: without rounding
            d = workload.symbols()["d"]
            return {"columns": memory / (4 * d), "rows": d}
        columns = -(-memory // (4 * d))
        if isinstance(memory, int):
            return {"columns": min(columns, n), "rows": min(columns, d, n)}
        return {"columns": np.minimum(columns, n), "rows": np.minimum(columns, min(d, n))}

    def paper_steps(self, workload: Workload) -> npt.NDArray[np.int64]:
        """Return every M at which ceil(M / 4d) steps up to another number of columns.

        From 4 d + 64 columns on every step fits: K and V take half of M, Q and U for d rows a
        quarter at most, and what else is red does not grow.
        """
        n, d = workload.sizes()["n"], workload.sizes()["d"]
        return 4 * d * np.arange(min(n, 4 * d + 64), dtype=np.int64) + 1

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        if getattr(workload, "block", None) is not None:
            n, rows = formula["Q"].shape[0], 1 if self.rows is None else self.rows
            text = attention_online.key_blocks_outside
            return [(Phase("O", text, (Tile("rows", "B_r", (n,)),), {"rows": rows}),)]
        if workload.name == "attention-layer":
            projections = [streaming_product(formula[name]) for name in ("Q", "K", "V")]
            return [*projections, (self._sweep("O", attention_forward.flash, formula),)]
        if workload.name == "attention-forward":
            return [(self._sweep("O", attention_forward.flash, formula),)]
        if workload.name == "attention-backward":
            return [(self._sweep("dQ, dK, dV", attention_backward.flash, formula),)]
        if workload.name == "attention-training":
            return [
                (self._sweep("O", attention_forward.flash, formula),),
                (self._sweep("dQ, dK, dV", attention_backward.flash, formula),),
            ]
        return [
            streaming_product(formula["T"]),
            streaming_product(formula["h"]),
            (self._sweep("O sweep", attention_forward.flash, formula),),
            (self._sweep("p sweep", attention_gradient.p_sweep, formula),),
            streaming_product(formula["dX"]),
        ]

    def _sweep(self, name: str, text: Callable[..., None], formula: Formula) -> Phase:
        n = formula["S"].shape[0]
        tiles = (Tile("rows", "B_r", (n,)), Tile("columns", "B_c", (n,)))
        fixed = {} if self.rows is None else {"rows": self.rows}
        if self.columns is not None:
            fixed["columns"] = self.columns
        if self.sizes == "fit":
            fixed.setdefault("rows", 1)
        return Phase(name, text, tiles, fixed)


@STRATEGIES.register
@dataclass(frozen=True)
class BlockSparseFlash(TileStrategy):
    """Block-sparse FlashAttention: `Flash` under a mask, tiles without scores skipped.

    K and V are loaded once for every block of columns; Q, the running sums and, backward, dQ move
    for each row and block that meet. `Flash` plays the same moves under a mask.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> w = workload("attention-forward:n=64,d=8,mask=block-16-butterfly")
    >>> dense = workload("attention-forward:n=64,d=8")
    >>> BlockSparseFlash().count(w, memory=300).io, Flash().count(dense, memory=300).io
    (5376, 7040)
    """

    name: ClassVar[str] = "block-sparse-flash"
    summary: ClassVar[str] = "flash under a mask: tiles without scores are skipped"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), Algorithm 5"
    plays: ClassVar[tuple[str, ...]] = Flash.plays

    columns: int | None = None

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        reason = Flash().refusal(workload)
        if reason is None and workload.pairs() is None:
            return "it skips what a mask leaves out: give one, as mask=block-64-butterfly"
        return reason

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        return Flash(columns=self.columns).phases(workload, formula)
