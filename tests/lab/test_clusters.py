"""A real Dask cluster on this machine: scheduler and workers are processes of their own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab import clusters, sweep
from lab.cli import main
from lab.clusters import ClusterError, connected
from lab.running import WorkerError
from pebble import Dag
from pebble.errors import SpecError

ROOT = Path(__file__).resolve().parents[2]
GRID = ("attention-gradient:n=12,d=4,fft:n=16", "naive,flash", "8:128:x4")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler with two worker processes of 2 GB."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    quiet = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "cwd": folder,
        "env": os.environ | {"PYTHONPATH": str(ROOT)},
    }
    head = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
         "--port", "0", "--no-dashboard", "--scheduler-file", str(file)], **quiet,
    )  # fmt: skip
    hands = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file),
         "--nworkers", "2", "--nthreads", "1", "--memory-limit", "2GB", "--no-dashboard"], **quiet,
    )  # fmt: skip
    try:
        for _ in range(600):
            if file.exists() and file.read_text().endswith("}"):
                break
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in (hands, head):
            process.terminate()
            process.wait(60)


@pytest.fixture(scope="module")
def cluster(scheduler):
    with connected(scheduler, timeout=60) as cluster:
        cluster._client.wait_for_workers(2, timeout=60)
        cluster._limits = cluster.limits()
        yield cluster


@pytest.mark.slow
def test_the_same_rows_from_a_cluster(cluster):
    said = []
    dag = Dag.from_predecessors([[], [], [0, 1], [1, 2]], source="mine")

    assert sweep(*GRID, executor=cluster, notice=said.append) == sweep(*GRID)
    assert said == [
        "12 points on 2 workers of up to 1.9 GiB; a point takes up to 0.2 GiB, for which 2 of them "
        "have room"
    ]
    rows = sweep(dag, "naive,lru", "3,4", executor=cluster)
    assert rows == sweep(dag, "naive,lru", "3,4")
    assert len(cluster._brought) == 1  # sent once, not with every point
    assert os.getpid() not in cluster._client.run(os.getpid).values()


@pytest.mark.slow
def test_what_no_worker_has_room_for(cluster):
    rows = sweep("fft:n=16,pyramid:h=10000,fft:n=8", "naive", 8, executor=cluster)

    assert [row.played for row in rows] == [True, False, True]
    assert rows[1].status.startswith(
        "failed: pyramid:h=10000 needs about 2.2 GiB and the largest worker has 1.9 GiB"
    )


@pytest.mark.slow
def test_a_worker_that_is_killed(cluster, tmp_path):
    killed = []

    def kill(done, total, row):
        if done == 2:
            killed.append(next(iter(cluster._client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    out = tmp_path / "rows.csv"
    assert sweep(*GRID, executor=cluster, progress=kill, out=out) == sweep(*GRID)
    assert killed


@pytest.mark.slow
def test_the_command(scheduler, cluster, tmp_path):
    out = tmp_path / "rows.json"
    call = ["sweep", *GRID[0].split(",fft")[:1], "-s", "naive", "-M", GRID[2], "--out", str(out)]

    answer = CliRunner().invoke(
        main, [*call, "--engine", "dask", "--scheduler", scheduler, "--json"]
    )
    assert answer.exit_code == 0, answer.output
    rows = json.loads(answer.stdout)["rows"]
    assert [row["io"] for row in rows] == [row.io for row in sweep(*GRID).where(n=12)[:3]]
    # What the cluster played, this machine need not.
    answer = CliRunner().invoke(main, call)
    assert "3 of 3 points come from " in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engine", "dask"], "needs --scheduler ADDRESS"),
        (["--scheduler", "tcp://127.0.0.1:1"], "belongs to --engine dask"),
        (["--engine", "dask", "--scheduler", "tcp://127.0.0.1:1", "-j", "2"], "not by -j"),
        (["--engine", "dask", "--scheduler", "foo://x"], "unknown address scheme 'foo'"),
        (["--engine", "dask", "--scheduler", ""], "no Dask scheduler answers at ''"),
        (["--engine", "dask", "--scheduler", "no where"], "no Dask scheduler answers at"),
    ],
)
def test_misuse_is_one_line(arguments, words):
    answer = CliRunner().invoke(main, ["sweep", "fft:n=8", "-s", "naive", "-M", "8", *arguments])

    assert answer.exit_code == 2
    assert words in answer.stderr


ASK = """
import sys
from lab.clusters import ClusterError, connected
for address in sys.argv[1:]:
    try:
        with connected(address, timeout=0.5): pass
    except ClusterError as error:
        print(error)
"""


def test_a_scheduler_that_does_not_answer():
    with socket.socket() as mute:  # takes calls and says nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        addresses = ["tcp://127.0.0.1:1", f"tcp://127.0.0.1:{mute.getsockname()[1]}"]
        done = subprocess.run(
            [sys.executable, "-c", ASK, *addresses],
            capture_output=True, text=True, check=True, cwd=ROOT, timeout=120,
        )  # fmt: skip

    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line, address in zip(lines, addresses, strict=True):
        assert line.startswith(f"no Dask scheduler answers at '{address}' within 0.5 s")


def test_a_cluster_without_dask_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(SpecError, match=r"pip install 'redblue-pebble\[cluster\]'"), connected("x"):
        pass


class Stand:
    """Stands for a client."""

    status = "running"

    def scheduler_info(self, n_workers):
        return {"workers": {"a": {"memory_limit": 0}}}

    def nthreads(self):
        return {}

    def wait_for_workers(self, count, timeout):
        pass

    def run(self, function):
        return {"tcp://a:1": function(), "tcp://b:2": "other"}


def test_workers_of_another_version():
    with pytest.raises(ClusterError, match="tcp://b:2 has another version"):
        clusters._check_workers(Stand(), "x", 1)


def test_nobody_left():
    cluster = clusters.Cluster(Stand(), patience=0.0)
    time.sleep(0.001)
    with pytest.raises(WorkerError, match="no worker for 0 s"):
        cluster.check()
    cluster._client.status = "closed"
    with pytest.raises(WorkerError, match="the scheduler is gone"):
        cluster.check()
