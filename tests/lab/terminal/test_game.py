"""The game in a terminal, line by line, through a pipe and through a terminal of its own."""

import dataclasses
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from graphs.registry import workload
from lab.cli import main
from lab.page.levels import find_level, lessons, split_moves
from lab.page.pars import Par, par_of, solved
from lab.playing import check
from lab.terminal.advice import advise, first_costly
from lab.terminal.board import Board, handles
from lab.terminal.session import Session
from pebble.dag import Dag
from pebble.game import Game
from pebble.rules import Rules


def game(text, *arguments, code=0):
    done = CliRunner().invoke(main, ["game", *map(str, arguments)], input=text)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def session():
    level = find_level("pyramid")
    return Session(level, par_of(level), Board(level.dag))


# -- advice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", lessons(), ids=lambda level: level.name)
def test_advice_leads_to_par_from_the_start(level):
    game = Game(level.dag, level.memory, level.rules)
    for move in advise(game).moves:
        game.push(move)
    assert (game.is_finished, game.io) == (True, level.par)


@pytest.mark.parametrize("rules", ["hk", "one-shot"])
def test_advice_is_the_least_by_trying_everything(rules):
    # Uniform-cost search over single moves of Game itself: slow, and without any thought.
    dag = Dag.from_predecessors([[], [0], [0, 1], [0, 2], [1, 3]])
    game = Game(dag, 3, Rules.parse(rules))
    for text in ("L 0", "C 1", "S 1", "D 1"):
        game.push(text)

    def least():
        layer, seen, cost = [game.moves], set(), 0
        while True:
            later = []
            while layer:
                moves = layer.pop()
                here = Game(dag, 3, game.rules)
                for move in moves:
                    here.push(move)
                done = tuple(here.is_computed(v) for v in range(5)) if rules != "hk" else ()
                key = (*here.red, -1, *here.blue, -1, *done)
                if key in seen:
                    continue
                seen.add(key)
                if here.is_finished:
                    return cost
                for move in here.legal_moves:
                    (later if move.kind < 2 else layer).append((*moves, move))
            layer, cost = later, cost + 1

    assert advise(game).io == least()


def test_a_lost_value_is_seen():
    dag = Dag.from_predecessors([[], [0], [1]])
    game = Game(dag, 2, Rules.parse("one-shot"))
    for text in ("L 0", "C 1", "D 1"):
        game.push(text)
    found = advise(game)
    assert (found.io, found.is_lost) == (None, True)
    assert "a value is lost" in found.reason


def test_advice_says_what_it_cannot():
    assert (
        "not hk+sliding" in advise(Game(find_level("grid").dag, 3, Rules.parse("sliding"))).reason
    )
    assert "at most 60" in advise(Game(workload("fft:n=16").dag(), 3)).reason


def test_first_costly_move_agrees_with_every_prefix():
    level = find_level("pyramid")
    game = Game(level.dag, level.memory)
    for move in split_moves("L 0,L 1,C 4,S 4,D 0,D 4,L 2,C 5,L 4,D 1,C 7,D 4,L 3,D 5,C 6"):
        game.push(move)
    step, _ = first_costly(game, level.par)
    within = []
    for length in range(game.step + 1):
        here = Game(level.dag, level.memory)
        for move in game.moves[:length]:
            here.push(move)
        found = advise(here)
        within.append(here.io + found.io <= level.par)
    assert within == [True] * step + [False] * (game.step + 1 - step)


# -- par -------------------------------------------------------------------------------------------


def test_par_is_searched_for():
    level = find_level("pyramid")
    assert par_of(level).is_exact
    plain = Session(level, Par(6), Board(level.dag))
    assert "lower bound 6" in plain.status()
    from lab.page.levels import level_of

    found = solved(level_of(workload("pyramid:h=4"), 4))
    assert found.par == 10  # of the table of optima in tests/data
    assert len(found.certificate) > 10


# -- boards ----------------------------------------------------------------------------------------


def test_a_board_shows_pebbles_by_brackets(session):
    for line in ("l a", "l b", "c 1.0", "s 1.0", "d a"):
        session.answer(line)
    text = session.position()
    assert re.search(r"\[a\] +\[\(b\)\] +\[c\] +\[d\]", text)
    assert "[(1.0)]" in text
    assert ":3.0:" in text  # the goal


def test_boards_fit_or_are_listed():
    dag = workload("attention-forward:n=2,d=1").dag()
    wide, narrow = Board(dag, 120), Board(dag, 40)
    assert (wide.is_drawn, narrow.is_drawn) == (True, False)
    game = Game(dag, 8)
    assert max(map(len, wide.text(game).splitlines())) <= 120
    assert "O[1,0] (vertex 23) = div(U[1,0], l[1]), output" in narrow.text(game)


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("level", lessons(), ids=lambda level: level.name)
def test_every_lesson_has_a_board(level, unicode):
    board = Board(level.dag, 130, unicode=unicode)
    text = board.text(Game(level.dag, level.memory))
    assert board.is_drawn
    for v in range(len(level.dag)):
        assert board.handles[v] in text


def test_a_large_board_is_summed_up():
    dag = workload("attention-forward:n=8,d=4").dag()
    game = Game(dag, 20)
    game.push("L Q[0,0]")
    text = Board(dag).text(game)
    assert re.search(r"Q +32 +32 +1\n", text)
    assert "red: Q[0,0]" in text
    assert text.count("\n") < 20
    tall = workload("pyramid:h=100").dag()
    text = Board(tall).text(Game(tall, 3))
    assert "... 77 more tensors" in text
    assert text.count("\n") < 30


def test_handles_are_unambiguous():
    for level in lessons():
        short = handles(level.dag)
        assert len(set(short)) == len(level.dag)
        for v, text in enumerate(short):
            assert not text.isdigit() or int(text) == v


def test_plain_characters_where_the_terminal_has_no_others(session):
    text = Board(session.level.dag, unicode=False).text(session.game)
    assert text.isascii()
    assert "/" in text


# -- lines -----------------------------------------------------------------------------------------


def test_moves_by_label_name_and_number(session):
    for line in ("l a", "LOAD row0[1]", "load 2"):
        assert session.answer(line).moved
    assert list(session.game.red) == [0, 1, 2]


def test_illegal_moves_are_explained_in_the_games_words(session):
    answer = session.answer("c 3.0")
    assert str(session.game.explain("C row3[0]")) in answer.text
    assert "row3[0] is 3.0" in answer.text
    assert not answer.moved


def test_undo_redo_restart(session):
    session.answer("l a, l b, c 1.0")
    assert "took back 2 moves" in session.answer("undo 2").text
    assert session.game.step == 1
    session.answer("redo")
    assert session.game.step == 2
    session.answer("restart")
    session.answer("redo 99")
    assert (session.game.step, session.answer("redo").moved) == (3, False)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("xyzzy", "unknown command 'xyzzy'"),
        ("udno", "did you mean 'undo'"),
        ("l", "needs a vertex"),
        ("l nosuch", "there is no vertex|unknown vertex"),
        ("undo x", "expected a number"),
        ("undo", "no move to take back"),
        ("save", "save where"),
        ("save /nosuch/folder/x.txt", "/nosuch/folder"),
        ("save x.doc", "named .txt"),
        ("why", "finish first"),
        ("l \x1b[31m", "vertex"),
        ("?", "costs 1"),
        ("", ""),
    ],
)
def test_what_cannot_be_done_is_answered(session, line, words):
    answer = session.answer(line)
    assert re.search(words, answer.text)
    assert (answer.moved, session.game.step) == (False, 0)


def test_saving_never_overwrites_a_file_of_others(session, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    session.answer("l a")
    assert "is there already" in session.answer(f"save {tmp_path / 'mine.txt'}").text
    assert (tmp_path / "mine.txt").read_text() == "precious"
    own = tmp_path / "own"
    assert "wrote" in session.answer(f"save {own}").text
    session.answer("l b")
    assert not session.is_saved
    assert "(2 moves)" in session.answer(f"save {own}.txt").text


def test_partial_computation():
    level = find_level("first-steps")
    level = dataclasses.replace(level, rules=Rules.parse("prbp"), par=None, certificate=())
    session = Session(level, Par(3), Board(level.dag))
    for line in ("l x", "p x z", "d x", "l y"):
        assert session.answer(line).moved, line
    assert "PARTIAL y z: free; 2 of 3 red" in session.answer("p y z").text
    assert "is no operand of" in session.answer("p z x").text
    assert "that meets the lower bound" in session.answer("s z").text
    assert "absorbs" in session.answer("?").text


# -- the command -----------------------------------------------------------------------------------


def test_a_play_through_a_pipe_is_judged_like_any_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    moves = "\n".join(find_level("recompute").certificate)
    out = game(f"{moves}\nsave play.txt\nquit\n", "--level", "recompute")
    assert "Finished with I/O 2: that is par" in out
    assert check("play.txt").io == 2
    assert "kept in" not in out


def test_what_is_not_saved_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = game("l a\nl b\n", "pyramid:h=2", "-M", 4)
    kept = re.search(r"--resume (\S+)", out)[1]
    again = game("c 1.0\nquit", "--resume", kept, "--trace", tmp_path / "all.txt")
    assert "COMPUTE 1.0" in again
    data = json.loads(game("", "--resume", tmp_path / "all.txt", "--json"))
    assert data["moves"] == ["L 0", "L 1", "C 3"]
    assert (data["io"], data["par"], data["finished"]) == (2, 4, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a workload"),
        (["pyramid:h=2"], "--memory is missing"),
        (["pyramid:h=2", "-M", 2], "M >= 3"),
        (["attention-forward:n=512,d=64", "-M", 99], "too many to play by hand"),
        (["--level", "pyramid", "-M", 4], "--level brings its own"),
        (["--level", "pyramidd"], "did you mean 'pyramid'"),
        (["--resume", "missing.txt"], "cannot read missing.txt"),
        (["pyramid:h=2", "-M", 4, "--trace", "x.doc"], "named .txt"),
    ],
)
def test_misuse(arguments, words):
    done = CliRunner().invoke(main, ["game", *map(str, arguments)], standalone_mode=False)
    assert words in str(done.exception)


def test_ctrl_c_loses_nothing(tmp_path):
    ours, theirs = pty.openpty()
    play = subprocess.Popen(
        [sys.executable, "-c", "from lab.cli import main; main()", "game", "--level", "1"],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "TERM": "xterm"},
    )  # fmt: skip
    seen = b""

    def until(words):
        nonlocal seen
        limit = time.monotonic() + 60
        while words not in seen:
            assert time.monotonic() < limit, seen
            if select.select([ours], [], [], 1)[0]:
                seen += os.read(ours, 4096)

    until(b"> ")
    os.write(ours, b"l x\n")
    until(b"LOAD x")
    time.sleep(0.1)
    play.send_signal(signal.SIGINT)
    until(b"interrupted")
    assert play.wait(20) == 130
    os.close(ours)
    os.close(theirs)
    (kept,) = tmp_path.glob("pebble-game-*/*.txt")
    assert "\nL 0\n" in kept.read_text()
