"""Certified bounds of one product, of attention's forward pass, and of softmax in two passes.

Each function is a theorem of docs/certified-bounds.md. It returns a whole number of moves that no
play can go below, rounded down, with the length T of the segments that gave it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from bounds.segments import Capacity, best_segment, both_products, one_product, scores

__all__ = ["both", "forward", "matrix_product", "score_loads", "two_pass"]

#: Value and T.
Value = tuple[int, int]


def longest_segment(memory: int, d: int) -> int:
    """Return a T beyond which no theorem gains: its best T is at most 2M, or near 16 d^2."""
    return 4 * memory + 64 * d * d


@lru_cache(maxsize=4096)
def _rate(theorem: str, memory: int, d: int) -> tuple[int, Fraction]:
    capacities = {"scores": scores, "forward": one_product, "both": both_products}
    capacity: Capacity = capacities[theorem](d)
    # Where the two sides of a maximum meet, the best T may be a corner that a search steps over.
    first = (memory, 2 * memory, 4 * d * d - memory, -(-256 * d * d // 27) - memory)
    return best_segment(capacity, memory, longest_segment(memory, d), first)


def score_loads(pairs: int, d: int, memory: int) -> Value:
    """Loads of every play that computes `pairs` scores <Q_i, K_j> of input rows of length d.

    Theorem 1: L >= T pairs / max((M + T)^2 / 4 d^2, M + T).

    Examples
    --------
    >>> score_loads(pairs=64**2, d=8, memory=128)
    (2048, 128)
    """
    segment, rate = _rate("scores", memory, d)
    return int(pairs * rate), segment


def forward(pairs: int, d: int, d_values: int, memory: int) -> Value:
    """Loads of the forward pass plus its sums U_ik, one for each entry of O.

    Theorem 2: L + |O| >= T pairs d_values / max(((M + T) / 3)^(3/2), (M + T)^2 / 16 d).

    Parameters
    ----------
    pairs : int
        Number of scores that are used: n^2, or what a mask leaves of it.
    d, d_values : int
        Length of the rows of Q and K, and of V.
    memory : int
        M.

    Examples
    --------
    4 n^2 d^2 / M:

    >>> forward(pairs=1024**2, d=16, d_values=16, memory=4096)
    (262144, 4096)
    """
    segment, rate = _rate("forward", memory, d)
    return int(pairs * d_values * rate), segment


def matrix_product(m: int, n: int, k: int, memory: int) -> Value:
    """Loads of C = A B plus its m n sums, hence the I/O when C is stored.

    Theorem 3: L + m n >= 2 m n k / sqrt(M), from T = 2M.

    Examples
    --------
    >>> matrix_product(16, 16, 16, memory=64)
    (1024, 128)
    """
    return isqrt(4 * (m * n * k) ** 2 // memory), 2 * memory


def both(pairs: int, d: int, d_values: int, memory: int) -> Value:
    """Loads, stores of partial scores, and sums of U, of the forward pass, plus one per score.

    Theorem 4: the sum is at least T pairs (d + d_values) / N(M + T), with N of
    `bounds.segments.both_products`. It may be negative less the scores; 0 is returned then.

    Examples
    --------
    >>> both(pairs=64**2, d=64, d_values=64, memory=16)
    (257972, 32)
    """
    segment, rate = _rate("both", memory, d)
    return max(0, int(pairs * (d + d_values) * rate) - pairs), segment


def two_pass(pairs: int, queries: int, d: int, memory: int) -> Value | None:
    """Loads of a forward pass whose rows need a statistic of all scores first, plus its outputs.

    Theorem 5: L + |O| >= (5 pairs d^2 / M - 2 n d) / (1 + 2 d^2 / M) for M >= (128/27) d^2, from
    T = M; None for smaller M.

    Examples
    --------
    >>> two_pass(pairs=4096**2, queries=4096, d=8, memory=6400)
    (758161, 6400)
    """
    if 27 * memory < 128 * d * d:
        return None
    value = Fraction(5 * pairs * d * d - 2 * queries * d * memory, memory + 2 * d * d)
    return max(0, int(value)), memory
