"""What a schedule text handles: loops and steps, positions, ranges of indices, views of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pebble.errors import PebbleError

if TYPE_CHECKING:
    from graphs.expressions import Array, Size

__all__ = ["Affine", "Loop", "Named", "Range", "Step", "View", "equals", "whole"]


@dataclass(slots=True, eq=False)
class Loop:
    """``count`` rounds of ``body``; in round x, addresses move by x times their stride for it."""

    count: Size
    body: list[Loop | Step] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Step:
    """``count`` moves of one kind on a box of vertices of one tensor.

    Attributes
    ----------
    kind : int
        `LOAD`, `STORE`, `COMPUTE` or `DELETE`.
    owner : str
        Tensor that the vertices belong to.
    count : Size
        Number of vertices.
    base, strides, box
        First vertex, its stride for each enclosing loop, and (extent, stride) of each axis of the
        box. Meaningless where the schedule has no layout.
    """

    kind: int
    owner: str
    count: Size
    base: int
    strides: dict[Loop, int]
    box: tuple[tuple[int, int], ...]


class Affine:
    """A position: a constant and a multiple of each loop's round."""

    __slots__ = ("constant", "rounds")

    def __init__(self, constant: Size, rounds: dict[Loop, Size] | None = None) -> None:
        self.constant = constant
        self.rounds = rounds or {}

    def __add__(self, other: Size) -> Affine:
        return Affine(self.constant + other, self.rounds)

    def along(self, loop: Loop, step: Size) -> Affine:
        """Return the position that also moves by ``step`` in each round of ``loop``."""
        return Affine(self.constant, {**self.rounds, loop: step})

    def equals(self, value: int) -> bool:
        """Whether the position is this number, in every round of every loop.

        Only for ranges that have been asked whether they are first or last: the loop of a range
        that nobody asks may still come to stand for more tiles.
        """
        once = all(equals(loop.count, 1) for loop in self.rounds)
        return once and equals(self.constant, value)


class Range:
    """Some consecutive values of an index: a tile, or one value.

    Attributes
    ----------
    start : Affine
        First value.
    size : Size
        Number of values.
    first, last : bool
        Whether the range holds the first, the last value of the index. A loop whose body never
        asks visits all its full tiles as one class.
    """

    __slots__ = ("_first", "_last", "looked", "parent", "size", "start")

    def __init__(
        self, start: Affine, size: Size, first: bool, last: bool, parent: Range | None = None
    ) -> None:
        self.start = start
        self.size = size
        self._first, self._last, self.parent = first, last, parent
        self.looked = False

    @property
    def first(self) -> bool:
        """Whether the range holds the first value of the index."""
        self.looked = True
        return self._first and (self.parent is None or self.parent.first)

    @property
    def last(self) -> bool:
        """Whether the range holds the last value of the index."""
        self.looked = True
        return self._last and (self.parent is None or self.parent.last)


Where: TypeAlias = Range | slice


class Named:
    """An array of the formula as the text sees it: indexed by ranges it gives views."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, key: Where | tuple[Where, ...]) -> View:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != len(self.array.indices):
            raise PebbleError(f"{self.array.name} has {len(self.array.indices)} indices")
        return View(
            self.array,
            tuple(
                k if isinstance(k, Range) else whole(index.size)
                for k, index in zip(keys, self.array.indices, strict=True)
            ),
        )

    @property
    def size(self) -> tuple[Size, ...]:
        """Extents of the indices."""
        return self.array.shape


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Entries of an array; for a running sum, `before` or `after` some of its terms."""

    array: Array
    ranges: tuple[Range, ...]
    terms: Range | None = None
    done: bool = True

    def before(self, terms: Range) -> View:
        """The running sums as they stand before ``terms`` are added."""
        return View(self.array, self.ranges, terms, False)

    def after(self, terms: Range) -> View:
        """The running sums as they stand when ``terms`` have been added."""
        return View(self.array, self.ranges, terms, True)

    @property
    def size(self) -> Size:
        """Number of entries."""
        total: Size = 1
        for r in self.ranges:
            total = total * r.size
        return total


def whole(extent: Size) -> Range:
    """Return the range of all values of an index."""
    return Range(Affine(0), extent, True, True)


def equals(size: Size, value: int) -> bool:
    """Whether a size is this very number (and no array or symbol)."""
    return isinstance(size, int) and size == value
