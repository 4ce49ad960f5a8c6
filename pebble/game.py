"""Game: the rules in plain Python, one move at a time, with a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NamedTuple

from pebble.legality import Violation, broken_rule, unfinished, violation
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move, edge_of
from pebble.operations import INPUT
from pebble.partial import EVER, FAST, SLOW, Ledger
from pebble.report import Report, Traffic
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from fractions import Fraction

    from pebble.dag import Dag

__all__ = ["Game", "LegalMoves", "Pebbles"]

_SHOWN = 64  # a board of more vertices than this is summed up


class Pebbles(AbstractSet[int]):
    """The vertices that carry a colour: a live, read-only view of a game's set."""

    def __init__(self, vertices: set[int]) -> None:
        self._vertices = vertices

    def __contains__(self, vertex: object) -> bool:
        return vertex in self._vertices

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._vertices))

    def __len__(self) -> int:
        return len(self._vertices)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(str, self))}}}"

    @classmethod
    def _from_iterable(cls, it: Any) -> AbstractSet[Any]:
        # What `&`, `|` and `-` return is a set of its own, no view.
        return frozenset(it)


class LegalMoves(Collection[Move]):
    """The legal moves of a game as it stands: a live view, computed only as far as it is read."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def __contains__(self, move: object) -> bool:
        return isinstance(move, Move | str) and self._game.is_legal(move)

    def __iter__(self) -> Iterator[Move]:
        game = self._game
        edges = game.dag.predecessors.size if game.rules.partial else 0
        candidates = (
            (LOAD, game.blue),
            (STORE, game.red),
            (COMPUTE, range(len(game.dag) + edges)),
            (DELETE, game.red),
        )
        for kind, vertices in candidates:
            for vertex in vertices:
                if not broken_rule(game, kind, vertex):
                    yield Move(kind, vertex)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<LegalMoves: {', '.join(move.named(self._game.dag) for move in self)}>"


class _Before(NamedTuple):
    """Under partial computation: the vertex concerned, as it was before a move."""

    ledger: Any
    is_red: bool
    is_blue: bool
    computed: int
    recomputes: int


class _Made(NamedTuple):
    """A move with what is needed to take it back."""

    move: Move
    overfull: int
    peak_red: int
    partial: _Before | None = None


class Game:
    """A play of the red-blue pebble game: position and history.

    Parameters
    ----------
    dag : Dag
        The graph to pebble.
    M : int
        Number of red pebbles.
    rules : Rules
        Conventions; default Hong and Kung's.

    Raises
    ------
    BudgetError
        If M is less than the DAG can be played with under the rules.

    Notes
    -----
    This is the readable form of the rules: about a hundred thousand moves a second. The compiled
    `pebble.referee` says the same of whole plays, a thousand times as fast.

    Examples
    --------
    >>> from pebble import Dag
    >>> game = Game(Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"]), M=3)
    >>> game.push("L x")
    >>> print(game.explain("C z"))
    step 2: COMPUTE z needs y red; it is blue only: load it first (M=3, 1 red)
    >>> for move in ("L y", "C z", "S z"):
    ...     game.push(move)
    >>> game.is_finished, game.io
    (True, 3)
    """

    def __init__(self, dag: Dag, M: int, rules: Rules = HK) -> None:
        self.dag = dag
        self.rules = rules
        self.M = self.memory = rules.check_memory(dag, M)
        self.overfull = -1
        self.peak_red = 0
        self._red: set[int] = set()
        self._blue: set[int] = set() if rules.free_inputs else set(dag.inputs.tolist())
        self._computed: Counter[int] = Counter()
        self._kinds = [0, 0, 0, 0]
        self._history: list[_Made] = []
        self._recomputes = 0
        self._ledger = Ledger(dag) if rules.partial else None

    # -- position ----------------------------------------------------------------------------

    @property
    def red(self) -> Pebbles:
        """Vertices with a red pebble: in fast memory."""
        return Pebbles(self._red)

    @property
    def blue(self) -> Pebbles:
        """Vertices with a blue pebble: in slow memory."""
        return Pebbles(self._blue)

    @property
    def red_count(self) -> int:
        """Number of red vertices."""
        return len(self._red)

    def is_red(self, vertex: int) -> bool:
        """Whether a vertex is red."""
        return vertex in self._red

    def is_blue(self, vertex: int) -> bool:
        """Whether a vertex is blue."""
        return vertex in self._blue

    def is_computed(self, vertex: int) -> bool:
        """Whether a vertex has been computed at some time."""
        return vertex in self._computed

    def absorbed(self, vertex: int, where: int) -> AbstractSet[int]:
        """Return the operands that a vertex has absorbed, under partial computation."""
        return frozenset() if self._ledger is None else self._ledger.absorbed(vertex, where)

    def _has_whole(self, vertex: int, where: int) -> bool:
        return len(self.absorbed(vertex, where)) == self.dag.operands(vertex).size

    @property
    def is_finished(self) -> bool:
        """Whether the play may end here."""
        return self.overfull < 0 and next(self._missing(), None) is None

    def _missing(self) -> Iterator[int]:
        """Vertices that the end of the play still waits for."""
        rules = self.rules
        vertices = range(len(self.dag)) if rules.complete else self.dag.outputs.tolist()
        outputs = set(self.dag.outputs.tolist())
        for v in vertices:
            given = self.dag.operations[v] == INPUT and not rules.free_inputs
            computed = given or v in self._computed
            is_blue = v in self._blue and (not rules.partial or self._has_whole(v, SLOW))
            done = computed if rules.unstored_outputs else is_blue
            if (rules.complete and not computed) or (v in outputs and not done):
                yield v

    # -- history -----------------------------------------------------------------------------

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves made, in order."""
        return tuple(made.move for made in self._history)

    @property
    def step(self) -> int:
        """Number of moves made."""
        return len(self._history)

    @property
    def loads(self) -> int:
        """Number of LOAD moves made."""
        return self._kinds[LOAD]

    @property
    def stores(self) -> int:
        """Number of STORE moves made."""
        return self._kinds[STORE]

    @property
    def computes(self) -> int:
        """Number of COMPUTE moves made."""
        return self._kinds[COMPUTE]

    @property
    def recomputes(self) -> int:
        """Number of COMPUTE moves on vertices computed (or edges absorbed) before."""
        if self._ledger is not None:
            return self._recomputes
        return self.computes - len(self._computed)

    @property
    def io(self) -> int:
        """Loads and stores together."""
        return self.loads + self.stores

    @property
    def cost(self) -> int | Fraction:
        """I/O plus, where the rules put a price on computes, that price for each."""
        price = self.rules.compute_price
        return self.io + price * self.computes if price else self.io

    # -- moves -------------------------------------------------------------------------------

    @property
    def legal_moves(self) -> LegalMoves:
        """The legal moves, as a view: ``move in game.legal_moves``, iterate, ``len``."""
        return LegalMoves(self)

    def is_legal(self, move: Move | str) -> bool:
        """Whether a move, or its text, is legal now."""
        move = self._read(move)
        return not broken_rule(self, move.kind, move.vertex)

    def explain(self, move: Move | str) -> Violation | None:
        """Say why a move is illegal now; None when it is legal."""
        move = self._read(move)
        return violation(self, move.kind, move.vertex)

    def push(self, move: Move | str) -> None:
        """Make a move.

        Raises
        ------
        IllegalMoveError
            If the move breaks a rule; the position is unchanged.
        InvalidMoveError
            If a text is no move, or names no vertex.
        """
        move = self._read(move)
        refusal = violation(self, move.kind, move.vertex)
        if refusal is not None:
            raise refusal.error()
        v, before = move.vertex, None
        if self._ledger is not None:
            v, before = self._absorb(self._ledger, move)
        self._history.append(_Made(move, self.overfull, self.peak_red, before))
        self._kinds[move.kind] += 1
        self.overfull = -1
        if move.kind == LOAD:
            self._red.add(v)
            if self.rules.moving_loads:
                self._blue.remove(v)
        elif move.kind == STORE:
            self._blue.add(v)
        elif move.kind == COMPUTE:
            self._red.add(v)
            if self._ledger is None or self._has_whole(v, FAST):
                self._computed[v] += 1
            if len(self._red) > self.memory:
                self.overfull = v
        else:
            self._red.remove(v)
        if self.overfull < 0:
            self.peak_red = max(self.peak_red, len(self._red))

    def pop(self) -> Move:
        """Take the last move back and return it.

        Raises
        ------
        IndexError
            If no move has been made.
        """
        if not self._history:
            raise IndexError("there is no move to take back")
        move, self.overfull, self.peak_red, before = self._history.pop()
        self._kinds[move.kind] -= 1
        v = move.vertex
        if before is not None:
            self._restore(before)
        elif move.kind == LOAD:
            self._red.remove(v)
            if self.rules.moving_loads:
                self._blue.add(v)
        elif move.kind == STORE:
            self._blue.remove(v)
        elif move.kind == COMPUTE:
            self._red.remove(v)
            self._computed[v] -= 1
            if not self._computed[v]:
                del self._computed[v]
        else:
            self._red.add(v)
        return move

    def _absorb(self, ledger: Ledger, move: Move) -> tuple[int, _Before]:
        """Make a move in the ledger; return the vertex concerned, and what it was before."""
        edge = edge_of(self.dag, move.vertex) if move.kind == COMPUTE else None
        v = move.vertex if edge is None else edge[1]
        is_red, is_blue = v in self._red, v in self._blue
        computed, recomputes = self._computed[v], self._recomputes
        if move.kind == COMPUTE:
            again = ledger.absorbed(v, EVER)
            self._recomputes += bool(again or computed) if edge is None else edge[0] in again
        undo = ledger.make(move.kind, move.vertex, is_red=is_red)
        if move.kind == LOAD and self.rules.moving_loads:
            ledger.forget(v)
        return v, _Before(undo, is_red, is_blue, computed, recomputes)

    def _restore(self, before: _Before) -> None:
        """Take a move back in the ledger and on the board."""
        assert self._ledger is not None
        v = self._ledger.undo(before.ledger)
        for pebbles, had in ((self._red, before.is_red), (self._blue, before.is_blue)):
            (pebbles.add if had else pebbles.discard)(v)
        self._computed[v] = before.computed
        if not before.computed:
            del self._computed[v]
        self._recomputes = before.recomputes

    def _read(self, move: Move | str) -> Move:
        return Move.parse(move, self.dag) if isinstance(move, str) else move

    # -- results -----------------------------------------------------------------------------

    def check_finished(self) -> None:
        """Raise `IllegalMoveError`, rule ``end``, unless the play may end here."""
        refusal = unfinished(self, list(self._missing()))
        if refusal is not None:
            raise refusal.error()

    def report(self, workload: str = "", strategy: str = "") -> Report:
        """Return the counts of the play, which must be finished."""
        self.check_finished()
        tensors: dict[str, Traffic] = {}
        for move in self.moves:
            if move.kind in (LOAD, STORE):
                name = self.dag.owner(move.vertex).name
                loads, stores = tensors.get(name, (0, 0))
                is_load = move.kind == LOAD
                tensors[name] = Traffic(loads + is_load, stores + (not is_load))
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
            tensors=tensors,
        )

    def __repr__(self) -> str:
        return f"<Game {self._summary()}>"

    def _summary(self) -> str:
        state = "finished" if self.is_finished else f"{self.red_count} red"
        return (
            f"after {self.step} moves: M={self.memory}, {state}, {self.loads} loads, "
            f"{self.stores} stores, {self.computes} computes, rules {self.rules}"
        )

    def __str__(self) -> str:
        """Board of a small DAG: R for red, B for blue, the vertex and how it is computed."""
        lines = [self._summary()]
        shown = range(len(self.dag))
        if len(self.dag) > _SHOWN:
            shown = sorted(self._red)[:_SHOWN]  # type: ignore[assignment]
            lines.append(f"{len(self.dag):,} vertices; those that are red:")
        for v in shown:
            marks = ("R" if v in self._red else ".") + ("B" if v in self._blue else ".")
            lines.append(f"  {marks}  {self.dag.describe(v)}{self._progress(v)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # A notebook shows the board where it is small, and what `str` says where it is not.
        from html import escape

        from pebble.showing import svg

        drawn = svg(self.dag, self._red, self._blue)
        if drawn is None:
            return f"<pre>{escape(str(self))}</pre>"
        return f"<p>{escape(self._summary())}</p>{drawn}"

    def _progress(self, vertex: int) -> str:
        """Say how much of a vertex has been absorbed where it is not all or nothing."""
        said = [
            f"{len(self.absorbed(vertex, where))} absorbed in {what} memory"
            for where, what, pebbles in ((FAST, "fast", self._red), (SLOW, "slow", self._blue))
            if vertex in pebbles and not self._has_whole(vertex, where)
        ]
        return f"  ({', '.join(said)})" if said and self.rules.partial else ""
