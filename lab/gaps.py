"""The gap table: what each strategy moves, over what no schedule can go below, regime by regime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.formulas import written

if TYPE_CHECKING:
    from bounds.bound import Bound
    from graphs.registry import Workload
    from strategies.phases import TileStrategy

__all__ = ["REGIMES", "WORKLOADS", "Gap", "Ratio", "best_certified", "gap_lines", "gaps", "ratios"]

#: Regimes by the names that closed forms give them, with how they are written.
REGIMES = {"d^2 << M << n d": "d² ≪ M ≪ nd", "M << d^2": "M ≪ d²"}

#: What the table is about; sizes do not matter, they become symbols.
WORKLOADS = (
    "attention-forward:n=64,d=8",
    "attention-forward:n=64,d=8,softmax=safe",
    "attention-backward:n=64,d=8",
    "attention-gradient:n=64,d=8",
    "matmul:m=64,n=64,k=64",
)


@dataclass(frozen=True)
class Gap:
    """One strategy in one regime, held against the greatest certified bound there.

    Attributes
    ----------
    workload : str
        The workload without its sizes: ``attention-forward:softmax=safe``.
    strategy : str
        Text form.
    regime : str
        A key of `REGIMES`.
    leading : sympy expression
        Leading term of the strategy's I/O.
    certified : sympy expression or None
        Leading term of the bound; None where there is none in this regime.
    bound : str
        Name of the bound.
    ratio : sympy expression or None
        One over the other: 1 is optimal to the leading constant; a term with sizes in it grows, so
        that the strategy is not optimal at all.
    """

    workload: str
    strategy: str
    regime: str
    leading: Any
    certified: Any
    bound: str
    ratio: Any

    @property
    def verdict(self) -> str:
        """``optimal``, a number of times the bound, or what the ratio grows like.

        Examples
        --------
        >>> from sympy import Rational, symbols
        >>> Gap("", "", "", 1, 1, "", Rational(8, 7)).verdict
        '1.14'
        """
        if self.ratio is None:
            return "–"
        if self.ratio.free_symbols:
            return f"grows: {written(self.ratio)}"
        return "optimal" if self.ratio == 1 else f"{float(self.ratio):.3g}"

    def to_json(self) -> dict[str, Any]:
        """Plain form for ``--json``; formulas as text that sympy reads."""
        constant = self.ratio is not None and not self.ratio.free_symbols
        return {
            "workload": self.workload,
            "strategy": self.strategy,
            "regime": self.regime,
            "leading": str(self.leading),
            "certified": None if self.certified is None else str(self.certified),
            "bound": self.bound or None,
            "ratio": float(self.ratio) if constant else None,
            "grows_like": str(self.ratio) if self.ratio is not None and not constant else None,
            "optimal": bool(self.ratio == 1),
        }


def best_certified(workload: Workload, regime: str) -> tuple[Bound, Any] | None:
    """Return the certified bound that is greatest in a regime, with its leading term.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> bound, term = best_certified(workload("attention-backward:n=64,d=8"), "d^2 << M << n d")
    >>> bound.name, term
    ('certified-backward', 14*d**2*n**2/M)
    """
    far = _far(regime)
    certified = [(b, t) for b, t in _stated(workload, regime) if b.name.startswith("certified")]
    return max(
        certified,
        key=lambda pair: float(pair[1].subs({s: far[s.name] for s in pair[1].free_symbols})),
        default=None,
    )


def _far(regime: str) -> dict[str, int]:
    """Return sizes far inside a regime, at which every bound says whether it is stated there."""
    return {name: 32**power for name, power in _order(regime).items()}


def _stated(workload: Workload, regime: str) -> Iterator[tuple[Bound, Any]]:
    """Yield the bounds on every play that are stated in a regime, with their leading terms."""
    from bounds.ratios import leading
    from bounds.theorems import theorems_for
    from pebble.errors import SpecError

    far = _far(regime)
    for bound in theorems_for(workload):
        if bound.kind not in {"lower", "theta", "exact"} or bound.algorithm:
            continue
        if not set(bound.symbols) <= set(far):
            continue
        try:
            if bound.holds(**{name: far[name] for name in bound.symbols}):
                yield bound, leading(bound.expression, _order(regime))
        except SpecError:
            continue


@dataclass(frozen=True)
class Ratio:
    """A strategy's closed form over one bound, in the limit of a regime.

    Attributes
    ----------
    strategy, regime, bound, kind : str
        Which is held against which, where; a Θ has no constant, so that only its growth counts.
    ratio : sympy expression
        A number, or the term that grows.
    """

    strategy: str
    regime: str
    bound: str
    kind: str
    ratio: Any

    def to_json(self) -> dict[str, Any]:
        """Plain form for ``--json``."""
        grows = bool(self.ratio.free_symbols)
        return {
            "strategy": self.strategy,
            "regime": self.regime,
            "bound": self.bound,
            "kind": self.kind,
            "ratio": None if grows else float(self.ratio),
            "grows_like": str(self.ratio) if grows else None,
        }


def ratios(
    workload: Workload,
    strategies: Sequence[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Ratio]:
    """Hold the closed form of every tile schedule of a workload against every bound on its I/O.

    Parameters are those of `gaps`, for one workload.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> for each in ratios(workload("attention-forward:n=64,d=8"), ["flash"]):
    ...     if each.bound in ("sy24-forward", "certified-forward"):
    ...         print(each.regime, each.bound, each.ratio)
    d^2 << M << n d sy24-forward 6
    d^2 << M << n d certified-forward 3/2
    M << d^2 sy24-forward 6*d/sqrt(M)
    """
    import sympy

    from strategies.closed_form import leading_terms

    playing = _playing(workload, strategies)
    found = []
    for done, each in enumerate(playing):
        if progress:
            progress(done, len(playing))
        terms = leading_terms(each, workload)
        for regime in REGIMES:
            for bound, below in _stated(workload, regime) if regime in terms else ():
                ratio = sympy.powdenest(sympy.simplify(terms[regime] / below), force=True)
                found.append(Ratio(str(each), regime, bound.name, bound.kind, ratio))
    return found


def _playing(workload: Workload, strategies: Sequence[str] | None) -> list[TileStrategy]:
    """Return the tile schedules named, or all, that play a workload."""
    from strategies.best import Best
    from strategies.phases import TileStrategy
    from strategies.registry import strategy

    if strategies is None:
        return Best().candidates(workload)
    given = [strategy(name) for name in strategies]
    return [s for s in given if isinstance(s, TileStrategy) and s.refusal(workload) is None]


def _order(regime: str) -> dict[str, int]:
    from bounds.ratios import LARGE_CACHE, SMALL_CACHE

    return {"d^2 << M << n d": LARGE_CACHE, "M << d^2": SMALL_CACHE}[regime]


def gaps(
    workloads: Iterable[str] = WORKLOADS,
    strategies: Sequence[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Gap]:
    """Hold the closed form of every tile strategy against the certified bounds.

    Parameters
    ----------
    workloads : iterable of str
        Workloads whose sizes do not matter.
    strategies : sequence of str, optional
        Text forms; by default every tile schedule that plays the workload.
    progress : callable, optional
        Told the number of strategies done and of all.

    Examples
    --------
    >>> for gap in gaps(["attention-forward:n=64,d=8"], ["q-outer", "flash"]):
    ...     print(gap.strategy, gap.regime, gap.leading, gap.verdict)
    q-outer d^2 << M << n d 4*d**2*n**2/M optimal
    q-outer M << d^2 4*d**2*n**2/M grows: d/√M
    flash d^2 << M << n d 6*d**2*n**2/M 1.5
    flash M << d^2 6*d**2*n**2/M grows: 3d/(2√M)
    """
    from graphs.registry import workload

    whats = [workload(text) for text in workloads]
    work = [(what, each) for what in whats for each in _playing(what, strategies)]
    found: list[Gap] = []
    for done, (what, each) in enumerate(work):
        if progress:
            progress(done, len(work))
        found += _gaps_of(what, each)
    if progress:
        progress(len(work), len(work))
    return found


def gap_lines(found: Sequence[Gap]) -> list[list[str]]:
    """Return the table as rows of text, its head first: a workload's bounds, then its strategies.

    Examples
    --------
    >>> for line in gap_lines(gaps(["matmul:m=9,n=9,k=9"], ["standard"])):
    ...     print(line[:4])
    ['workload', 'strategy', 'd² ≪ M ≪ nd', 'over the bound']
    ['matmul', 'no play below', '2mnk/√M', '']
    ['matmul', 'standard', '2mnk/√M', 'optimal']
    """
    head = ["workload", "strategy"]
    for title in REGIMES.values():
        head += [title, "over the bound"]
    rows: dict[tuple[str, str], dict[str, Gap]] = {}
    for gap in found:
        rows.setdefault((gap.workload, gap.strategy), {})[gap.regime] = gap
    lines, seen = [head], set()
    for (name, strategy), at in rows.items():
        if name not in seen:
            seen.add(name)
            line = [name, "no play below"]
            for regime in REGIMES:
                term = at[regime].certified if regime in at else None
                line += ["–" if term is None else written(term), ""]
            lines.append(line)
        line = [name, strategy]
        for regime in REGIMES:
            here = at.get(regime)
            line += ["–", "–"] if here is None else [written(here.leading), here.verdict]
        lines.append(line)
    return lines


def _gaps_of(workload: Workload, strategy: Any) -> list[Gap]:
    import sympy

    from strategies.closed_form import leading_terms

    options = [
        f"{key}={getattr(workload, key)}"
        for key in ("softmax", "form", "given")
        if getattr(workload, key, None) not in {None, "late", "li24", "E"}
    ]
    name = ":".join([workload.name, *[",".join(options)] * bool(options)])
    rows = []
    terms = leading_terms(strategy, workload)
    for regime in REGIMES:
        if regime not in terms:
            continue
        known = best_certified(workload, regime)
        term = terms[regime]
        ratio = (
            None if known is None else sympy.powdenest(sympy.cancel(term / known[1]), force=True)
        )
        rows.append(
            Gap(
                workload=name,
                strategy=str(strategy),
                regime=regime,
                leading=term,
                certified=None if known is None else known[1],
                bound="" if known is None else known[0].name,
                ratio=ratio,
            )
        )
    return rows
