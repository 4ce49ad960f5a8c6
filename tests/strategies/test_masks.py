"""Schedules under a mask and with dropout: three readings, numbers, and what they cost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.masks import mask
from graphs.registry import workload
from lab.executing import execute
from pebble.referee import referee
from strategies.mask_classes import joint_positions, meetings, row_states
from strategies.registry import RefusalError, strategies, strategy

MASKS = ["causal", "window-1", "causal-window-2", "random-0.3-seed-1", "block-2-butterfly"]
MASKS += ["window-0", "block-3-random-0.4-seed-2"]

#: Kinds of workload, and the tile strategies that visit the kept scores only.
PLAYS = {
    "attention-forward": ["naive", "flash", "block-sparse-flash", "flash2", "attenio", "q-outer"],
    "attention-forward+softmax=safe": ["naive", "two-pass"],
    "attention-forward+softmax=early": ["naive", "two-pass"],
    "attention-backward": ["naive", "flash", "flash2", "split"],
    "attention-training": ["naive", "flash", "flash2", "split"],
    "attention-gradient": ["naive", "flash", "q-outer"],
}
CASES = [(kind, name) for kind, names in PLAYS.items() for name in names]


def asked(kind, n, d, *options):
    name, *more = kind.split("+")
    return workload(f"{name}:" + ",".join([f"n={n},d={d}", *more, *(o for o in options if o)]))


def test_every_strategy_that_claims_masks_is_tested_here():
    tested = {name for names in PLAYS.values() for name in names}
    assert {cls.name for cls in strategies() if getattr(cls, "masks", False)} == tested


def check_readings(kind, name, data):
    n, d = data.draw(st.integers(1, 6), label="n"), data.draw(st.integers(1, 3), label="d")
    kept = data.draw(st.sampled_from(MASKS), label="mask")
    dropout = data.draw(st.sampled_from(["", "dropout=yes"]), label="dropout")
    w, s = asked(kind, n, d, f"mask={kept}", dropout), strategy(name)
    memory = s.least_memory(w) + data.draw(st.integers(0, 30), label="more memory")

    judged = referee(w.dag(), s.moves(w, memory), memory, workload=str(w), strategy=str(s))
    counted = s.count(w, memory)

    for field in ("loads", "stores", "computes", "recomputes", "moves", "tensors"):
        assert getattr(judged, field) == getattr(counted, field), field
    assert judged.peak_red <= counted.peak_red <= memory
    assert execute(w, s, memory, seed=7).agrees


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_referee_counts_what_the_tally_counts(data):
    check_readings(*data.draw(st.sampled_from(CASES), label="strategy"), data)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_referee_counts_what_the_tally_counts_for_each(kind, name, data):
    check_readings(kind, name, data)


@given(st.integers(1, 9), st.sampled_from(MASKS), st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_classes_against_counting_entry_by_entry(n, text, size):
    size = min(size, n)
    made = mask(text, n)
    kept = made.array()

    def place(number, terms):
        if terms == 1:
            return 0
        return {0: 1, terms - 1: 4 if terms > 2 else 5}.get(number, 2 if number == 1 else 3)

    joint, states = Counter(), Counter()
    for i, j in np.argwhere(kept):
        row = place(kept[i, :j].sum(), kept[i].sum())
        joint[row, place(kept[:i, j].sum(), kept[:, j].sum())] += 1
    for i in range(n):
        for low in range(0, n, size):
            if kept[i, low : low + size].any():
                before, after = kept[i, :low].sum(), kept[i, : low + size].sum()
                done = after == kept[i].sum()
                states[min(before, 2), 3 if done else min(after, 2)] += 1
    assert joint_positions(made) == joint
    assert row_states(made, size) == states
    met = sum(kept[low : low + size].any(axis=0).sum() for low in range(0, n, size))
    assert meetings(made.columns, size) == met


@pytest.mark.parametrize(
    ("kind", "name"), [case for case in CASES if case[1] != "block-sparse-flash"]
)
def test_a_mask_that_keeps_all_costs_what_no_mask_costs(kind, name):
    s, dense = strategy(name), asked(kind, 6, 3)
    memory = s.least_memory(dense) + 17
    full, plain = s.count(asked(kind, 6, 3, "mask=window-9"), memory), s.count(dense, memory)

    assert (full.loads, full.stores, full.tensors) == (plain.loads, plain.stores, plain.tensors)
    assert full.moves == plain.moves


def test_flash_skips_in_proportion_to_the_density():
    """Dao22, Proposition 4: Θ(nd + s n² d² / M), s the share of blocks that are kept."""
    n, d, tiles = 4096, 64, 32
    for share in (0.1, 0.2, 0.5):
        w = workload(f"attention-forward:n={n},d={d},mask=block-128-random-{share}-seed-1")
        kept = w.pairs().pairs / n**2
        io = strategy("block-sparse-flash:columns=128").count(w, 64 * 300).io
        # Each row moves Q, U and l for every tile it meets; K, V once; what begins and ends, O.
        assert io == 2 * n * d + n * tiles * kept * (3 * d + 2) - 2 * n * (d + 1) + n * d


def test_causal_closed_form():
    """Rows and blocks of columns meet n T - B T (T - 1) / 2 times, T = ceil(n / B)."""
    for n, d, B in ((10, 3, 4), (7, 2, 7), (9, 1, 1), (1 << 20, 64, 768)):
        w = workload(f"attention-forward:n={n},d={d},mask=causal")
        T = -(-n // B)
        met = n * T - B * T * (T - 1) // 2
        report = strategy(f"flash:columns={B}").count(w, 1 << 40)
        assert report.io == 2 * n * d + met * d + 2 * (met - n) * (d + 1) + n * d


def test_causal_halves_the_work_at_any_scale():
    size = "n=1048576,d=64"
    for kind, name in (("forward", "q-outer"), ("backward", "split"), ("gradient", "q-outer")):
        dense = strategy(name).count(workload(f"attention-{kind}:{size}"), 98304).io
        causal = strategy(name).count(workload(f"attention-{kind}:{size},mask=causal"), 98304).io
        assert causal / dense == pytest.approx(0.5, rel=0.03)


def test_what_is_refused_says_who_plays():
    causal = workload("attention-forward:n=4,d=2,mask=causal")

    with pytest.raises(RefusalError, match="forms every score; under a mask play attenio, block-s"):
        strategy("standard").count(causal, 100)
    with pytest.raises(RefusalError, match="take sizes=fit"):
        strategy("flash:sizes=paper").count(causal, 100)
    with pytest.raises(RefusalError, match="give one, as mask=block-64-butterfly"):
        strategy("block-sparse-flash").count(workload("attention-forward:n=4,d=2"), 100)
    with pytest.raises(RefusalError, match="no text for dropout; play attenio"):
        strategy("standard").count(workload("attention-forward:n=4,d=2,dropout=yes"), 100)


def test_dropout_moves_one_seed_more():
    """The factors are recomputed from the seed, one more red pebble: no other I/O."""
    for kind, name, passes in (("forward", "flash", 1), ("backward", "split", 2)):
        s, plain = strategy(name), workload(f"attention-{kind}:n=9,d=2")
        dropped = workload(f"attention-{kind}:n=9,d=2,dropout=yes")
        sizes = f"{name}:columns=3" if name == "flash" else f"{name}:rows=2,columns=2"
        counts = [strategy(sizes).count(w, 500).io for w in (plain, dropped)]
        assert counts[1] - counts[0] == passes
        assert s.least_memory(dropped) > s.least_memory(plain)


@pytest.mark.parametrize(("kind", "name"), [c for c in CASES if c[1] != "block-sparse-flash"])
def test_closed_forms_of_the_causal_mask(kind, name):
    """Exact for at least two tiles; under other masks in numbers of meetings, which are counted."""
    s = strategy(name)
    for n, d, extra in ((11, 3, 9), (9, 2, 3)):
        w = asked(kind, n, d, "mask=causal")
        memory = s.least_memory(w) + extra
        form, fitted = s.closed_form(w, memory), s.fitted(w, memory)
        sizes = {
            symbols[key]: size
            for symbols, (_, chosen) in zip(form.symbols, fitted, strict=True)
            for key, size in chosen.items()
            if key in symbols
        }
        counted = s.count(w, memory)
        for field in ("loads", "stores", "computes"):
            value = form.evaluate(getattr(form, field), **sizes, n=n, d=d)
            assert value == getattr(counted, field), field


def test_closed_form_of_any_mask():
    w = workload("attention-forward:n=40,d=3,mask=random-0.1-seed-4")
    s = strategy("flash:columns=7")
    form = s.closed_form(w)
    met = mask("random-0.1-seed-4", 40).array()
    meetings = sum(int(met[:, low : low + 7].any(axis=1).sum()) for low in range(0, 40, 7))

    assert str(form.io) == "3*Z_c*d + 2*Z_c + d*n - 2*n"
    assert "N_p, Z_c are counted from the mask" in form.domain
    assert form.evaluate(form.io, n=40, d=3, Z_c=meetings) == s.count(w, 500).io
