"""The lower bound for sparse attention, and how it has to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from lab.arguments import as_workload
from lab.verify.measuring import fit_powers, io, logarithmic, powers, sized
from lab.verify.statement import Check, Claim, Verdict
from lab.verify.tolerances import EXPONENT, LEAST, SPREAD, WITHIN

__all__ = ["CLAIMS", "Density", "Sparse"]


@dataclass(frozen=True)
class Sparse(Claim):
    """Sparse attention moves Ω(min(Z_input²/M, Z_input √Z_QK / √M)), in the worst case.

    Z_input nonzeros of Q and K, Z_QK scores. There are patterns with these counts that need so
    much: rows of Q and K that are zero but for some m of n, which leave dense attention of m rows
    with Z_input = 2md, Z_QK = m². There are others that need far less, such as blocks on the
    diagonal, so that the bound cannot be meant for every pattern.

    Attributes
    ----------
    bound : str
        Name of the theorem.
    reading : {"worst", "every"}
        ``worst``: some pattern with the counts needs so much. ``every`` is the stronger statement,
        which block-diagonal attention refutes.
    boundary : float
        The exponent of Z_QK in the M at which the two terms meet, that of Z_input being 2.
    """

    bound: str = "li24-sparse-forward"
    reading: Literal["worst", "every"] = "worst"
    boundary: float = -1

    tolerance: ClassVar[str] = (
        f"certified bound of the worst pattern >= {LEAST:g}/{WITHIN:g} of it, "
        f"exponents ± {EXPONENT:g}"
    )

    @property
    def predicted(self) -> str:
        """The bound, and where its regimes meet."""
        where = f"M = Z_input^2 Z_QK^{self.boundary:g}"
        return f"Ω(min(Z_input^2/M, Z_input sqrt(Z_QK)/sqrt(M))), meeting at {where}"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Evaluate the theorem against certified bounds and against a block-diagonal play."""
        from bounds.bound import Z_QK, Z_input, crossover
        from bounds.certified import Heads
        from bounds.theorems import theorems

        theorem = next(t for t in theorems("attention-forward") if t.name == self.bound)
        rows: list[dict[str, Any]] = []
        for m in (1 << 16, 1 << 20) if quick else (1 << 16, 1 << 18, 1 << 20):
            for d in (64, 256):
                # Dense attention of the m rows that are not zero, in both regimes.
                nonzeros, scores = 2 * m * d, m * m
                for multiple in (1 / 1024, 1 / 256, 1, 16, 64):
                    M = int(multiple * nonzeros**2 / scores)
                    value = float(theorem.evaluate(Z_input=nonzeros, Z_QK=scores, M=M))
                    least = Heads(m, m, d, d).certified(M)[0].value
                    rows.append(
                        {
                            "pattern": "rows", "n": m, "d": d, "Z_input": nonzeros,
                            "Z_QK": scores, "M": M, "over_boundary": multiple,
                            "bound": value, "io": least, "ratio": least / value,
                        }
                    )  # fmt: skip
        worst = min(row["ratio"] for row in rows)
        blocks = self._blocks(theorem)
        (slope,) = fit_powers([(row["n"],) for row in blocks], [row["ratio"] for row in blocks])
        meet = crossover(theorem)
        checks = [
            Check(
                "where the regimes meet", f"Z_input^2 Z_QK^{self.boundary:g}", str(meet), "exactly",
                bool(meet == Z_input**2 * Z_QK**self.boundary),
            ),
            Check(
                "certified bound of dense rows / bound, least", "bounded below", f"{worst:.2f}",
                f">= {LEAST / WITHIN:g}", worst >= LEAST / WITHIN,
            ),
            self._exponents(rows),
        ]  # fmt: skip
        falls = Check(
            "block-diagonal count / bound, exponent of n",
            "-0.5: not a bound for every pattern" if self.reading == "worst" else "0 or more",
            str(slope),
            f"± {EXPONENT:g}",
            abs(slope.exponent + 0.5) <= EXPONENT
            if self.reading == "worst"
            else slope.exponent >= -EXPONENT,
        )
        draw = logarithmic(
            [row | {"line": (row["n"], row["d"], row["Z_QK"])} for row in rows], "over_boundary",
            {"ratio": "certified bound, dense rows"}, by="line", title=self.id,
            xlabel="$M$ over $Z_{input}^2 / Z_{QK}$", ylabel="over the bound",
        )  # fmt: skip
        return Verdict((*checks, falls), [*rows, *blocks], draw)

    @staticmethod
    def _exponents(rows: list[dict[str, Any]]) -> Check:
        """Judge the powers of M of the certified bounds, well inside each regime."""
        found = []
        for inside in (
            [row for row in rows if row["over_boundary"] < 0.25],
            [row for row in rows if row["over_boundary"] > 1],
        ):
            names = ("Z_input", "Z_QK", "M")
            found.append(
                fit_powers(
                    [[row[name] for name in names] for row in inside],
                    [row["io"] for row in inside],
                )
            )
        shown = " | ".join(", ".join(map(str, powers)) for powers in found)
        wanted = ((1, 0.5, -0.5), (2, 0, -1))
        holds = all(
            abs(power.exponent - want) <= EXPONENT
            for powers, wants in zip(found, wanted, strict=True)
            for power, want in zip(powers, wants, strict=True)
        )
        return Check(
            "exponents of Z_input, Z_QK, M in the certified bounds, below | above",
            "1, 0.5, -0.5 | 2, 0, -1", shown, f"± {EXPONENT:g}", holds,
        )  # fmt: skip

    @staticmethod
    def _blocks(theorem: object) -> list[dict[str, Any]]:
        """Count block-diagonal attention, one block after another, for growing n."""
        from bounds.bound import Bound

        assert isinstance(theorem, Bound)
        b = d = 16
        M = 8 * b * d  # a block's Q, K, V and O fit
        block = io(sized("attention-forward", n=b, d=d), "flash2", M)
        rows: list[dict[str, Any]] = []
        for n in (1 << 10, 1 << 13, 1 << 16, 1 << 19):
            nonzeros, scores = 2 * n * d, n * b
            value = float(theorem.evaluate(Z_input=nonzeros, Z_QK=scores, M=M))
            rows.append(
                {
                    "pattern": "blocks", "n": n, "d": d, "Z_input": nonzeros, "Z_QK": scores,
                    "M": M, "over_boundary": M * scores / nonzeros**2, "bound": value,
                    "io": n // b * block, "ratio": n // b * block / value,
                }
            )  # fmt: skip
        return rows


@dataclass(frozen=True)
class Density(Claim):
    """Block-sparse FlashAttention moves Θ(nd + n² d² s / M), s the share of blocks kept.

    Random masks of large blocks, so that a tile of the schedule is kept or skipped as a whole but
    at their rims; what moves besides the terms nd is in proportion to s.

    Attributes
    ----------
    strategy : str
        What is counted.
    exponents : tuple of float
        Of s, n and M in the I/O above that of the inputs and the output.
    """

    strategy: str = "block-sparse-flash"
    exponents: tuple[float, ...] = (1, 2, -1)

    tolerance: ClassVar[str] = f"exponents ± {EXPONENT:g}, quotient within {SPREAD:g}"

    @property
    def predicted(self) -> str:
        """The order."""
        return "Θ(nd + n^2 d^2 s/M)"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count masks of several densities, and fit."""
        d, block = 64, 4096
        rows: list[dict[str, Any]] = []
        for n in (1 << 17, 1 << 18) if quick else (1 << 17, 1 << 18, 1 << 19, 1 << 20):
            for asked in (0.05, 0.1, 0.3, 0.9):
                mask = f"mask=block-{block}-random-{asked}-seed-1"
                text = f"{sized('attention-forward', n=n, d=d)},{mask}"
                share = as_workload(text).facts()["Z_QK"] / n**2
                for width in (32, 128, 512):
                    M = 2 * d * width
                    more = io(text, self.strategy, M) - 4 * n * d
                    order = n * n * d * d * share / M
                    rows.append(
                        {
                            "n": n, "d": d, "s": share, "M": M, "order": order, "more": more,
                            "ratio": more / order, "line": (n, M),
                        }
                    )  # fmt: skip
        ratios = [row["ratio"] for row in rows]
        spread = max(ratios) / min(ratios)
        checks = (
            powers("the I/O above 4nd", rows, ("s", "n", "M"), "more", self.exponents),
            Check(
                "(I/O - 4nd) over n^2 d^2 s/M, most over least", "bounded", f"{spread:.2f}",
                f"<= {SPREAD:g}", spread <= SPREAD,
            ),
        )  # fmt: skip
        draw = logarithmic(
            rows, "s", {"more": "I/O above 4nd"}, by="line", title=self.id,
            xlabel="share of blocks kept", ylabel="scalars",
        )  # fmt: skip
        return Verdict(checks, [{k: v for k, v in r.items() if k != "line"} for r in rows], draw)


CLAIMS = (
    Density(
        "dao22-block-sparse", "Dao et al. 2022", "Proposition 4",
        "Block-sparse FlashAttention moves Θ(nd + n^2 d^2 s/M), s the share of blocks kept.",
    ),
    Sparse(
        "li24-sparse", "Li et al. 2024", "Theorem 4.5",
        "Attention on sparse inputs moves Ω(min(Z_input^2/M, Z_input sqrt(Z_QK)/sqrt(M))) in the "
        "worst case over the inputs with these counts; the regimes meet at M = Z_input^2/Z_QK.",
    ),
)  # fmt: skip
