"""`explain`: every part of a play's cost against slow, obvious searches and published optima."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner

from graphs.registry import workload
from lab.cli import main
from lab.costly import losses, over_by
from lab.credit import explain, explain_trace
from lab.playing import play
from pebble.dag import Dag
from pebble.errors import BudgetError, IllegalMoveError, SpecError
from pebble.game import Game
from pebble.rules import HK, ONE_SHOT, SLIDING, Rules
from strategies.orders import construction
from strategies.registry import RefusalError
from tests.strategies.optimum import brute
from tests.strategies.table import optima
from tests.strategies.test_best_eviction import every_eviction


def _wasteful(seed: int, rules: Rules) -> tuple[Dag, int, list[int]]:
    """Return a small DAG, M and a legal play of it with random detours."""
    rng = random.Random(seed)  # noqa: S311
    dag, more = brute.random_dag(seed, 6)
    memory = max(1, rules.least_memory(dag)) + more
    while True:
        game = Game(dag, memory, rules)
        for _ in range(400):
            moves = list(game.legal_moves)
            if (game.is_finished and game.red_count <= memory) or not moves:
                break
            game.push(rng.choice(moves))
        if game.is_finished and game.red_count <= memory:
            return dag, memory, [m.kind << 30 | m.vertex for m in game.moves]


@pytest.mark.parametrize(
    "rules", [HK, ONE_SHOT, pytest.param(SLIDING, marks=pytest.mark.slow)], ids=str
)
def test_costly_moves_against_a_search_from_every_position(rules: Rules) -> None:
    tried = 0
    for seed in range(8):
        dag, memory, words = _wasteful(seed, rules)
        if len(words) > 30:
            continue
        tried += 1
        least, at = [], []
        game = Game(dag, memory, rules)
        for k in range(len(words) + 1):
            if k:
                word = words[k - 1]
                game.push(f"{'LSCD'[word >> 30]} {word & ((1 << 30) - 1)}")
            if game.red_count <= memory:
                computed = frozenset(v for v in range(len(dag)) if game.is_computed(v))
                start = (frozenset(game.red), frozenset(game.blue), computed)
                rest = brute.least_cost(dag, memory, rules, start)
                assert rest is not None
                least.append(game.io + int(rest))
                at.append(k)
        expected = [
            (at[i], least[i - 1], least[i]) for i in range(1, len(at)) if least[i] > least[i - 1]
        ]
        moves = np.array(words, np.uint32)
        found = losses(dag, moves, memory, rules, least[0], every=True)
        assert [(m.step, m.before, m.after) for m in found.moves] == expected, seed
        first = losses(dag, moves, memory, rules, least[0]).moves
        assert first == found.moves[:1]
        late = over_by(dag, moves, rules, least[0])
        assert late is None or (bool(expected) and late >= expected[0][0])
        assert (late is not None) == (game.io > least[0])
    assert tried >= 3


def test_the_parts_add_up_to_the_cost() -> None:
    known = {(r.text, r.one_shot, r.memory): r.io for r in optima()}
    for text, memory, rules in [
        ("grid:rows=3,columns=3", 3, "hk"),
        ("grid:rows=3,columns=3", 3, "one-shot"),
        ("fft:n=4", 4, "hk"),
    ]:
        found = explain(text, "lru:order=construction", memory, rules)
        best = {once: known[text, once, memory] for once in (False, True)}
        assert found.optimum is not None
        assert found.optimum.exact
        assert found.optimum.upper == best[rules == "one-shot"]
        assert found.by_recomputation is not None
        assert found.by_recomputation.upper == best[True] - best[False]
        assert found.order is not None
        dag = workload(text).dag()
        order = construction(dag).tolist()
        assert found.order.exact
        assert found.order.upper == every_eviction(dag, order, memory, Rules.parse(rules))
        assert found.by_order is not None
        assert found.by_eviction is not None
        parts = found.optimum.upper + found.by_order.upper + found.by_eviction.upper
        assert parts == found.cost == found.report.io


def test_an_optimal_play_has_no_costly_move() -> None:
    found = explain("pyramid:h=4", "optimal", 4)
    assert (found.is_optimal, found.cost, found.losses.moves) == (True, 10, ())


def test_repeats_are_credited(tmp_path) -> None:
    path = tmp_path / "grid.pbl"
    play("grid:rows=3,columns=3", "optimal", 3, trace=path)
    found = explain_trace(path)
    assert found.report.recomputes > 0
    assert found.cost == 5
    assert found.once is not None
    assert found.once.lower > 5  # the same order without repeats is dearer
    with pytest.raises(IllegalMoveError):
        explain_trace(path, rules="one-shot")
    with pytest.raises(BudgetError, match="M >= 3"):
        explain_trace(path, memory=2)


def test_an_order_is_played_with_its_best_eviction() -> None:
    found = explain("fft:n=8", order="construction", memory=4, seconds=0.4)
    assert found.by_eviction is not None
    assert found.by_eviction.upper == 0
    assert found.cost == 55  # belady 56
    given = explain("pyramid:h=2", order=np.array([4, 3, 5], np.uint32), memory=3)
    assert given.cost == 6


def test_too_large_for_the_optimum_it_says_so() -> None:
    found = explain("fft:n=32", "lru", 8, seconds=0.8)
    assert found.optimum is not None
    assert 64 <= found.optimum.lower < found.optimum.upper < found.cost
    assert found.losses.moves == ()
    assert found.late is not None
    assert not found.is_optimal
    assert found.by_order is not None
    assert not found.by_order.exact


@pytest.mark.parametrize("rules", ["hk", "one-shot", "graphio", "hk+moving-loads", "hk+sliding"])
def test_graphs_at_the_edge(rules: str) -> None:
    kinds = Rules.parse(rules)
    graphs = {
        "one input": Dag.from_predecessors([[]]),
        "the output is an input": Dag.from_predecessors([[]], [0]),
        "isolated": Dag.from_predecessors([[], [], [0]]),
        "useless": Dag.from_predecessors([[], [0], [0]], [1]),
    }
    for name, dag in graphs.items():
        memory = max(1, kinds.least_memory(dag))
        how = "optimal" if rules in ("hk", "one-shot") else None
        if how is not None:
            found = explain(dag, f"optimal:rules={rules}", memory, rules)
            assert found.is_optimal, name
            assert found.losses.moves == ()
        small = Dag.from_predecessors([[], [], [0, 1]])
        with pytest.raises(BudgetError, match="M >="):
            explain(small, "belady", 1, rules)


def test_misuse() -> None:
    with pytest.raises(SpecError, match="not both"):
        explain("pyramid:h=2", memory=3)
    with pytest.raises(SpecError, match="positive number of seconds"):
        explain("pyramid:h=2", "naive", 3, seconds=0)
    with pytest.raises(RefusalError, match="does not play"):
        explain("pyramid:h=2", "flash", 3)
    with pytest.raises(RefusalError, match="partial computation"):
        explain("pyramid:h=2", "naive", 3, "prbp")
    with pytest.raises(SpecError, match="no-such-file"):
        explain("pyramid:h=2", order="no-such-file", memory=3)


def test_command(tmp_path) -> None:
    def run(*words: object):
        return CliRunner().invoke(main, ["explain", *map(str, words)])

    path = tmp_path / "play.txt"
    play("grid:rows=3,columns=3", "lru", 3, trace=path)
    data = json.loads(run(path, "--json", "--time", 6).stdout)
    assert (data["io"], data["optimum"]["upper"], data["by_eviction"]["upper"]) == (8, 5, 0)
    assert data["costly_moves"][0]["before"] == 5
    assert data["recomputation_saves"] == {"lower": 1, "upper": 1, "exact": True}
    text = run(path, "--time", 6).stdout
    assert "first costly move: step 4, S v[0,2]: 5 could still be reached before it" in text
    text = run("pyramid:h=2", "--order", "depth-first", "-M", 4).stdout
    assert "this play is optimal" in text
    assert run("pyramid:h=2", "--strategy", "naive").exit_code == 2
    assert run(path, "--strategy", "naive", "-M", 3, "--graph", "x").exit_code == 2
    illegal = run(path, "--rules", "hk+no-deletion")
    assert (illegal.exit_code, illegal.stdout[:13]) == (1, "illegal: step")
