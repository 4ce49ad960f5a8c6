"""Pictures of sweeps. Every function takes axes and returns them; nothing global is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.curves import Scene
from lab.picture import Picture
from pebble.errors import SpecError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lab.results import Results

__all__ = ["figure", "io_versus", "sheet"]


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
    - The power in the legend is the slope of a line fitted to the points of a strategy inside the
      theorem's regime; where the regime has two halves, to each half.
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
    [[5392.0, 5392.0, 5392.0]]
    """
    if not results.played.rows:
        raise SpecError("nothing to draw: no point of these results was played")
    picture = Picture(Scene(results, x), figure()[1] if ax is None else ax, ratio=ratio)
    picture.draw(over_d2=over_d2, title=title)
    ax = picture.ax
    if legend:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), **_legend(ax, picture.scene))
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
        Picture(Scene(results, x), lower, ratio=True, notes=False).draw(over_d2=False, title="")
        upper.set_xlabel("")
        ax = upper
    fig.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        **_legend(ax, Scene(results, x)),
    )
    return fig


def _legend(ax: Axes, scene: Scene) -> dict[str, Any]:
    """Return how legends look; the heading says which theorem and what the powers are."""
    labels = ax.get_legend_handles_labels()[1]
    words = []
    if scene.bounded:
        words.append(f"Θ: {scene.bound_names}")
    if any("propto" in label for label in labels):
        words.append("powers: straight lines fitted to the points")
    return {
        "ncols": 2,
        "fontsize": 9,
        "frameon": False,
        "handlelength": 2.6,
        "title": ".   ".join(words) or None,
        "title_fontsize": 8.5,
    }
