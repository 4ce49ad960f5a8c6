"""What the claims are measured with: counts, certified bounds, anchors, fitted exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.verify.statement import Check, Rows
from lab.verify.tolerances import EXPONENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Power", "anchor", "certified", "fit_powers", "io", "logarithmic", "optimum", "powers"]
__all__ += ["sized"]


def sized(family: str, **sizes: int) -> str:
    """Write a workload's text form.

    Examples
    --------
    >>> sized("attention-forward", n=8, d=2)
    'attention-forward:n=8,d=2'
    """
    return f"{family}:" + ",".join(f"{name}={value}" for name, value in sizes.items())


@lru_cache(maxsize=4096)
def io(workload: str, strategy: str, memory: int) -> int:
    """Return loads plus stores of a tile strategy, counted from its text.

    Examples
    --------
    >>> io("attention-forward:n=8,d=4", "naive", 4)
    1416
    """
    from lab.playing import count

    return count(workload, strategy, memory).io


@lru_cache(maxsize=4096)
def certified(workload: str, memory: int) -> int:
    """Return what no play of a workload goes below, by a proved bound; 0 if none is known.

    Examples
    --------
    >>> certified("matmul:m=16,n=16,k=16", 64)
    1024
    """
    from lab.arguments import as_workload
    from lab.yardsticks import certified_least

    found = certified_least(as_workload(workload), memory)
    return 0 if found is None else found.value


@dataclass(frozen=True)
class Power:
    """A fitted exponent and its standard error."""

    exponent: float
    error: float

    def __str__(self) -> str:
        return f"{self.exponent:.3f} ± {self.error:.3f}"


def fit_powers(points: Sequence[Sequence[float]], values: Sequence[float]) -> list[Power]:
    """Fit ``c * x1**p1 * x2**p2 * ...`` by least squares on logarithms.

    Parameters
    ----------
    points : sequence of sequence of float
        (x1, x2, ...) for each measured point; there must be more points than exponents and one.
    values : sequence of float
        What was measured there.

    Returns
    -------
    list of Power
        The exponents p1, p2, ..., with their standard errors.

    Examples
    --------
    >>> points = [(1, 1), (2, 1), (2, 4), (8, 2), (4, 4)]
    >>> [round(p.exponent, 9) for p in fit_powers(points, [3 * x**2 / y for x, y in points])]
    [2.0, -1.0]
    """
    matrix = np.column_stack([np.ones(len(points)), np.log(np.array(points, float))])
    logs = np.array([math.log(value) for value in values])
    solution, _, rank, _ = np.linalg.lstsq(matrix, logs, rcond=None)
    free = len(values) - matrix.shape[1]
    if rank < matrix.shape[1] or free < 1:
        raise ValueError(f"{len(values)} points are too few, or too alike, for the exponents")
    rest = logs - matrix @ solution
    errors = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)) * float(rest @ rest) / free)
    return [Power(float(p), float(e)) for p, e in zip(solution[1:], errors[1:], strict=True)]


def powers(
    what: str, rows: Rows, names: Sequence[str], column: str, predicted: Sequence[float]
) -> Check:
    """Judge the exponents of a column of rows in some of the others."""
    found = fit_powers(
        [[row[name] for name in names] for row in rows], [row[column] for row in rows]
    )
    return Check(
        name=f"exponents of {what} in {', '.join(names)}",
        predicted=", ".join(f"{power:g}" for power in predicted),
        measured=", ".join(map(str, found)),
        tolerance=f"± {EXPONENT:g}",
        holds=all(abs(f.exponent - p) <= EXPONENT for f, p in zip(found, predicted, strict=True)),
    )


def anchor(plays: Iterable[tuple[str, str, int]]) -> Check:
    """Judge small plays move by move: the count is the referee's, the bound below it.

    Parameters
    ----------
    plays : iterable of (workload, strategy, M)
    """
    from lab.playing import play

    wrong, total = [], 0
    for workload, strategy, memory in plays:
        total += 1
        judged = play(workload, strategy, memory).io
        if not certified(workload, memory) <= judged == io(workload, strategy, memory):
            wrong.append(f"{strategy} on {workload}, M={memory}: {judged}")
    return Check(
        name="refereed plays",
        predicted="the tally's count, at least the certified bound",
        measured=f"so in {total - len(wrong)} of {total}" + "".join(f"; {each}" for each in wrong),
        tolerance="exactly",
        holds=not wrong,
    )


def optimum(instances: Iterable[tuple[str, int]]) -> Check:
    """Hold certified bounds against exact optima of small workloads.

    Parameters
    ----------
    instances : iterable of (workload, M)
    """
    from lab.solving import solve

    shown, holds = [], True
    for workload, memory in instances:
        # The search stops by itself on a machine that is slow; then its best play is an upper
        # bound on the optimum, which the certified bound may not pass either.
        found = solve(workload, memory, time=20)
        least = certified(workload, memory)
        holds &= least <= found.upper
        what = str(found.upper) if found.finished else f"{found.lower} to {found.upper}"
        shown.append(f"{least} <= {what} ({workload}, M={memory})")
    return Check(
        name="exact optima",
        predicted="at least the certified bound",
        measured=", ".join(shown),
        tolerance="exactly",
        holds=holds,
    )


def logarithmic(
    rows: Rows, x: str, columns: dict[str, str], *, by: str, xlabel: str, ylabel: str, title: str
) -> Callable[[Axes], Axes]:
    """Return a function that draws columns of rows against one of them, both axes logarithmic.

    Parameters
    ----------
    rows : list of dict
        The points; those with equal values of ``by`` and of all sizes but ``x`` form a line.
    x : str
        The column along the axis.
    columns : dict of str to str
        Columns to draw, with their names in the legend.
    by : str
        The column that tells one line from the next.
    """

    def draw(ax: Axes) -> Axes:
        for number, (column, label) in enumerate(columns.items()):
            groups: dict[Any, list[tuple[float, float]]] = {}
            for row in rows:
                groups.setdefault(row[by], []).append((row[x], row[column]))
            for place, points in enumerate(groups.values()):
                xs, ys = zip(*sorted(points), strict=True)
                (line,) = ax.plot(
                    xs, ys, marker="ovsD^"[number % 5], markersize=4, color=f"C{number}",
                    linewidth=1, label=label if place == 0 else "_",
                )  # fmt: skip
                line.set_gid(f"measured:{column}:{place}")
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
        ax.grid(visible=True, alpha=0.3)
        ax.legend(frameon=False)
        return ax

    return draw
