"""The least cost from a position on, against a search over single moves from there."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from graphs.registry import workload
from pebble.game import Game
from pebble.moves import pack
from pebble.referee import referee
from pebble.rules import HK, ONE_SHOT, PRESETS, Rules
from strategies.optimum.engine import Limits
from strategies.optimum.onward import Position, onward, position_after
from strategies.registry import RefusalError
from tests.strategies.optimum import brute

_RULES = [
    *(rules for rules in PRESETS.values() if not rules.partial),
    Rules.parse("one-shot+sliding"),
    Rules.parse("one-shot+compute-price=1/3"),
]
_SLOW = [Rules.parse("hk+no-deletion"), Rules.parse("one-shot+moving-loads")]


def _wander(game: Game, rng: random.Random, steps: int) -> None:
    """Make random legal moves; end between two moves of no slide."""
    for _ in range(steps):
        moves = list(game.legal_moves)
        if not moves:
            return
        game.push(rng.choice(moves))


def _sets(position: Position) -> tuple[frozenset[int], ...]:
    masks = (position.red, position.blue, position.computed)
    return tuple(frozenset(np.flatnonzero(mask).tolist()) for mask in masks)


def _check(seed: int, rules: Rules, most: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    dag, more = brute.random_dag(seed, most)
    memory = max(1, rules.least_memory(dag)) + more
    game = Game(dag, memory, rules)
    _wander(game, rng, rng.randint(0, 14))
    while game.red_count > memory:
        _wander(game, rng, 1)
    played = np.array([m.kind << 30 | m.vertex for m in game.moves], np.uint32)
    there = position_after(dag, played, rules)
    assert np.flatnonzero(there.red).tolist() == sorted(game.red)
    assert np.flatnonzero(there.blue).tolist() == sorted(game.blue)
    expected = brute.least_cost(dag, memory, rules, _sets(there))
    limits = Limits(None, 1 << 28)
    if expected is None:  # a value is lost that may not be computed again
        found = onward(dag, memory, rules, there, 60, limits)
        assert (found.lower, found.upper) == (60, None)
        return
    found = onward(dag, memory, rules, there, expected + 1, limits)
    assert found.lower == found.upper == expected, (seed, str(rules))
    assert found.moves is not None
    whole = referee(dag, np.concatenate([played, found.moves]), memory, rules)
    price = rules.compute_price
    before = sum(m.kind in (0, 1) for m in game.moves) + price * game.computes
    assert whole.io + price * whole.computes == before + expected
    below = onward(dag, memory, rules, there, expected, limits)
    assert (below.lower, below.upper) == (expected, None)


@pytest.mark.parametrize("rules", [HK, ONE_SHOT], ids=str)
def test_against_single_moves(rules: Rules) -> None:
    for seed in range(40):
        _check(seed, rules, 7)


@pytest.mark.slow
@pytest.mark.parametrize("rules", _RULES, ids=str)
def test_against_single_moves_under_every_preset(rules: Rules) -> None:
    for seed in range(150):
        _check(seed, rules, 7)


@pytest.mark.parametrize("rules", _SLOW, ids=str)
def test_rules_that_are_searched_move_by_move(rules: Rules) -> None:
    for seed in range(8):
        _check(seed, rules, 5)


@pytest.mark.parametrize("rules", [HK, ONE_SHOT], ids=str)
def test_a_stopped_search_gives_an_interval(rules: Rules) -> None:
    dag = workload("matmul:m=3,n=3,k=2").dag()
    there = position_after(dag, pack(0, [0, 1, 6]), rules)
    found = onward(dag, 4, rules, there, 60, Limits(0.0, 1 << 28))
    assert found.stopped_by == "time"
    assert found.lower <= 34  # 37 in all, three of them made
    assert isinstance(found.lower, int | Fraction)


def test_partial_computation_is_refused() -> None:
    dag = workload("pyramid:h=2").dag()
    there = position_after(dag, np.empty(0, np.uint32), HK)
    with pytest.raises(RefusalError, match="prbp"):
        onward(dag, 3, Rules.parse("prbp"), there, 9, Limits(None, 1 << 28))
