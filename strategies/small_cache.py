"""The algorithms of the small cache: every product by square tiles, every intermediate stored."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pebble.errors import SpecError
from strategies import (
    attention_backward,
    attention_forward,
    attention_gradient,
    attention_stored,
)
from strategies.phases import Choice, Phase, Tile, TileStrategy
from strategies.products import SquareProduct, streaming_product
from strategies.registry import STRATEGIES
from strategies.stored import outer

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphs.expressions import Formula
    from graphs.registry import Workload

__all__ = ["Algorithm6", "SahaYe", "SquareTiles"]


@dataclass(frozen=True)
class SquareTiles(TileStrategy):
    """A strategy whose phases work on B x B tiles.

    Parameters
    ----------
    tile : int, optional
        B, where it is not to be chosen.
    sizes : {"fit", "paper"}
        Choose for each phase the size that fits best, or take the printed B = floor(sqrt(M / 4)).
    tiles : {"square", "outer"}
        Square tiles of all three matrices, as SY24 prints them; or a x b accumulators past which
        one column and one row stream, which halves the I/O of a product.
    """

    tile: int | None = None
    sizes: Literal["fit", "paper"] = "fit"
    tiles: Literal["square", "outer"] = "square"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tiles == "outer" and (self.tile is not None or self.sizes == "paper"):
            raise SpecError(f"{self.name}: tile= and sizes=paper are for tiles=square")

    def paper_sizes(self, workload: Workload, memory: Any) -> dict[str, Any] | None:
        """Return SY24's size."""
        if self.sizes == "fit":
            return None
        extents = workload.sizes().values()
        if isinstance(memory, int):
            return {"tile": max(1, min(isqrt(memory // 4), max(extents)))}
        if isinstance(memory, np.ndarray):
            root = np.sqrt(memory / 4).astype(np.int64)
            return {"tile": np.clip(root, 1, max(extents))}
        return {"tile": (memory / 4) ** 0.5}

    def paper_steps(self, workload: Workload) -> npt.NDArray[np.int64]:
        """Return every M at which floor(sqrt(M / 4)) steps up.

        From B = 64 on every step fits: 3 B^2 and some rows of B are less than 4 B^2.
        """
        largest = min(64, max(workload.sizes().values()))
        sizes = np.arange(1, largest + 1, dtype=np.int64)
        return np.where(sizes == 1, 1, 4 * sizes**2)

    def _tiles(
        self,
        name: str,
        text: Callable[..., None],
        formula: Formula,
        outer_text: Callable[..., None],
        array: str = "S",
    ) -> Choice:
        """Return a phase on square tiles, or its like on a x b tiles of an array."""
        if self.tiles == "outer":
            return (outer(name, outer_text, formula[array]),)
        extents = dict.fromkeys(i.size for a in formula.arrays.values() for i in a.indices)
        fixed = {} if self.tile is None else {"tile": self.tile}
        return (Phase(name, text, (Tile("tile", "B", tuple(extents)),), fixed),)

    def _scores(self, formula: Formula) -> Choice:
        return self._tiles(
            "A and l",
            attention_forward.scores_by_tiles,
            formula,
            attention_stored.scores_outer,
        )

    def _product(self, name: str, formula: Formula) -> Choice:
        if self.tiles == "outer":
            return (streaming_product(formula[name])[-1],)
        return self._tiles(name, SquareProduct(name), formula, SquareProduct(name))


@STRATEGIES.register
@dataclass(frozen=True)
class SahaYe(SquareTiles):
    """Saha and Ye's forward pass for a small cache, M = O(d^2).

    A = exp(Q K^T) by B x B tiles, written once with its row sums; then A V by tiles.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> SahaYe(sizes="paper").count(workload("attention-forward:n=64,d=16"), memory=66).loads
    65600
    """

    name: ClassVar[str] = "saha-ye"
    aliases: ClassVar[tuple[str, ...]] = ("sy24",)
    summary: ClassVar[str] = "A by square tiles, stored once with its row sums, then A V by tiles"
    reference: ClassVar[str] = "SY24 (arXiv 2402.07443), Algorithm 1"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward",)
    variants: ClassVar[tuple[str, ...]] = ("saha-ye", "saha-ye:tiles=outer")

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:  # noqa: ARG002
        """Return the phases."""
        output: Choice
        if self.tiles == "outer":
            output = (streaming_product(formula["U"], attention_forward.normalise_tile)[-1],)
        else:
            text = attention_forward.values_by_tiles
            output = self._tiles("O", text, formula, text)
        return [self._scores(formula), output]


@STRATEGIES.register
@dataclass(frozen=True)
class Algorithm6(SquareTiles):
    """Li24's algorithm for a small cache, M = o(d^2), on the gradient and on the backward pass.

    Four phases, reconstructed from the paper's description: (1) T = A1 X and A = exp(T A2^T) with
    its row sums; (2) h = A3 Y, O and c, q = c h^T; (3) r_i = <c_i, O_i> (with ``form=as24`` the
    row sums of f o q), then p; (4) G = p A2 and dX = A1^T G. Every n x n and n x d intermediate is
    written and read back.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> w = workload("attention-gradient:n=128,d=32")
    >>> Algorithm6().count(w, memory=64).io
    1361280
    """

    name: ClassVar[str] = "algorithm6"
    aliases: ClassVar[tuple[str, ...]] = ("li24",)
    summary: ClassVar[str] = "every product by square tiles, every intermediate stored"
    reference: ClassVar[str] = "Li24 (arXiv 2410.09397), Algorithm 6"
    plays: ClassVar[tuple[str, ...]] = ("attention-gradient", "attention-backward")
    variants: ClassVar[tuple[str, ...]] = ("algorithm6", "algorithm6:tiles=outer")

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases."""
        if workload.name == "attention-backward":
            return [
                self._tiles(
                    "P",
                    attention_backward.probabilities_by_tiles,
                    formula,
                    attention_stored.probabilities_outer,
                ),
                (Phase("D", attention_backward.row_terms),),
                self._tiles(
                    "dS",
                    attention_backward.score_gradients_by_tiles,
                    formula,
                    attention_stored.score_gradients_outer,
                ),
                self._product("dV", formula),
                self._product("dQ", formula),
                self._product("dK", formula),
            ]
        first = [
            self._product("T", formula),
            self._scores(formula),
            self._product("h", formula),
        ]
        last = [self._product("G", formula), self._product("dX", formula)]
        as24 = getattr(workload, "form", "") == "as24"
        output = self._tiles(
            "O and c",
            attention_gradient.output_by_tiles,
            formula,
            attention_gradient.output_outer,
            "G",
        )
        middle = [output] if "O" in formula.arrays else []
        if as24:
            quotients: Choice = (Phase("f", attention_gradient.quotients),)
            rows: Choice = (Phase("p", attention_gradient.p_rows_as24),)
            return [*first, quotients, *middle, self._product("q", formula), rows, *last]
        return [
            *first,
            *middle,
            self._product("q", formula),
            (Phase("p", attention_gradient.p_rows),),
            *last,
        ]
