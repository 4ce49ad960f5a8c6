"""What makes a move illegal, and how to say so: the one text for `Game` and referee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pebble.errors import IllegalMoveError
from pebble.moves import DELETE, KINDS, LOAD, STORE, Move
from pebble.operations import INPUT

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
        """Whether a vertex has been computed at some time."""


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
        The vertex concerned.
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
        return "" if position.is_red(vertex) and not position.is_blue(vertex) else "store"
    if kind == DELETE:
        if not position.is_red(vertex):
            return "delete"
        return "no-deletion" if rules.no_deletion and not position.is_blue(vertex) else ""
    if position.is_red(vertex) or (dag.operations[vertex] == INPUT and not rules.free_inputs):
        return "compute"
    if rules.one_shot and position.is_computed(vertex):
        return "one-shot"
    operands = dag.operands(vertex)
    if not all(position.is_red(u) for u in operands.tolist()):
        return "compute"
    return "budget" if full and not (rules.sliding and operands.size) else ""


def violation(position: Position, kind: int, vertex: int) -> Violation | None:
    """Explain why a move is illegal; None when it is legal."""
    rule = broken_rule(position, kind, vertex)
    if not rule:
        return None
    missing: tuple[int, ...] = ()
    if rule == "vertex":
        last = len(position.dag) - 1
        text = f"{KINDS[kind]} {vertex}: there is no such vertex; vertices are 0 to {last}"
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
        return "changes nothing: it is red already", ()
    if kind == LOAD:
        hint = _remedy(position, vertex)
        return f"needs it blue; {_pebbles(position, vertex)}: {hint}", (vertex,)
    if position.dag.operations[vertex] == INPUT and not rules.free_inputs:
        hint = _remedy(position, vertex)
        return f"is not allowed: it is an input, which cannot be computed; {hint}", ()
    missing = tuple(u for u in _operands(position, vertex) if not position.is_red(u))
    hints = [f"{_pebbles(position, u)}: {_remedy(position, u)} first" for u in missing[:3]]
    if len(missing) == 1:
        return f"needs {name(missing[0])} red; {hints[0]}", missing
    told = "; ".join(f"{name(u)}, {hint}" for u, hint in zip(missing, hints, strict=False))
    more = f"; and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"needs {len(missing)} operands red that are not: {told}{more}", missing


def _operands(position: Position, vertex: int) -> list[int]:
    operands: list[int] = position.dag.operands(vertex).tolist()
    return operands


def _listed(position: Position, vertices: Sequence[int]) -> str:
    names = [position.dag.name(v) for v in vertices[:8]]
    return ", ".join(names) + (", ..." if len(vertices) > 8 else "")


def _pebbles(position: Position, vertex: int) -> str:
    if position.is_blue(vertex):
        return "it is red and blue" if position.is_red(vertex) else "it is blue only"
    return "it is red only" if position.is_red(vertex) else "it has no pebble"


def _remedy(position: Position, vertex: int) -> str:
    """Say how a vertex that is not red may become red."""
    rules = position.rules
    if position.is_blue(vertex):
        return "load it"
    if position.dag.operations[vertex] == INPUT and not rules.free_inputs:
        # Only a moving load can take the blue pebble of an input away.
        return "its value is lost, so store it before deleting it"
    if rules.one_shot and position.is_computed(vertex):
        return "its value is lost, so store it before deleting it"
    return "compute it"
