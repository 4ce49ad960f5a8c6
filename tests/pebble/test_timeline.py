"""Timelines: each sample is what a game says after so many moves, and there are never too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import workload
from pebble.errors import SpecError
from pebble.game import Game
from pebble.moves import LOAD, STORE, Move, unpack
from pebble.referee import Replay, referee
from pebble.report import Report
from pebble.rules import SLIDING
from pebble.timeline import Sampler
from strategies import strategy
from tests.pebble.test_referee import moves as read_moves
from tests.pebble.test_referee import products

WORKLOAD, M = workload("attention-forward:n=6,d=2"), 12
DAG = WORKLOAD.dag()
PLAY = np.concatenate(list(strategy("flash").moves(WORKLOAD, M, DAG)))


def by_game():
    """Each count after every move, kept by the interactive game."""
    game, traffic = Game(DAG, M), {}
    rows = [(0, 0, 0, 0, 0, {})]
    for kind, v in zip(*(x.tolist() for x in unpack(PLAY)), strict=True):
        game.push(Move(kind, v))
        if kind in (LOAD, STORE):
            name = DAG.owner(v).name
            loads, stores = traffic.get(name, (0, 0))
            traffic = {**traffic, name: (loads + (kind == LOAD), stores + (kind == STORE))}
        counts = (game.step, game.loads, game.stores, game.computes, len(game.red))
        rows.append((*counts, traffic))
    return rows


TRUTH = by_game()


@given(st.integers(2, 2 * len(PLAY)), st.lists(st.integers(0, len(PLAY)), max_size=4))
def test_samples_are_the_counts_of_a_game(samples, cuts):
    chunks = np.split(PLAY, sorted(cuts))
    report = referee(DAG, chunks, M, timeline=samples)
    line = report.timeline
    assert report == referee(DAG, PLAY, M)

    assert min(samples, len(PLAY) + 1) // 2 <= len(line) <= samples
    steps = line.moves.tolist()
    assert steps[0] == 0
    assert steps[-1] == len(PLAY)
    assert len(set(np.diff(steps[:-1]).tolist())) <= 1
    assert steps == sorted(set(steps))
    for i, step in enumerate(steps):
        at = TRUTH[step]
        seen = (line.moves[i], line.loads[i], line.stores[i], line.computes[i], line.red[i])
        assert seen == at[:5]
        assert line.io[i] == at[1] + at[2]
        for name, counts in line.tensors.items():
            assert tuple(counts[i]) == at[5].get(name, (0, 0))
    assert set(line.tensors) == set(report.tensors)


def test_all_moves_are_sampled_where_there_is_room():
    line = referee(DAG, PLAY, M, timeline=len(PLAY) + 1).timeline
    assert line.moves.tolist() == list(range(len(PLAY) + 1))
    assert int(line.red.max()) == referee(DAG, PLAY, M).peak_red


def test_blocks_of_one_name_are_one_tensor():
    play = "L 0, L 2, C 4, S 4, D 0, D 2, D 4, L 1, L 3, C 5, D 1, D 3, L 4, L 7, D 7, L 7, D 7"
    report = referee(products(), read_moves(f"{play}, C 6, S 6"), 3, timeline=100)
    assert report.timeline.tensors["c"][-1].tolist() == [3, 1]
    assert report.timeline.tensors["c"][4].tolist() == [0, 1]


def test_a_result_that_slides_in_shows_as_one_red_too_many():
    dag = products()
    play = "L 0, L 2, C 4, D 0, S 4, D 4, D 2, L 1, L 3, C 5, D 1, D 3, L 4, C 6, D 4, S 6"
    line = referee(dag, read_moves(play), 2, SLIDING, timeline=50).timeline
    assert line.red.tolist() == [0, 1, 2, 3, 2, 2, 1, 0, 1, 2, 3, 2, 1, 2, 3, 2, 2]


def test_a_report_carries_its_timeline_through_json():
    report = referee(DAG, PLAY, M, timeline=10)
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.timeline == report.timeline
    assert again.timeline != referee(DAG, PLAY, M, timeline=5).timeline
    assert "timeline" not in referee(DAG, PLAY, M).to_json()
    lines = str(report.timeline).splitlines()
    assert lines[0].split()[:5] == ["moves", "computes", "red", "loads", "stores"]
    assert len(lines) == len(report.timeline) + 1
    assert lines[-1].split()[0] == f"{len(PLAY):,}"


@pytest.mark.parametrize("samples", [1, 0, -3, 2.5, True, "9"])
def test_a_timeline_of_fewer_than_two_samples_is_refused(samples):
    with pytest.raises(SpecError, match="at least 2 samples"):
        Sampler(Replay(DAG, M), samples)
