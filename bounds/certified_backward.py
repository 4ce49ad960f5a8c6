"""Certified bounds of attention's backward pass and of the gradient of its loss.

Each function is a theorem of docs/certified-bounds.md. It returns a whole number of moves that no
play can go below, rounded down, with the length T of the segments that gave it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from bounds.certified_forward import Value, longest_segment
from bounds.segments import backward, best_segment

__all__ = ["backward_io", "backward_loads", "gradient_loads"]


@lru_cache(maxsize=4096)
def _loads_rate(memory: int, d: int) -> tuple[int, Fraction]:
    capacity = backward(d, alpha=16, beta=Fraction(1, 2), gamma=3)
    first = (memory, 2 * memory, memory + 4 * d * d)
    return best_segment(capacity, memory, longest_segment(memory, d), first)


def backward_loads(pairs: int, d: int, memory: int) -> Value:
    """Loads of the backward pass plus its gradients, one for each entry of dQ, dK, dV.

    Theorem 6: L + |dQ| + |dK| + |dV| >= 3 T pairs d / N(M + T), with N of
    `bounds.segments.backward`.

    Examples
    --------
    12 n^2 d^2 / M:

    >>> backward_loads(pairs=1024**2, d=8, memory=1024)
    (786432, 1024)
    """
    segment, rate = _loads_rate(memory, d)
    return int(3 * pairs * d * rate), segment


@lru_cache(maxsize=4096)
def _phi(memory: int, d: int) -> Fraction:
    """Return at least max(nu, d ceil(M / d) / M) of Theorem 7."""
    weight = backward(d, alpha=4, beta=Fraction(3), gamma=14)(2 * memory)
    return max(Fraction(d, memory * memory) * weight, Fraction(d * -(-memory // d), memory))


def backward_io(pairs: int, d: int, memory: int) -> Value:
    """Loads and stores of the backward pass, plus its gradients once more.

    Theorem 7: Q + |dQ| + |dK| + |dV| >= 14 pairs d^2 / (M phi), from T = M.

    Examples
    --------
    14 n^2 d^2 / M:

    >>> backward_io(pairs=1024**2, d=8, memory=2048)
    (458752, 2048)
    """
    return int(14 * pairs * d * d / (memory * _phi(memory, d))), memory


def gradient_loads(n: int, d: int, memory: int) -> Value | None:
    """Loads of the gradient dX = A1^T p A2.

    Theorem 8: L >= 10 n^2 d^2 / M - 22 n d for 19 d^2 <= M <= n d / 8, from T = M; None for
    another M.

    Examples
    --------
    >>> gradient_loads(n=4096, d=8, memory=2048)
    (4521984, 2048)
    """
    if not (19 * d * d <= memory and 8 * memory <= n * d):
        return None
    return max(0, int(Fraction(10 * (n * d) ** 2, memory)) - 22 * n * d), memory
