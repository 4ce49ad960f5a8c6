"""Symbols for the tally: sizes, tile sizes and numbers of tiles as elements of a polynomial ring.

Counts of tile schedules are polynomials with integer coefficients. A ring of sympy's adds and
multiplies them a hundred times faster than sympy's expressions, and decides signs by coefficients.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["Algebra", "full_tiles", "never_negative"]


class Algebra:
    """A polynomial ring over the sizes of a workload and the tile sizes of a strategy.

    Parameters
    ----------
    sizes : iterable of str
        Names of the workload's sizes.
    tiles : iterable of (str, str)
        Pairs of an extent's name and the symbol of a tile size that cuts it.

    Examples
    --------
    >>> algebra = Algebra(["n", "d"], [("n", "B_c")])
    >>> algebra["n"] * 2 + 1
    2*n + 1
    >>> algebra.count(algebra["n"], algebra["B_c"])
    T_c
    """

    def __init__(self, sizes: Iterable[str], tiles: Iterable[tuple[str, str]] = ()) -> None:
        from sympy import ZZ, ring

        sizes, pairs = list(sizes), list(dict.fromkeys(tiles))
        letters = list(dict.fromkeys(tile for _, tile in pairs))
        counts = {pair: _count_name(*pair) for pair in pairs}
        rests = {pair: "R" + name[1:] for pair, name in counts.items()}
        names = [*sizes, *letters, *counts.values(), *rests.values()]
        self.ring, *generators = ring(names, ZZ)
        self._named = dict(zip(names, generators, strict=True))
        self._pairs = {(self[e], self[t]): (e, t) for e, t in pairs}
        self._counts, self._rests = counts, rests
        # Sizes of last tiles, written out: in the ring this takes no time, in sympy much.
        self._whole = [
            (self[rests[pair]], self[pair[0]] - (self[name] - 1) * self[pair[1]])
            for pair, name in counts.items()
        ]
        # A last tile has at most as many values as a full one.
        self.full = [(self[rests[pair]], self[pair[1]]) for pair in pairs]
        self._proved: dict[Any, bool] = {}

    def __getitem__(self, name: str) -> Any:
        return self._named[name]

    def count(self, extent: Any, size: Any) -> Any:
        """Return the number of tiles of a size that cover an extent."""
        return self[self._counts[self._pairs[extent, size]]]

    def rest(self, extent: Any, size: Any) -> Any:
        """Return the size of the last of these tiles."""
        return self[self._rests[self._pairs[extent, size]]]

    def tiles(self) -> list[tuple[str, str, str]]:
        """Return (number of tiles, extent, tile size) by name, for every pair."""
        return [(name, *pair) for pair, name in self._counts.items()]

    def rests(self) -> list[str]:
        """Return the symbols of the sizes of last tiles, in the order of `tiles`."""
        return list(self._rests.values())

    def expression(self, value: Any) -> Any:
        """Return a polynomial as an expanded sympy expression, sizes of last tiles written out."""
        import sympy

        if isinstance(value, int):
            return sympy.Integer(value)
        written = value.compose(self._whole) if self._whole else value
        names = (sympy.Symbol(name, positive=True, integer=True) for name in self._named)
        return written.as_expr(*names)


def _count_name(extent: str, tile: str) -> str:
    """Name a number of tiles: B_c gives T_c, a second B_c2 gives T_c2, B gives T_n and T_d."""
    match = re.fullmatch(r"([A-Za-z]+)(?:_([a-z]+))?(\d*)", tile)
    assert match is not None, tile
    letter, below, number = match.groups()
    return f"T_{below or (extent if letter == 'B' else letter)}{number}"


def full_tiles(algebra: Algebra, value: Any) -> Any:
    """Return a polynomial as if every last tile were a full one."""
    if isinstance(value, int) or not algebra.full:
        return value
    return value.compose(algebra.full)


def never_negative(algebra: Algebra, value: Any) -> bool:
    """Whether a polynomial is proved >= 0 for all sizes >= 1, since it is so term by term.

    Examples
    --------
    >>> algebra = Algebra(["n"])
    >>> n = algebra["n"]
    >>> never_negative(algebra, n**2 - n), never_negative(algebra, n - 2)
    (True, False)
    """
    if isinstance(value, int):
        return value >= 0
    proved = algebra._proved  # noqa: SLF001 - the cache belongs to the ring
    if value not in proved:
        # With n = 1 + x, x >= 0, a polynomial whose coefficients are all >= 0 is >= 0.
        shifted = value.compose([(x, x + 1) for x in algebra.ring.gens])
        proved[value] = all(coefficient >= 0 for coefficient in shifted.values())
    return proved[value]
