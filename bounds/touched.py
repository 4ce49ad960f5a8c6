"""Inputs plus outputs as `Bound` objects: what every play moves, whatever M is."""

from __future__ import annotations

from sympy import true

from bounds.bound import Bound, d, k, m, n


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
        options=("sum", *options),
    )


# Inputs plus outputs. Forward: Q, K, V; O.
COMPULSORY_FORWARD = _compulsory("attention-forward", 3 * n * d + n * d, options=("softmax",))
# Q, K, V, O, dO, l; dQ, dK, dV.
COMPULSORY_BACKWARD = _compulsory("attention-backward", 5 * n * d + n + 3 * n * d)
# Q, K, V, dO; O, dQ, dK, dV.
COMPULSORY_TRAINING = _compulsory("attention-training", 4 * n * d + 4 * n * d)
# A1, A2, A3, E, X, Y; dX.
COMPULSORY_GRADIENT = _compulsory(
    "attention-gradient", 4 * n * d + 2 * d**2 + d**2, options=("form", "given")
)
COMPULSORY_PRODUCT = _compulsory("matmul", m * k + k * n + m * n)
# A1, A2, X; the n x n product.
COMPULSORY_BILINEAR = _compulsory("bilinear", 2 * n * d + d**2 + n**2)
COMPULSORY_FFT = _compulsory("fft", n + n, condition=n >= 2)
