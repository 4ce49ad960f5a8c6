"""Matrix products: C = A B, and the bilinear form A1 X A2^T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from graphs.registry import WORKLOADS, FormulaWorkload

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from pebble.dag import Vertices

__all__ = ["Bilinear", "MatrixProduct"]


@WORKLOADS.register
@dataclass(frozen=True)
class MatrixProduct(FormulaWorkload):
    """C = A B with A of m x k, B of k x n; a vertex per product and per partial sum.

    Examples
    --------
    >>> len(MatrixProduct(m=2, n=2, k=2).dag())
    20
    """

    name: ClassVar[str] = "matmul"
    aliases: ClassVar[tuple[str, ...]] = ("matrix-product",)
    summary: ClassVar[str] = "C = A B; A is m x k, B is k x n"
    reference: ClassVar[str] = "HK81, section 6"

    m: int
    n: int
    k: int
    sum: Literal["chain", "tree"] = "chain"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        i, j, l = g.index("i", sizes["m"]), g.index("j", sizes["n"]), g.index("l", sizes["k"])
        A, B = g.input("A", i, l), g.input("B", l, j)
        C = g.sum("C", l, A[i, l] * B[l, j])
        g.output(C)

    def blocked_order(self, memory: int) -> Vertices | None:
        """Return the order by square tiles of running sums; None for summation trees."""
        if self.sum != "chain":
            return None
        from graphs.blocked import product_order
        from graphs.layout import Layout

        tensors = Layout.of(self.formula()).tensors
        return product_order(self.m, self.n, self.k, tensors, memory)


@WORKLOADS.register
@dataclass(frozen=True)
class Bilinear(FormulaWorkload):
    """S = A1 X A2^T: the two levels of summation trees that open attention's gradient.

    Examples
    --------
    >>> print(Bilinear(n=3, d=2).formula())
    A1[i,k] given
    X[k,m] given
    A2[j,m] given
    T[i,m] = sum_k A1[i,k] * X[k,m]
    S[i,j] = sum_m T[i,m] * A2[j,m]
    wanted: S
    """

    name: ClassVar[str] = "bilinear"
    summary: ClassVar[str] = "S = A1 X A2^T; A1, A2 are n x d, X is d x d"
    reference: ClassVar[str] = "Li24 (arXiv 2410.09397), section 4"

    n: int
    d: int
    sum: Literal["chain", "tree"] = "chain"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        i, j = g.index("i", sizes["n"]), g.index("j", sizes["n"])
        k, m = g.index("k", sizes["d"]), g.index("m", sizes["d"])
        A1, X, A2 = g.input("A1", i, k), g.input("X", k, m), g.input("A2", j, m)
        T = g.sum("T", k, A1[i, k] * X[k, m])
        S = g.sum("S", m, T[i, m] * A2[j, m])
        g.output(S)
