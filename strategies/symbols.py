"""What the tally needs to know of sympy expressions: signs, and the sizes of last tiles."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["Rest", "full_tiles", "never_negative", "resolve"]


@cache
def _rest_class() -> Any:
    import sympy

    class RestSymbol(sympy.Dummy):  # type: ignore[misc]
        """The size of a last tile: at least 1, at most that of a full one."""

        full: Any
        value: Any

    return RestSymbol


_RESTS: dict[tuple[str, Any, Any], Any] = {}


def Rest(name: str, full: Any, value: Any) -> Any:  # noqa: N802 - reads as the symbol it makes
    """Return the symbol for the size of the last of some tiles.

    Parameters
    ----------
    name : str
        How it prints.
    full : sympy expression
        Size of the other tiles, an upper bound.
    value : sympy expression
        What it stands for: ``n - (T - 1) * B``.
    """
    if (name, full, value) not in _RESTS:
        symbol = _rest_class()(name, positive=True, integer=True)
        symbol.full, symbol.value = full, value
        _RESTS[name, full, value] = symbol
    return _RESTS[name, full, value]


def _replace(expression: Any, attribute: str) -> Any:
    if isinstance(expression, int):
        return expression
    rests = expression.atoms(_rest_class())
    return expression.subs({rest: getattr(rest, attribute) for rest in rests}) if rests else expression


def full_tiles(expression: Any) -> Any:
    """Return the expression as if every last tile were a full one."""
    return _replace(expression, "full")


def resolve(expression: Any) -> Any:
    """Return the expression with the sizes of last tiles written out."""
    return _replace(expression, "value")


_PROVED: dict[Any, bool] = {}


def never_negative(expression: Any) -> bool:
    """Whether a polynomial is proved >= 0 for all sizes >= 1, since it is so term by term.

    Examples
    --------
    >>> from sympy import Symbol
    >>> n = Symbol("n", positive=True, integer=True)
    >>> never_negative(n**2 - n), never_negative(n - 2)
    (True, False)
    """
    if isinstance(expression, int):
        return expression >= 0
    if expression not in _PROVED:
        import sympy

        # With n = 1 + x, x >= 0, a polynomial whose coefficients are all >= 0 is >= 0.
        shifted = sympy.expand(expression.subs({x: x + 1 for x in expression.free_symbols}))
        coefficients = sympy.Add.make_args(shifted)
        _PROVED[expression] = all(term.as_coeff_Mul()[0] >= 0 for term in coefficients)
    return _PROVED[expression]
