"""The theorems of the literature, at sizes computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphs
from bounds import crossover
from bounds.bound import Z_QK, Z_input
from bounds.theorems import all_theorems, theorems, theorems_for
from pebble.errors import SpecError, UnknownNameError

BY_NAME = {bound.name: bound for bound in all_theorems()}


@pytest.mark.parametrize(
    ("name", "sizes", "value"),
    [
        # n^2 d / sqrt(M) = 65536 / 8 and n^2 d^2 / M = 1048576 / 64
        ("sy24-forward", {"n": 64, "d": 16, "M": 64}, 8192),
        ("sy24-forward", {"n": 64, "d": 16, "M": 256}, 4096),
        ("sy24-forward", {"n": 64, "d": 16, "M": 1024}, 1024),
        # n^2 d^2 + n d^3 = 1048576 + 262144; n^2 d + n d^2 = 65536 + 16384
        ("li24-gradient", {"n": 64, "d": 16, "M": 64}, 10240),
        ("li24-gradient", {"n": 64, "d": 16, "M": 256}, 5120),
        ("li24-gradient", {"n": 64, "d": 16, "M": 1024}, 1280),
        ("li24-gradient", {"n": 128, "d": 32, "M": 1024}, 20480),
        # a short sequence: min((4096 + 16384) / 16, (256 + 1024) / 4)
        ("li24-gradient", {"n": 4, "d": 16, "M": 16}, 320),
        ("li24-backward", {"n": 64, "d": 16, "M": 64}, 10240),
        ("li24-backward", {"n": 64, "d": 16, "M": 1024}, 1280),
        ("dao22-standard-forward", {"n": 64, "d": 16, "M": 64}, 5120),
        ("dao22-standard-backward", {"n": 64, "d": 16, "M": 1024}, 5120),
        ("dao22-flash-forward", {"n": 64, "d": 16, "M": 64}, 16384),
        ("dao22-flash-backward", {"n": 64, "d": 16, "M": 1024}, 1024),
        # 6 * 4 * 10 / 4
        ("hk81-matmul", {"m": 6, "n": 4, "k": 10, "M": 16}, 60),
        # 8 * 3 / 2 and 1024 * 10 / 5
        ("hk81-fft", {"n": 8, "M": 4}, 12),
        ("hk81-fft", {"n": 1024, "M": 32}, 2048),
        ("compulsory-attention-forward", {"n": 64, "d": 16}, 4096),
        ("compulsory-attention-backward", {"n": 64, "d": 16}, 8256),
        ("compulsory-attention-gradient", {"n": 64, "d": 16}, 4864),
        # 60 + 40 + 24
        ("compulsory-matmul", {"m": 6, "n": 4, "k": 10}, 124),
        ("compulsory-bilinear", {"n": 64, "d": 16}, 6400),
        ("compulsory-fft", {"n": 8}, 16),
    ],
)
def test_value(name, sizes, value):
    assert BY_NAME[name].evaluate(**sizes) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "sizes", "holds"),
    [
        ("sy24-forward", {"n": 64, "d": 16, "M": 1024}, True),
        ("sy24-forward", {"n": 64, "d": 16, "M": 1025}, False),
        # n < d: up to n^2
        ("li24-gradient", {"n": 4, "d": 16, "M": 16}, True),
        ("li24-gradient", {"n": 4, "d": 16, "M": 17}, False),
        ("li24-backward", {"n": 16, "d": 16, "M": 256}, True),
        ("li24-backward", {"n": 15, "d": 16, "M": 16}, False),
        ("dao22-flash-forward", {"n": 64, "d": 16, "M": 15}, False),
        ("dao22-flash-forward", {"n": 64, "d": 16, "M": 16}, True),
        ("dao22-standard-backward", {"n": 64, "d": 16, "M": 1025}, False),
        ("hk81-matmul", {"m": 6, "n": 4, "k": 10, "M": 16}, True),
        ("hk81-matmul", {"m": 6, "n": 4, "k": 10, "M": 17}, False),
        ("hk81-fft", {"n": 8, "M": 2}, False),
        ("hk81-fft", {"n": 8, "M": 8}, True),
        ("hk81-fft", {"n": 8, "M": 9}, False),
        ("compulsory-fft", {"n": 1}, False),
    ],
)
def test_condition(name, sizes, holds):
    assert BY_NAME[name].holds(**sizes) is holds


def test_theta_of_flash_attention_is_optimal_exactly_from_d_squared_on():
    flash, optimum = BY_NAME["dao22-flash-forward"], BY_NAME["sy24-forward"]

    for memory in (16, 64, 255, 256, 400, 1024):
        sizes = {"n": 64, "d": 16, "M": memory}
        # Below d^2 FlashAttention moves d/sqrt(M) times what is needed.
        excess = max(1.0, 16 / math.sqrt(memory))
        assert flash.evaluate(**sizes) / optimum.evaluate(**sizes) == pytest.approx(excess)


sizes = st.integers(1, 2**20)


@given(n=sizes, d=sizes, m=sizes, k=sizes, M=st.integers(3, 2**40))
def test_where_a_theta_holds_it_is_no_less_than_the_compulsory_io(n, d, m, k, M):
    # Else the Θ would be false: the reason for the upper end of every condition.
    values = {"n": n, "d": d, "m": m, "k": k, "M": M}
    for bound in all_theorems():
        if bound.kind == "theta" and not bound.algorithm and bound.holds(**values):
            compulsory = BY_NAME[f"compulsory-{bound.workload}"].evaluate(**values)
            assert compulsory <= 9.001 * bound.evaluate(**values)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "attention-forward:n=8,d=4",
            [
                "sy24-forward",
                "dao22-standard-forward",
                "dao22-flash-forward",
                "dao22-no-better",
                "aio26-forward",
                "li24-sparse-forward",
                "dao22-block-sparse",
                "certified-scores",
                "certified-forward",
                "certified-forward-middle",
                "certified-forward-small",
                "certified-both-products",
                "compulsory-attention-forward",
            ],
        ),
        (
            "attention-backward:n=8,d=4,sum=tree",
            [
                "li24-backward",
                "dao22-standard-backward",
                "dao22-flash-backward",
                "li24-sparse-backward",
                "certified-backward-loads-any",
                "certified-backward-loads",
                "certified-backward-small",
                "certified-backward",
                "certified-backward-any",
                "compulsory-attention-backward",
            ],
        ),
        (
            "attention-gradient:n=8,d=4,form=as24",
            ["li24-gradient", "compulsory-attention-gradient"],
        ),
        ("bilinear:n=8,d=4", ["certified-bilinear", "compulsory-bilinear"]),
        (
            "matmul:m=2,n=3,k=4",
            [
                "hk81-matmul",
                "sllg17-matmul",
                "kw19-matmul",
                "certified-matmul",
                "compulsory-matmul",
            ],
        ),
        ("fft:n=8", ["hk81-fft", "compulsory-fft"]),
        ("pyramid:h=3", []),
        # A dense theorem says nothing of a masked workload.
        (
            "attention-forward:n=8,d=4,mask=causal",
            ["li24-sparse-forward", "dao22-block-sparse"],
        ),
        ("tree:depth=3,arity=3", ["psy25-tree", "psy25-tree-partial"]),
        ("graph.json", []),
        ("folder:a/graph.json", []),
    ],
)
def test_theorems_that_cover_a_workload(text, names):
    assert [bound.name for bound in theorems_for(text)] == names


@pytest.mark.parametrize(
    "text",
    [
        "attention-forward:n=5,d=3",
        "attention-forward:n=1,d=1",
        "attention-backward:n=4,d=3",
        "attention-backward:n=1,d=2",
        "attention-gradient:n=4,d=3",
        "attention-gradient:n=2,d=1,sum=tree",
        "attention-gradient:n=3,d=2,form=as24",
        "attention-gradient:n=3,d=2,given=dO",
        "attention-gradient:n=3,d=2,form=as24,given=dO",
        "bilinear:n=4,d=3",
        "matmul:m=2,n=3,k=4",
        "matmul:m=2,n=3,k=1",
        "fft:n=8",
    ],
)
def test_compulsory_bound_is_inputs_plus_outputs_of_the_dag(text):
    workload = graphs.workload(text)
    (compulsory,) = (b for b in theorems_for(workload) if b.name.startswith("compulsory"))
    dag = workload.dag()

    expected = len(dag.inputs) + len(dag.outputs)
    assert compulsory.evaluate(**compulsory.values(workload)) == expected


def test_values_of_another_family_are_refused():
    with pytest.raises(SpecError, match="hk81-fft is a statement about fft, not about matmul:"):
        BY_NAME["hk81-fft"].values(graphs.workload("matmul:m=2,n=3,k=4"), memory=4)


def test_unknown_family_lists_close_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'attention-forward'"):
        theorems("attention-foward")


def test_every_theorem_states_rules_reference_and_hypotheses():
    assert len(BY_NAME) == len(all_theorems())
    for bound in all_theorems():
        assert bound.reference
        assert bound.hypotheses
        assert bound.rules in {"hk", "hk, one-shot", "one-shot", "prbp"}


def test_a_bound_may_ask_for_the_value_of_an_option():
    two_pass = BY_NAME["certified-two-pass"]

    assert two_pass.covers("attention-forward:n=8,d=4,softmax=early")
    assert two_pass.covers("attention-forward:n=8,d=4,softmax=safe,sum=tree")
    assert not two_pass.covers("attention-forward:n=8,d=4")
    assert not two_pass.covers("attention-forward:n=8,d=4,softmax=late")


def test_the_printed_bound_that_fails_is_no_lower_bound():
    printed = BY_NAME["kw19-matmul"]
    sizes = {"m": 5, "n": 5, "k": 1, "M": 4}

    # A schedule of 45 exists; what is certified is less.
    assert printed.holds(**sizes)
    assert printed.evaluate(**sizes) == 50
    assert printed.kind == "claimed"
    assert BY_NAME["certified-matmul"].floor(**sizes) == 25


def test_sizes_that_a_workload_cannot_tell_give_no_value():
    sparse = BY_NAME["li24-sparse-forward"]
    sizes = sparse.values(graphs.workload("attention-forward:n=8,d=4"), memory=16)

    assert sizes == {"M": 16}
    assert sparse.to_json(**sizes)["value"] is None
    # min(64^2 / 16, 64 * 8 / 4), and 64^2 / 256 on the other side of M = 64^2 / 64
    assert sparse.evaluate(M=16, Z_input=64, Z_QK=64) == 128
    assert sparse.evaluate(M=256, Z_input=64, Z_QK=64) == 16


def test_regimes_of_sparse_attention_meet_where_li_says():
    assert crossover(BY_NAME["li24-sparse-forward"]) == Z_input**2 / Z_QK


@pytest.mark.parametrize(
    ("sizes", "plain", "partial"),
    [
        ({"depth": 2, "arity": 2, "M": 3}, 7, 5),
        ({"depth": 3, "arity": 2, "M": 3}, 15, 11),
        ({"depth": 3, "arity": 3, "M": 4}, 44, 28),
    ],
)
def test_trees_with_and_without_partial_computation(sizes, plain, partial):
    assert BY_NAME["psy25-tree"].evaluate(**sizes) == plain
    assert BY_NAME["psy25-tree-partial"].evaluate(**sizes) == partial
    assert BY_NAME["psy25-tree"].holds(**sizes)


def test_a_lower_bound_is_printed_rounded_down():
    # 2 * 7^3 / sqrt(5) = 306.788...
    assert BY_NAME["certified-matmul"].to_json(m=7, n=7, k=7, M=5)["value"] == 306
    # Beyond what a float can tell apart: isqrt(4 n^6 / 5).
    n = 2**40 + 1
    value = BY_NAME["certified-matmul"].floor(m=n, n=n, k=n, M=5)
    assert value == math.isqrt(4 * n**6 // 5)
