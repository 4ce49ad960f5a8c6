"""Graph files: what is written is read back; what is malformed is refused with its line."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.files import read_graph, write_graph
from graphs.registry import workload
from pebble.dag import Dag
from pebble.errors import GraphError, PebbleError


@pytest.mark.parametrize("ending", ["json", "npz", "graphml", "dot", "gv"])
@pytest.mark.parametrize(
    "text", ["attention-forward:n=2,d=2", "pyramid:h=3", "grid:rows=1,columns=2"]
)
def test_round_trip_of_everything(ending: str, text: str, tmp_path) -> None:
    dag = workload(text).dag()
    path = tmp_path / f"g.{ending}"
    write_graph(dag, path)
    again = read_graph(path)
    assert again.fingerprint == dag.fingerprint
    assert [again.name(v) for v in range(len(dag))] == [dag.name(v) for v in range(len(dag))]


ODD = {
    "outputs inside": Dag.from_predecessors([[], [0], [1], [2]], [1, 3]),
    "an input is an output": Dag.from_predecessors([[], [], [0]], [1, 2]),
    "no outputs": Dag.from_predecessors([[], [0]], []),
    "isolated last": Dag.from_predecessors([[], [0], [], []]),
    "isolated first": Dag.from_predecessors([[], [], [1]]),
    "one vertex": Dag.from_predecessors([[]]),
    "only isolated": Dag.from_predecessors([[], [], []], [1]),
    "many outputs": Dag.from_predecessors([[], *([v] for v in range(300))], range(1, 301)),
}


@pytest.mark.parametrize("ending", ["json", "npz", "graphml", "dot", "hdag", "mtx", "txt", "edges"])
@pytest.mark.parametrize("what", sorted(ODD))
def test_outputs_and_isolated_vertices_are_kept(ending: str, what: str, tmp_path) -> None:
    path = tmp_path / f"g.{ending}"
    assert write_graph(ODD[what], path) == []
    assert read_graph(path).fingerprint == ODD[what].fingerprint


@pytest.mark.parametrize("ending", ["json", "npz", "graphml", "dot"])
def test_tensors_are_kept(ending: str, tmp_path) -> None:
    dag = workload("attention-forward:n=2,d=2").dag()
    path = tmp_path / f"g.{ending}"
    write_graph(dag, path)
    again = read_graph(path)
    assert again.tensors == dag.tensors
    if ending in ("json", "npz"):
        assert again.views == dag.views
    assert again.vertex("S.prod[1,1,0]") == dag.vertex("S.prod[1,1,0]")
    # Names that make no full block stay names.
    holes = Dag.from_predecessors([[], [], [0, 1]], names=["x[0]", "x[2]", "y"])
    write_graph(holes, path)
    assert [read_graph(path).name(v) for v in range(3)] == ["x[0]", "x[2]", "y"]
    assert read_graph(path).tensors[0].name == "vertex"


def test_what_a_file_of_edges_does_not_keep_is_said(tmp_path) -> None:
    lost = write_graph(workload("matmul:m=2,n=2,k=2").dag(), tmp_path / "g.mtx")
    assert lost == ["the names of vertices", "their operations"]
    constant = Dag.from_predecessors([[], [0]], operations=[1, 1])
    lost = write_graph(constant, tmp_path / "g.txt")
    assert lost == ["that 1 of the vertices without operands are no inputs"]


@pytest.mark.parametrize("ending", ["hdag", "mtx", "txt", "edges"])
def test_round_trip_of_edges(ending: str, tmp_path) -> None:
    dag = workload("fft:n=8").dag()
    path = tmp_path / f"g.{ending}"
    write_graph(dag, path)
    again = read_graph(path)
    assert np.array_equal(again.indptr, dag.indptr)
    for v in range(len(dag)):
        assert set(again.operands(v).tolist()) == set(dag.operands(v).tolist())
    assert again.outputs.tolist() == dag.outputs.tolist()


def test_dot_as_people_write_it(tmp_path) -> None:
    path = tmp_path / "g.dot"
    path.write_text(
        'strict digraph "my graph" {\n'
        '  // a remark\n  rankdir=LR; node [shape=box, label=""];\n'
        '  "x 1" -> p -> s [color=red]; y->p\n'
        "  subgraph cluster0 { z -> s:north; }\n"
        '  p [operation="mul"] /* the\n product */\n  s [operation=add; output=true]\n}\n'
    )
    dag = read_graph(path)
    assert [dag.name(v) for v in range(len(dag))] == ["x 1", "p", "s", "y", "z"]
    assert dag.describe(1) == "p (vertex 1) = mul(x 1, y)"
    assert dag.describe(2) == "s (vertex 2) = add(p, z), output"


def test_hyperdag_with_weights(tmp_path) -> None:
    path = tmp_path / "g.hdag"
    path.write_text("% remark\n2 3 4\n0 1 1\n1 1 1\n0 5 1\n1 5 1\n2 5 1\n0 0\n0 2\n1 1\n1 2\n")
    assert read_graph(path).operands(2).tolist() == [0, 1]


BAD = {
    "graph.dot": ("graph { a -- b }", "line 1: expected 'digraph'"),
    "arrow.dot": ("digraph {\n a -- b }", "line 2: '--'"),
    "loop.dot": ("digraph {\n a -> a }", "line 2: .*self-loop"),
    "twice.dot": ("digraph {\n a -> b\n a -> b }", "line 3: .*twice"),
    "cycle.dot": ("digraph { a -> b -> c -> a }", "cyclic: a -> b -> c -> a"),
    "open.dot": ("digraph { a -> b", "line 1: expected a name, got 'the end"),
    "empty.dot": ("digraph { }", "empty"),
    "sign.dot": ("digraph {\n a -> ? }", r"line 2: cannot read '\?"),
    "op.dot": ("digraph { a [operation=mull] a -> b }", "unknown operation"),
    "pins.hdag": ("1 2 2\n0 0\n", "announces 2 pins"),
    "range.hdag": ("1 2 2\n0 0\n0 5\n", "line 3: .*vertices 0 to 1"),
    "word.hdag": ("1 two 2\n", "line 1: expected the numbers"),
    "none.hdag": ("% nothing\n", "expected a line"),
    "square.mtx": ("%%MatrixMarket matrix coordinate real general\n2 3 0\n", "square"),
    "diag.mtx": ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n", "3: .*self"),
    "range.mtx": ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 3\n", "line 3: rows"),
    "count.mtx": ("%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 3\n", "announces 2"),
    "banner.mtx": ("2 2 1\n2 1\n", "MatrixMarket"),
    "symmetric.mtx": ("%%MatrixMarket matrix coordinate real symmetric\n", "general"),
    "odd.txt": ("a b\na b c\n", "line 2"),
    "mark.txt": ("# pebble: outputs one\n0 1\n", "line 1: expected numbers"),
    "mark.edges": ("# pebble: inputs 0\n0 1\n", "line 1: expected outputs or vertices"),
    "many.txt": ("# pebble: 99999999999 vertices\n0 1\n", "far more"),
    "marked.mtx": (
        "%%MatrixMarket matrix coordinate real general\n% pebble: outputs 7\n2 2 1\n2 1 3\n",
        "output '7' is no vertex",
    ),
    "twice.txt": ("a b\na b\n", "line 2: .*twice"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BAD))
def test_malformed(name: str, tmp_path) -> None:
    text, match = BAD[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(PebbleError, match=match):
        read_graph(path)


def test_unknown_endings(tmp_path) -> None:
    with pytest.raises(GraphError, match=r"expected .*hdag"):
        read_graph(tmp_path / "g.svg")
    with pytest.raises(GraphError, match=r"expected .*mtx"):
        write_graph(Dag.from_predecessors([[]]), tmp_path / "g.svg")
    with pytest.raises(GraphError, match="no such file"):
        read_graph(tmp_path / "g.dot")
