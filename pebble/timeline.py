"""Timeline: the counts of a play as they grow, sampled at bounded size while it is judged."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import SpecError

if TYPE_CHECKING:
    from pebble.moves import Moves
    from pebble.referee import Replay

__all__ = ["Sampler", "Timeline"]

_Counts: TypeAlias = npt.NDArray[np.int64]
_COLUMNS = ("moves", "loads", "stores", "computes", "red")


@dataclass(frozen=True, eq=False)
class Timeline:
    """Counts of a play after some of its moves: at the start, in equal steps, and at the end.

    Attributes
    ----------
    moves : int64 array, shape (N,)
        Number of moves made at each sample: multiples of a power of two, and the last move.
    loads, stores, computes : int64 arrays, shape (N,)
        Moves of each kind so far.
    red : int64 array, shape (N,)
        Number of red vertices; under sliding it may be M + 1 where a result has just come.
    tensors : dict of str to int64 array, shape (N, 2)
        Loads and stores so far of each tensor that has any.

    Examples
    --------
    >>> from pebble import Dag, referee
    >>> from pebble.moves import LOAD, STORE, COMPUTE, pack
    >>> dag = Dag.from_predecessors([[], [], [0, 1]])
    >>> play = [pack(LOAD, [0, 1]), pack(COMPUTE, [2]), pack(STORE, [2])]
    >>> print(referee(dag, play, 3, timeline=5).timeline)
    moves  computes  red  loads  stores  vertex
        0         0    0      0       0       0
        1         0    1      1       0       1
        2         0    2      2       0       2
        3         1    3      2       0       2
        4         1    3      2       1       3
    """

    moves: _Counts
    loads: _Counts
    stores: _Counts
    computes: _Counts
    red: _Counts
    tensors: Mapping[str, _Counts]

    @property
    def io(self) -> _Counts:
        """Loads and stores together, at each sample."""
        return self.loads + self.stores

    def __len__(self) -> int:
        return self.moves.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timeline) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """Return a dict of lists, one entry a sample."""
        columns: dict[str, Any] = {name: getattr(self, name).tolist() for name in _COLUMNS}
        columns["tensors"] = {
            name: {"loads": counts[:, 0].tolist(), "stores": counts[:, 1].tolist()}
            for name, counts in self.tensors.items()
        }
        return columns

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        tensors = {
            name: np.array([counts["loads"], counts["stores"]], np.int64).T
            for name, counts in data["tensors"].items()
        }
        columns = {name: np.array(data[name], np.int64) for name in _COLUMNS}
        return cls(**columns, tensors=tensors)

    def __str__(self) -> str:
        head = ["moves", "computes", "red", "loads", "stores", *self.tensors]
        each = [counts.sum(axis=1) for counts in self.tensors.values()]  # a tensor's I/O
        columns = [self.moves, self.computes, self.red, self.loads, self.stores, *each]
        texts = [
            [name, *(f"{count:,}" for count in column.tolist())]
            for name, column in zip(head, columns, strict=True)
        ]
        widths = [max(map(len, column)) for column in texts]
        return "\n".join(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in zip(*texts, strict=True)
        )


class Sampler:
    """Feeds a replay and keeps at most a given number of samples of its counts.

    Whenever the samples no longer fit, every other one is dropped and the step between them
    doubles: a play of any length ends with between half of them and all of them.

    Parameters
    ----------
    replay : Replay
        At its start.
    samples : int
        At most this many samples, 2 or more.

    Raises
    ------
    SpecError
        If ``samples`` is no such number.
    """

    def __init__(self, replay: Replay, samples: int) -> None:
        try:
            most = operator.index(samples)
        except TypeError:
            most = 0
        if most < 2 or isinstance(samples, bool):
            raise SpecError(f"a timeline has at least 2 samples, got {samples!r}")
        self._replay = replay
        self._step = 1
        self._most = most
        self._samples: list[tuple[list[int], _Counts]] = []
        self._sample()

    def feed(self, moves: Moves) -> None:
        """Make packed moves as `Replay.feed` does, in pieces that end at the samples."""
        replay, done = self._replay, 0
        while done < len(moves):
            piece = moves[done : done + self._step - replay.step % self._step]
            replay.feed(piece)
            done += len(piece)
            if replay.step % self._step == 0:
                self._thin()
                if replay.step % self._step == 0:  # still, now that the step may have doubled
                    self._sample()

    def _sample(self) -> None:
        r = self._replay
        counts = [r.step, r.loads, r.stores, r.computes, r.red_count]
        self._samples.append((counts, r.traffic.copy()))

    def _thin(self) -> None:
        if len(self._samples) == self._most:
            del self._samples[1::2]
            self._step *= 2

    def finish(self) -> Timeline:
        """Return the samples; the last is the position now."""
        if self._samples[-1][0][0] != self._replay.step:
            self._thin()
            self._sample()
        columns = np.array([counts for counts, _ in self._samples], np.int64).T
        traffic = np.array([booked for _, booked in self._samples])
        tensors: dict[str, _Counts] = {}
        for block, tensor in enumerate(self._replay.dag.tensors):
            if traffic[-1, block].any():  # blocks may share a name
                tensors[tensor.name] = tensors.get(tensor.name, 0) + traffic[:, block]
        moves, loads, stores, computes, red = columns
        return Timeline(moves, loads, stores, computes, red, tensors)
