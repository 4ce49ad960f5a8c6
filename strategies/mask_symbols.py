"""A mask in symbols: its numbers of pairs, and of lines and blocks that meet, for closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strategies.mask_classes import (
    DONE,
    FIRST,
    LAST,
    MANY,
    MIDDLE,
    NONE,
    ONE,
    ONLY,
    SECOND,
    SECOND_LAST,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from strategies.symbols import Algebra

__all__ = ["CAUSAL", "MaskSymbols", "mask_names"]

#: Symbols of a mask besides its meetings: pairs, rows and columns of one entry; those below drop
#: out of every count.
PAIRS, ROWS_1, COLUMNS_1 = "N_p", "R_1", "C_1"
_PASSING = ["R_2", "C_2", "z_once", "z_lead", "z_second"]

#: What the symbols are for the causal mask; B and T stand for a tile size and its number of tiles.
CAUSAL = {
    PAIRS: "n*(n + 1)/2",
    ROWS_1: "1",
    COLUMNS_1: "1",
    "rows": "n*T - B*T*(T - 1)/2",
    "columns": "n + B*T*(T - 1)/2",
}


def mask_names(counts: Iterable[str]) -> list[str]:
    """Return the symbols of a mask whose lines are cut into numbers of tiles such as T_c."""
    return [PAIRS, ROWS_1, COLUMNS_1, *_PASSING, *("Z" + name[1:] for name in counts)]


class MaskSymbols:
    """Counts of classes under an unknown mask, as polynomials.

    Rows meet Z_c blocks of columns (or columns Z_a blocks of rows); how their first and last blocks
    are told apart drops out of the sums, since the classes differ only in which tensor a running
    sum belongs to. Of entries, the places in row and column are told apart as if the ends of rows
    never were the ends of columns: what is done for the one does not depend on the other.

    Parameters
    ----------
    algebra : Algebra
        A ring with the names of `mask_names`.
    """

    text = "a mask"

    def __init__(self, algebra: Algebra) -> None:
        self._algebra = algebra
        self.n = algebra["n"]
        self.pairs = algebra[PAIRS]
        #: What meets, by symbol: ``rows`` or ``columns``.
        self.met: dict[str, str] = {}

    def _meetings(self, size: Any, lines: str) -> Any:
        if size == self.n:
            return self.n
        if isinstance(size, int) and size == 1:
            return self.pairs
        name = "Z" + str(self._algebra.count(self.n, size))[1:]
        self.met[name] = lines
        return self._algebra[name]

    def row_states(self, size: Any) -> dict[tuple[int, int], Any]:
        """Return what rows have done before and after each block of columns they meet."""
        n, met = self.n, self._meetings(size, "rows")
        if size == self.n:
            return {(NONE, DONE): n}
        once, lead, second = (self._algebra[name] for name in _PASSING[2:])
        return {
            (NONE, DONE): once,
            (NONE, ONE): lead,
            (NONE, MANY): n - once - lead,
            (ONE, MANY): lead - second,
            (ONE, DONE): second,
            (MANY, MANY): met - 2 * n + once - lead + second,
            (MANY, DONE): n - once - second,
        }

    def meetings(self, size: Any) -> Any:
        """Return the number of pairs of a column and a block of rows that meet."""
        return self._meetings(size, "columns")

    def first(self) -> tuple[int, int]:
        """Return a class of entry that occurs."""
        return (MIDDLE, MIDDLE)

    def entries(self, looks: tuple[bool, bool]) -> dict[tuple[int, int], Any]:
        """Return the classes of entries that a body tells apart, by its row, by its column."""
        rows = self._places(ROWS_1, "R_2") if looks[0] else {0: self.pairs}
        columns = self._places(COLUMNS_1, "C_2") if looks[1] else {0: self.pairs}
        if looks != (True, True):
            return {(a, b): rows[a] if looks[0] else columns[b] for a in rows for b in columns}
        found = {(a, MIDDLE): count for a, count in rows.items() if a != MIDDLE}
        found |= {(MIDDLE, b): count for b, count in columns.items() if b != MIDDLE}
        return {(MIDDLE, MIDDLE): self.pairs - sum(found.values())} | found

    def _places(self, one: str, two: str) -> dict[int, Any]:
        single, double = self._algebra[one], self._algebra[two]
        more = self.n - single - double
        return {
            MIDDLE: self.pairs - single - 2 * double - 3 * more,
            ONLY: single,
            FIRST: double + more,
            SECOND: more,
            LAST: more,
            SECOND_LAST: double,
        }
