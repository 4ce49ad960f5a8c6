"""Edges of a text file, collected by name, with the line of whatever is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pebble.dag import Dag
from pebble.errors import GraphError, unknown
from pebble.operations import APPLY, INPUT, NAMES

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["EdgeBuilder", "marks", "read_hyperdag", "read_marks", "read_matrix_market"]

#: Begins a remark in which we keep what a file of edges has no place for.
_MARK = "pebble:"


def marks(dag: Dag, remark: str, *, size: bool = False) -> Iterator[str]:
    """Yield remarks that say which vertices are outputs, where that is not all sinks.

    With ``size`` also how many vertices there are, where the edges do not tell.
    """
    start, _ = dag.successors()
    touched = np.flatnonzero((np.diff(start) > 0) | (np.diff(dag.indptr) > 0))
    if size and (not touched.size or int(touched[-1]) + 1 < len(dag)):
        yield f"{remark} {_MARK} {len(dag)} vertices\n"
    sinks = np.flatnonzero((np.diff(start) == 0) & (dag.operations != INPUT))
    default = sinks[np.diff(dag.indptr)[sinks] > 0]
    if not np.array_equal(dag.outputs, default):
        chosen = dag.outputs.tolist()
        for low in range(0, max(1, len(chosen)), 100):
            words = " ".join(map(str, chosen[low : low + 100])) or "none"
            yield f"{remark} {_MARK} outputs {words}\n"


def read_marks(text: str, remark: str) -> tuple[int, list[int] | None]:
    """Return the number of vertices (0 if not said) and the outputs (None) that remarks name."""
    vertices, outputs = 0, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(remark):
            continue
        words = line[len(remark) :].split()
        if words[:1] != [_MARK]:
            continue
        if words[1:2] == ["outputs"]:
            outputs = outputs or []
            if words[2:] != ["none"]:
                outputs += _integers(number, words[2:], len(words) - 2, "numbers of vertices")
        elif words[2:] == ["vertices"]:
            vertices = _integers(number, words[1:], 1, "the number of vertices")[0]
        else:
            raise GraphError(f"line {number}: expected outputs or vertices, got {line.strip()!r}")
    if vertices > 1_000_000 + 4 * len(text):
        raise GraphError(f"a remark announces {vertices:,} vertices, far more than the file has")
    return vertices, outputs


class EdgeBuilder:
    """Collects vertices, in order of appearance, and their operands."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.rows: list[dict[int, None]] = []

    def vertex(self, name: str) -> int:
        """Return the number of a vertex, a new one if the name is new."""
        if name not in self.number:
            self.number[name] = len(self.rows)
            self.rows.append({})
        return self.number[name]

    def edge(self, operand: str, result: str, line: int) -> None:
        """Add an edge."""
        u, v = self.vertex(operand), self.vertex(result)
        if u == v:
            raise GraphError(f"line {line}: {operand} is its own operand: remove the self-loop")
        if u in self.rows[v]:
            raise GraphError(f"line {line}: the edge {operand} -> {result} stands twice")
        self.rows[v][u] = None

    def dag(
        self,
        source: str,
        outputs: Collection[str] | None = None,
        operations: dict[str, str] | None = None,
    ) -> Dag:
        """Build the DAG."""
        codes = [APPLY if row else INPUT for row in self.rows]
        for name, word in (operations or {}).items():
            if word not in NAMES:
                raise unknown("operation", word, NAMES)
            codes[self.number[name]] = NAMES[word]
        if outputs is not None:
            missing = [name for name in outputs if name not in self.number]
            if missing:
                raise GraphError(f"output {missing[0]!r} is no vertex of the graph")
        chosen = None if outputs is None else [self.number[name] for name in outputs]
        names = list(self.number)
        plain = names == [str(v) for v in range(len(names))]
        return Dag.from_predecessors(
            [list(row) for row in self.rows], chosen, None if plain else names, codes, source
        )


def _numbers(path: Path, remark: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith(remark):
            yield number, line.split(remark)[0].split()


def _integers(line: int, words: list[str], count: int, what: str) -> list[int]:
    try:
        values = [int(word) for word in words[:count]]
    except ValueError:
        values = []
    if len(values) < count or min(values, default=0) < 0:
        raise GraphError(f"line {line}: expected {what}, got {' '.join(words)!r}")
    return values


def _plausible(line: int, vertices: int, used: int) -> None:
    """Raise where a header announces far more vertices than the file can speak of."""
    if vertices > 4 * used + 1000:
        raise GraphError(
            f"line {line} announces {vertices:,} vertices, but only {used:,} entries: leave out "
            "the vertices that nothing touches"
        )


def read_hyperdag(path: Path) -> Dag:
    """Read a HyperDAG: hyperedges, vertices, pins; a hyperedge's first pin is the value it carries.

    The weights of hyperedges and vertices, where a file has them, are passed over.
    """
    lines = list(_numbers(path, "%"))
    if not lines:
        raise GraphError("expected a line with the numbers of hyperedges, vertices and pins")
    at, head = lines[0]
    what = "the numbers of hyperedges, vertices and pins"
    edges, vertices, pins = _integers(at, head, 3, what)
    body = lines[1:]
    if len(body) not in {pins, pins + vertices, pins + vertices + edges}:
        raise GraphError(
            f"line {at} announces {pins} pins, but {len(body)} lines follow; expected one line per "
            "pin, with or without lines of weights for hyperedges and vertices before them"
        )
    _plausible(at, vertices, pins)
    builder = EdgeBuilder()
    for v in range(vertices):
        builder.vertex(str(v))
    source: dict[int, int] = {}
    for line, words in body[len(body) - pins :]:
        e, v = _integers(line, words, 2, "a hyperedge and a vertex")
        if e >= edges or v >= vertices:
            raise GraphError(
                f"line {line}: hyperedges are 0 to {edges - 1}, vertices 0 to {vertices - 1}; got "
                f"{e} {v}"
            )
        if e in source:
            builder.edge(str(source[e]), str(v), line)
        else:
            source[e] = v
    return builder.dag(str(path), _outputs(path))


def _outputs(path: Path) -> list[str] | None:
    """Return the outputs that remarks name."""
    outputs = read_marks(path.read_text(encoding="utf-8"), "%")[1]
    return None if outputs is None else [str(v) for v in outputs]


def read_matrix_market(path: Path) -> Dag:
    """Read a square sparse matrix: an entry in row i, column j makes j an operand of i."""
    with path.open(encoding="utf-8") as file:
        banner = file.readline().lower().split()
    if banner[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise GraphError("line 1: expected '%%MatrixMarket matrix coordinate ...'")
    if banner[4:5] != ["general"]:
        raise GraphError(f"line 1: expected a general matrix, got {' '.join(banner[4:])!r}")
    lines = _numbers(path, "%")
    at, head = next(lines, (2, []))
    rows, columns, entries = _integers(at, head, 3, "the numbers of rows, columns and entries")
    if rows != columns:
        raise GraphError(f"line {at}: expected a square matrix, got {rows} x {columns}")
    _plausible(at, rows, entries)
    builder = EdgeBuilder()
    for v in range(rows):
        builder.vertex(str(v))
    found = 0
    for line, words in lines:
        i, j = _integers(line, words, 2, "a row and a column")
        if not (1 <= i <= rows and 1 <= j <= rows):
            raise GraphError(f"line {line}: rows and columns are 1 to {rows}, got {i} {j}")
        builder.edge(str(j - 1), str(i - 1), line)
        found += 1
    if found != entries:
        raise GraphError(f"line {at} announces {entries} entries, but {found} follow")
    return builder.dag(str(path), _outputs(path))
