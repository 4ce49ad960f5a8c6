"""Claims about M = d²: where the regimes meet, and what FlashAttention loses below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lab.verify.measuring import anchor, certified, fit_powers, io, logarithmic, sized
from lab.verify.statement import Check, Claim, Rows, Verdict
from lab.verify.tolerances import EXPONENT, LIMIT_ERROR, WITHIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

__all__ = ["CLAIMS", "LONG", "Crossing", "Growth", "limit", "meeting"]

#: The least d at which the exponent of a crossover is fitted.
LONG = 128


def meeting(workload: str, small: str, large: str, low: int, high: int) -> int | None:
    """Find an M up to which one strategy moves less and from which another does, by bisection.

    Returns
    -------
    int or None
        To one part in 128; None if the order does not change between low and high.

    Examples
    --------
    >>> meeting("attention-gradient:n=4096,d=16", "flash", "algorithm6", 100, 1000) is None
    True
    """

    def ahead(memory: int) -> bool:
        return io(workload, large, memory) <= io(workload, small, memory)

    if ahead(low) or not ahead(high):
        return None
    while high - low > max(1, low // 128):
        middle = (low + high) // 2
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return high


def limit(heads: list[int], shares: list[float]) -> tuple[float, float, float]:
    """Fit c + c' / d by least squares; return c, its standard error, and c'.

    Examples
    --------
    >>> [round(x, 9) for x in limit([1, 2, 4], [3.0, 2.0, 1.5])]
    [1.0, 0.0, 2.0]
    """
    matrix = np.column_stack([np.ones(len(heads)), 1 / np.array(heads, float)])
    values = np.array(shares)
    solution = np.linalg.lstsq(matrix, values, rcond=None)[0]
    rest = values - matrix @ solution
    variance = float(rest @ rest) / (len(heads) - 2)
    error = float(np.sqrt(variance * np.linalg.inv(matrix.T @ matrix)[0, 0]))
    return float(solution[0]), error, float(solution[1])


@dataclass(frozen=True)
class Crossing(Claim):
    """The M at which one schedule overtakes another is of an order in d.

    Attributes
    ----------
    family : str
        The workload.
    small, large : str
        The schedules ahead below and above.
    bound : str
        Name of the Θ whose two terms meet there.
    power : float
        The exponent of d.
    """

    family: str = ""
    small: str = ""
    large: str = ""
    bound: str = ""
    power: float = 2

    tolerance: ClassVar[str] = (
        f"exponent ± {EXPONENT:g}, limit from 1/{WITHIN:g} to {WITHIN:g}, "
        f"its error at most {LIMIT_ERROR:.0%} of it"
    )

    @property
    def predicted(self) -> str:
        """The order in d."""
        return f"M = Θ(d^{self.power:g})"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Find the crossing for d = 16 ... 1024, and fit c + c'/d to M over d^power."""
        heads = [16, 128, 256, 1024] if quick else [16, 32, 64, 128, 256, 512, 1024]
        n, rows = 1 << 20, list[dict[str, Any]]()
        for d in heads:
            workload = sized(self.family, n=n, d=d)
            # Where FlashAttention's tiles of d columns fit, up to far above d^2.
            found = meeting(workload, self.small, self.large, max(8 * d, d * d // 16), 16 * d * d)
            if found is None:
                continue
            rows.append(
                {
                    "workload": workload, "small": self.small, "large": self.large, "n": n, "d": d,
                    "M": found, "M_over_d2": found / d**2, "share": found / d**self.power,
                    "io": io(workload, self.large, found),
                }
            )  # fmt: skip
        crossed = Check(
            "crossings found", f"one for each of {len(heads)} d", f"{len(rows)}", "exactly",
            len(rows) == len(heads),
        )  # fmt: skip
        if not crossed.holds:
            rows = rows or [{"workload": self.family, "d": 1, "M": 1, "share": 1, "M_over_d2": 1}]
            return Verdict((crossed,), rows, self._draw(rows, None))
        # c'/d bends the curve where d is small; the exponent is that of the larger d.
        long = [row for row in rows if row["d"] >= LONG]
        (slope,) = fit_powers([(row["d"],) for row in long], [row["M"] for row in long])
        c, error, correction = limit(heads, [row["share"] for row in rows])
        checks = (
            crossed,
            Check(
                f"exponent of d from d = {LONG} on", f"{self.power:g}", str(slope),
                f"± {EXPONENT:g}",
                abs(slope.exponent - self.power) <= EXPONENT,
            ),
            Check(
                f"limit c of M/d^{self.power:g} = c + c'/d",
                "a constant",
                f"{c:.3f} ± {error:.3f}, c' = {correction:.2f}",
                f"from 1/{WITHIN:g} to {WITHIN:g}, error <= {LIMIT_ERROR:.0%}",
                1 / WITHIN <= c <= WITHIN and error <= LIMIT_ERROR * c,
            ),
            self._symbolic(),
        )  # fmt: skip
        return Verdict(checks, rows, self._draw(rows, (c, correction)))

    def _symbolic(self) -> Check:
        from bounds.bound import crossover, d
        from bounds.theorems import theorems

        theorem = next(each for each in theorems(self.family) if each.name == self.bound)
        where = crossover(theorem)
        return Check(
            "where the terms of the Θ meet", f"d^{self.power:g}", str(where), "exactly",
            bool(where == d**self.power),
        )  # fmt: skip

    def _draw(self, rows: Rows, fitted: tuple[float, float] | None) -> Callable[[Axes], Axes]:
        def draw(ax: Axes) -> Axes:
            heads = [row["d"] for row in rows]
            ax.plot(heads, [row["share"] for row in rows], "o", gid="measured", label="measured")
            if fitted is not None:
                c, correction = fitted
                curve = [c + correction / d for d in heads]
                ax.plot(heads, curve, "-", gid="fit", label=f"{c:.3g} + {correction:.3g}/d")
            title = f"{self.id}: {self.small} below, {self.large} above"
            ax.set(xscale="log", xlabel="$d$", ylabel=f"M/d^{self.power:g}", title=title)
            ax.set_ylim(bottom=0)
            ax.grid(visible=True, alpha=0.3)
            ax.legend(frameon=False)
            return ax

        return draw


@dataclass(frozen=True)
class Growth(Claim):
    """Below M = d² the ratio of a schedule's I/O to the least grows like a power of d/√M.

    Attributes
    ----------
    family : str
        The workload.
    strategy : str
        The schedule that is not optimal.
    rival : str
        One that is.
    power : float
        The exponent of d/√M.
    """

    family: str = ""
    strategy: str = ""
    rival: str = ""
    power: float = 1

    tolerance: ClassVar[str] = f"exponent ± {EXPONENT:g}, the rival's ratio <= {WITHIN:g}"

    @property
    def predicted(self) -> str:
        """The growth."""
        return f"I/O over the bound ~ (d/sqrt(M))^{self.power:g}"

    def measure(self, *, quick: bool = False) -> Verdict:
        """Count at M = d²/x² for growing x, with M still far above d."""
        n, d, rows = 1 << 16, 1 << 13, list[dict[str, Any]]()
        workload = sized(self.family, n=n, d=d)
        for x in (4, 8, 16) if quick else (4, 6, 8, 11, 16):
            M = d * d // x**2
            least = certified(workload, M)
            moved, other = io(workload, self.strategy, M), io(workload, self.rival, M)
            rows.append(
                {
                    "workload": workload, "n": n, "d": d, "M": M, "x": x, "certified": least,
                    "strategy": self.strategy, "io": moved, "ratio": moved / least,
                    "rival": self.rival, "rival_io": other, "rival_ratio": other / least,
                }
            )  # fmt: skip
        xs = [(row["x"],) for row in rows]
        (slope,) = fit_powers(xs, [row["ratio"] for row in rows])
        most = max(row["rival_ratio"] for row in rows)
        checks = (
            Check(
                f"exponent of d/sqrt(M) in the ratio of {self.strategy}", f"{self.power:g}",
                str(slope), f"± {EXPONENT:g}", abs(slope.exponent - self.power) <= EXPONENT,
            ),
            Check(
                f"ratio of {self.rival}, most", "bounded above", f"{most:.2f}", f"<= {WITHIN:g}",
                most <= WITHIN,
            ),
            anchor((f"{self.family}:n=16,d=12", s, 120) for s in (self.strategy, self.rival)),
        )  # fmt: skip
        columns = {"ratio": self.strategy, "rival_ratio": self.rival}
        draw = logarithmic(
            rows, "x", columns, by="d", title=self.id,
            xlabel=r"$d/\sqrt{M}$", ylabel="I/O over the certified bound",
        )  # fmt: skip
        return Verdict(checks, rows, draw)


SY24, LI24 = "Saha, Ye 2024", "Li et al. 2024"

CLAIMS = (
    Crossing(
        "sy24-crossover", SY24, "Theorem 3.1",
        "The two regimes of the forward pass meet at M = Θ(d^2).",
        "attention-forward", "saha-ye", "flash", "sy24-forward",
    ),
    Crossing(
        "li24-backward-crossover", LI24, "Theorem 1.1",
        "The switch of the backward pass between Algorithm 6 and FlashAttention is at M = Θ(d^2).",
        "attention-backward", "algorithm6", "flash", "li24-backward",
    ),
    Crossing(
        "li24-gradient-crossover", LI24, "Theorem 1.1",
        "The switch of the gradient between Algorithm 6 and FlashAttention is at M = Θ(d^2).",
        "attention-gradient", "algorithm6", "flash", "li24-gradient",
    ),
    Growth(
        "sy24-flash-below", SY24, "Theorem 3.1",
        "For M = o(d^2) FlashAttention's forward pass is not optimal: d/sqrt(M) too much.",
        "attention-forward", "flash", "saha-ye",
    ),
    Growth(
        "li24-backward-flash-below", LI24, "Theorem 1.1",
        "For M = o(d^2) FlashAttention's backward pass is not optimal, Algorithm 6 is.",
        "attention-backward", "flash", "algorithm6",
    ),
    Growth(
        "li24-gradient-flash-below", LI24, "Theorem 1.1",
        "For M = o(d^2) FlashAttention's gradient is not optimal, Algorithm 6 is.",
        "attention-gradient", "flash", "algorithm6",
    ),
)  # fmt: skip
