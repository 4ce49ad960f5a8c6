"""Histories against plain replays, and what the pictures and films made of them show."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from lab.animation import animate, check_film
from lab.cli import main
from lab.frames import Mosaic, board, matrices, stills
from lab.history import family, record
from lab.playing import play
from lab.sources import of_strategy, of_trace
from lab.spacetime import COLOURS, kinds, red_count, sheet, spacetime, traffic
from pebble.errors import IllegalMoveError, PebbleError
from pebble.game import Game
from pebble.moves import Move, unpack

FLASH = of_strategy("attention-forward:n=8,d=4", "flash", 40)


def moves_of(source):
    packed = np.concatenate(list(source.chunks()))
    pairs = zip(*(part.tolist() for part in unpack(packed)), strict=True)
    return [Move(kind, vertex) for kind, vertex in pairs]


@pytest.fixture(scope="module")
def history():
    return record(FLASH, 64)


# -- histories -------------------------------------------------------------------------------------


def test_counts_are_those_of_a_game_played_move_by_move(history):
    # Game knows nothing of bins: replay, and read off where each step of time ends.
    moves, game = moves_of(FLASH), Game(FLASH.dag, 40)
    ends = dict(zip(history.times.tolist(), range(len(history.times)), strict=True))
    assert len(moves) in ends
    assert 32 < len(ends) <= 64
    for step, move in enumerate(moves, 1):
        game.push(move)
        if step in ends:
            at = ends[step]
            assert history.red[at].sum() == game.red_count
            assert history.io[at].tolist() == [game.loads, game.stores]
    held = Counter(family(FLASH.dag.owner(move.vertex).name) for move in moves if move.kind == 0)
    kept = Counter(family(FLASH.dag.owner(move.vertex).name) for move in moves if move.kind == 1)
    assert history.traffic() == {s.name: (held[s.name], kept[s.name]) for s in history.strips}
    assert history.report == play("attention-forward:n=8,d=4", "flash", 40)


def test_rows_are_first_indices(history):
    counts = np.zeros((8, 4), int)
    for move in moves_of(FLASH):
        tensor = FLASH.dag.owner(move.vertex)
        if tensor.name == "K":
            counts[tensor.index(move.vertex)[0], move.kind] += 1
    strip = next(s for s in history.strips if s.name == "K")
    found = history.counts[:, strip.first : strip.first + strip.rows].sum(axis=0)
    assert found.tolist() == counts.tolist()


def test_chunks_do_not_matter(tmp_path):
    path = tmp_path / "play.pbl"
    play("attention-forward:n=8,d=4", "flash", 40, trace=path)
    whole, once = record(of_trace(path), 64), record(FLASH, 64)
    assert (whole.counts == once.counts).all()


def test_graphs_without_tensors_have_one_strip():
    from pebble.dag import Dag

    dag = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"])
    history = record(of_strategy(dag, "naive", 3))
    assert [(s.name, s.rows) for s in history.strips] == [("vertex", 3)]
    assert history.counts.sum(axis=0)[:, :3].tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 1]]


def test_an_illegal_trace_is_refused(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("L 0\nC 2\n")
    with pytest.raises(IllegalMoveError, match="needs row0"):
        record(of_trace(path, "pyramid:h=1", 3))


def test_partial_computation_is_refused(tmp_path):
    path = tmp_path / "play.txt"
    path.write_text("L 0\nP 0 2\n")
    source = of_trace(path, "pyramid:h=1", 3, "prbp")
    for show in (record, lambda s: list(stills(s)), lambda s: animate(s, tmp_path / "x.html")):
        with pytest.raises(PebbleError, match="do not know partial computation"):
            show(source)


# -- pictures --------------------------------------------------------------------------------------


def test_the_axes_hold_what_they_show(history):
    ax = spacetime(history)
    images = {image.get_gid(): image.get_array() for image in ax.images}
    strip = history.strips[2]
    shown = kinds(history)[strip.first : strip.first + strip.rows]
    assert (images["strip:S"] == shown).all()
    assert spacetime(history, ax) is ax
    names = list(COLOURS)
    assert set(np.unique(shown)) <= {0, 1 + names.index("held red"), 1 + names.index("computed")}
    red = red_count(history)
    line = next(line for line in red.lines if line.get_gid() == "red-line")
    assert line.get_ydata().tolist() == history.red.sum(axis=1).tolist()
    bars = traffic(history)
    widths = [patch.get_width() for patch in bars.patches]
    assert sum(widths) == history.report.io


def test_schedules_are_told_apart():
    # FlashAttention never moves S; the naive schedule stores and loads all of it; Algorithm 6
    # stores A, which FlashAttention computes again.
    found = {
        name: record(of_strategy("attention-gradient:n=16,d=4", name, 40)).traffic()
        for name in ("naive", "flash", "algorithm6")
    }
    n = 16
    assert found["naive"]["S"] == (n * n, n * n)
    assert found["flash"]["S"] == found["flash"]["A"] == (0, 0)
    assert found["algorithm6"]["A"][1] == n * n
    assert len(sheet([record(FLASH), record(FLASH)]).axes) == 6


# -- stills ----------------------------------------------------------------------------------------


def test_stills_are_the_positions_of_a_game():
    source = of_strategy("attention-forward:n=4,d=2", "flash", 24)
    game, moves = Game(source.dag, 24), moves_of(source)
    seen = []
    for still in stills(source, 17):
        while game.step < still.step:
            game.push(moves[game.step])
        assert np.flatnonzero(still.red).tolist() == list(game.red)
        assert np.flatnonzero(still.blue).tolist() == list(game.blue)
        assert (still.loads, still.stores) == (game.loads, game.stores)
        seen.append(still.step)
    assert (seen[0], seen[-1], len(seen)) == (0, len(moves), 17)


def test_every_entry_has_its_own_dot():
    dag = FLASH.dag
    mosaic = Mosaic(dag)
    canvas_of = {}
    for name in ("Q", "S", "U", "l"):
        tensor = dag.tensor(name)
        spots = mosaic.places[tensor.base : tensor.base + len(tensor)]
        assert len(set(spots.tolist())) == len(tensor)
        canvas_of[name] = set(spots.tolist())
    assert not canvas_of["S"] & canvas_of["U"]
    product = dag.tensor("S.prod")
    assert mosaic.places[product.vertex((2, 3, 1))] == mosaic.places[dag.vertex("S[2,3]")]


def test_drawings_take_and_return_axes():
    small = of_strategy("pyramid:h=2", "naive", 3)
    for still in stills(small, 3):
        ax = board(small.dag, still)
    assert "S" not in ax.get_title()[:4]
    assert "I/O 9" in ax.get_title(loc="left")
    assert board(small.dag, ax=ax) is ax
    assert matrices(FLASH.dag, ax=ax) is ax
    with pytest.raises(PebbleError, match="at most 150"):
        board(FLASH.dag)


# -- films -----------------------------------------------------------------------------------------


def test_a_gif_has_its_stills(tmp_path):
    from PIL import Image

    path = tmp_path / "play.gif"
    assert animate(of_strategy("pyramid:h=2", "naive", 3), path, most=3, seconds=2) == 3
    with Image.open(path) as film:
        assert film.n_frames >= 3


def test_a_page_replays(tmp_path):
    path = tmp_path / "play.html"
    assert animate(of_strategy("pyramid:h=2", "lru", 4), path) > 8
    text = path.read_text()
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    watched = data["levels"][0]["plays"][data["watch"]]
    assert (watched["title"], watched["moves"][0][:2]) == ("lru", "L ")


@pytest.mark.parametrize(
    ("name", "words"),
    [("play.avi", "is named .gif, .mp4 or .html"), ("play", "is named"), ("p.mp4", "ffmpeg")],
)
def test_films_that_cannot_be_made(name, words, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(PebbleError, match=words):
        check_film(name)


def test_a_large_graph_has_no_page(tmp_path):
    with pytest.raises(PebbleError, match="pebble picture"):
        animate(FLASH, tmp_path / "x.html")
    assert list(tmp_path.iterdir()) == []


# -- commands --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["picture", "pyramid:h=2", "--out", "x.png"], "add --strategy"),
        (["picture", "pyramid:h=2", "-s", "naive", "--out", "x.png"], "--memory is missing"),
        (["picture", "missing.txt", "--out", "x.png"], "cannot read missing.txt"),
        (["picture", "pyramid:h=2", "-s", "naive", "-M", "3", "--out", "x.bmpp"], "written as"),
        (["animate", "pyramid:h=2", "-s", "naive,lru", "-M", "4", "--out", "x.gif"], "one film"),
        (["animate", "p.txt", "-s", "lru", "-M", "4", "--graph", "g", "--out", "x.gif"], "belongs"),
    ],
)
def test_misuse(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, arguments, standalone_mode=False)
    assert words in str(done.exception)


def test_a_picture_of_a_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play("pyramid:h=3", "lru", 4, trace=tmp_path / "play.txt")
    done = CliRunner().invoke(main, ["picture", "play.txt", "--out", "x.svg", "--json"])
    assert json.loads(done.output)["plays"][0]["workload"] == "pyramid:h=3"
    assert (tmp_path / "x.svg").stat().st_size > 5000
