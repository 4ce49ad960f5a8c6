"""The machine: DAGs evaluated against numpy, plays carried out on numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.dag import Dag
from pebble.errors import GraphError, InvalidMoveError, UnknownNameError
from pebble.machine import evaluate, execute, random_inputs, read_tensor
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, pack
from pebble.operations import ADD, APPLY, DIV, EXP, INPUT, MAX, MUL, SUB
from pebble.referee import referee
from pebble.rules import HK
from pebble.tensor import Tensor, contiguous
from tests.pebble.model import SOME_RULES, careful_play

FUNCTIONS = {
    MUL: lambda x, y: x * y,
    ADD: lambda x, y: x + y,
    SUB: lambda x, y: x - y,
    DIV: lambda x, y: np.float64(x) / np.float64(y),
    EXP: lambda x, _: np.exp(x),
    MAX: np.maximum,  # not Python's max, which loses a nan on its right
}


@st.composite
def arithmetic(draw, most=12):
    """Random straight-line arithmetic, numbered at random."""
    inputs = draw(st.integers(1, 3))
    rows, operations = [[] for _ in range(inputs)], [INPUT] * inputs
    for v in range(inputs, draw(st.integers(inputs + 1, most))):
        operation = draw(st.sampled_from(sorted(FUNCTIONS)))
        row = draw(st.lists(st.integers(0, v - 1), min_size=1, max_size=2, unique=True))
        rows.append(row[:1] if operation == EXP else row)
        operations.append(operation)
    number = draw(st.permutations(range(len(rows))))
    place = np.argsort(number).tolist()
    return Dag.from_predecessors(
        [[number[u] for u in rows[old]] for old in place],
        operations=[operations[old] for old in place],
    )


def packed(moves):
    return np.array([(kind << 30) | v for kind, v in moves], np.uint32)


def by_recursion(dag, inputs):
    known = dict(zip(dag.inputs.tolist(), inputs.tolist(), strict=True))

    def value(v):
        if v not in known:
            x, y = (value(u) for u in dag.operands(v)[[0, -1]].tolist())
            known[v] = FUNCTIONS[int(dag.operations[v])](x, y)
        return known[v]

    return np.array([value(v) for v in range(len(dag))])


@given(arithmetic(), st.sampled_from(SOME_RULES), st.integers(0, 99))
@settings(max_examples=150)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_evaluation_and_execution(dag, rules, seed):
    inputs = random_inputs(dag, seed)
    values = evaluate(dag, inputs)
    np.testing.assert_allclose(values, by_recursion(dag, inputs), rtol=1e-12, equal_nan=True)
    play = packed(careful_play(dag, rules, range(len(dag))))
    if not (rules.unstored_outputs or rules.complete):
        referee(dag, play, max(1, rules.least_memory(dag)), rules)
    chunks = [play[:5], play[5:]]
    slow = execute(dag, chunks, inputs, free_inputs=rules.free_inputs, partial=rules.partial)
    if not rules.partial:
        np.testing.assert_array_equal(slow, values)
    elif np.isfinite(values).all() and (np.abs(values[values != 0]) > 1e-200).all():
        # Quotients are products with inverses: the last bits differ.
        np.testing.assert_allclose(slow, values, rtol=1e-12)


@pytest.mark.parametrize("lost", range(7))
def test_a_play_that_uses_what_it_does_not_hold_ends_in_nan(lost):
    """x * y + y: without any of the first six moves the result is no number."""
    dag = Dag.from_predecessors([[], [], [0, 1], [2, 1]], operations=[INPUT, INPUT, MUL, ADD])
    play = packed(
        [(LOAD, 0), (LOAD, 1), (COMPUTE, 2), (STORE, 2), (DELETE, 2), (LOAD, 2), (COMPUTE, 3)]
    )
    end = pack(STORE, [3])
    assert execute(dag, [play, end], [3, 4])[3] == 16
    slow = execute(dag, [np.delete(play, lost), end], [3, 4])
    assert math.isnan(slow[3]) == (lost != 4)  # without the delete nothing is lost


def test_nothing_but_inputs_is_in_slow_memory_at_first():
    dag = Dag.from_predecessors([[], [0]], operations=[INPUT, EXP])
    np.testing.assert_array_equal(execute(dag, [], [2]), [2, np.nan])
    np.testing.assert_array_equal(execute(dag, [], [2], free_inputs=True), [np.nan, np.nan])
    # Computing an input under Hong and Kung's rules makes no number of it.
    illegal = np.concatenate([pack(COMPUTE, [0, 1]), pack(STORE, [1])])
    assert math.isnan(execute(dag, illegal, [2])[1])
    assert execute(dag, illegal, [2], free_inputs=True)[1] == np.exp(2.0)


def test_softmax_of_a_matrix():
    """Rows of exp(a) over their sums, by tensor names, a transposed view among them."""
    n, m = 3, 4
    a, e, s, p = (base for base in (0, n * m, 2 * n * m, 2 * n * m + n * (m - 1)))
    rows = [[] for _ in range(n * m)]
    rows += [[v] for v in range(n * m)]
    for i in range(n):
        rows += [
            [(e + i * m) if j == 1 else s + i * (m - 1) + j - 2, e + i * m + j] for j in (1, 2, 3)
        ]
    rows += [[e + i * m + j, s + i * (m - 1) + m - 2] for i in range(n) for j in range(m)]
    operations = [INPUT] * (n * m) + [EXP] * (n * m) + [ADD] * (n * (m - 1)) + [DIV] * (n * m)
    dag = Dag(
        np.cumsum([0, *map(len, rows)]),
        [u for row in rows for u in row],
        operations,
        tensors=[
            contiguous("a", a, (n, m)),
            contiguous("e", e, (n, m)),
            contiguous("s", s, (n, m - 1), (0, 1)),
            contiguous("p", p, (n, m)),
        ],
        views=[Tensor("aT", a, (m, n), (1, m), (0, 0)), Tensor("last", p + n * m - 1, (), (), ())],
    )
    given_a = np.random.default_rng(1).standard_normal((n, m))
    values = evaluate(dag, {"aT": given_a.T})
    expected = np.exp(given_a) / np.exp(given_a).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(read_tensor(dag, values, "p"), expected, rtol=1e-14)
    assert read_tensor(dag, values, "aT").shape == (m, n)
    assert read_tensor(dag, values, "last") == values[-1]
    moves = packed(careful_play(dag, HK, range(len(dag))))
    np.testing.assert_array_equal(execute(dag, moves, given_a.ravel()), values)
    with pytest.raises(UnknownNameError, match="unknown tensor 'q'"):
        read_tensor(dag, values, "q")


def test_exact_values_of_each_operation():
    rows = [[], [], [0], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1], [0], [5, 5 - 5], [0]]
    operations = [INPUT, INPUT, MUL, MUL, SUB, ADD, DIV, MAX, EXP, MAX, SUB]
    dag = Dag.from_predecessors(rows, operations=operations)
    values = evaluate(dag, [2.0, 3.0])
    assert values.tolist() == [2, 3, 4, 6, 1, 5, 1.5, 3, np.exp(2.0), 5, 0]


def test_dividing_by_nought_and_nan_are_numbers_as_numpy_has_them():
    dag = Dag.from_predecessors([[], [], [0, 1], [0, 1]], operations=[INPUT, INPUT, DIV, MAX])
    np.testing.assert_array_equal(evaluate(dag, [1, 0])[2:], [np.inf, 1])
    np.testing.assert_array_equal(evaluate(dag, [np.nan, 0])[2:], [np.nan, np.nan])
    np.testing.assert_array_equal(evaluate(dag, [0, np.nan])[3], np.nan)


@pytest.mark.parametrize(
    ("rows", "operations", "words"),
    [
        ([[], [0]], [INPUT, APPLY], r"1 = apply\(0\), output cannot be evaluated: nobody told"),
        ([[], [], [0, 1]], [INPUT, INPUT, EXP], "cannot be evaluated: it has 2 operands"),
        ([[], [], [], [0, 1, 2]], [INPUT] * 3 + [ADD], "it has 3 operands"),
        ([[], []], [INPUT, ADD], "it has 0 operands"),
    ],
)
def test_what_cannot_be_evaluated(rows, operations, words):
    dag = Dag.from_predecessors(rows, operations=operations)
    inputs = np.zeros(dag.inputs.size)
    with pytest.raises(GraphError, match=words):
        evaluate(dag, inputs)
    with pytest.raises(GraphError, match=words):
        execute(dag, [], inputs)


NAMED = Dag.from_predecessors(
    [[], [], [0, 1]], names=["x", "y", "z"], operations=[INPUT, INPUT, ADD]
)


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ([1, 2, 3], GraphError, r"expected 2 numbers, one per input, got shape \(3,\)"),
        ({"x": 1}, GraphError, "no number was given for 1 inputs, y first"),
        ({"x": 1, "y": 1, "z": 2}, GraphError, "z is no input"),
        ({"x": [1], "y": 1}, GraphError, r"x has shape \(\), got numbers of \(1,\)"),
        ({"w": 1}, InvalidMoveError, "unknown vertex 'w'"),
    ],
)
def test_inputs_that_do_not_fit(inputs, error, words):
    with pytest.raises(error, match=words):
        evaluate(NAMED, inputs)


def test_inputs_by_name_and_at_random():
    assert evaluate(NAMED, {"y": 5, "x": 2})[2] == 7
    assert np.array_equal(random_inputs(NAMED, 3), random_inputs(NAMED, 3))
    assert not np.array_equal(random_inputs(NAMED, 3), random_inputs(NAMED, 4))


def test_a_move_beyond_the_graph():
    with pytest.raises(InvalidMoveError, match="step 4: there is no vertex 3; vertices are 0 to 2"):
        execute(NAMED, [pack(LOAD, [0, 1]), pack(LOAD, [0, 3])], [1, 2])
