"""The least cost from a position on: exact search that starts in the middle of a play."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pebble.moves import COMPUTE, DELETE, LOAD, STORE
from pebble.operations import INPUT
from strategies.optimum.certificate import Start, write_moves
from strategies.optimum.engine import Engine, Limits
from strategies.optimum.instance import Instance, Layout
from strategies.optimum.rulewise import Rulewise
from strategies.optimum.solver import is_compiled
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.rules import Rules

__all__ = ["Onward", "Position", "instance_for", "onward", "position_after"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Position:
    """Where the pebbles are: one bool per vertex of the DAG.

    Attributes
    ----------
    red, blue, computed : bool arrays
        Red pebble, blue pebble, computed at some time.
    """

    red: Mask
    blue: Mask
    computed: Mask


def position_after(dag: Dag, moves: Moves, rules: Rules) -> Position:
    """Return the position after moves that are known to be legal.

    Examples
    --------
    >>> from pebble import Dag
    >>> from pebble.rules import HK
    >>> dag = Dag.from_predecessors([[], [0]])
    >>> there = position_after(dag, np.array([0, 2 << 30 | 1], np.uint32), HK)  # L 0, C 1
    >>> there.red.tolist(), there.blue.tolist()
    ([True, True], [True, False])
    """
    kinds, vertices = moves >> 30, moves & np.uint32((1 << 30) - 1)
    red, computed = np.zeros(len(dag), bool), np.zeros(len(dag), bool)
    blue = np.zeros(len(dag), bool)
    if not rules.free_inputs:
        blue[dag.operations == INPUT] = True
    # Of several assignments to one place the last one stays.
    touches = kinds != STORE
    red[vertices[touches]] = kinds[touches] != DELETE
    computed[vertices[kinds == COMPUTE]] = True
    colours = (kinds == STORE) | (kinds == LOAD if rules.moving_loads else False)
    blue[vertices[colours]] = kinds[colours] == STORE
    return Position(red, blue, computed)


@dataclass(frozen=True)
class Onward:
    """What is known of the least cost from a position to the end of the play.

    Attributes
    ----------
    lower : int (Fraction where computes have a price)
        No play costs less from here on.
    upper : same, or None
        What ``moves`` cost; None where no play below the ceiling was found.
    stopped_by : str
        ``time`` or ``memory``; empty when the search has finished.
    moves : uint32 array or None
        A play from the position to the end.
    """

    lower: int | Fraction
    upper: int | Fraction | None
    stopped_by: str = ""
    moves: Moves | None = field(default=None, repr=False, compare=False)


def instance_for(dag: Dag, memory: int, rules: Rules) -> Instance:
    """Return the game in the form that the searches read.

    Raises
    ------
    GraphError
        If more than 2,048 vertices matter.
    """
    return Instance(dag, memory, rules, whole=not is_compiled(rules))


def onward(
    dag: Dag,
    memory: int,
    rules: Rules,
    position: Position,
    ceiling: int | Fraction,
    limits: Limits,
    instance: Instance | None = None,
    final: int = -1,
) -> Onward:
    """Find the cheapest way from a position to the end, if it costs less than ``ceiling``.

    Parameters
    ----------
    dag, memory, rules
        The game.
    position : Position
        Reached by legal moves; not between the two moves of a slide.
    ceiling : int or Fraction
        Only plays that cost less are looked for. Where there is none, ``lower`` is at least that.
    limits : Limits
        Time and memory.
    instance : Instance, optional
        What `instance_for` made of the game, where more than one position is asked about.
    final : int
        An output (a vertex of the DAG) that must be computed last; -1 for none.

    Raises
    ------
    RefusalError
        Under partial computation.

    Notes
    -----
    An output that is red and not blue is stored first: it must be stored some time, at one move,
    and nothing is lost by having it blue sooner.

    Examples
    --------
    >>> from pebble import Dag
    >>> from pebble.moves import pack
    >>> from pebble.rules import HK
    >>> dag = Dag.from_predecessors([[], [], [0, 1]])
    >>> there = position_after(dag, pack(0, [1]), HK)
    >>> onward(dag, 3, HK, there, 10, Limits(None, 1 << 28)).upper
    2
    """
    if rules.partial:
        raise RefusalError(f"positions in the middle of a play are not searched under {rules}")
    instance = instance_for(dag, memory, rules) if instance is None else instance
    if not is_compiled(rules):
        return _rule_by_rule(instance, position, ceiling, limits)
    again = not rules.one_shot
    start, first = _normal(instance, position, again=again)
    paid = sum(move >> 30 == STORE for move in first)
    todo = sum(not instance.given[v] and v not in start.computed for v in range(instance.size))
    price = rules.compute_price * todo if rules.one_shot and rules.compute_price else 0
    if not again and _is_lost(instance, start):
        return Onward(ceiling, None)
    outputs = [v for v in range(instance.size) if instance.out[v]]
    left = [v for v in outputs if v not in start.computed]
    begun = np.array(first, np.uint32)
    if not (left if again else todo):
        return Onward(paid, paid, "", begun) if paid < ceiling else Onward(paid, None)
    estimate = len(left) if instance.stores else 0
    if not again:
        estimate += sum(
            v not in start.red
            and bool(instance.given[v] or v in start.computed)
            and any(x not in start.computed for x in instance.successors[v])
            for v in range(instance.size)
        )
    room = ceiling - paid - price - estimate
    room = -(-room.numerator // room.denominator) if isinstance(room, Fraction) else int(room)
    if room <= 0:
        return Onward(paid + price + estimate, None)
    root = _pack(instance, instance.layout(again=again), start, again=again)
    last = np.flatnonzero(instance.vertices == final).tolist() if final >= 0 else []
    engine = Engine(
        instance, again=again, ceiling=room, limits=limits, root=root, estimate=estimate,
        final=last[0] if last else -1,
    )  # fmt: skip
    stopped = engine.run()
    base = paid + price + estimate
    upper = moves = None
    if engine.found is not None:
        upper = base + engine.found
        rest = write_moves(instance, engine.path(), again=again, start=start)
        moves = np.concatenate([begun, rest])
    lower = base + engine.lower if stopped else (upper if upper is not None else base + room)
    return Onward(lower, upper, stopped if lower != upper else "", moves)


def _rule_by_rule(
    instance: Instance, position: Position, ceiling: int | Fraction, limits: Limits
) -> Onward:
    bits = [
        sum(1 << v for v, there in enumerate(instance.vertices.tolist()) if mask[there])
        for mask in (position.red, position.blue, position.computed)
    ]
    rules = instance.rules
    remembers = rules.one_shot or rules.complete or rules.unstored_outputs
    search = Rulewise(instance, limits, (bits[0], bits[1], bits[2] if remembers else 0, -1))
    stopped = search.run()
    if stopped:
        return Onward(min(search.lower, ceiling), None, stopped)
    if search.moves is None or search.lower >= ceiling:
        return Onward(ceiling, None)
    return Onward(search.lower, search.lower, "", search.moves)


def _normal(instance: Instance, position: Position, *, again: bool) -> tuple[Start, list[int]]:
    """Return the position that the searches start from, and the moves that lead there.

    Outputs that are red are stored; what no unfinished output needs is dropped.
    """
    names = instance.vertices.tolist()
    place = {there: v for v, there in enumerate(names)}
    red = {v for v, there in enumerate(names) if position.red[there]}
    blue = {v for v, there in enumerate(names) if position.blue[there]}
    computed = {v for v, there in enumerate(names) if position.computed[there]}
    moves = []
    for v in sorted(red - blue):
        if instance.out[v] and instance.stores:
            moves.append(STORE << 30 | names[v])
            blue.add(v)
    if again:
        # What counts of the past are the outputs that are finished.
        where = blue if instance.stores else computed
        computed = {v for v in range(instance.size) if instance.out[v] and v in where}
    need = [False] * instance.size
    for v in reversed(range(instance.size)):
        if again:
            wanted = bool(instance.out[v]) and v not in computed
            need[v] = wanted or any(need[x] for x in instance.successors[v])
        else:
            need[v] = any(x not in computed for x in instance.successors[v])
    for there in np.flatnonzero(position.red).tolist():
        v = place.get(there, -1)
        if v < 0 or not need[v]:
            moves.append(DELETE << 30 | there)
            red.discard(v)
    return Start(frozenset(red), frozenset(blue), frozenset(computed)), moves


def _is_lost(instance: Instance, start: Start) -> bool:
    """Whether, with each vertex computed once, a value still needed is nowhere any more."""
    for v in range(instance.size):
        if v in start.red or v in start.blue or v not in start.computed:
            continue
        if instance.out[v] and instance.stores:
            return True
        if any(x not in start.computed for x in instance.successors[v]):
            return True
    return False


def _pack(
    instance: Instance, layout: Layout, start: Start, *, again: bool
) -> npt.NDArray[np.uint64]:
    """Pack a position as the kernels do."""
    bits = 0

    def mark(bit: int) -> None:
        nonlocal bits
        if bit >= 0:
            bits |= 1 << bit

    need = _needed(instance, start) if again else None
    for v in range(instance.size):
        if v in start.computed:
            mark(int(layout.done[v]))
        if v in start.red:
            mark(int(layout.red[v]))
            if v not in start.blue:
                mark(int(layout.dirty[v]))
        elif v in start.blue and need is not None and need[v]:
            mark(int(layout.blue[v]))
    words = [bits >> 64 * k & ((1 << 64) - 1) for k in range(layout.words)]
    return np.array(words, np.uint64)


def _needed(instance: Instance, start: Start) -> list[bool]:
    need = [False] * instance.size
    for v in reversed(range(instance.size)):
        wanted = bool(instance.out[v]) and v not in start.computed
        need[v] = wanted or any(need[x] for x in instance.successors[v])
    return need
