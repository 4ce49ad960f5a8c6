"""Ranges and lists of specs, as the command line's contract writes them."""

import re

import pytest

from lab.ranges import expand, read_number, read_range, split_specs
from pebble.errors import SpecError, UnknownNameError

SIZES = {"n": 64, "d": 16}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("64", [64]),
        ("64,128,256", [64, 128, 256]),
        (" 256 , 64,64 ", [64, 256]),
        ("16:8192:x2", [16 << i for i in range(10)]),
        ("16:8191:x2", [16 << i for i in range(9)]),
        ("64:512:+64", list(range(64, 513, 64))),
        ("3:6", [3, 4, 5, 6]),  # no rule: every integer
        ("0.25*d^2:4*d+2", [64, 65, 66]),
        ("64:500:+64", list(range(64, 500, 64))),
        ("1:3:x1.1", [1, 2, 3]),  # rounded, and each value once
        ("100:121:x1.1", [100, 110, 121]),  # 100 * 1.1 * 1.1 is 121, not a little more
        ("7:7:x2", [7]),
        ("1,4:16:x2,100", [1, 4, 8, 16, 100]),
        ("0.25*d^2", [64]),
        ("0.25*d^2:4*d^2:x2", [64, 128, 256, 512, 1024]),
        ("2*n*d,n", [64, 2048]),
        ("d:n:+d", [16, 32, 48, 64]),
        ("(n + d) / 3", [27]),
        ("n*d-1", [1023]),
    ],
)
def test_values(text, values):
    assert read_range(text, SIZES) == values


def test_the_demo_has_sixteen_budgets():
    values = read_range("16:8192:x1.5")

    assert values == [round(16 * 1.5**i) for i in range(16)]
    assert values[-1] == 7006


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "got nothing"),
        ("0", "must be a positive integer, got '0'"),
        ("-3", "must be a positive integer, got '-3'"),
        ("2.5", "must be a positive integer, got '2.5'"),
        ("many", "must be a positive integer"),
        ("64,", "nothing between two commas"),
        ("64:16", "starts above its end"),
        ("16:64:2", "expected FIRST:LAST (every integer), FIRST:LAST:xFACTOR or"),
        ("16:64:x2:x2", "expected FIRST:LAST"),
        ("64:16:x2", "write it ascending"),
        ("16:64:x1", "the factor must be above 1"),
        ("16:64:x0.5", "the factor must be above 1"),
        ("16:64:+0", "the step must be positive"),
        ("1:1000000000:+1", "more than 100,000 values"),
        ("0:8:x2", "must be a positive integer, got '0'"),
        ("((9^32)^32)^32", "too large"),
        ("2^99", "exponent"),
        ("1/0", "divides by zero"),
        ("__import__('os')", "must be a positive integer"),
    ],
)
def test_what_is_no_range_says_so(text, words):
    with pytest.raises(SpecError, match=re.escape(words)):
        read_range(text)


def test_an_unknown_size_is_named_beside_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown size in M = '4\*m': 'm'.*Known: d, n"):
        read_range("4*m", SIZES)


def test_a_formula_that_is_not_positive():
    with pytest.raises(SpecError, match="got 'd-n' = -48"):
        read_number("d-n", SIZES)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("naive", ["naive"]),
        ("naive,flash:rows=8,columns=4", ["naive", "flash:rows=8,columns=4"]),
        ("flash:rows=8,columns=4,naive", ["flash:rows=8,columns=4", "naive"]),
        ("flash:sizes=paper,saha-ye", ["flash:sizes=paper", "saha-ye"]),
        ("fft:n=8,pyramid:h=3", ["fft:n=8", "pyramid:h=3"]),
        ("a:n=64:1024:x2,d=16:32:x2,b:n=1,2", ["a:n=64:1024:x2,d=16:32:x2", "b:n=1,2"]),
        ("one.json,two.json", ["one.json", "two.json"]),
    ],
)
def test_split_specs(text, specs):
    assert split_specs(text) == specs


def test_split_specs_refuses_a_hole():
    with pytest.raises(SpecError, match="nothing between two commas"):
        split_specs("naive,,flash")


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("a:n=64,d=16", ["a:n=64,d=16"]),
        ("a:n=1:4:x2,d=3", ["a:n=1,d=3", "a:n=2,d=3", "a:n=4,d=3"]),
        ("a:n=1:2,5:6,d=3", ["a:n=1,d=3", "a:n=2,d=3", "a:n=5,d=3", "a:n=6,d=3"]),
        ("a:n=1,2,d=3,5", ["a:n=1,d=3", "a:n=1,d=5", "a:n=2,d=3", "a:n=2,d=5"]),
        ("a:n=2,sum=tree", ["a:n=2,sum=tree"]),
        ("a:n=2,mask=window-16", ["a:n=2,mask=window-16"]),
        ("folder/graph.json", ["folder/graph.json"]),
        ("pyramid", ["pyramid"]),
    ],
)
def test_expand(text, texts):
    assert expand(text) == texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a:n=1:4:2,d=3", "a: n: '1:4:2' is no range"),
        ("a:n=1,n=2", "n is given twice"),
        ("a:n=1,d", "expected key=value, got 'd'"),
        ("a:n=1:2000000:+1", "more than 100,000 values"),
    ],
)
def test_expand_explains(text, words):
    with pytest.raises(SpecError, match=words):
        expand(text)
