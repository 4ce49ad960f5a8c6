"""Graph files: JSON, npz, GraphML, DOT, HyperDAG, Matrix Market and edge lists."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphs._dot import read_dot
from graphs._edges import marks, read_hyperdag, read_marks, read_matrix_market
from graphs._labels import with_tensors
from pebble.dag import Dag
from pebble.errors import GraphError, PebbleError
from pebble.files import replacing
from pebble.operations import APPLY, INPUT, NAMES, OPERATIONS
from pebble.tensor import Tensor

__all__ = ["FORMAT", "is_graph_file", "read_graph", "write_graph"]

FORMAT = "pebble-dag 1"


def is_graph_file(text: str) -> bool:
    """Whether a text is the name of a graph file rather than a workload's text form."""
    return Path(text).suffix.lower() in {*_READERS, *_WRITERS}


def read_graph(path: str | Path) -> Dag:
    """Read a DAG from a file, whose ending says what it is.

    ``.json``, ``.npz``, ``.graphml``, ``.dot`` or ``.gv``, ``.hdag`` (HyperDAG), ``.mtx`` (Matrix
    Market: an entry in row i, column j makes j an operand of i), ``.txt`` or ``.edges`` (a line
    per edge: operand, result).

    Raises
    ------
    GraphError
        If the file is missing, of another format, or its graph is cyclic or malformed.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise GraphError(f"{path}: cannot read this kind; expected {', '.join(sorted(_READERS))}")
    try:
        return with_tensors(reader(path))
    except PebbleError as error:
        raise type(error)(f"{path}: {error}") from None
    except FileNotFoundError:
        raise GraphError(f"{path}: there is no such file") from None
    except OSError as error:
        raise GraphError(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001 - whatever a library raises on a malformed file
        raise GraphError(
            f"{path}: is no {path.suffix} graph file: {type(error).__name__}: {error}"
        ) from None


def write_graph(dag: Dag, path: str | Path) -> list[str]:
    """Write a DAG to a file of one of the kinds that `read_graph` reads.

    JSON, npz, GraphML and DOT keep operations, outputs and names. ``.hdag``, ``.mtx`` and edge
    lists keep edges; outputs and isolated vertices stand in remarks, which `read_graph` reads and
    others pass over. The file is written under a temporary name and renamed.

    Returns
    -------
    list of str
        What the kind of file does not keep of this DAG, for people to read.
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise GraphError(f"{path}: cannot write this kind; expected {', '.join(sorted(_WRITERS))}")
    with replacing(path) as temporary:
        writer(dag, temporary)
    return _lost(dag) if path.suffix.lower() in _EDGES_ONLY else []


def _lost(dag: Dag) -> list[str]:
    """Return what a file of edges does not say."""
    lost = []
    if any(dag.name(v) != str(v) for v in (0, len(dag) - 1)):
        lost.append("the names of vertices")
    degrees = np.diff(dag.indptr)
    operations = dag.operations[degrees > 0]
    if np.any(operations != APPLY):
        lost.append("their operations")
    constants = np.count_nonzero((degrees == 0) & (dag.operations != INPUT))
    if constants:
        lost.append(f"that {constants} of the vertices without operands are no inputs")
    return lost


def _read_json(path: Path) -> Dag:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        came = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise GraphError(f'expected "format": "{FORMAT}", got {came!r}')
    rows = data.get("predecessors")
    if not isinstance(rows, list) or not all(_integers(row) for row in rows):
        raise GraphError('expected "predecessors": one list of vertex numbers per vertex')
    outputs, names = data.get("outputs"), data.get("names")
    if outputs is not None and not _integers(outputs):
        raise GraphError('expected "outputs": a list of vertex numbers')
    if names is not None and not (isinstance(names, list) and all(type(x) is str for x in names)):
        raise GraphError('expected "names": a list of texts')
    if names is not None and len(set(names)) < len(names):
        raise GraphError('"names" holds a name twice')
    words = data.get("operations")
    if words is not None and not (
        isinstance(words, list) and len(words) == len(rows) and set(words) <= set(NAMES)
    ):
        raise GraphError(f'expected "operations": one of {", ".join(NAMES)} per vertex')
    operations = None if words is None else [NAMES[word] for word in words]
    dag = Dag.from_predecessors(rows, outputs, names, operations, str(path))
    return with_tensors(dag, _tensors(data, "tensors"), _tensors(data, "views"))


def _tensors(data: dict[str, Any], key: str) -> list[Tensor]:
    """Read tensors of a JSON file; they are no part of the format, but tell names apart."""
    found = []
    for row in data.get(key) or []:
        if not (
            isinstance(row, list)
            and len(row) == 5
            and type(row[0]) is str
            and type(row[1]) is int
            and row[1] >= 0
            and all(_integers(part) for part in row[2:])
            and len(row[2]) == len(row[3]) == len(row[4])
            and all(n > 0 for n in row[2])
        ):
            raise GraphError(
                f'expected "{key}": lists of name, base, shape, strides and first index'
            )
        found.append(Tensor(row[0], row[1], tuple(row[2]), tuple(row[3]), tuple(row[4])))
    return found


def _integers(row: Any) -> bool:
    return isinstance(row, list) and all(type(x) is int for x in row)


def _write_json(dag: Dag, path: Path) -> None:
    data: dict[str, Any] = {
        "format": FORMAT,
        "source": dag.source,
        "predecessors": [dag.operands(v).tolist() for v in range(len(dag))],
        "outputs": dag.outputs.tolist(),
        "names": [dag.name(v) for v in range(len(dag))],
        "operations": [OPERATIONS[code].name for code in dag.operations.tolist()],
    }
    if dag.names is None and any(tensor.name != "vertex" for tensor in dag.tensors):
        data["tensors"] = _table(dag.tensors)
        data["views"] = _table(dag.views)
    path.write_text(json.dumps(data), encoding="utf-8")


def _table(tensors: tuple[Tensor, ...]) -> list[Any]:
    return [[t.name, t.base, t.shape, t.strides, t.first] for t in tensors]


def _write_npz(dag: Dag, path: Path) -> None:
    def table(tensors: tuple[Tensor, ...]) -> str:
        return json.dumps(_table(tensors))

    with path.open("wb") as file:
        np.savez_compressed(
            file,
            format=FORMAT,
            source=dag.source,
            indptr=dag.indptr,
            predecessors=dag.predecessors,
            operations=dag.operations,
            outputs=dag.outputs,
            tensors=table(dag.tensors),
            views=table(dag.views),
            names=json.dumps(dag.names),
        )


def _read_npz(path: Path) -> Dag:
    if path.exists() and not zipfile.is_zipfile(path):
        raise GraphError("is no NumPy archive, or a damaged one")
    with np.load(path, allow_pickle=False) as data:
        if "format" not in data or str(data["format"]) != FORMAT:
            raise GraphError(f'expected an archive with format "{FORMAT}"')

        def table(key: str) -> list[Tensor]:
            rows = json.loads(str(data[key]))
            return [Tensor(r[0], r[1], tuple(r[2]), tuple(r[3]), tuple(r[4])) for r in rows]

        tensors = table("tensors")
        end = 0
        for tensor in tensors:
            if tensor.base != end:
                raise GraphError("tensors do not partition the vertices")
            end += len(tensor)
        if end != data["indptr"].size - 1:
            raise GraphError("tensors do not partition the vertices")
        return Dag(
            data["indptr"],
            data["predecessors"],
            data["operations"],
            data["outputs"],
            tensors=tensors,
            views=table("views"),
            names=json.loads(str(data["names"])),
            source=str(path),
        )


def _read_graphml(path: Path) -> Dag:
    import networkx as nx

    graph: nx.DiGraph[Any] = nx.read_graphml(path)  # type: ignore[assignment]
    return Dag.from_networkx(graph, source=str(path))


def _write_graphml(dag: Dag, path: Path) -> None:
    import networkx as nx

    nx.write_graphml(dag.to_networkx(), path)


def _write_dot(dag: Dag, path: Path) -> None:
    def quoted(v: int) -> str:
        return '"' + dag.name(v).replace("\\", "\\\\").replace('"', '\\"') + '"'

    outputs = set(dag.outputs.tolist())
    with path.open("w", encoding="utf-8") as file:
        file.write("digraph pebble {\n  rankdir=BT;\n")
        for v in range(len(dag)):
            operation = OPERATIONS[dag.operations[v]]
            shape = "box" if operation.code == INPUT else "ellipse"
            mark = ", peripheries=2" if v in outputs else "" if outputs else ", output=false"
            file.write(f'  {quoted(v)} [shape={shape}, operation="{operation.name}"{mark}];\n')
        for v in range(len(dag)):
            for u in dag.operands(v).tolist():
                file.write(f"  {quoted(u)} -> {quoted(v)};\n")
        file.write("}\n")


def _write_edges(dag: Dag, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(f"# {len(dag)} vertices; each line: operand result\n")
        file.writelines(marks(dag, "#", size=True))
        for v in range(len(dag)):
            for u in dag.operands(v).tolist():
                file.write(f"{u} {v}\n")


def _read_edges(path: Path) -> Dag:
    rows: dict[str, list[str]] = {}
    numbered = True
    text = path.read_text(encoding="utf-8")
    marked, outputs = read_marks(text, "#")
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise GraphError(f"line {number}: expected 'operand result', got {line.strip()!r}")
        operand, result = words
        numbered = numbered and all(w.isascii() and w.isdigit() for w in words)
        rows.setdefault(operand, [])
        if operand in rows.setdefault(result, []):
            raise GraphError(f"line {number}: the edge {operand} {result} stands twice")
        rows[result].append(operand)
    if numbered and (rows or marked):
        size = max([marked, *(int(name) + 1 for name in rows)])
        if size > marked and size > 4 * len(rows) + 1000:
            raise GraphError(f"vertex numbers reach {size - 1:,}, but only {len(rows):,} are used")
        lists = [[int(u) for u in rows.get(str(v), [])] for v in range(size)]
        return Dag.from_predecessors(lists, outputs, source=str(path))
    position = {name: v for v, name in enumerate(rows)}
    lists = [[position[u] for u in row] for row in rows.values()]
    return Dag.from_predecessors(lists, names=list(rows), source=str(path))


def _write_hyperdag(dag: Dag, path: Path) -> None:
    start, successors = dag.successors()
    carried = [v for v in range(len(dag)) if start[v + 1] > start[v]]
    with path.open("w", encoding="utf-8") as file:
        file.write("% hyperedges, vertices, pins; the first pin of a hyperedge is its source\n")
        file.writelines(marks(dag, "%"))
        file.write(f"{len(carried)} {len(dag)} {len(carried) + successors.size}\n")
        # Version 1 of the format has a line per hyperedge and per vertex before the pins.
        file.writelines(f"{e}\n" for e in range(len(carried)))
        file.writelines(f"{v}\n" for v in range(len(dag)))
        for e, v in enumerate(carried):
            for pin in (v, *successors[start[v] : start[v + 1]].tolist()):
                file.write(f"{e} {pin}\n")


def _write_matrix_market(dag: Dag, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("%%MatrixMarket matrix coordinate pattern general\n")
        file.writelines(marks(dag, "%"))
        file.write(f"{len(dag)} {len(dag)} {dag.predecessors.size}\n")
        for v in range(len(dag)):
            for u in dag.operands(v).tolist():
                file.write(f"{v + 1} {u + 1}\n")


_READERS: dict[str, Callable[[Path], Dag]] = {
    ".json": _read_json,
    ".npz": _read_npz,
    ".graphml": _read_graphml,
    ".dot": read_dot,
    ".gv": read_dot,
    ".hdag": read_hyperdag,
    ".mtx": read_matrix_market,
    ".txt": _read_edges,
    ".edges": _read_edges,
}
_WRITERS: dict[str, Callable[[Dag, Path], None]] = {
    ".json": _write_json,
    ".npz": _write_npz,
    ".graphml": _write_graphml,
    ".dot": _write_dot,
    ".gv": _write_dot,
    ".hdag": _write_hyperdag,
    ".mtx": _write_matrix_market,
    ".txt": _write_edges,
    ".edges": _write_edges,
}
#: Kinds that hold edges, and in remarks the outputs and the number of vertices.
_EDGES_ONLY = {".hdag", ".mtx", ".txt", ".edges"}
