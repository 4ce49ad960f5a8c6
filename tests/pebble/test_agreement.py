"""Game, referee and the set model say the same of every play, legal or not, under all rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pebble.dag import Dag
from pebble.errors import BudgetError, IllegalMoveError
from pebble.game import Game
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move
from pebble.referee import Replay, referee
from pebble.rules import GRAPHIO, HK, ONE_SHOT, PRBP, Rules
from tests.pebble.model import FFT2, PYRAMID2, S5, SOME_RULES, careful_play, dags, model_of, wander


def packed(moves):
    return np.array([(kind << 30) | v for kind, v in moves], np.uint32)


def replayed(dag, M, rules, moves, cuts=()):
    """The replay after a play fed in pieces, and what it refused."""
    replay, refusal = Replay(dag, M, rules), None
    for piece in np.split(packed(moves), sorted(cuts)):
        refusal = replay.advance(piece)
        if refusal is not None:
            break
    return replay, refusal


def check(dag: Dag, M: int, rules: Rules, moves, cuts=()) -> None:
    made, state, counts = model_of(dag, M, rules).judge(moves)
    replay, refusal = replayed(dag, M, rules, moves, cuts)
    game = Game(dag, M, rules)
    for kind, v in moves[:made]:
        assert Move(kind, v) in game.legal_moves
        game.push(Move(kind, v))
    finished = model_of(dag, M, rules).is_finished(state)

    assert replay.step == game.step == made
    for name, count in counts.items():
        assert getattr(replay, name) == getattr(game, name) == count, name
    assert game.red == state.red
    assert game.blue == state.blue
    for v in range(len(dag)):
        assert replay.is_red(v) == (v in state.red)
        assert replay.is_blue(v) == (v in state.blue)
        assert replay.is_computed(v) == game.is_computed(v) == (v in state.done)
    assert game.is_finished == (replay.unfinished() is None) == finished

    if made < len(moves):
        said = game.explain(Move(*moves[made]))
        assert said is not None
        assert said == refusal
        assert (said.step, said.move) == (made + 1, Move(*moves[made]))
        with pytest.raises(IllegalMoveError) as caught:
            referee(dag, packed(moves), M, rules)
        assert (str(caught.value), caught.value.step) == (str(said), made + 1)
    elif finished:
        report = referee(dag, packed(moves), M, rules)
        assert report == game.report()
        assert (report.moves, report.io) == (made, counts["loads"] + counts["stores"])
        assert sum(t.loads for t in report.tensors.values()) == counts["loads"]
        assert report.cost == report.io + rules.compute_price * report.computes
    else:
        with pytest.raises(IllegalMoveError) as caught:
            referee(dag, packed(moves), M, rules)
        assert (caught.value.rule, caught.value.step) == ("end", made)
        with pytest.raises(IllegalMoveError) as told:
            game.check_finished()
        assert str(caught.value) == str(told.value)


@given(
    dags(),
    st.sampled_from(SOME_RULES),
    st.integers(0, 2),
    st.integers(0, 10**9),
    st.sampled_from([0.0, 0.02, 0.2]),
    st.lists(st.integers(0, 40), max_size=3),
)
@settings(max_examples=300)
def test_random_plays(dag, rules, spare, seed, wild, cuts):
    M = max(1, rules.least_memory(dag)) + spare
    check(dag, M, rules, wander(model_of(dag, M, rules), 40, seed, wild), cuts)


@given(dags(5), st.sampled_from(SOME_RULES))
@settings(max_examples=150)
def test_the_least_memory_is_enough_and_no_less_is(dag, rules):
    """Enough for a play of what is needed; with one less, no position reached is an end."""
    least = rules.least_memory(dag)
    wanted = range(len(dag)) if rules.complete else dag.needed.nonzero()[0].tolist()
    moves = careful_play(dag, rules, set(wanted))
    made, state, _ = model_of(dag, max(1, least), rules).judge(moves)
    assert made == len(moves)
    assert model_of(dag, max(1, least), rules).is_finished(state)
    check(dag, max(1, least), rules, moves)
    if least > 1:
        assert not model_of(dag, least - 1, rules).can_finish()
        with pytest.raises(BudgetError) as caught:
            Game(dag, least - 1, rules)
        assert caught.value.least == least
        assert f"COMPUTE {rules.widest(dag)} needs" in str(caught.value)


def altered():
    """Graphs and rules; a partial compute names an edge, so that those plays are altered longer."""
    for rules in SOME_RULES:
        marks = [pytest.mark.slow] if rules.partial and rules != PRBP else []
        yield pytest.param(S5, rules, marks=marks, id=str(rules))
    yield from ((FFT2, HK), (FFT2, GRAPHIO))


@pytest.mark.parametrize(("dag", "rules"), list(altered()))
def test_every_single_alteration_of_a_play(dag, rules):
    """Each move replaced by every other, deleted, doubled by every other, swapped with the next."""
    M = rules.least_memory(dag)
    play = careful_play(dag, rules, range(len(dag)))
    assert model_of(dag, M, rules).judge(play)[0] == len(play)
    others = list(itertools.product(range(4), range(len(model_of(dag, M, rules).numbers) + 1)))
    altered = [play[:i] + play[i + 1 :] for i in range(len(play))]
    altered += [[*play[:i], *play[i : i + 2][::-1], *play[i + 2 :]] for i in range(len(play))]
    for i, move in itertools.product(range(len(play) + 1), others):
        altered += [[*play[:i], move, *play[i + 1 :]], [*play[:i], move, *play[i:]]]
    model = model_of(dag, M, rules)
    verdicts = set()
    for moves in altered:
        made, state, counts = model.judge(moves)
        replay, refusal = replayed(dag, M, rules, moves)
        assert (replay.step, refusal is None) == (made, made == len(moves)), moves
        assert (replay.unfinished() is None) == model.is_finished(state)
        assert all(getattr(replay, name) == count for name, count in counts.items())
        verdicts.add((refusal.rule if refusal else "", replay.unfinished() is None))
    assert len(verdicts) >= 6  # the alterations break many rules, and some stay legal


def test_alterations_of_a_whole_play_with_game():
    play = careful_play(PYRAMID2, HK, range(6))
    for i in range(len(play)):
        for move in itertools.product(range(4), range(len(PYRAMID2))):
            check(PYRAMID2, 3, HK, [*play[:i], move, *play[i + 1 :]])


@pytest.mark.parametrize("rules", SOME_RULES, ids=str)
def test_number_of_legal_sequences(rules):
    """Perft: Game's legal moves, pushed and popped, against the model's positions."""
    dag, depth = FFT2, 4
    M = rules.least_memory(dag)
    model, game = model_of(dag, M, rules), Game(dag, M, rules)

    def by_model(state, left):
        if not left:
            return 1
        return sum(by_model(after, left - 1) for _, _, after in model.moves(state))

    def by_game(left):
        moves = list(game.legal_moves)
        assert len(moves) == len(game.legal_moves)
        if left == 1:
            return len(moves)
        total = 0
        for move in moves:
            before = str(game), game.peak_red
            game.push(move)
            total += by_game(left - 1)
            assert game.pop() == move
            assert (str(game), game.peak_red) == before
        return total

    assert by_game(depth) == by_model(model.start, depth)


def test_number_of_legal_sequences_by_hand():
    # One input, one result. L; then D, C; then L or L's undoing; or after C: S, D 0, D 1.
    dag = Dag.from_predecessors([[], [0]])
    game = Game(dag, 2)
    assert [str(m) for m in game.legal_moves] == ["L 0"]
    game.push("L 0")
    assert [str(m) for m in game.legal_moves] == ["C 1", "D 0"]
    game.push("C 1")
    assert [str(m) for m in game.legal_moves] == ["S 1", "D 0", "D 1"]


@pytest.mark.parametrize(
    ("dag", "M", "rules", "least"),
    [
        (S5, 3, HK, 2),
        (S5, 3, ONE_SHOT, 4),
        (FFT2, 3, HK, 4),
        (FFT2, 2, Rules(sliding=True), 5),
        (PYRAMID2, 3, HK, 6),
        (PYRAMID2, 3, ONE_SHOT, 6),
        (PYRAMID2, 4, HK, 4),
        (FFT2, 3, GRAPHIO, 0),
        (FFT2, 3, PRBP, 4),
        (FFT2, 2, PRBP, 5),
    ],
    ids=lambda x: str(x) if not isinstance(x, Dag) else repr(x),
)
def test_known_optima(dag, M, rules, least):
    assert model_of(dag, M, rules).optimum() == least


def test_the_play_that_recomputation_saves():
    """S5 with two I/Os: 1 is computed again instead of being stored and loaded."""
    C, D, L, S = COMPUTE, DELETE, LOAD, STORE
    play = [(L, 0), (C, 1), (C, 2), (D, 1), (C, 3), (D, 2), (C, 1), (D, 0), (C, 4), (S, 4)]
    report = referee(S5, packed(play), 3)
    assert (report.io, report.recomputes, report.peak_red) == (2, 1, 3)
    with pytest.raises(IllegalMoveError, match=r"step 7: COMPUTE 1 would compute it a second time"):
        referee(S5, packed(play), 3, ONE_SHOT)
