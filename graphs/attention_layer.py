"""Attention with its projections: Q, K and V made from the layer's input X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from graphs.expressions import exp
from graphs.registry import WORKLOADS, FormulaWorkload

if TYPE_CHECKING:
    from graphs.expressions import Formula

__all__ = ["AttentionLayer"]


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionLayer(FormulaWorkload):
    """One head of an attention layer: O = softmax(Q K^T) V with Q = X WQ, K = X WK, V = X WV.

    X is n x e, e the width of the model; the three weights are e x d.

    Examples
    --------
    >>> print(AttentionLayer(n=4, d=2, e=3).formula())
    X[i,m] given
    WQ[m,k] given
    WK[m,k] given
    WV[m,k] given
    Q[i,k] = sum_m X[i,m] * WQ[m,k]
    K[j,k] = sum_m X[j,m] * WK[m,k]
    V[j,k] = sum_m X[j,m] * WV[m,k]
    S[i,j] = sum_k Q[i,k] * K[j,k]
    A[i,j] = exp(S[i,j])
    l[i] = sum_j A[i,j]
    U[i,k] = sum_j A[i,j] * V[j,k]
    O[i,k] = U[i,k] / l[i]
    wanted: O
    """

    name: ClassVar[str] = "attention-layer"
    summary: ClassVar[str] = "O = softmax(Q K^T) V; Q, K, V = X WQ, X WK, X WV; X is n x e"
    reference: ClassVar[str] = "Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2"

    n: int
    d: int
    e: int
    sum: Literal["chain", "tree"] = "chain"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        i, j = g.index("i", sizes["n"]), g.index("j", sizes["n"])
        k, m = g.index("k", sizes["d"]), g.index("m", sizes["e"])
        X = g.input("X", i, m)
        WQ, WK, WV = (g.input(name, m, k) for name in ("WQ", "WK", "WV"))
        Q = g.sum("Q", m, X[i, m] * WQ[m, k])
        K = g.sum("K", m, X[j, m] * WK[m, k])
        V = g.sum("V", m, X[j, m] * WV[m, k])
        S = g.sum("S", k, Q[i, k] * K[j, k])
        A = g.map("A", exp(S[i, j]))
        l = g.sum("l", j, A[i, j])
        U = g.sum("U", j, A[i, j] * V[j, k])
        g.output(g.map("O", U[i, k] / l[i]))
