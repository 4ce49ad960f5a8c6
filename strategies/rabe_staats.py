"""Attention by chunks of queries, with checkpoints: Rabe and Staats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from strategies import attention_chunks
from strategies.phases import Choice, Phase, Tile
from strategies.registry import STRATEGIES
from strategies.row_loops import QueryBlocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs.expressions import Formula
    from graphs.registry import Workload

__all__ = ["RabeStaats"]


@STRATEGIES.register
@dataclass(frozen=True)
class RabeStaats(QueryBlocks):
    """Self-attention in little memory: chunks of queries outside, chunks of keys inside.

    Forward it has the loop order that FlashAttention-2 took up. Backward every chunk of queries
    adds its part to dK and dV, which are read and written for each: 18, where FlashAttention's
    order has 16. On the training step nothing is kept but O: a chunk's row sums and output are made
    anew from its checkpoint, the inputs, before its gradients.

    The paper sums each chunk of keys by itself, with its maximum, and combines the summaries at the
    end. Here they are added up as they come, with a maximum under ``softmax=online``: the same
    reads and writes, in the DAG's order of sums.

    Parameters
    ----------
    rows, columns : int, optional
        Sizes of the chunks of queries and of keys, where they are not to be chosen; one key at a
        time by default, since the I/O depends on the rows alone.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> print(RabeStaats().closed_form(workload("attention-backward:n=64,d=8")).io)
    6*T_r*d*n + 2*d*n + n
    """

    name: ClassVar[str] = "rabe-staats"
    summary: ClassVar[str] = "chunks of queries, each with all keys; backward from checkpoints"
    reference: ClassVar[str] = "RS21 (arXiv 2112.05682)"
    plays: ClassVar[tuple[str, ...]] = (
        "attention-forward",
        "attention-backward",
        "attention-training",
    )

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        if getattr(workload, "block", None) is not None:
            return self.online_phases(formula)
        forward = self._chunks("O", attention_chunks.forward, formula)
        if workload.name == "attention-forward":
            return [forward]
        if workload.name == "attention-backward":
            return [self._chunks("dQ, dK, dV", attention_chunks.backward, formula)]
        again = self._chunks("dQ, dK, dV from checkpoints", attention_chunks.checkpointed, formula)
        return [forward, again]

    def _chunks(self, name: str, text: Callable[..., None], formula: Formula) -> Choice:
        n = formula["S"].shape[0]
        given = {"rows": self.rows, "columns": 1 if self.columns is None else self.columns}
        fixed = {key: size for key, size in given.items() if size is not None}
        return (
            Phase(name, text, (Tile("rows", "B_r", (n,)), Tile("columns", "B_c", (n,))), fixed),
        )
