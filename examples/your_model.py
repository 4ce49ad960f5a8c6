"""Attention in your model: how much data it moves, and what more fast memory buys.

Give the head size, heads, layers, sequence length and batch of a model; the script counts one head
exactly, from the schedules' texts, and scales it to a training step of the model.

    python examples/your_model.py --d 128 --heads 32 --layers 32 --n 4096 --batch 1 --bytes bf16
"""

from __future__ import annotations

import argparse
from pathlib import Path

from graphs import workload
from lab import sweep
from lab.layers import Layer, bytes_text, read_width
from lab.plots import sheet
from lab.yardsticks import certified_least


def main() -> None:
    """Sweep M over fast memories from d²/4 to 64 d², and print a step's traffic for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--d", type=int, default=64, help="head size")
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--n", type=int, default=1024, help="sequence length")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--bytes", default="bf16", help="data type, or bytes of a scalar")
    parser.add_argument("--strategies", default="standard,flash,flash2,best")
    parser.add_argument("--out", type=Path, help="also draw one head's I/O against M")
    given = parser.parse_args()

    # One head, forward and backward, for M from a corner of shared memory to a large cache.
    what = workload(f"attention-training:n={given.n},d={given.d}")
    results = sweep(what, given.strategies, "0.25*d^2:64*d^2:x4", method="tally")
    heads = given.heads * given.layers
    model = Layer(heads, given.batch, read_width(given.bytes))
    width = model.width or 1
    print(f"{given.layers} layers of {given.heads} heads, d={given.d}, n={given.n}, ", end="")
    print(f"batch {given.batch}, {given.bytes}: attention's traffic in one training step")

    head = f"{'M':>9} {'fast memory':>12}"
    print(head + "".join(f"{name:>12}" for name in results.strategies) + f"{'no less than':>14}")
    for memory in results.memories:
        line = f"{memory:>9,} {bytes_text(memory * width):>12}"
        rows = results.where(memory=memory)
        for name in results.strategies:
            io = next((row.io for row in rows if row.strategy == name), None)
            line += f"{'-' if io is None else model.short(io):>12}"
        bound = certified_least(what, memory)
        print(line + f"{'-' if bound is None else model.short(bound.value):>14}")
    if given.out is not None:
        sheet(results).savefig(given.out, dpi=150)
        print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
