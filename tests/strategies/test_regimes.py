"""The middle regimes at their leading terms, x = d / sqrt(M), from docs/certified-bounds.md."""

from math import sqrt

import pytest

import lab

N, D = 1 << 17, 1024

TERMS = {
    ("forward", "stored", 0.5): lambda x: (1 + x) ** 2,
    ("forward", "stored", 0.1): lambda x: 4 * x + 1,
    ("backward", "stored", 2): lambda x: 9 * x**2 + 2,
    ("backward", "stored:keep=both", 1.2): lambda x: 5 * x**2 + 5,
    ("backward", "stored:keep=both", 0.5): lambda x: 3 * x**2 + 4 * x + 3,
    ("backward", "algorithm6:tiles=outer", 0.15): lambda x: 10 * x + 3,
    ("gradient", "stored", 1.2): lambda x: 6 * x**2 + 3,
    ("gradient", "stored:keep=both", 0.5): lambda x: 2 * x**2 + 4 * x + 3,
    ("gradient", "stored:keep=both", 0.15): lambda x: 8 * x + 3,
}


QUICK = {("forward", "stored", 0.5), ("backward", "stored", 2)}
POINTS = [pytest.param(*key, marks=() if key in QUICK else pytest.mark.slow) for key in TERMS]


@pytest.mark.parametrize(("kind", "strategy", "ratio"), POINTS)
def test_the_leading_term_of_a_middle_regime(kind, strategy, ratio):
    memory = int(ratio * D**2)
    io = lab.count(f"attention-{kind}:n={N},d={D}", strategy, memory).io

    # Tiles of whole rows: a little more than the term, never less.
    expected = TERMS[kind, strategy, ratio](D / sqrt(memory))
    assert expected < io / N**2 < 1.06 * expected


def test_storing_a_and_ds_on_the_training_step():
    n, d = 1 << 13, 64
    report = lab.count(f"attention-training:n={n},d={d}", "stored:keep=both", d * d * 2)
    tensors = report.tensors

    assert tensors["A"].stores == tensors["dS"].stores == n * n
    assert report.recomputes == 0
    # A is read for O and for P, dS for dQ and for dK, once each where the factors fit.
    assert tensors["A"].loads == tensors["dS"].loads == 2 * n * n
