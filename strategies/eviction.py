"""From an order of computation to moves: which value leaves when the memory is full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pebble.errors import SpecError, unknown
from pebble.rules import HK

if TYPE_CHECKING:
    from pebble.dag import Dag, Vertices
    from pebble.moves import Moves

__all__ = ["EVICTIONS", "Cost", "cost_of_order", "schedule_order"]

#: Rules of eviction by name. Clean values (inputs, and values stored before) cost one to evict and
#: need again, dirty ones two.
EVICTIONS: dict[str, str] = {
    "belady": "the value whose next use is furthest; at equal distance a clean one",
    "cost-aware": "the value with the greatest distance to its next use per move that it costs",
    "clean-first": "the clean value whose next use is furthest; a dirty one if none is clean",
    "lru": "the value touched longest ago",
}

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Cost:
    """Loads and stores of an order under an eviction rule."""

    loads: int
    stores: int

    @property
    def io(self) -> int:
        """Loads and stores together."""
        return self.loads + self.stores


class _Player:
    """An order under way: the arrays that the kernel works on."""

    def __init__(self, dag: Dag, sequence: Vertices, memory: int, eviction: str) -> None:
        from strategies import _evict

        if eviction not in EVICTIONS:
            raise unknown("eviction", eviction, EVICTIONS)
        self.memory = HK.check_memory(dag, memory)
        self.dag, self.sequence = dag, sequence
        self.rule = list(EVICTIONS).index(eviction)
        # One array serves as scratch of the backward pass and as places in the heaps.
        self.where: npt.NDArray[np.int32] = np.empty(len(dag), np.int32)
        self.uses = _evict.next_uses(
            sequence, dag.indptr, dag.predecessors, self.where.view(np.uint32)
        )
        self.where.fill(-1)
        self.state = np.zeros(len(dag), np.uint8)
        self.state[dag.inputs] = _evict.BLUE
        self.state[dag.outputs] |= _evict.OUTPUT
        room = min(self.memory, len(dag)) + 1
        self.clean, self.dirty = np.empty(room, np.int64), np.empty(room, np.int64)
        self.sizes = np.zeros(5, np.int64)

    def play(self, low: int, high: int, out: Moves) -> int:
        """Play a stretch of the sequence; return the number of moves written."""
        from strategies import _evict

        written = _evict.evict(
            self.sequence, low, high, self.dag.indptr, self.dag.predecessors, *self.uses,
            self.state, self.where, self.clean, self.dirty, self.sizes, self.memory, self.rule, out,
        )  # fmt: skip
        if written < 0:
            raise SpecError("the sequence uses a value before it is computed")
        return int(written)


def schedule_order(
    dag: Dag, order: npt.ArrayLike, memory: int, eviction: str = "belady"
) -> Iterator[Moves]:
    """Yield the moves that compute a DAG in a given order.

    A value is loaded just before a computation that uses it, dropped after its last use, and
    stored only when it must leave while it is still needed; an output is stored as it is made.

    Parameters
    ----------
    dag : Dag
        The graph.
    order : sequence of int
        The vertices to compute, each after its operands (`strategies.orders`). A vertex that
        stands in it again is computed again: its value is not kept between its last use before
        and that place.
    memory : int
        M, at least the largest in-degree plus one.
    eviction : str
        One of `EVICTIONS`.

    Notes
    -----
    Furthest next use is the best rule where evictions cost the same, but here some cost one move
    and some two: none of the rules is optimal for every order.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.referee import referee
    >>> from strategies.orders import depth_first
    >>> dag = workload("pyramid:h=4").dag()
    >>> referee(dag, schedule_order(dag, depth_first(dag), 4), 4).io
    12
    """
    sequence = np.ascontiguousarray(order, np.uint32)
    player = _Player(dag, sequence, memory, eviction)
    return _chunks(player)


def _chunks(player: _Player) -> Iterator[Moves]:
    from strategies import _evict

    low, sequence = 0, player.sequence
    while low < sequence.size:
        high, room = _evict.bound(sequence, low, player.dag.indptr, _CHUNK)
        out = np.empty(room, np.uint32)
        yield out[: player.play(low, high, out)]
        low = high


def cost_of_order(dag: Dag, order: npt.ArrayLike, memory: int, eviction: str = "belady") -> Cost:
    """Return the loads and stores of `schedule_order` without writing its moves.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from strategies.orders import construction
    >>> dag = workload("pyramid:h=4").dag()
    >>> cost_of_order(dag, construction(dag), 4)
    Cost(loads=8, stores=4)
    """
    sequence = np.ascontiguousarray(order, np.uint32)
    player = _Player(dag, sequence, memory, eviction)
    player.play(0, sequence.size, np.empty(0, np.uint32))
    return Cost(int(player.sizes[2]), int(player.sizes[3]))
