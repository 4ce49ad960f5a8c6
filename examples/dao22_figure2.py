"""Figure 2 of the FlashAttention paper (arXiv 2205.14135): its HBM traffic, line by line.

GPT-2 medium: n = 1024, d = 64, 16 heads, batch 64, fp16, forward and backward, on an A100. The
paper prints 40.3 GB for the standard implementation and 4.4 GB for FlashAttention. This script
derives both from the algorithms as they are listed, says what it has to assume, and puts beside
them what the pebble game counts for the same algorithms, the differences as lines of their own.

    python examples/dao22_figure2.py
"""

from __future__ import annotations

from dataclasses import dataclass

import lab
from lab.layers import Layer, bytes_text

N, D, M = 1024, 64, 98304  # 192 KB of SRAM an SM in fp16
LAYER = Layer(heads=16, batch=64, width=2)
PRINTED = {"standard": 40.3, "FlashAttention": 4.4}

#: Passes over n x n matrices of a framework that launches a kernel for every step. The paper names
#: no kernels: this list, with a mask and dropout, is one that gives the printed figure.
EAGER = {
    "forward: S = Q K^T written": 1.0,
    "forward: mask, read and written": 2.0,
    "forward: softmax, read and written": 2.0,
    "forward: dropout, read and written, and its mask of bytes": 2.5,
    "forward: P read for P V": 1.0,
    "backward: P read for dV": 1.0,
    "backward: dP = dO V^T written": 1.0,
    "backward: dropout, read and written, and its mask of bytes": 2.5,
    "backward: softmax, P and dP read, dS written": 3.0,
    "backward: dS read for dQ": 1.0,
    "backward: dS read for dK": 1.0,
}


@dataclass(frozen=True)
class Line:
    """A line of the comparison: scalars of one head."""

    what: str
    scalars: float

    @property
    def gigabytes(self) -> float:
        """What the layer moves, in units of 1e9 bytes."""
        return self.scalars * LAYER.heads * LAYER.batch * 2 / 1e9

    def __str__(self) -> str:
        return f"  {self.gigabytes:6.2f} GB   {self.what}"


def standard() -> list[Line]:
    """The standard implementation: as listed, as the game plays it, and as frameworks ran it."""
    listed = 4 * N * N + 4 * N * D + 7 * N * N + 8 * N * D
    forward = lab.count(f"attention-forward:n={N},d={D},softmax=early", "standard", M)
    backward = lab.count(f"attention-backward:n={N},d={D}", "standard", M)
    frameworks = sum(EAGER.values()) * N * N + 12 * N * D
    eager = lab.count(f"attention-training:n={N},d={D}", "eager", M)
    return [
        Line("Algorithms 0 + 3 as listed: 11 n^2 + 12 n d", listed),
        Line("the game, `standard`: forward as Algorithm 0, 4 n^2 + 4 n d", forward.io),
        Line("the game, `standard`: backward, where P is made from Q, K, l", backward.io),
        Line("kernel by kernel, with mask and dropout: 18 n^2 + 12 n d", frameworks),
        Line("the game, `eager` on the training step, without mask and dropout", eager.io),
    ]


def flash() -> list[Line]:
    """FlashAttention with the printed block size B_c = ceil(M / 4d) = 384: three rounds."""
    rounds = -(-N // -(-M // (4 * D)))
    columns = -(-M // (4 * D))
    forward = (2 + 3 * rounds) * N * D  # K, V once; Q, O read and O written in every round
    backward = (4 + 5 * rounds) * N * D  # K, V, dK, dV once; Q, O, dO, dQ read and dQ written
    statistics = 2 * (4 * rounds + 2 * rounds + 2) * N  # l and m in fp32: two scalars of fp16
    how = f"attention-forward:n={N},d={D}", f"flash:columns={columns}"
    first = lab.count(*how, M)
    # Backward, 384 columns of K, V, dK and dV fill M by themselves: the game wants a little more.
    what, strategy = f"attention-backward:n={N},d={D}", f"flash:columns={columns}"
    second = lab.count(what, strategy, 2 * M)
    rows = _statistics(first) + _statistics(second)
    return [
        Line(f"as listed, B_c = {columns}: {2 + 3 * rounds} n d forward", forward),
        Line(f"as listed: {4 + 5 * rounds} n d backward", backward),
        Line("O and dQ initialised in HBM: 2 n d", 2 * N * D),
        Line("row statistics l and m in fp32, read, written and initialised", statistics),
        Line("the game: O and dQ are not read before they were written", -2 * N * D),
        Line("the game, forward and backward, statistics left out", first.io + second.io - rows),
        Line("the game's statistics: l alone, in fp16", rows),
    ]


def _statistics(report: lab.Report) -> int:
    """Return loads and stores of the row sums l, finished or running."""
    return sum(sum(report.tensors[name]) for name in ("l", "l.sum") if name in report.tensors)


def curve() -> list[tuple[int, Line, Line]]:
    """The forward pass against the block size (Figure 2, middle): as listed, and in the game."""
    found = []
    for columns in (64, 128, 256, 512):
        rounds = -(-N // columns)
        report = lab.count(f"attention-forward:n={N},d={D}", f"flash:columns={columns}", 2 * M)
        listed = Line(f"B_c = {columns}", (2 + 3 * rounds) * N * D)
        found.append((columns, listed, Line("in the game", report.io - _statistics(report))))
    return found


def main() -> None:
    """Print the comparison."""
    one, square = LAYER.bytes(N * D), LAYER.bytes(N * N)
    assert one is not None
    assert square is not None
    print(f"{LAYER}: an n x d matrix has {bytes_text(one)}, an n x n one {bytes_text(square)}")
    print(f"\nstandard attention, printed: {PRINTED['standard']} GB")
    for line in standard():
        print(line)
    print("  assumed, in passes over n x n matrices:")
    for kernel, passes in EAGER.items():
        print(f"      {passes:3.1f}  {kernel}")
    print(f"\nFlashAttention, printed: {PRINTED['FlashAttention']} GB")
    lines = flash()
    for line in lines:
        print(line)
    total = sum(line.gigabytes for line in lines[:4])
    print(f"  {total:6.2f} GB   the first four together")
    print("\nforward, against the block size (statistics left out):")
    for columns, listed, game in curve():
        print(
            f"  B_c = {columns:3}: {listed.gigabytes:5.2f} GB as listed, {game.gigabytes:5.2f} GB"
        )


if __name__ == "__main__":
    main()
