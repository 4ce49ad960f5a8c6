"""The optimum by breadth-first search over single moves: no normal form, nothing clever."""

from __future__ import annotations

import random
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pebble.dag import Dag
from pebble.operations import INPUT

if TYPE_CHECKING:
    from pebble.rules import Rules


def least_cost(dag: Dag, memory: int, rules: Rules, start: Any = None) -> int | Fraction | None:
    """Return the least cost; every move that the rules allow is tried, one at a time.

    From ``start``, sets of red, blue and computed vertices, there may be no way to the end: None.
    """
    n = len(dag)
    operands = [frozenset(map(int, dag.operands(v))) for v in range(n)]
    given = frozenset(v for v in range(n) if dag.operations[v] == INPUT and not rules.free_inputs)
    outputs = frozenset(map(int, dag.outputs))
    start = (frozenset(), given, frozenset(), -1) if start is None else (*start, -1)
    price = rules.compute_price
    best = {start: Fraction(0)}
    queue = deque([start])  # by cost, where computes are free; otherwise relaxed until settled
    answer = None
    while queue:
        state = queue.popleft()
        cost = best[state]
        if answer is not None and cost >= answer:
            continue
        red, blue, computed, over = state
        done = computed | given
        finished = outputs <= (done if rules.unstored_outputs else blue)
        if over < 0 and finished and (not rules.complete or len(done) == n):
            answer = cost
            continue
        moves = []
        for v in range(n):
            if v in red:
                if over < 0 and v not in blue:
                    moves.append((Fraction(1), (red, blue | {v}, computed, -1)))
                kept = v in blue or not rules.no_deletion
                if kept and (over < 0 or v in operands[over]):
                    moves.append((Fraction(0), (red - {v}, blue, computed, -1)))
                continue
            if over >= 0:
                continue
            room = len(red) < memory
            if v in blue and room:
                kept = blue - {v} if rules.moving_loads else blue
                moves.append((Fraction(1), (red | {v}, kept, computed, -1)))
            if v in given or not operands[v] <= red or (rules.one_shot and v in computed):
                continue
            if room or (rules.sliding and operands[v]):
                after = (red | {v}, blue, computed | {v}, -1 if room else v)
                moves.append((price, after))
        for step, after in moves:
            total = cost + step
            if after not in best or total < best[after]:
                best[after] = total
                if step:
                    queue.append(after)
                else:
                    queue.appendleft(after)
    return answer


def least_cost_partial(dag: Dag, memory: int, rules: Rules) -> int:  # noqa: C901
    """As `least_cost`, under partial computation: cells are dictionaries of operands absorbed."""
    n = len(dag)
    operands = [frozenset(map(int, dag.operands(v))) for v in range(n)]
    given = frozenset(v for v in range(n) if dag.operations[v] == INPUT and not rules.free_inputs)
    outputs = frozenset(map(int, dag.outputs))
    nothing: frozenset[int] = frozenset()
    remembers = rules.one_shot or rules.complete or rules.unstored_outputs
    start = (frozenset(), frozenset((v, nothing) for v in given), frozenset(), frozenset())
    best = {start: 0}
    queue = deque([start])
    closed = set()
    while queue:
        state = queue.popleft()
        if state in closed:
            continue
        closed.add(state)
        fast, slow, used, whole = dict(state[0]), dict(state[1]), state[2], state[3]
        done = whole | given
        stored = {v for v in slow if slow[v] == operands[v]}
        finished = outputs <= (done if rules.unstored_outputs else stored)
        if finished and (not rules.complete or len(done) == n):
            return best[state]
        moves = []

        def reach(step, fast, slow, used=used, whole=whole, moves=moves):
            if len(fast) <= memory:
                cells = frozenset(fast.items()), frozenset(slow.items())
                moves.append((step, (*cells, used, whole)))

        for v in range(n):
            if v in fast:
                same = v in slow and slow[v] == fast[v]
                if not same:
                    reach(1, fast, slow | {v: fast[v]})
                if same or not rules.no_deletion:
                    reach(0, {w: a for w, a in fast.items() if w != v}, slow)
            elif v in slow:
                left = {w: a for w, a in slow.items() if w != v} if rules.moving_loads else slow
                reach(1, fast | {v: slow[v]}, left)
            if v in given or (rules.one_shot and v in slow and v not in fast):
                continue
            for u in operands[v] or {None}:
                if u is None and (v in fast or (rules.one_shot and v in whole)):
                    continue
                if u is not None:
                    ready = u in fast and fast[u] == operands[u]
                    if not ready or u in fast.get(v, nothing):
                        continue
                    if rules.one_shot and (u, v) in used:
                        continue
                held = fast.get(v, nothing) | ({u} if u is not None else nothing)
                after = used | {(u, v)} if rules.one_shot else used
                full = whole | {v} if remembers and held == operands[v] else whole
                reach(0, fast | {v: held}, slow, after, full)
        for step, after in moves:
            total = best[state] + step
            if total < best.get(after, total + 1):
                best[after] = total
                (queue.append if step else queue.appendleft)(after)
    raise AssertionError("no play ends")


def random_dag(seed: int, most: int = 7) -> tuple[Dag, int]:
    """Return a small DAG, and an M that it can be played with."""
    rng = random.Random(seed)  # noqa: S311
    n = rng.randint(1, most)
    inputs = rng.randint(1, max(1, min(3, n - 1)))
    rows: list[list[int]] = []
    for v in range(n):
        near = range(max(0, v - 5), v)
        width = min(len(near), rng.choice([1, 2, 2, 2, 3]))
        rows.append([] if v < inputs or rng.random() < 0.05 else rng.sample(near, width))
    outputs = None
    if rng.random() < 0.5:
        outputs = rng.sample(range(n), rng.randint(1, min(n, 3)))
    codes = None
    if rng.random() < 0.1:
        codes = [
            1 if row or rng.random() < 0.5 else 0 for row in rows
        ]  # sources that are constants
    dag = Dag.from_predecessors(rows, outputs, operations=codes)
    return dag, rng.choice([0, 0, 1])
