"""How far a count is from a bound: a constant, or the term that grows and shows it not optimal."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy

from pebble.errors import SpecError

if TYPE_CHECKING:
    from bounds.bound import Bound

__all__ = ["LARGE_CACHE", "SMALL_CACHE", "leading", "ratio"]

#: Regimes as orders of magnitude: every size is t to this power, t growing.
LARGE_CACHE: dict[str, int] = {"n": 12, "m": 12, "k": 12, "d": 1, "M": 5}  # d^2 << M << n d
SMALL_CACHE: dict[str, int] = {"n": 100, "m": 100, "k": 100, "d": 10, "M": 15}  # M << d^2

Order = Mapping[str, int]


def leading(expression: Any, regime: Order = LARGE_CACHE) -> Any:
    """Return the terms that outgrow the others in a regime.

    Parameters
    ----------
    expression : sympy expression
        In n, d, M, m, k: sums, products and powers, quotients of these, Min and Max.
    regime : mapping of str to int
        The power of a growing t that each size stands for.

    Raises
    ------
    SpecError
        If the expression holds other symbols or functions, or its leading terms cancel.

    Examples
    --------
    >>> from bounds.bound import M, d, n
    >>> leading(14 * n**2 * d**2 / (M + d) - 3 * n * d)
    14*d**2*n**2/M
    """
    terms, _ = _leading(sympy.sympify(expression), regime)
    return terms


def ratio(count: Any, bound: Bound, regime: Order = LARGE_CACHE) -> Any:
    """Ratio of a count's closed form to a bound, in the limit of a regime.

    Returns
    -------
    sympy expression
        A number, if count and bound grow alike: 1 is optimal to the leading constant (of a Θ only
        that it is a number means anything). Else the term that the ratio grows like.

    Examples
    --------
    Blocks as FlashAttention prints them have 12 n^2 d^2 / M, not optimal in small cache:

    >>> from bounds.bound import M, d, n
    >>> from bounds.theorems import theorems
    >>> forward = {bound.name: bound for bound in theorems("attention-forward")}
    >>> flash = 12 * n**2 * d**2 / M
    >>> ratio(flash, forward["certified-forward"])
    3
    >>> ratio(flash, forward["sy24-forward"], SMALL_CACHE)
    12*d/sqrt(M)
    """
    above, _ = _leading(sympy.sympify(count), regime)
    below, _ = _leading(bound.expression, regime)
    return sympy.simplify(above / below)


def _leading(expression: Any, regime: Order) -> tuple[Any, Fraction]:
    """Return the leading terms and the power of t that they grow like."""
    if expression.is_Symbol:
        if expression.name not in regime:
            raise SpecError(
                f"{expression} has no order of growth in this regime; it gives {', '.join(regime)}"
            )
        return expression, Fraction(regime[expression.name])
    if expression.is_number:
        return expression, Fraction(0)
    parts = [_leading(part, regime) for part in expression.args] if not expression.is_Pow else []
    if expression.is_Add:
        most = max(power for _, power in parts)
        terms = sympy.Add(*(term for term, power in parts if power == most))
        if terms == 0:
            raise SpecError(f"the leading terms of {expression} cancel: expand it first")
        return terms, most
    if expression.is_Mul:
        return sympy.Mul(*(t for t, _ in parts)), sum((p for _, p in parts), Fraction(0))
    if expression.is_Pow and expression.exp.is_Rational:
        base, power = _leading(expression.base, regime)
        exponent = expression.exp
        return base**exponent, power * Fraction(int(exponent.p), int(exponent.q))
    if isinstance(expression, (sympy.Min, sympy.Max)):
        choose = min if isinstance(expression, sympy.Min) else max
        power = choose(p for _, p in parts)
        return expression.func(*(t for t, p in parts if p == power)), power
    raise SpecError(f"{expression} is no sum, product, power, Min or Max of sizes")
