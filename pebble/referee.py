"""The referee: replays packed moves in compiled code and is the only source of counts."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pebble import _replay
from pebble.errors import InvalidMoveError
from pebble.legality import Violation, unfinished, violation
from pebble.moves import MAX_VERTICES, VERTEX_MASK, Moves
from pebble.report import Report, Traffic
from pebble.rules import HK, Rules
from pebble.timeline import Sampler

if TYPE_CHECKING:
    from pebble._replay_partial import Board
    from pebble.dag import Dag

__all__ = ["Replay", "referee"]

#: Moves per call of the kernel: a compiled loop hears neither Ctrl-C nor a progress bar.
_SLICE = 1 << 24


class Replay:
    """A play under way, fed with packed moves as they come.

    Parameters
    ----------
    dag : Dag
        The graph played on.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions; default Hong and Kung's.

    Raises
    ------
    BudgetError
        If M is less than the DAG can be played with under the rules.

    Notes
    -----
    One byte of state per vertex, beside the DAG itself. Between two calls of `feed` the counts
    (`step`, `loads`, `stores`, `red_count`, ...) may be read, to sample a timeline.

    Examples
    --------
    >>> import numpy as np
    >>> from pebble import Dag, LOAD, COMPUTE, STORE
    >>> from pebble.moves import pack
    >>> replay = Replay(Dag.from_predecessors([[], [], [0, 1]]), 3)
    >>> replay.feed(pack(LOAD, [0, 1]))
    >>> replay.red_count
    2
    >>> replay.feed(np.concatenate([pack(COMPUTE, [2]), pack(STORE, [2])]))
    >>> replay.finish().io
    3
    """

    def __init__(self, dag: Dag, memory: int, rules: Rules = HK) -> None:
        self.dag = dag
        self.rules = rules
        self.memory = rules.check_memory(dag, memory)
        self.step = 0
        self._state = np.zeros(len(dag), np.uint8)
        if not rules.free_inputs:
            self._state[dag.inputs] = _replay.FIXED | _replay.BLUE
        self._counters = np.zeros(_replay.COUNTERS, np.int64)
        self._counters[_replay.OVERFULL] = -1
        self._traffic = np.zeros((len(dag.tensors), 2), np.int64)
        again = _replay.COMPUTED if rules.one_shot else 0
        self._masks = (
            np.uint8(_replay.RED | _replay.FIXED | again),
            np.uint8(0xFF ^ _replay.BLUE if rules.moving_loads else 0xFF),
            np.uint8(_replay.RED | (_replay.BLUE if rules.no_deletion else 0)),
            rules.sliding,
        )
        self._board: Board | None = None
        if rules.partial:
            from pebble._replay_partial import Board

            self._board = Board(dag)

    # -- position ----------------------------------------------------------------------------

    def _count(self, place: int) -> int:
        return int(self._counters[place])

    @property
    def loads(self) -> int:
        """Number of LOAD moves made."""
        return self._count(_replay.LOADS)

    @property
    def stores(self) -> int:
        """Number of STORE moves made."""
        return self._count(_replay.STORES)

    @property
    def io(self) -> int:
        """Loads and stores together."""
        return self.loads + self.stores

    @property
    def computes(self) -> int:
        """Number of COMPUTE moves made."""
        return self._count(_replay.COMPUTES)

    @property
    def recomputes(self) -> int:
        """Number of COMPUTE moves on vertices computed before."""
        return self._count(_replay.RECOMPUTES)

    @property
    def red_count(self) -> int:
        """Number of red vertices."""
        return self._count(_replay.RED_COUNT)

    @property
    def peak_red(self) -> int:
        """Most red vertices so far."""
        return self._count(_replay.PEAK_RED)

    @property
    def overfull(self) -> int:
        """Under sliding, the vertex whose COMPUTE just made M + 1 red; otherwise -1."""
        return self._count(_replay.OVERFULL)

    def is_red(self, vertex: int) -> bool:
        """Whether a vertex is red."""
        return bool(self._state[vertex] & _replay.RED)

    def is_blue(self, vertex: int) -> bool:
        """Whether a vertex is blue."""
        return bool(self._state[vertex] & _replay.BLUE)

    def is_computed(self, vertex: int) -> bool:
        """Whether a vertex has been computed at some time."""
        return bool(self._state[vertex] & _replay.COMPUTED)

    @property
    def traffic(self) -> npt.NDArray[np.int64]:
        """Loads and stores so far of each of ``dag.tensors``, shape (tensors, 2)."""
        return self._traffic

    def absorbed(self, vertex: int, where: int) -> AbstractSet[int]:
        """Return the operands that a vertex has absorbed, under partial computation."""
        return frozenset() if self._board is None else self._board.absorbed(vertex, where)

    def tensors(self) -> dict[str, Traffic]:
        """Return the loads and stores of each tensor so far, by name."""
        traffic: dict[str, Traffic] = {}
        pairs = zip(self.dag.tensors, self._traffic.tolist(), strict=True)
        for tensor, (loads, stores) in pairs:
            before = traffic.get(tensor.name, Traffic(0, 0))
            traffic[tensor.name] = Traffic(before.loads + loads, before.stores + stores)
        return traffic

    # -- play --------------------------------------------------------------------------------

    def feed(self, moves: Moves) -> None:
        """Make packed moves.

        Raises
        ------
        IllegalMoveError
            At the first illegal move, explained; the replay then stands before that move.
        InvalidMoveError
            If the array does not hold packed moves.
        """
        refusal = self.advance(moves)
        if refusal is not None:
            raise refusal.error()

    def advance(self, moves: Moves) -> Violation | None:
        """Make packed moves as far as they are legal; return what stopped them, if anything."""
        moves = _packed(moves)
        arrays = (
            moves,
            self.dag.indptr,
            self.dag.predecessors,
            self._state,
            self._counters,
            self.dag.block_starts,
            self._traffic,
            min(self.memory, MAX_VERTICES),  # a larger M changes nothing
        )
        if self._board is None:
            made = _replay.replay(*arrays, self._masks)
        else:
            from pebble import _replay_partial

            rules = self.rules
            switches = (rules.one_shot, rules.moving_loads, rules.no_deletion)
            made = _replay_partial.replay(*arrays, switches, self._board.arrays)
        self.step += made
        if made == moves.size:
            return None
        move = int(moves[made])
        refusal = violation(self, move >> 30, move & VERTEX_MASK)
        assert refusal is not None, "kernel and Game disagree on the rules"
        return refusal

    def unfinished(self) -> Violation | None:
        """Say why the play may not end here; None when it may."""
        rules, state, outputs = self.rules, self._state, self.dag.outputs
        computed = _replay.COMPUTED | _replay.FIXED
        wanted = computed if rules.unstored_outputs else _replay.BLUE
        lacking = state[outputs] & wanted == 0
        if self._board is not None and not rules.unstored_outputs:
            lacking |= self._board.slow_lacks[outputs] > 0  # what is blue is no whole value yet
        missing = outputs[lacking]
        if rules.complete:
            missing = np.union1d(missing, np.flatnonzero(state & computed == 0))
        return unfinished(self, missing)

    def finish(self, workload: str = "", strategy: str = "") -> Report:
        """End the play and return its counts.

        Raises
        ------
        IllegalMoveError
            With rule ``end`` if an output is not blue yet.
        """
        refusal = self.unfinished()
        if refusal is not None:
            raise refusal.error()
        return Report(
            workload=workload or self.dag.source,
            strategy=strategy,
            memory=self.memory,
            rules=self.rules,
            loads=self.loads,
            stores=self.stores,
            computes=self.computes,
            recomputes=self.recomputes,
            peak_red=self.peak_red,
            moves=self.step,
            tensors=self.tensors(),
        )


def referee(
    dag: Dag,
    chunks: Moves | Iterable[Moves],
    memory: int,
    rules: Rules = HK,
    *,
    workload: str = "",
    strategy: str = "",
    progress: Callable[[int], None] | None = None,
    timeline: int | None = None,
) -> Report:
    """Replay a whole play and return its counts.

    Parameters
    ----------
    dag : Dag
        The graph played on.
    chunks : array or iterable of arrays
        Packed moves (`pebble.moves.pack`), streamed.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions; default Hong and Kung's.
    workload, strategy : str
        What the report says of the play's origin; ``dag.source`` by default.
    progress : callable, optional
        Called now and then with the number of moves judged so far.
    timeline : int, optional
        Keep the counts of at most so many moments (2 or more) as ``timeline`` of the report.

    Returns
    -------
    Report
        Exact counts of a legal, finished play.

    Raises
    ------
    IllegalMoveError
        At the first illegal move, or with rule ``end`` if the play ends too early; explained in
        the words of `Game.explain`.
    BudgetError
        If M is less than the DAG can be played with under the rules.
    SpecError
        If ``timeline`` is less than 2.

    Examples
    --------
    >>> from pebble import Dag, Move
    >>> from pebble.moves import pack
    >>> import numpy as np
    >>> dag = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"])
    >>> plan = np.concatenate([pack(0, [0, 1]), pack(2, [2]), pack(1, [2])])
    >>> referee(dag, plan, memory=3).io
    3
    >>> referee(dag, plan[:3], memory=3)
    Traceback (most recent call last):
    pebble.errors.IllegalMoveError: the play ends after 3 moves with output z not blue; ...
    """
    replay = Replay(dag, memory, rules)
    sampler = None if timeline is None else Sampler(replay, timeline)
    feed = replay.feed if sampler is None else sampler.feed
    for chunk in _sliced(chunks):
        feed(chunk)
        if progress is not None:
            progress(replay.step)
    report = replay.finish(workload, strategy)
    if sampler is None:
        return report
    return dataclasses.replace(report, timeline=sampler.finish())


def _sliced(chunks: Moves | Iterable[Moves]) -> Iterator[Moves]:
    for chunk in [chunks] if isinstance(chunks, np.ndarray) else chunks:
        if len(chunk) <= _SLICE:
            yield chunk
        else:
            yield from (chunk[i : i + _SLICE] for i in range(0, len(chunk), _SLICE))


def _packed(moves: Moves) -> Moves:
    array = np.asarray(moves)
    if array.ndim == 1 and array.dtype == np.uint32:
        return np.ascontiguousarray(array)
    if array.size == 0:
        return np.empty(0, np.uint32)
    raise InvalidMoveError(
        f"expected a one-dimensional uint32 array of packed moves, got {array.ndim} dimensions of "
        f"{array.dtype}: pack moves with pebble.moves.pack"
    )


class _Callable(ModuleType):
    """Lets ``pebble.referee(...)`` mean the function once this module, its namesake, is loaded.

    The import system sets the package's attribute ``referee`` to this module.
    """

    def __call__(self, *args: Any, **options: Any) -> Report:
        return referee(*args, **options)


sys.modules[__name__].__class__ = _Callable
