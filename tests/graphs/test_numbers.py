"""The DAGs evaluated vertex by vertex on numbers, against numpy and finite differences."""

import operator

import numpy as np
import pytest

from graphs import workload
from pebble.operations import OPERATIONS

FUNCTIONS = {
    "mul": operator.mul,
    "add": operator.add,
    "sub": operator.sub,
    "div": operator.truediv,
    "exp": np.exp,
    "max": max,
}


def evaluate(dag, inputs):
    """The value of every vertex, an operation at a time."""
    values = np.full(len(dag), np.nan)
    for tensor in dag.tensors:
        if tensor.name in inputs:
            values[tensor.base : tensor.base + len(tensor)] = np.ravel(inputs[tensor.name])
    for v in range(len(dag)):
        operation = OPERATIONS[dag.operations[v]]
        if operation.name == "input":
            continue
        operands = [values[u] for u in dag.operands(v)]
        if len(operands) < operation.arity:  # x * x has one predecessor
            operands *= 2
        values[v] = FUNCTIONS[operation.name](*operands)
    return values


def entries(dag, values, name, *shape):
    """A tensor's values, found by the names of its entries."""
    at = [dag.vertex(f"{name}[{','.join(map(str, index))}]") for index in np.ndindex(*shape)]
    return values[at].reshape(shape)


def random(seed, **shapes):
    source = np.random.default_rng(seed)
    return {name: source.normal(size=shape) for name, shape in shapes.items()}


def softmax(S):
    A = np.exp(S)
    return A / A.sum(axis=1, keepdims=True)


def attention(Q, K, V):
    return softmax(Q @ K.T) @ V


def slope(function, at, step=1e-6):
    """Central differences of a scalar function of a matrix."""
    out = np.empty_like(at)
    for index in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[index] += step
        down[index] -= step
        out[index] = (function(up) - function(down)) / (2 * step)
    return out


@pytest.mark.parametrize("summation", ["chain", "tree"])
@pytest.mark.parametrize("form", ["late", "early", "safe"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (4, 1), (5, 3)])
def test_forward(n, d, form, summation):
    dag = workload(f"attention-forward:n={n},d={d},softmax={form},sum={summation}").dag()
    x = random(1, Q=(n, d), K=(n, d), V=(n, d))
    O = entries(dag, evaluate(dag, x), "O", n, d)
    np.testing.assert_allclose(O, attention(**x), rtol=1e-12)


def test_safe_softmax_survives_large_scores():
    dag = workload("attention-forward:n=2,d=1,softmax=safe").dag()
    x = {"Q": np.full((2, 1), 900.0), "K": np.array([[1.0], [2.0]]), "V": np.array([[3.0], [4.0]])}
    assert entries(dag, evaluate(dag, x), "O", 2, 1).tolist() == [[4.0], [4.0]]


@pytest.mark.parametrize("summation", ["chain", "tree"])
@pytest.mark.parametrize("kind", ["attention-backward", "attention-training"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (4, 1), (4, 3)])
def test_backward(n, d, kind, summation):
    dag = workload(f"{kind}:n={n},d={d},sum={summation}").dag()
    x = random(2, Q=(n, d), K=(n, d), V=(n, d), dO=(n, d))
    Q, K, V, dO = x.values()
    O = attention(Q, K, V)
    given = {**x, "O": O, "l": np.exp(Q @ K.T).sum(axis=1)} if kind.endswith("backward") else x
    values = evaluate(dag, given)
    dQ, dK, dV = (entries(dag, values, name, n, d) for name in ("dQ", "dK", "dV"))

    # Dao22, appendix B.2
    P, dP = softmax(Q @ K.T), dO @ V.T
    dS = P * (dP - (dO * O).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(dV, P.T @ dO, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dQ, dS @ K, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dK, dS.T @ Q, rtol=1e-11, atol=1e-13)
    # and what they are the slopes of
    loss = lambda *args: float((dO * attention(*args)).sum())  # noqa: E731
    np.testing.assert_allclose(dQ, slope(lambda z: loss(z, K, V), Q), atol=1e-8)
    np.testing.assert_allclose(dK, slope(lambda z: loss(Q, z, V), K), atol=1e-8)
    np.testing.assert_allclose(dV, slope(lambda z: loss(Q, K, z), V), atol=1e-8)


@pytest.mark.parametrize("summation", ["chain", "tree"])
@pytest.mark.parametrize("given", ["E", "dO"])
@pytest.mark.parametrize("form", ["li24", "as24"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 1), (1, 3), (4, 3)])
def test_gradient(n, d, form, given, summation):
    text = f"attention-gradient:n={n},d={d},form={form},given={given},sum={summation}"
    dag = workload(text).dag()
    shapes = {"A1": (n, d), "A2": (n, d), "A3": (n, d), "X": (d, d), "Y": (d, d), given: (n, d)}
    x = random(3, **shapes)
    dX = entries(dag, evaluate(dag, x), "dX", d, d)

    def loss(X):
        O = softmax(x["A1"] @ X @ x["A2"].T) @ x["A3"] @ x["Y"]
        return ((O - x["E"]) ** 2).sum() / 2 if given == "E" else (O * x["dO"]).sum()

    np.testing.assert_allclose(dX, slope(loss, x["X"]), atol=1e-7)


@pytest.mark.parametrize("summation", ["chain", "tree"])
def test_products(summation):
    dag = workload(f"matmul:m=3,n=4,k=5,sum={summation}").dag()
    x = random(4, A=(3, 5), B=(5, 4))
    np.testing.assert_allclose(entries(dag, evaluate(dag, x), "C", 3, 4), x["A"] @ x["B"])
    dag = workload(f"bilinear:n=3,d=2,sum={summation}").dag()
    x = random(5, A1=(3, 2), X=(2, 2), A2=(3, 2))
    S = entries(dag, evaluate(dag, x), "S", 3, 3)
    np.testing.assert_allclose(S, x["A1"] @ x["X"] @ x["A2"].T)
