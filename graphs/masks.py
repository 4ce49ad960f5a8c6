"""Masks: which keys j a query i attends to.

A mask is kept by rows and by columns as groups of equal lines, each a list of intervals, so that a
causal or window mask of a million tokens takes some megabytes, and a mask of scattered entries
takes memory in proportion to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pebble.errors import GraphError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Lines", "Mask", "mask"]

Integers = npt.NDArray[np.int64]

#: Most entries that a mask of scattered entries may have.
MOST_ENTRIES = 1 << 25


@dataclass(frozen=True, eq=False)
class Lines:
    """The rows (or the columns) of a mask: groups of equal lines, each some intervals.

    Attributes
    ----------
    starts : int64 array, shape (G + 1,)
        Group g holds the lines ``starts[g]`` to ``starts[g + 1] - 1``.
    ptr : int64 array, shape (G + 1,)
        Its intervals are numbers ``ptr[g]`` to ``ptr[g + 1] - 1``.
    low, high : int64 arrays
        The intervals ``low <= x < high``: disjoint, ascending, none empty.
    """

    starts: Integers
    ptr: Integers
    low: Integers
    high: Integers

    @cached_property
    def sizes(self) -> Integers:
        """Number of lines of each group."""
        return np.diff(self.starts)

    @cached_property
    def counts(self) -> Integers:
        """Number of entries in each line, by group."""
        before = np.concatenate([[0], np.cumsum(self.high - self.low)])
        counts: Integers = before[self.ptr[1:]] - before[self.ptr[:-1]]
        return counts

    def each(self, values: Integers) -> Integers:
        """Repeat values given by group for every line."""
        return np.repeat(values, self.sizes)

    def ends(self) -> tuple[Integers, Integers, Integers]:
        """Return the first, second and last entry of each line; -1 where there is no second."""
        first, last = self.low[self.ptr[:-1]], self.high[self.ptr[1:] - 1] - 1
        inside = self.high[self.ptr[:-1]] - first > 1
        after = np.minimum(self.ptr[:-1] + 1, len(self.low) - 1)
        second = np.where(inside, first + 1, self.low[after])
        second = np.where(self.counts > 1, second, -1)
        return self.each(first), self.each(second), self.each(last)

    def touched(self, size: int) -> tuple[Integers, Integers]:
        """Return how many blocks of ``size`` values each group's lines meet.

        Returns
        -------
        blocks, leading : int64 arrays, one value a group
            The number of blocks, and the number of entries in the first of them.
        """
        from graphs._mask_kernels import touched

        blocks, leading = touched(self.ptr, self.low, self.high, size)
        return blocks, leading

    def entries(self) -> tuple[Integers, Integers]:
        """Return every entry: where each line begins, and the values line after line."""
        counts = self.each(self.counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        lengths = self.high - self.low
        group = _spans(self.low, lengths)
        if np.all(self.sizes == 1):
            return indptr, group
        begins = np.concatenate([[0], np.cumsum(self.counts)])[:-1]
        return indptr, group[_spans(self.each(begins), counts)]


def _spans(low: Integers, lengths: Integers) -> Integers:
    """Return ``low[x], low[x] + 1, ...`` for ``lengths[x]`` values, span after span."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    starts: Integers = np.repeat(low - (ends - lengths), lengths)
    return np.arange(total, dtype=np.int64) + starts


@dataclass(frozen=True, eq=False)
class Mask:
    """Which of the n x n scores are formed.

    Attributes
    ----------
    text : str
        As it was asked for.
    n : int
        Sequence length.
    rows, columns : Lines
        The keys of each query, and the queries of each key.

    Examples
    --------
    >>> m = mask("window-1", 4)
    >>> m.pairs
    10
    >>> m.array().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """

    text: str
    n: int
    rows: Lines
    columns: Lines

    @cached_property
    def pairs(self) -> int:
        """Number of entries (i, j)."""
        return int(np.sum(self.rows.counts * self.rows.sizes))

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of the pairs, 16 hexadecimal digits."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.rows.starts, self.rows.ptr, self.rows.low, self.rows.high):
            digest.update(np.ascontiguousarray(array, np.int64).data)
        return digest.hexdigest()

    @cached_property
    def csr(self) -> tuple[Integers, Integers]:
        """Where each row begins, and the keys of row after row."""
        return self.rows.entries()

    @cached_property
    def csc(self) -> tuple[Integers, Integers, Integers]:
        """Where each column begins, the queries of column after column, and each entry's place.

        The place is the entry's number in row order.
        """
        indptr, keys = self.csr
        queries = np.repeat(np.arange(self.n), np.diff(indptr))
        order = np.argsort(keys, kind="stable")
        begins = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=self.n))])
        return begins, queries[order], order

    def array(self) -> npt.NDArray[np.bool_]:
        """Return the n x n array."""
        indptr, keys = self.csr
        out = np.zeros((self.n, self.n), bool)
        out[np.repeat(np.arange(self.n), np.diff(indptr)), keys] = True
        return out


@lru_cache(maxsize=64)
def mask(text: str, n: int) -> Mask:
    """Read a mask's text form for a sequence of n tokens.

    Parameters
    ----------
    text : str
        ``causal`` (j <= i), ``window-W`` (j from i - W to i + W), ``causal-window-W``,
        ``random-P-seed-S`` (each entry with probability P, and the diagonal), ``block-B-WHICH``
        (blocks of B x B tokens: WHICH is ``random-P-seed-S``, ``butterfly`` or a file), or a file
        with an n x n matrix whose nonzeros are kept: Matrix Market, .npz or .npy.
    n : int
        Sequence length.

    Raises
    ------
    SpecError
        If the text does not read.
    GraphError
        If the mask has another shape, or an empty row or column.

    Examples
    --------
    >>> mask("causal", 1 << 20).pairs
    549756338176
    """
    words = text.split("-")
    if text == "causal":
        made = _bands(text, n, np.zeros(n, np.int64), np.arange(1, n + 1))
    elif words[0] == "window" and len(words) == 2:
        made = _band(text, n, _whole(text, words[1], 0), _whole(text, words[1], 0))
    elif text.startswith("causal-window-") and len(words) == 3:
        made = _band(text, n, _whole(text, words[2], 1) - 1, 0)
    elif words[0] == "block" and len(words) > 2:
        made = _blocks(text, n, _whole(text, words[1], 1), "-".join(words[2:]))
    elif (entries := _scattered(text, text, n)) is not None:
        made = _from_entries(text, n, entries)
    else:
        raise SpecError(
            f"unknown mask {text!r}: expected causal, window-W, causal-window-W, random-P-seed-S, "
            "block-B-random-P-seed-S, block-B-butterfly, block-B-FILE, or a .npz, .npy or .mtx file"
        )
    for lines, word, why in (
        (made.rows, "row", "its softmax would divide by zero"),
        (made.columns, "column", "no query attends to that key"),
    ):
        empty = np.flatnonzero(lines.counts == 0)
        if empty.size:
            line = int(lines.starts[empty[0]])
            raise GraphError(f"mask {text}: {word} {line} is empty ({why}); give it an entry")
    return made


def _whole(text: str, word: str, least: int) -> int:
    if not word.isdecimal() or int(word) < least:
        raise SpecError(f"mask {text!r}: expected a whole number >= {least}, got {word!r}")
    return min(int(word[:40]), 1 << 40)  # wider than any sequence, and far from 64 bits


def _lines(low: Integers, high: Integers) -> Lines:
    """Return lines of one interval each, equal neighbours in one group."""
    new = np.flatnonzero(np.concatenate([[True], (np.diff(low) != 0) | (np.diff(high) != 0)]))
    groups = np.arange(len(new) + 1, dtype=np.int64)
    return Lines(np.append(new, len(low)), groups, low[new], high[new])


def _bands(text: str, n: int, low: Integers, high: Integers) -> Mask:
    """Return a mask of one interval a row whose bounds ascend."""
    line = np.arange(n)
    # Column j is met by the rows whose interval has begun, and has not ended yet.
    first = np.searchsorted(high, line, side="right")
    last = np.searchsorted(low, line, side="right")
    return Mask(text, n, _lines(low, high), _lines(first, last))


def _band(text: str, n: int, before: int, after: int) -> Mask:
    line = np.arange(n)
    low, high = np.maximum(line - before, 0), np.minimum(line + after + 1, n)
    return _bands(text, n, low, high)


#: Entries by row order: rows and columns.
Entries = tuple[Integers, Integers]


def _blocks(text: str, n: int, size: int, which: str) -> Mask:
    tiles = -(-n // size)
    if which == "butterfly":
        near = np.arange(tiles)
        steps = [0, *(1 << x for x in range(max(tiles - 1, 1).bit_length()))]
        pairs = np.concatenate([np.stack([near, near ^ step]) for step in steps], axis=1)
        pairs = np.unique(pairs[:, pairs[1] < tiles], axis=1)
        entries: Entries | None = (pairs[0], pairs[1])
    else:
        entries = _scattered(text, which, tiles)
    if entries is None:
        raise SpecError(
            f"mask {text!r}: expected random-P-seed-S, butterfly or a file after block-{size}-, "
            f"got {which!r}"
        )
    i, j = entries

    def lines(line: Integers, value: Integers) -> Lines:
        starts = np.minimum(np.arange(tiles + 1) * size, n)
        ptr = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=tiles))])
        return _joined(starts, ptr, value * size, np.minimum((value + 1) * size, n))

    return Mask(text, n, lines(i, j), lines(*_turned(i, j, tiles)))


def _turned(i: Integers, j: Integers, n: int) -> Entries:
    """Return the entries column after column."""
    import scipy.sparse

    # scipy turns rows into columns by counting, in time linear in the entries.
    begins = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=n))])
    turned = scipy.sparse.csr_array((np.ones(len(j), bool), j, begins), shape=(n, n)).tocsc()
    columns = np.repeat(np.arange(n), np.diff(turned.indptr).astype(np.int64))
    return columns, turned.indices.astype(np.int64)


def _joined(starts: Integers, ptr: Integers, low: Integers, high: Integers) -> Lines:
    """Join intervals of one line that touch."""
    if low.size == 0:
        return Lines(starts, ptr, low, high)
    line = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    opens = np.concatenate([[True], (low[1:] != high[:-1]) | (np.diff(line) != 0)])
    begin = np.flatnonzero(opens)
    end = np.append(begin[1:], len(low)) - 1
    ptr = np.concatenate([[0], np.cumsum(np.bincount(line[begin], minlength=len(ptr) - 1))])
    return Lines(starts, ptr, low[begin], high[end])


def _from_entries(text: str, n: int, entries: Entries) -> Mask:
    def lines(line: Integers, value: Integers) -> Lines:
        ptr = np.concatenate([[0], np.cumsum(np.bincount(line, minlength=n))])
        return _joined(np.arange(n + 1), ptr, value, value + 1)

    i, j = entries
    return Mask(text, n, lines(i, j), lines(*_turned(i, j, n)))


def _scattered(text: str, which: str, n: int) -> Entries | None:
    """Return the entries that a random or a file mask keeps, in row order; None for others."""
    words = which.split("-seed-")
    if which.startswith("random-"):
        if len(words) != 2:
            raise SpecError(f"mask {text!r}: expected random-P-seed-S, as random-0.1-seed-3")
        return _random(text, n, words[0].removeprefix("random-"), _whole(text, words[1], 0))
    reader = _READERS.get(Path(which).suffix)
    return None if reader is None else _file(text, Path(which), n, reader)


def _random(text: str, n: int, probability: str, seed: int) -> Entries:
    try:
        p = float(probability)
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise SpecError(f"mask {text!r}: expected a probability from 0 to 1, got {probability!r}")
    if p * n * n > MOST_ENTRIES:
        raise GraphError(
            f"mask {text} of {n:,} tokens would have about {p * n * n:.3g} entries, and scattered "
            f"entries are kept one by one, up to {MOST_ENTRIES:,}: take a smaller probability"
        )
    rng = np.random.default_rng(seed)
    kept = [np.arange(n, dtype=np.int64) * (n + 1)]
    kept.extend(_gaps(rng, p, n * n))
    # A stable sort merges runs that are in order, which takes linear time.
    place = np.sort(np.concatenate(kept), kind="stable")
    place = place[np.concatenate([[True], np.diff(place) != 0])]
    return place // n, place % n


def _gaps(rng: np.random.Generator, p: float, end: int) -> Iterator[Integers]:
    """Yield the places below ``end`` that are kept with probability p, by their gaps."""
    if p == 0:
        return
    last = -1
    while last < end:
        places = last + np.cumsum(rng.geometric(p, size=int(min(p * end, 1 << 22)) + 64))
        yield places[places < end]
        last = int(places[-1])


def _file(text: str, path: Path, n: int, read: Callable[[Path], Any]) -> Entries:
    import scipy.sparse

    try:
        matrix = scipy.sparse.coo_array(read(path))
    except FileNotFoundError:
        raise GraphError(f"mask {text}: there is no file {path}") from None
    except Exception as error:  # noqa: BLE001 - a damaged file raises whatever its reader stumbles on
        raise GraphError(f"mask {text}: {path} does not read as a matrix: {error}") from None
    if matrix.shape != (n, n):
        shape = " x ".join(map(str, matrix.shape))
        raise GraphError(f"mask {text}: expected a matrix of {n} x {n}, {path} holds {shape}")
    if not np.isfinite(matrix.data).all():
        raise GraphError(
            f"mask {text}: {path} has entries that are no finite numbers; nonzeros are kept, so "
            "that an additive mask of 0 and -inf has to be turned into ones and zeros first"
        )
    i, j = (np.asarray(axis, np.int64)[matrix.data != 0] for axis in matrix.coords)
    place = np.unique(i * n + j)
    return place // n, place % n


def _npz(path: Path) -> Any:
    import scipy.sparse

    with np.load(path, allow_pickle=False) as stored:
        names = list(stored)
        if "format" not in names:
            if len(names) != 1:
                raise ValueError(f"expected one array or a sparse matrix, got {names}")
            return stored[names[0]]
    return scipy.sparse.load_npz(path)


def _npy(path: Path) -> Any:
    return np.load(path, allow_pickle=False)


def _mtx(path: Path) -> Any:
    import scipy.io

    if not path.exists():  # mmread would say so in its own words
        raise FileNotFoundError
    return scipy.io.mmread(path)


_READERS: dict[str, Callable[[Path], Any]] = {".npz": _npz, ".npy": _npy, ".mtx": _mtx}
