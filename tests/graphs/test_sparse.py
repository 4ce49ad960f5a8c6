"""Attention with sparse inputs against numpy, and the numbers its bound is made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bounds.literature import LI_SPARSE_INPUTS
from graphs.registry import workload
from pebble.errors import SpecError
from pebble.machine import evaluate, random_inputs


@given(st.integers(1, 9), st.integers(1, 4), st.sampled_from([0.2, 0.5, 1]), st.integers(1, 99))
@settings(max_examples=60, deadline=None)
def test_the_dag_computes_attention_over_the_nonzeros(n, d, density, seed):
    w = workload(f"attention-sparse:n={n},d={d},density={density},seed={seed}")
    if not w.facts()["Z_QK"]:
        with pytest.raises(SpecError, match="no score has a product"):
            w.dag()
        return
    dag = w.dag()
    values = evaluate(dag, random_inputs(dag, seed))

    def dense(name):
        out = np.zeros((n, d))
        if name in {tensor.name for tensor in dag.tensors}:
            tensor = dag.tensor(name)
            out[tuple(tensor.keys.T)] = values[tensor.base : tensor.base + len(tensor)]
        return out

    Q, K, V = map(dense, "QKV")
    kept = (Q != 0).astype(int) @ (K != 0).astype(int).T > 0
    A = np.exp(Q @ K.T) * kept
    sums = A.sum(axis=1, keepdims=True)
    O = A @ V / np.where(sums == 0, 1, sums)
    assert w.facts() == {
        "Z_input": int((Q != 0).sum() + (K != 0).sum()),
        "Z_QK": int(kept.sum()),
    }
    if "O" in {tensor.name for tensor in dag.tensors}:
        np.testing.assert_allclose(dense("O"), O, rtol=1e-9, atol=1e-12)
        assert dag.outputs.size == (kept.astype(int) @ (V != 0).astype(int) > 0).sum()


def test_full_density_is_attention():
    full = workload("attention-sparse:n=5,d=3,density=1")

    assert full.facts() == {"Z_input": 30, "Z_QK": 25}
    assert len(full.dag()) == len(workload("attention-forward:n=5,d=3").dag())
    with pytest.raises(SpecError, match=r"density must be above 0 and at most 1: 0\.0"):
        workload("attention-sparse:n=5,d=3,density=0")


def test_li24s_sparse_bound_has_its_numbers():
    w = workload("attention-sparse:n=40,d=8,density=0.3,seed=2")
    facts = w.facts()
    low = facts["Z_input"] ** 2 // facts["Z_QK"]

    value = LI_SPARSE_INPUTS.evaluate(**facts, M=low)

    # The regimes meet at M = Z_input² / Z_QK, where both terms are Z_QK.
    assert float(value) == pytest.approx(facts["Z_QK"], rel=0.1)
    masked = workload("attention-forward:n=9,d=2,mask=causal").facts()
    assert masked == {"Z_input": 36, "Z_QK": 45}
