"""Tile strategies: phases of schedule text, and the tile sizes that fit in M red pebbles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import BudgetError
from pebble.report import Report, Traffic
from pebble.rules import HK
from strategies.masked import schedule
from strategies.registry import RefusalError, Strategy
from strategies.scribe import scribe
from strategies.tally import Counts, tally

if TYPE_CHECKING:
    from graphs.expressions import Formula, Size
    from graphs.layout import Layout
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves
    from strategies.closed_form import ClosedForm
    from strategies.schedule import Schedule

__all__ = ["Phase", "Tile", "TileStrategy"]

#: Most candidates of a pair of sizes that are tried all at once.
GRID = 1 << 14


@dataclass(frozen=True)
class Tile:
    """A tile size of a phase.

    Attributes
    ----------
    name : str
        Keyword of the text, and parameter of the strategy where it has one of that name.
    symbol : str
        The paper's letter.
    extents : tuple of Size
        Extents of the indices that are cut into tiles of this size.
    """

    name: str
    symbol: str
    extents: tuple[Size, ...]


@dataclass(frozen=True)
class Phase:
    """A part of a strategy that starts and ends with no red pebble, so that it is fitted alone.

    Attributes
    ----------
    name : str
        What it makes, and how where there is a choice.
    text : callable
        ``text(schedule, **sizes)``.
    tiles : tuple of Tile
        Its sizes.
    fixed : mapping of str to int
        Sizes that are not to be fitted.
    """

    name: str
    text: Callable[..., None]
    tiles: tuple[Tile, ...] = ()
    fixed: Mapping[str, Size] = field(default_factory=dict)

    def counts(self, formula: Formula, sizes: Mapping[str, Size]) -> Counts:
        """Tally the phase at some sizes."""
        written = schedule(formula)
        self.text(written, **self.fixed, **sizes)
        return tally(written)

    def free(self) -> tuple[Tile, ...]:
        """Return the tiles whose sizes are still to be chosen."""
        return tuple(tile for tile in self.tiles if tile.name not in self.fixed)


#: Phases that make the same: the one with the least I/O is played.
Choice: TypeAlias = tuple[Phase, ...]


def breakpoints(extents: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the least tile size for each number of tiles that the extents can be cut into.

    Only these matter: a smaller size with as many tiles needs no more memory, and the I/O of a
    schedule depends on its sizes through the numbers of tiles.

    Examples
    --------
    >>> breakpoints([10]).tolist()
    [1, 2, 3, 4, 5, 10]
    """
    sizes: set[int] = {1}
    for extent in extents:
        root = isqrt(extent) + 1
        few = -(-extent // np.arange(1, root + 1))
        sizes.update(np.arange(1, min(root, extent) + 1).tolist())
        sizes.update(few.tolist())
        # Of the sizes up to the root, those that are no least size only cost time.
    return np.array(sorted(sizes), np.int64)


class Candidates:
    """Counts of a phase at candidate sizes, kept for all the M that will be asked for.

    Two sizes are tried all at once, or by `_frontier` where they are many; one size is tried all at
    once, or found by bisection in exact integers where it is long, which works at any scale.
    """

    def __init__(self, phase: Phase, formula: Formula) -> None:
        self.phase, self.formula = phase, formula
        self.tiles = phase.free()
        self.least = int(self._counts([1] * len(self.tiles)).peak)
        self.table = None
        # Arrays hold 64 bits: a count must stay far below.
        self.fits_arrays = 64 * int(formula.computed_size()) < 1 << 63
        extents = [int(extent) for tile in self.tiles for extent in tile.extents]
        if self.tiles and self.fits_arrays and 2 * isqrt(max(extents)) < GRID:
            self.values = [breakpoints([int(e) for e in tile.extents]) for tile in self.tiles]
            if np.prod([len(v) for v in self.values]) <= GRID:
                grid = np.meshgrid(*self.values, indexing="ij")
                self.table = self._table([g.ravel() for g in grid])

    def _counts(self, sizes: Sequence[Any]) -> Counts:
        named = {tile.name: size for tile, size in zip(self.tiles, sizes, strict=True)}
        return self.phase.counts(self.formula, named)

    def _table(self, sizes: list[Any]) -> tuple[list[Any], Any, Any, Any]:
        """Return sizes, peaks, I/O and computes as arrays."""
        counts = self._counts(sizes)
        shape = sizes[0].shape
        return (
            sizes,
            np.broadcast_to(counts.peak, shape),
            np.broadcast_to(counts.io, shape),
            np.broadcast_to(counts.computes, shape),
        )

    def fit(self, memory: int) -> tuple[int, int, dict[str, int]] | None:
        """Return (I/O, computes, sizes) of the best sizes with peak <= M; None when none fits."""
        if self.table is None and len(self.tiles) < 2:
            return self._largest(memory)
        table = self.table if self.table is not None else self._frontier(memory)
        sizes, peaks, io, computes = table
        fits = np.flatnonzero(peaks <= memory)
        if fits.size == 0:
            return None
        best = fits[np.lexsort((peaks[fits], computes[fits], io[fits]))[0]]
        chosen = {t.name: int(size[best]) for t, size in zip(self.tiles, sizes, strict=True)}
        return int(io[best]), int(computes[best]), chosen

    def _largest(self, memory: int) -> tuple[int, int, dict[str, int]] | None:
        """Bisect for the largest size that fits, and take the least with as many tiles."""
        if self.least > memory:
            return None
        sizes: list[int] = []
        if self.tiles:
            extents = [int(extent) for extent in self.tiles[0].extents]
            low, high = 1, max(extents) + 1
            while high - low > 1:
                middle = (low + high) // 2
                fits = self._counts([middle]).peak <= memory
                low, high = (middle, high) if fits else (low, middle)
            sizes = [max(-(-extent // -(-extent // low)) for extent in extents)]
        counts = self._counts(sizes)
        chosen = {tile.name: size for tile, size in zip(self.tiles, sizes, strict=True)}
        return int(counts.io), int(counts.computes), chosen

    def _frontier(self, memory: int) -> tuple[list[Any], Any, Any, Any]:
        """For each value of the first size find the largest second one that fits, by bisection."""
        if not self.fits_arrays or not hasattr(self, "values"):
            raise RefusalError(
                f"the tile sizes of {self.phase.name} cannot be chosen at this scale: take "
                "smaller sizes, or a strategy with one tile size per phase, such as flash on "
                "the forward pass"
            )
        first, second = self.values
        low = np.zeros(first.size, np.int64)
        high = np.full(first.size, second.size, np.int64)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            fits = self._table([first, second[middle]])[1] <= memory
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return self._table([first, second[low]])


@dataclass(frozen=True)
class TileStrategy(Strategy):
    """A strategy written as schedule text, phase by phase.

    Subclasses give `phases`; everything else follows: the moves, the counts at any size without a
    DAG, the least M, the closed form. Tile sizes are fitted: the least I/O among those whose peak
    is at most M, ties to fewer computes. Sizes given as parameters are kept.

    Attributes
    ----------
    plays, softmax : tuple of str
        Names of the workloads that are played, and with which softmax.
    variants : tuple of str
        Text forms worth comparing, where the default is not the only one.
    masks, drops : bool
        Whether its texts visit the scores of a mask only, and whether they make dropout's factors.
        Under a mask the tile sizes are those of the dense workload, whose red pebbles are as many
        at least.
    """

    plays: ClassVar[tuple[str, ...]] = ()
    softmax: ClassVar[tuple[str, ...]] = ("late",)
    variants: ClassVar[tuple[str, ...]] = ()
    masks: ClassVar[bool] = False
    drops: ClassVar[bool] = False

    def phases(self, workload: Workload, formula: Formula) -> list[Choice]:
        """Return the phases, each a choice of one or more texts that make the same."""
        raise NotImplementedError

    def paper_sizes(self, workload: Workload, memory: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """Return the literature's printed sizes at M, or None when sizes are to be fitted."""
        return None

    def paper_steps(self, workload: Workload) -> npt.NDArray[np.int64]:
        """Return 1 and every greater M at which the printed sizes change."""
        raise NotImplementedError

    def refusal(self, workload: Workload) -> str | None:
        """Return why the strategy cannot play a workload, or None."""
        if workload.name not in self.plays:
            return f"it plays {', '.join(self.plays)}"
        if getattr(workload, "sum", "chain") != "chain":
            return "tile schedules add terms one by one: take sum=chain (naive plays sum=tree)"
        if getattr(workload, "softmax", "late") not in self.softmax:
            return (
                f"it plays softmax={' and softmax='.join(self.softmax)}: another DAG, which is "
                f"asked for as {workload.name}:...,softmax={self.softmax[0]}"
            )
        return self.variant_refusal(workload)

    def variant_refusal(self, workload: Workload) -> str | None:
        """Return why a workload's mask or its dropout is not played, or None."""
        if workload.pairs() is not None:
            if not self.masks:
                return f"it forms every score; under a mask play {_capable('masks')}"
            if getattr(self, "sizes", "fit") != "fit":
                return "under a mask sizes are fitted, and lines stream one by one: take sizes=fit"
        if getattr(workload, "dropout", "no") != "no" and not self.drops:
            return f"it has no text for dropout; play {_capable('drops')}"
        return None

    def least_memory(self, workload: Workload) -> int:
        """Return the least M with which the strategy plays the workload."""
        self._check(workload)
        if self.paper_sizes(workload, 1) is not None:
            return _least_paper(self, workload)
        dense = _dense(workload)
        return max(
            min(_candidates(self, dense, p, c).least for c in range(len(choice)))
            for p, choice in enumerate(self._phases(workload))
        )

    def fitted(self, workload: Workload, memory: int) -> list[tuple[Phase, dict[str, int]]]:
        """Return the phases that are played at M, with their sizes.

        Raises
        ------
        RefusalError, BudgetError
            If the workload is not played, or not with so little memory.
        """
        self._check(workload)
        printed = self.paper_sizes(workload, memory)
        chosen, dense = [], _dense(workload)
        for p, choice in enumerate(self._phases(workload)):
            if printed is not None:
                (phase,) = choice
                chosen.append((phase, {tile.name: printed[tile.name] for tile in phase.free()}))
                continue
            options = []
            for c, phase in enumerate(choice):
                best = _candidates(self, dense, p, c).fit(memory)
                if best is not None:
                    options.append((best[0], best[1], c, phase, best[2]))
            if not options:
                least = self.least_memory(workload)
                message = f"{self} on {workload} needs M >= {least}, got M = {memory}"
                raise BudgetError(message, least)
            _, _, _, phase, sizes = min(options, key=lambda option: option[:3])
            chosen.append((phase, sizes))
        return chosen

    def recomputes(self, workload: Workload) -> bool:
        """Whether some vertex is computed more than once, at the tile sizes of least memory."""
        report = self.count(workload, self.least_memory(workload))
        return report.recomputes > 0

    def moves(self, workload: Workload, memory: int, dag: Dag | None = None) -> Iterator[Moves]:  # noqa: ARG002
        """Yield the moves; the DAG itself is not needed, only where its tensors lie."""
        self.require(workload, memory)
        formula = workload.formula()
        assert formula is not None
        fitted = self.fitted(workload, memory)
        return scribe(_written(fitted, schedule(formula, _layout(formula))))

    def count(self, workload: Workload, memory: int) -> Report:
        """Return exact counts by the tally, at any scale, without a DAG."""
        self.require(workload, memory)
        formula = workload.formula()
        assert formula is not None
        fitted = self.fitted(workload, memory)
        counts = tally(_written(fitted, schedule(formula)))
        return Report(
            workload=str(workload),
            strategy=str(self),
            memory=memory,
            rules=HK,
            loads=counts.loads,
            stores=counts.stores,
            computes=counts.computes,
            recomputes=counts.computes - formula.computed_size(),
            peak_red=counts.peak if formula.pairs is None else _height(fitted, workload),
            moves=counts.moves,
            tensors={name: Traffic(*row) for name, row in counts.tensors.items() if row != [0, 0]},
        )

    def closed_form(self, workload: Workload, memory: int | None = None) -> ClosedForm:
        """Return the symbolic count.

        Parameters
        ----------
        workload : Workload
            Its sizes do not matter, except to choose between texts at M.
        memory : int, optional
            Where a phase has several texts, the one played at this M is taken; the first by
            default.
        """
        from strategies.closed_form import closed_form

        self._check(workload)
        if getattr(workload, "block", None) is not None:
            raise RefusalError(
                f"{self} on {workload} has no closed form: with softmax=online the blocks are part "
                "of the DAG, and are counted one by one; without it the traffic is nearly the same"
            )
        names = None
        if memory is not None:
            names = [phase.name for phase, _ in self.fitted(workload, memory)]
        return closed_form(self, workload, names)

    # -- inside ----------------------------------------------------------------------------------

    def _check(self, workload: Workload) -> None:
        reason = self.refusal(workload)
        if reason is not None:
            raise RefusalError(f"{self} does not play {workload}: {reason}")

    def _phases(self, workload: Workload) -> list[Choice]:
        formula = workload.formula()
        assert formula is not None
        return self.phases(workload, formula)


def _written(fitted: list[tuple[Phase, dict[str, int]]], schedule: Schedule) -> Schedule:
    """Write the phases at their sizes."""
    for phase, sizes in fitted:
        phase.text(schedule, **phase.fixed, **sizes)
    return schedule


def _height(fitted: list[tuple[Phase, dict[str, int]]], workload: Workload) -> int:
    """Return the red pebbles of the dense workload at the same sizes: no fewer than needed."""
    formula = _dense(workload).formula()
    assert formula is not None
    return max(int(phase.counts(formula, sizes).peak) for phase, sizes in fitted)


def _dense(workload: Workload) -> Workload:
    """Return the workload that tile sizes are fitted on: without its mask."""
    if workload.pairs() is None:
        return workload
    # A row's only term is copied under a mask: with two tokens at least there is room for that.
    return replace(workload, mask="none", n=max(2, workload.sizes()["n"]))  # type: ignore[call-arg]


def _layout(formula: Formula) -> Layout:
    from graphs.layout import Layout
    from graphs.masked import MaskedLayout

    return (Layout if formula.pairs is None else MaskedLayout).of(formula)


def _capable(what: str) -> str:
    """Name the tile strategies that can do something, in words."""
    from strategies.registry import strategies

    return ", ".join(cls.name for cls in strategies() if getattr(cls, what, False))


@lru_cache(maxsize=512)
def _candidates(strategy: TileStrategy, workload: Workload, phase: int, choice: int) -> Candidates:
    formula = workload.formula()
    assert formula is not None
    return Candidates(strategy.phases(workload, formula)[phase][choice], formula)


@lru_cache(maxsize=512)
def _least_paper(strategy: TileStrategy, workload: Workload) -> int:
    """Return the M from which on the printed sizes always fit; they grow with M in steps."""
    formula = workload.formula()
    assert formula is not None
    if 64 * int(formula.computed_size()) >= 1 << 63:
        raise RefusalError(
            f"{strategy} on {workload}: printed sizes are not looked for at this scale: "
            "take smaller sizes, or sizes=fit"
        )
    starts = strategy.paper_steps(workload)
    sizes = strategy.paper_sizes(workload, starts)
    assert sizes is not None
    peak = np.zeros(starts.size, np.int64)
    for (phase,) in strategy.phases(workload, formula):
        named = {tile.name: sizes[tile.name] for tile in phase.free()}
        peak = np.maximum(peak, phase.counts(formula, named).peak)
    ends = np.append(starts[1:], np.iinfo(np.int64).max)
    return int(np.where(peak > starts, np.minimum(peak, ends), 1).max())
