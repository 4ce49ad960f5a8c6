"""Decomposition: disjoint pieces, each played at its own least I/O, add up to a bound.

True with recomputation when the pieces are solved with recomputation. Moves of a play concern one
vertex each: the moves on the vertices of one piece are a play of the piece, in which whatever lies
outside is there for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from bounds.dag_bound import Clock, Problem, Progress, induced
from pebble.rules import Rules

if TYPE_CHECKING:
    from fractions import Fraction

    from bounds.dag_bound import DagBound
    from pebble.dag import Dag

__all__ = ["Solver", "decomposition", "grown_pieces"]

ELANGO = "Elango, Rastello, Pouchet, Ramanujam, Sadayappan, POPL 2015"

Piece = npt.NDArray[np.int64]

#: Most vertices of a piece: solved in an instant, and within a time budget.
SIZES = (8, 12, 16, 20)
LARGE_SIZES = (28, 36)


class Answer(Protocol):
    """What a solver returns."""

    @property
    def lower(self) -> int | Fraction:
        """No play makes fewer loads and stores."""


#: Called with a DAG, M, rules and keyword ``time`` in seconds (or None).
Solver = Callable[..., Answer]


class _Solved:
    """Pieces solved so far; equal pieces are solved once."""

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self.problem, self.solver = problem, solver
        self._known: dict[bytes, int] = {}
        self._scratch = np.full(len(problem.dag), -1, np.int64)
        self._stored = np.zeros(len(problem.dag), bool)
        self._stored[problem.stored] = True

    def lower(self, piece: Piece, clock: Clock) -> int:
        """Least I/O on the vertices of one piece, or the bound that the solver reached."""
        problem = self.problem
        alone = induced(problem.dag, piece, outputs=self._stored, scratch=self._scratch)
        used = np.zeros(len(alone), bool)
        used[alone.predecessors] = True
        # An input without a successor in the piece still has one elsewhere, so it is loaded.
        idle = problem.is_input[piece] & ~used
        loads = int(np.count_nonzero(idle & (problem.out_degrees[piece] > 0)))
        if idle.all():
            return loads
        if idle.any():
            wanted = np.zeros(len(alone), bool)
            wanted[alone.outputs] = True
            alone = induced(alone, np.flatnonzero(~idle), outputs=wanted)
        return loads + self._play(alone, clock)

    def _play(self, piece: Dag, clock: Clock) -> int:
        arrays = (piece.indptr, piece.predecessors, piece.operations, piece.outputs)
        key = b"|".join(array.tobytes() for array in arrays)
        if key not in self._known:
            # Every vertex is computed at some time in any play of the whole. A sink that need not
            # be stored costs exactly one store if it must, so that pieces are ordinary games.
            used = np.zeros(len(piece), bool)
            used[piece.predecessors] = True
            wanted = np.zeros(len(piece), bool)
            wanted[piece.outputs] = True
            extra = int(np.count_nonzero(~used & ~wanted))
            game = induced(piece, np.arange(len(piece)), outputs=wanted | ~used)
            # Sliding has been turned into one more pebble, free inputs into constants.
            rules = Rules(one_shot=self.problem.rules.one_shot)
            time = None if clock.left == float("inf") else clock.left
            least = ceil(self.solver(game, self.problem.memory, rules, time=time).lower)
            self._known[key] = max(0, least - extra)
        return self._known[key]


def decomposition(
    problem: Problem,
    solver: Solver,
    clock: Clock | None = None,
    progress: Progress | None = None,
    *,
    sizes: Sequence[int] | None = None,
) -> DagBound:
    """Bound by the sum of the least I/O of pieces, at the best of several partitions.

    Pieces are grown from either end of the graph (`grown_pieces`); what time is left goes into
    joining neighbours that are worth more together.

    Parameters
    ----------
    problem : Problem
        The DAG, M and rules.
    solver : callable
        ``solver(dag, memory, rules, time=seconds)`` returns something with an attribute ``lower``
        that no play of the DAG goes below, such as an exact solver's.
    clock : Clock, optional
        Time budget; pieces that it leaves unsolved count their compulsory I/O.
    progress : callable, optional
        Told the part done.
    sizes : sequence of int, optional
        Most vertices of a piece; the larger ones are tried by default only where the time is
        limited, since a piece may take long.
    """
    clock = clock or Clock()
    if sizes is None:
        sizes = SIZES if clock.left == float("inf") else SIZES + LARGE_SIZES
    solved = _Solved(problem, solver)
    best, chosen, largest, finished = -1, [], 0, True
    tries = [(size, backwards) for size in sizes for backwards in (False, True)]
    for step, (size, backwards) in enumerate(tries):
        if step and clock.over:
            finished = False
            break
        pieces = grown_pieces(problem, size, backwards=backwards)
        # The last share is for joining.
        share = clock.share(1 / (len(tries) - step + 1))
        values, stopped = [], False
        for done, piece in enumerate(pieces):
            if progress and done % 64 == 0:
                progress("decomposition", (step + done / len(pieces)) / (len(tries) + 1))
            if share.over:
                stopped = True
                values.append(_compulsory(problem, piece))
            else:
                # One hard piece must not starve the others.
                part = min(0.5, 2 / (len(pieces) - done))
                values.append(solved.lower(piece, share.share(part)))
        finished = finished and not stopped
        if sum(values) > best:
            best, chosen, largest = sum(values), list(zip(values, pieces, strict=True)), size
        if len(pieces) == 1:
            break
    joined = _joined(problem, solved, chosen, 2 * largest, clock, progress)
    best = sum(value for value, _ in joined)
    most = max(len(piece) for _, piece in joined)
    return problem.bound(
        "decomposition",
        best,
        ELANGO,
        recomputation=problem.recomputation,
        finished=finished,
        detail=f"{len(joined)} pieces of up to {most} vertices",
    )


def _joined(
    problem: Problem,
    solved: _Solved,
    pieces: list[tuple[int, Piece]],
    largest: int,
    clock: Clock,
    progress: Progress | None,
) -> list[tuple[int, Piece]]:
    """Join pairs of neighbours whose least I/O together is more than that of each alone.

    Round after round, each allowing twice the vertices, until time or gains end.
    """
    if clock.left == float("inf"):
        return pieces
    kept = dict(enumerate(pieces))
    number = len(kept)
    while not clock.over and len(kept) > 1:
        before = number
        pairs = _neighbours(problem.dag, kept)
        for done, (one, other) in enumerate(pairs):
            if clock.over:
                break
            if one not in kept or other not in kept:
                continue
            together = np.union1d(kept[one][1], kept[other][1])
            if len(together) > largest:
                continue
            if progress and done % 16 == 0:
                progress("decomposition", 0.9 + 0.1 * done / len(pairs))
            part = clock.share(max(0.05, 2 / (len(pairs) - done + 1)))
            value = solved.lower(together, part)
            if value > kept[one][0] + kept[other][0]:
                del kept[one], kept[other]
                kept[number] = (value, together)
                number += 1
        if number == before:
            break
        largest *= 2
    return list(kept.values())


def _neighbours(dag: Dag, pieces: dict[int, tuple[int, Piece]]) -> list[tuple[int, int]]:
    """Return pairs of pieces with edges between them, those with most edges first."""
    home = np.zeros(len(dag), np.int64)
    for number, (_, piece) in pieces.items():
        home[piece] = number
    ends = home[np.repeat(np.arange(len(dag)), np.diff(dag.indptr))]
    starts = home[dag.predecessors]
    crossing = starts != ends
    both = np.sort(np.stack([starts[crossing], ends[crossing]], axis=1), axis=1)
    pairs, edges = np.unique(both, axis=0, return_counts=True)
    return [(one, other) for one, other in pairs[np.argsort(-edges, kind="stable")].tolist()]


def _compulsory(problem: Problem, piece: Piece) -> int:
    inputs = np.count_nonzero(problem.is_input[piece] & (problem.out_degrees[piece] > 0))
    return int(inputs + np.isin(piece, problem.stored).sum())


def grown_pieces(problem: Problem, size: int, *, backwards: bool = False) -> list[Piece]:
    """Split the vertices into connected pieces, each grown from its first vertex.

    A piece takes, one after the other, the neighbour with most edges into it, earlier ones first;
    backwards all begins at the last vertex.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> pieces = grown_pieces(Problem.of(workload("fft:n=8").dag(), 4), 12)
    >>> [piece.tolist() for piece in pieces][0]
    [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19]
    """
    dag = problem.dag
    start, succ = (array.tolist() for array in dag.successors())
    indptr, preds = dag.indptr.tolist(), dag.predecessors.tolist()
    taken = bytearray(len(dag))
    pieces = []
    sign = -1 if backwards else 1
    for seed in range(len(dag))[::sign]:
        if taken[seed]:
            continue
        chosen: list[int] = []
        border: dict[int, int] = {seed: 0}
        while border and len(chosen) < size:
            v = min(border, key=lambda u: (-border[u], sign * u))
            del border[v]
            taken[v] = 1
            chosen.append(v)
            for u in _around(v, indptr, preds, start, succ):
                if not taken[u]:
                    border[u] = border.get(u, 0) + 1
        pieces.append(np.array(sorted(chosen), np.int64))
    return pieces


def _around(
    v: int, indptr: list[int], preds: list[int], start: list[int], succ: list[int]
) -> Iterator[int]:
    yield from preds[indptr[v] : indptr[v + 1]]
    yield from succ[start[v] : start[v + 1]]
