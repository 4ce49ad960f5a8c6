"""Matrix products as phases of a strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strategies.operators import Finish, by_columns, by_rows, square_tiles, stationary
from strategies.phases import Choice, Phase, Tile

if TYPE_CHECKING:
    from graphs.expressions import Array
    from strategies.schedule import Schedule

__all__ = ["SquareProduct", "streaming_product"]


@dataclass(frozen=True)
class StreamingProduct:
    """The text of a matrix product in one of the streaming forms of `strategies.operators`."""

    name: str
    form: Callable[..., None]
    finish: Finish | None = None

    def __call__(self, s: Schedule, **sizes: Any) -> None:
        """Write the text."""
        (C,) = s.arrays(self.name)
        self.form(s, C, **sizes, finish=self.finish)


@dataclass(frozen=True)
class SquareProduct:
    """The text of a matrix product by square tiles."""

    name: str

    def __call__(self, s: Schedule, tile: Any) -> None:
        """Write the text."""
        (C,) = s.arrays(self.name)
        square_tiles(s, C, tile)


def streaming_product(array: Array, finish: Finish | None = None) -> Choice:
    """Return the streaming forms of a matrix product: C, rows of X, or columns of Y resident.

    Parameters
    ----------
    array : Array
        The product.
    finish : callable, optional
        What to do with a finished tile, instead of storing it.
    """
    name, (m, n) = array.name, array.shape
    return (
        Phase(f"{name} by rows", StreamingProduct(name, by_rows, finish), (Tile("a", "a", (m,)),)),
        Phase(
            f"{name} by columns",
            StreamingProduct(name, by_columns, finish),
            (Tile("b", "b", (n,)),),
        ),
        Phase(
            f"{name} by tiles",
            StreamingProduct(name, stationary, finish),
            (Tile("a", "a", (m,)), Tile("b", "b", (n,))),
        ),
    )
