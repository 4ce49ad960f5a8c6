"""Game: what it says, shows and takes back."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pebble.dag import Dag
from pebble.errors import BudgetError, IllegalMoveError, InvalidMoveError
from pebble.game import Game
from pebble.moves import LOAD, Move
from pebble.rules import GRAPHIO, HK, ONE_SHOT, SLIDING, Rules
from tests.pebble.model import S5, Model, dags, wander

XYZ = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"])
#: Three operands for w, so that several can be missing.
WIDE = Dag.from_predecessors(
    [[], [], [], [], [0], [0, 1, 2, 3, 4]], names=["a", "b", "c", "d", "e", "w"]
)


def game(dag=XYZ, M=3, rules=HK, moves=""):
    made = Game(dag, M, rules)
    for move in filter(None, moves.split(", ")):
        made.push(move)
    return made


@pytest.mark.parametrize(
    ("moves", "move", "rules", "text"),
    [
        ("L x", "C z", HK, "COMPUTE z needs y red; it is blue only: load it first (M=3, 1 red)"),
        ("L x", "L x", HK, "LOAD x changes nothing: it is red already (M=3, 1 red)"),
        ("", "L z", HK, "LOAD z needs it blue; it has no pebble: compute it (M=3, 0 red)"),
        ("", "S z", HK, "STORE z needs it red; it has no pebble: compute it first (M=3, 0 red)"),
        ("", "S x", HK, "STORE x needs it red; it is blue only: load it first (M=3, 0 red)"),
        ("L x", "S x", HK, "STORE x changes nothing: it is blue already (M=3, 1 red)"),
        (
            "",
            "D x",
            HK,
            "DELETE x needs it red; it is blue only: there is nothing to delete (M=3, 0 red)",
        ),
        (
            "",
            "C x",
            HK,
            "COMPUTE x is not allowed: it is an input, which cannot be computed; load it "
            "(M=3, 0 red)",
        ),
        (
            "L x, L y, C z",
            "C z",
            HK,
            "COMPUTE z changes nothing: it is red already (M=3, 3 red)",
        ),
        (
            "L x, L y, C z, D z",
            "C z",
            ONE_SHOT,
            "COMPUTE z would compute it a second time, which rules one-shot forbid: store it "
            "before deleting it (M=3, 2 red)",
        ),
        (
            "L x, L y, C z, S z, D z",
            "C z",
            ONE_SHOT,
            "COMPUTE z would compute it a second time, which rules one-shot forbid: load it "
            "(M=3, 2 red)",
        ),
        (
            "L x, L y, C z, D z",
            "L z",
            ONE_SHOT,
            "LOAD z needs it blue; it has no pebble: its value is lost, so store it before "
            "deleting it (M=3, 2 red)",
        ),
        (
            "L x, L y, C z",
            "D z",
            Rules(no_deletion=True),
            "DELETE z would lose its value, which rules hk+no-deletion forbid: store it first "
            "(M=3, 3 red)",
        ),
        (
            "L x, D x",
            "L x",
            Rules(moving_loads=True),
            "LOAD x needs it blue; it has no pebble: its value is lost, so store it before "
            "deleting it (M=3, 0 red)",
        ),
        (
            "",
            "L x",
            Rules(free_inputs=True),
            "LOAD x needs it blue; it has no pebble: compute it (M=3, 0 red)",
        ),
    ],
)
def test_explanations(moves, move, rules, text):
    position = game(moves=moves, rules=rules)
    said = position.explain(move)
    assert str(said) == f"step {position.step + 1}: {text}"
    with pytest.raises(IllegalMoveError) as caught:
        position.push(move)
    assert str(caught.value) == str(said)
    assert (caught.value.move, caught.value.step) == (said.move, position.step + 1)
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(copy), copy.rule, copy.missing) == (str(said), said.rule, said.missing)


def test_explanation_of_a_full_memory():
    position = game(WIDE, 6, moves="L a, L b, L c, L d, C e, C w")
    position.pop()
    for v in ("w",):
        assert position.explain(f"C {v}") is None
    position.push("C w")
    position.push("D a")
    position.push("L a")
    position.push("D b")
    position.push("S w")
    position.push("L b")
    assert str(position.explain("D e")) == "None"
    full = game(S5, 3, moves="L 0, C 1, C 2")
    assert str(full.explain("C 4")) == (
        "step 4: COMPUTE 4 needs 3 red; it has no pebble: compute it first (M=3, 3 red)"
    )
    said = full.explain("C 3")
    assert str(said) == "step 4: COMPUTE 3 would make 4 red: delete one first (M=3, 3 red)"
    assert said.rule == "budget"


def test_explanation_of_many_missing_operands():
    said = game(WIDE, 6, moves="L c").explain("C w")
    assert str(said) == (
        "step 2: COMPUTE w needs 4 operands red that are not: a, it is blue only: load it first; "
        "b, it is blue only: load it first; d, it is blue only: load it first; and 1 more "
        "(M=6, 1 red)"
    )
    assert said.missing == (0, 1, 3, 4)


def test_a_vertex_that_does_not_exist():
    position = game()
    text = "step 1: LOAD 7: there is no such vertex; vertices are 0 to 2 (M=3, 0 red)"
    assert str(position.explain(Move(LOAD, 7))) == text
    assert position.explain(Move(LOAD, 7)).rule == "vertex"
    with pytest.raises(InvalidMoveError, match="there is no vertex 7; vertices are 0 to 2"):
        position.push("L 7")
    with pytest.raises(InvalidMoveError, match="unknown vertex 'q'"):
        position.push("L q")
    assert position.step == 0


def test_sliding():
    position = game(M=2, rules=SLIDING, moves="L x, L y, C z")
    assert (position.overfull, position.red_count, position.peak_red) == (2, 3, 2)
    assert [str(move) for move in position.legal_moves] == ["D 0", "D 1"]
    assert not position.is_finished
    assert str(position.explain("S z")) == (
        "step 4: STORE z is too early: COMPUTE z made one red too many, so this step must delete "
        "one of its operands: x, y (M=2, 3 red)"
    )
    with pytest.raises(IllegalMoveError, match="with 3 red and M=2: delete an operand of z, one"):
        position.check_finished()
    position.push("D x")
    position.push("S z")
    assert position.is_finished
    assert position.pop() == Move(1, 2)
    position.pop()
    assert position.overfull == 2


@pytest.mark.parametrize(
    ("moves", "rules", "text"),
    [
        ("", HK, "the play ends before its first move with output z not blue; it has no pebble"),
        ("L x, L y, C z", HK, "the play ends after 3 moves with output z not blue; it is red only"),
        ("L x", Rules(unstored_outputs=True), "after 1 moves with output z not computed: compute"),
        ("C x", GRAPHIO, "with vertex y not computed: compute it (and 1 more)"),
    ],
)
def test_a_play_that_ends_too_early(moves, rules, text):
    position = game(moves=moves, rules=rules)
    with pytest.raises(IllegalMoveError) as caught:
        position.report()
    assert text in str(caught.value)
    assert (caught.value.rule, caught.value.move) == ("end", None)
    assert caught.value.missing[0] == caught.value.vertex


@pytest.mark.parametrize("M", [0, -1, 2.5, "3", None, True])
def test_memory_that_is_no_positive_integer(M):
    with pytest.raises(BudgetError) as caught:
        Game(XYZ, M)
    assert str(caught.value) == f"M must be a positive integer, got {M!r}; this DAG needs M >= 3"
    assert caught.value.least == 3


def test_memory_that_is_too_small():
    with pytest.raises(BudgetError) as caught:
        Game(WIDE, 5)
    assert str(caught.value) == (
        "M=5 is too small: COMPUTE w needs its 5 operands and the result red at once, so play "
        "with M >= 6 (rules hk)"
    )
    assert caught.value.least == 6
    with pytest.raises(BudgetError, match=r"\(the result may take the place of one\) .* M >= 5"):
        Game(WIDE, 4, SLIDING)
    assert Game(WIDE, 10**30).memory == 10**30


def test_board_and_views():
    position = game(moves="L x, L y, C z, D x")
    assert str(position) == (
        "after 4 moves: M=3, 2 red, 2 loads, 0 stores, 1 computes, rules hk\n"
        "  .B  x (vertex 0): input\n"
        "  RB  y (vertex 1): input\n"
        "  R.  z (vertex 2) = apply(x, y), output"
    )
    red = position.red
    assert (repr(red), repr(position.blue)) == ("{1, 2}", "{0, 1}")
    position.push("S z")
    position.push("D z")
    assert red == {1}, "the view is live"
    assert red | {5} == {1, 5}
    assert (position.is_finished, position.M, position.cost) == (True, 3, 3)
    assert [str(move) for move in position.moves[:2]] == ["L 0", "L 1"]
    assert "L x" in position.legal_moves
    assert "L y" not in position.legal_moves
    assert 5 not in position.legal_moves
    assert repr(position.legal_moves) == "<LegalMoves: L x, L z, D y>"
    with pytest.raises(AttributeError):
        red.add(3)


def test_board_of_a_large_dag_shows_what_is_red():
    chain = Dag.from_predecessors([[], *([v] for v in range(99))])
    text = str(game(chain, 2, moves="L 0, C 1"))
    assert text.splitlines()[1:] == [
        "100 vertices; those that are red:",
        "  RB  0: input",
        "  R.  1 = apply(0)",
    ]


def test_nothing_to_take_back():
    with pytest.raises(IndexError, match="no move"):
        game().pop()


def test_a_price_on_computes():
    position = game(rules=Rules.parse("hk+compute-price=1/4"), moves="L x, L y, C z, S z")
    assert position.cost == 3 + position.rules.compute_price
    assert position.report().to_json()["cost"] == "13/4"


@given(dags(), st.integers(0, 10**9))
def test_taking_everything_back_leads_to_the_start(dag, seed):
    M = max(1, HK.least_memory(dag)) + 1
    position = Game(dag, M)
    start = str(position)
    moves = wander(Model(dag, M, HK), 30, seed, 0.0)
    for kind, v in moves:
        position.push(Move(kind, v))
    assert [position.pop() for _ in moves] == [Move(*move) for move in reversed(moves)]
    assert (str(position), position.peak_red, position.step) == (start, 0, 0)
