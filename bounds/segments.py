"""Exact arithmetic behind the certified bounds: how much work fits into a segment of a play.

A play is cut into segments of T charged moves. When at most N(s) units of work can be done in a
segment that sees s = M + T values, and N(q s) <= q N(s) for 0 <= q <= 1, then all W units of work
take at least T W / N(M + T) charged moves (docs/certified-bounds.md, section 1). Everything here is
in integers and fractions, and N is only ever rounded up, so that no bound is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isqrt, log2

__all__ = ["Capacity", "backward", "best_segment", "both_products", "one_product", "root_up"]
__all__ += ["scores"]

#: N as a function of s.
Capacity = Callable[[int], Fraction]

#: Fractional bits that square roots keep.
BITS = 32


def root_up(x: Fraction) -> Fraction:
    """Return a fraction that is at least the square root of x, exact where x is a square.

    Examples
    --------
    >>> root_up(Fraction(9, 4))
    Fraction(3, 2)
    >>> root_up(Fraction(2)) ** 2 > 2
    True
    """
    top, bottom = isqrt(x.numerator), isqrt(x.denominator)
    if top * top == x.numerator and bottom * bottom == x.denominator:
        return Fraction(top, bottom)
    scaled = -(-(x.numerator << (2 * BITS)) // x.denominator)
    return Fraction(isqrt(scaled) + 1, 1 << BITS)


def best_segment(
    capacity: Capacity, memory: int, longest: int, first: tuple[int, ...] = ()
) -> tuple[int, Fraction]:
    """Choose the number T of charged moves of a segment for a large T / N(M + T).

    Any T gives a valid bound, so that the search may be rough: it looks for a single peak on a
    logarithmic scale.

    Parameters
    ----------
    capacity : callable
        N, rounded up.
    memory : int
        M.
    longest : int
        Greatest T to try.
    first : tuple of int
        Values of T that are tried whatever the search does.

    Returns
    -------
    segment : int
        T.
    rate : Fraction
        T / N(M + T): charged moves per unit of work.

    Examples
    --------
    >>> best_segment(lambda s: Fraction(s * s), memory=10, longest=1000)
    (10, Fraction(1, 40))
    """

    @cache
    def rate(segment: int) -> Fraction:
        return segment / capacity(memory + segment)

    low, high = 0.0, log2(longest)
    while high - low > 0.02:
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        if rate(int(2**left)) <= rate(int(2**right)):
            low = left
        else:
            high = right
    middle = int(2**low)
    tried = {*range(max(1, middle - 2), middle + 4), *(t for t in first if t >= 1)}
    best = max(sorted(tried), key=rate)
    return best, rate(best)


def scores(d: int) -> Capacity:
    """Scores S_ij first computed in a segment: max(s^2 / 4 d^2, s)."""
    return lambda s: max(Fraction(s * s, 4 * d * d), Fraction(s))


def one_product(d: int | None) -> Capacity:
    """Products w_ijk of A V: max((s/3)^(3/2), s^2 / 16 d).

    With ``d=None`` the factors of the product are inputs and cannot be remade from others:
    (s/3)^(3/2).
    """

    def capacity(s: int) -> Fraction:
        cubic = root_up(Fraction(s**3, 27))
        return cubic if d is None else max(cubic, Fraction(s * s, 16 * d))

    return capacity


def both_products(d: int) -> Capacity:
    """Products of Q K^T and of A V together.

    N(s)^2 is the maximum of g(u) = u^2 (s - u) / 4 + u^4 / 108 d^2 over 0 <= u <= s. Besides the
    end u = s, only the smaller root of g'(u) / u can be one.
    """

    def capacity(s: int) -> Fraction:
        best = Fraction(s**4, 108 * d * d)
        under_root = 6561 * d**4 - 864 * d * d * s
        if under_root >= 0:
            root = root_up(Fraction(under_root))
            high = (81 * d * d - root + Fraction(1, 1 << (BITS - 1))) / 8
            low = max(Fraction(0), (81 * d * d - root) / 8)
            high = min(high, Fraction(s))
            if low <= s:
                # An upper bound of g on the interval that holds the root.
                best = max(best, high**2 * (s - low) / 4 + high**4 / (108 * d * d))
        return root_up(best)

    return capacity


def backward(d: int, alpha: int, beta: Fraction, gamma: int) -> Capacity:
    """Leaves of the backward pass: the maximum over t of (s - t)^2 / alpha d + H(t).

    H(t) = min(gamma d t, beta sqrt(t) (s - t)) is what t scores at hand allow. Up to the t* where
    its two sides meet the sum is convex, so that the maximum is at t = 0 or t*; beyond, with
    r = sqrt(t), it falls where r >= alpha beta d / 4, and before that its slope has the sign of
    (beta - 4 r / alpha d) (s - r^2) - 2 beta r^2, which only falls.
    """
    kappa = gamma / beta

    def beyond(s: int, low: Fraction, high: Fraction) -> Fraction:
        """Return at least the value at every r from low to high, both beyond t*."""
        left = s - low * low
        return left * left / (alpha * d) + beta * high * left

    def rises(s: int, r: Fraction) -> bool:
        return (beta - 4 * r / (alpha * d)) * (s - r * r) > 2 * beta * r * r

    def capacity(s: int) -> Fraction:
        # r* solves kappa d r = s - r^2; rounded up to a multiple of the step.
        step = Fraction(1, 1 << BITS // 2)
        meet = (root_up(kappa * kappa * d * d + 4 * s) - kappa * d) / 2
        meet = -(-meet // step) * step
        value = d * meet * meet * (kappa * kappa / alpha + gamma)
        best = max(Fraction(s * s, alpha * d), value)
        low, high = int(meet / step) - 2, int(alpha * beta * d / 4 / step) + 1
        if high <= low or not rises(s, low * step):
            return best
        # The turning point in floating point, then the smallest interval that certainly holds it.
        left, right = float(low * step), float(high * step)
        b, c = float(beta), 4 / (alpha * d)
        while right - left > float(step) / 4:
            r = (left + right) / 2
            if r in {left, right}:  # no floating-point number lies between
                break
            if (b - c * r) * (s - r * r) > 2 * b * r * r:
                left = r
            else:
                right = r
        near, width = int(left / step), 1
        while near - width > low and not rises(s, (near - width) * step):
            width *= 2
        low = max(low, near - width)
        width = 1
        while near + width < high and rises(s, (near + width) * step):
            width *= 2
        high = min(high, near + width)
        return max(best, beyond(s, low * step, high * step))

    return capacity
