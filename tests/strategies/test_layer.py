"""Attention with its projections: sizes, numbers, and reads and writes by hand."""

import pytest

import lab
from graphs import workload
from lab.executing import execute
from strategies import check_strategy, strategy
from strategies.registry import RefusalError

LAYER = "attention-layer:n=6,d=2,e=3"


def test_inputs_outputs_and_vertices():
    n, d, e = 6, 2, 3
    formula = workload(LAYER).formula()
    forward = workload("attention-forward:n=6,d=2").formula()

    assert formula.inputs_size() == n * e + 3 * e * d
    assert formula.outputs_size() == n * d
    # A projection has a product for every term and a sum of e terms for every entry.
    assert formula.computed_size() == forward.computed_size() + 3 * n * d * (2 * e - 1)
    assert len(workload(LAYER).dag()) == formula.computed_size() + formula.inputs_size()


@pytest.mark.parametrize("name", ["flash", "flash2", "standard", "eager"])
def test_strategies_keep_their_promises_and_compute_the_layer(name):
    assert check_strategy(name, ["attention-layer:n=1,d=1,e=1", LAYER])
    least = strategy(name).least_memory(workload(LAYER))
    for memory in (least, least + 20):
        assert execute(LAYER, name, memory, seed=4).agrees


def test_reads_and_writes_by_hand():
    n, d, e = 64, 4, 8
    report = lab.count(f"attention-layer:n={n},d={d},e={e}", "flash2:rows=16", 1000)

    # Weights resident: X once for each projection; Q, K, V written; then K and V for 4 blocks of Q.
    projections = 3 * (n * e + e * d + n * d)
    assert report.io == projections + n * d + 4 * 2 * n * d + n * d


def test_printed_sizes_are_refused_in_words():
    with pytest.raises(RefusalError, match="no sizes for the projections"):
        lab.count(LAYER, "flash:sizes=paper", 100)
