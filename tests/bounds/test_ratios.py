"""Ratios of closed forms to bounds: a number where a schedule is optimal, else what grows."""

import pytest
import sympy

from bounds.bound import M, d, n
from bounds.ratios import LARGE_CACHE, SMALL_CACHE, leading, ratio
from bounds.theorems import all_theorems
from graphs.registry import workload
from pebble.errors import SpecError
from strategies.registry import strategy

BY_NAME = {bound.name: bound for bound in all_theorems()}


@pytest.mark.parametrize(
    ("family", "how", "bound", "expected"),
    [
        ("attention-forward", "q-outer", "certified-forward", 1),
        ("attention-forward", "flash", "certified-forward", sympy.Rational(3, 2)),
        ("attention-backward", "split", "certified-backward", 1),
        ("attention-backward", "flash2", "certified-backward", sympy.Rational(8, 7)),
    ],
)
def test_headlines_in_large_cache(family, how, bound, expected):
    form = strategy(how).closed_form(workload(f"{family}:n=64,d=8"))

    assert ratio(form.leading["d^2 << M << n d"], BY_NAME[bound], LARGE_CACHE) == expected


def test_flash_attention_is_not_optimal_in_small_cache():
    flash = BY_NAME["dao22-flash-forward"].expression

    assert ratio(flash, BY_NAME["sy24-forward"], SMALL_CACHE) == d / sympy.sqrt(M)
    assert ratio(flash, BY_NAME["sy24-forward"], LARGE_CACHE) == 1
    gradient = (n**2 * d**2 + n * d**3) / M
    assert ratio(gradient, BY_NAME["li24-gradient"], SMALL_CACHE) == d / sympy.sqrt(M)


def test_two_pass_costs_a_quarter_more():
    assert leading(BY_NAME["certified-two-pass"].expression) == 5 * n**2 * d**2 / M


def test_what_has_no_order_is_refused():
    with pytest.raises(SpecError, match="has no order of growth"):
        leading(sympy.Symbol("x") * n)
    with pytest.raises(SpecError, match="is no sum"):
        leading(sympy.log(n))
