"""Certified bound of the FFT: Theorem 9 of docs/certified-bounds.md."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["fft", "within_reach"]


def within_reach(x: int) -> int:
    """Return a number of vertices that x red ones of a butterfly cannot exceed without I/O.

    The whole part of x log2 x, from exact integers.

    Examples
    --------
    >>> [within_reach(x) for x in (1, 2, 3, 4, 8)]
    [0, 2, 4, 8, 24]
    """
    # 2**k <= x**x for k = x log2 x, and x**x has k + 1 bits.
    return (x**x).bit_length() - 1 if x > 0 else 0


@lru_cache(maxsize=4096)
def fft(n: int, memory: int) -> tuple[int, int]:
    """Return a bound on loads and stores of the butterfly on n points, and the T that gave it.

    Theorem 9: Q >= n + 1 + T ceil((n log2 n - f(T)) / f(M + T)), f(x) = x log2 x.

    Examples
    --------
    >>> fft(1024, 4)
    (2961, 11)
    """
    total = n * (n.bit_length() - 1)
    best = (0, 1)
    # M + T log(M + T) grows faster than T: nothing is gained by much longer pieces.
    for T in range(1, min(4 * memory + 64, n) + 1):
        rest = total - within_reach(T)
        if rest <= 0:
            break
        pieces = -(-rest // max(1, within_reach(memory + T)))
        best = max(best, (n + 1 + T * pieces, T), key=lambda found: found[0])
    return best
