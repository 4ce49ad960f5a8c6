"""Certified bounds: values by hand, formulas against brute force, and no count or optimum below."""

import csv
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bounds.certified import Heads, best, certified
from bounds.certified_backward import backward_io, backward_loads
from bounds.certified_forward import both, forward, score_loads
from bounds.segments import backward, both_products, one_product, root_up, scores
from bounds.theorems import theorems_for
from graphs.registry import workload
from pebble.dag import Dag
from pebble.errors import SpecError
from pebble.rules import FREE_INPUTS, HK, ONE_SHOT, SLIDING, UNSTORED
from strategies.registry import RefusalError, strategies, strategy

DATA = Path(__file__).parent.parent / "data" / "optimal.csv"
D_SQUARED = [Fraction(1, 8), Fraction(1, 2), 1, 2, 3, 4, 5, 14, 15, 19, 40, 1000]


def value(text, memory, name):
    found = {bound.name: bound.value for bound in certified(workload(text), memory)}
    return found.get(name)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "memory", "name", "expected"),
    [
        # n^2 d^2 / M + n d
        ("attention-forward:n=64,d=8", 128, "scores", 2048 + 512),
        # n^2 (1 - M / 4 d^2) + n d at M = d^2
        ("attention-forward:n=64,d=8", 64, "scores", 3072 + 512),
        # 4 n^2 d^2 / M, 2 n^2 d / sqrt(M)
        ("attention-forward:n=1024,d=16", 4096, "forward", 2**18),
        ("attention-forward:n=64,d=8", 16, "forward", 2 * 64**2 * 2),
        ("attention-forward:n=64,d=8,softmax=early", 16, "forward", 2 * 64**2 * 2),
        # (5 n^2 d^2 / M - 2 n d) / (1 + 2 d^2 / M) with M = 8 d^2
        ("attention-forward:n=4096,d=8,softmax=safe", 512, "two-pass", 8336179),
        # 12 n^2 d^2 / M, 14 n^2 d^2 / M - 3 n d with M a multiple of d
        ("attention-backward:n=1024,d=8", 1024, "backward-loads", 12 * 2**16),
        (
            "attention-backward:n=1024,d=8",
            2048,
            "backward-loads-and-stores",
            14 * 2**15 - 3 * 2**13,
        ),
        # 10 n^2 d^2 / M - 22 n d + d^2
        ("attention-gradient:n=4096,d=8", 2048, "gradient", 10 * 2**19 - 22 * 2**15 + 64),
        ("matmul:m=16,n=16,k=16", 64, "matrix-product", 1024),
        ("bilinear:n=16,d=4", 16, "matrix-product", 512),
        ("attention-training:n=64,d=8", 128, "scores", 2048 + 4 * 512),
    ],
)
def test_value(text, memory, name, expected):
    assert value(text, memory, name) == expected


def test_both_products_at_d_squared():
    # N = 1.0893 M^(3/2) from T = 2M: 2 * 2 / 1.0893 - 1 = 2.672; the best T gives more
    found, segment = both(10**8, 64, 64, 64**2)
    N = float(both_products(64)(3 * 64**2))

    assert N / 64**3 == pytest.approx(1.0893, abs=1e-4)
    assert 2.672 < found / 10**8 < 2.70
    assert 1.5 < segment / 64**2 < 2


def test_two_pass_needs_a_statistic_that_comes_first():
    memory = 5 * 64
    assert value("attention-forward:n=64,d=8", memory, "two-pass") is None
    assert value("attention-forward:n=4096,d=8,softmax=early", memory, "two-pass") > 0
    assert value("attention-forward:n=4096,d=8,softmax=early", 4 * 64, "two-pass") is None


def test_gradient_outside_its_hypotheses_is_not_given():
    assert value("attention-gradient:n=4096,d=8", 19 * 64 - 1, "gradient") is None
    assert value("attention-gradient:n=4096,d=8", 4097, "gradient") is None
    assert value("attention-gradient:n=4096,d=8,form=as24,given=dO", 2048, "gradient") is None
    assert value("attention-gradient:n=4096,d=8,form=as24,given=dO", 2048, "forward") is None
    assert value("attention-gradient:n=4096,d=8,form=as24", 2048, "gradient") > 0


def test_rules():
    w = workload("attention-forward:n=64,d=8")

    assert best(w, 128, ONE_SHOT).value == best(w, 128, HK).value
    assert best(w, 128, SLIDING).value == best(w, 129, HK).value
    assert best(w, 128, SLIDING).memory == 128
    assert certified(w, 128, FREE_INPUTS) == []
    assert certified(w, 128, UNSTORED) == []


def test_a_memory_that_is_none_is_refused():
    for memory in (0, -1, 2.5, True):
        with pytest.raises(SpecError, match="M must be a positive integer"):
            certified(workload("fft:n=8"), memory)


def test_a_graph_of_ones_own_has_nothing_certified_here():
    from graphs.registry import GivenDag

    assert certified(GivenDag(Dag.from_predecessors([[], [0]]), "path"), 2) == []


def test_heads_add_up_and_masks_count_pairs():
    one = Heads(queries=256, keys=256, d=16, d_values=16)
    # Four query heads to one of keys and values, in eight groups.
    grouped = Heads(queries=4 * 256, keys=256, d=16, d_values=16, heads=8)
    uneven = Heads(queries=256, keys=256, d=16, d_values=32)
    causal = Heads(256, 256, 16, 16, pairs=256 * 257 // 2)
    same = workload("attention-forward:n=256,d=16")

    def by_name(heads):
        return {bound.name: bound.value for bound in heads.certified(2048)}

    assert by_name(one) == {bound.name: bound.value for bound in certified(same, 2048)}
    assert by_name(one)["forward"] == 4 * 256**2 * 256 // 2048
    assert by_name(grouped)["forward"] == 32 * by_name(one)["forward"]
    assert by_name(uneven)["forward"] == 2 * by_name(one)["forward"]
    assert by_name(causal)["forward"] == 4 * (256 * 257 // 2) * 256 // 2048
    with pytest.raises(SpecError, match="every query and every key"):
        Heads(256, 256, 16, 16, pairs=255)


# --- the formulas behind them ---------------------------------------------------------------------


def test_square_roots_are_never_rounded_down():
    for x in (Fraction(2), Fraction(10**30 + 1), Fraction(1, 3), Fraction(4, 9)):
        assert root_up(x) ** 2 >= x
    assert root_up(Fraction(4, 9)) == Fraction(2, 3)


@pytest.mark.parametrize("d", [1, 2, 8, 64])
def test_capacities_are_maxima_rounded_up(d):
    for s in np.unique(np.geomspace(2, 200 * d * d + 50, 12).astype(int)).tolist():
        u = np.linspace(0, s, 100_001)
        r = np.sqrt(u)
        g = np.sqrt((u**2 * (s - u) / 4 + u**4 / (108 * d * d)).max())
        e = np.maximum(u, u**2 / (4 * d * d))
        exact = [
            (both_products(d)(s), g),
            (one_product(d)(s), ((s - u) * np.sqrt(e) / 2).max()),
            (scores(d)(s), (u + (s - u) ** 2 / (4 * d * d)).max()),
        ]
        for alpha, beta, gamma in ((16, Fraction(1, 2), 3), (4, Fraction(3), 14)):
            hits = np.minimum(gamma * d * u, float(beta) * r * (s - u))
            N = ((s - u) ** 2 / (alpha * d) + hits).max()
            exact.append((backward(d, alpha, beta, gamma)(s), N))
        for found, sampled in exact:
            assert sampled * (1 - 1e-12) <= float(found) <= sampled * (1 + 2e-3)


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("memory", [4, 16, 50, 300, 1000])
def test_the_best_segment_is_found(d, memory):
    pairs = 10**10
    for found, capacity, work in (
        (score_loads(pairs, d, memory), scores(d), 1),
        (forward(pairs, d, d, memory), one_product(d), d),
        (backward_loads(pairs, d, memory), backward(d, 16, Fraction(1, 2), 3), 3 * d),
    ):
        rates = [T / float(capacity(memory + T)) for T in range(1, 4 * memory + 20 * d * d, 7)]
        assert found[0] >= max(rates) * pairs * work * (1 - 1e-4)


def test_columns_of_a_segment_of_the_backward_pass():
    """The inequality behind Theorem 7, at random and with one column apart from the others.

    Sizes are in units of M / d rows. B counts every running sum of dK and dV in the segment's runs,
    those b2 of dV in columns with K alone at hand included.
    """
    random = np.random.default_rng(7)
    worst = 0.0
    for _ in range(40):
        size, columns = 5000, random.integers(1, 4)
        shape = (size, columns)
        scale = random.dirichlet([random.choice([0.2, 1.0])] * 4, size)
        a, a1, b, b1 = (scale[:, [i]] for i in range(4))

        def part(most, shape=shape):
            return most * random.choice([0.0, 0.5, 1.0, random.random()], shape)

        al, om, bK, bp, b2 = part(a), part(a1), part(b), part(b), part(b1)
        A, B = al + part(0.5 * np.ones((size, 1))), bK + bp + b2 + part(0.5 * np.ones((size, 1)))
        cost = 2 * a + a1 + 2 * b + b1 + (A + om + B).mean(1, keepdims=True)
        q = 2 / cost * random.choice([1.0, 0.9], (size, 1))
        a, a1, b, b1, al, om, bK, bp, b2, A, B = (
            q * x for x in (a, a1, b, b1, al, om, bK, bp, b2, A, B)
        )
        be = bK + bp
        leaves = 6 * al * b + 4 * a * be - al * be + 4 * om * bp + 4 * (a + om) * b2
        late = al * np.minimum(be, np.maximum(B - 1, 0)) + be * np.minimum(al, np.maximum(A - 1, 0))
        C = (q * cost)[:, 0]
        worst = max(worst, float(((leaves + late).mean(1) / (C**2 / 4)).max()))
    assert 0.9 < worst <= 1 + 1e-12


@pytest.mark.parametrize("d", [1, 3, 16, 64])
@pytest.mark.parametrize("factor", D_SQUARED)
def test_closed_forms_come_from_the_theorems(d, factor):
    """A closed form is never above the theorem that it comes from, and holds nowhere else."""
    memory, n = math.ceil(factor * d * d), 8192
    for text in (
        f"attention-forward:n={n},d={d}",
        f"attention-forward:n={n},d={d},softmax=safe",
        f"attention-backward:n={n},d={d}",
        f"attention-gradient:n={n},d={d}",
        f"attention-training:n={n},d={d}",
        f"matmul:m={n},n={n},k={d}",
    ):
        w = workload(text)
        most = best(w, memory).value
        for bound in theorems_for(w):
            if bound.kind == "lower":
                sizes = bound.values(w, memory)
                if bound.holds(**sizes):
                    assert bound.floor(**sizes) <= most, (bound.name, sizes)


# --- nothing goes below ---------------------------------------------------------------------------

FAMILIES = {"matmul": "matmul", "attn": "attention-forward", "fft": "fft", "pyramid": "pyramid"}


def optima():
    with DATA.open() as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["dag"] in {"matmul", "attn", "fft", "pyramid"}:
                yield row


def in_our_words(row):
    if row["dag"] == "matmul":
        m, n, k = row["params"].split("x")
        return f"matmul:m={m},n={n},k={k}"
    early = ",softmax=early" if row["dag"] == "attn" else ""
    return f"{FAMILIES[row['dag']]}:{row['params']}{early}"


def test_no_bound_exceeds_an_optimum():
    rows = list(optima())
    tight = 0
    for row in rows:
        w, memory = workload(in_our_words(row)), int(row["M"])
        rules = {"hk": HK, "nore": ONE_SHOT}[row["rules"]]
        optimum = int(row["optimal_io"])
        for bound in certified(w, memory, rules):
            assert bound.value <= optimum, (row, bound)
            tight += bound.value == optimum
        for bound in theorems_for(w):
            if bound.kind == "lower" and bound.holds(**(sizes := bound.values(w, memory))):
                assert bound.floor(**sizes) <= optimum, (row, bound)
    assert len(rows) >= 46
    assert tight > 0


SHAPES = [(1, 1), (3, 2), (64, 8)]
MORE_SHAPES = [(2, 1), (7, 16), (5, 4), (200, 32), (1000, 16), (4096, 64), (2**20, 64)]
TEXTS = [
    "attention-forward:n={n},d={d}",
    "attention-forward:n={n},d={d},softmax=early",
    "attention-forward:n={n},d={d},softmax=safe",
    "attention-backward:n={n},d={d}",
    "attention-training:n={n},d={d}",
    "attention-gradient:n={n},d={d}",
    "attention-gradient:n={n},d={d},form=as24,given=dO",
    "matmul:m={n},n={n},k={d}",
    "bilinear:n={n},d={d}",
]


def counts(w, memory):
    for kind in strategies():
        if kind.any_dag:
            continue
        try:
            how = kind()
            if how.refusal(w) is None and memory >= how.least_memory(w):
                yield str(how), how.count(w, memory).io
        except (RefusalError, TypeError):
            continue


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "shapes", [SHAPES, pytest.param(MORE_SHAPES, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_no_bound_exceeds_a_count(text, shapes):
    compared = 0
    for (n, d), factor in product(shapes, [Fraction(1, 4), 2, 40]):
        w, memory = workload(text.format(n=n, d=d)), int(factor * d * d) + 3 * d + 6
        least = best(w, memory)
        for how, io in counts(w, memory):
            assert least.value <= io, (str(w), memory, how, least)
            compared += 1
    assert compared >= 8


# Schedules by their exact formulas, also where no strategy plays: rows that stay, rest streaming.


def q_outer(n, d, M):
    a = (M - 3) // (2 * d + 2)
    return 2 * n * d + 2 * n * d * -(-n // a) if a > 0 else None


def split_backward(n, d, M):
    a, b = (M - d - 3) // (3 * d + 4), (M - d - 3) // (4 * d + 2)
    if min(a, b) < 1:
        return None
    return 8 * n * d + 2 * n + 2 * n * d * -(-n // a) + (2 * n * d + 2 * n) * -(-n // b)


def two_pass_forward(n, d, M):
    a1, a = (M - 3) // (d + 2), (M - 4) // (2 * d + 3)
    if min(a1, a) < 1:
        return None
    return 3 * n * d + 2 * n + n * d * -(-n // a1) + 2 * n * d * -(-n // a)


def test_no_bound_exceeds_the_formulas_of_the_best_schedules():
    for d in (1, 3, 16, 128):
        for factor in (1 / 64, 0.3, 1, 2, 3.5, 4.8, 10, 19, 65, 1000):
            for n in (1, 5, 128, 65536):
                M = int(factor * d * d) + 2
                for text, io in (
                    (f"attention-forward:n={n},d={d}", q_outer(n, d, M)),
                    (f"attention-backward:n={n},d={d}", split_backward(n, d, M)),
                    (f"attention-forward:n={n},d={d},softmax=safe", two_pass_forward(n, d, M)),
                ):
                    if io is not None:
                        least = best(workload(text), M)
                        assert least.value <= io, (text, M, least)


# --- headlines ------------------------------------------------------------------------------------


def leading(text, how, n, d, M):
    """Return I/O and bound in units of n^2 d^2 / M."""
    w, unit = workload(text.format(n=n, d=d)), n * n * d * d / M
    io = q_outer(n, d, M) if how == "q-outer" else strategy(how).count(w, M).io
    return io / unit, best(w, M).value / unit


def test_q_outer_forward_is_optimal_with_constant_4():
    ratios = []
    for d in (16, 64, 128):
        io, bound = leading("attention-forward:n={n},d={d}", "q-outer", 2**22, d, d**3)
        assert bound == pytest.approx(4, abs=0.01)
        ratios.append(io / bound)
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == pytest.approx(1, abs=0.04)


def test_the_split_backward_pass_is_optimal_with_constant_14_and_flash_has_16():
    ratios = []
    for d in (16, 64, 128):
        io, bound = leading("attention-backward:n={n},d={d}", "split", 2**22, d, d**3)
        ratios.append(io / bound)
    assert bound == pytest.approx(14, abs=0.1)
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] == pytest.approx(1, abs=0.04)


def test_the_fused_backward_pass_has_16_where_14_are_enough():
    n, d, M = 2**20, 64, 64**3
    w, unit = workload(f"attention-backward:n={n},d={d}"), n * n * d * d / M
    io, bound = strategy("flash2").count(w, M).io, best(w, M).value

    assert io / unit == pytest.approx(16, rel=0.08)
    assert bound / unit == pytest.approx(14, rel=0.02)
    assert 16 / 14 * 0.98 < io / bound < 1.3


def test_two_passes_of_softmax_are_optimal_with_constant_5():
    text = "attention-forward:n={n},d={d},softmax=safe"
    io, bound = leading(text, "two-pass", 2**22, 128, 128**3)

    assert bound == pytest.approx(5, abs=0.1)
    assert io / bound == pytest.approx(1, abs=0.05)


def test_loads_and_stores_of_the_backward_pass_need_more_than_loads():
    pairs, d, M = 2**40, 64, 64**3

    assert backward_loads(pairs, d, M)[0] == 12 * pairs * d * d // M
    assert backward_io(pairs, d, M)[0] == 14 * pairs * d * d // M


def test_the_ffts_reach_is_never_less_than_what_trying_all_sets_finds():
    from bounds.certified_fft import within_reach
    from bounds.dag_bound import Problem
    from bounds.partition import spans

    for n in (2, 4, 8):
        tried = spans(Problem.of(workload(f"fft:n={n}").dag(), 3), 8)
        assert len(tried) > 4
        assert all(most <= within_reach(x) for x, most in enumerate(tried))
    # Blocks of 2 and 4 points are within reach as a whole: the function is tight there.
    assert [within_reach(x) for x in (2, 4)] == [2, 8] == [tried[2], tried[4]]
