"""Dag: what it is made from, what it refuses, names, orders, networkx and back."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from pebble.dag import Dag
from pebble.errors import GraphError, InvalidMoveError, UnknownNameError
from pebble.moves import Move
from pebble.operations import ADD, APPLY, INPUT, MUL
from pebble.tensor import Tensor, contiguous
from tests.pebble.model import dags


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "the graph is empty: expected at least one vertex"),
        ([[0]], "vertex 0 is its own predecessor: remove the self-loop"),
        ([[], [0, 0]], "vertex 1 lists predecessor 0 twice: predecessors are a set"),
        ([[], [2]], "vertex 1 names predecessor 2, which does not exist"),
        ([[], [-1]], "predecessors must be vertex numbers from 0"),
        ([[], [2**40]], "predecessors must be vertex numbers from 0"),
        ([[1], [0]], "the graph is cyclic: (0 -> 1 -> 0|1 -> 0 -> 1)"),
        ([[], [0, 3], [1], [2], [3]], r"cyclic: \d -> \d -> \d -> \d$"),
        (
            [[19], *([v] for v in range(19))],
            r"cyclic: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> \.\.\. -> 0",
        ),
    ],
)
def test_graphs_that_are_refused(rows, words):
    with pytest.raises(GraphError, match=words):
        Dag.from_predecessors(rows)


def test_a_cycle_is_named_along_its_edges():
    rows = [[], [0, 3], [1], [2], [3]]
    with pytest.raises(GraphError) as caught:
        Dag.from_predecessors(rows)
    loop = [int(v) for v in str(caught.value).split(": ")[1].split(" -> ")]
    assert all(u in rows[v] for u, v in itertools.pairwise(loop))
    assert (loop[0], len(set(loop))) == (loop[-1], 3)


def test_a_long_cycle_is_found_at_once():
    size = 100_000
    with pytest.raises(GraphError, match="cyclic"):
        Dag(np.arange(size + 1), (np.arange(size) - 1) % size, np.full(size, APPLY))


def test_wide_vertices():
    wide = Dag.from_predecessors([*([] for _ in range(100_000)), range(100_000)])
    assert wide.least_memory == 100_001
    with pytest.raises(GraphError, match="vertex 100 lists predecessor 7 twice"):
        Dag.from_predecessors([*([] for _ in range(100)), [*range(40), 7]])


def test_a_graph_too_large_for_packed_moves_is_refused_before_it_is_copied():
    many = np.broadcast_to(np.uint32(0), 2**30 + 2)  # takes no memory
    with pytest.raises(GraphError, match="the graph has 1,073,741,825 vertices; packed moves hold"):
        Dag(many, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 2], [0]), "indptr must ascend from 0"),
        (([0, 1, 0], []), "indptr must ascend"),
        (([0, 0], [], [1, 1]), "expected 1 operations, got 2"),
        (([0, 0], [], [99]), "operation codes must be below"),
        (([0, 0, 1], [0], [0, 0]), "vertex 1 is an input but has predecessors"),
        (([0, 0], [], None, [1]), "outputs must be vertices 0 to 0"),
        (([0, 0], [], None, [-1]), "outputs must be vertices 0 to 0"),
    ],
)
def test_arrays_that_do_not_fit(arguments, words):
    with pytest.raises(GraphError, match=words):
        Dag(*arguments)


def test_outputs():
    rows = [[], [], [0], [2], []]
    assert Dag.from_predecessors(rows).outputs.tolist() == [3], "isolated inputs are no outputs"
    assert Dag.from_predecessors(rows, [2, 0, 2]).outputs.tolist() == [0, 2]
    constant = Dag.from_predecessors([[]], operations=[APPLY])
    assert (constant.inputs.size, constant.outputs.tolist()) == (0, [0])


@given(dags(12))
def test_structure_against_networkx(dag):
    graph = dag.to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert list(graph) == [dag.name(v) for v in range(len(dag))]
    place = {int(v): i for i, v in enumerate(dag.order)}
    assert sorted(place) == list(range(len(dag)))
    assert all(place[int(u)] < place[v] for v in range(len(dag)) for u in dag.operands(v))
    start, out = dag.successors()
    for v in range(len(dag)):
        names = [dag.name(int(w)) for w in out[start[v] : start[v + 1]]]
        assert names == sorted(graph.successors(dag.name(v)), key=int)
        leads = {dag.name(v)} | nx.descendants(graph, dag.name(v))
        assert dag.needed[v] == any(dag.name(int(w)) in leads for w in dag.outputs)
    degrees = [dag.operands(v).size for v in range(len(dag)) if dag.operations[v] and dag.needed[v]]
    assert dag.least_memory == (max(degrees) + 1 if degrees else 0)
    assert dag.max_in_degree == max(dag.operands(v).size for v in range(len(dag)))


@given(dags(12))
def test_to_networkx_and_back(dag):
    back = Dag.from_networkx(dag.to_networkx())
    assert back.fingerprint == dag.fingerprint
    assert [back.name(v) for v in range(len(dag))] == [dag.name(v) for v in range(len(dag))]
    assert Dag.from_networkx(back.to_networkx()).fingerprint == dag.fingerprint


def test_from_networkx():
    graph = nx.DiGraph([("x", "z"), ("y", "z")])
    graph.nodes["z"]["operation"] = "sub"
    graph.edges["y", "z"]["slot"], graph.edges["x", "z"]["slot"] = 0, 1
    assert Dag.from_networkx(graph).describe(1) == "z (vertex 1) = sub(y, x), output"
    assert Dag.from_networkx(graph, outputs=["x"]).outputs.tolist() == [0]
    graph.nodes["z"]["operation"] = "sbu"
    with pytest.raises(UnknownNameError, match="unknown operation 'sbu'; did you mean 'sub'"):
        Dag.from_networkx(graph)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (nx.Graph([(1, 2)]), "expected a directed graph"),
        (nx.MultiDiGraph([(1, 2), (1, 2)]), "without parallel edges"),
        (nx.DiGraph([(1, 2), (2, 1)]), "the graph is cyclic"),
        (nx.DiGraph([(1, 1)]), "self-loop"),
        (nx.DiGraph(), "the graph is empty"),
        (nx.DiGraph([(1, "1")]), "two vertices are named '1'"),
    ],
)
def test_networkx_graphs_that_are_refused(graph, words):
    with pytest.raises(GraphError, match=words):
        Dag.from_networkx(graph)


def test_outputs_that_are_no_nodes():
    with pytest.raises(GraphError, match="output 'q' is no node of the graph"):
        Dag.from_networkx(nx.DiGraph([(1, 2)]), outputs=["q"])


def test_names_read_back_as_moves_whatever_they_are():
    """A plain number is the vertex; a node that is called by another number stands in quotes."""
    graph = nx.DiGraph([(3, (0, 1)), ("1", (0, 1)), ((0, 1), 3.5), (3.5, "a  b"), ("a  b", 5)])
    dag = Dag.from_networkx(graph)
    assert [dag.name(v) for v in range(6)] == ["'3'", "(0, 1)", "'1'", "3.5", "a b", "5"]
    for v in range(6):
        assert dag.vertex(dag.name(v)) == v
        assert Move.parse(Move(2, v).named(dag), dag) == Move.parse(str(Move(2, v)), dag)
    assert dag.vertex("3") == 3


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["x"], "expected 2 names, got 1"),
        (["x", "x"], "two vertices are named 'x': names must differ"),
        (["x", " "], "the name of vertex 1 is empty"),
    ],
)
def test_names_that_do_not_do(names, words):
    with pytest.raises(GraphError, match=words):
        Dag.from_predecessors([[], [0]], names=names)


def test_tensors_and_views_name_vertices():
    tensors = [contiguous("S", 0, (2, 3), (1, 0)), contiguous("l", 6, ())]
    views = [Tensor("S^T", 0, (3, 2), (1, 3), (0, 1)), Tensor("row", 3, (3,), (1,), (0,))]
    dag = Dag([0] * 7 + [2], [0, 5], [INPUT] * 6 + [MUL], tensors=tensors, views=views)
    assert [dag.name(v) for v in (0, 3, 5, 6)] == ["S[1,0]", "S[2,0]", "S[2,2]", "l"]
    for name, v in {"S[2,1]": 4, "S^T[1,2]": 4, "row[1]": 4, "l": 6, "4": 4}.items():
        assert dag.vertex(name) == v
    assert dag.owner(5).name == "S"
    assert dag.describe(6) == "l (vertex 6) = mul(S[1,0], S[2,2]), output"
    assert dag.tensor("row").vertex((2,)) == 5
    with pytest.raises(
        InvalidMoveError, match=r"S\[3,0\] does not exist: indices are S\[1..2,0..2\]"
    ):
        dag.vertex("S[3,0]")
    with pytest.raises(InvalidMoveError, match=r"S\[1\] does not exist"):
        dag.vertex("S[1]")
    with pytest.raises(InvalidMoveError, match=r"unknown vertex 'T\[0\]'"):
        dag.vertex("T[0]")
    with pytest.raises(InvalidMoveError, match="there is no vertex 9; vertices are 0 to 6"):
        dag.describe(9)


def test_fingerprint_tells_graphs_apart():
    dag = Dag.from_predecessors([[], [], [0, 1]], operations=[INPUT, INPUT, MUL])
    others = [
        Dag.from_predecessors([[], [], [1, 0]], operations=[INPUT, INPUT, MUL]),
        Dag.from_predecessors([[], [], [0, 1]], operations=[INPUT, INPUT, ADD]),
        Dag.from_predecessors([[], [], [0, 1]], [0], operations=[INPUT, INPUT, MUL]),
        Dag.from_predecessors([[], [], [0, 1], []], [2], operations=[INPUT, INPUT, MUL, INPUT]),
    ]
    assert len({dag.fingerprint, *(other.fingerprint for other in others)}) == 5
    same = Dag([0, 0, 0, 2], [0, 1], [0, 0, 2], names=["a", "b", "c"], source="x")
    assert same.fingerprint == dag.fingerprint, "names are not part of the graph"
    assert len(dag.fingerprint) == 16
