"""Moves, specs, tensors and errors: what they print they read."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pebble import errors, spec
from pebble.dag import Dag
from pebble.errors import GraphError, InvalidMoveError, SpecError, UnknownNameError
from pebble.moves import MAX_VERTICES, Move, pack, unpack
from pebble.tensor import contiguous, split_name


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, MAX_VERTICES - 1)), max_size=20))
def test_moves_pack_and_print(pairs):
    array = np.array([pack(kind, v) for kind, v in pairs], np.uint32)
    kinds, vertices = unpack(array)
    assert list(zip(kinds.tolist(), vertices.tolist(), strict=True)) == pairs
    assert [Move.parse(str(Move(*pair))) for pair in pairs] == [Move(*pair) for pair in pairs]


@pytest.mark.parametrize(
    "text", ["", "L", "17", "L -1", "L 1.5", "L 1 2", "M 3", "LS 3", f"L {MAX_VERTICES}", "L ²"]
)
def test_texts_that_are_no_moves(text):
    with pytest.raises(InvalidMoveError):
        Move.parse(text)
    with pytest.raises(InvalidMoveError):
        Move.parse(text, Dag.from_predecessors([[], [0]], names=["x", "y"]))


def test_moves_in_words():
    assert Move.parse(" compute  3 ") == Move(2, 3)
    assert Move.parse("delete 0") == Move(3, 0)
    assert sorted([Move(1, 0), Move(0, 5)]) == [Move(0, 5), Move(1, 0)]


@dataclass(frozen=True)
class Toy(spec.Spec):
    name: ClassVar[str] = "toy"
    aliases: ClassVar[tuple[str, ...]] = ("t",)
    n: int
    rows: int | None = None
    sum: Literal["chain", "tree"] = "chain"


TOYS: spec.Registry[Toy] = spec.Registry("toy")
TOYS.register(Toy)


@pytest.mark.parametrize("text", ["toy:n=3", "toy:n=3,rows=2", "toy:n=3,rows=2,sum=tree"])
def test_specs_read_what_they_print(text):
    assert str(TOYS.read(text)) == text
    assert TOYS.read(text.replace("toy", "T")) == TOYS.read(text)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", SpecError, "is no spec: expected NAME or NAME:key=value"),
        ("toy:", SpecError, "is no spec"),
        ("toy:n", SpecError, "expected key=value, got 'n'"),
        ("toy:n=1,n=2", SpecError, "n is given twice"),
        ("toy", SpecError, "toy needs n=: write toy:n=,sum=chain"),
        ("toy:n=0", SpecError, "toy: n must be a positive integer, got '0'"),
        ("toy:n=-1", SpecError, "toy: n must be a positive integer, got '-1'"),
        ("toy:n=1.5", SpecError, "toy: n must be a positive integer, got '1.5'"),
        ("toy:n=1,rows=x", SpecError, "toy: rows must be a positive integer, got 'x'"),
        ("toy:n=1,sum=trees", SpecError, "toy: sum must be one of chain, tree; got 'trees'"),
        ("toy:m=1", SpecError, "toy: unknown option 'm'"),
        ("tot:n=1", UnknownNameError, "unknown toy 'tot'; did you mean"),
    ],
)
def test_specs_that_do_not_read(text, error, words):
    with pytest.raises(error, match=words):
        TOYS.read(text)


def test_specs_made_in_python_are_checked_too():
    for bad in (0, -1, 1.0, "1", True, None):
        with pytest.raises(SpecError, match="toy: n must be a positive integer"):
            Toy(bad)
    with pytest.raises(SpecError, match="already taken"):
        TOYS.register(type("Other", (Toy,), {}))


def test_tensors():
    tensor = contiguous("S.sum", 10, (2, 3, 4), (0, 0, 1))
    assert (len(tensor), tensor.strides) == (24, (12, 4, 1))
    for v in range(10, 34):
        assert tensor.vertex(tensor.index(v)) == v
        assert split_name(tensor.label(v)) == ("S.sum", tensor.index(v))
    assert tensor.label(33) == "S.sum[1,2,4]"
    with pytest.raises(GraphError, match=r"S.sum\[1,2,5\] does not exist: .*0..1,0..2,1..4"):
        tensor.vertex((1, 2, 5))
    assert split_name("l") == ("l", ())
    assert split_name("S[1") is None
    assert split_name("S[x]") is None


@pytest.mark.parametrize(
    "error",
    [
        errors.BudgetError("M=1 is too small", 3),
        errors.IllegalMoveError("no", step=3, move=Move(1, 2), rule="store", vertex=2),
        errors.unknown("toy", "tot", ["toy"]),
        errors.TraceError("damaged"),
    ],
)
def test_errors_survive_the_way_to_another_process(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__
    assert isinstance(copy, errors.PebbleError)
