"""Rules as a value: text form, presets, what they say, the least memory they allow."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from pebble.dag import Dag
from pebble.errors import BudgetError, SpecError, UnknownNameError
from pebble.rules import GRAPHIO, HK, ONE_SHOT, PRBP, PRESETS, SLIDING, Rules
from tests.pebble.model import SWITCHES


def test_text_forms_read_back():
    texts = set()
    for bits in itertools.product([False, True], repeat=len(SWITCHES)):
        for price in (0, Fraction(1, 100)):
            rules = Rules(**dict(zip(SWITCHES, bits, strict=True)), compute_price=price)
            assert Rules.parse(str(rules)) == rules
            texts.add(str(rules))
    assert len(texts) == 2 ** (len(SWITCHES) + 1)


def test_presets_are_the_columns_of_the_table():
    """In this order: 2x2x2 product at M = 4 costs 17, 17, 14, 13, 12, 4, 8, 0."""
    assert list(PRESETS) == [
        "hk",
        "one-shot",
        "hk+sliding",
        "hk+unstored-outputs",
        "one-shot+free-inputs",
        "hk+free-inputs",
        "graphio",
        "hk+free-inputs+unstored-outputs",
        "prbp",
    ]
    for text, rules in PRESETS.items():
        assert Rules.parse(text) == rules
        assert str(rules) == text


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (" HK ", HK),
        ("hong-kung", HK),
        ("one_shot", ONE_SHOT),
        ("sliding", SLIDING),
        ("hk + sliding", SLIDING),
        ("graphio+sliding", Rules(True, True, True, True, True)),
        ("hk+compute-price=0.25", Rules(compute_price=Fraction(1, 4))),
        ("graphio+hk", GRAPHIO),
    ],
)
def test_other_spellings(text, rules):
    assert Rules.parse(text) == rules


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("slidng", UnknownNameError, "unknown rules 'slidng'; did you mean 'sliding'?"),
        ("", UnknownNameError, "unknown rules ''"),
        ("hk+", UnknownNameError, "Known: .*compute-price=NUMBER.*graphio.*hk"),
        ("hk+compute-price=-1", SpecError, "compute_price must be a number >= 0, got"),
        ("hk+compute-price=x", SpecError, "compute-price must be a number such as 1/100, got 'x'"),
        ("hk+compute-price=1/0", SpecError, "such as 1/100, got '1/0'"),
        ("hk+compute-price", UnknownNameError, "compute-price"),
        ("hk+sliding=yes", SpecError, "sliding takes no value"),
    ],
)
def test_texts_that_are_no_rules(text, error, words):
    with pytest.raises(error, match=words):
        Rules.parse(text)


def test_partial_computation_goes_with_neither_sliding_nor_a_price():
    assert PRBP == Rules(one_shot=True, partial=True) == Rules.parse("one-shot+partial")
    assert str(Rules.parse("prbp+free-inputs")) == "one-shot+free-inputs+partial"
    for text in ("prbp+sliding", "hk+partial+compute-price=1/2"):
        with pytest.raises(SpecError, match=r"does not go with (sliding|compute-price)"):
            Rules.parse(text)


def test_prices_that_are_no_numbers():
    for price in (-1, "x", None, float("nan"), float("inf")):
        with pytest.raises(SpecError, match="compute_price must be a number >= 0"):
            Rules(compute_price=price)
    assert Rules(compute_price=2).compute_price == Fraction(2)


def test_rules_are_told():
    assert len(HK.describe()) == 3
    assert Rules(**dict.fromkeys(SWITCHES, True), compute_price=1).describe() == [
        "a vertex is computed at most once",
        "inputs are computed from nothing",
        "outputs need only be computed",
        "every vertex must be computed",
        "a result may take the place of an operand",
        "a load takes the blue pebble away",
        "a red pebble is deleted only where a blue one remains",
        "a compute costs 1",
    ]


def test_least_memory():
    inner = Dag.from_predecessors([[], [0], [0, 1], [0, 1, 2]], outputs=[1])
    assert [r.least_memory(inner) for r in (HK, SLIDING, GRAPHIO, PRBP)] == [2, 1, 4, 2]
    assert [r.widest(inner) for r in (HK, SLIDING, GRAPHIO)] == [1, 1, 3]
    only_inputs = Dag.from_predecessors([[], []], outputs=[1])
    free = Rules(free_inputs=True)
    assert [r.least_memory(only_inputs) for r in (HK, free, GRAPHIO)] == [0, 1, 1]
    assert free.widest(only_inputs) == 1
    nothing = Dag.from_predecessors([[], []], outputs=[])
    assert [r.least_memory(nothing) for r in (HK, free, GRAPHIO)] == [0, 0, 1]
    constant = Dag.from_predecessors([[]], operations=[1])
    assert [r.least_memory(constant) for r in (HK, SLIDING, PRBP)] == [1, 1, 1]
    wide = Dag.from_predecessors([[], [], [], [0, 1, 2]])
    assert PRBP.check_memory(wide, 2) == 2
    with pytest.raises(BudgetError, match="operands one by one, each with the result") as caught:
        PRBP.check_memory(wide, 1)
    assert caught.value.least == 2
