"""Attention: the forward pass, the backward pass, and the gradient of its loss.

n is the sequence length, d the head dimension; Q, K, V are n x d. Unless ``softmax=safe`` is asked
for, no maximum is subtracted before the exponential, as in SY24. Every workload takes a ``mask``
(`graphs.masks`), which keeps some of the n x n scores, and ``dropout=yes``, which multiplies the
probabilities by factors R, 0 or 2, made anew from one seed wherever they are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from graphs.attention_online import online
from graphs.expressions import exp, keep
from graphs.registry import WORKLOADS, FormulaWorkload
from pebble.errors import SpecError

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index
    from graphs.masks import Mask

__all__ = ["Attention", "AttentionBackward", "AttentionForward", "AttentionGradient"]
__all__ += ["AttentionTraining"]


@dataclass(frozen=True)
class Attention(FormulaWorkload):
    """What the attention workloads share: n, d, a mask, dropout, the order of sums."""

    n: int
    d: int
    mask: str = field(
        default="none", kw_only=True, metadata={"tried": ("causal", "random-0.3-seed-1")}
    )
    dropout: Literal["no", "yes"] = field(default="no", kw_only=True)
    sum: Literal["chain", "tree"] = field(default="chain", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mask != "none":
            if self.sum != "chain":
                raise SpecError(f"{self.name}: a mask needs sum=chain: its rows differ in length")
            self.pairs()

    def pairs(self) -> Mask | None:
        """Return the mask, or None where every score is formed."""
        if self.mask == "none":
            return None
        from graphs.masks import mask

        return mask(self.mask, self.n)

    def fingerprint(self) -> str:
        """Return the mask's checksum: it may come from a file, which may change under its name."""
        pairs = self.pairs()
        return "" if pairs is None else pairs.fingerprint

    def facts(self) -> dict[str, int]:
        """Return Z_input, the entries of Q and K, and Z_QK, the scores that a mask keeps."""
        pairs = self.pairs()
        return {} if pairs is None else {"Z_input": 2 * self.n * self.d, "Z_QK": pairs.pairs}

    def _indices(self, g: Formula, sizes: dict[str, Any]) -> tuple[Index, Index]:
        """Return the indices i and j of the scores."""
        i, j = g.index("i", sizes["n"]), g.index("j", sizes["n"])
        # A formula in symbols has the mask's numbers in symbols, or none.
        pairs = self.pairs() if isinstance(sizes["n"], int) else sizes.get("pairs")
        if pairs is not None:
            g.mask(i, j, pairs)
        return i, j

    def _scores(self, g: Formula, sizes: dict[str, Any]) -> tuple[Array, tuple[Index, ...]]:
        """Write S = Q K^T; return it with the indices i, j, k."""
        (i, j), k = self._indices(g, sizes), g.index("k", sizes["d"])
        Q, K = g.input("Q", i, k), g.input("K", j, k)
        return g.sum("S", k, Q[i, k] * K[j, k]), (i, j, k)

    def _forward(self, g: Formula, sizes: dict[str, Any], softmax: str) -> Array:
        """Write the forward pass, and return O."""
        S, (i, j, k) = self._scores(g, sizes)
        V = g.input("V", j, k)
        if softmax == "safe":
            m = g.maximum("m", j, S[i, j])
            Z = g.map("Sm", S[i, j] - m[i])
            A = g.map("A", exp(Z[i, j]))
        else:
            A = g.map("A", exp(S[i, j]))
        l = g.sum("l", j, A[i, j])
        if softmax == "early":
            P = self._dropped(g, g.map("P", A[i, j] / l[i]))
            return g.sum("O", j, P[i, j] * V[j, k])
        B = self._dropped(g, A)
        U = g.sum("U", j, B[i, j] * V[j, k])
        return g.map("O", U[i, k] / l[i])

    def _dropped(self, g: Formula, array: Array) -> Array:
        """Write an array over (i, j) times dropout's factors R, under its name and R."""
        if self.dropout == "no":
            return array
        i, j = array.indices
        if "R" not in g.arrays:
            seed = g.input("seed")
            g.map("R", keep(seed[()]), (i, j))
        return g.map(f"{array.name}R", array[i, j] * g["R"][i, j])

    def _backward(self, g: Formula, O: Array, l: Array) -> None:
        """Write the backward pass behind A and l, with dO given."""
        Q, K, V, A = g["Q"], g["K"], g["V"], g["A"]
        (i, j), k = A.indices, V.indices[1]
        dO = g.input("dO", i, k)
        P = g.map("P", A[i, j] / l[i])
        dP = g.sum("dP", k, dO[i, k] * V[j, k])
        D = g.sum("D", k, dO[i, k] * O[i, k])
        Z = g.map("Z", self._dropped(g, dP)[i, j] - D[i])
        dS = g.map("dS", P[i, j] * Z[i, j])
        dV = g.sum("dV", i, self._dropped(g, P)[i, j] * dO[i, k])
        dQ = g.sum("dQ", j, dS[i, j] * K[j, k])
        dK = g.sum("dK", i, dS[i, j] * Q[i, k])
        g.output(dQ, dK, dV)


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionForward(Attention):
    """O = softmax(Q K^T) V.

    ``softmax=late`` normalises after the product with V, ``early`` before it (P = A / l, as
    Dao22's standard algorithm), and ``safe`` subtracts the row maximum m_i before the exponential.
    ``softmax=online,block=B`` rescales what a row keeps for every B keys, see
    `graphs.attention_online`.

    Examples
    --------
    >>> print(AttentionForward(n=4, d=2).formula())
    Q[i,k] given
    K[j,k] given
    S[i,j] = sum_k Q[i,k] * K[j,k]
    V[j,k] given
    A[i,j] = exp(S[i,j])
    l[i] = sum_j A[i,j]
    U[i,k] = sum_j A[i,j] * V[j,k]
    O[i,k] = U[i,k] / l[i]
    wanted: O
    """

    name: ClassVar[str] = "attention-forward"
    aliases: ClassVar[tuple[str, ...]] = ("forward", "attention")
    summary: ClassVar[str] = "O = softmax(Q K^T) V; Q, K, V are n x d"
    reference: ClassVar[str] = "SY24 (arXiv 2402.07443), section 2"

    softmax: Literal["late", "early", "safe", "online"] = "late"
    block: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.softmax == "online") != (self.block is not None):
            raise SpecError(
                f"{self.name}: softmax=online comes with the number of keys per block, and nothing "
                "else does: softmax=online,block=16"
            )
        if self.block is not None and (self.mask != "none" or self.dropout != "no"):
            raise SpecError(f"{self.name}: softmax=online has no mask and no dropout")

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        if self.block is not None:
            # The DAG is not a formula in n.
            n = sizes["n"] if isinstance(sizes["n"], int) else self.n
            g.output(online(g, n, sizes["d"], self.block))
            return
        g.output(self._forward(g, sizes, self.softmax))


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionBackward(Attention):
    """The gradients dQ, dK, dV from Q, K, V, O, dO and the row sums l.

    Examples
    --------
    >>> print(AttentionBackward(n=4, d=2).formula())  # doctest: +ELLIPSIS
    Q[i,k] given
    ...
    A[i,j] = exp(S[i,j])
    dO[i,k] given
    P[i,j] = A[i,j] / l[i]
    dP[i,j] = sum_k dO[i,k] * V[j,k]
    D[i] = sum_k dO[i,k] * O[i,k]
    Z[i,j] = dP[i,j] - D[i]
    dS[i,j] = P[i,j] * Z[i,j]
    dV[j,k] = sum_i P[i,j] * dO[i,k]
    dQ[i,k] = sum_j dS[i,j] * K[j,k]
    dK[j,k] = sum_i dS[i,j] * Q[i,k]
    wanted: dQ, dK, dV
    """

    name: ClassVar[str] = "attention-backward"
    aliases: ClassVar[tuple[str, ...]] = ("backward",)
    summary: ClassVar[str] = "dQ, dK, dV from Q, K, V, O, dO (n x d) and the row sums l"
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), appendix B.2"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        S, (i, j, k) = self._scores(g, sizes)
        g.input("V", j, k)
        O, l = g.input("O", i, k), g.input("l", i)
        g.map("A", exp(S[i, j]))
        self._backward(g, O, l)


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionTraining(Attention):
    """Forward and backward pass in one DAG: O, dQ, dK, dV from Q, K, V and dO.

    Here storing P against recomputing it is a real choice.

    Examples
    --------
    >>> AttentionTraining(n=4, d=2).dag()
    <Dag attention-training:n=4,d=2: 448 vertices, 816 edges, 32 inputs, 32 outputs>
    """

    name: ClassVar[str] = "attention-training"
    aliases: ClassVar[tuple[str, ...]] = ("training",)
    summary: ClassVar[str] = "O, dQ, dK, dV from Q, K, V, dO (n x d): both passes in one DAG"
    reference: ClassVar[str] = "Dao22 (arXiv 2205.14135), sections 2 and 3"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        O = self._forward(g, sizes, "late")
        self._backward(g, O, g["l"])
        g.output(O, *g.outputs)


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionGradient(Attention):
    """dL/dX for L = |softmax(A1 X A2^T) A3 Y - E|^2 / 2.

    The formula is AS24's: dX = A1^T p A2. The sums of T = A1 X and of S = T A2^T are Li24's
    level-1 and level-2 summation trees. With ``form=li24`` the rows are normalised after the
    product with h and the row term of p comes from c and O, as r_i = <c_i, O_i>; ``form=as24`` is
    AS24's literal order, f = A / l before f h, and r_i the row sum of f o q. With ``given=dO`` the
    gradient c = dO of the loss is an input instead of the target E.

    Examples
    --------
    >>> print(AttentionGradient(n=4, d=2).formula())  # doctest: +ELLIPSIS
    A1[i,k] given
    ...
    T[i,m] = sum_k A1[i,k] * X[k,m]
    S[i,j] = sum_m T[i,m] * A2[j,m]
    A[i,j] = exp(S[i,j])
    l[i] = sum_j A[i,j]
    h[j,m] = sum_k A3[j,k] * Y[k,m]
    U[i,m] = sum_j A[i,j] * h[j,m]
    O[i,m] = U[i,m] / l[i]
    c[i,m] = O[i,m] - E[i,m]
    r[i] = sum_m c[i,m] * O[i,m]
    q[i,j] = sum_m c[i,m] * h[j,m]
    f[i,j] = A[i,j] / l[i]
    s[i,j] = q[i,j] - r[i]
    p[i,j] = f[i,j] * s[i,j]
    G[i,m] = sum_j p[i,j] * A2[j,m]
    dX[k,m] = sum_i A1[i,k] * G[i,m]
    wanted: dX
    """

    name: ClassVar[str] = "attention-gradient"
    aliases: ClassVar[tuple[str, ...]] = ("gradient",)
    summary: ClassVar[str] = "dX = A1^T p A2; A1, A2, A3 are n x d, X and Y d x d"
    reference: ClassVar[str] = "AS24 (arXiv 2402.04497), Li24 (arXiv 2410.09397)"

    given: Literal["E", "dO"] = "E"
    form: Literal["li24", "as24"] = "li24"

    def define(self, g: Formula, **sizes: Any) -> None:
        """Write the formula."""
        i, j = self._indices(g, sizes)
        k, m = g.index("k", sizes["d"]), g.index("m", sizes["d"])
        A1, A2, A3 = g.input("A1", i, k), g.input("A2", j, m), g.input("A3", j, k)
        X, Y = g.input("X", k, m), g.input("Y", k, m)
        given = g.input(self.given, i, m)

        T = g.sum("T", k, A1[i, k] * X[k, m])
        S = g.sum("S", m, T[i, m] * A2[j, m])
        A = g.map("A", exp(S[i, j]))
        l = g.sum("l", j, A[i, j])
        h = g.sum("h", k, A3[j, k] * Y[k, m])
        if self.form == "as24":
            f = g.map("f", A[i, j] / l[i])
            fR = self._dropped(g, f)
            O = g.sum("O", j, fR[i, j] * h[j, m]) if self.given == "E" else None
        else:
            AR = self._dropped(g, A)
            U = g.sum("U", j, AR[i, j] * h[j, m])
            O = g.map("O", U[i, m] / l[i])
        c = given
        if self.given == "E":
            assert O is not None
            c = g.map("c", O[i, m] - given[i, m])
        if self.form == "as24":
            q = self._dropped(g, g.sum("q", m, c[i, m] * h[j, m]))
            w = g.map("w", f[i, j] * q[i, j])
            r = g.sum("r", j, w[i, j])
            s = g.map("s", r[i] * f[i, j])
            p = g.map("p", w[i, j] - s[i, j])
        else:
            assert O is not None
            r = g.sum("r", m, c[i, m] * O[i, m])
            q = self._dropped(g, g.sum("q", m, c[i, m] * h[j, m]))
            f = g.map("f", A[i, j] / l[i])
            s = g.map("s", q[i, j] - r[i])
            p = g.map("p", f[i, j] * s[i, j])
        G = g.sum("G", j, p[i, j] * A2[j, m])
        dX = g.sum("dX", i, A1[i, k] * G[i, m])
        g.output(dX)
