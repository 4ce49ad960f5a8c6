"""`Bound`: evaluation, conditions, scale, text; crossovers and regimes."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sympy

from bounds import Bound, crossover, regimes
from bounds.bound import M, d, k, n
from bounds.theorems import all_theorems, theorems
from pebble.errors import SpecError

FORWARD = theorems("attention-forward")[0]
GRADIENT = theorems("attention-gradient")[0]


def bound(**changes):
    fields = {
        "name": "b",
        "workload": "w",
        "kind": "lower",
        "expression": n * d,
        "condition": M <= n,
        "rules": "hk",
        "reference": "here",
    }
    return Bound(**fields | changes)


def test_a_polynomial_evaluates_to_an_exact_integer():
    value = bound(expression=n**2 * d + 1).evaluate(n=2**40, d=3, M=4)

    assert value == 3 * 2**80 + 1
    assert type(value) is int


def test_numpy_integers_do_not_overflow():
    value = bound(expression=n**4).evaluate(n=np.int32(10**5), M=np.int64(4))

    assert value == 10**20


def test_real_memory_is_allowed_between_integers():
    assert bound(expression=n / M).evaluate(n=3, M=1.5) == 2.0


def test_sizes_that_are_not_needed_are_allowed():
    assert bound().evaluate(n=3, d=2, M=1, k=7) == 6


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 3, "M": 4}, "b needs M, d, n; missing d"),
        ({}, "missing M, d, n"),
        (
            {"n": 3, "d": 2, "M": 4, "D": 2},
            "b: unknown size 'D'.*Known: M, Z_QK, Z_input",
        ),
        ({"n": 0, "d": 2, "M": 4}, "n must be a positive number, got 0"),
        ({"n": -3, "d": 2, "M": 4}, "n must be a positive number, got -3"),
        ({"n": 3, "d": True, "M": 4}, "d must be a positive number, got True"),
        ({"n": 3, "d": 2, "M": float("inf")}, "M must be a positive number, got inf"),
        ({"n": 3, "d": 2, "M": float("nan")}, "M must be a positive number, got nan"),
        ({"n": 3, "d": "2", "M": 4}, "d must be a positive number, got '2'"),
    ],
)
@pytest.mark.parametrize("ask", [Bound.evaluate, Bound.holds])
def test_bad_sizes_are_explained(ask, values, message):
    with pytest.raises(SpecError, match=message):
        ask(bound(), **values)


def test_an_undefined_value_is_an_error():
    with pytest.raises(SpecError, match="undefined at n = 4, M = 1"):
        bound(expression=n / sympy.log(M)).evaluate(n=4, M=1)


def test_condition_is_checked_apart_from_the_value():
    b = bound()

    assert b.holds(n=3, d=2, M=3)
    assert not b.holds(n=3, d=2, M=4)
    assert b.evaluate(n=3, d=2, M=4) == 6


def test_foreign_symbols_are_refused():
    # The same letter without the declared assumptions is another symbol.
    with pytest.raises(SpecError, match="b uses n; a formula is written in the symbols n, d, M"):
        bound(expression=sympy.Symbol("n") * d)


def test_unknown_kind_is_refused():
    with pytest.raises(SpecError, match="kind must be one of exact, lower, upper, theta"):
        bound(kind="about")


def test_only_a_theta_may_be_scaled():
    with pytest.raises(SpecError, match="b is lower: its constant is proved"):
        bound().scaled(2)
    with pytest.raises(SpecError, match="must be positive"):
        FORWARD.scaled(0)


def test_scales_multiply_and_show_in_the_label():
    twice = FORWARD.scaled(2).scaled(2.25)

    assert (FORWARD.has_constant, twice.has_constant, bound().has_constant) == (False, True, True)
    assert (FORWARD.label, twice.label) == ("Θ(sy24-forward)", "4.5 × Θ(sy24-forward)")
    # n=64, d=16, M=64: min(64^2*16/8, 64^2*256/64) = 8192
    assert twice.evaluate(n=64, d=16, M=64) == 36864


def test_text_of_each_kind():
    assert str(bound()) == "b: >= d*n where M <= n, here"
    assert str(bound(kind="upper", condition=True)) == "b: <= d*n, here"
    assert str(bound(kind="exact", algorithm="flash")) == "b: = d*n by flash where M <= n, here"
    assert str(bound(kind="theta")) == "b: Θ(d*n) where M <= n, here"


def test_json_gives_no_value_where_the_statement_does_not_hold():
    inside = FORWARD.to_json(n=64, d=16, M=64)
    outside = FORWARD.to_json(n=64, d=16, M=1025)
    unknown = FORWARD.to_json(n=64, d=16)

    assert (inside["holds"], inside["value"]) == (True, 8192)
    assert (outside["holds"], outside["value"]) == (False, None)
    assert (unknown["holds"], unknown["value"]) == (None, None)
    assert inside["expression"] == "Min(d**2*n**2/M, d*n**2/sqrt(M))"
    assert inside["kind"] == "theta"
    assert inside["rules"] == "hk, one-shot"


@pytest.mark.parametrize("b", all_theorems(), ids=lambda b: b.name)
def test_pickles_for_processes(b):
    assert pickle.loads(pickle.dumps(b)) == b  # noqa: S301 our own bytes


@pytest.mark.parametrize(
    "family", ["attention-forward", "attention-backward", "attention-gradient"]
)
def test_regimes_of_attention_meet_at_d_squared(family):
    assert crossover(theorems(family)[0]) == d**2


def test_crossover_of_standard_and_flash_attention():
    standard, flash = theorems("attention-forward")[1:3]

    # n d + n^2 = n^2 d^2 / M
    assert sympy.simplify(crossover(standard, flash) - n * d**2 / (n + d)) == 0


def test_a_scaled_bound_keeps_its_crossover():
    assert crossover(GRADIENT.scaled(7.5)) == d**2


def test_crossover_that_is_no_integer():
    assert crossover(bound(expression=sympy.Min(n / M, d))) == n / d


def test_crossover_needs_two_regimes_that_meet_once():
    with pytest.raises(SpecError, match=r"b has 1 regime\(s\)"):
        crossover(bound())
    with pytest.raises(SpecError, match=r"b has 3 regime\(s\)"):
        crossover(bound(expression=sympy.Min(n / M, d, k / M**2)))
    with pytest.raises(SpecError, match="meet at 0 values of M"):
        crossover(bound(expression=n / M), bound(expression=2 * n / M))


def test_regimes_of_the_gradient():
    small, large = regimes(GRADIENT)

    assert (small.name, large.name) == ("li24-gradient-small-cache", "li24-gradient-large-cache")
    assert sympy.simplify(small.expression - (n**2 * d + n * d**2) / sympy.sqrt(M)) == 0
    assert sympy.simplify(large.expression - (n**2 * d**2 + n * d**3) / M) == 0
    for memory, holds in ((16, (True, False)), (256, (True, True)), (1024, (False, True))):
        sizes = {"n": 64, "d": 16, "M": memory}
        assert (small.holds(**sizes), large.holds(**sizes)) == holds
        chosen = small if holds[0] else large
        assert chosen.evaluate(**sizes) == pytest.approx(GRADIENT.evaluate(**sizes), rel=1e-12)
    assert not large.holds(n=64, d=16, M=1025)


def test_the_package_imports_without_sympy():
    code = "import bounds, sys; assert 'sympy' not in sys.modules; bounds.Bound"

    subprocess.run([sys.executable, "-c", code], check=True)
