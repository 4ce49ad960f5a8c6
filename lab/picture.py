"""The layers of a picture of a sweep, drawn one by one on given axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.analysis import crossovers
from pebble.errors import SpecError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lab.analysis import Crossover
    from lab.curves import Curves, Scene

__all__ = ["MARKERS", "PALETTE", "Picture"]

#: Okabe and Ito's colours: told apart with every kind of colour vision. Markers differ as well.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
_STYLES = ("-", "--", "-.", ":")
_INK, _GREY = "#333333", "#777777"
_AXES = {
    "M": "M, red pebbles (scalars of fast memory)",
    "n": "n, sequence length",
    "d": "d, head dimension",
}


class Picture:
    """One pair of axes and what is drawn on it.

    Parameters
    ----------
    scene : Scene
        What to draw.
    ax : Axes
        Where.
    ratio : bool
        Heights are I/O over Θ.
    notes : bool
        Whether crossovers are described beside their mark.
    """

    def __init__(self, scene: Scene, ax: Axes, *, ratio: bool = False, notes: bool = True) -> None:
        self.scene, self.ax, self.ratio, self.notes = scene, ax, ratio, notes
        if ratio and not scene.bounded:
            works = ", ".join(scene.results.workloads)
            raise SpecError(f"no Θ is known for {works}: draw the I/O, not its ratio")

    def draw(self, *, over_d2: bool = True, title: str | None = None) -> None:
        """Draw everything."""
        self.measured()
        self.theta()
        if not self.ratio:
            self.floor()
        self.frame(title)
        self.outside()
        self.switch()
        self.crossovers()
        if over_d2 and self.scene.x == "M" and self.scene.head_size is not None:
            self.second_axis(self.scene.head_size)

    def measured(self) -> None:
        """Draw each strategy's points, joined where they are neighbours."""
        for g, group in enumerate(self.scene.groups):
            for s, strategy in enumerate(self.scene.results.strategies):
                places, heights = group.measured(strategy, ratio=self.ratio)
                if not any(map(math.isfinite, heights)):
                    continue
                fits = group.slopes(strategy, ratio=self.ratio)
                words = group.growth([fit.slope for fit in fits])
                self.ax.plot(
                    places,
                    heights,
                    color=PALETTE[s % len(PALETTE)],
                    marker=MARKERS[s % len(MARKERS)],
                    linestyle=_STYLES[g % len(_STYLES)],
                    markersize=5.5,
                    markeredgecolor="white",
                    markeredgewidth=0.6,
                    linewidth=1.4,
                    label=f"{strategy}{group.suffix}" + (f": {words}" if words else ""),
                    gid=f"measured:{strategy}{group.suffix}",
                    zorder=5,
                )

    def theta(self) -> None:
        """Draw the scaled Θ of each group inside its regime, the scale in the legend."""
        scale = self.scene.scale
        if scale is None:
            return
        label: str | None = f"{scale:.3g} × Θ: the least possible order, its constant fitted"
        for group in self.scene.groups:
            places, heights = group.theta(scale, ratio=self.ratio)
            if places:
                style: Any = (0, (5, 2))
                self.ax.plot(
                    places, heights, color=_INK, linestyle=style, linewidth=1.3, label=label,
                    gid="theta", zorder=4,
                )  # fmt: skip
                label = None

    def floor(self) -> None:
        """Draw what every play moves: inputs plus outputs."""
        label: str | None = "inputs + outputs, which every play moves"
        for group in self.scene.groups:
            places, heights = group.floor()
            if places:
                self.ax.plot(
                    places, heights, color=_GREY, linestyle=":", linewidth=1.6, label=label,
                    gid="floor", zorder=3,
                )  # fmt: skip
                label = None

    def frame(self, title: str | None) -> None:
        """Set scales, limits, labels and grid."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax, left, right = self.ax, self.scene.low, self.scene.high
        margin = (right / left) ** 0.03 if right > left else 1.5
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(left / margin, right * margin)
        low, high = ax.get_ylim()
        # Room at the bottom for the labels that stand there.
        ax.set_ylim(low / (high / low) ** (0.3 if self.ratio else 0.06), high)
        octaves = math.log2(right / left)
        ax.xaxis.set_major_locator(LogLocator(base=2.0 if octaves < 10 else 4.0, numticks=20))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.minorticks_off()
        ax.yaxis.set_minor_locator(LogLocator(base=10.0, subs=range(2, 10), numticks=20))
        few = high < low * (50 if self.ratio else 1000)
        ax.yaxis.set_minor_formatter(FuncFormatter(_minor) if few else NullFormatter())
        ax.tick_params(axis="y", which="minor", labelsize=7.5, labelcolor=_GREY)
        ax.grid(visible=True, color="#dddddd", linewidth=0.6, zorder=0)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.set_xlabel(_AXES.get(self.scene.x, self.scene.x))
        ax.set_ylabel("I/O ÷ Θ" if self.ratio else "I/O, loads + stores")
        if title != "":
            ax.set_title(title or self.scene.title(), fontsize=11, loc="left")
            ax.set_title(self.provenance(), fontsize=8.5, loc="right", color=_GREY)

    def provenance(self) -> str:
        """Return the rules and who counted."""
        methods = {"referee": "refereed", "tally": "counted by tally"}
        rows = self.scene.results.played
        rules = ", ".join(dict.fromkeys(row.rules for row in rows))
        words = ", ".join(dict.fromkeys(methods.get(row.method, row.method) for row in rows))
        return f"rules {rules}, {words}"

    def outside(self) -> None:
        """Grey out what lies outside the regime of the Θ."""
        label: str | None = "here the theorem behind the Θ says nothing"
        for left, right in self.scene.outside(*self.ax.get_xlim()):
            self.ax.axvspan(
                left, right, color="#e9e9e9", zorder=0, linewidth=0, label=label, gid="outside"
            )
            label = None

    def switch(self) -> None:
        """Mark the M at which the two regimes of the Θ meet."""
        import sympy

        seen = set()
        for group in self.scene.bounded:
            place = group.switch
            if place is None or place in seen or not self.scene.low < place < self.scene.high:
                continue
            seen.add(place)
            self.ax.axvline(place, color=_GREY, linewidth=1.0, gid="switch", zorder=2)
            self.ax.annotate(
                f"$M = {sympy.latex(group.meeting)}${group.suffix}",
                (place, 0.015),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                color=_INK,
                fontsize=9,
                zorder=9,
            )

    def crossovers(self) -> None:
        """Mark where the strategy with the least I/O changes."""
        found = crossovers(self.scene.results, self.scene.x)
        for crossing in found:
            height = self.height(crossing)
            if height is None:
                continue
            self.ax.plot(
                [crossing.x],
                [height],
                linestyle="none",
                marker="o",
                markersize=13,
                markerfacecolor="none",
                markeredgecolor=_INK,
                markeredgewidth=1.6,
                gid="crossover",
                zorder=8,
            )
            if self.notes and len(found) == 1:
                words = f"measured crossover: {self.where(crossing)}\n"
                self.note(f"{words}← {crossing.before}    {crossing.after} →", crossing.x, height)
            elif self.notes:
                self.ax.annotate(
                    self.where(crossing),
                    (crossing.x, height),
                    xytext=(7, 8),
                    textcoords="offset points",
                    fontsize=8,
                    color=_INK,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8},
                    zorder=9,
                )

    def group_of(self, crossing: Crossover) -> Curves:
        """Return the group that a crossover belongs to."""
        return next(g for g in self.scene.groups if crossing.row in g.rows)

    def height(self, crossing: Crossover) -> float | None:
        """Return the height of a crossover; None where the Θ is not known between two points."""
        if not self.ratio:
            return crossing.io
        group = self.group_of(crossing)
        if group.bound is None or self.scene.x != "M":
            return None
        return float(crossing.io / group.bound.evaluate(**group.values(crossing.x)))

    def where(self, crossing: Crossover) -> str:
        """Word the place of a crossover: the measured points that it lies between."""
        low, high = crossing.low, crossing.high
        place = f"{low:,} < {self.scene.x} ≤ {high:,}"
        if self.scene.x == "M" and "d" in crossing.row.sizes:
            d2 = crossing.row.sizes["d"] ** 2
            place += f" ({low / d2:.2f} to {high / d2:.2f} d²)"
        return place

    def note(self, words: str, x: float, y: float) -> None:
        """Write beside a place: below it unless that is the bottom, left unless at the edge."""
        ax = self.ax
        across, up = ax.transAxes.inverted().transform(ax.transData.transform((x, y)))
        points = ax.bbox.height * 72 / ax.figure.dpi
        right, above = across < 0.42, up * points < 90
        ax.annotate(
            words,
            (x, y),
            xytext=(18 if right else -18, 46 if above else -46),
            textcoords="offset points",
            ha="left" if right else "right",
            va="bottom" if above else "top",
            fontsize=9,
            color=_INK,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
            arrowprops={"arrowstyle": "-", "color": _INK, "linewidth": 0.8, "shrinkB": 7},
            zorder=9,
        )

    def second_axis(self, d: int) -> None:
        """Add the axis of M/d² at the top."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        def over(places: Any) -> Any:
            return np.asarray(places) / d**2

        def times(places: Any) -> Any:
            return np.asarray(places) * d**2

        top = self.ax.secondary_xaxis("top", functions=(over, times))
        top.set_xlabel("M / d²", fontsize=9)
        top.tick_params(labelsize=8.5)
        top.xaxis.set_major_locator(LogLocator(base=4.0, numticks=20))
        top.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        top.xaxis.set_minor_formatter(NullFormatter())
        top.minorticks_off()


def _minor(value: float, _: object) -> str:
    """Label the ticks 2 and 5 between powers of ten."""
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10**exponent)
    return rf"$\mathdefault{{{digit}\times10^{{{exponent}}}}}$" if digit in {2, 5} else ""
