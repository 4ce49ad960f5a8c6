"""Decomposition: disjoint pieces, each played at its own least I/O, add up to a bound.

True with recomputation when the pieces are solved with recomputation. Moves of a play concern one
vertex each: the moves on the vertices of one piece are a play of the piece, in which whatever lies
outside is there for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from bounds.dag_bound import Clock, Problem, Progress, induced
from pebble.rules import Rules

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound
    from pebble.dag import Dag

__all__ = ["Solver", "decomposition", "grown_pieces"]

ELANGO = "Elango, Rastello, Pouchet, Ramanujam, Sadayappan, POPL 2015"

Piece = npt.NDArray[np.int64]


class Answer(Protocol):
    """What a solver returns."""

    @property
    def lower(self) -> int:
        """No play makes fewer loads and stores."""


#: Called with a DAG, M, rules and keyword ``time`` in seconds (or None).
Solver = Callable[..., Answer]


@dataclass
class _Solved:
    """Pieces solved so far; equal pieces are solved once."""

    problem: Problem
    solver: Solver
    known: dict[bytes, int]

    def lower(self, piece: Piece, clock: Clock) -> int:
        """Least I/O on the vertices of one piece, or the bound that the solver reached."""
        problem, dag = self.problem, self.problem.dag
        stored = np.zeros(len(dag), bool)
        stored[problem.stored] = True
        alone = induced(dag, piece, outputs=stored)
        used = np.zeros(len(alone), bool)
        used[alone.predecessors] = True
        is_input = problem.is_input[piece]
        # An input without a successor in the piece still has one elsewhere, so it is loaded.
        idle = is_input & ~used
        loads = int(np.count_nonzero(idle & (problem.out_degrees[piece] > 0)))
        rest = piece[~idle]
        if not rest.size:
            return loads
        return loads + self._play(induced(dag, rest, outputs=stored), clock)

    def _play(self, piece: Dag, clock: Clock) -> int:
        # Every vertex is computed at some time in any play of the whole. A sink that need not be
        # stored costs exactly one store if it must, so that pieces are ordinary games.
        used = np.zeros(len(piece), bool)
        used[piece.predecessors] = True
        wanted = np.zeros(len(piece), bool)
        wanted[piece.outputs] = True
        extra = int(np.count_nonzero(~used & ~wanted))
        game = induced(piece, np.arange(len(piece)), outputs=wanted | ~used)
        arrays = (game.indptr, game.predecessors, game.operations, game.outputs)
        key = b"|".join(array.tobytes() for array in arrays)
        if key not in self.known:
            # Sliding has been turned into one more pebble, free inputs into constants.
            rules = Rules(one_shot=self.problem.rules.one_shot)
            time = None if clock.left == float("inf") else clock.left
            self.known[key] = self.solver(game, self.problem.memory, rules, time=time).lower
        return max(0, self.known[key] - extra)


def decomposition(
    problem: Problem,
    solver: Solver,
    clock: Clock | None = None,
    progress: Progress | None = None,
    *,
    sizes: Sequence[int] = (8, 12, 16, 20),
) -> DagBound:
    """Bound by the sum of the least I/O of pieces, at the best of several sizes of piece.

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
    sizes : sequence of int
        Most vertices of a piece.
    """
    clock = clock or Clock()
    solved = _Solved(problem, solver, {})
    best, detail, finished = -1, "", True
    tries = [(size, backwards) for size in sizes for backwards in (False, True)]
    for step, (size, backwards) in enumerate(tries):
        pieces = grown_pieces(problem, size, backwards=backwards)
        total, stopped = 0, False
        share = clock.share(1 / (len(tries) - step))
        for done, piece in enumerate(pieces):
            if progress and done % 64 == 0:
                progress("decomposition", (step + done / len(pieces)) / len(tries))
            if share.over:
                stopped = True
                total += _compulsory(problem, piece)
            else:
                # Half of what is left at most: one hard piece must not starve the others.
                total += solved.lower(piece, share.share(0.5))
        finished = finished and not stopped
        if total > best:
            best, detail = total, f"{len(pieces)} pieces of up to {size} vertices"
        if len(pieces) == 1:
            break
    return problem.bound(
        "decomposition",
        best,
        ELANGO,
        recomputation=problem.recomputation,
        finished=finished,
        detail=detail,
    )


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
