"""Theorems of the literature on the I/O of attention and of the classics, as `Bound` objects.

Every module-level `Bound` is found by `all_theorems`; a new theorem is added by writing it down.
Each condition says where the statement is meant; where it was read off our game rather than the
paper, or the paper's own is wider than what the game allows, ``hypotheses`` says so.

References
----------
Hong, Kung, *I/O complexity: the red-blue pebble game*, STOC 1981.
Dao, Fu, Ermon, Rudra, Ré, *FlashAttention*, arXiv 2205.14135.
Saha, Ye, *The I/O complexity of attention*, arXiv 2402.07443.
Li, Liang, Shi, Song, Zhou, *Fine-grained attention I/O complexity: comprehensive analysis for
backward passes*, arXiv 2410.09397.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import And, Min, log, sqrt, true

from bounds.bound import Bound, M, d, k, m, n
from pebble.errors import unknown

if TYPE_CHECKING:
    from graphs import Workload

__all__ = ["all_theorems", "theorems", "theorems_for"]

HONG_KUNG = "Hong, Kung 1981"
DAO = "Dao et al. 2022"
SAHA_YE = "Saha, Ye 2024"
LI = "Li et al. 2024"

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

# --- the classics --------------------------------------------------------------------------------

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

# --- what every play moves -----------------------------------------------------------------------


def _compulsory(
    workload: str, moved: object, condition: object = true, options: tuple[str, ...] = ()
) -> Bound:
    return Bound(
        name=f"compulsory-{workload}",
        workload=workload,
        kind="lower",
        expression=moved,
        condition=condition,
        rules="hk, one-shot",
        reference="by definition of the game",
        hypotheses=(
            "Every input starts blue and leads to an output, so it is loaded; every output must "
            "end blue, so it is stored."
        ),
        options=(*ANY_SUM, *options),
    )


# Inputs plus outputs. Forward: Q, K, V; O.
COMPULSORY_FORWARD = _compulsory("attention-forward", 3 * n * d + n * d)
# Q, K, V, O, dO, l; dQ, dK, dV.
COMPULSORY_BACKWARD = _compulsory("attention-backward", 5 * n * d + n + 3 * n * d)
# A1, A2, A3, E, X, Y; dX.
COMPULSORY_GRADIENT = _compulsory(
    "attention-gradient", 4 * n * d + 2 * d**2 + d**2, options=GRADIENT_FORMS
)
COMPULSORY_PRODUCT = _compulsory("matmul", m * k + k * n + m * n)
# A1, A2, X; the n x n product.
COMPULSORY_BILINEAR = _compulsory("bilinear", 2 * n * d + d**2 + n**2)
COMPULSORY_FFT = _compulsory("fft", n + n, condition=n >= 2)


def all_theorems() -> tuple[Bound, ...]:
    """Every theorem of this module, in the order of the text.

    Examples
    --------
    >>> [bound.name for bound in all_theorems()][:2]
    ['sy24-forward', 'li24-gradient']
    """
    return tuple(value for value in globals().values() if isinstance(value, Bound))


def theorems(workload: str) -> tuple[Bound, ...]:
    """Theorems about a family of workloads, given by name.

    Parameters
    ----------
    workload : str
        The family: ``attention-forward``, ``matmul``, ...

    Returns
    -------
    tuple of Bound
        In the order of the text, the theorems of the literature before the compulsory bound.

    Raises
    ------
    UnknownNameError
        If no theorem is about such a family.

    Examples
    --------
    >>> for bound in theorems("fft"):
    ...     print(bound)
    hk81-fft: Θ(n*log(n)/log(M)) where (M >= 3) & (M <= n), Hong, Kung 1981, ...
    compulsory-fft: >= 2*n where n >= 2, by definition of the game
    """
    found = tuple(bound for bound in all_theorems() if bound.workload == workload)
    if not found:
        families = {bound.workload for bound in all_theorems()}
        raise unknown("workload with theorems", workload, families)
    return found


def theorems_for(workload: Workload | str) -> tuple[Bound, ...]:
    """Theorems that cover a workload (or its text form), options included; empty if none does.

    Unlike `theorems` this accepts any workload, a user's own graph included.

    Examples
    --------
    >>> [bound.name for bound in theorems_for("matmul:m=6,n=4,k=10")]
    ['hk81-matmul', 'compulsory-matmul']
    >>> theorems_for("my-graph.json")
    ()
    """
    return tuple(bound for bound in all_theorems() if bound.covers(workload))
