"""Runs a compiled search: memory for its states, time, progress, and the path to its goal."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from strategies.optimum import _space
from strategies.optimum.symmetry import weights

if TYPE_CHECKING:
    from strategies.optimum.instance import Instance

__all__ = ["Engine", "Limits", "Step"]

#: A large piece of work between two looks at the clock, in children made.
_SLICE = 1 << 17


@dataclass
class Limits:
    """What a search may use, shared by the searches of one call of `solve`.

    Attributes
    ----------
    deadline : float or None
        ``time.monotonic()`` at which to stop.
    bytes : int
        Memory for states.
    progress : callable or None
        Called between slices with the number of states stored so far.
    """

    deadline: float | None
    bytes: int
    progress: Callable[[int], None] | None = None
    states: int = 0
    parent: Limits | None = None

    def count(self, states: int) -> None:
        """Report states stored."""
        self.states += states
        if self.parent is not None:
            self.parent.count(states)
        elif self.progress is not None:
            self.progress(self.states)

    def is_over(self) -> bool:
        """Whether time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass(frozen=True)
class Step:
    """One step of a path: a compute with its evictions, and the computes that follow for free.

    ``victims`` are (vertex, is stored first, is an operand slid over); vertices are the
    instance's.
    """

    vertex: int
    victims: tuple[tuple[int, bool, bool], ...]
    forced: tuple[int, ...]


class Engine:
    """One search over packed states: A* by buckets of f, or a beam.

    Parameters
    ----------
    instance : Instance
        The game.
    again : bool
        Recomputation, or each vertex once.
    ceiling : int
        Only plays whose cost above the root's estimate is less than this are looked for.
    limits : Limits
        Time and memory.
    beam : int
        0 for a full search; otherwise how many states to keep of each level (number of vertices
        computed), which finds good plays but proves nothing. One-shot only.
    root : uint64 array, optional
        The state to start from, packed; by default nothing is computed and nothing red.
    estimate : int, optional
        A lower bound of the cost from the root on, which ``ceiling`` and all results are counted
        from; by default the compulsory moves.
    final : int
        An output that must be computed last, after everything else; -1 for none.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        again: bool,
        ceiling: int,
        limits: Limits,
        beam: int = 0,
        root: npt.NDArray[np.uint64] | None = None,
        estimate: int | None = None,
        final: int = -1,
    ) -> None:
        if again:
            from strategies.optimum._again import search
        else:
            from strategies.optimum._once import search
        self.instance, self.again, self.limits, self.beam = instance, again, limits, beam
        self._search = search
        rules = instance.rules
        least = instance.compulsory() if estimate is None else estimate
        self._rules = (rules.sliding, rules.unstored_outputs, least, final)
        self.layout = instance.layout(again=again)
        self.graph = instance.arrays(self.layout)
        self.group = instance.automorphisms(1 if beam or final >= 0 else 2048)
        self.symmetry = weights(self.group, self.layout)
        self.mask = _mask(self.layout.first_dirty, self.layout.words)
        self.control = np.zeros(_space.CONTROLS, np.int64)
        self.control[_space.GOAL] = -1
        self.control[_space.CEILING] = min(ceiling, _space.DEAD)
        self.control[_space.BEAM] = beam
        self.control[_space.WIDTH] = max(1, min(ceiling, _space.DEAD))
        levels = instance.size + 1 if beam else 1
        self.space = _space_of(1 << 12, self.layout.words, levels * int(self._width))
        self._enter_root(np.zeros(self.layout.words, np.uint64) if root is None else root)

    @property
    def _width(self) -> int:
        return int(self.control[_space.WIDTH])

    def _enter_root(self, root: npt.NDArray[np.uint64]) -> None:
        level = int(self.instance.given.sum()) * self._width if self.beam else 0
        _space.insert(self.space, self.control, self.mask, root, 0, 0, level, -1)

    # -- results -------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        """Number of states stored."""
        return int(self.control[_space.COUNT])

    @property
    def lower(self) -> int:
        """No play costs less than this above the root's estimate (or than the ceiling)."""
        return min(int(self.control[_space.BUCKET]), int(self.control[_space.CEILING]))

    @property
    def found(self) -> int | None:
        """Cost above the root's estimate of the best play found, if any."""
        goal = int(self.control[_space.GOAL])
        return None if goal < 0 else int(self.control[_space.CEILING])

    # -- running -------------------------------------------------------------------------------

    def run(self) -> str:
        """Search until finished; return "" then, or what stopped the search: time or memory."""
        target = np.zeros(self.layout.words, np.uint64)
        log = np.zeros(1, np.int32)
        budget = _SLICE
        before = self.states
        while True:
            expanded = int(self.control[_space.EXPANDED])
            self.control[_space.BUDGET] = budget
            answer = self._search(
                self.graph, self.symmetry, self.space, self.control, self.mask,
                min(self.instance.memory, self.instance.size + 1),
                self._rules, -1, target, log,
            )  # fmt: skip
            self.limits.count(self.states - before)
            before = self.states
            if answer == _space.EMPTY:
                return ""
            if answer == _space.FULL and not self._grow():
                return "memory"
            if self.limits.is_over():
                return "time"
            if answer == _space.PAUSED and int(self.control[_space.EXPANDED]) <= expanded + 1:
                budget *= 4  # a single state has more children than the slice allows

    def _grow(self) -> bool:
        """Double the room for states; return whether memory allows it."""
        *old, _, head = self.space
        now = len(old[1])
        size = min(2 * now, (1 << 31) - 1)
        words = self.layout.words
        per_state = 8 * words + 2 + 2 + 4 + 4
        room = self.limits.bytes // (per_state + 4 * 2)
        size = min(size, room)
        if size < now + now // 8:
            return False
        count = self.states
        self.space = ()
        grown: list[npt.NDArray[Any]] = []
        while old:
            grown.append(_longer(old.pop(0), size))
        table = np.full(_power(size * 3 // 2), -1, np.int32)
        _space.rehash(grown[0], grown[2], self.mask, count, table)
        self.space = (*grown, table, head)
        return True

    # -- the play found --------------------------------------------------------------------------

    def path(self) -> list[Step]:
        """Return the steps of the best play found, in the instance's own numbering."""
        keys, gs, parents = self.space[0], self.space[1], self.space[3]
        chain = [int(self.control[_space.GOAL])]
        while parents[chain[-1]] >= 0:
            chain.append(int(parents[chain[-1]]))
        chain.reverse()
        name = np.arange(self.instance.size)  # from the representatives' numbering to ours
        inverse = [np.argsort(row) for row in self.group]
        steps = []
        for before, after in itertools.pairwise(chain):
            step, which = self._step(before, keys[after], int(gs[after]))
            victims = tuple((int(name[v]), stored, slid) for v, stored, slid in step.victims)
            forced = tuple(int(name[v]) for v in step.forced)
            steps.append(Step(int(name[step.vertex]), victims, forced))
            name = name[inverse[which]]
        return steps

    def _step(self, before: int, target: npt.NDArray[np.uint64], g: int) -> tuple[Step, int]:
        """Expand a state again, to learn how it led to the state ``target``."""
        control = self.control.copy()
        control[_space.CEILING] = g + 1
        log = np.zeros(8 * self.instance.size + 16, np.int32)
        answer = self._search(
            self.graph, self.symmetry, self.space, control, self.mask,
            min(self.instance.memory, self.instance.size + 1),
            self._rules, before, target, log,
        )  # fmt: skip
        assert answer == _space.FOUND, "a state on the path cannot be reached from its parent"
        words = log.tolist()
        which, vertex, k = words[0], words[1], words[2]
        victims = []
        for code in words[3 : 3 + k]:
            v, stored, slid = code >> 2, bool(code & 1), bool(code & 2)
            victims.append((v, stored, slid))
        count = words[3 + k]
        return Step(vertex, tuple(victims), tuple(words[4 + k : 4 + k + count])), which


def _mask(first_dirty: int, words: int) -> npt.NDArray[np.uint64]:
    mask = [min(max(first_dirty - 64 * k, 0), 64) for k in range(words)]
    return np.array([(1 << bits) - 1 for bits in mask], np.uint64)


def _space_of(size: int, words: int, buckets: int) -> tuple[Any, ...]:
    return (
        np.empty((size, words), np.uint64),
        np.empty(size, np.uint16),
        np.empty(size, np.uint16),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.full(_power(size * 3 // 2), -1, np.int32),
        np.full(buckets, -1, np.int32),
    )


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    longer = np.empty((size, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _power(size: int) -> int:
    return 1 << max(4, size.bit_length())
