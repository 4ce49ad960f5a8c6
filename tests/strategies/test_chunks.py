"""Rabe and Staats: reads and writes of chunks, counted by hand."""

import pytest

import lab
from graphs import workload

FORWARD, BACKWARD, TRAINING = (
    f"attention-{kind}:n=12,d=3" for kind in ("forward", "backward", "training")
)


@pytest.mark.parametrize("rows", [1, 4, 5, 12])
def test_chunks_of_queries_by_hand(rows):
    n, d, chunks = 12, 3, -(-12 // rows)
    how = f"rabe-staats:rows={rows}"

    # Q and O once, K and V for every chunk.
    assert lab.count(FORWARD, how, 500).io == 2 * n * d + chunks * 2 * n * d
    # Q, O, dO, l, dQ once; for every chunk K and V, dK and dV read (but for the first) and written.
    backward = 4 * n * d + n + chunks * 4 * n * d + (chunks - 1) * 2 * n * d
    assert lab.count(BACKWARD, how, 500).io == backward
    # From checkpoints: neither O nor l is read, but dO twice, and K and V twice for every chunk.
    again = 4 * n * d + (chunks * 6 + (chunks - 1) * 2) * n * d
    assert lab.count(TRAINING, how, 500).io == 2 * n * d + chunks * 2 * n * d + again


def test_the_size_of_key_chunks_changes_no_io():
    for what in (FORWARD, BACKWARD, TRAINING):
        one, five = (lab.count(what, f"rabe-staats:rows=4,columns={c}", 500) for c in (1, 5))
        assert (one.io, one.computes) == (five.io, five.computes)


def test_checkpoints_are_paid_for_in_operations():
    n, d = 12, 3
    report = lab.count(TRAINING, "rabe-staats", 500)

    # S and A are made three times: for O, for O and l again, for P. l, U and O are made twice.
    scores, sums = n * n * (2 * d - 1) + n * n, n * (n - 1) + n * d * (2 * n - 1) + n * d
    once = workload(TRAINING).formula().computed_size()
    assert report.computes - once == report.recomputes == 2 * scores + sums
