"""Certified bounds as `Bound` objects: closed forms of the theorems in docs/certified-bounds.md.

`bounds.certified` evaluates the theorems themselves, with the best length of segments; these are
the formulas that they come to in a regime.
"""

from __future__ import annotations

from typing import Any

from sympy import And, ceiling, sqrt, true

from bounds.bound import Bound, M, d, k, m, n

PRIVATE = "Any summation trees, each private to its entry; recomputation allowed."

FORWARD = "attention-forward"
BACKWARD = "attention-backward"
GRADIENT = "attention-gradient"
TRAINING = "attention-training"

ANY_SUM = ("sum",)
ANY_SOFTMAX = ("sum", "softmax")
TWO_PASSES = ("sum", "softmax=early", "softmax=safe")
# Forms of the gradient that form O: all but as24 with dO given.
WITH_OUTPUT = ("sum", "given")


def _certified(
    theorem: int,
    name: str,
    workload: str,
    expression: Any,
    condition: Any = true,
    options: tuple[str, ...] = ANY_SUM,
    hypotheses: str = PRIVATE,
) -> Bound:
    return Bound(
        name=f"certified-{name}",
        workload=workload,
        kind="lower",
        expression=expression,
        condition=condition,
        rules="hk, one-shot",
        reference=f"docs/certified-bounds.md, Theorem {theorem}",
        hypotheses=hypotheses,
        options=options,
    )


# The least whole s with s^2 / 16 d >= (s / 3)^(3/2): segments of T = s - M charged moves.
MIDDLE = ceiling(256 * d**2 / 27)
LARGE_FORWARD = 27 * M >= 128 * d**2
SMALL_FORWARD = 81 * M <= 256 * d**2

SCORES_LARGE = _certified(1, "scores", FORWARD, n**2 * d**2 / M + n * d, M >= 2 * d**2, ANY_SOFTMAX)
FORWARD_LARGE = _certified(2, "forward", FORWARD, 4 * n**2 * d**2 / M, LARGE_FORWARD, ANY_SOFTMAX)
FORWARD_MIDDLE = _certified(
    2,
    "forward-middle",
    FORWARD,
    16 * n**2 * d**2 * (MIDDLE - M) / MIDDLE**2,
    And(81 * M >= 256 * d**2, 27 * M <= 128 * d**2),
    ANY_SOFTMAX,
)
FORWARD_SMALL = _certified(
    2, "forward-small", FORWARD, 2 * n**2 * d / sqrt(M), SMALL_FORWARD, ANY_SOFTMAX
)
BOTH_PRODUCTS = _certified(
    4,
    "both-products",
    FORWARD,
    4 * n**2 * d / sqrt(M * (1 + 3 * M / (4 * d**2))) - n**2,
    true,
    ANY_SOFTMAX,
)
TWO_PASS = _certified(
    5,
    "two-pass",
    FORWARD,
    (5 * n**2 * d**2 / M - 2 * n * d) / (1 + 2 * d**2 / M),
    LARGE_FORWARD,
    TWO_PASSES,
    f"Every weight waits for a statistic of its whole row. {PRIVATE}",
)

BACKWARD_LOADS_ANY = _certified(
    6, "backward-loads-any", BACKWARD, 12 * n**2 * d**2 / (M + 4 * d**2)
)
# 42 - 6 sqrt(21) = 14.504...
BACKWARD_LOADS = _certified(
    6, "backward-loads", BACKWARD, 12 * n**2 * d**2 / M, M >= (42 - 6 * sqrt(21)) * d**2
)
BACKWARD_SMALL = _certified(
    6, "backward-small", BACKWARD, 6 * n**2 * d / (sqrt(M) * (1 + 9 * sqrt(M) / (16 * d)))
)
# (350 - 70 sqrt(7)) / 9 = 18.31...
BACKWARD_LARGE = _certified(
    7,
    "backward",
    BACKWARD,
    14 * n**2 * d**2 / (M + d) - 3 * n * d,
    9 * M >= (350 - 70 * sqrt(7)) * d**2,
)
BACKWARD_ANY = _certified(
    7, "backward-any", BACKWARD, 14 * n**2 * d**2 * M / (M + 9 * d**2 / 2) ** 2 - 3 * n * d
)

TRAINING_FORWARD = _certified(
    2, "training-forward", TRAINING, 4 * n**2 * d**2 / M + 3 * n * d, LARGE_FORWARD
)
TRAINING_LARGE = _certified(
    7,
    "training",
    TRAINING,
    14 * n**2 * d**2 / (M + d) - 2 * n * d,
    9 * M >= (350 - 70 * sqrt(7)) * d**2,
)

GRADIENT_LARGE = _certified(
    8,
    "gradient",
    GRADIENT,
    10 * n**2 * d**2 / M - 22 * n * d + d**2,
    And(19 * d**2 <= M, 8 * M <= n * d),
    WITH_OUTPUT,
)
GRADIENT_SMALL = _certified(
    4,
    "gradient-small",
    GRADIENT,
    4 * n**2 * d / sqrt(M * (1 + 3 * M / (4 * d**2))) - n**2 - n * d + d**2,
    true,
    WITH_OUTPUT,
    f"From the pass that forms O alone. {PRIVATE}",
)

PRODUCT = _certified(3, "matmul", "matmul", 2 * m * n * k / sqrt(M))
BILINEAR = _certified(3, "bilinear", "bilinear", 2 * n**2 * d / sqrt(M))
