"""GPT-2's attention head move by move, and traces that do not fit into memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from graphs.memory import available_bytes

_HEAD = """
import json, resource, sys, time
import graphs
from lab import play, count
text, memory = sys.argv[1], int(sys.argv[2])
play(text.partition(":")[0] + ":n=8,d=4", "flash", 64)  # compiled
start = time.process_time()
head = graphs.workload(text)
report = play(head, "flash", memory)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak, report == count(head, "flash", memory), report.peak_red]))
"""


def head(text, memory):
    """Play GPT-2's head in a process of its own: CPU seconds, peak bytes, agreement, peak red."""
    done = subprocess.run(
        [sys.executable, "-c", _HEAD, text, str(memory)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def need(gib):
    free = available_bytes()
    if free is not None and free < gib << 30:
        pytest.skip(f"needs {gib} GiB of free memory, and {free / 2**30:.1f} are free")


@pytest.mark.slow
def test_the_forward_pass_of_a_head_of_gpt_2():
    need(8)
    seconds, peak, agrees, red = head("attention-forward:n=1024,d=64", 24576)
    assert agrees
    assert red <= 24576
    assert peak < 6 << 30
    assert seconds < 20


@pytest.mark.slow
def test_the_backward_pass_of_a_head_of_gpt_2():
    need(20)
    seconds, peak, agrees, red = head("attention-backward:n=1024,d=64", 24576)
    assert agrees
    assert red <= 24576
    assert peak < 16 << 30
    assert seconds < 60


_TRACE = """
import itertools, resource, sys
import numpy as np
from pebble import Dag, HK, referee
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, pack
from pebble.trace import Header, read_trace, write_trace

path, rounds = sys.argv[1], int(sys.argv[2])
dag = Dag.from_predecessors([[], [0]])
idle = np.tile(np.array([pack(LOAD, 0), pack(DELETE, 0)]), 1 << 17)
done = np.array([pack(LOAD, 0), pack(COMPUTE, 1), pack(STORE, 1)])

def write(times):
    chunks = itertools.chain(itertools.repeat(idle, times), [done])
    assert write_trace(path, Header.of(dag, 2), chunks) == times * idle.size + 3
    trace = read_trace(path)
    report = referee(dag, trace.chunks(dag), 2, HK, timeline=50)
    assert report.loads == times * idle.size // 2 + 1
    assert len(report.timeline) <= 50

write(4)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write(rounds)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.parametrize(("name", "rounds"), [("play.pbl", 120), ("play.txt", 40)])
def test_a_trace_is_never_in_memory(tmp_path, name, rounds):
    path = tmp_path / name
    done = subprocess.run(
        [sys.executable, "-c", _TRACE, path, str(rounds)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert path.stat().st_size > 40 << 20
    assert int(done.stdout) < 10 << 20
