"""Attention with sparse inputs: the DAG of Li24's sparse lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from graphs.memory import check_fits
from graphs.registry import WORKLOADS, Workload
from pebble.dag import Dag
from pebble.errors import SpecError
from pebble.operations import ADD, DIV, EXP, INPUT, MUL
from pebble.tensor import Listed

__all__ = ["AttentionSparse"]

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Parts:
    """What is nonzero: entries of Q, K, V, products of scores, scores.

    Attributes
    ----------
    Q, K, V : int64 arrays, shape (nonzeros, 2)
        Row and column of each nonzero, in row order.
    products : int64 array, shape (products, 3)
        (i, j, k) of each product Q_ik K_jk, sorted.
    scores : int64 array, shape (Z_QK, 2)
        (i, j) of each score that has a product, sorted.
    """

    Q: Integers
    K: Integers
    V: Integers
    products: Integers
    scores: Integers


@WORKLOADS.register
@dataclass(frozen=True)
class AttentionSparse(Workload):
    """O = softmax(Q K^T) V with sparse Q, K and V, over the scores that have a product.

    Every entry of Q, K, V is nonzero with probability ``density``, drawn from ``seed``. A product
    Q_ik K_jk is a vertex where both factors are nonzero, a score S_ij where it has a product (there
    are Z_QK), and U_ik adds the terms A_ij V_jk with V_jk nonzero. Rows without scores have no
    output. Z_input is the number of nonzeros of Q and K.

    Examples
    --------
    >>> w = AttentionSparse(n=8, d=4, density=0.4, seed=1)
    >>> w.facts()
    {'Z_input': 21, 'Z_QK': 24}
    """

    name: ClassVar[str] = "attention-sparse"
    summary: ClassVar[str] = "O = softmax(Q K^T) V over the nonzeros of sparse Q, K, V"
    reference: ClassVar[str] = "Li24 (arXiv 2410.09397), Theorem 4.5"

    n: int
    d: int
    density: float = 0.2
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.density <= 1:
            raise SpecError(f"{self.name}: density must be above 0 and at most 1: {self.density}")

    def facts(self) -> dict[str, int]:
        """Return Z_input and Z_QK."""
        parts = _parts(self)
        return {"Z_input": len(parts.Q) + len(parts.K), "Z_QK": len(parts.scores)}

    def dag(self) -> Dag:
        """Build the DAG."""
        parts = _parts(self)
        if not len(parts.scores):
            raise SpecError(
                f"{self}: no score has a product: take a greater density or another seed"
            )
        return _Builder(parts).dag(str(self))


@lru_cache(maxsize=8)
def _parts(w: AttentionSparse) -> _Parts:
    rng = np.random.default_rng(w.seed)
    expected = w.n * w.n * w.d * w.density**2
    check_fits(int(3 * expected), int(6 * expected), str(w))
    Q, K, V = (np.argwhere(rng.random((w.n, w.d)) < w.density) for _ in range(3))
    by_column = K[np.lexsort((K[:, 0], K[:, 1]))]
    begins = np.searchsorted(by_column[:, 1], np.arange(w.d + 1))
    partners = np.diff(begins)[Q[:, 1]]
    place = np.repeat(begins[Q[:, 1]] - np.cumsum(partners) + partners, partners)
    keys = by_column[place + np.arange(int(partners.sum())), 0]
    products = np.column_stack([np.repeat(Q[:, 0], partners), keys, np.repeat(Q[:, 1], partners)])
    products = products[np.lexsort(products.T[::-1])]
    scores = np.unique(products[:, :2], axis=0) if len(products) else products[:, :2]
    return _Parts(Q, K, V, products, scores)


class _Builder:
    """Appends tensors of vertices with their operands."""

    def __init__(self, parts: _Parts) -> None:
        self.parts = parts
        self.size = 0
        self.tensors: list[Listed] = []
        self.operands: list[tuple[Integers, ...]] = []  # one tuple a block, empty for inputs
        self.operations: list[tuple[int, int]] = []

    def add(self, name: str, keys: Integers, operation: int, *operands: Integers) -> Integers:
        """Append one vertex for each key; return their numbers."""
        count = len(keys)
        numbers = np.arange(self.size, self.size + count)
        if count:
            axes = tuple(range(keys.shape[1]))
            listed = Listed(name, self.size, (count,), (1,), (0,), keys, axes)
            self.tensors.append(listed)
            self.operands.append(operands)
            self.operations.append((operation, count))
            self.size += count
        return numbers

    def sums(self, name: str, keys: Integers, terms: Integers) -> tuple[Integers, Integers]:
        """Append chains that add neighbouring terms of equal keys but for the last index.

        Returns the keys of the sums and the vertex that holds each: a sum of one term is the term.
        """
        new = np.any(np.diff(keys[:, :-1], axis=0) != 0, axis=1)
        begins = np.flatnonzero(np.concatenate([[True], new]))
        first = np.zeros(len(keys), bool)
        first[begins] = True
        more = np.flatnonzero(~first)
        before = np.where(first[more - 1], terms[more - 1], 0)
        place = np.cumsum(~first) - 1
        before = np.where(first[more - 1], before, self.size + place[more - 1])
        made = self.add(f"{name}.sum", keys[more], ADD, before, terms[more])
        running = terms.copy()
        running[more] = made
        ends = np.append(begins[1:], len(keys)) - 1
        return keys[ends, :-1], running[ends]

    def dag(self, source: str) -> Dag:
        """Build attention on the nonzeros."""
        p = self.parts
        Q, K, V = (self.add(x, getattr(p, x), INPUT) for x in ("Q", "K", "V"))
        i, j, k = p.products.T
        width = int(max(p.Q[:, 1].max(), p.K[:, 1].max(), p.V[:, 1].max(initial=0))) + 1

        def at(keys: Integers, numbers: Integers, row: Integers, column: Integers) -> Integers:
            wanted = row * width + column
            return numbers[np.searchsorted(keys[:, 0] * width + keys[:, 1], wanted)]

        factors = at(p.Q, Q, i, k), at(p.K, K, j, k)
        products = self.add("S.prod", p.products, MUL, *factors)
        scores, S = self.sums("S", p.products, products)
        A = self.add("A", scores, EXP, S)
        rows, l = self.sums("l", scores, A)
        # A_ij meets every nonzero of row j of V.
        begins = np.searchsorted(p.V[:, 0], np.arange(int(scores[:, 1].max()) + 2))
        lengths = np.diff(begins)[scores[:, 1]]
        place = np.repeat(begins[scores[:, 1]] - np.cumsum(lengths) + lengths, lengths)
        of = place + np.arange(int(lengths.sum()))
        pair = np.repeat(np.arange(len(scores)), lengths)
        keys = np.column_stack([scores[pair, 0], p.V[of, 1], scores[pair, 1]])
        order = np.lexsort(keys.T[::-1])
        keys, pair, of = keys[order], pair[order], of[order]
        if len(keys):
            terms = self.add("U.prod", keys, MUL, A[pair], V[of])
            entries, U = self.sums("U", keys, terms)
            sums = l[np.searchsorted(rows[:, 0], entries[:, 0])]
            outputs = self.add("O", entries, DIV, U, sums)
        else:
            outputs = l
        degrees = np.concatenate(
            [
                np.full(count, len(operands))
                for operands, (_, count) in zip(self.operands, self.operations, strict=True)
            ]
        )
        return Dag(
            np.concatenate([[0], np.cumsum(degrees)]),
            np.concatenate([np.stack(x, axis=1).ravel() for x in self.operands if x]),
            np.concatenate([np.full(count, code, np.uint8) for code, count in self.operations]),
            np.unique(outputs),
            tensors=self.tensors,
            source=source,
        )
