"""Partial computation: what a vertex has absorbed so far, in fast and in slow memory.

Under rules with ``partial`` a vertex need not see all its operands red at once. It absorbs them one
at a time: ``P u v`` adds operand u to the aggregate that stands in v's fast cell.

- v's cell may hold some of its operands, or all: then the value is *whole*. Only whole values are
  absorbed, and an output must end blue and whole. Inputs are whole.
- ``P u v`` needs u red and whole, and u not yet absorbed by v. Where v is not red, it starts an
  aggregate and needs a free pebble. ``C v`` stands for all partial computes of v in turn.
- STORE copies the aggregate to slow memory, and is legal again when v has absorbed more since; LOAD
  copies it back; DELETE loses what the fast cell holds.
- With recomputation an aggregate may be started again, whatever slow memory holds. Under
  ``one-shot`` every edge is absorbed once: what is lost is lost for good, and an aggregate in slow
  memory has to be loaded before v absorbs more.

Papp, Sobczyk, Yzelman, *The impact of partial computations on the red-blue pebble game*, 2025.
Their game is one-shot, and forbids to delete a value that is stored nowhere and needed; here such a
play is legal but cannot end, as in the game without partial computation. They add recomputation by
a move that clears a vertex; that one cannot keep a blue pebble while the red one starts again.

With M red pebbles a play of the usual game is legal here at the same cost, and M = 2 always
suffices.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from pebble.errors import GraphError
from pebble.moves import COMPUTE, LOAD, MAX_VERTICES, STORE, edge_of

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["EVER", "FAST", "SLOW", "Ledger", "check_size"]

#: Where an operand has been absorbed: in the fast cell, in the slow one, at any time at all.
FAST, SLOW, EVER = 1, 2, 4

_NOTHING: frozenset[int] = frozenset()
_Undo = tuple[int, frozenset[int], frozenset[int], frozenset[int]]


class Ledger:
    """What each vertex has absorbed, as sets: the memory of a `pebble.game.Game`.

    Examples
    --------
    >>> from pebble import Dag
    >>> from pebble.moves import partial_compute
    >>> dag = Dag.from_predecessors([[], [], [0, 1]])
    >>> ledger = Ledger(dag)
    >>> undo = ledger.make(COMPUTE, partial_compute(dag, 1, 2).vertex, is_red=False)
    >>> sorted(ledger.absorbed(2, FAST)), sorted(ledger.absorbed(2, SLOW))
    ([1], [])
    """

    def __init__(self, dag: Dag) -> None:
        check_size(dag)
        self.dag = dag
        self._sets: dict[int, dict[int, frozenset[int]]] = {FAST: {}, SLOW: {}, EVER: {}}

    def absorbed(self, vertex: int, where: int) -> AbstractSet[int]:
        """Return the operands that a vertex has absorbed in `FAST`, `SLOW`, or `EVER`."""
        return self._sets[where].get(vertex, _NOTHING)

    def make(self, kind: int, vertex: int, *, is_red: bool) -> _Undo:
        """Make a legal move; return what `undo` takes.

        Parameters
        ----------
        kind, vertex : int
            The move.
        is_red : bool
            Whether the vertex that absorbs is red before it.
        """
        edge = edge_of(self.dag, vertex) if kind == COMPUTE else None
        v = vertex if edge is None else edge[1]
        fast, slow, ever = (self._sets[where].get(v, _NOTHING) for where in (FAST, SLOW, EVER))
        before = (v, fast, slow, ever)
        if kind == LOAD:
            fast = slow
        elif kind == STORE:
            slow = fast
        elif kind == COMPUTE:
            new = frozenset(self.dag.operands(v).tolist() if edge is None else [edge[0]])
            fast = (fast if is_red else _NOTHING) | new
            ever |= new
        else:
            fast = _NOTHING
        self._write(v, fast, slow, ever)
        return before

    def undo(self, before: _Undo) -> int:
        """Take a move back; return the vertex it concerned."""
        self._write(*before)
        return before[0]

    def forget(self, vertex: int) -> None:
        """Forget what the slow cell of a vertex holds: a load has moved it."""
        self._sets[SLOW][vertex] = _NOTHING

    def _write(
        self, v: int, fast: frozenset[int], slow: frozenset[int], ever: frozenset[int]
    ) -> None:
        for where, operands in ((FAST, fast), (SLOW, slow), (EVER, ever)):
            self._sets[where][v] = operands


def check_size(dag: Dag) -> None:
    """Raise `GraphError` if vertices and edges together have no numbers in a packed move."""
    total = len(dag) + int(dag.predecessors.size)
    if total > MAX_VERTICES:
        raise GraphError(
            f"partial computes name edges, and vertices and edges together may be at most "
            f"{MAX_VERTICES:,}; this graph has {total:,}: play a smaller one"
        )
