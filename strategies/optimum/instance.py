"""A game cut down to what matters, in the arrays that the compiled searches read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import GraphError
from pebble.operations import INPUT

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.rules import Rules

__all__ = ["LARGEST", "Instance", "Layout"]

#: Most vertices that a search takes; a state has about three bits for each of them.
LARGEST = 2048

Ints: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Layout:
    """Where each vertex has its bits in a packed state; -1 where it has none.

    Attributes
    ----------
    done, red, dirty, blue : int32 arrays
        Bit of each vertex: computed (or, with recomputation, finished output); red; red and not
        blue; blue and not red.
    bits : int
        Number of bits.
    first_dirty : int
        The dirty bits stand last, from this one on: states that differ in them alone are compared.
    """

    done: Ints
    red: Ints
    dirty: Ints
    blue: Ints
    bits: int
    first_dirty: int

    @property
    def words(self) -> int:
        """Number of 64-bit words of a state."""
        return max(1, -(-self.bits // 64))


class Instance:
    """The needed part of a DAG, renumbered in topological order, with M and the rules.

    Parameters
    ----------
    dag : Dag
        The graph.
    memory : int
        M.
    rules : Rules
        Conventions.
    whole : bool
        Keep also what no output needs, which may hold pebbles in the middle of a play.

    Attributes
    ----------
    vertices : uint32 array
        The DAG's number of each vertex kept.
    given : uint8 array
        Inputs that start blue.
    out : uint8 array
        Outputs that must end blue (or, with ``unstored_outputs``, that must be computed).
    """

    def __init__(self, dag: Dag, memory: int, rules: Rules, *, whole: bool = False) -> None:
        self.dag, self.memory, self.rules = dag, memory, rules
        everything = rules.complete or whole
        keep = np.ones(len(dag), bool) if everything else dag.needed.copy()
        inputs = dag.operations == INPUT
        wanted = np.zeros(len(dag), bool)
        wanted[dag.outputs] = True
        if not rules.free_inputs:
            if not rules.moving_loads:
                wanted &= ~inputs  # they are blue from the start, and stay so
            used = np.zeros(len(dag), bool)
            for v in np.flatnonzero(keep & ~inputs):
                used[dag.operands(int(v))] = True
            keep &= used | ~inputs | whole
        self.vertices = dag.order[keep[dag.order]]
        self.size = int(self.vertices.size)
        if self.size > LARGEST:
            raise GraphError(
                f"the exact search takes at most {LARGEST:,} vertices that matter, this graph has "
                f"{self.size:,}: take a smaller one, or search for a good schedule instead "
                "(`pebble improve`, or the strategies belady and local-search)"
            )
        place = np.full(len(dag), -1, np.int64)
        place[self.vertices] = np.arange(self.size)
        operands = [place[dag.operands(int(v))].astype(np.int32) for v in self.vertices]
        successors: list[list[int]] = [[] for _ in operands]
        for above, row in enumerate(operands):
            for below in row.tolist():
                successors[below].append(above)
        self.operands = [[int(u) for u in row] for row in operands]
        self.successors = successors
        self.given = (inputs[self.vertices] & (not rules.free_inputs)).astype(np.uint8)
        self.out = wanted[self.vertices].astype(np.uint8)
        self._groups: dict[int, Ints] = {}

    # -- what the searches read ----------------------------------------------------------------

    @property
    def stores(self) -> bool:
        """Whether outputs must be stored."""
        return not self.rules.unstored_outputs

    def automorphisms(self, most: int) -> Ints:
        """Return the relabellings that the searches use; found once."""
        from strategies.optimum.symmetry import automorphisms

        if most not in self._groups:
            self._groups[most] = automorphisms(self, most)
        return self._groups[most]

    def compulsory(self) -> int:
        """Return loads and stores that no play avoids: one per input and per output."""
        return int(self.given.sum()) + (int(self.out.sum()) if self.stores else 0)

    def twins(self) -> Ints:
        """Return, for each given input, the next one with the same successors; -1 for none."""
        last: dict[tuple[int, ...], int] = {}
        following = np.full(self.size, -1, np.int32)
        for v in range(self.size):
            if self.given[v]:
                key = tuple(self.successors[v])
                if key in last:
                    following[last[key]] = v
                last[key] = v
        return following

    def layout(self, *, again: bool) -> Layout:
        """Lay out the bits of a state; ``again`` for the search with recomputation."""
        n = self.size
        kept = np.array([bool(row) for row in self.successors], bool)
        # An output is stored when it is computed, so that it is never dirty.
        dirty = kept & (self.given == 0) & ~(self.out.astype(bool) & self.stores)
        done = self.out.astype(bool) if again else self.given == 0
        places = []
        bit = 0
        for mask in (done, kept, dirty & again, dirty):
            row = np.full(n, -1, np.int32)
            row[mask] = np.arange(bit, bit + int(mask.sum()))
            bit += int(mask.sum())
            places.append(row)
        first_dirty = bit - int(dirty.sum())
        return Layout(places[0], places[1], places[3], places[2], bit, first_dirty)

    def arrays(self, layout: Layout) -> tuple[Any, ...]:
        """Return the tuple of arrays that the kernels take for a graph."""
        return (
            *_rows(self.operands),
            *_rows(self.successors),
            self.given,
            self.out,
            layout.done,
            layout.red,
            layout.dirty,
            layout.blue,
            self.twins(),
        )


def _rows(rows: list[list[int]]) -> tuple[Ints, Ints]:
    start = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32)
    return start, np.array([x for row in rows for x in row], np.int32)
