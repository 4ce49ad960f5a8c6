"""Partial computation (rules ``prbp``): moves by text, traces, explanations, numbers, counts."""

from __future__ import annotations

import numpy as np
import pytest

from graphs.registry import workload
from pebble.dag import Dag
from pebble.errors import GraphError, IllegalMoveError, InvalidMoveError, TraceError
from pebble.game import Game
from pebble.machine import evaluate, execute
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move, edge_of, partial_compute
from pebble.operations import ADD, DIV, EXP, INPUT, MAX, MUL, SUB
from pebble.partial import EVER, FAST, SLOW, check_size
from pebble.referee import Replay, referee
from pebble.rules import HK, PRBP, Rules
from pebble.trace import Header, read_trace, write_trace

SUM = Dag.from_predecessors([[], [], [], [0, 1, 2]], names=["x", "y z", "w", "s"], source="sum")
AGAIN = Rules(partial=True)


def packed(dag, texts):
    moves = [Move.parse(text, dag) for text in texts]
    return np.array([move.kind << 30 | move.vertex for move in moves], np.uint32)


PLAY = ["L x", "P x s", "D x", "L y z", "P y z s", "D y z", "L w", "P w s", "D w", "S s", "D s"]


def test_two_pebbles_sum_any_number():
    report = referee(SUM, packed(SUM, PLAY), 2, PRBP)
    assert (report.io, report.computes, report.peak_red, report.moves) == (4, 3, 2, 11)
    assert str(report.rules) == "prbp"


def test_moves_by_text():
    assert Move.parse("P x s", SUM) == Move.parse("p 0 3", SUM) == Move(COMPUTE, 4)
    assert partial_compute(SUM, 1, 3).named(SUM) == "P y z s"
    assert [edge_of(SUM, number) for number in (3, 4, 6, 7)] == [None, (0, 3), (2, 3), None]
    for text, words in [
        ("P x", "expected P, an operand and a vertex"),
        ("P s x", "s is no operand of x, whose operands are: none"),
        ("P q s", "unknown vertex 'q'"),
        ("P 0 9", "there is no vertex 9"),
    ]:
        with pytest.raises(InvalidMoveError, match=words):
            Move.parse(text, SUM)
    with pytest.raises(InvalidMoveError, match="give the graph"):
        Move.parse("P 0 3")


def test_the_usual_rules_know_no_edges():
    game = Game(SUM, 4)
    assert game.explain("P x s").rule == "vertex"
    with pytest.raises(IllegalMoveError, match="there is no such vertex"):
        referee(SUM, packed(SUM, PLAY), 4)
    with pytest.raises(InvalidMoveError, match="there is no vertex 4"):
        execute(workload("matmul:m=1,n=1,k=1").dag(), packed(SUM, ["L x", "P x s"]), [1, 2])


def test_plays_of_the_usual_game_are_plays_at_the_same_cost():
    from strategies.registry import strategy

    for text, name, memory in [
        ("fft:n=8", "belady", 4),
        ("attention-forward:n=4,d=2", "flash", 12),
    ]:
        what = workload(text)
        moves = list(strategy(name).moves(what, memory))
        usual = referee(what.dag(), moves, memory)
        for rules in (AGAIN, PRBP):
            report = referee(what.dag(), moves, memory, rules)
            assert (report.io, report.peak_red, report.computes) == (
                usual.io,
                usual.peak_red,
                usual.computes,
            )
            assert report.tensors == usual.tensors


@pytest.mark.parametrize(
    ("rules", "texts", "move", "words"),
    [
        (PRBP, [], "P x s", "needs x red; it is blue only: load it first"),
        (PRBP, ["L x", "P x s"], "P x s", "changes nothing: it has absorbed it already"),
        (PRBP, ["L x", "L w"], "P x s", "would make 3 red: delete one first"),
        (PRBP, ["L x", "P x s"], "C s", "it is red already: let it absorb the rest one by one"),
        (
            PRBP,
            ["L x", "P x s", "S s", "D s"],
            "P x s",
            "would start s anew; it is blue only: load it first",
        ),
        (PRBP, ["L x", "P x s", "D s"], "P x s", "what s had absorbed is lost, so store it"),
        (PRBP, ["L x", "P x s", "D s"], "C s", "has begun: it must absorb the rest"),
        (PRBP, ["L x", "P x s", "S s"], "S s", "changes nothing: it is blue already"),
        (AGAIN, ["L x", "P x s", "S s", "D s"], "P x s", None),
        (AGAIN, ["L x", "P x s", "D s"], "P x s", None),
        (
            Rules.parse("prbp+no-deletion"),
            ["L x", "P x s", "S s", "D x", "L w", "P w s"],
            "D s",
            "would lose its value",
        ),
    ],
)
def test_explanations(rules, texts, move, words):
    game = Game(SUM, 2, rules)
    for text in texts:
        game.push(text)
    told = game.explain(move)
    assert (told is None) == (words is None)
    if words is not None:
        assert words in str(told)
        replay = Replay(SUM, 2, rules)
        assert replay.advance(packed(SUM, [*texts, move])) == told


def test_a_value_that_is_not_whole_is_no_operand_and_no_result():
    dag = Dag.from_predecessors([[], [], [0, 1], [2]], names=list("xyst"))
    game = Game(dag, 3, PRBP)
    for text in ("L x", "P x s"):
        game.push(text)
    assert "needs s red and whole; it is red with 1 of 2 operands absorbed: let it absorb y" in str(
        game.explain("P s t")
    )
    half = Game(SUM, 2, PRBP)
    for text in [*PLAY[:2], "S s"]:
        half.push(text)
    assert not half.is_finished
    with pytest.raises(IllegalMoveError, match=r"not blue and whole; .* absorb the rest and store"):
        half.check_finished()
    with pytest.raises(IllegalMoveError, match="not blue and whole"):
        referee(SUM, packed(SUM, [*PLAY[:2], "S s"]), 2, PRBP)
    assert "(1 absorbed in fast memory, 1 absorbed in slow memory)" in str(half)


def test_an_old_aggregate_can_be_loaded_again_where_recomputation_is_allowed():
    texts = ["L x", "P x s", "S s", "D x", "L w", "P w s", "D s", "D w", "L s"]
    game = Game(SUM, 2, AGAIN)
    for text in texts:
        game.push(text)
    assert [sorted(game.absorbed(3, where)) for where in (FAST, SLOW, EVER)] == [[0], [0], [0, 2]]
    game.push("L w")
    game.push("P w s")
    assert game.recomputes == 1
    for _ in range(5):
        game.pop()
    assert sorted(game.absorbed(3, FAST)) == [0, 2]
    assert game.recomputes == 0


@pytest.mark.parametrize("suffix", [".txt", ".pbl"])
def test_traces(tmp_path, suffix):
    path, moves = tmp_path / f"play{suffix}", packed(SUM, PLAY)
    header = Header.of(SUM, 2, PRBP, "by-hand")
    write_trace(path, header, moves, graph=SUM)
    trace = read_trace(path)
    np.testing.assert_array_equal(trace.moves(SUM), moves)
    assert trace.header == header
    if suffix == ".txt":
        assert path.read_text().splitlines()[7:11] == ["L 0", "P 0 3", "D 0", "L 1"]
        with pytest.raises(TraceError, match="give the graph"):
            trace.moves()
        write_trace(path, header, moves, names=SUM)
        assert path.read_text().splitlines()[7:12] == ["L x", "P x s", "D x", "L y z", "P y z s"]
        np.testing.assert_array_equal(trace.moves(SUM), moves)
        write_trace(path, header, moves)
        assert path.read_text().splitlines()[8] == "C 4"
        np.testing.assert_array_equal(trace.moves(SUM), moves)


def test_numbers_are_those_of_the_operations():
    rows = [[], [], [0, 1], [2, 1], [3, 2], [4, 0], [5, 1], [6], [7, 0]]
    operations = [INPUT, INPUT, ADD, SUB, MUL, DIV, MAX, EXP, SUB]
    dag = Dag.from_predecessors(rows, operations=operations)
    inputs = [3.0, -2.0]
    texts = ["L 0", "L 1"]
    for v in range(2, 9):
        texts += [f"P {u} {v}" for u in reversed(rows[v])]  # the last operand first
    texts.append("S 8")
    moves = packed(dag, texts)
    referee(dag, moves, 9, PRBP)
    slow = execute(dag, moves, inputs, partial=True)
    assert slow[8] == pytest.approx(evaluate(dag, inputs)[8], rel=1e-14)
    squares = Dag.from_predecessors([[], [0], [0], [1, 2]], operations=[INPUT, MUL, DIV, SUB])
    texts = ["L 0", "P 0 1", "P 0 2", "P 1 3", "P 2 3", "S 3"]
    assert execute(squares, packed(squares, texts), [3], partial=True)[3] == 8.0


def test_numbers_of_a_play_that_uses_what_it_does_not_hold():
    dag = Dag.from_predecessors([[], [], [0, 1]], operations=[INPUT, INPUT, ADD])
    play = ["L 0", "P 0 2", "D 0", "L 1", "P 1 2", "S 2"]
    assert execute(dag, packed(dag, play), [3, 4], partial=True)[2] == 7
    for lost in (0, 3):
        texts = play[:lost] + play[lost + 1 :]
        assert np.isnan(execute(dag, packed(dag, texts), [3, 4], partial=True)[2])
    with pytest.raises(InvalidMoveError, match="step 1: there is no vertex"):
        execute(dag, np.array([COMPUTE << 30 | 99], np.uint32), [3, 4], partial=True)


def test_bounds_of_the_usual_game_are_not_claimed():
    from bounds.any_dag import bounds_of
    from bounds.certified import certified
    from lab.yardsticks import bounds_of as known

    what = workload("matmul:m=3,n=3,k=3")
    assert certified(what, 4, HK)
    assert certified(what, 4, PRBP) == []
    assert [bound.name for bound in bounds_of(what.dag(), 4, PRBP)] == ["compulsory"]
    assert [bound.name for bound in known(what, PRBP)] == ["compulsory"]
    assert "psy25-tree-partial" in [bound.name for bound in known(workload("tree:depth=3"), PRBP)]


def test_a_graph_with_too_many_edges_is_refused():
    class Many:
        predecessors = np.broadcast_to(np.uint32(0), (1 << 30,))

        def __len__(self):
            return 1

    with pytest.raises(GraphError, match="at most 1,073,741,824; this graph has 1,073,741,825"):
        check_size(Many())


def test_the_board_of_the_page_refuses():
    from lab.page.levels import level_of

    with pytest.raises(Exception, match="does not know partial computation") as caught:
        level_of(workload("pyramid:h=2"), 4, PRBP)
    assert type(caught.value).__name__ == "SpecError"


def test_moves_are_counted_by_kind():
    replay = Replay(SUM, 2, PRBP)
    replay.feed(packed(SUM, PLAY))
    kinds = [Move.parse(text, SUM).kind for text in PLAY]
    assert (replay.loads, replay.stores, replay.computes) == (
        kinds.count(LOAD),
        kinds.count(STORE),
        kinds.count(COMPUTE),
    )
    assert replay.step - replay.loads - replay.stores - replay.computes == kinds.count(DELETE)
