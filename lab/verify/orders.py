"""Claims that the least I/O is of an order: Θ, in one regime of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Literal

from lab.verify.measuring import anchor, certified, io, logarithmic, optimum, powers, sized
from lab.verify.statement import Check, Claim, Rows, Verdict
from lab.verify.tolerances import EXPONENT, LEAST, WITHIN

__all__ = ["CLAIMS", "Order", "ShortOrder", "sandwich"]

Regime = Literal["small", "large"]


def sandwich(rows: Rows) -> tuple[Check, Check]:
    """Judge the two halves of a Θ on a grid: a schedule's count above, a certified bound below.

    Rows have ``io``, ``certified`` and ``order``, the value of the Θ.
    """
    least = min(row["certified"] / row["order"] for row in rows)
    most = max(row["io"] / row["certified"] for row in rows)
    return (
        Check(
            name="certified bound / Θ, least",
            predicted="bounded below",
            measured=f"{least:.2f}",
            tolerance=f">= {LEAST:g}",
            holds=least >= LEAST,
        ),
        Check(
            name="count / certified bound, most",
            predicted="bounded above",
            measured=f"{most:.2f}",
            tolerance=f"<= {WITHIN:g}",
            holds=most <= WITHIN,
        ),
    )


@dataclass(frozen=True)
class Order(Claim):
    """The least I/O of attention is of the order of one term of a Θ, in one regime.

    The upper half is a schedule's exact counts on a grid of n, d and M, the lower half a certified
    bound, which every play obeys; a count could not prove it.

    Attributes
    ----------
    family : str
        The workload.
    regime : {"small", "large"}
        M below or above d².
    strategy : str
        The schedule that is said to attain the order.
    exponents : tuple of float
        Of n, d and M in the Θ, for n >= d.
    play : tuple of (str, int)
        Small sizes and an M, for the referee.
    optima : tuple of (str, int)
        Workloads and M that an exact search is quick for.
    """

    family: str = ""
    regime: Regime = "large"
    strategy: str = ""
    exponents: tuple[float, float, float] = (2, 2, -1)
    optima: tuple[tuple[str, int], ...] = ()

    tolerance: ClassVar[str] = (
        f"certified bound >= {LEAST:g} Θ, count <= {WITHIN:g} certified bounds, "
        f"exponents ± {EXPONENT:g}"
    )

    @property
    def predicted(self) -> str:
        """The Θ, as exponents."""
        n, d, M = self.exponents
        return f"Θ(n^{n:g} d^{d:g} M^{M:g})"

    def grid(self, *, quick: bool) -> Iterator[tuple[int, int, int]]:
        """Yield n, d and M of the points; those with M = d² are of both regimes."""
        if self.regime == "large":
            lengths = (1 << 14, 1 << 20) if quick else (1 << 14, 1 << 17, 1 << 20)
            heads = (16, 64) if quick else (16, 64, 256)
            multiples = [Fraction(m) for m in ((1, 4, 16) if quick else (1, 4, 16, 64))]
        else:
            lengths = (1 << 14, 1 << 20) if quick else (1 << 14, 1 << 17, 1 << 20)
            # Terms of n^2, such as storing the scores, fade with M only: d must be large for them
            # to be small against n^2 d / sqrt(M).
            heads = (512, 1024) if quick else (128, 512, 1024)
            shares = (1, 16, 64) if quick else (1, 4, 16, 64)
            multiples = [Fraction(1, share) for share in shares]
        for n, d, multiple in product(lengths, heads, multiples):
            # Near M = n d what is moved is little more than inputs and outputs.
            if 4 * multiple * d <= n:
                yield n, d, int(multiple * d * d)

    def order(self, n: int, d: int, M: int) -> float:
        """Return the value of the claimed term."""
        a, b, c = self.exponents
        return float(float(n) ** a * float(d) ** b * float(M) ** c)

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count on the grid, hold against the certified bound, fit the exponents."""
        rows: list[dict[str, Any]] = []
        for n, d, M in self.grid(quick=quick):
            workload = sized(self.family, n=n, d=d)
            moved, least = io(workload, self.strategy, M), certified(workload, M)
            order = self.order(n, d, M)
            rows.append(
                {
                    "workload": workload, "strategy": self.strategy, "n": n, "d": d, "M": M,
                    "M_over_d2": M / d**2, "io": moved, "certified": least, "order": order,
                    "io_over_order": moved / order, "certified_over_order": least / order,
                }
            )  # fmt: skip
        inside = [row for row in rows if row["M"] != row["d"] ** 2]
        checks: list[Check] = [
            *sandwich(rows),
            powers("the count", inside, ("n", "d", "M"), "io", self.exponents),
            anchor((f"{self.family}:n=24,d=4", self.strategy, M) for M in (40, 64)),
        ]
        if self.optima and not quick:
            checks.append(optimum(self.optima))
        return Verdict(tuple(checks), rows, self._draw(rows))

    def _draw(self, rows: list[dict[str, Any]]) -> Any:
        marked = [row | {"line": (row["n"], row["d"])} for row in rows]
        columns = {"io_over_order": self.strategy, "certified_over_order": "certified bound"}
        return logarithmic(
            marked, "M_over_d2", columns, by="line", title=self.id,
            xlabel="$M/d^2$", ylabel=f"I/O over {self.predicted}",
        )  # fmt: skip


@dataclass(frozen=True)
class ShortOrder(Order):
    """The gradient with fewer rows than columns, where the product A1 X dominates.

    The certified bound is that of the product T = A1 X alone (n x d times d x d), every entry of
    which must be computed, and of the d² entries stored at the end.
    """

    def grid(self, *, quick: bool) -> Iterator[tuple[int, int, int]]:
        """Yield n, d and M, with n much less than d and M less than n²."""
        heads = (2048, 8192) if quick else (2048, 4096, 8192)
        yield from product((64, 128), heads, (64, 256, 1024))

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count on the grid, hold against the bound of one product, fit the exponents."""
        from bounds.certified_forward import matrix_product

        rows: list[dict[str, Any]] = []
        for n, d, M in self.grid(quick=quick):
            workload = sized(self.family, n=n, d=d)
            moved, order = io(workload, self.strategy, M), self.order(n, d, M)
            least = matrix_product(n, d, d, M)[0] - n * d + d * d
            rows.append(
                {
                    "workload": workload, "strategy": self.strategy, "n": n, "d": d, "M": M,
                    "M_over_d2": M / d**2, "io": moved, "certified": least, "order": order,
                    "io_over_order": moved / order, "certified_over_order": least / order,
                }
            )  # fmt: skip
        checks = (
            *sandwich(rows),
            powers("the count", rows, ("n", "d", "M"), "io", self.exponents),
            anchor([(f"{self.family}:n=4,d=12", self.strategy, 12)]),
        )
        return Verdict(checks, rows, self._draw(rows))


SY24 = "Saha, Ye 2024"
LI24 = "Li et al. 2024"
LARGE, SMALL = (2, 2, -1), (2, 1, -0.5)

CLAIMS = (
    Order(
        "sy24-forward-large", SY24, "Theorem 3.1",
        "For M >= d^2 the forward pass moves Θ(n^2 d^2 / M), as FlashAttention does.",
        "attention-forward", "large", "flash", LARGE,
        (("attention-forward:n=2,d=1", 5), ("attention-forward:n=2,d=1", 6)),
    ),
    Order(
        "sy24-forward-small", SY24, "Theorem 3.1",
        "For M <= d^2 the forward pass moves Θ(n^2 d / sqrt(M)), as its Algorithm 1 does.",
        "attention-forward", "small", "saha-ye", SMALL,
    ),
    Order(
        "li24-backward-large", LI24, "Theorems 1.1, 4.1 and 4.3",
        "For M >= d^2 the backward pass moves Θ(n^2 d^2 / M), as FlashAttention does.",
        "attention-backward", "large", "flash", LARGE,
    ),
    Order(
        "li24-backward-small", LI24, "Theorems 1.1, 4.2 and 4.4",
        "For M <= d^2 the backward pass moves Θ(n^2 d / sqrt(M)), as Algorithm 6 does.",
        "attention-backward", "small", "algorithm6", SMALL,
    ),
    Order(
        "li24-gradient-large", LI24, "Theorems 1.1, 4.1 and 4.3",
        "For M >= d^2 the gradient moves Θ((n^2 d^2 + n d^3) / M); n >= d here.",
        "attention-gradient", "large", "flash", LARGE,
    ),
    Order(
        "li24-gradient-small", LI24, "Theorems 1.1, 4.2 and 4.4",
        "For M <= d^2 the gradient moves Θ((n^2 d + n d^2) / sqrt(M)); n >= d here.",
        "attention-gradient", "small", "algorithm6", SMALL,
    ),
    ShortOrder(
        "li24-gradient-short", LI24, "Theorems 1.1, 4.2 and 4.4",
        "For n << d and M <= n^2 the gradient moves Θ(n d^2 / sqrt(M)).",
        "attention-gradient", "small", "algorithm6", (1, 2, -0.5),
    ),
)  # fmt: skip
