"""Theorems of the literature on matrix products, the FFT and trees, as `Bound` objects.

References
----------
Hong, Kung, *I/O complexity: the red-blue pebble game*, STOC 1981.
Smith, Lowery, Langou, van de Geijn, *A tight I/O lower bound for matrix multiplication*,
arXiv 1702.02017.
Kwasniewski et al., *Red-blue pebbling revisited* (COSMA), arXiv 1908.09606.
Papp, Sobczyk, Yzelman, *The impact of partial computations on the red-blue pebble game*,
arXiv 2506.10854.
"""

from __future__ import annotations

from sympy import And, Eq, Min, log, sqrt

from bounds.bound import Bound, M, arity, depth, k, m, n

HONG_KUNG = "Hong, Kung 1981"
SMITH = "Smith, Lowery, Langou, van de Geijn 2017"
COSMA = "Kwasniewski et al. 2019"
PARTIAL = "Papp, Sobczyk, Yzelman 2025"

# Each result is a vertex of its own, however it is summed.
ANY_SUM = ("sum",)

HONG_KUNG_PRODUCT = Bound(
    name="hk81-matmul",
    workload="matmul",
    kind="theta",
    expression=m * n * k / sqrt(M),
    condition=Min(m, n, k) ** 2 >= M,
    rules="hk, one-shot",
    reference=f"{HONG_KUNG}, matrix multiplication",
    hypotheses=(
        "Standard matrix multiplication. M up to the square of the shortest side: beyond, touching "
        "the largest of the three matrices once costs more."
    ),
    options=ANY_SUM,
)

HONG_KUNG_FFT = Bound(
    name="hk81-fft",
    workload="fft",
    kind="theta",
    expression=n * log(n) / log(M),
    condition=And(M >= 3, M <= n),
    rules="hk, one-shot",
    reference=f"{HONG_KUNG}, fast Fourier transform",
    hypotheses="n points, a power of two. From M = 3 on it can be played; beyond M = n it is 2n.",
)

SMITH_PRODUCT = Bound(
    name="sllg17-matmul",
    workload="matmul",
    kind="lower",
    expression=2 * m * n * k / sqrt(M) - 2 * M,
    condition=True,
    rules="hk, one-shot",
    reference=f"{SMITH}, the lower bound",
    hypotheses=(
        "Printed for the I/O of C += A B with multiply-adds. In our game 2*m*n*k/sqrt(M) holds "
        "without the loss of 2*M: certified-matmul."
    ),
    options=ANY_SUM,
)

COSMA_PRODUCT = Bound(
    name="kw19-matmul",
    workload="matmul",
    kind="claimed",
    expression=2 * m * n * k / sqrt(M) + m * n,
    condition=M < Min(m * n, m * k, n * k),
    rules="hk, one-shot",
    reference=f"{COSMA}, the sequential lower bound",
    hypotheses=(
        "Fails for a short inner dimension, which Q K^T has: m = n = 5, k = 1, M = 4 claims 50, "
        "and a schedule of 45 exists, although 4 < min(m*n, m*k, n*k) as asked. What is true: the "
        "m*n stores are part of 2*m*n*k/sqrt(M)."
    ),
    options=ANY_SUM,
)

PAPP_TREE = Bound(
    name="psy25-tree",
    workload="tree",
    kind="exact",
    expression=arity**depth + 2 * arity ** (depth - 1) - 1,
    condition=And(Eq(M, arity + 1), depth >= arity),
    rules="hk, one-shot",
    reference=f"{PARTIAL}, complete k-ary in-trees",
    hypotheses=(
        "M is the least that can be played with. In a tree nothing is gained by computing a vertex "
        "again."
    ),
)

PAPP_TREE_PARTIAL = Bound(
    name="psy25-tree-partial",
    workload="tree",
    kind="exact",
    expression=arity**depth + 2 * arity ** (depth - arity) - 1,
    condition=And(Eq(M, arity + 1), depth >= arity),
    rules="prbp",
    reference=f"{PARTIAL}, complete k-ary in-trees",
    hypotheses="Partial computations: operands may be absorbed one by one.",
)

PAPP_VECTOR = Bound(
    name="psy25-matrix-vector",
    workload="matrix-vector",
    kind="lower",
    expression=m**2 + 3 * m - 1,
    condition=And(m + 3 <= M, M <= 2 * m),
    rules="one-shot",
    reference=f"{PARTIAL}, matrix-vector product",
    hypotheses="An m x m matrix times a vector, each entry one sum of in-degree m.",
)

PAPP_VECTOR_PARTIAL = Bound(
    name="psy25-matrix-vector-partial",
    workload="matrix-vector",
    kind="exact",
    expression=m**2 + 2 * m,
    condition=And(m + 3 <= M, M <= 2 * m),
    rules="prbp",
    reference=f"{PARTIAL}, matrix-vector product",
    hypotheses="As psy25-matrix-vector, operands absorbed one by one: the compulsory I/O.",
)
