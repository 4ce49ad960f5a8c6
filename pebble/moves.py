"""Moves of the game, their text form and their packed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import InvalidMoveError, PebbleError

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["COMPUTE", "DELETE", "KINDS", "LOAD", "MAX_VERTICES", "STORE", "VERTEX_MASK"]
__all__ += ["Move", "Moves", "edge_of", "pack", "partial_compute", "unpack"]

LOAD, STORE, COMPUTE, DELETE = range(4)
KINDS = ("LOAD", "STORE", "COMPUTE", "DELETE")
LETTERS = "LSCD"
MAX_VERTICES = 1 << 30
VERTEX_MASK = MAX_VERTICES - 1

#: Packed moves: uint32, the kind in the two high bits, the vertex in the thirty low ones.
Moves: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """One move: a kind (`LOAD`, `STORE`, `COMPUTE` or `DELETE`) and a vertex.

    A partial compute (rules with ``partial``) is a COMPUTE whose vertex is the number of vertices
    plus the number of an edge, its place in ``dag.predecessors``; `partial_compute` makes it.

    Examples
    --------
    >>> Move.parse("L 17")
    Move(kind=0, vertex=17)
    >>> str(Move(COMPUTE, 3))
    'C 3'
    """

    kind: int
    vertex: int

    def __str__(self) -> str:
        return f"{LETTERS[self.kind]} {self.vertex}"

    @classmethod
    def parse(cls, text: str, dag: Dag | None = None) -> Move:
        """Read a move, ``L 17`` or, with a DAG, ``L Q[2,3]`` and the partial compute ``P u v``.

        Raises
        ------
        InvalidMoveError
            If the text is no move or names a vertex that does not exist.
        """
        words = text.split(maxsplit=1)  # names of a user's vertices may hold blanks
        if len(words) == 2 and words[0].upper() in ("P", "PARTIAL"):
            return _parse_partial(text, words[1].strip(), dag)
        if len(words) != 2 or words[0].upper() not in ("L", "S", "C", "D", *KINDS):
            raise InvalidMoveError(
                f"{text!r} is no move: expected L, S, C or D and a vertex, as in 'L 17'"
            )
        kind = LETTERS.index(words[0][0].upper())
        words[1] = words[1].strip()
        if words[1].isascii() and words[1].isdigit():
            vertex = int(words[1])
            if vertex >= (len(dag) if dag is not None else MAX_VERTICES):
                known = f"0 to {len(dag) - 1}" if dag is not None else f"below {MAX_VERTICES}"
                raise InvalidMoveError(
                    f"{text!r}: there is no vertex {vertex}; vertices are {known}"
                )
            return cls(kind, vertex)
        if dag is None:
            raise InvalidMoveError(f"{text!r}: {words[1]!r} is no vertex number")
        return cls(kind, dag.vertex(words[1]))

    def named(self, dag: Dag) -> str:
        """Return the text with the vertex's name, ``L Q[2,3]``; ``P u v`` for a partial compute."""
        edge = edge_of(dag, self.vertex) if self.kind == COMPUTE else None
        if edge is not None:
            return f"P {dag.name(edge[0])} {dag.name(edge[1])}"
        return f"{LETTERS[self.kind]} {dag.name(self.vertex)}"


def partial_compute(dag: Dag, operand: int, vertex: int) -> Move:
    """Return the move by which a vertex absorbs one operand.

    Raises
    ------
    InvalidMoveError
        If it is no operand of the vertex.

    Examples
    --------
    >>> from pebble import Dag
    >>> dag = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"])
    >>> move = partial_compute(dag, 1, 2)
    >>> move, move.named(dag), Move.parse("P y z", dag) == move
    (Move(kind=2, vertex=4), 'P y z', True)
    """
    place = np.flatnonzero(dag.operands(vertex) == operand)
    if not place.size:
        names = [dag.name(int(u)) for u in dag.operands(vertex)[:8]]
        raise InvalidMoveError(
            f"{dag.name(operand)} is no operand of {dag.name(vertex)}, whose operands are: "
            f"{', '.join(names) or 'none'}"
        )
    return Move(COMPUTE, len(dag) + int(dag.indptr[vertex]) + int(place[0]))


def edge_of(dag: Dag, number: int) -> tuple[int, int] | None:
    """Return (operand, vertex) of the edge that a partial compute names; None if it names none.

    ``number`` is the number of vertices plus that of the edge.
    """
    edge = number - len(dag)
    if not 0 <= edge < dag.predecessors.size:
        return None
    vertex = int(np.searchsorted(dag.indptr, edge, side="right")) - 1
    return int(dag.predecessors[edge]), vertex


def _parse_partial(text: str, names: str, dag: Dag | None) -> Move:
    if dag is None:
        raise InvalidMoveError(f"{text!r}: a partial compute names an edge: give the graph")
    words = names.split(" ")
    refusal: PebbleError | None = None
    for i in range(1, len(words)):  # names may hold blanks: cut where both sides are vertices
        try:
            operand = Move.parse("L " + " ".join(words[:i]), dag).vertex
            vertex = Move.parse("L " + " ".join(words[i:]), dag).vertex
            return partial_compute(dag, operand, vertex)
        except PebbleError as error:
            refusal = refusal or error
    why = f": {refusal}" if refusal is not None else ""
    raise InvalidMoveError(
        f"{text!r} is no partial compute{why}; expected P, an operand and a vertex, as in 'P x z'"
    )


def pack(kind: int, vertices: npt.ArrayLike) -> Moves:
    """Pack moves of one kind.

    Examples
    --------
    >>> pack(STORE, [1, 2]).tolist()
    [1073741825, 1073741826]
    """
    return np.asarray(vertices, dtype=np.uint32) | np.uint32(kind << 30)


def unpack(moves: Moves) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return kinds and vertices of packed moves.

    Examples
    --------
    >>> [x.tolist() for x in unpack(pack(DELETE, [5]))]
    [[3], [5]]
    """
    return moves >> np.uint32(30), moves & np.uint32(VERTEX_MASK)
