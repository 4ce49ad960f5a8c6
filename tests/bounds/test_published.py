"""The values that Jain and Zaharia published with their code (graphIO, plotting/data/45plots)."""

import numpy as np
import pytest

from bounds.dag_bound import Clock, Problem
from bounds.spectral import eigenvalues, laplacian, segment_bound, spectral
from bounds.wavefront import published_wavefront
from graphs.registry import workload
from pebble.dag import Dag
from pebble.rules import GRAPHIO, ONE_SHOT

PRODUCT = "matmul:m={0},n={0},k={0}"
SPECTRAL = [
    ("fft:n=128", 6.376857, 2.376857),
    ("fft:n=256", 32.403942, 24.403942),
    (PRODUCT.format(8), 19.815311, 13.815311),
    (PRODUCT.format(12), 71.820035, 63.157117),
    pytest.param("fft:n=512", 86.24048, 75.606285, marks=pytest.mark.slow),
    pytest.param("fft:n=1024", 208.961506, 188.26903, marks=pytest.mark.slow),
    pytest.param("fft:n=2048", 475.495776, 432.918925, marks=pytest.mark.slow),
    pytest.param(PRODUCT.format(16), 152.013658, 139.492362, marks=pytest.mark.slow),
    ("strassen 8", 36.089795, 24.18482),
    pytest.param("strassen 16", 416.618647, 359.915264, marks=pytest.mark.slow),
]
MIN_CUTS = [
    ("fft:n=64", 8, 6),
    ("fft:n=128", 8, 6),
    ("fft:n=256", 24, 22),
    (PRODUCT.format(6), 2, 0),
    (PRODUCT.format(8), 4, 2),
    (PRODUCT.format(9), 6, 4),
    (PRODUCT.format(12), 10, 8),
    ("strassen 4", 18, 16),
    ("strassen 8", 50, 48),
    pytest.param("fft:n=512", 24, 22, marks=pytest.mark.slow),
    pytest.param("fft:n=1024", 56, 54, marks=pytest.mark.slow),
]


def strassen(n):
    """Strassen's product of n x n matrices down to scalars; each sum has two operands."""
    rows = []

    def vertex(*operands):
        rows.append(list(operands))
        return len(rows) - 1

    def entrywise(X, Y):
        return np.vectorize(vertex, otypes=[int])(X, Y)

    def product(A, B):
        if len(A) == 1:
            return entrywise(A, B)
        h = len(A) // 2
        (a, b, c, d), (e, f, g, i) = ((X[:h, :h], X[:h, h:], X[h:, :h], X[h:, h:]) for X in (A, B))
        m1 = product(entrywise(a, d), entrywise(e, i))
        m2 = product(entrywise(c, d), e)
        m3 = product(a, entrywise(f, i))
        m4 = product(d, entrywise(g, e))
        m5 = product(entrywise(a, b), i)
        m6 = product(entrywise(c, a), entrywise(e, f))
        m7 = product(entrywise(b, d), entrywise(g, i))
        upper_left = entrywise(entrywise(entrywise(m1, m4), m5), m7)
        lower_right = entrywise(entrywise(entrywise(m1, m2), m3), m6)
        return np.block([[upper_left, entrywise(m3, m5)], [entrywise(m2, m4), lower_right]])

    A, B = (np.array([vertex() for _ in range(n * n)]).reshape(n, n) for _ in range(2))
    product(A, B)
    return Dag.from_predecessors(rows)


def built(text):
    name, _, size = text.partition(" ")
    return strassen(int(size)) if name == "strassen" else workload(text).dag()


@pytest.mark.parametrize(("text", "four", "five"), SPECTRAL)
def test_spectral_values_to_six_digits(text, four, five):
    dag = built(text)
    found = eigenvalues(laplacian(dag), 40)

    assert found.missed == 0
    for memory, value in ((4, four), (5, five)):
        assert segment_bound(len(dag), found.values, memory)[0] == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize(("text", "four", "five"), MIN_CUTS)
def test_min_cut_values_exactly(text, four, five):
    dag = built(text)

    for memory, value in ((4, four), (5, five)):
        found = published_wavefront(Problem.of(dag, memory, GRAPHIO))
        assert (found.value, found.finished) == (value, True)


@pytest.mark.parametrize("text", ["fft:n=256", "matmul:m=8,n=8,k=8", "grid:rows=30,columns=31"])
def test_certified_eigenvalues_are_lower_and_close(text):
    matrix = laplacian(workload(text).dag())
    exact = np.linalg.eigvalsh(matrix.toarray())

    found = eigenvalues(matrix, 60)

    short = exact[: found.values.size] - found.values
    assert found.missed == 0
    assert short.min() > -1e-11
    assert np.abs(short[:20]).max() < 2e-5


def test_an_eigenvalue_that_was_missed_counts_as_zero():
    # Three copies of one graph: every eigenvalue is triple, and a small search misses copies.
    part = laplacian(workload("grid:rows=20,columns=20").dag())
    from scipy.sparse import block_diag

    matrix = block_diag([part] * 3, format="csc")
    exact = np.linalg.eigvalsh(matrix.toarray())

    found = eigenvalues(matrix, 9)

    assert (exact[: found.values.size] - found.values).min() > -1e-11


def test_without_time_there_is_no_eigenvalue_and_the_bound_says_so():
    dag = workload("fft:n=128").dag()

    assert eigenvalues(laplacian(dag), 100, Clock(0)) is None
    bound = spectral(Problem.of(dag, 4, ONE_SHOT), Clock(0))
    assert (bound.value, bound.finished, bound.detail) == (256, False, "eigenvalues not certified")


def test_solver_that_does_not_converge_gives_no_bound(monkeypatch):
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*_, **__):
        raise ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr("scipy.sparse.linalg.eigsh", fail)

    assert eigenvalues(laplacian(workload("fft:n=128").dag()), 100) is None


def test_segments_take_the_best_number():
    assert segment_bound(100, np.array([0.0, 1.0]), 1) == (50.0 - 4, 2)
    assert segment_bound(100, np.array([0.0, 0.01]), 1) == (0.0, 0)
