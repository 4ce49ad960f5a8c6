"""Dataflows explored: the cheapest plan at M, refereed on a small instance, and its gap."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.arguments import as_memory, as_workload
from pebble.errors import PebbleError

if TYPE_CHECKING:
    from bounds.certified import Certified
    from graphs.registry import Workload
    from lab.arguments import MemoryLike, WorkloadLike
    from pebble.report import Report
    from strategies.closed_form import ClosedForm
    from strategies.dataflow.plan import Plan
    from strategies.dataflow.search import Found

__all__ = ["Checked", "Explored", "PlayedPass", "explore"]

#: Sizes of the small instance: several tiles with remainders, and a DAG of some thousand vertices.
_SMALL = {"n": 7, "d": 3, "m": 6, "k": 5}


class UncheckedError(PebbleError):
    """A plan whose moves are not what its text promised: nothing it says is to be believed."""


@dataclass(frozen=True)
class PlayedPass:
    """One pass of the winner, as it is played.

    Attributes
    ----------
    text : str
        What it makes, how, and from what.
    tiles : dict of str to int
        Fitted tile sizes.
    io : int
        Its loads and stores.
    resident, streamed, recomputed, stored, loaded : tuple of str
        Arrays that stay in blocks, that stream past them, that are computed and dropped, that are
        kept in slow memory, and that are read from it.
    """

    text: str
    tiles: dict[str, int]
    io: int
    resident: tuple[str, ...]
    streamed: tuple[str, ...]
    recomputed: tuple[str, ...]
    stored: tuple[str, ...]
    loaded: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """The winner's text on a small instance, judged move by move and carried out on numbers.

    Attributes
    ----------
    workload : str
        The instance.
    report : Report
        The referee's.
    error : float or None
        Largest relative error of the results against numpy; None where there is no reference.
    """

    workload: str
    report: Report
    error: float | None


@dataclass(frozen=True)
class Explored:
    """What is known of the dataflows of a workload at M.

    Attributes
    ----------
    report : Report
        Counts of the winner, by tally.
    passes : list of PlayedPass
        The winner's passes, in order.
    form : ClosedForm
        Its closed form.
    checked : Checked
        Its play on a small instance.
    certified : Certified or None
        What no play goes below.
    built_in : tuple of (str, int) or None
        The best of the registered tile schedules with its I/O; None where none plays.
    others : list of Found
        The best plans that keep other arrays in slow memory.
    space, counted : int
        Number of passes that exist, and that had to be counted.
    """

    report: Report
    passes: list[PlayedPass]
    form: ClosedForm
    checked: Checked
    certified: Certified | None
    built_in: tuple[str, int] | None
    others: list[Found]
    space: int
    counted: int

    def to_json(self) -> dict[str, Any]:
        """Plain form for ``--json``: the counts, and all the rest under keys of its own."""
        low = self.certified
        return self.report.to_json() | {
            "passes": [dataclasses.asdict(each) for each in self.passes],
            "formula": str(self.form.io),
            "tiles": {str(name): str(value) for name, value in self.form.tiles.items()},
            "leading": {regime: str(term) for regime, term in self.form.leading.items()},
            "checked": {
                "workload": self.checked.workload,
                "memory": self.checked.report.memory,
                "io": self.checked.report.io,
                "error": self.checked.error,
            },
            "certified": None if low is None else low.value,
            "certified_by": None if low is None else low.name,
            "io_over_certified": None if low is None else self.report.io / low.value,
            "built_in": None
            if self.built_in is None
            else {"strategy": self.built_in[0], "io": self.built_in[1]},
            "others": [
                {
                    "io": each.io,
                    "kept": list(each.kept),
                    "passes": [str(form) for form in each.plan.passes],
                }
                for each in self.others
            ],
            "space": self.space,
            "counted": self.counted,
        }


def explore(
    workload: WorkloadLike,
    memory: MemoryLike,
    *,
    others: int = 4,
    progress: Callable[[int], None] | None = None,
) -> Explored:
    """Find the dataflow that moves least at M, and hold it against what is certified.

    Parameters
    ----------
    workload : str or Workload
        Attention in any of its forms, or a matrix product: a workload with a formula.
    memory : int or str
        M.
    others : int
        How many plans that keep other arrays are reported besides.
    progress : callable, optional
        Told the number of passes counted so far.

    Examples
    --------
    >>> found = explore("attention-forward:n=1024,d=16", 2048)
    >>> [each.text for each in found.passes], found.report.io, found.certified.value
    (['O by rows'], 589824, 524288)
    """
    from lab.yardsticks import certified_least
    from strategies.dataflow.search import explore as search

    what = as_workload(workload)
    budget = as_memory(memory, what)
    found = search(what, budget, others=others, progress=progress)
    plan = found.best.plan
    return Explored(
        report=plan.count(what, budget),
        passes=_played(plan, what, budget),
        form=plan.closed_form(what, budget),
        checked=check(plan, what),
        certified=certified_least(what, budget),
        built_in=_built_in(what, budget),
        others=found.others,
        space=found.passes,
        counted=found.counted,
    )


def check(plan: Plan, workload: Workload) -> Checked:
    """Play a plan on a small instance of a workload, judged move by move and on numbers.

    Raises
    ------
    UncheckedError
        If a move is illegal, a count is not the tally's, or a result is wrong.
    """
    from lab.executing import execute
    from pebble.errors import SpecError
    from pebble.referee import referee

    sizes = {name: _SMALL.get(name, 5) for name in workload.sizes()}
    small = dataclasses.replace(workload, **sizes)
    memory = plan.least_memory(small) * 3 // 2
    counted = plan.count(small, memory)
    report = referee(small.dag(), plan.moves(small, memory), memory)
    if (report.loads, report.stores) != (counted.loads, counted.stores):
        raise UncheckedError(
            f"on {small} the plan makes {report.io} loads and stores, its text says {counted.io}"
        )
    try:
        done = execute(small, plan, memory, 1)
    except SpecError:  # nobody has written down what it should give
        return Checked(str(small), report, None)
    if not done.agrees:
        raise UncheckedError(f"on {small} the plan gives other numbers than {done.reference}")
    return Checked(str(small), report, max(done.errors.values()))


def _played(plan: Plan, workload: Workload, memory: int) -> list[PlayedPass]:
    from strategies.dataflow.space import described

    formula = workload.formula()
    assert formula is not None
    return [
        PlayedPass(
            text=phase.name,
            tiles=dict(sizes),
            io=int(phase.counts(formula, sizes).io),
            **described(formula, form),
        )
        for form, (phase, sizes) in zip(plan.passes, plan.fitted(workload, memory), strict=True)
    ]


def _built_in(workload: Workload, memory: int) -> tuple[str, int] | None:
    from pebble.errors import BudgetError
    from strategies.best import Best
    from strategies.registry import RefusalError

    try:
        chosen = Best().choose(workload, memory)
        return str(chosen), chosen.count(workload, memory).io
    except (BudgetError, RefusalError, ValueError):
        return None
