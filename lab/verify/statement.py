"""`Claim`: a statement of the literature that can be measured; `Verdict`: what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Check", "Claim", "Rows", "Verdict"]

#: One dict a measured point, all with the same keys: the lines of a csv file.
Rows: TypeAlias = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Check:
    """One thing that a claim predicts, with what was measured.

    Attributes
    ----------
    name : str
        What was looked at.
    predicted, measured, tolerance : str
        As printed; the tolerance is a constant of `lab.verify.tolerances`.
    holds : bool
        Whether the measurement is within the tolerance.
    """

    name: str
    predicted: str
    measured: str
    tolerance: str
    holds: bool

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        return dict(vars(self))


@dataclass(frozen=True)
class Verdict:
    """What measuring a claim gave.

    Attributes
    ----------
    checks : tuple of Check
        Everything that was predicted; the claim holds if each does.
    rows : list of dict
        The points measured.
    draw : callable
        ``draw(ax)`` draws them on axes, and returns the axes.
    """

    checks: tuple[Check, ...]
    rows: Rows = field(repr=False)
    draw: Callable[[Axes], Axes] = field(repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def measured(self) -> str:
        """What was measured, in one line."""
        return "; ".join(f"{check.name}: {check.measured}" for check in self.checks)


@dataclass(frozen=True)
class Claim:
    """A statement of the literature and a way to judge it.

    Subclasses are families of claims; what they measure, and with which strategies, exponents and
    workloads, are fields, so that `dataclasses.replace` gives a claim that is wrong.

    Attributes
    ----------
    id : str
        Name on the command line, unique.
    source : str
        Paper.
    theorem : str
        Where in the paper.
    statement : str
        What the paper says, in one line.

    Examples
    --------
    >>> from lab.verify import claim
    >>> print(claim("hk81-matmul").reference)
    Hong, Kung 1981, matrix multiplication
    """

    id: str
    source: str
    theorem: str
    statement: str

    #: What is needed for the claim to hold, in one line.
    tolerance: ClassVar[str] = ""

    @property
    def reference(self) -> str:
        """Paper and theorem."""
        return f"{self.source}, {self.theorem}"

    @property
    def predicted(self) -> str:
        """What the measurement should give, in one line."""
        raise NotImplementedError

    def measure(self, *, quick: bool = False) -> Verdict:
        """Measure and judge.

        Parameters
        ----------
        quick : bool
            Take fewer and smaller points, and no exact search.
        """
        raise NotImplementedError
