"""Every theorem on the I/O of a family of workloads, as `Bound` objects.

A new theorem is added by writing it down in the module of its subject: `bounds.literature` for
attention, `bounds.classics`, `bounds.closed_forms` for certified bounds with constants, and
`bounds.touched` for inputs plus outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bounds import classics, closed_forms, literature, touched
from bounds.bound import Bound
from pebble.errors import unknown

if TYPE_CHECKING:
    from graphs import Workload

__all__ = ["all_theorems", "theorems", "theorems_for"]


def all_theorems() -> tuple[Bound, ...]:
    """Every theorem: of the literature, certified, and last the compulsory bounds.

    Examples
    --------
    >>> [bound.name for bound in all_theorems()][:2]
    ['sy24-forward', 'li24-gradient']
    """
    return tuple(
        value
        for module in (literature, classics, closed_forms, touched)
        for value in vars(module).values()
        if isinstance(value, Bound)
    )


def theorems(workload: str) -> tuple[Bound, ...]:
    """Theorems about a family of workloads, given by name.

    Parameters
    ----------
    workload : str
        The family: ``attention-forward``, ``matmul``, ...

    Returns
    -------
    tuple of Bound
        In the order of the text, the theorems of the literature first, the compulsory bound last.

    Raises
    ------
    UnknownNameError
        If no theorem is about such a family.

    Examples
    --------
    >>> for bound in theorems("fft"):
    ...     print(bound)
    hk81-fft: Θ(n*log(n)/log(M)) where (M >= 3) & (M <= n), Hong, Kung 1981, ...
    compulsory-fft: >= 2*n where n >= 2, by definition of the game
    """
    found = tuple(bound for bound in all_theorems() if bound.workload == workload)
    if not found:
        families = {bound.workload for bound in all_theorems()}
        raise unknown("workload with theorems", workload, families)
    return found


def theorems_for(workload: Workload | str) -> tuple[Bound, ...]:
    """Theorems that cover a workload (or its text form), options included; empty if none does.

    Unlike `theorems` this accepts any workload, a user's own graph included.

    Examples
    --------
    >>> [bound.name for bound in theorems_for("matmul:m=6,n=4,k=10")]
    ['hk81-matmul', 'sllg17-matmul', 'kw19-matmul', 'certified-matmul', 'compulsory-matmul']
    >>> theorems_for("my-graph.json")
    ()
    """
    return tuple(bound for bound in all_theorems() if bound.covers(workload))
