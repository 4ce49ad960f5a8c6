"""The picture of a gap: optimum or interval, best schedule and bounds against M."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pebble.errors import SpecError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lab.gap_curve import GapCurve

__all__ = ["gap_plot"]


def gap_plot(
    curve: GapCurve, ax: Axes | None = None, *, legend: bool = True, title: str | None = None
) -> Axes:
    """Draw what is known of the least cost of a workload against M.

    Where the optimum is known it is a dot; where it is not, a band from the greatest lower bound
    to the cheapest play. Schedules are lines above it, bounds broken lines below; bounds that say
    no more than inputs plus outputs anywhere are left out.

    Parameters
    ----------
    curve : GapCurve
        From `lab.gap_curve.gap_curve`.
    ax : Axes, optional
        Where to draw; by default axes of a new figure.
    legend : bool
        Put a legend beside the curves.
    title : str, optional
        Default: the workload and the rules. An empty text leaves it out.

    Returns
    -------
    Axes
        The axes drawn on. Artists carry a ``gid``: ``interval``, ``optimum``,
        ``schedule:NAME``, ``bound:NAME``.

    Raises
    ------
    SpecError
        If there is no point.

    Examples
    --------
    >>> from lab.gap_curve import gap_curve
    >>> ax = gap_plot(gap_curve("pyramid:h=3", "3:5:+1"))
    >>> [line.get_ydata().tolist() for line in ax.get_lines() if line.get_gid() == "optimum"]
    [[11.0, 7.0, 5.0]]
    """
    from matplotlib.ticker import MaxNLocator

    from lab.plots import figure

    points = curve.points
    if not points:
        raise SpecError("nothing to draw: no point of this curve has enough memory")
    ax = figure()[1] if ax is None else ax
    memories = [point.memory for point in points]
    lower = [float(point.least.lower) for point in points]
    upper = [float(point.least.upper) for point in points]
    if any(not point.least.exact for point in points):
        band = ax.fill_between(memories, lower, upper, color="0.85", label="holds the optimum")
        band.set_gid("interval")
        for values, style in ((upper, "-"), (lower, "-")):
            ax.plot(memories, values, style, color="0.6", linewidth=0.8)
    for k, name in enumerate(dict.fromkeys(name for p in points for name in p.schedules)):
        costs = [point.schedules.get(name) for point in points]
        values = [math.nan if cost is None else float(cost) for cost in costs]
        ax.plot(
            memories, values, "-", color=f"C{k}", marker=".", label=name, gid=f"schedule:{name}"
        )
    for k, name in enumerate(_telling(curve)):
        values = [point.bounds.get(name, math.nan) for point in points]
        ax.plot(
            memories, values, ("--", ":", "-.")[k % 3], color="0.35", linewidth=1.0,
            label=f"bound: {name}", gid=f"bound:{name}",
        )  # fmt: skip
    exact = [math.nan if not p.least.exact else float(p.least.upper) for p in points]
    if not all(map(math.isnan, exact)):
        ax.plot(
            memories, exact, "o", color="black", markersize=5, label="optimum", gid="optimum",
            zorder=5,
        )  # fmt: skip
    ax.set_xlabel("$M$")
    ax.set_ylabel("cost" if curve.rules.compute_price else "loads + stores")
    if max(memories) > 16 * min(memories):
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if min(lower) > 0 and max(upper) > 16 * min(lower):
        ax.set_yscale("log")
    shown = f"{curve.workload}, rules {curve.rules}" if title is None else title
    if shown:
        ax.set_title(shown)
    if legend:
        ax.legend(frameon=False, fontsize=9)
    return ax


def _telling(curve: GapCurve) -> list[str]:
    """Return the bounds worth a line: the compulsory one, and what is above it somewhere."""
    names = dict.fromkeys(name for point in curve.points for name in point.bounds)
    return [
        name
        for name in names
        if name == "compulsory"
        or any(p.bounds.get(name, 0) > p.bounds.get("compulsory", 0) for p in curve.points)
    ]
