"""Every workload's DAG against a slow, obvious construction of the same mathematics."""

from functools import cache

import networkx as nx
import numpy as np
import pytest

from graphs import workload
from pebble.operations import OPERATIONS
from tests.graphs import by_hand

KINDS = {
    "matmul:m={m},n={n},k={d}": by_hand.matmul,
    "bilinear:n={n},d={d}": lambda m, n, d, **o: by_hand.bilinear(n, d, **o),
    "attention-backward:n={n},d={d}": lambda m, n, d, **o: by_hand.backward(n, d, **o),
    "attention-training:n={n},d={d}": lambda m, n, d, **o: by_hand.training(n, d, **o),
}
for softmax in ("late", "early", "safe"):
    KINDS[f"attention-forward:n={{n}},d={{d}},softmax={softmax}"] = (
        lambda m, n, d, softmax=softmax, **o: by_hand.forward(n, d, softmax, **o)
    )
for given in ("E", "dO"):
    for form in ("li24", "as24"):
        KINDS[f"attention-gradient:n={{n}},d={{d}},given={given},form={form}"] = (
            lambda m, n, d, given=given, form=form, **o: by_hand.gradient(n, d, given, form, **o)
        )

SIZES = [(1, 1, 1), (2, 1, 3), (3, 2, 1), (2, 3, 2), (3, 5, 4)]


@cache
def build(kind, summation, m, n, d):
    given = workload(f"{kind.format(m=m, n=n, d=d)},sum={summation}")
    return given, given.dag(), KINDS[kind](m, n, d, tree=summation == "tree")


@pytest.fixture(params=KINDS)
def cases(request):
    """Workloads, their DAGs, and those built by hand."""
    return [build(request.param, s, *sizes) for s in ("chain", "tree") for sizes in SIZES]


def test_vertices_operations_and_operands_have_the_names_of_the_mathematics(cases):
    for _, dag, hand in cases:
        ours = {
            dag.name(v): (OPERATIONS[dag.operations[v]].name, tuple(map(dag.name, dag.operands(v))))
            for v in range(len(dag))
        }
        assert ours == hand.vertices
        assert sorted(map(dag.name, dag.outputs)) == sorted(hand.outputs)


def test_numbers_ascend_along_edges_and_tensors_partition_the_vertices(cases):
    for _, dag, _ in cases:
        targets = np.repeat(np.arange(len(dag)), np.diff(dag.indptr.astype(int)))
        assert (dag.predecessors < targets).all()
        end = 0
        for tensor in dag.tensors:
            assert tensor.base == end
            end += len(tensor)
            # affine views name each of their vertices once
            labels = {tensor.label(v): v for v in range(tensor.base, end)}
            assert len(labels) == len(tensor)
            assert all(dag.vertex(name) == v for name, v in labels.items())
        assert end == len(dag)


def test_second_names_lead_to_the_vertex_and_describe_says_operands(cases):
    for _, dag, hand in cases:
        for name in hand.second_names:
            assert dag.name(dag.vertex(name)) == hand.real(name)
        for name, (operation, operands) in hand.vertices.items():
            vertex = dag.vertex(name)
            body = ": input" if operation == "input" else f" = {operation}({', '.join(operands)})"
            last = ", output" if name in hand.outputs else ""
            assert dag.describe(vertex) == f"{name} (vertex {vertex}){body}{last}"


def test_the_formula_knows_the_sizes_of_its_dag(cases):
    for given, dag, _ in cases:
        formula = given.formula()
        inputs, computed = formula.inputs_size(), formula.computed_size()
        assert (inputs, computed) == (dag.inputs.size, len(dag) - dag.inputs.size)
        assert formula.outputs_size() == dag.outputs.size


def test_the_text_form_reads_back(cases):
    for given, dag, _ in cases:
        assert workload(str(given)) == given
        assert dag.source == str(given)


CLOSED_FORMS = {
    # products and sums of n terms are 2n - 1 vertices
    "matmul:m=7,n=6,k=5": (7 * 6 * 9 + 7 * 5 + 5 * 6, 2 * 7 * 6 * 9),
    "matmul:m=7,n=6,k=1": (7 * 6 + 7 + 6, 2 * 7 * 6),
    # nd (2d - 1) + n^2 (2d - 1) over 2nd + d^2 inputs
    "bilinear:n=6,d=4": (24 * 7 + 36 * 7 + 2 * 24 + 16, 2 * (24 + 36) * 7),
    # S n^2 (2d - 1), A n^2, l n (n - 1), U nd (2n - 1), O nd; edges 2 but for A
    "attention-forward:n=6,d=4": (
        3 * 24 + 36 * 7 + 36 + 30 + 24 * 11 + 24,
        2 * (36 * 7 + 30 + 24 * 11 + 24) + 36,
    ),
    # as above, P instead of the division of O
    "attention-forward:n=6,d=4,softmax=early": (
        3 * 24 + 36 * 7 + 36 + 30 + 36 + 24 * 11,
        2 * (36 * 7 + 30 + 36 + 24 * 11) + 36,
    ),
    # S, dP n^2 (2d - 1) each, A, P, Z, dS, D n (2d - 1), three of nd (2n - 1), 5nd + n inputs
    "attention-backward:n=6,d=4": (
        5 * 24 + 6 + 2 * 36 * 7 + 4 * 36 + 6 * 7 + 3 * 24 * 11,
        2 * (2 * 36 * 7 + 3 * 36 + 6 * 7 + 3 * 24 * 11) + 36,
    ),
    # T, h nd (2d - 1); S, q n^2 (2d - 1); A, f, s, p; l n (n - 1); U, G nd (2n - 1); O, c nd;
    # r n (2d - 1); dX d^2 (2n - 1); 4 nd + 2 d^2 inputs
    "attention-gradient:n=6,d=4": (
        96 + 32 + 2 * 24 * 7 + 2 * 36 * 7 + 4 * 36 + 30 + 2 * 24 * 11 + 48 + 6 * 7 + 16 * 11,
        2 * (2 * 24 * 7 + 2 * 36 * 7 + 3 * 36 + 30 + 2 * 24 * 11 + 48 + 6 * 7 + 16 * 11) + 36,
    ),
}  # fmt: skip


@pytest.mark.parametrize("summation", ["chain", "tree"])
@pytest.mark.parametrize("text", CLOSED_FORMS)
def test_numbers_of_vertices_and_edges(text, summation):
    dag = workload(f"{text},sum={summation}").dag()
    assert (len(dag), dag.predecessors.size) == CLOSED_FORMS[text]


def test_a_balanced_sum_is_as_shallow_as_it_can_be():
    depths = {}
    for summation in ("chain", "tree"):
        graph = workload(f"matmul:m=1,n=1,k=100,sum={summation}").dag().to_networkx()
        depths[summation] = nx.dag_longest_path_length(graph)
    # one product, then 99 sums in a row, or ceil(log2(100)) = 7 levels of them
    assert depths == {"chain": 100, "tree": 8}


def test_symbols_of_the_formula_give_its_size():
    given = workload("attention-forward:n=8,d=2")
    names = given.symbols()
    n, d = names["n"], names["d"]
    formula = given.formula(**names)
    assert (formula.inputs_size() - 3 * n * d).expand() == 0
    size = n**2 * (2 * d - 1) + n**2 + n * (n - 1) + n * d * (2 * n - 1) + n * d
    assert (formula.computed_size() - size).expand() == 0
