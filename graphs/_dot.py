"""A reader for the usual subset of DOT: quoted names, attributes, edge chains, subgraphs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from graphs._edges import EdgeBuilder
from pebble.errors import GraphError

if TYPE_CHECKING:
    from pathlib import Path

    from pebble.dag import Dag

__all__ = ["read_dot"]

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|(?<![^\n])\#[^\n]*)
    |(?P<quoted>"(?:\\.|[^"\\])*")
    |(?P<arrow>->|--)
    |(?P<word>[A-Za-z_0-9.\-\u0080-\uffff]+?(?=->|--|[^A-Za-z_0-9.\-\u0080-\uffff]|$))
    |(?P<sign>[{}\[\];,=:])""",
    re.VERBOSE | re.DOTALL,
)


class _Reader:
    """Tokens of a DOT text, one ahead."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        place, line = 0, 1
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise GraphError(f"line {line}: cannot read {text[place : place + 20].strip()!r}")
            kind, body = str(match.lastgroup), match.group()
            if kind == "quoted":
                plain = re.sub(r'\\(["\\])', r"\1", body[1:-1].replace("\\\n", ""))
                self.tokens.append(("word", plain, line))
            elif kind != "blank":
                self.tokens.append((kind, body, line))
            line += body.count("\n")
            place = match.end()
        self.tokens.append(("end", "the end of the file", line))
        self.place = 0
        self.builder = EdgeBuilder()
        self.operations: dict[str, str] = {}
        self.outputs: list[str] = []
        self.says_outputs = False

    def next(self) -> tuple[str, str, int]:
        """Return the next token and pass it."""
        token = self.tokens[self.place]
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def peek(self, text: str) -> bool:
        """Whether the next token is this sign."""
        kind, body, _ = self.tokens[self.place]
        return body == text and kind != "word"

    def expect(self, text: str) -> None:
        """Pass a sign that must come."""
        kind, body, line = self.next()
        if body != text or kind == "word":
            raise GraphError(f"line {line}: expected {text!r}, got {body!r}")

    def word(self) -> tuple[str, int]:
        """Return a name and its line."""
        kind, body, line = self.next()
        if kind != "word":
            raise GraphError(f"line {line}: expected a name, got {body!r}")
        return body, line

    def attributes(self) -> dict[str, str]:
        """Pass attribute lists and return them."""
        found: dict[str, str] = {}
        while self.peek("["):
            self.next()
            while not self.peek("]"):
                key, _ = self.word()
                self.expect("=")
                found[key.lower()], _ = self.word()
                if self.peek(",") or self.peek(";"):
                    self.next()
            self.next()
        return found

    def node(self) -> tuple[str, int]:
        """Return the name of a node; its port, if any, is passed over."""
        name, line = self.word()
        while self.peek(":"):
            self.next()
            self.word()
        return name, line

    def statements(self) -> None:
        """Read statements up to a closing brace."""
        while not self.peek("}"):
            if self.peek(";"):
                self.next()
                continue
            if self.peek("{"):
                self.next()
                self.statements()
                continue
            name, line = self.node()
            if name.lower() == "subgraph":
                if not self.peek("{"):
                    self.word()
                self.expect("{")
                self.statements()
            elif self.peek("="):
                self.next()
                self.word()
            elif name.lower() in {"graph", "node", "edge"} and self.peek("["):
                self.attributes()
            else:
                self.chain(name, line)
        self.next()

    def chain(self, name: str, line: int) -> None:
        """Read a node statement or a chain of edges."""
        names = [(name, line)]
        while self.tokens[self.place][0] == "arrow":
            _, arrow, at = self.next()
            if arrow == "--":
                raise GraphError(f"line {at}: '--' has no direction; expected '->'")
            names.append(self.node())
        found = self.attributes()
        if len(names) == 1:
            self.builder.vertex(name)
            if "operation" in found:
                self.operations[name] = found["operation"]
            self.says_outputs |= "output" in found
            if found.get("output", "").lower() == "true" or found.get("peripheries") == "2":
                self.outputs.append(name)
        for (u, _), (v, at) in pairwise(names):
            self.builder.edge(u, v, at)


def read_dot(path: Path) -> Dag:
    """Read a DOT digraph whose edges point from operand to result."""
    reader = _Reader(path.read_text(encoding="utf-8"))
    first, line = reader.word()
    if first.lower() == "strict":
        first, line = reader.word()
    if first.lower() != "digraph":
        raise GraphError(f"line {line}: expected 'digraph', got {first!r}")
    if not reader.peek("{"):
        reader.word()
    reader.expect("{")
    reader.statements()
    outputs = reader.outputs if reader.outputs or reader.says_outputs else None
    return reader.builder.dag(str(path), outputs, reader.operations)
