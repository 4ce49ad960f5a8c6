"""How much data does attention's gradient move, with how much fast memory? Draws it for any n, d.

    python examples/io_versus_memory.py --n 1024 --d 64 --out io.png

The points are counted from the schedules' texts, so that sizes may be large; up to some millions of
vertices, ``--referee`` lets every move be judged instead. The counts are the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab import crossovers, sweep
from lab.plots import sheet


def main() -> None:
    """Sweep M from d²/64 to 16 d², draw, and say where the strategies cross."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=128, help="sequence length")
    parser.add_argument("--d", type=int, default=32, help="head dimension")
    parser.add_argument("--referee", action="store_true", help="judge every move")
    parser.add_argument("--out", type=Path, default=Path("io.png"))
    given = parser.parse_args()

    results = sweep(
        f"attention-gradient:n={given.n},d={given.d}",
        "flash,algorithm6",
        "d^2/64:16*d^2:x1.5",
        method="referee" if given.referee else "tally",
    )
    sheet(results).savefig(given.out, dpi=150)
    for crossing in crossovers(results):
        print(
            f"{crossing.before} moves least at M = {crossing.low} "
            f"({crossing.low / given.d**2:.2f} d²), {crossing.after} at M = {crossing.high}"
        )
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
