"""Closed forms: what a tile strategy costs, in n, d, tile sizes and numbers of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strategies.schedule import Schedule
from strategies.symbols import resolve
from strategies.tally import tally

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from strategies.phases import Phase, TileStrategy

__all__ = ["REGIMES", "ClosedForm", "closed_form"]

#: Regimes as orders of magnitude: exponents of n, d and M. Lengths of matrix products count as n.
REGIMES: dict[str, dict[str, float]] = {
    "d^2 << M << n d": {"n": 12, "m": 12, "k": 12, "d": 1, "M": 5},
    "M << d^2": {"n": 100, "m": 100, "k": 100, "d": 10, "M": 15},
}


@dataclass(frozen=True)
class ClosedForm:
    """A symbolic count.

    Attributes
    ----------
    loads, stores, computes : sympy expression
        Exact, remainders included, for at least two tiles along every index and d >= 2.
    peak : sympy expression
        Greatest number of red pebbles; an upper bound where the last tiles are smaller.
    tiles : dict of symbol to expression
        The numbers of tiles, ``T_c = ceiling(n / B_c)``.
    domain : str
        Where the formulas hold.
    leading : dict of str to expression
        Leading term of the I/O in n, d, M, for each regime in which the strategy plays.
    """

    loads: Any
    stores: Any
    computes: Any
    peak: Any
    tiles: dict[Any, Any]
    domain: str
    leading: dict[str, Any]

    @property
    def io(self) -> Any:
        """Loads and stores together, expanded."""
        import sympy

        return sympy.expand(self.loads + self.stores)

    def evaluate(self, expression: Any, **values: int) -> int:
        """Evaluate one of the formulas at sizes and tile sizes, by name.

        Examples
        --------
        >>> from graphs.registry import workload
        >>> from strategies.registry import strategy
        >>> form = strategy("flash").closed_form(workload("attention-forward:n=8,d=2"))
        >>> form.evaluate(form.io, n=10, d=2, B_c=4)
        222
        """
        import sympy

        expression = sympy.sympify(expression).subs(self.tiles)
        names = {symbol: values[str(symbol)] for symbol in expression.free_symbols}
        return int(expression.subs(names))

    def __str__(self) -> str:
        lines = [f"I/O = {self.io}"]
        lines += [f"  with {name} = {value}" for name, value in self.tiles.items()]
        lines += [f"  about {term} for {regime}" for regime, term in self.leading.items()]
        return "\n".join([*lines, f"  exact for {self.domain}"])


def closed_form(
    strategy: TileStrategy, workload: Workload, formula: Formula, phases: Sequence[Phase]
) -> ClosedForm:
    """Tally a strategy's phases on symbols.

    Parameters
    ----------
    strategy : TileStrategy
        For its printed tile sizes, where it keeps them.
    workload : Workload
        The kind of workload.
    formula : Formula
        Its formula, with symbols for sizes.
    phases : sequence of Phase
        One text per phase.
    """
    import sympy

    schedule = Schedule(formula)
    several = len([tile for phase in phases for tile in phase.free()]) > 1
    letters: dict[str, int] = {}
    sizes: list[dict[str, Any]] = []
    peaks: list[Any] = []
    for phase in phases:
        named = {}
        for tile in phase.free():
            letters[tile.symbol] = letters.get(tile.symbol, 0) + 1
            number = letters[tile.symbol] if several and letters[tile.symbol] > 1 else 0
            name = f"{tile.symbol}{number}" if number else tile.symbol
            named[tile.name] = sympy.Symbol(name, positive=True, integer=True)
        phase.text(schedule, **phase.fixed, **named)
        sizes.append(named)
        peaks.append(phase.counts(formula, named).peaks)
    counts = tally(schedule)
    tiles = {
        symbol: sympy.ceiling(extent / size)
        for (extent, size), symbol in schedule.tile_counts.items()
    }
    fixed = [k for k in (s for f in [formula] for s in f.arrays) if not k]
    del fixed
    extents = ", ".join(f"{s} >= 2" for s in workload.symbols())
    domain = ", ".join([extents, *(f"{symbol} >= 2" for symbol in tiles)])
    expand = lambda x: sympy.expand(resolve(sympy.sympify(x)))  # noqa: E731
    loads, stores = expand(counts.loads), expand(counts.stores)
    leading = {}
    for regime, weights in REGIMES.items():
        chosen = _asymptotic_sizes(strategy, workload, sizes, peaks, weights)
        if chosen is not None:
            numbers = {
                symbol: extent / chosen[size]
                if _weight(chosen[size], weights) < _weight(extent, weights)
                else sympy.Integer(1)
                for (extent, size), symbol in schedule.tile_counts.items()
            }
            total = sympy.expand((loads + stores).subs(numbers).subs(chosen))
            leading[regime] = _leading(total, weights)
    return ClosedForm(
        loads, stores, expand(counts.computes), counts.peak, tiles, domain, leading
    )


def _asymptotic_sizes(
    strategy: TileStrategy,
    workload: Workload,
    sizes: Sequence[dict[str, Any]],
    peaks: Sequence[list[Any]],
    weights: dict[str, float],
) -> dict[Any, Any] | None:
    """Return the tile sizes as functions of M and d; None where no size grows with M."""
    import sympy

    M = sympy.Symbol("M", positive=True, integer=True)
    printed = strategy.paper_sizes(workload, M)
    chosen: dict[Any, Any] = {}
    for named, heights in zip(sizes, peaks, strict=True):
        if printed is not None:
            chosen.update({symbol: printed[name] for name, symbol in named.items()})
            continue
        if not named:
            continue
        # A pair of sizes is balanced: both the same.
        size = sympy.Symbol("B", positive=True)
        candidates = []
        for height in heights:
            equal = sympy.expand(sympy.sympify(height).subs(dict.fromkeys(named.values(), size)))
            for term in sympy.Add.make_args(equal):
                coefficient, power = term.as_coeff_exponent(size)
                if power > 0:
                    candidates.append((M / coefficient) ** (1 / power))
        least = min(candidates, key=lambda x: _weight(x, weights))
        if _weight(least, weights) <= 0:
            return None
        chosen.update(dict.fromkeys(named.values(), least))
    return chosen


def _weight(expression: Any, weights: dict[str, float]) -> float:
    """Return the order of magnitude of a monomial."""
    import sympy

    powers = sympy.sympify(expression).as_powers_dict()
    return sum(float(power) * weights.get(str(base), 0.0) for base, power in powers.items())


def _leading(expression: Any, weights: dict[str, float]) -> Any:
    """Return the sum of the terms of greatest order."""
    import sympy

    terms = sympy.Add.make_args(sympy.powdenest(sympy.expand(expression), force=True))
    orders = [_weight(term, weights) for term in terms]
    return sympy.Add(*[t for t, w in zip(terms, orders, strict=True) if w > max(orders) - 1e-9])
