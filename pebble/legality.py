"""What makes a move illegal, and how to say so: the one text for `Game` and referee."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pebble.errors import IllegalMoveError
from pebble.moves import COMPUTE, DELETE, KINDS, LOAD, STORE, Move, edge_of
from pebble.operations import INPUT
from pebble.partial import EVER, FAST, SLOW

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.rules import Rules

__all__ = ["Position", "Violation", "broken_rule", "unfinished", "violation"]


class Position(Protocol):
    """What has to be known of a position to judge a move and to explain the judgement."""

    @property
    def dag(self) -> Dag:
        """The graph played on."""

    @property
    def memory(self) -> int:
        """M, the number of red pebbles."""

    @property
    def rules(self) -> Rules:
        """The conventions in force."""

    @property
    def step(self) -> int:
        """Number of moves made."""

    @property
    def red_count(self) -> int:
        """Number of red vertices."""

    @property
    def overfull(self) -> int:
        """Under sliding, the vertex whose COMPUTE just made M + 1 red; otherwise -1."""

    def is_red(self, vertex: int) -> bool:
        """Whether a vertex is red."""

    def is_blue(self, vertex: int) -> bool:
        """Whether a vertex is blue."""

    def is_computed(self, vertex: int) -> bool:
        """Whether a vertex has been computed, the whole of it, at some time."""

    def absorbed(self, vertex: int, where: int) -> AbstractSet[int]:
        """Operands that a vertex has absorbed, under partial computation (`pebble.partial`)."""


@dataclass(frozen=True)
class Violation:
    """Why a move is illegal, or why a play is not over.

    Attributes
    ----------
    step : int
        Position of the move in the play, from 1; for an unfinished play, the number of moves made.
    move : Move or None
        The move; None for an unfinished play.
    rule : str
        Rule broken: ``load``, ``store``, ``compute``, ``delete``, ``budget``, ``one-shot``,
        ``sliding``, ``no-deletion``, ``vertex`` or ``end``.
    vertex : int
        The vertex concerned; as in `move`.
    missing : tuple of int
        Vertices that lack the pebble needed.
    text : str
        The explanation, also ``str(violation)``.
    """

    step: int
    move: Move | None
    rule: str
    vertex: int
    missing: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def error(self) -> IllegalMoveError:
        """Return the error to raise."""
        return IllegalMoveError(
            self.text,
            step=self.step,
            move=self.move,
            rule=self.rule,
            vertex=self.vertex,
            missing=self.missing,
        )


def broken_rule(position: Position, kind: int, vertex: int) -> str:
    """Return the name of the rule that a move breaks; the empty string when it is legal."""
    dag, rules = position.dag, position.rules
    if rules.partial:
        edge = edge_of(dag, vertex) if kind == COMPUTE else None
        if edge is not None:
            return _broken_by_absorbing(position, *edge)
    if not 0 <= vertex < len(dag):
        return "vertex"
    if position.overfull >= 0 and not (
        kind == DELETE and vertex in dag.operands(position.overfull)
    ):
        return "sliding"
    full = position.red_count >= position.memory
    if kind == LOAD:
        if position.is_red(vertex) or not position.is_blue(vertex):
            return "load"
        return "budget" if full else ""
    if kind == STORE:
        return "" if position.is_red(vertex) and not _is_kept(position, vertex) else "store"
    if kind == DELETE:
        if not position.is_red(vertex):
            return "delete"
        return "no-deletion" if rules.no_deletion and not _is_kept(position, vertex) else ""
    if position.is_red(vertex) or (dag.operations[vertex] == INPUT and not rules.free_inputs):
        return "compute"
    if rules.one_shot and (position.is_computed(vertex) or position.absorbed(vertex, EVER)):
        return "one-shot"
    operands = dag.operands(vertex)
    if not all(_is_ready(position, u) for u in operands.tolist()):
        return "compute"
    return "budget" if full and not (rules.sliding and operands.size) else ""


def _broken_by_absorbing(position: Position, operand: int, vertex: int) -> str:
    """As `broken_rule`, for a vertex that absorbs an operand."""
    if not _is_ready(position, operand):
        return "compute"
    once = position.rules.one_shot
    if position.is_red(vertex):
        if operand in position.absorbed(vertex, FAST):
            return "compute"
    elif once and position.is_blue(vertex):
        return "one-shot"
    if once and operand in position.absorbed(vertex, EVER):
        return "one-shot"
    full = position.red_count >= position.memory
    return "budget" if full and not position.is_red(vertex) else ""


def _is_whole(position: Position, vertex: int, where: int = FAST) -> bool:
    """Whether a cell of a vertex holds all its operands; without partial computation it does."""
    if not position.rules.partial:
        return True
    return len(position.absorbed(vertex, where)) == position.dag.operands(vertex).size


def _is_ready(position: Position, operand: int) -> bool:
    """Whether a vertex can be used as an operand."""
    return position.is_red(operand) and _is_whole(position, operand)


def _is_kept(position: Position, vertex: int) -> bool:
    """Whether slow memory holds what fast memory holds."""
    if not position.is_blue(vertex):
        return False
    return position.absorbed(vertex, FAST) == position.absorbed(vertex, SLOW)


def violation(position: Position, kind: int, vertex: int) -> Violation | None:
    """Explain why a move is illegal; None when it is legal."""
    rule = broken_rule(position, kind, vertex)
    if not rule:
        return None
    missing: tuple[int, ...] = ()
    edge = None
    if rule != "vertex" and kind == COMPUTE:
        edge = edge_of(position.dag, vertex)
    if rule == "vertex":
        last = len(position.dag) - 1
        text = f"{KINDS[kind]} {vertex}: there is no such vertex; vertices are 0 to {last}"
    elif edge is not None:
        what, missing = _why_not_absorbed(position, *edge, rule)
        u, v = map(position.dag.name, edge)
        text = f"PARTIAL COMPUTE of {v} from {u} {what}"
    else:
        what, missing = _reason(position, kind, vertex, rule)
        text = f"{KINDS[kind]} {position.dag.name(vertex)} {what}"
    step, pebbles = position.step + 1, f"(M={position.memory}, {position.red_count} red)"
    text = f"step {step}: {text} {pebbles}"
    return Violation(step, Move(kind, vertex), rule, vertex, missing, text)


def unfinished(position: Position, missing: Sequence[int]) -> Violation | None:
    """Explain why a play is not over, given the vertices still to be finished, lowest first."""
    name, step = position.dag.name, position.step
    after = f"the play ends after {step} moves" if step else "the play ends before its first move"
    if position.overfull >= 0:
        v = position.overfull
        text = (
            f"{after} with {position.red_count} red and M={position.memory}: "
            f"delete an operand of {name(v)}, one of {_listed(position, _operands(position, v))}"
        )
        return Violation(step, None, "end", v, (), text)
    if len(missing) == 0:
        return None
    v, rules = int(missing[0]), position.rules
    is_output = bool((position.dag.outputs == v).any())
    if rules.unstored_outputs or not is_output:
        lack, hint = "not computed", "compute it"
    else:
        hint = "store it" if position.is_red(v) else f"{_remedy(position, v)} and store it"
        lack = f"not blue; {_pebbles(position, v)}"
        red = position.is_red(v)
        # Without a pebble nothing is left of what it had absorbed.
        if rules.partial and (position.is_blue(v) or (red and not _is_whole(position, v))):
            whole = red and _is_whole(position, v)
            hint = "store it" if whole else "let it absorb the rest and store it"
            lack = f"not blue and whole; {_pebbles(position, v)}"
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    what = "output" if is_output else "vertex"
    text = f"{after} with {what} {name(v)} {lack}: {hint}{more}"
    return Violation(step, None, "end", v, tuple(map(int, missing[:8])), text)


# -- phrases -----------------------------------------------------------------------------------


def _reason(position: Position, kind: int, vertex: int, rule: str) -> tuple[str, tuple[int, ...]]:
    """Say what is wrong with a move, as the predicate of its sentence, and which are missing."""
    name, rules = position.dag.name, position.rules
    if rule == "sliding":
        v = position.overfull
        operands = _listed(position, _operands(position, v))
        return f"is too early: COMPUTE {name(v)} made one red too many, so this step must " + (
            f"delete one of its operands: {operands}"
        ), ()
    if rule == "budget":
        return f"would make {position.red_count + 1} red: delete one first", ()
    if rule == "no-deletion":
        return f"would lose its value, which rules {rules} forbid: store it first", (vertex,)
    if rule == "one-shot":
        if not position.is_computed(vertex):
            return "has begun: it must absorb the rest of its operands one by one", ()
        hint = "load it" if position.is_blue(vertex) else "store it before deleting it"
        return f"would compute it a second time, which rules {rules} forbid: {hint}", ()
    red = position.is_red(vertex)
    if kind == DELETE:
        return f"needs it red; {_pebbles(position, vertex)}: there is nothing to delete", (vertex,)
    if kind == STORE:
        if red:
            return "changes nothing: it is blue already", ()
        hint = _remedy(position, vertex)
        return f"needs it red; {_pebbles(position, vertex)}: {hint} first", (vertex,)
    if red:
        rest = "" if _is_whole(position, vertex) else ": let it absorb the rest one by one"
        return f"changes nothing: it is red already{rest}", ()
    if kind == LOAD:
        hint = _remedy(position, vertex)
        return f"needs it blue; {_pebbles(position, vertex)}: {hint}", (vertex,)
    if position.dag.operations[vertex] == INPUT and not rules.free_inputs:
        hint = _remedy(position, vertex)
        return f"is not allowed: it is an input, which cannot be computed; {hint}", ()
    missing = tuple(u for u in _operands(position, vertex) if not _is_ready(position, u))
    hints = [f"{_pebbles(position, u)}: {_remedy(position, u)} first" for u in missing[:3]]
    if len(missing) == 1:
        return f"needs {name(missing[0])} red; {hints[0]}", missing
    told = "; ".join(f"{name(u)}, {hint}" for u, hint in zip(missing, hints, strict=False))
    more = f"; and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"needs {len(missing)} operands red that are not: {told}{more}", missing


def _why_not_absorbed(
    position: Position, operand: int, vertex: int, rule: str
) -> tuple[str, tuple[int, ...]]:
    """Say what is wrong with a partial compute."""
    name = position.dag.name
    if rule == "budget":
        return f"would make {position.red_count + 1} red: delete one first", ()
    if rule == "one-shot":
        if position.is_blue(vertex) and not position.is_red(vertex):
            return f"would start {name(vertex)} anew; it is blue only: load it first", (vertex,)
        return (
            f"would absorb it a second time, which rules {position.rules} forbid: what "
            f"{name(vertex)} had absorbed is lost, so store it before deleting it"
        ), ()
    if not _is_ready(position, operand):
        remedy = f"{_pebbles(position, operand)}: {_remedy(position, operand)} first"
        return f"needs {name(operand)} red{_and_whole(position, operand)}; {remedy}", (operand,)
    return "changes nothing: it has absorbed it already", ()


def _and_whole(position: Position, vertex: int) -> str:
    return " and whole" if position.is_red(vertex) else ""


def _operands(position: Position, vertex: int) -> list[int]:
    operands: list[int] = position.dag.operands(vertex).tolist()
    return operands


def _listed(position: Position, vertices: Sequence[int]) -> str:
    names = [position.dag.name(v) for v in vertices[:8]]
    return ", ".join(names) + (", ..." if len(vertices) > 8 else "")


def _pebbles(position: Position, vertex: int) -> str:
    if position.is_red(vertex) and not _is_whole(position, vertex):
        done, all_of_them = position.absorbed(vertex, FAST), position.dag.operands(vertex).size
        return f"it is red with {len(done)} of {all_of_them} operands absorbed"
    if position.is_blue(vertex):
        return "it is red and blue" if position.is_red(vertex) else "it is blue only"
    return "it is red only" if position.is_red(vertex) else "it has no pebble"


def _remedy(position: Position, vertex: int) -> str:
    """Say how a vertex that is not red may become red."""
    rules = position.rules
    if position.is_red(vertex) and not _is_whole(position, vertex):
        lacking = set(_operands(position, vertex)) - position.absorbed(vertex, FAST)
        return f"let it absorb {_listed(position, sorted(lacking))}"
    if position.is_blue(vertex):
        return "load it"
    if position.dag.operations[vertex] == INPUT and not rules.free_inputs:
        # Only a moving load can take the blue pebble of an input away.
        return "its value is lost, so store it before deleting it"
    if rules.one_shot and position.is_computed(vertex):
        return "its value is lost, so store it before deleting it"
    return "compute it"
