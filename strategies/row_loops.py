"""Row blocks resident, the other side streaming: FlashAttention-2, AttenIO, and the best known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from strategies import (
    attention_backward,
    attention_forward,
    attention_gradient,
    attention_online,
    two_pass,
)
from strategies.phases import Choice, Phase, Tile, TileStrategy
from strategies.products import streaming_product
from strategies.registry import STRATEGIES

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload

__all__ = ["AttenIO", "Flash2", "QOuter", "QueryBlocks", "Split", "TwoPass"]


def _rows(
    name: str, text: Callable[..., None], formula: Formula, rows: int | None, symbol: str = "a"
) -> Choice:
    """Return a phase with one size, the number of resident rows."""
    fixed = {} if rows is None else {"rows": rows}
    return (Phase(name, text, (Tile("rows", symbol, (formula["S"].shape[0],)),), fixed),)


@dataclass(frozen=True)
class QueryBlocks(TileStrategy):
    """What strategies share that keep blocks of queries while keys and values stream past.

    With ``softmax=online`` the blocks of keys are the workload's, and the text is one for all.
    """

    softmax: ClassVar[tuple[str, ...]] = ("late", "online")

    rows: int | None = None
    columns: int | None = None

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if getattr(workload, "block", None) and self.columns:
            return "with softmax=online the key blocks are the workload's: leave columns out"
        return super().refusal(workload)

    def online_phases(self, formula: Formula) -> list[Choice]:
        """Return the phase of the forward pass with online softmax."""
        n, fixed = formula["Q"].shape[0], {} if self.rows is None else {"rows": self.rows}
        text = attention_online.query_blocks_outside
        return [(Phase("O", text, (Tile("rows", "B_r", (n,)),), fixed),)]


@STRATEGIES.register
@dataclass(frozen=True)
class Flash2(QueryBlocks):
    """FlashAttention-2: forward with Q blocks outside, backward with D made once beforehand.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> w = workload("attention-forward:n=64,d=8")
    >>> print(Flash2().closed_form(w).io)
    2*T_r*d*n + 2*d*n
    """

    name: ClassVar[str] = "flash2"
    aliases: ClassVar[tuple[str, ...]] = ("flashattention-2",)
    summary: ClassVar[str] = "forward: Q blocks outside; backward: as flash, D made beforehand"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "Dao23 (arXiv 2307.08691)"
    plays: ClassVar[tuple[str, ...]] = (
        "attention-forward",
        "attention-backward",
        "attention-training",
        "attention-layer",
    )

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        if getattr(workload, "block", None) is not None:
            return self.online_phases(formula)
        phases: list[Choice] = []
        if workload.name == "attention-layer":
            phases += [streaming_product(formula[name]) for name in ("Q", "K", "V")]
        if workload.name != "attention-backward":
            phases.append(self._blocks("O", attention_forward.flash2, formula, columns=1))
        if workload.name in ("attention-backward", "attention-training"):
            phases.append((Phase("D", attention_backward.row_terms),))
            phases.append(self._blocks("dQ, dK, dV", attention_backward.flash2, formula, rows=1))
        return phases

    def _blocks(
        self, name: str, text: Callable[..., None], formula: Formula, **default: int
    ) -> Choice:
        """Return a phase; the side that streams does so one row at a time, unless told."""
        n = formula["S"].shape[0]
        given = {"rows": self.rows, "columns": self.columns}
        fixed = default | {key: size for key, size in given.items() if size is not None}
        tiles = (Tile("rows", "B_r", (n,)), Tile("columns", "B_c", (n,)))
        return (Phase(name, text, tiles, fixed),)


@STRATEGIES.register
@dataclass(frozen=True)
class AttenIO(TileStrategy):
    """AttenIO: Q blocks outside, one key row at a time.

    ``sizes=paper`` keeps the printed number of rows, a = floor((M - d) / (2d + 4)).

    Examples
    --------
    >>> from graphs.registry import workload
    >>> AttenIO(sizes="paper").count(workload("attention-forward:n=64,d=8"), memory=88).io
    17408
    """

    name: ClassVar[str] = "attenio"
    summary: ClassVar[str] = "Q blocks outside, one row of K and V at a time"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "AIO26 (AttenIO, ASPLOS 2026)"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward",)

    rows: int | None = None
    sizes: Literal["fit", "paper"] = "fit"

    def paper_sizes(self, workload: Workload, memory: Any) -> dict[str, Any] | None:
        """Return AIO26's size."""
        if self.sizes == "fit":
            return None
        n, d = workload.sizes()["n"], workload.sizes()["d"]
        if not isinstance(memory, (int, np.ndarray)):  # the symbol M: without rounding
            return {"rows": memory / (2 * workload.symbols()["d"])}
        rows = np.clip((memory - d) // (2 * d + 4), 1, n)
        return {"rows": int(rows) if isinstance(memory, int) else rows}

    def paper_steps(self, workload: Workload) -> npt.NDArray[np.int64]:
        """Return every M at which the number of rows steps up.

        From 64 rows on every step fits: two of the 2 d + 4 pebbles a row are to spare.
        """
        n, d = workload.sizes()["n"], workload.sizes()["d"]
        rows = np.arange(1, min(n, 64) + 1, dtype=np.int64)
        return np.where(rows == 1, 1, d + (2 * d + 4) * rows)

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return the phase."""
        return [_rows("O", attention_forward.key_rows, formula, self.rows)]


@STRATEGIES.register
@dataclass(frozen=True)
class QOuter(TileStrategy):
    """Q blocks outside, K and V streaming scalar by scalar: optimal with its constant, 4.

    With a = floor((M - 3) / (2d + 2)) rows the forward pass moves 2nd + 2nd ceil(n / a) scalars.
    On the gradient the O pass is followed by a pass for G with T, c and G resident, 10 in all.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> QOuter().count(workload("attention-forward:n=64,d=8"), memory=75).io
    17408
    """

    name: ClassVar[str] = "q-outer"
    summary: ClassVar[str] = "Q blocks outside, K and V scalar by scalar; gradient: O pass, G pass"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "loop order of AIO26; docs/certified-bounds.md"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward", "attention-gradient")

    rows: int | None = None

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if getattr(workload, "form", "") == "as24":
            return "with form=as24 the normalised f is formed before f h: algorithm6 plays it"
        return super().refusal(workload)

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        output = _rows("O pass", attention_forward.q_outer, formula, self.rows)
        if workload.name == "attention-forward":
            return [output]
        return [
            streaming_product(formula["T"]),
            streaming_product(formula["h"]),
            output,
            _rows("G pass", attention_gradient.rows_pass, formula, self.rows),
            streaming_product(formula["dX"]),
        ]


@STRATEGIES.register
@dataclass(frozen=True)
class Split(TileStrategy):
    """The backward pass in two: dQ with rows resident, then dK and dV with columns resident.

    The scores are computed twice and never stored: leading constant 14, where the fused loop of
    FlashAttention has 16 at best. On the training step `QOuter`'s forward pass goes before.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> Split().count(workload("attention-backward:n=64,d=8"), memory=131).io
    45952
    """

    name: ClassVar[str] = "split"
    summary: ClassVar[str] = "dQ in one pass, dK and dV in another, scores recomputed in each"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "docs/certified-bounds.md"
    plays: ClassVar[tuple[str, ...]] = ("attention-backward", "attention-training")

    rows: int | None = None
    columns: int | None = None

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        n = formula["S"].shape[0]
        fixed = {} if self.columns is None else {"columns": self.columns}
        tiles = (Tile("columns", "b", (n,)),)
        phases = [
            _rows("dQ", attention_backward.rows_pass, formula, self.rows),
            (Phase("dK, dV", attention_backward.columns_pass, tiles, fixed),),
        ]
        if workload.name == "attention-training":
            phases.insert(0, _rows("O", attention_forward.q_outer, formula, self.rows))
        return phases


@STRATEGIES.register
@dataclass(frozen=True)
class TwoPass(TileStrategy):
    """Softmax that needs a statistic of the whole row first: one pass for it, one for O.

    It plays ``softmax=safe``, where the row maximum comes first, and ``softmax=early``, where the
    row sum does. Leading constant 5.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> TwoPass().count(workload("attention-forward:n=64,d=8,softmax=safe"), memory=85).io
    22144
    """

    name: ClassVar[str] = "two-pass"
    summary: ClassVar[str] = "a pass for the row statistic, then O; scores recomputed"
    masks: ClassVar[bool] = True
    drops: ClassVar[bool] = True
    reference: ClassVar[str] = "docs/certified-bounds.md"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward",)
    softmax: ClassVar[tuple[str, ...]] = ("safe", "early")

    rows: int | None = None

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return the phases."""
        return [
            _rows("row statistics", two_pass.statistics, formula, self.rows),
            _rows("O", two_pass.output, formula, self.rows),
        ]
