"""The claims of Hong and Kung: matrix product and fast Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.verify.measuring import (
    anchor,
    certified,
    fit_powers,
    io,
    logarithmic,
    optimum,
    powers,
    sized,
)
from lab.verify.orders import sandwich
from lab.verify.statement import Check, Claim, Verdict
from lab.verify.tolerances import EXPONENT, LEAST, WITHIN

__all__ = ["CLAIMS", "Fourier", "Product"]


@dataclass(frozen=True)
class Product(Claim):
    """The matrix product moves Θ(mnk/√M).

    Attributes
    ----------
    strategy : str
        The schedule above; below is the certified bound, which allows recomputation.
    exponents : tuple of float
        Of m, n, k and M.
    """

    strategy: str = "standard"
    exponents: tuple[float, float, float, float] = (1, 1, 1, -0.5)

    tolerance: ClassVar[str] = (
        f"certified bound >= {LEAST:g} Θ, count <= {WITHIN:g} certified bounds, "
        f"exponents ± {EXPONENT:g}"
    )

    @property
    def predicted(self) -> str:
        """The Θ, as exponents."""
        return "Θ({})".format(
            " ".join(f"{x}^{p:g}" for x, p in zip("mnkM", self.exponents, strict=True))
        )

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count on a grid of shapes, hold against the certified bound, fit the exponents."""
        sides = [(1 << 12,) * 3, (1 << 16, 1 << 12, 1 << 12), (1 << 12, 1 << 16, 1 << 12)]
        sides += [(1 << 12, 1 << 12, 1 << 16)]
        if not quick:
            sides += [(1 << 20, 1 << 20, 1 << 12), (1 << 16,) * 3, (1 << 20, 1 << 12, 1 << 16)]
        rows: list[dict[str, Any]] = []
        for m, n, k in sides:
            for M in (256, 4096, 65536):
                workload = sized("matmul", m=m, n=n, k=k)
                order = math.prod(
                    float(x) ** p for x, p in zip((m, n, k, M), self.exponents, strict=True)
                )
                moved, least = io(workload, self.strategy, M), certified(workload, M)
                rows.append(
                    {
                        "workload": workload, "strategy": self.strategy, "m": m, "n": n, "k": k,
                        "M": M, "io": moved, "certified": least, "order": order,
                        "io_over_order": moved / order, "certified_over_order": least / order,
                    }
                )  # fmt: skip
        checks = [
            *sandwich(rows),
            powers("the count", rows, ("m", "n", "k", "M"), "io", self.exponents),
            anchor(("matmul:m=9,n=10,k=11", self.strategy, M) for M in (12, 40)),
        ]
        if not quick:
            checks.append(optimum([("matmul:m=2,n=2,k=2", 4), ("matmul:m=2,n=2,k=2", 6)]))
        draw = logarithmic(
            [row | {"line": (row["m"], row["n"], row["k"])} for row in rows], "M",
            {"io_over_order": self.strategy, "certified_over_order": "certified bound"},
            by="line", title=self.id, xlabel="$M$", ylabel=f"I/O over {self.predicted}",
        )  # fmt: skip
        return Verdict(tuple(checks), rows, draw)


@dataclass(frozen=True)
class Fourier(Claim):
    """The n-point FFT moves Θ(n log n / log M). Every play of the grid is refereed.

    Attributes
    ----------
    strategy : str
        The schedule above; below is the certified bound, which allows recomputation.
    exponents : tuple of float
        Of n log n and of log M.
    """

    strategy: str = "belady:order=recursive"
    exponents: tuple[float, float] = (1, -1)

    tolerance: ClassVar[str] = (
        f"certified bound >= 1/{WITHIN:g} Θ, count <= {WITHIN:g} certified bounds, "
        f"exponents ± {EXPONENT:g}"
    )

    @property
    def predicted(self) -> str:
        """The Θ, as exponents."""
        first, second = self.exponents
        return f"Θ((n log n)^{first:g} (log M)^{second:g})"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Play, hold against the certified bound, fit the exponents."""
        from lab.playing import play

        rows: list[dict[str, Any]] = []
        for n in (1 << 12, 1 << 15, 1 << 16) if quick else (1 << k for k in range(10, 19)):
            workload = sized("fft", n=n)
            # With b + 2 red pebbles a pass does log2(b) stages; below b = 16 the 2 more would tell.
            for b in (16, 32, 64, 128, 256, 512):
                if (n.bit_length() - 1) % (b.bit_length() - 1):
                    # The last pass would be a short one, at the price of a whole one.
                    continue
                M = b + 2
                sizes = (n * math.log(n), math.log(M))
                order = math.prod(x**p for x, p in zip(sizes, self.exponents, strict=True))
                moved, least = play(workload, self.strategy, M).io, certified(workload, M)
                rows.append(
                    {
                        "workload": workload, "strategy": self.strategy, "n": n, "M": M,
                        "n_log_n": sizes[0], "log_M": sizes[1], "io": moved, "certified": least,
                        "order": order, "io_over_order": moved / order,
                    }
                )  # fmt: skip
        lower, upper = sandwich(rows)
        least = min(row["certified"] / row["order"] for row in rows)
        # The theorem behind it tends to half of n log n / log 2M, so that it cannot reach 1.
        lower = Check(
            lower.name, lower.predicted, lower.measured, f">= 1/{WITHIN:g}", least >= 1 / WITHIN
        )
        found = fit_powers(
            [(row["n_log_n"], row["log_M"]) for row in rows], [row["io"] for row in rows]
        )
        checks = [
            lower,
            upper,
            Check(
                "exponents of the count in n log n, log M",
                ", ".join(f"{p:g}" for p in self.exponents),
                ", ".join(map(str, found)),
                f"± {EXPONENT:g}",
                all(
                    abs(f.exponent - p) <= EXPONENT
                    for f, p in zip(found, self.exponents, strict=True)
                ),
            ),
        ]
        if not quick:
            checks.append(optimum([("fft:n=4", 3), ("fft:n=4", 4)]))
        draw = logarithmic(
            rows, "M", {"io": self.strategy, "certified": "certified bound"}, by="n",
            title=self.id, xlabel="$M$", ylabel="I/O",
        )  # fmt: skip
        return Verdict(tuple(checks), rows, draw)


HK81 = "Hong, Kung 1981"

CLAIMS = (
    Product(
        "hk81-matmul", HK81, "matrix multiplication",
        "The product of an m x k and a k x n matrix moves Θ(mnk / sqrt(M)).",
    ),
    Fourier(
        "hk81-fft", HK81, "fast Fourier transform",
        "The FFT on n points moves Θ(n log n / log M).",
    ),
)  # fmt: skip
