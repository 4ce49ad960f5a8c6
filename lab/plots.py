"""Pictures of sweeps. Every function takes axes and returns them; nothing global is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.analysis import axis_value, crossovers, fit_scale, fit_slope, series, winner
from lab.yardsticks import values_at
from pebble.errors import SpecError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bounds.bound import Bound
    from lab.results import Results, Row

__all__ = ["MARKERS", "PALETTE", "figure", "io_versus", "sheet"]

#: Okabe and Ito's colours: told apart with every kind of colour vision. Markers differ as well.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vP*X"
_STYLES = ("-", "--", "-.", ":")
_INK = "#333333"
_GREY = "#777777"
#: Points of a curve that is drawn from its formula.
_FINE = 241


def figure(width: float = 8.0, height: float = 5.4) -> tuple[Figure, Axes]:
    """Return a figure of its own, unknown to pyplot, with one pair of axes.

    Examples
    --------
    >>> fig, ax = figure()
    >>> len(fig.axes)
    1
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    new = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(new)
    return new, new.subplots()


def io_versus(
    results: Results,
    x: str = "M",
    ax: Axes | None = None,
    *,
    ratio: bool = False,
    over_d2: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw measured I/O against M or a size, both axes logarithmic, with the theory around it.

    Parameters
    ----------
    results : Results
        Rows of a sweep.
    x : str
        ``M``, or a size of the workloads such as ``n`` or ``d``.
    ax : Axes, optional
        Where to draw; by default axes of a new figure (``ax.figure.savefig(...)``).
    ratio : bool
        Draw I/O over the value of the Θ, which is flat where a strategy is optimal.
    over_d2 : bool
        Where the workload has a head dimension and ``x`` is M, add an axis of M/d².
    legend : bool
        Put a legend under the axes, where it hides nothing.
    title : str, optional
        Default: the workload. An empty text leaves it out.

    Returns
    -------
    Axes
        The axes drawn on. Artists carry a ``gid``: ``measured:STRATEGY``, ``theta``,
        ``floor``, ``switch``, ``crossover``, ``outside``.

    Raises
    ------
    SpecError
        If there is nothing to draw, or a ratio is asked for where no Θ is known.

    Notes
    -----
    - Points that could not be played are gaps (nan).
    - The slope in the legend is fitted to the points of a strategy inside the theorem's regime;
      where the regime has two halves, to each half.
    - A Θ has no constant: it is drawn as ``max(inputs + outputs, scale × Θ)``, with the scale
      fitted (mean of logarithms) to the least I/O of any strategy at the points inside the regime.
    - A crossover is where the strategy with the least I/O changes, interpolated between two
      measured points on logarithmic axes.

    Examples
    --------
    >>> from lab import sweep
    >>> grid = sweep("attention-forward:n=16,d=4", "naive,flash", "16:64:x2")
    >>> ax = io_versus(grid)
    >>> [line.get_ydata().tolist() for line in ax.get_lines() if line.get_gid() == "measured:naive"]
    [[9872.0, 9872.0, 9872.0]]
    """
    if not results.played.rows:
        raise SpecError("nothing to draw: no point of these results was played")
    if ax is None:
        _, ax = figure()
    _Picture(results, x, ax, ratio=ratio).draw(over_d2=over_d2, title=title)
    if legend:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), **_legend(ax))
    return ax


def sheet(results: Results, x: str = "M") -> Figure:
    """Draw I/O above and, where a Θ is known, I/O over the Θ below, with one legend.

    Examples
    --------
    >>> from lab import sweep
    >>> len(sheet(sweep("attention-forward:n=16,d=4", "naive", "16:64:x2")).axes)
    2
    """
    fig, ax = figure(8.0, 5.6)
    if not any(row.bound for row in results):
        io_versus(results, x, ax, legend=False)
    else:
        ax.remove()
        fig.set_size_inches(8.0, 8.0)
        upper, lower = fig.subplots(2, 1, sharex=True, height_ratios=(5, 3))
        io_versus(results, x, upper, legend=False)
        _Picture(results, x, lower, ratio=True, notes=False).draw(over_d2=False, title="")
        upper.set_xlabel("")
        ax = upper
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", **_legend(ax))
    return fig


def _legend(ax: Axes) -> dict[str, Any]:
    """Return how legends look; a heading explains pairs of slopes."""
    labels = ax.get_legend_handles_labels()[1]
    pairs = any(" | " in label for label in labels)
    heading = "slope: fitted below | above the $M$ where the regimes of the Θ meet"
    return {
        "ncols": 2,
        "fontsize": 9,
        "frameon": False,
        "handlelength": 2.6,
        "title": heading if pairs else None,
        "title_fontsize": 8.5,
    }


@dataclass
class _Curves:
    """Rows that share everything but the strategy and the place on the axis."""

    rows: list[Row]
    suffix: str
    style: str
    bound: Bound | None

    @cached_property
    def meeting(self) -> Any:
        """M as a formula in the sizes, where the two regimes of the Θ meet; None if it has one."""
        from bounds.bound import crossover

        try:
            return None if self.bound is None else crossover(self.bound)
        except SpecError:  # one regime
            return None


class _Picture:
    """One pair of axes and what is drawn on it, layer by layer."""

    def __init__(
        self, results: Results, x: str, ax: Axes, *, ratio: bool = False, notes: bool = True
    ) -> None:
        self.results, self.x, self.ax, self.ratio, self.notes = results, x, ax, ratio, notes
        groups = list(series(results, x).values())
        self.groups = [
            _Curves(rows, suffix, _STYLES[i % len(_STYLES)], _bound(rows))
            for i, (rows, suffix) in enumerate(zip(groups, _suffixes(groups, x), strict=True))
        ]
        if ratio and not any(group.bound for group in self.groups):
            raise SpecError(
                f"no Θ is known for {', '.join(results.workloads)}: draw the I/O, not its ratio"
            )
        places = [axis_value(row, x) for row in results]
        self.low, self.high = min(places), max(places)

    def draw(self, *, over_d2: bool, title: str | None) -> None:
        self.measured()
        self.theta()
        self.floor()
        self.frame(title)
        self.outside()
        self.switch()
        self.crossovers()
        if over_d2 and self.x == "M" and len(self.head_sizes) == 1:
            self.second_axis(self.head_sizes.pop())

    # -- layers --------------------------------------------------------------------------------

    def measured(self) -> None:
        """Draw each strategy's points, joined where they are neighbours; nan where not played."""
        strategies = self.results.strategies
        for group in self.groups:
            for number, strategy in enumerate(strategies):
                rows = [row for row in group.rows if row.strategy == strategy]
                rows.sort(key=lambda row: axis_value(row, self.x))
                values = [self.value(row) for row in rows]
                if not any(map(math.isfinite, values)):
                    continue
                self.ax.plot(
                    [axis_value(row, self.x) for row in rows],
                    values,
                    color=PALETTE[number % len(PALETTE)],
                    marker=MARKERS[number % len(MARKERS)],
                    linestyle=group.style,
                    markersize=5.5,
                    markeredgecolor="white",
                    markeredgewidth=0.6,
                    linewidth=1.4,
                    label=f"{strategy}{group.suffix}{self.slopes(group, rows)}",
                    gid=f"measured:{strategy}",
                    zorder=5,
                )

    def value(self, row: Row) -> float:
        """Return a row's height, nan where there is none."""
        height = row.io_over_bound if self.ratio else row.io
        return math.nan if height is None else float(height)

    def slopes(self, group: _Curves, rows: list[Row]) -> str:
        """Word the fitted slopes for the legend."""
        points = [
            (axis_value(row, self.x), self.value(row))
            for row in rows
            if row.in_regime is not False and math.isfinite(self.value(row))
        ]
        switch = self.switch_of(group)
        halves = [points]
        if switch is not None:
            halves = [[p for p in points if p[0] <= switch], [p for p in points if p[0] >= switch]]
            if min(map(len, halves)) < 3:
                halves = [points]
        fits = [fit_slope(half) for half in halves]
        words = [_signed(fit.slope) for fit in fits if fit is not None]
        return f"   slope {' | '.join(words)}" if words else ""

    def theta(self) -> None:
        """Draw max(inputs + outputs, scale × Θ) inside the regime, scale in the legend."""
        scale, names = self.scale, self.bound_names
        if scale is None:
            return
        first = True
        for group in self.groups:
            curve = self.curve(group, scale)
            if curve is None:
                continue
            self.ax.plot(
                *curve,
                color=_INK,
                linestyle=(0, (5, 2)),
                linewidth=1.3,
                label=f"{scale:.3g} × Θ({', '.join(names)})" if first else None,
                gid="theta",
                zorder=4,
            )
            first = False

    def curve(self, group: _Curves, scale: float) -> tuple[list[float], list[float]] | None:
        """Return places and heights of the scaled Θ of a group."""
        bound = group.bound
        if bound is None:
            return None
        sizes = group.rows[0].sizes
        if self.x == "M":
            places = np.geomspace(self.low, self.high, _FINE).tolist()
            points = [(place, values_at(bound, sizes, place)) for place in places]
        else:
            by_place = {axis_value(row, self.x): row for row in group.rows}
            points = [
                (float(place), values_at(bound, by_place[place].sizes, by_place[place].memory))
                for place in sorted(by_place)
            ]
        xs, ys = [], []
        for place, values in points:
            if bound.holds(**values):
                height = float(bound.evaluate(**values))
                xs.append(place)
                ys.append(scale if self.ratio else max(scale * height, self.least(group, place)))
        return (xs, ys) if xs else None

    def least(self, group: _Curves, place: float) -> float:
        """Return inputs plus outputs at a place, 0 where they are not known."""
        known = [
            row.compulsory
            for row in group.rows
            if row.compulsory is not None and (self.x == "M" or axis_value(row, self.x) == place)
        ]
        return float(max(known, default=0))

    def floor(self) -> None:
        """Draw what every play moves: inputs plus outputs."""
        if self.ratio:
            return
        first = True
        for group in self.groups:
            points = {
                axis_value(row, self.x): row.compulsory
                for row in group.rows
                if row.compulsory is not None
            }
            places = sorted(points)
            if not places:
                continue
            self.ax.plot(
                places,
                [points[place] for place in places],
                color=_GREY,
                linestyle=":",
                linewidth=1.6,
                label="inputs + outputs, which every play moves" if first else None,
                gid="floor",
                zorder=3,
            )
            first = False

    def frame(self, title: str | None) -> None:
        """Scales, limits, labels and grid."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        ax, margin = self.ax, (self.high / self.low) ** 0.03 if self.high > self.low else 1.5
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(self.low / margin, self.high * margin)
        low, high = ax.get_ylim()
        # Room at the bottom for the labels that stand there.
        ax.set_ylim(low / (high / low) ** (0.3 if self.ratio else 0.06), high)
        octaves = math.log2(self.high / self.low)
        ax.xaxis.set_major_locator(LogLocator(base=2.0 if octaves < 10 else 4.0, numticks=20))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.minorticks_off()
        ax.yaxis.set_minor_locator(LogLocator(base=10.0, subs=range(2, 10), numticks=20))
        few = high < low * 1000 and not self.ratio
        ax.yaxis.set_minor_formatter(FuncFormatter(_minor) if few else NullFormatter())
        ax.tick_params(axis="y", which="minor", labelsize=7.5, labelcolor=_GREY)
        ax.grid(visible=True, color="#dddddd", linewidth=0.6, zorder=0)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        words = {"M": "M, red pebbles (scalars of fast memory)", "n": "n, sequence length"}
        words["d"] = "d, head dimension"
        ax.set_xlabel(words.get(self.x, self.x))
        ax.set_ylabel("I/O over Θ" if self.ratio else "I/O, loads + stores")
        if title != "":
            ax.set_title(title or self.default_title(), fontsize=11, loc="left")

    def default_title(self) -> str:
        """Return the workloads, the rules and who counted."""
        works = self.results.workloads
        what = works[0] if len(works) == 1 else f"{works[0]} … {works[-1]}"
        methods = sorted({row.method for row in self.results})
        rules = ", ".join(dict.fromkeys(row.rules for row in self.results))
        return f"{what}   (rules {rules}; counted by {' and '.join(methods)})"

    def outside(self) -> None:
        """Grey out what lies outside the regime of the Θ."""
        if self.x != "M" or not self.bounded:
            return
        group = self.bounded[0]
        assert group.bound is not None
        low, high = self.ax.get_xlim()
        places = np.geomspace(max(low, 1), high, 4 * _FINE)
        sizes = group.rows[0].sizes
        inside = [group.bound.holds(**values_at(group.bound, sizes, place)) for place in places]
        inside_places = places[inside]
        if not inside_places.size:
            spans = [(low, high)]
        else:
            spans = [(low, inside_places[0])] if not inside[0] else []
            spans += [(inside_places[-1], high)] if not inside[-1] else []
        for number, (left, right) in enumerate(spans):
            self.ax.axvspan(
                left,
                right,
                color="#e9e9e9",
                zorder=0,
                linewidth=0,
                label=f"outside the regime of {group.bound.name}" if number == 0 else None,
                gid="outside",
            )

    def switch(self) -> None:
        """Mark the M at which the two regimes of the Θ meet."""
        import sympy

        seen = set()
        for group in self.bounded:
            place = self.switch_of(group)
            if place is None or place in seen or not self.low < place < self.high:
                continue
            seen.add(place)
            self.ax.axvline(
                place, color=_GREY, linewidth=1.0, linestyle="-", gid="switch", zorder=2
            )
            self.ax.annotate(
                f"$M = {sympy.latex(group.meeting)}$",
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
        for crossing in crossovers(self.results, self.x):
            row = next(r for r in self.results if axis_value(r, self.x) == crossing.low)
            height = crossing.io
            if self.ratio:
                group = next(g for g in self.groups if row in g.rows)
                if group.bound is None or self.x != "M":
                    continue
                height /= group.bound.evaluate(**values_at(group.bound, row.sizes, crossing.x))
            where = f"{self.x} = {crossing.x:.3g}"
            if self.x == "M" and "d" in row.sizes:
                where += f" = {crossing.x / row.sizes['d'] ** 2:.2f} d²"
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
            if not self.notes:
                continue
            self.note(
                f"measured crossover at {where}\n← {crossing.before}    {crossing.after} →",
                (crossing.x, height),
            )

    def note(self, words: str, place: tuple[float, float]) -> None:
        """Write beside a place, below it unless that is the bottom, left unless at the edge."""
        ax = self.ax
        across, up = ax.transAxes.inverted().transform(ax.transData.transform(place))
        points = ax.bbox.height * 72 / ax.figure.dpi
        right, above = across < 0.42, up * points < 90
        ax.annotate(
            words,
            place,
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

    # -- what the layers are made of ---------------------------------------------------------------

    @property
    def bounded(self) -> list[_Curves]:
        """Groups that have a Θ."""
        return [group for group in self.groups if group.bound is not None]

    @property
    def bound_names(self) -> list[str]:
        """Names of the Θ drawn."""
        return list(dict.fromkeys(g.bound.name for g in self.groups if g.bound is not None))

    @property
    def head_sizes(self) -> set[int]:
        """Head dimensions of the workloads."""
        return {row.sizes["d"] for row in self.results if "d" in row.sizes}

    @cached_property
    def scale(self) -> float | None:
        """The constant that carries the Θ to the least measured I/O, inside its regime."""
        pairs = []
        for group in self.bounded:
            for place in {axis_value(row, self.x) for row in group.rows}:
                best = winner(row for row in group.rows if axis_value(row, self.x) == place)
                if best is not None and best.in_regime and best.bound_value and best.io:
                    pairs.append((best.bound_value, best.io))
        return fit_scale(pairs)

    def switch_of(self, group: _Curves) -> float | None:
        """Return the M at which the two regimes of a group's Θ meet."""
        meeting = group.meeting
        if self.x != "M" or meeting is None:
            return None
        sizes = {str(symbol): group.rows[0].sizes[str(symbol)] for symbol in meeting.free_symbols}
        return float(meeting.subs({symbol: sizes[str(symbol)] for symbol in meeting.free_symbols}))


def _minor(value: float, _: object) -> str:
    """Label the ticks 2 and 5 between powers of ten."""
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = round(value / 10**exponent)
    return rf"$\mathdefault{{{digit}\times10^{{{exponent}}}}}$" if digit in {2, 5} else ""


def _signed(slope: float) -> str:
    rounded = round(slope, 2) + 0.0  # no negative zero
    return f"{rounded:.2f}".replace("-", "−")


def _bound(rows: list[Row]) -> Bound | None:
    from bounds.theorems import all_theorems

    named = {bound.name: bound for bound in all_theorems()}
    return next((named[row.bound] for row in rows if row.bound in named), None)


def _suffixes(groups: list[list[Row]], x: str) -> list[str]:
    """Name what tells groups apart; nothing when there is one."""
    if len(groups) == 1:
        return [""]
    if x == "M":
        return [f", {rows[0].workload}" for rows in groups]
    suffixes = []
    for rows in groups:
        budgets = sorted({row.memory for row in rows})
        relative = {row.memory / row.sizes["d"] ** 2 for row in rows if "d" in row.sizes}
        if len(budgets) == 1:
            suffixes.append(f", M={budgets[0]}")
        elif len(relative) == 1:
            suffixes.append(f", M={relative.pop():.3g} d²")
        else:
            suffixes.append(f", M={budgets[0]} to {budgets[-1]}")
    return suffixes
