"""Who plays: processes that die, executors of every kind, memory that does not reach."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from graphs.memory import _container_bytes
from lab import crew, pools, sweep
from lab.footprint import PROCESS, footprint, point_bytes
from lab.running import WorkerError
from lab.sweeping import plan
from pebble import Dag

GRADIENT = "attention-gradient:n=12,d=4"

DEADLY = '''
import os, signal, time
from strategies.registry import Strategy
from strategies.registry import strategy as read

class Deadly(Strategy):
    """Plays as naive does; kills its process at M = 8, and once at M = 16."""

    name = "deadly"
    flag = FLAG

    def __init__(self):
        pass

    def refusal(self, workload):
        return None

    def recomputes(self, workload):
        return False

    def least_memory(self, workload):
        return 4

    def count(self, workload, memory):
        if memory == 12:
            raise ZeroDivisionError("a fault of the strategy")
        if memory == 16 and not os.path.exists(self.flag):
            open(self.flag, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if memory == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return read("naive").count(workload, memory)
'''


@pytest.fixture
def deadly(tmp_path, monkeypatch):
    (tmp_path / "deadly_strategy.py").write_text(
        textwrap.dedent(DEADLY).replace("FLAG", repr(str(tmp_path / "flag")))
    )
    monkeypatch.syspath_prepend(tmp_path)
    import deadly_strategy

    yield deadly_strategy.Deadly()
    del sys.modules["deadly_strategy"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_dying_worker_costs_its_point_alone(deadly, tmp_path):
    said, out = [], tmp_path / "rows.csv"

    rows = sweep(
        "matmul:m=2,n=2,k=2", ["naive", deadly], [8, 12, 16, 32],
        method="tally", executor=2, notice=said.append, out=out,
    )  # fmt: skip

    good, bad = rows.where(strategy="naive"), rows.where(strategy=str(deadly))
    assert [row.status for row in good] == ["ok"] * 4
    assert [row.played for row in bad] == [False, False, True, True]
    assert [row.io for row in bad.played] == [good[2].io, good[3].io]
    assert bad[0].status.startswith("failed: its worker process died, twice, most likely for want")
    assert bad[1].status == "failed: ZeroDivisionError: a fault of the strategy"
    died = [line for line in said if line.startswith("a worker died over")]
    assert sorted(line.partition("M = ")[2].partition(":")[0] for line in died) == ["16", "8"]


def test_points_that_failed_are_tried_again(deadly, tmp_path, monkeypatch):
    out, said = tmp_path / "rows.csv", []
    grid = ("matmul:m=2,n=2,k=2", [deadly], [4, 12, 32])

    assert [row.played for row in sweep(*grid, method="tally", out=out)] == [True, False, True]
    monkeypatch.setattr(type(deadly), "count", lambda _, *a: lab_count(*a))
    again = sweep(*grid, method="tally", out=out, notice=said.append)
    assert [row.played for row in again] == [True, True, True]
    assert said[0].startswith("2 of 3 points come from ")
    assert said[0].endswith("1 that failed are tried again")


def lab_count(workload, memory):
    from strategies.registry import strategy

    return strategy("naive").count(workload, memory)


def test_workers_that_cannot_start_are_told_from_points_that_kill(monkeypatch):
    monkeypatch.setattr(pools, "_begin", os.abort)

    with pytest.raises(WorkerError, match=r"die as they start: a script .* needs its `if __name__"):
        sweep("matmul:m=2,n=2,k=2", "naive", "4:32:x2", method="tally", executor=2)


def test_threads_share_one_dag():
    with ThreadPoolExecutor(4) as executor:
        rows = sweep(f"{GRADIENT},fft:n=16", "naive,flash", "8:128:x4", executor=executor)

    assert rows == sweep(f"{GRADIENT},fft:n=16", "naive,flash", "8:128:x4")


def test_other_code_in_a_worker_is_not_mixed_in(monkeypatch):
    monkeypatch.setattr("lab.crew.code_digest", lambda: "another")
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(WorkerError, match="a worker runs other source code"),
    ):
        sweep(GRADIENT, "naive", "8,16", executor=executor)


class Process:
    """Stands for a worker; does nothing."""

    workload, holds = None, 0

    def __init__(self):
        self.open = True
        opened.append(self)

    def close(self):
        self.open = False


opened = []


def test_memory_is_planned_point_by_point(monkeypatch):
    texts = "pyramid:h=1000,pyramid:h=2000,pyramid:h=4000"
    points = plan(texts, "naive,belady", 8)
    tiles, any_dag = (
        [point_bytes(p.strategy, p.workload.extent()) for p in points[i::2]] for i in (0, 1)
    )
    # (h+1)(h+2)/2 vertices and about two edges each: 6 + 2·4 bytes, three times or four times.
    assert tiles == pytest.approx([21 * h**2 for h in (1000, 2000, 4000)], rel=0.01)
    assert any_dag == [each * 4 // 3 for each in tiles]

    opened.clear()
    monkeypatch.setattr(pools, "Worker", Process)
    monkeypatch.setattr("lab.footprint.budget", lambda: 4 * PROCESS + 100_000_000)
    some = crew._Crew(points, 4, print)
    for name in range(4):
        some.busy[name] = some._worker(0), 0
    assert some._worker(0) is None  # four processes at most
    # 112 MB of DAGs: four processes hold too much, and some must go before a point of the largest
    # graph is given.
    some.idle = [worker for worker, _ in some.busy.values()]
    some.busy.clear()
    for worker in some.idle:
        worker.holds = some._bytes(1)
    chosen = some._worker(4)
    assert chosen in opened
    held = sum(each.holds for each in opened if each.open and each is not chosen)
    assert held + some._bytes(4) <= some.room
    assert any(not each.open for each in opened)


def test_what_does_not_fit_is_said_before_the_work(monkeypatch):
    said = []
    monkeypatch.setattr("graphs.memory.available_bytes", lambda: 3 * PROCESS)

    rows = sweep("pyramid:h=10,pyramid:h=20000", "naive", "8,16", notice=said.append)

    assert said[0].startswith(
        "pyramid:h=20000 does not fit, its points will have no counts: "
        "pyramid:h=20000 needs 2.6 GiB"
    )
    assert [row.played for row in rows] == [True, True, False, False]
    assert rows[3].status.startswith("failed: pyramid:h=20000 needs 2.6 GiB")


def test_a_containers_limit_counts(tmp_path):
    for name, text in (("current", "700\n"), ("stat", "anon 400\ninactive_file 200\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    for limit, free in (("1000\n", 500), ("600\n", 100), ("400\n", 0), ("max\n", None)):
        (tmp_path / "memory.max").write_text(limit)
        assert _container_bytes(tmp_path) == free
    assert _container_bytes(tmp_path / "none") is None


def test_an_estimate_comes_first_where_it_takes_long():
    points = plan("attention-forward:n=1024,d=64", "flash", "4096:65536:x2")

    (line,) = footprint(points, 1).lines()
    assert line.startswith("5 points of up to 269,")
    assert "roughly" in line
    assert footprint(plan(GRADIENT, "naive", "8,16"), 2).lines() == []


@pytest.mark.parametrize(
    "text", ["pyramid:h=7", "tree:depth=4,arity=3", "fft:n=16", "grid:rows=3,columns=5",
             "matmul:m=3,n=4,k=1", "attention-backward:n=5,d=3"]
)  # fmt: skip
def test_extent_is_that_of_the_dag(text):
    from graphs import workload

    dag = workload(text).dag()
    assert workload(text).extent() == (len(dag), dag.predecessors.size)


def test_a_dag_of_ones_own_has_an_extent():
    from graphs.registry import GivenDag

    assert GivenDag(Dag.from_predecessors([[], [], [0, 1]])).extent() == (3, 2)


KILL = """
import os, sys
from lab.sweeping import sweep
if __name__ == "__main__":
    sweep("attention-gradient:n=12:15,d=4", "naive,flash,algorithm6", "4:128:x1.1",
          out=sys.argv[1], executor=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_with_processes_of_its_own(tmp_path):
    import random
    import signal
    import time

    from lab import Results
    from lab.journal import journal_of

    rng, out, deaths, grown = random.Random(6), tmp_path / "rows.csv", 0, [0]  # noqa: S311
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", KILL, str(out)],
            start_new_session=True, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun = time.monotonic()
        # From the first new row on, so that it dies among rows and not among imports.
        while process.poll() is None and time.monotonic() - begun < 60:
            size = journal_of(out).stat().st_size if journal_of(out).exists() else 0
            if size > grown[-1]:
                time.sleep(rng.uniform(0, 0.2))
                if rng.random() < 0.5:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()  # its workers see that it is gone
                break
            time.sleep(0.001)
        process.communicate()
        deaths += process.returncode != 0
        grown.append(journal_of(out).stat().st_size)

    subprocess.run([sys.executable, "-c", KILL, str(out)], check=True)
    expected = sweep("attention-gradient:n=12:15,d=4", "naive,flash,algorithm6", "4:128:x1.1")
    assert deaths  # until it was finished
    assert Results.read(out) == expected
