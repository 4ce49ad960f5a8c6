"""Certified bounds of masked, grouped and uneven heads: against random play and known schedules."""

import random
import sys

import numpy as np
import pytest

from bounds.certified import Heads
from pebble.dag import Dag
from pebble.errors import SpecError
from pebble.referee import referee
from tests.bounds.test_random_play import Builder, Player

# --- DAGs of heads with a mask, written out -------------------------------------------------------


def masked_product(g, X, Y, mask):
    """X Y^T on the pairs of a mask, as a dict."""
    return {
        (i, j): g.total([g.add(x, y) for x, y in zip(X[i], Y[j], strict=True)]) for i, j in mask
    }


def sums(g, weights, rows, mask, side):
    """For each line on a side, the sum of its weights times the rows of the other side."""
    lines = sorted({pair[side] for pair in mask})
    return [
        [
            g.total(
                [
                    g.add(weights[pair], rows[pair[1 - side]][k])
                    for pair in mask
                    if pair[side] == line
                ]
            )
            for k in range(len(rows[0]))
        ]
        for line in lines
    ]


def forward(g, queries, keys, d, d_values, mask):
    Q, K, V = g.matrix(queries, d), g.matrix(keys, d), g.matrix(keys, d_values)
    A = {pair: g.add(s) for pair, s in masked_product(g, Q, K, mask).items()}
    l = [g.total([A[i, j] for i, j in mask if i == q]) for q in range(queries)]
    return g.rows(sums(g, A, V, mask, 0), l)


def backward(g, queries, keys, d, d_values, mask):
    Q, K, V = g.matrix(queries, d), g.matrix(keys, d), g.matrix(keys, d_values)
    O, dO = g.matrix(queries, d), g.matrix(queries, d)
    l = [g.add() for _ in range(queries)]
    S = masked_product(g, Q, K, mask)
    P = {(i, j): g.add(g.add(s), l[i]) for (i, j), s in S.items()}
    D = [g.total(row) for row in g.each(dO, O)]
    dP = masked_product(g, dO, V, mask)
    dS = {(i, j): g.add(P[i, j], g.add(x, D[i])) for (i, j), x in dP.items()}
    dQ = sums(g, dS, K, mask, 0)
    dK, dV = sums(g, dS, Q, mask, 1), sums(g, P, dO, mask, 1)
    return [*dQ, *dK, *dV]


def random_mask(rng, queries, keys):
    """Pairs such that every query and every key is in one."""
    kept = {(i, rng.randrange(keys)) for i in range(queries)}
    kept |= {(rng.randrange(queries), j) for j in range(keys)}
    share = rng.random()
    kept |= {(i, j) for i in range(queries) for j in range(keys) if rng.random() < share}
    return sorted(kept)


@pytest.mark.parametrize("text", [forward, backward])
def test_no_bound_exceeds_the_cost_of_random_play(text):
    sys.setrecursionlimit(10_000)
    recomputed = total = 0
    for seed in range(20):
        rng = random.Random(seed)  # noqa: S311
        queries, keys, d = rng.randint(2, 6), rng.randint(2, 5), rng.randint(1, 3)
        d_values = rng.randint(1, 3) if text is forward else d
        heads = rng.choice([1, 1, 2])
        masks = [random_mask(rng, queries, keys)] * heads
        g = Builder(rng)
        outputs = [
            v for mask in masks for row in text(g, queries, keys, d, d_values, mask) for v in row
        ]
        dag = Dag.from_predecessors(g.operands, outputs=sorted(outputs))
        memory = rng.choice([3, 4, 5, 8, 12])
        moves = Player(dag, memory, rng, budget=8 * len(dag)).play(outputs)
        report = referee(dag, moves, memory)
        recomputed += report.recomputes
        total += report.computes
        what = Heads(queries, keys, d, d_values, len(masks[0]), heads, backward=text is backward)

        found = what.certified(memory)
        for bound in found:
            assert bound.value <= report.io, (seed, what, bound)
        compulsory = next(bound.value for bound in found if bound.name == "compulsory")
        assert compulsory == len(dag.inputs) + len(dag.outputs)
    assert recomputed > total / 5


# --- schedules that are known to attain the constants ---------------------------------------------


def spans(mask, size):
    """For blocks of `size` rows of a boolean mask, how many columns each block meets."""
    return [int(mask[i : i + size].any(axis=0).sum()) for i in range(0, len(mask), size)]


def q_outer(mask, d, M):
    """Q and O once; for each block of a rows, K and V where the mask meets them."""
    a = (M - 3) // (2 * d + 2)
    return 2 * len(mask) * d + 2 * d * sum(spans(mask, a))


def split(mask, d, M):
    """A pass for dQ with rows of Q, dO and dQ resident; one for dK and dV with columns."""
    a, b = (M - d - 3) // (3 * d + 4), (M - d - 3) // (4 * d + 2)
    n_q, n_k = mask.shape
    rows = 4 * n_q * d + 2 * n_q + 2 * d * sum(spans(mask, a))
    return rows + 4 * n_k * d + (2 * d + 2) * sum(spans(mask.T, b))


def shapes(n):
    full = np.ones((n, n), bool)
    causal = np.tril(full)
    # Four query heads to one of keys and values, each causal.
    grouped = np.tile(causal, (4, 1))
    rng = np.random.default_rng(1)
    random_pairs = rng.random((n, n)) < 0.1
    random_pairs[np.arange(n), np.arange(n)] = True
    window = causal & ~np.tril(full, -n // 8)
    return {"causal": causal, "grouped": grouped, "random": random_pairs, "window": window}


@pytest.mark.parametrize("name", ["causal", "grouped", "random", "window"])
@pytest.mark.parametrize("d", [2, 8])
def test_no_bound_exceeds_what_schedules_move(name, d):
    mask = shapes(512)[name]
    n_q, n_k = mask.shape
    for memory in (8 * d * d, 40 * d * d, 200 * d * d):
        memory = max(memory, 64)
        front = Heads(n_q, n_k, d, d, int(mask.sum())).certified(memory)
        back = Heads(n_q, n_k, d, d, int(mask.sum()), backward=True).certified(memory)

        assert front[0].value <= q_outer(mask, d, memory)
        assert back[0].value <= split(mask, d, memory)


@pytest.mark.parametrize("name", ["causal", "grouped"])
def test_causal_and_grouped_heads_are_optimal_to_the_constant(name):
    d = 4
    mask = shapes(2048)[name]
    n_q, n_k = mask.shape
    memory = 40 * d * d
    heads = {
        way: Heads(n_q, n_k, d, d, int(mask.sum()), backward=way == "backward").certified(memory)
        for way in ("forward", "backward")
    }

    assert heads["forward"][0].name == "forward"
    assert heads["backward"][0].name == "backward-loads-and-stores"
    # 2 d + 2 pebbles a row are not 2 d, nor 3 d + 4 and 4 d + 2 what they stand for.
    assert q_outer(mask, d, memory) < 1.45 * heads["forward"][0].value
    assert split(mask, d, memory) < 1.6 * heads["backward"][0].value


def test_a_square_head_is_the_workload():
    from bounds.certified import certified
    from graphs.registry import workload

    for memory in (16, 200, 3000):
        heads = Heads(256, 256, 8, 8, backward=True).certified(memory)
        same = certified(workload("attention-backward:n=256,d=8"), memory)
        assert [(b.name, b.value) for b in heads] == [(b.name, b.value) for b in same]


def test_what_is_not_proved_is_refused():
    with pytest.raises(SpecError, match="no bound with a constant is proved"):
        Heads(8, 8, 4, 2, backward=True)
