"""The readable form of a trace: ``#`` lines, one move per line, a footer with their number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from pebble._jit import jit
from pebble.errors import PebbleError, TraceError
from pebble.moves import COMPUTE, LETTERS, Move, Moves, unpack

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["TextWriter", "read_fields", "read_moves"]

TITLE = "# pebble-trace"
_END = re.compile(r"# end (\d+)")
_BLOCK = 1 << 22
_LINE = 1 << 20  # no line of a trace is longer


class TextWriter:
    """Writes the readable form; vertices by name when a DAG is given for it.

    ``graph`` is the DAG played on where moves may be partial computes, which are written ``P u v``.
    """

    def __init__(
        self, file: BinaryIO, fields: dict[str, str], dag: Dag | None, graph: Dag | None = None
    ) -> None:
        self._file = file
        self._dag = dag
        self._graph = graph
        self.count = 0
        lines = [f"{TITLE} {fields['version']}"]
        lines += [f"# {key} {value}".rstrip() for key, value in fields.items() if key != "version"]
        file.write(("\n".join(lines) + "\n").encode())

    def write(self, moves: Moves) -> None:
        """Write packed moves."""
        if self._dag is None and self._graph is not None:
            self._file.write("".join(_numbered(moves, self._graph)).encode())
        elif self._dag is None:
            for start in range(0, moves.size, _BLOCK):
                part = moves[start : start + _BLOCK]
                text = np.empty(13 * part.size, np.uint8)  # a letter, a blank, 10 digits, newline
                self._file.write(text[: _format(part, text)].data)
        else:
            kinds, vertices = unpack(moves)
            lines = [
                f"{Move(kind, v).named(self._dag)}\n"
                for kind, v in zip(kinds.tolist(), vertices.tolist(), strict=True)
            ]
            self._file.write("".join(lines).encode())
        self.count += moves.size

    def close(self) -> None:
        """Write the footer."""
        self._file.write(f"# end {self.count}\n".encode())


def _numbered(moves: Moves, graph: Dag) -> Iterator[str]:
    """Yield the lines of moves among which are partial computes, vertices by number."""
    size = len(graph)
    kinds, vertices = unpack(moves)
    edges = np.maximum(vertices.astype(np.int64) - size, 0)
    results = np.searchsorted(graph.indptr, edges, side="right") - 1
    for kind, v, edge, result in zip(
        kinds.tolist(), vertices.tolist(), edges.tolist(), results.tolist(), strict=True
    ):
        if kind == COMPUTE and v >= size:
            yield f"P {graph.predecessors[edge]} {result}\n"
        else:
            yield f"{LETTERS[kind]} {v}\n"


def read_fields(file: BinaryIO, keys: list[str], where: str) -> dict[str, str] | None:
    """Read the header lines; None, and the file rewound, for a bare list of moves."""
    first = _line(file, where)
    if not first.startswith(TITLE):
        file.seek(0)
        return None
    fields = {"version": first.removeprefix(TITLE).strip()}
    if fields["version"] != "1":
        return fields  # another version may have other lines
    for key in keys:
        found, _, value = _line(file, where).removeprefix("# ").partition(" ")
        if found != key:
            raise TraceError(f"{where}: expected the header line '# {key} ...', got '# {found}'")
        fields[key] = value
    return fields


def read_moves(file: BinaryIO, dag: Dag | None, where: str, header_lines: int) -> Iterator[Moves]:
    """Read moves up to the footer, which a trace with a header must have."""
    reader = _Reader(dag, where, header_lines)
    rest = b""
    while True:
        block = file.read(_BLOCK)
        if not block and rest and header_lines == 0:
            block = b"\n"  # the last line of a list written by hand
        text = bytearray(rest + block)
        whole = text.rfind(b"\n") + 1
        rest = bytes(text[whole:])
        if len(rest) > _LINE:
            raise TraceError(f"{where} is no trace: it has a line of {len(rest):,} characters")
        if whole:
            moves = reader.read(text, whole)
            if moves.size:
                yield moves
        if not block:
            break
    if header_lines and (rest or not reader.ended):
        raise TraceError(
            f"{where} is truncated: expected the footer '# end COUNT' and a newline "
            f"after {reader.count} moves"
        )
    if not header_lines and not reader.count:
        raise TraceError(f"{where} is no trace: it holds no moves")


class _Reader:
    """State between blocks: moves and lines so far, whether the footer was seen."""

    def __init__(self, dag: Dag | None, where: str, lines: int) -> None:
        self.dag = dag
        self.where = where
        self.lines = lines
        self.count = 0
        self.ended = False

    def read(self, text: bytearray, whole: int) -> Moves:
        """Read the first ``whole`` bytes, which end with a newline."""
        data = np.frombuffer(text, np.uint8)[:whole]
        moves = np.empty(whole // 4 + 1, np.uint32)  # the shortest line is 'L 0' and a newline
        position = filled = 0
        while position < whole:
            if not self.ended:
                before = filled
                position, filled = _parse(data, position, moves, filled)
                self.lines += filled - before
                self.count += filled - before
                if position == whole:
                    break
            stop = text.index(b"\n", position)
            self.lines += 1
            if self.ended:
                raise TraceError(f"{self.where}: line {self.lines}: nothing may follow the footer")
            move = self._other(bytes(text[position:stop]))
            if move is not None:
                moves[filled] = (move.kind << 30) | move.vertex
                filled += 1
                self.count += 1
            position = stop + 1
        return moves[:filled]

    def _other(self, line: bytes) -> Move | None:
        """Read a line that is no plain numbered move: a name, a comment, a blank, the footer."""
        place = f"{self.where}: line {self.lines}"
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            raise TraceError(f"{place} is no text: expected a trace") from None
        if text.startswith("# end"):
            found = _END.fullmatch(text)
            if found is None:
                raise TraceError(f"{place}: expected '# end COUNT', got {text[:60]!r}")
            if int(found[1]) != self.count:
                raise TraceError(
                    f"{place}: the footer counts {found[1]} moves, but {self.count} came before it"
                )
            self.ended = True
        if not text or text.startswith("#"):
            return None
        try:
            return Move.parse(text, self.dag)
        except PebbleError as error:
            hint = ""
            if self.dag is None and " " in text:
                hint = " (to read names, give the graph)"
            raise TraceError(f"{place}: {str(error)[:500]}{hint}") from None


def _line(file: BinaryIO, where: str) -> str:
    line = file.readline(_LINE)
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise TraceError(
            f"{where} is no trace: expected the text form or the compact form of one"
        ) from None


_L, _S, _C, _D, _BLANK, _NEWLINE, _ZERO = (np.uint8(ord(c)) for c in "LSCD \n0")


@jit
def _format(moves, text):  # type: ignore[no-untyped-def]
    """Write each move as a letter, a blank, the vertex and a newline; return the bytes used."""
    used = 0
    for move in moves:
        kind = move >> np.uint32(30)
        text[used] = _L if kind == 0 else _S if kind == 1 else _C if kind == 2 else _D
        text[used + 1] = _BLANK
        rest = np.int64(move & np.uint32((1 << 30) - 1))
        digits, power = 1, 10
        while rest >= power:
            digits += 1
            power *= 10
        for i in range(digits):
            text[used + 1 + digits - i] = _ZERO + np.uint8(rest % 10)
            rest //= 10
        text[used + 2 + digits] = _NEWLINE
        used += digits + 3
    return used


@jit
def _parse(text, start, moves, filled):  # type: ignore[no-untyped-def]
    """Read lines as `_format` writes them; return where the first other line starts."""
    position = start
    while position + 3 < text.size:
        letter = text[position]
        if letter == _C:
            kind = 2
        elif letter == _D:
            kind = 3
        elif letter == _L:
            kind = 0
        elif letter == _S:
            kind = 1
        else:
            break
        if text[position + 1] != _BLANK:
            break
        vertex, at = np.int64(0), position + 2
        while at < text.size and _ZERO <= text[at] <= _ZERO + 9 and vertex < (1 << 30):
            vertex = 10 * vertex + np.int64(text[at] - _ZERO)
            at += 1
        if at == position + 2 or at >= text.size or text[at] != _NEWLINE or vertex >= (1 << 30):
            break
        moves[filled] = np.uint32((kind << 30) | vertex)
        filled += 1
        position = at + 1
    return position, filled
