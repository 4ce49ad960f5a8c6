"""Three readings of a schedule text held against each other: moves, counts, closed forms."""

import dataclasses
import typing

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from graphs import workload
from graphs.layout import Layout
from pebble.errors import BudgetError, SpecError
from pebble.machine import evaluate, execute, random_inputs
from pebble.referee import referee
from strategies import strategies, strategy
from strategies.closed_form import _parts
from strategies.phases import TileStrategy
from strategies.schedule import Schedule, Step
from strategies.scribe import scribe

KINDS = [
    "attention-forward:n={n},d={d}",
    "attention-forward:n={n},d={d},softmax=early",
    "attention-forward:n={n},d={d},softmax=safe",
    "attention-backward:n={n},d={d}",
    "attention-training:n={n},d={d}",
    "attention-gradient:n={n},d={d}",
    "attention-gradient:n={n},d={d},given=dO",
    "attention-gradient:n={n},d={d},form=as24",
    "attention-gradient:n={n},d={d},form=as24,given=dO",
    "bilinear:n={n},d={d}",
    "matmul:m={k},n={n},k={d}",
]
TILED = [kind for kind in strategies() if issubclass(kind, TileStrategy)]


@st.composite
def plays(draw):
    """A tile strategy with some of its options, a workload it plays, and an M it plays with."""
    kind = draw(st.sampled_from(TILED))
    hints, options = typing.get_type_hints(kind), {}
    for field in dataclasses.fields(kind):
        words = [w for w in typing.get_args(hints[field.name]) if isinstance(w, str)]
        if words:
            options[field.name] = draw(st.sampled_from(words))
        elif draw(st.booleans()):
            options[field.name] = draw(st.integers(1, 6))
    try:
        played = kind(**options)
    except SpecError:  # options that exclude each other
        reject()
    mine = [t for t in KINDS if played.refusal(workload(t.format(n=2, d=2, k=2))) is None]
    assume(mine)
    n, d, k = draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 6))
    chosen = workload(draw(st.sampled_from(mine)).format(n=n, d=d, k=k))
    assume(played.refusal(chosen) is None)
    more = draw(st.sampled_from([0, 0, 1, 2, 5, 11, 30, 90, 300]))
    return played, chosen, played.least_memory(chosen) + more


def check(played, chosen, memory):
    dag = chosen.dag()
    chunks = list(played.moves(chosen, memory))
    report = referee(dag, chunks, memory, workload=str(chosen), strategy=str(played))
    assert report == played.count(chosen, memory)
    least = played.least_memory(chosen)
    with pytest.raises(BudgetError, match=f"needs M >= {least}, got M = {least - 1}") as caught:
        played.count(chosen, least - 1)
    assert caught.value.least == least
    # and the pebbling computes: outputs in slow memory are the DAG's values
    inputs = random_inputs(dag, 7)
    found = execute(dag, chunks, inputs)[dag.outputs]
    np.testing.assert_allclose(found, evaluate(dag, inputs)[dag.outputs], rtol=1e-12)
    return report


@settings(max_examples=30)
@given(plays())
def test_the_referee_counts_what_the_tally_counts(play):
    check(*play)


@pytest.mark.slow
@settings(max_examples=500)
@given(plays())
def test_the_referee_counts_what_the_tally_counts_many_times(play):
    check(*play)


@pytest.mark.parametrize("kind", TILED)
@pytest.mark.parametrize("text", KINDS)
def test_every_tile_strategy_at_its_least_m(kind, text):
    for n, d, k in ((1, 1, 1), (3, 2, 4)):
        chosen = workload(text.format(n=n, d=d, k=k))
        if kind().refusal(chosen) is None:
            check(kind(), chosen, kind().least_memory(chosen))


# -- closed forms --------------------------------------------------------------------------------


def closed_form_agrees(played, chosen, memory):
    """Whether the formula could be held against the count: its domain holds."""
    form = played.closed_form(chosen, memory)
    values = dict(chosen.sizes())
    fitted = played.fitted(chosen, memory)
    for choice, (phase, sizes) in zip(_parts(played, chosen), fitted, strict=True):
        part = next(part for part in choice if part.phase.name == phase.name)
        values |= {part.sizes[name]: size for name, size in sizes.items()}
    in_domain = all(size >= 2 for size in chosen.sizes().values()) and all(
        form.evaluate(tiles, **values) >= 2 for tiles in form.tiles.values()
    )
    if not in_domain:
        return False
    count = played.count(chosen, memory)
    for name in ("loads", "stores", "io", "computes"):
        assert form.evaluate(getattr(form, name), **values) == getattr(count, name), name
    assert form.evaluate(form.peak, **values) >= count.peak_red
    return True


def forms():
    """Every tile strategy on what it plays; many phases take sympy too long for every day."""
    for kind in TILED:
        for text in KINDS:
            if kind().refusal(workload(text.format(n=2, d=2, k=2))) is None:
                quick = text in ("attention-forward:n={n},d={d}", "matmul:m={k},n={n},k={d}")
                marks = () if quick and kind.name != "stored" else pytest.mark.slow
                yield pytest.param(kind, text, id=f"{kind.name}-{text}", marks=marks)


@pytest.mark.parametrize(("kind", "text"), list(forms()))
def test_closed_forms_give_the_counts(kind, text):
    chosen = workload(text.format(n=7, d=3, k=6))
    memory = kind().least_memory(chosen)
    # Where a tile covers a whole index the domain is left: then tiles of two are tried instead.
    assert closed_form_agrees(kind(), chosen, memory) or closed_form_at_two(kind(), chosen)


def closed_form_at_two(played, chosen):
    """Hold the formula of each phase's first text against its tally with all tiles of size two."""
    form = played.closed_form(chosen)
    values = dict(chosen.sizes())
    loads = stores = computes = 0
    formula = chosen.formula()
    for parts, choice in zip(_parts(played, chosen), played.phases(chosen, formula), strict=True):
        phase = choice[0]
        sizes = {tile.name: 2 for tile in phase.free()}
        counts = phase.counts(formula, sizes)
        loads += counts.loads
        stores += counts.stores
        computes += counts.computes
        values |= {parts[0].sizes[name]: size for name, size in sizes.items()}
    for name, count in (("loads", loads), ("stores", stores), ("computes", computes)):
        assert form.evaluate(getattr(form, name), **values) == count, name
    return True


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("flash:columns=4", "attention-forward:n=11,d=2"),
        ("flash:columns=3,rows=2", "attention-backward:n=7,d=3"),
        ("saha-ye:tile=2", "attention-forward:n=7,d=3"),
    ],
)
def test_closed_forms_of_given_sizes(spec, text):
    form, given = strategy(spec).closed_form(workload(text)), workload(text)
    count = strategy(spec).count(given, 200)
    for name in ("loads", "stores", "io", "computes"):
        assert form.evaluate(getattr(form, name), **given.sizes()) == getattr(count, name), name


# -- an expander of the recorded loops, slow and plain -------------------------------------------


def expand(body, rounds):
    for node in body:
        if isinstance(node, Step):
            base = node.base + sum(rounds[loop] * step for loop, step in node.strides.items())
            for index in np.ndindex(*(size for size, _ in node.box)):
                offset = sum(x * step for x, (_, step) in zip(index, node.box, strict=True))
                yield node.kind << 30 | base + offset
        else:
            for turn in range(node.count):
                yield from expand(node.body, {**rounds, node: turn})


def written(text, chosen):
    formula = chosen.formula()
    schedule = Schedule(formula, Layout.of(formula))
    text(schedule)
    return schedule


def scribed(schedule):
    chunks = list(scribe(schedule))
    assert all(0 < len(chunk) <= 1 << 20 for chunk in chunks)
    assert all(chunk.dtype == np.uint32 for chunk in chunks)
    return np.concatenate(chunks), chunks


def plain(schedule):
    return np.fromiter(expand(schedule.program, {}), np.uint32)


@settings(max_examples=12)
@given(plays())
def test_the_scribe_writes_what_the_loops_say(play):
    played, chosen, memory = play

    def text(schedule):
        for phase, sizes in played.fitted(chosen, memory):
            phase.text(schedule, **phase.fixed, **sizes)

    schedule = written(text, chosen)
    assert np.array_equal(scribed(schedule)[0], plain(schedule))


def boxes(s):
    """Boxes longer than a run, in one and in two loops around."""
    A, B, C = s.arrays("A", "B", "C")
    s.load(A[:, :])
    s.free(A[:, :])
    for i in s.blocks(C.size[0], 30):
        s.load(A[i, :], B[:, :])
        s.free(B[:, :])
        s.accumulate(C[i, :])
        s.store(C[i, :])
        s.free(C[i, :], A[i, :])


@pytest.mark.parametrize(
    "text",
    [
        "matmul:m=70,n=2,k=90",
        pytest.param("matmul:m=31,n=9,k=500", marks=pytest.mark.slow),
        "matmul:m=2,n=1,k=5000",
    ],
)
def test_boxes_and_loops_longer_than_a_run(text):
    schedule = written(boxes, workload(text))
    assert np.array_equal(scribed(schedule)[0], plain(schedule))


def entries(s):
    A, B, C = s.arrays("A", "B", "C")
    for i in s.each(C.size[0]):
        s.load(A[i, :])
        for j in s.each(C.size[1]):
            s.load(B[:, j])
            s.accumulate(C[i, j])
            s.store(C[i, j])
            s.free(C[i, j], B[:, j])
        s.free(A[i, :])


def test_plays_of_several_chunks(monkeypatch):
    monkeypatch.setattr("strategies.scribe.CHUNK", 1 << 15)
    schedule = written(entries, workload("matmul:m=20,n=20,k=40"))
    moves, chunks = scribed(schedule)
    assert len(chunks) > 2
    assert all(len(chunk) <= 1 << 15 for chunk in chunks)
    assert np.array_equal(moves, plain(schedule))


def test_tallies_do_not_wait_for_large_n():
    report = strategy("flash").count(workload("attention-forward:n=1000000,d=128"), 100_000)
    columns = strategy("flash").fitted(workload("attention-forward:n=1000000,d=128"), 100_000)
    ((_, sizes),) = columns
    n, d, T = 10**6, 128, -(-(10**6) // sizes["columns"])
    assert report.io == 3 * T * n * d + 2 * T * n + n * d - 2 * n
