"""The table of optima in tests/data, as workloads."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

_TEXTS = {
    "pyramid": "pyramid:h={}",
    "tree": "tree:depth={}",
    "fft": "fft:n={}",
    "grid": "grid:rows={},columns={}",
    "matmul": "matmul:m={},n={},k={}",
    "attn": "attention-forward:n={},d={},softmax=early",
}


@dataclass(frozen=True)
class Row:
    """One optimum: loads + stores of a workload under rules with M red pebbles."""

    text: str
    one_shot: bool
    memory: int
    io: int


def optima() -> list[Row]:
    """Read the table."""
    path = Path(__file__).parents[1] / "data" / "optimal.csv"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [
        Row(
            _TEXTS[row["dag"]].format(*re.findall(r"\d+", row["params"])),
            row["rules"] == "nore",
            int(row["M"]),
            int(row["optimal_io"]),
        )
        for row in csv.DictReader(lines)
    ]
