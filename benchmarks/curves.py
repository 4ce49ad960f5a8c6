"""How cost grows with n, d, M and cores: ``curves.json`` and ``curves.png`` in this folder.

Run by ``make bench``. Growth is in ratios of measurements of one run, which mean the same on any
machine. Times are CPU seconds, but for cores: there seconds on the clock.
"""

import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import graphs
import strategies
from pebble import referee
from pebble.moves import unpack
from pebble.referee import Replay

FOLDER = Path(__file__).parent
FORWARD = "attention-forward:n={n},d={d}"


def cpu(function, rounds=3):
    """CPU seconds of the quickest of some calls, after one that compiles and warms up."""
    function()
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def plain_referee(dag, moves, memory):
    """The rules of Hong and Kung in plain Python: what the compiled referee is held against."""
    before = [dag.operands(v).tolist() for v in range(len(dag))]
    given = set(dag.inputs.tolist())
    red, blue, io = set(), set(given), 0
    kinds, vertices = (column.tolist() for column in unpack(moves))
    start = time.process_time()
    for kind, v in zip(kinds, vertices, strict=True):
        if kind == 2:
            assert v not in red
            assert v not in given
            assert all(u in red for u in before[v])
            red.add(v)
        elif kind == 3:
            red.remove(v)
        elif kind == 0:
            assert v in blue
            assert v not in red
            red.add(v)
            io += 1
        else:
            assert v in red
            assert v not in blue
            blue.add(v)
            io += 1
        assert len(red) <= memory
    assert blue.issuperset(dag.outputs.tolist())
    return time.process_time() - start, io


def operations(n, d, memory, name="flash"):
    """CPU seconds of each main operation on attention's forward pass, with their numbers."""
    workload, strategy = graphs.workload(FORWARD.format(n=n, d=d)), strategies.strategy(name)
    dag = workload.dag()
    moves = np.concatenate(list(strategy.moves(workload, memory, dag)))
    return {
        "build": cpu(workload.dag),
        "scribe": cpu(lambda: sum(map(len, strategy.moves(workload, memory, dag)))),
        "referee": cpu(lambda: Replay(dag, memory).feed(moves)),
        "count": cpu(lambda: strategies.strategy(name).count(workload, memory)),
    }, {"vertices": len(dag), "moves": moves.size}


def exponents(axis, values, **fixed):
    """Fit ``cost ~ axis ** exponent`` to each operation by least squares on logarithms."""
    runs = [operations(**{**fixed, axis: value}) for value in values]
    rows = {"moves": [sizes["moves"] for _, sizes in runs]}
    for name in runs[0][0]:
        rows[name] = [seconds[name] for seconds, _ in runs]
    slope = {
        name: round(float(np.polyfit(np.log(values), np.log(row), 1)[0]), 2)
        for name, row in rows.items()
    }
    relative = {name: [x / row[0] for x in row] for name, row in rows.items()}
    return {"values": list(values), "fixed": fixed, "exponents": slope, "relative": relative}


def speed():
    """Rates, the ratio to plain Python, and bytes a vertex."""
    n, d, memory = 256, 64, 8192
    seconds, sizes = operations(n, d, memory)
    vertices, moves = sizes["vertices"], sizes["moves"]
    dag = graphs.workload(FORWARD.format(n=n, d=d)).dag()
    held = [dag.indptr, dag.predecessors, dag.operations, dag.outputs, dag.inputs]
    state, buffers = len(dag), 2 * 4 * (1 << 17)  # a byte a vertex; two chunks of moves
    bytes_held = sum(array.nbytes for array in held) + state + buffers
    small = graphs.workload(FORWARD.format(n=64, d=16))
    graph = small.dag()
    play = np.concatenate(list(strategies.strategy("flash").moves(small, 256, graph)))
    plain, io = plain_referee(graph, play, 256)
    assert referee(graph, play, 256).io == io
    ours = cpu(lambda: Replay(graph, 256).feed(play), rounds=9)
    return {
        "workload": FORWARD.format(n=n, d=d),
        "build: million vertices a second": vertices / seconds["build"] / 1e6,
        "scribe: million moves a second": moves / seconds["scribe"] / 1e6,
        "referee: million moves a second": moves / seconds["referee"] / 1e6,
        "scribe over referee, rates": seconds["referee"] / seconds["scribe"],
        "referee over plain Python, rates": plain / ours,
        "bytes a vertex": bytes_held / vertices,
    }


def one_play(_):
    """What a worker does when cores are counted."""
    workload = graphs.workload(FORWARD.format(n=128, d=32))
    dag = workload.dag()
    return referee(dag, strategies.strategy("flash").moves(workload, 1024, dag), 1024).io


def cores():
    """Plays a second with 1, 2, 4, ... worker processes, over those with one."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    counts = [c for c in (1, 2, 4, 8, 16, 32, 64) if c <= most]
    rates = []
    for workers in counts:
        with ProcessPoolExecutor(workers) as pool:
            list(pool.map(one_play, range(2 * workers)))  # loads compiled kernels
            start = time.perf_counter()
            list(pool.map(one_play, range(12 * workers)))
            rates.append(12 * workers / (time.perf_counter() - start))
    return {"values": counts, "relative": [rate / rates[0] for rate in rates]}


def draw(data):
    """Draw the growth of each operation along each axis, log-log, and plays over cores."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    for axis, ax in zip(("n", "d", "memory"), axes, strict=False):
        for name, row in data[axis]["relative"].items():
            exponent = data[axis]["exponents"][name]
            ax.loglog(data[axis]["values"], row, "o-", label=f"{name}, exponent {exponent:g}")
        fixed = ", ".join(f"{name} = {value}" for name, value in data[axis]["fixed"].items())
        ax.set(xlabel="M" if axis == "memory" else axis, title=fixed.replace("memory", "M"))
        ax.legend(fontsize=8)
    axes[0].set_ylabel("cost over the first")
    axes[3].plot(data["cores"]["values"], data["cores"]["values"], color="0.7", label="linear")
    axes[3].plot(data["cores"]["values"], data["cores"]["relative"], "o-", label="plays")
    axes[3].set(xlabel="worker processes", ylabel="plays a second over one's")
    axes[3].legend(fontsize=8)
    figure.savefig(FOLDER / "curves.png", dpi=110)


def main():
    """Measure, print, write, draw."""
    data = {
        "speed": speed(),
        "n": exponents("n", [64, 128, 256, 512], d=16, memory=2048),
        "d": exponents("d", [8, 16, 32, 64], n=128, memory=8192),
        "memory": exponents("memory", [512, 2048, 8192, 32768], n=256, d=16),
        "cores": cores(),
    }
    lines = [
        f"{name:34} {value if isinstance(value, str) else format(value, '.3g')}"
        for name, value in data["speed"].items()
    ]
    for axis in ("n", "d", "memory"):
        shown = ", ".join(f"{name} {x:g}" for name, x in data[axis]["exponents"].items())
        lines.append(f"exponents in {axis:21} {shown}")
    lines.append(f"{'plays a second over one worker':34} {data['cores']['relative']}")
    sys.stdout.write("\n".join(lines) + "\n")
    (FOLDER / "curves.json").write_text(json.dumps(data, indent=1) + "\n")
    draw(data)


if __name__ == "__main__":
    main()
