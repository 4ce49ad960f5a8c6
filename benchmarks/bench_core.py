"""How fast graphs are built, plays are written and referees count; run by ``make bench``.

Each benchmark stores its rate in ``extra_info``: vertices or moves a second.
"""

import numpy as np
import pytest

import graphs
import strategies
from bounds.theorems import theorems
from pebble import referee

WORKLOAD = "attention-gradient:n=128,d=32"


@pytest.mark.parametrize("text", [WORKLOAD, "matmul:m=256,n=256,k=256", "fft:n=1048576"])
def test_building_a_dag(benchmark, text):
    workload = graphs.workload(text)
    workload.dag()  # compiled kernels are not what is measured

    dag = benchmark.pedantic(workload.dag, rounds=5)

    benchmark.extra_info["vertices a second"] = len(dag) / benchmark.stats.stats.min


@pytest.mark.parametrize("name", ["naive", "flash", "algorithm6"])
def test_writing_the_moves(benchmark, name):
    workload, strategy = graphs.workload(WORKLOAD), strategies.strategy(name)
    memory = max(1024, strategy.least_memory(workload))

    def count():
        return sum(len(chunk) for chunk in strategy.moves(workload, memory))

    count()
    moves = benchmark.pedantic(count, rounds=5)

    benchmark.extra_info["moves a second"] = moves / benchmark.stats.stats.min


@pytest.mark.parametrize("name", ["naive", "flash", "algorithm6"])
def test_refereeing_the_moves(benchmark, name):
    workload, strategy = graphs.workload(WORKLOAD), strategies.strategy(name)
    memory = max(1024, strategy.least_memory(workload))
    dag = workload.dag()
    moves = np.concatenate(list(strategy.moves(workload, memory)))
    referee(dag, moves, memory)

    report = benchmark.pedantic(referee, args=(dag, moves, memory), rounds=5)

    benchmark.extra_info["moves a second"] = report.moves / benchmark.stats.stats.min


def test_counting_at_scale(benchmark):
    workload = graphs.workload("attention-forward:n=1000000,d=128")

    benchmark(strategies.strategy("flash").count, workload, 100_000)


def test_evaluating_a_bound(benchmark):
    bound = theorems("attention-gradient")[0]

    assert benchmark(bound.evaluate, n=64, d=16, M=64) == 10240
