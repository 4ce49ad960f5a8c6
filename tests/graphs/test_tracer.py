"""The tracer against graphs known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.registry import workload
from graphs.tracer import exp, maximum, trace
from pebble.errors import GraphError


def test_matrix_product_is_the_workload() -> None:
    dag = trace(lambda A, B: A @ B, (2, 3), (3, 2))
    known = workload("matmul:m=2,n=2,k=3").dag()
    assert (len(dag), dag.inputs.size, dag.outputs.size) == (len(known), 12, 4)
    assert np.bincount(dag.operations).tolist() == np.bincount(known.operations).tolist()
    assert dag.name(0) == "A[0,0]"


def test_recurrence_and_constants() -> None:
    def fibonacci(x, y):
        for _ in range(3):
            x, y = y, x + y
        return y

    assert len(trace(fibonacci, (), ())) == 5
    dag = trace(lambda x: sum([x[0], x[1]]) * 1 - 0 + 2 * x[0], 2)
    # x0 + x1; 2 x0; their sum: adding 0 and multiplying by 1 are nothing.
    assert len(dag) == 5
    assert [dag.operands(v).tolist() for v in range(2, 5)] == [[0, 1], [0], [2, 3]]


def test_exp_max_power() -> None:
    dag = trace(lambda x, y: (exp(maximum(x, y)), x**3, np.exp(y)), 1, 1)
    words = [dag.describe(v).split(" = ")[1].split("(")[0] for v in range(2, len(dag))]
    assert words == ["max", "exp", "mul", "mul", "exp"]
    assert dag.operands(4).tolist() == [0]
    # A maximum with one is no neutral operation, nor is a difference from nought.
    assert len(trace(lambda x: maximum(x, 1) + (0 - x) + 1 / x, ())) == 6


@pytest.mark.parametrize(
    ("function", "match"),
    [(lambda x: x if x > 0 else -x, "straight-line"), (lambda x: [x] if x else x, "looks at"),
     (float, "straight-line"), (lambda x: 3, "not computed"),
     (lambda x: None, "returns nothing"), (lambda x: x**0.5, "positive integer")],
)  # fmt: skip
def test_what_is_no_graph(function, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        trace(function, ())


def test_shapes() -> None:
    with pytest.raises(GraphError, match="positive integers"):
        trace(lambda x: x, (0,))
