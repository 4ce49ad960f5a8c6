"""Masks: their statistics against arrays, their DAGs against numpy, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.masks import mask
from graphs.registry import workload
from pebble.errors import GraphError, SpecError
from pebble.machine import evaluate, random_inputs, read_tensor

#: Masks by their texts, and what each means, entry by entry.
MEANINGS = {
    "causal": lambda i, j: j <= i,
    "window-0": lambda i, j: i == j,
    "window-2": lambda i, j: abs(i - j) <= 2,
    "causal-window-3": lambda i, j: i - 3 < j <= i,
    "block-3-butterfly": lambda i, j: i // 3 == j // 3 or (i // 3 ^ j // 3).bit_count() == 1,
    "random-0-seed-5": lambda i, j: i == j,
    "random-1-seed-5": lambda i, j: True,
}
SCATTERED = ["random-0.2-seed-3", "block-4-random-0.3-seed-1"]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("text", MEANINGS)
def test_what_each_text_keeps(text, n):
    wanted = [[MEANINGS[text](i, j) for j in range(n)] for i in range(n)]

    assert mask(text, n).array().tolist() == wanted


@pytest.mark.parametrize("text", [*MEANINGS, *SCATTERED])
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_lines_against_the_array(text, n):
    made = mask(text, n)
    kept = made.array()
    begins, queries, order = made.csc

    assert made.pairs == kept.sum()
    assert np.array_equal(np.argwhere(kept.T)[:, 1], queries)
    assert np.array_equal(np.diff(begins), kept.sum(axis=0))
    assert np.array_equal(made.csr[1][order], np.argwhere(kept.T)[:, 0])
    for lines, array in ((made.rows, kept), (made.columns, kept.T)):
        places = [np.flatnonzero(line) for line in array]
        first, second, last = lines.ends()
        assert lines.each(lines.counts).tolist() == [len(x) for x in places]
        assert first.tolist() == [x[0] for x in places]
        assert second.tolist() == [x[1] if len(x) > 1 else -1 for x in places]
        assert last.tolist() == [x[-1] for x in places]
        for size in range(1, n + 2):
            blocks, leading = (lines.each(x) for x in lines.touched(size))
            assert blocks.tolist() == [len(set(x // size)) for x in places]
            assert leading.tolist() == [int((x // size == x[0] // size).sum()) for x in places]


def test_a_random_mask_has_its_density_and_its_diagonal():
    kept = mask("random-0.1-seed-3", 500).array()

    assert kept.diagonal().all()
    assert 0.095 < kept.mean() < 0.107
    assert not np.array_equal(kept, mask("random-0.1-seed-4", 500).array())
    assert np.array_equal(kept, mask("random-0.10-seed-3", 500).array())


def test_masks_from_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = np.eye(5, dtype=bool) | np.eye(5, k=-2, dtype=bool)
    scipy.io.mmwrite("a.mtx", scipy.sparse.coo_array(wanted.astype(int)))
    scipy.sparse.save_npz("b.npz", scipy.sparse.csr_array(wanted))
    np.savez("c.npz", mask=wanted)
    np.save("d.npy", wanted)
    np.save("e.npy", np.eye(3) + np.eye(3, k=1))

    for name in ("a.mtx", "b.npz", "c.npz", "d.npy"):
        assert np.array_equal(mask(name, 5).array(), wanted)
    blocks = np.kron(np.eye(3) + np.eye(3, k=1), np.ones((2, 2))).astype(bool)
    assert np.array_equal(mask("block-2-e.npy", 5).array(), blocks[:5, :5])
    w = workload("attention-forward:n=5,d=2,mask=a.mtx")
    assert str(workload(str(w))) == "attention-forward:n=5,d=2,mask=a.mtx"


def test_bad_masks_say_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = np.ones((4, 4))
    empty[2] = 0
    np.save("row.npy", empty)
    np.save("column.npy", empty.T)
    np.savez("two.npz", a=empty, b=empty)
    (tmp_path / "bad.npz").write_text("no archive")

    with pytest.raises(SpecError, match="unknown mask 'diagonal': expected causal, window-W"):
        mask("diagonal", 4)
    with pytest.raises(SpecError, match=r"expected a probability from 0 to 1, got '1.5'"):
        mask("random-1.5-seed-1", 4)
    with pytest.raises(SpecError, match="expected random-P-seed-S"):
        mask("random-0.5", 4)
    with pytest.raises(SpecError, match="expected a whole number >= 1, got '0'"):
        mask("block-0-butterfly", 4)
    with pytest.raises(SpecError, match="after block-2-, got 'causal'"):
        mask("block-2-causal", 4)
    with pytest.raises(GraphError, match=r"there is no file none.npy"):
        mask("none.npy", 4)
    with pytest.raises(GraphError, match=r"bad.npz does not read as a matrix"):
        mask("bad.npz", 4)
    with pytest.raises(GraphError, match="expected one array or a sparse matrix"):
        mask("two.npz", 4)
    with pytest.raises(GraphError, match=r"row 2 is empty .its softmax would divide by zero"):
        mask("row.npy", 4)
    with pytest.raises(GraphError, match=r"column 2 is empty .no query attends to that key"):
        mask("column.npy", 4)
    with pytest.raises(GraphError, match=r"expected a matrix of 5 x 5, row.npy holds 4 x 4"):
        mask("row.npy", 5)
    with pytest.raises(GraphError, match=r"would have about 1.1e.11 entries"):
        mask("random-0.1-seed-1", 1 << 20)
    with pytest.raises(SpecError, match="a mask needs sum=chain"):
        workload("attention-forward:n=4,d=2,mask=causal,sum=tree")
    with pytest.raises(SpecError, match="softmax=online has no mask"):
        workload("attention-forward:n=4,d=2,mask=causal,softmax=online,block=2")


def by_terms(n, d, kept, backward):
    """Vertices of attention under a mask, counted sum by sum."""

    def chain(terms):
        return max(terms - 1, 1)

    pairs, rows, columns = int(kept.sum()), kept.sum(axis=1), kept.sum(axis=0)
    total = 2 * n * d  # Q, K
    total += pairs * (2 * d - 1) + pairs  # S, A
    total += n * d  # V
    if not backward:
        total += sum(chain(r) for r in rows)  # l
        return total + pairs * d + sum(chain(r) for r in rows) * d + n * d  # U, O
    total += 2 * n * d + n  # O, dO, l
    total += pairs * (2 * d - 1) + n * (2 * d - 1) + 3 * pairs  # dP, D; P, Z, dS
    total += pairs * d + sum(chain(r) for r in rows) * d  # dQ
    return total + 2 * (pairs * d + sum(chain(c) for c in columns) * d)  # dK, dV


@given(st.integers(1, 6), st.integers(1, 3), st.sampled_from([*MEANINGS, *SCATTERED]))
@settings(max_examples=60, deadline=None)
def test_the_dag_has_the_vertices_it_should_and_computes_attention(n, d, text):
    w = workload(f"attention-forward:n={n},d={d},mask={text}")
    dag, kept = w.dag(), w.pairs().array()
    back = workload(f"attention-backward:n={n},d={d},mask={text}")

    assert len(dag) == by_terms(n, d, kept, backward=False)
    assert len(back.dag()) == by_terms(n, d, kept, backward=True)
    for built in (dag, back.dag()):
        assert built.needed.all()
        built._check()
        assert all(built.vertex(built.name(v)) == v for v in range(len(built)))
    values = evaluate(dag, random_inputs(dag, n))
    Q, K, V = (read_tensor(dag, values, name) for name in "QKV")
    A = np.exp(Q @ K.T) * kept
    O = A / A.sum(axis=1, keepdims=True) @ V
    np.testing.assert_allclose(read_tensor(dag, values, "O"), O, rtol=1e-9, atol=1e-12)


def test_names_follow_the_mask():
    dag = workload("attention-forward:n=4,d=2,mask=causal").dag()

    assert dag.describe(dag.vertex("U.sum[3,1,1]")).endswith("= add(U.prod[3,1,0], U.prod[3,1,1])")
    assert dag.describe(dag.vertex("l[0]")).endswith("= copy(A[0,0])")
    with pytest.raises(ValueError, match=r"S\[0,1\] does not exist"):
        dag.vertex("S[0,1]")


def test_wide_windows_and_numbers_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("additive.npy", np.where(np.tri(3), 0.0, -np.inf) + 0.0)

    for text in ("window-99999999999999999999", "window-9223372036854775807"):
        assert mask(text, 4).pairs == 16
    assert mask(f"block-{10**30}-butterfly", 4).pairs == 16
    with pytest.raises(GraphError, match="no finite numbers; nonzeros are kept"):
        mask("additive.npy", 3)
    assert mask("window-1", 4).fingerprint != mask("window-2", 4).fingerprint
