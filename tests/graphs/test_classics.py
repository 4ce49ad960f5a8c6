"""Pyramid, tree, FFT and grid against the rules that the table of optima is stated for."""

import numpy as np
import pytest

from graphs import workload
from pebble.errors import SpecError


def edges(dag):
    return {dag.name(v): sorted(map(dag.name, dag.operands(v))) for v in range(len(dag))}


@pytest.mark.parametrize("h", [1, 2, 3, 6])
def test_pyramid(h):
    dag = workload(f"pyramid:h={h}").dag()
    expected = {}
    for r in range(h + 1):
        for i in range(h + 1 - r):
            expected[f"row{r}[{i}]"] = [f"row{r - 1}[{i}]", f"row{r - 1}[{i + 1}]"] if r else []
    assert edges(dag) == expected
    assert len(dag) == (h + 1) * (h + 2) // 2
    assert [dag.name(v) for v in dag.outputs] == [f"row{h}[0]"]


@pytest.mark.parametrize(("depth", "arity"), [(1, 2), (2, 2), (3, 2), (2, 3), (1, 5), (3, 1)])
def test_tree(depth, arity):
    dag = workload(f"tree:depth={depth},arity={arity}").dag()
    expected = {}
    for r in range(depth + 1):
        for i in range(arity ** (depth - r)):
            children = [f"level{r - 1}[{arity * i + c}]" for c in range(arity)] if r else []
            expected[f"level{r}[{i}]"] = sorted(children)
    assert edges(dag) == expected
    assert dag.inputs.size == arity**depth
    assert dag.outputs.size == 1
    assert dag.max_in_degree == arity


@pytest.mark.parametrize("n", [2, 4, 16])
def test_fft(n):
    dag = workload(f"fft:n={n}").dag()
    stages = n.bit_length() - 1
    expected = {f"stage0[{i}]": [] for i in range(n)}
    for s in range(1, stages + 1):
        for i in range(n):
            pair = [f"stage{s - 1}[{i}]", f"stage{s - 1}[{i ^ (1 << (s - 1))}]"]
            expected[f"stage{s}[{i}]"] = sorted(pair)
    assert edges(dag) == expected
    assert (dag.inputs.size, dag.outputs.size) == (n, n)
    # every output depends on every input
    reach = {f"stage0[{i}]": {i} for i in range(n)}
    for name, operands in expected.items():
        for operand in operands:
            reach.setdefault(name, set()).update(reach[operand])
    assert all(len(reach[dag.name(v)]) == n for v in dag.outputs)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (3, 1), (3, 3), (2, 5)])
def test_grid(rows, columns):
    dag = workload(f"grid:rows={rows},columns={columns}").dag()
    expected = {
        f"v[{i},{j}]": sorted(f"v[{a},{b}]" for a, b in ((i - 1, j), (i, j - 1)) if min(a, b) >= 0)
        for i in range(rows)
        for j in range(columns)
    }
    assert edges(dag) == expected
    assert dag.inputs.tolist() == [0]
    assert dag.outputs.tolist() == [rows * columns - 1]


@pytest.mark.parametrize(
    "text", ["pyramid:h=9", "tree:depth=5,arity=3", "fft:n=32", "grid:rows=7,columns=9"]
)
def test_numbers_ascend_along_edges_and_layers_partition_the_vertices(text):
    dag = workload(text).dag()
    targets = np.repeat(np.arange(len(dag)), np.diff(dag.indptr.astype(int)))
    assert (dag.predecessors < targets).all()
    assert [t.base for t in dag.tensors[1:]] == np.cumsum([len(t) for t in dag.tensors])[
        :-1
    ].tolist()
    assert sum(len(t) for t in dag.tensors) == len(dag)


@pytest.mark.parametrize("n", [1, 3, 6, 12])
def test_an_fft_wants_a_power_of_two(n):
    with pytest.raises(SpecError, match=f"power of two.*got {n}"):
        workload(f"fft:n={n}")


def test_a_diamond_is_a_grid():
    assert str(workload("diamond:rows=2,columns=3")) == "grid:rows=2,columns=3"
