"""The obvious search: every rule as it is stated, one move at a time, cheapest positions first."""

from __future__ import annotations

import itertools
from collections import deque
from types import SimpleNamespace

import numpy as np

from pebble.dag import Dag
from pebble.operations import APPLY, INPUT
from pebble.rules import HK


def least_io(dag, memory, rules=HK):
    """Least loads + stores of any play; vertices of a set are bits."""
    size = len(dag)
    needs = [sum(1 << int(u) for u in dag.operands(v)) for v in range(size)]
    inputs = sum(1 << int(v) for v in dag.inputs)
    outputs = sum(1 << int(v) for v in dag.outputs)
    computable = [v for v in range(size) if rules.free_inputs or not inputs >> v & 1]
    remembers = rules.one_shot or rules.unstored_outputs or rules.complete
    everything = sum(1 << v for v in computable) if rules.complete else 0
    blue, done = (0, 0) if rules.free_inputs else (inputs, inputs)

    def is_end(blue, done):
        wanted = done if rules.unstored_outputs else blue
        return wanted & outputs == outputs and done & everything == everything

    best = {(0, blue, done): 0}
    queue = deque([(0, 0, blue, done)])
    while queue:
        cost, red, blue, done = queue.popleft()
        if cost > best[red, blue, done]:
            continue
        if is_end(blue, done):
            return cost
        reached = []
        count = red.bit_count()
        for v in range(size):
            bit = 1 << v
            if red & bit:
                if not blue & bit:
                    reached.append((1, red, blue | bit, done))
                if count == memory:  # deleting sooner never helps
                    reached.append((0, red ^ bit, blue, done))
            elif blue & bit and count < memory:
                reached.append((1, red | bit, blue, done))
        for v in computable:
            bit = 1 << v
            if red & bit or needs[v] & ~red or (rules.one_shot and done & bit):
                continue
            after = done | bit if remembers else done
            if count < memory:
                reached.append((0, red | bit, blue, after))
            elif rules.sliding:
                reached += [
                    (0, red ^ 1 << u | bit, blue, after) for u in range(size) if needs[v] >> u & 1
                ]
        for price, *position in reached:
            key = tuple(position)
            if cost + price < best.get(key, 1 << 30):
                best[key] = cost + price
                (queue.append if price else queue.appendleft)((cost + price, *key))
    raise AssertionError("no play")


def random_dag(rng, size):
    """A DAG with inputs, sometimes constants, inner outputs and vertices that nothing needs."""
    rows, operations = [], []
    for v in range(size):
        degree = 0 if v == 0 else int(rng.integers(0, min(v, 3) + 1))
        rows.append(sorted(rng.choice(v, degree, replace=False).tolist()) if degree else [])
        constant = not degree and v > 0 and rng.random() < 0.3
        operations.append(APPLY if degree or constant else INPUT)
    used = set(itertools.chain(*rows))
    sinks = [v for v in range(size) if v not in used and operations[v] != INPUT]
    outputs = [v for v in sinks if rng.random() < 0.9]
    outputs += [v for v in range(size) if rng.random() < 0.15]
    return Dag.from_predecessors(rows, outputs, operations=operations)


def exact(dag, memory, rules, *, time=None):
    """A solver of pieces, as `bounds.decomposition` takes it."""
    return SimpleNamespace(lower=least_io(dag, memory, rules) if len(dag) else 0)


def shuffled(dag, rng):
    """The same DAG under another, not topological numbering."""
    place = rng.permutation(len(dag))
    rows = [[] for _ in range(len(dag))]
    operations = np.empty(len(dag), int)
    for v in range(len(dag)):
        rows[place[v]] = [int(place[u]) for u in dag.operands(v)]
        operations[place[v]] = dag.operations[v]
    return Dag.from_predecessors(
        rows, [int(place[v]) for v in dag.outputs], operations=operations.tolist()
    )
