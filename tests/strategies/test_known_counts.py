"""Counts that the papers print or that a few lines of arithmetic give."""

import numpy as np
import pytest

from graphs import workload
from pebble.errors import IllegalMoveError
from pebble.moves import COMPUTE, LOAD, unpack
from pebble.referee import referee
from strategies import RefusalError, strategy


def counts(spec, text, memory):
    report = strategy(spec).count(workload(text), memory)
    return report.loads, report.stores


@pytest.mark.parametrize(
    ("n", "d", "memory"), [(12, 2, 40), (13, 3, 64), (30, 4, 100), (64, 8, 300)]
)
def test_flash_forward(n, d, memory):
    given = workload(f"attention-forward:n={n},d={d}")
    ((_, sizes),) = strategy("flash").fitted(given, memory)
    T = -(-n // sizes["columns"])
    assert T > 1
    # K, V once; Q, U and l in every round, U and l not in the first; U and l out, at last O
    loads, stores = 2 * n * d + T * (2 * n * d + n) - n * d - n, (T - 1) * (n * d + n) + n * d
    assert counts("flash", str(given), memory) == (loads, stores)
    assert loads + stores == 3 * T * n * d + 2 * T * n + n * d - 2 * n


@pytest.mark.parametrize(("n", "d", "memory"), [(12, 2, 60), (13, 3, 90), (30, 4, 200)])
def test_flash_backward_as_printed(n, d, memory):
    given = workload(f"attention-backward:n={n},d={d}")
    ((_, sizes),) = strategy("flash").fitted(given, memory)
    T = -(-n // sizes["columns"])
    assert T > 1
    # Alg. 4: K, V once; Q, O, dO, dQ and l in every round, dQ not in the first
    loads, stores = 2 * n * d + T * (4 * n * d + n) - n * d, T * n * d + 2 * n * d
    assert counts("flash", str(given), memory) == (loads, stores)


@pytest.mark.parametrize(("spec", "constant"), [("flash:sizes=paper", 12), ("flash", 6)])
def test_leading_constant_of_flash_forward(spec, constant):
    import sympy

    given = workload("attention-forward:n=64,d=8")
    form = strategy(spec).closed_form(given)
    n, d, M = sympy.symbols("n d M", positive=True, integer=True)
    leading = form.leading["d^2 << M << n d"]
    assert sympy.simplify(leading - constant * n**2 * d**2 / M) == 0
    assert f"{constant}*d**2*n**2/M" in str(form)


@pytest.mark.parametrize(("n", "d", "B"), [(64, 16, 4), (60, 12, 6), (32, 32, 8)])
def test_saha_ye_as_printed(n, d, B):
    given = f"attention-forward:n={n},d={d}"
    expected = (4 * n * n * d // B + n, n * n + n * d + n)
    assert counts(f"saha-ye:tile={B}", given, 4 * B * B + 10) == expected


def test_standard_forward_reads_and_writes_every_matrix_once():
    n, d = 24, 3
    expected = (2 * n * n + 3 * n * d + n, 2 * n * n + n * d + n)
    assert counts("standard", f"attention-forward:n={n},d={d}", 2000) == expected


@pytest.mark.parametrize(("n", "d"), [(2, 2), (5, 3), (100, 16)])
def test_naive_by_hand(n, d):
    # S: two operands a product; A; l: A again; U: two operands a product; O: U and l
    loads = 2 * n * n * d + n * n + n * n + 2 * n * n * d + 2 * n * d
    stores = n * n + n * n + n + n * d + n * d
    assert counts("naive", f"attention-forward:n={n},d={d}", 4) == (loads, stores)
    assert counts("naive", f"matmul:m={n},n={d},k=7", 4) == (14 * n * d, n * d)


@pytest.mark.parametrize("memory", [4, 5, 50, 10**6])
def test_naive_makes_nothing_of_more_memory(memory):
    assert counts("naive", "attention-forward:n=6,d=2", memory) == counts(
        "naive", "attention-forward:n=6,d=2", 4
    )


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("attention-forward:n=5,d=3", 4),
        ("attention-backward:n=5,d=3", 4),
        ("attention-gradient:n=5,d=3", 4),
        ("matmul:m=5,n=3,k=2", 4),
        ("matmul:m=5,n=3,k=1", 3),
        ("attention-forward:n=5,d=3,sum=tree", 3),
        ("fft:n=8", 3),
        ("tree:depth=2,arity=5", 6),
    ],
)
def test_least_memory_of_naive(text, least):
    assert strategy("naive").least_memory(workload(text)) == least


@pytest.mark.parametrize("given", ["E", "dO"])
@pytest.mark.parametrize("more", [0, 7, 60])
def test_flash_on_the_gradient_is_two_sweeps(given, more):
    chosen = workload(f"attention-gradient:n=7,d=3,given={given}")
    dag, flash = chosen.dag(), strategy("flash")
    moves = np.concatenate(list(flash.moves(chosen, flash.least_memory(chosen) + more)))
    kinds, vertices = unpack(moves)
    made: dict[str, list[int]] = {}
    for step in np.flatnonzero(kinds == COMPUTE):
        name = dag.name(int(vertices[step]))
        made.setdefault(name.split("[")[0], []).append(int(step))
    first = made["p"][0]
    for name in ("O", "l", "r", *(["c"] if given == "E" else [])):
        assert len(made[name]) == (7 if name in "lr" else 21)
        assert made[name][-1] < first, name


def test_flash_refuses_what_it_cannot_play_by_name():
    with pytest.raises(RefusalError, match="form=as24"):
        strategy("flash").count(workload("attention-gradient:n=4,d=2,form=as24"), 100)
    with pytest.raises(RefusalError, match="sum=chain"):
        strategy("flash").count(workload("attention-forward:n=4,d=2,sum=tree"), 100)
    with pytest.raises(RefusalError, match="never fit"):
        strategy("flash:sizes=paper").count(workload("attention-backward:n=4,d=2"), 10**6)


@pytest.mark.parametrize(("n", "d"), [(8, 4), (9, 2), (3, 5)])
def test_printed_sizes_fit_from_the_least_m_on_and_not_at_the_one_before(n, d):
    # ceil(M / 4d) steps up before the memory for another column is there
    given, flash = workload(f"attention-forward:n={n},d={d}"), strategy("flash:sizes=paper")
    dag, least = given.dag(), flash.least_memory(given)
    for memory in range(least, least + 8 * d + 1):
        referee(dag, flash.moves(given, memory), memory)
    phase, sizes = flash.phases(given, given.formula())[0][0], flash.paper_sizes(given, least - 1)
    assert phase.counts(given.formula(), sizes).peak > least - 1


def test_exchanging_the_loads_of_two_inputs_of_one_shape_is_noticed():
    given = workload("attention-forward:n=6,d=2")
    dag, flash = given.dag(), strategy("flash")
    moves = np.concatenate(list(flash.moves(given, 30)))
    referee(dag, moves, 30)
    kinds, vertices = unpack(moves)
    tensors = {t.name: t for t in dag.tensors}
    loads = {
        name: (kinds == LOAD) & (vertices >= t.base) & (vertices < t.base + len(t))
        for name, t in tensors.items()
    }
    # (K and V come in together: there the exchange is a mere change of order)
    for one, other in (("Q", "K"), ("Q", "V")):
        shift = np.uint32(abs(tensors[other].base - tensors[one].base))
        swapped = moves.copy()
        swapped[loads[one]] += shift
        swapped[loads[other]] -= shift
        with pytest.raises(IllegalMoveError):
            referee(dag, swapped, 30)
