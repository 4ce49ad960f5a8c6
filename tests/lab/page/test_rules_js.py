"""The page's rules are Game's and the referee's: thousands of random moves, legal and illegal."""

import json
import zlib

import numpy as np
import pytest

from graphs.registry import workload
from lab.page.assembly import _graph
from pebble.dag import Dag
from pebble.errors import BudgetError
from pebble.game import Game
from pebble.moves import Move, pack
from pebble.referee import Replay
from pebble.rules import PRESETS, Rules

GRAPHS = [
    workload("pyramid:h=3").dag(),
    workload("grid:rows=3,columns=3").dag(),
    workload("matmul:m=2,n=2,k=2").dag(),
    workload("attention-forward:n=2,d=1").dag(),
    Dag.from_predecessors([[], [], [0, 1], [], [2, 3, 0, 1], [4]], outputs=[2, 5, 0]),
    Dag.from_predecessors([[], [], [0, 1], [2]], operations=[0, 1, 1, 1], names=list("xcyz")),
]
SETS = [r for r in PRESETS.values() if not r.partial]
SETS += [Rules.parse("hk+no-deletion"), Rules.parse("hk+moving-loads")]
SETS.append(Rules.parse("one-shot+sliding+complete"))

REPLAY = """
const [dag, memory, rules, tried] = arguments;
const game = new Rules.Game(new Rules.Dag(dag), memory, rules);
const verdicts = tried.map(([kind, vertex]) => {
  const refusal = game.push({kind, vertex});
  return refusal && [refusal.text, refusal.rule, refusal.missing];
});
const end = Rules.unfinished(game);
return {verdicts, end: end && end.text, loads: game.loads, stores: game.stores,
        computes: game.counts[2], peak: game.peakRed, finished: game.finished};
"""


def random_play(dag, memory, rules, rng, length):
    """Tries half of them legal; returns them, Game's verdicts and the game."""
    game, tried, verdicts = Game(dag, memory, rules), [], []
    for _ in range(length):
        legal = list(game.legal_moves)
        if legal and rng.random() < 0.6:
            move = legal[rng.integers(len(legal))]
        else:
            move = Move(int(rng.integers(4)), int(rng.integers(len(dag) + (rng.random() < 0.02))))
        refusal = game.explain(move)
        verdicts.append(refusal and [refusal.text, refusal.rule, list(refusal.missing)])
        if refusal is None:
            game.push(move)
        tried.append([move.kind, move.vertex])
    return tried, verdicts, game


@pytest.mark.parametrize("rules", SETS, ids=str)
def test_verdicts_are_equal(browser, page_file, rules):
    from pebble.legality import unfinished

    if browser.current_url.split("#")[0] != page_file.as_uri():
        browser.get(page_file.as_uri())
    rng = np.random.default_rng(zlib.crc32(str(rules).encode()))
    for dag in GRAPHS:
        least = rules.least_memory(dag)
        for memory in (least, least + 2):
            try:
                tried, verdicts, game = random_play(dag, memory, rules, rng, 160)
            except BudgetError:
                continue
            flags = {"text": str(rules)} | {k: True for k, v in vars(rules).items() if v is True}
            given = (json.loads(json.dumps(_graph(dag, ""))), memory, flags, tried)
            found = browser.execute_script(REPLAY, *given)
            assert found["verdicts"] == verdicts
            end = unfinished(game, list(game._missing()))
            assert found["end"] == (end and str(end))
            assert found["finished"] == game.is_finished
            assert (found["loads"], found["stores"]) == (game.loads, game.stores)
            assert (found["computes"], found["peak"]) == (game.computes, game.peak_red)
            replay = Replay(dag, memory, rules)
            for move in game.moves:
                assert replay.advance(pack(move.kind, [move.vertex])) is None
            assert (replay.loads, replay.stores) == (found["loads"], found["stores"])
