"""Online softmax: its DAG in numbers, and the schedules that stream its key blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lab
from graphs import workload
from lab.executing import execute
from pebble.errors import PebbleError, SpecError
from pebble.machine import evaluate, read_tensor
from strategies import check_strategy, strategy
from strategies.registry import RefusalError


def online(n, d, block):
    return f"attention-forward:n={n},d={d},softmax=online,block={block}"


@pytest.mark.parametrize(("n", "d", "block"), [(1, 1, 1), (5, 2, 2), (6, 3, 3), (4, 2, 9)])
def test_the_dag_computes_softmax_where_exponentials_would_overflow(n, d, block):
    dag = workload(online(n, d, block)).dag()
    random = np.random.default_rng(7)
    Q, K, V = (random.normal(size=(n, d)) for _ in range(3))
    Q, K = 60 * Q, 60 * K  # scores in the thousands: exp(S) alone is infinite
    cells = np.full(len(dag), np.nan)
    for name, rows in {"Q": Q, "K": K, "V": V}.items():
        if name == "Q":
            tensor = dag.tensor("Q")
            cells[tensor.base : tensor.base + len(tensor)] = rows.ravel()
            continue
        for b, start in enumerate(range(0, n, block), 1):
            tensor = dag.tensor(f"{name}{b}")
            cells[tensor.base : tensor.base + len(tensor)] = rows[start : start + block].ravel()

    O = read_tensor(dag, evaluate(dag, cells[dag.inputs]), "O")

    S = Q @ K.T
    A = np.exp(S - S.max(axis=1, keepdims=True))
    np.testing.assert_allclose(O, A / A.sum(axis=1, keepdims=True) @ V, rtol=1e-9, atol=1e-12)


@settings(max_examples=8)
@given(
    n=st.integers(1, 7),
    d=st.integers(1, 3),
    block=st.integers(1, 4),
    rows=st.integers(1, 4),
    name=st.sampled_from(["flash", "flash2", "rabe-staats"]),
)
def test_plays_are_counted_as_refereed_and_compute_attention(n, d, block, rows, name):
    how, what = strategy(f"{name}:rows={rows}"), workload(online(n, d, block))
    memory = how.least_memory(what)

    assert lab.play(what, how, memory) == lab.count(what, how, memory)
    assert execute(what, how, memory, seed=n).agrees


@pytest.mark.parametrize("name", ["flash", "flash2", "rabe-staats", "eager", "naive"])
def test_whoever_plays_it_keeps_its_promises(name):
    assert check_strategy(name, [online(1, 1, 1), online(5, 2, 2)])


@pytest.mark.parametrize(("n", "d", "block"), [(12, 3, 4), (13, 2, 4), (64, 8, 16)])
def test_reads_and_writes_by_hand(n, d, block):
    rounds = -(-n // block)

    # K and V once; Q in every round, U, m and l but for the first and the last; O.
    kept = n * d + 2 * n
    expected = 2 * n * d + rounds * n * d + 2 * (rounds - 1) * kept + n * d
    assert lab.count(online(n, d, block), "flash", 1000).io == expected
    # Q blocks outside: nothing but Q, O, and K and V once for each block of 4 rows.
    streams = 2 * n * d + -(-n // 4) * 2 * n * d
    assert lab.count(online(n, d, block), "flash2:rows=4", 1000).io == streams


def test_it_costs_m_more_than_late_softmax_with_the_same_block():
    late, safe = (
        lab.count(what, how, 2000).io
        for what, how in [
            ("attention-forward:n=64,d=8", "flash:columns=16"),
            (online(64, 8, 16), "flash"),
        ]
    )

    assert safe - late == 2 * (4 - 1) * 64


@pytest.mark.parametrize("options", ["softmax=online", "block=4", "softmax=safe,block=4"])
def test_online_and_block_come_together(options):
    with pytest.raises(SpecError, match="softmax=online,block=16"):
        workload(f"attention-forward:n=8,d=2,{options}")


def test_errors_say_which_variant_to_ask_for():
    with pytest.raises(RefusalError, match=r"asked for as attention-forward:\.\.\.,softmax=safe"):
        lab.count("attention-forward:n=8,d=2", "two-pass", 99)
    with pytest.raises(RefusalError, match="softmax=late"):
        lab.count(online(8, 2, 4), "attenio", 99)
    for text in ("flash:columns=2", "flash:sizes=paper", "flash2:columns=2"):
        with pytest.raises(RefusalError, match="key blocks are the workload's"):
            lab.count(online(8, 2, 4), text, 99)
    with pytest.raises(PebbleError, match="no closed form"):
        strategy("flash").closed_form(workload(online(8, 2, 4)))
    with pytest.raises(SpecError, match="key blocks are more than"):
        lab.count(online(1 << 20, 2, 4), "flash", 99)
