"""The claims of FlashAttention's paper: against standard attention, and against everything."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from lab.verify.measuring import anchor, certified, fit_powers, io, logarithmic, powers, sized
from lab.verify.statement import Check, Claim, Verdict
from lab.verify.tolerances import EXPONENT, LEAST, SPREAD

__all__ = ["CLAIMS", "Against", "NoBetter"]


@dataclass(frozen=True)
class Against(Claim):
    """Standard attention moves Θ(nd + n²), FlashAttention Θ(n²d²/M): the gain grows like M/d².

    These are I/O of two algorithms, so that their counts say all.

    Attributes
    ----------
    family : str
        The workload.
    standard, flash : str
        The two schedules.
    gain : float
        The exponent of M/d² in the quotient of the two.
    """

    family: str = ""
    standard: str = "standard"
    flash: str = "flash"
    gain: float = 1

    tolerance: ClassVar[str] = (
        f"count / Θ of the standard one changes at most {SPREAD:g} times, exponents ± {EXPONENT:g}"
    )

    @property
    def predicted(self) -> str:
        """Both orders."""
        return f"Θ(nd + n^2) against Θ(n^2 d^2 / M): a gain like (M/d^2)^{self.gain:g}"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count both on a grid with M well above d², where the standard one's tiles fit."""
        lengths = (1 << 16, 1 << 20) if quick else (1 << 16, 1 << 18, 1 << 20)
        heads = (16, 64) if quick else (16, 64, 128)
        rows: list[dict[str, Any]] = []
        for n, d, multiple in product(lengths, heads, (16, 32, 64)):
            workload, M = sized(self.family, n=n, d=d), multiple * d * d
            usual, better = io(workload, self.standard, M), io(workload, self.flash, M)
            rows.append(
                {
                    "workload": workload, "n": n, "d": d, "M": M, "M_over_d2": multiple,
                    "standard": usual, "standard_over_order": usual / (n * d + n * n),
                    "flash": better, "gain": usual / better,
                }
            )  # fmt: skip
        over = [row["standard_over_order"] for row in rows]
        (slope,) = fit_powers([(r["M_over_d2"],) for r in rows], [r["gain"] for r in rows])
        checks = (
            Check(
                f"{self.standard} / (nd + n^2)", "a constant",
                f"from {min(over):.2f} to {max(over):.2f}", f"at most {SPREAD:g} times the least",
                max(over) <= SPREAD * min(over),
            ),
            powers(self.standard, rows, ("n", "d", "M"), "standard", (2, 0, 0)),
            powers(self.flash, rows, ("n", "d", "M"), "flash", (2, 2, -1)),
            Check(
                "exponent of M/d^2 in the gain", f"{self.gain:g}", str(slope), f"± {EXPONENT:g}",
                abs(slope.exponent - self.gain) <= EXPONENT,
            ),
            anchor((f"{self.family}:n=24,d=4", s, 64) for s in (self.standard, self.flash)),
        )  # fmt: skip
        draw = logarithmic(
            [row | {"line": (row["n"], row["d"])} for row in rows], "M_over_d2",
            {"gain": f"I/O of {self.standard} over that of {self.flash}"},
            by="line", title=self.id, xlabel="$M/d^2$", ylabel="gain",
        )  # fmt: skip
        return Verdict(checks, rows, draw)


@dataclass(frozen=True)
class NoBetter(Claim):
    """No algorithm moves o(n²d²/M) for every M up to nd.

    The paper argues from M = nd alone, where inputs and outputs are of that order; certified
    bounds say it of every M from d² on.

    Attributes
    ----------
    exponents : tuple of float
        Of n, d and M in the order that nothing goes below.
    """

    exponents: tuple[float, float, float] = (2, 2, -1)

    tolerance: ClassVar[str] = f"certified bound >= {LEAST:g} times the order"

    @property
    def predicted(self) -> str:
        """The order."""
        n, d, M = self.exponents
        return f"at least of order n^{n:g} d^{d:g} M^{M:g} for every M from d^2 to nd"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Evaluate certified bounds at M = d², 4 d², ..., n d."""
        rows: list[dict[str, Any]] = []
        for n, d in product((1 << 12, 1 << 20), (16, 64) if quick else (16, 64, 256)):
            workload, M = sized("attention-forward", n=n, d=d), d * d
            places = []
            while M < n * d:
                places.append(M)
                M *= 4
            for M in [*places, n * d]:
                least = certified(workload, M)
                a, b, c = self.exponents
                order = float(n) ** a * float(d) ** b * float(M) ** c
                rows.append(
                    {
                        "workload": workload, "n": n, "d": d, "M": M, "M_over_nd": M / (n * d),
                        "certified": least, "order": order, "ratio": least / order,
                    }
                )  # fmt: skip
        worst = min(row["ratio"] for row in rows)
        at_end = min(row["ratio"] for row in rows if row["M"] == row["n"] * row["d"])
        checks = (
            Check(
                "certified bound / order at M = nd, least", "bounded below", f"{at_end:.2f}",
                f">= {LEAST:g}", at_end >= LEAST,
            ),
            Check(
                "certified bound / order, least", "bounded below", f"{worst:.2f}",
                f">= {LEAST:g}", worst >= LEAST,
            ),
        )  # fmt: skip
        draw = logarithmic(
            [row | {"line": (row["n"], row["d"])} for row in rows], "M_over_nd",
            {"ratio": "certified bound"}, by="line", title=self.id,
            xlabel="$M/(nd)$", ylabel="over the order",
        )  # fmt: skip
        return Verdict(checks, rows, draw)


DAO = "Dao et al. 2022"

CLAIMS = (
    Against(
        "dao22-forward", DAO, "Theorem 2",
        "Forward, standard attention moves Θ(nd + n^2) and FlashAttention Θ(n^2 d^2 / M).",
        "attention-forward",
    ),
    Against(
        "dao22-backward", DAO, "Theorem 5",
        "Backward, standard attention moves Θ(nd + n^2) and FlashAttention Θ(n^2 d^2 / M).",
        "attention-backward",
    ),
    NoBetter(
        "dao22-no-better", DAO, "Proposition 3",
        "No algorithm moves o(n^2 d^2 / M) for every M from d to nd.",
    ),
)  # fmt: skip
