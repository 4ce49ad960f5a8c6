"""Moves of the game, their text form and their packed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import InvalidMoveError

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["COMPUTE", "DELETE", "KINDS", "LOAD", "MAX_VERTICES", "STORE", "VERTEX_MASK"]
__all__ += ["Move", "Moves", "pack", "unpack"]

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
        """Read a move, ``L 17`` or, with a DAG that has names, ``L Q[2,3]``.

        Raises
        ------
        InvalidMoveError
            If the text is no move or names a vertex that does not exist.
        """
        words = text.split(maxsplit=1)  # names of a user's vertices may hold blanks
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
        """Return the text with the vertex's name, ``L Q[2,3]``."""
        return f"{LETTERS[self.kind]} {dag.name(self.vertex)}"


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
