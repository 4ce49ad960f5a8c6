"""Formulas as a mathematician writes them: 14 n²d²/M for ``14*d**2*n**2/M``."""

from __future__ import annotations

from typing import Any

__all__ = ["written"]

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Sizes are written in this order, others after them.
_ORDER = "mnkd"


def written(expression: Any) -> str:
    """Write a sum of monomials in sizes; anything else is left as sympy prints it.

    Parameters
    ----------
    expression : sympy expression
        With powers that are whole or halves.

    Examples
    --------
    >>> from sympy import sqrt, symbols
    >>> n, d, M = symbols("n d M", positive=True)
    >>> print(written(14 * n**2 * d**2 / M), written(10 * sqrt(3) * n**2 * d / sqrt(M)), sep=", ")
    14n²d²/M, 10√3 n²d/√M
    >>> print(written(n * d - n**2), written(3 * d / (2 * sqrt(M))), sep=", ")
    nd - n², 3d/(2√M)
    """
    import sympy

    expression = sympy.sympify(expression)
    terms = [_monomial(term) for term in expression.as_ordered_terms()]
    if any(term is None for term in terms):
        return str(expression)
    text = " + ".join(str(term) for term in terms)
    return text.replace("+ -", "- ")


def _monomial(term: Any) -> str | None:
    coefficient, rest = term.as_coeff_Mul()
    if not coefficient.is_Rational:
        return None
    top = "" if abs(coefficient.p) == 1 else str(abs(coefficient.p))
    bottom = "" if coefficient.q == 1 else str(coefficient.q)
    root = ""
    over: list[tuple[int, str]] = []
    under: list[tuple[int, str]] = []
    for base, power in rest.as_powers_dict().items():
        if base == 1:
            continue
        if base.is_Integer and 2 * power == 1:
            root = f"√{base} "
            continue
        if not base.is_Symbol or not (2 * power).is_Integer:
            return None
        place = _ORDER.find(base.name) if base.name in _ORDER else len(_ORDER)
        (over if power > 0 else under).append((place, _power(base.name, abs(power))))
    top += root + "".join(text for _, text in sorted(over))
    factors = len(under) + bool(bottom)
    bottom += "".join(text for _, text in sorted(under))
    below = f"({bottom})" if factors > 1 else bottom
    sign = "-" if coefficient < 0 else ""
    return sign + (top.strip() or "1") + (f"/{below}" if below else "")


def _power(name: str, power: Any) -> str:
    whole, half = divmod(int(2 * power), 2)
    text = "" if whole == 0 else name + ("" if whole == 1 else str(whole).translate(_RAISED))
    return text + (f"√{name}" if half else "")
