"""Theorems of the literature on the I/O of attention, as `Bound` objects.

Each condition says where the statement is meant; where it was read off our game rather than the
paper, or the paper's own is wider than what the game allows, ``hypotheses`` says so.

References
----------
Dao, Fu, Ermon, Rudra, Ré, *FlashAttention*, arXiv 2205.14135.
Saha, Ye, *The I/O complexity of attention*, arXiv 2402.07443.
Li, Liang, Shi, Song, Zhou, *Fine-grained attention I/O complexity: comprehensive analysis for
backward passes*, arXiv 2410.09397.
Lu et al., *I/O analysis is all you need* (AttenIO), ASPLOS 2026.
"""

from __future__ import annotations

from sympy import And, Eq, Min, ceiling, floor, sqrt

from bounds.bound import Z_QK, Bound, M, Z_input, d, n, s

DAO = "Dao et al. 2022"
SAHA_YE = "Saha, Ye 2024"
LI = "Li et al. 2024"
ATTENIO = "Lu et al. 2026"

# Each result is a vertex of its own, however it is summed.
ANY_SUM = ("sum",)
# The gradient's literal form of Alman and Song, and dO given in place of E: the same sizes.
GRADIENT_FORMS = ("form", "given")

# Up to here the bound of attention is at least the cost of touching inputs and outputs once.
BELOW_COMPULSORY = M <= n * Min(n, d)
BELOW_WORDS = (
    "M up to n*d (up to n*n if n < d): beyond, every input is read once and every output written "
    "once"
)

# --- attention: the least I/O of any play ------------------------------------------------------

SAHA_YE_FORWARD = Bound(
    name="sy24-forward",
    workload="attention-forward",
    kind="theta",
    expression=Min(n**2 * d / sqrt(M), n**2 * d**2 / M),
    condition=BELOW_COMPULSORY,
    rules="hk, one-shot",
    reference=f"{SAHA_YE}, Theorem 3.1",
    hypotheses=f"Standard matrix multiplication, any order of summation. {BELOW_WORDS}.",
    options=ANY_SUM,
)

LI_BACKWARD_TERMS = Min(
    (n**2 * d**2 + n * d**3) / M,
    (n**2 * d + n * d**2) / sqrt(M),
)

LI_GRADIENT = Bound(
    name="li24-gradient",
    workload="attention-gradient",
    kind="theta",
    expression=LI_BACKWARD_TERMS,
    condition=BELOW_COMPULSORY,
    rules="hk",
    reference=f"{LI}, Theorem 1.1 (its four halves: Theorems 4.1 to 4.4)",
    hypotheses=(
        "Standard matrix multiplication, any order of summation; the large-cache schedule computes "
        f"the scores twice. {BELOW_WORDS}."
    ),
    options=(*ANY_SUM, *GRADIENT_FORMS),
)

LI_BACKWARD = Bound(
    name="li24-backward",
    workload="attention-backward",
    kind="theta",
    expression=LI_BACKWARD_TERMS,
    condition=And(d <= n, M <= n * d),
    rules="hk, one-shot",
    reference=f"{LI}, Theorem 1.1",
    hypotheses=(
        "The theorem is about the gradient with respect to X, of which this pass is the part after "
        "Q = A1 X; its terms n*d**3/M and n*d**2/sqrt(M) are that product and a bound of this pass "
        "only where the others outgrow them, d <= n. M up to n*d: beyond, every input is read once "
        "and every output written once."
    ),
    options=ANY_SUM,
)

# --- attention: the I/O of two algorithms --------------------------------------------------------

DAO_CONDITION = And(d <= M, M <= n * d)
DAO_STANDARD_WORDS = (
    "As printed, for M from d to n*d. In the game the matrix products of the standard algorithm "
    "fit this only from M = d**2 on; below, their tiles are read n**2*d/sqrt(M) times in all."
)
DAO_FLASH_WORDS = (
    "As printed, for M from d to n*d. In the game a tile of d columns needs more than d red "
    "pebbles, and the schedule as printed about 8*d**2."
)

DAO_STANDARD_FORWARD = Bound(
    name="dao22-standard-forward",
    workload="attention-forward",
    kind="theta",
    expression=n * d + n**2,
    condition=DAO_CONDITION,
    rules="hk, one-shot",
    reference=f"{DAO}, Theorem 2",
    hypotheses=DAO_STANDARD_WORDS,
    algorithm="standard",
    options=ANY_SUM,
)

DAO_FLASH_FORWARD = Bound(
    name="dao22-flash-forward",
    workload="attention-forward",
    kind="theta",
    expression=n**2 * d**2 / M,
    condition=DAO_CONDITION,
    rules="hk, one-shot",
    reference=f"{DAO}, Theorem 2",
    hypotheses=DAO_FLASH_WORDS,
    algorithm="flash",
    options=ANY_SUM,
)

DAO_STANDARD_BACKWARD = Bound(
    name="dao22-standard-backward",
    workload="attention-backward",
    kind="theta",
    expression=n * d + n**2,
    condition=DAO_CONDITION,
    rules="hk, one-shot",
    reference=f"{DAO}, Theorem 5",
    hypotheses=DAO_STANDARD_WORDS,
    algorithm="standard",
    options=ANY_SUM,
)

DAO_FLASH_BACKWARD = Bound(
    name="dao22-flash-backward",
    workload="attention-backward",
    kind="theta",
    expression=n**2 * d**2 / M,
    condition=DAO_CONDITION,
    rules="hk, one-shot",
    reference=f"{DAO}, Theorem 5",
    hypotheses=DAO_FLASH_WORDS,
    algorithm="flash",
    options=ANY_SUM,
)

# --- attention: limits and schedules -------------------------------------------------------------

DAO_LIMIT = Bound(
    name="dao22-no-better",
    workload="attention-forward",
    kind="omega",
    expression=n**2 * d**2 / M,
    condition=Eq(M, n * d),
    rules="hk, one-shot",
    reference=f"{DAO}, Proposition 3",
    hypotheses=(
        "No algorithm moves o(n**2*d**2/M) for every M from d to n*d: at M = n*d, where this is "
        "n*d, the inputs alone are read. Nothing is said of a single smaller M."
    ),
    options=("sum", "softmax"),
)

ATTENIO_FORWARD = Bound(
    name="aio26-forward",
    workload="attention-forward",
    kind="upper",
    expression=2 * n * d + 2 * n * d * ceiling(n / floor((M - d) / (2 * d + 4))),
    condition=M >= 3 * d + 4,
    rules="hk",
    reference=f"{ATTENIO}, its forward schedule",
    hypotheses=(
        "a = floor((M - d)/(2*d + 4)) rows of Q, of the output and their statistics stay, one row "
        "of K and of V at a time streams: 2*n*d*(1 + n/a), about 4*n**2*d**2/M."
    ),
    algorithm="attenio",
)

# --- sparse attention ----------------------------------------------------------------------------

LI_SPARSE_WORDS = (
    "A mask keeps Z_QK of the scores, Q and K have Z_input nonzeros together, and a product exists "
    "where both factors do. A lower bound only, and of the worst pattern with these counts: blocks "
    "on the diagonal move less. The two terms meet at M = Z_input**2/Z_QK."
)


def _li_sparse(workload: str) -> Bound:
    return Bound(
        name=f"li24-sparse-{workload.removeprefix('attention-')}",
        workload=workload,
        kind="omega",
        expression=Min(Z_input**2 / M, Z_input * sqrt(Z_QK) / sqrt(M)),
        condition=M <= Z_input,
        rules="hk, one-shot",
        reference=f"{LI}, Theorem 4.5",
        hypotheses=LI_SPARSE_WORDS,
        options=("sum", "mask"),
    )


LI_SPARSE_FORWARD = _li_sparse("attention-forward")
LI_SPARSE_BACKWARD = _li_sparse("attention-backward")
LI_SPARSE_GRADIENT = _li_sparse("attention-gradient")
LI_SPARSE_INPUTS = _li_sparse("attention-sparse")

DAO_BLOCK_SPARSE = Bound(
    name="dao22-block-sparse",
    workload="attention-forward",
    kind="theta",
    expression=n * d + n**2 * d**2 * s / M,
    condition=DAO_CONDITION,
    rules="hk, one-shot",
    reference=f"{DAO}, Proposition 4",
    hypotheses="s is the share of the blocks that the mask keeps.",
    algorithm="flash",
    options=("sum", "mask"),
)
