"""Closed forms: what a tile strategy costs, in n, d, tile sizes and numbers of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strategies.mask_symbols import CAUSAL, MaskSymbols, mask_names
from strategies.masked import schedule
from strategies.symbols import Algebra
from strategies.tally import Counts, tally

if TYPE_CHECKING:
    from graphs.expressions import Formula
    from graphs.registry import Workload
    from strategies.phases import Phase, Tile, TileStrategy

__all__ = ["REGIMES", "ClosedForm", "closed_form", "leading_terms"]

#: Regimes as orders of magnitude: exponents of n, d and M. Sides of matrices count as n, the width
#: e of a model as d.
REGIMES: dict[str, dict[str, float]] = {
    "d^2 << M << n d": {"n": 12, "m": 12, "k": 12, "d": 1, "e": 1, "M": 5},
    "M << d^2": {"n": 100, "m": 100, "k": 100, "d": 10, "e": 10, "M": 15},
}

#: Sizes at which two texts are compared that make the same.
REALISTIC = {"n": 1 << 20, "m": 1 << 20, "k": 1 << 20, "d": 64}


@dataclass(frozen=True)
class ClosedForm:
    """A symbolic count.

    Attributes
    ----------
    loads, stores, computes : sympy expression
        Exact, remainders included, for at least two tiles along every index.
    peak : sympy expression
        Greatest number of red pebbles; an upper bound where the last tiles are smaller.
    tiles : dict of symbol to expression
        The numbers of tiles, ``T_c = ceiling(n / B_c)``.
    domain : str
        Where the formulas hold.
    leading : dict of str to expression
        Leading term of the I/O in n, d, M, for each regime in which the strategy plays, every
        phase in its best text; empty where tile sizes are given instead of fitted.
    least_memory : expression
        The least M, for sizes of at least 4; None where tile sizes are given or printed ones taken.
    leading_computes : expression
        Leading term of the computes, in the first regime of `leading`; None where there is none.
    symbols : tuple of dict of str to str
        For each phase, the symbols of its tile sizes by the names of its text's parameters.
    """

    loads: Any
    stores: Any
    computes: Any
    peak: Any
    tiles: dict[Any, Any]
    domain: str
    leading: dict[str, Any]
    least_memory: Any = None
    leading_computes: Any = None
    symbols: tuple[dict[str, str], ...] = ()

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
        >>> form.io
        3*T_c*d*n + 2*T_c*n + d*n - 2*n
        >>> form.evaluate(form.io, n=10, d=2, B_c=4)
        240
        """
        expression = self._in_sizes(expression)
        return int(expression.subs({s: values[str(s)] for s in expression.free_symbols}))

    def needs(self, expression: Any) -> set[str]:
        """Return the names that `evaluate` wants a value for: sizes, tile sizes, mask numbers."""
        return {str(symbol) for symbol in self._in_sizes(expression).free_symbols}

    def _in_sizes(self, expression: Any) -> Any:
        import sympy

        # Twice: under a mask the number of meetings is a formula in the number of tiles.
        return sympy.sympify(expression).subs(self.tiles).subs(self.tiles)

    def __str__(self) -> str:
        lines = [f"I/O = {self.io}"]
        lines += [f"  with {name} = {value}" for name, value in self.tiles.items()]
        lines += [f"  about {term} for {regime}" for regime, term in self.leading.items()]
        return "\n".join([*lines, f"  exact for {self.domain}"])


def closed_form(
    strategy: TileStrategy, workload: Workload, texts: Sequence[str] | None = None
) -> ClosedForm:
    """Tally a strategy's phases on symbols.

    Parameters
    ----------
    strategy : TileStrategy
        The strategy.
    workload : Workload
        The kind of workload; its sizes become symbols.
    texts : sequence of str, optional
        Names of the phases to take where there is a choice; by default the first ones.
    """
    import sympy

    if workload.pairs() is not None:
        return _under_mask(strategy, workload, texts)
    phases = _parts(strategy, workload)
    chosen = [
        next(part for part in choice if texts is None or part.phase.name == texts[number])
        for number, choice in enumerate(phases)
    ]
    total = {
        field: sympy.Add(*(part.expression(getattr(part.counts, field)) for part in chosen))
        for field in ("loads", "stores", "computes")
    }
    given = {symbol: size for part in chosen for symbol, size in part.given().items()}
    total = {field: sympy.expand(expression) for field, expression in total.items()}
    used = {str(s) for expression in total.values() for s in expression.free_symbols}
    tiles = {
        _symbol(name): sympy.ceiling(_symbol(extent) / _symbol(tile))
        for part in chosen
        for name, extent, tile in part.algebra.tiles()
        if name in used
    }
    total = {field: expression.subs(given) for field, expression in total.items()}
    tiles = {symbol: tile.subs(given) for symbol, tile in tiles.items()}
    peaks = dict.fromkeys(
        part.expression(peak).subs(given) for part in chosen for peak in part.counts.peaks
    )
    leading, leading_computes = ({}, None) if given else _leading_terms(strategy, workload, phases)
    printed = strategy.paper_sizes(workload, 1) is not None
    return ClosedForm(
        total["loads"],
        total["stores"],
        total["computes"],
        sympy.Max(*peaks, evaluate=False) if len(peaks) > 1 else next(iter(peaks)),
        tiles,
        ", ".join(f"{name} >= 2" for name in [*workload.sizes(), *tiles]),
        leading,
        None if given or printed else _least_memory(strategy, workload),
        leading_computes,
        tuple(dict(part.sizes) for part in chosen),
    )


def _under_mask(
    strategy: TileStrategy, workload: Workload, texts: Sequence[str] | None
) -> ClosedForm:
    """Return the closed form in a mask's statistics; of the causal mask they are formulas too."""
    import sympy

    plain: Any = workload
    dense = closed_form(strategy, replace(plain, mask="none"), texts)
    causal = plain.mask == "causal"
    chosen = [
        next(part for part in choice if texts is None or part.phase.name == texts[number])
        for number, choice in enumerate(_parts(strategy, workload))
    ]
    given = {symbol: size for part in chosen for symbol, size in part.given().items()}
    total = [
        sympy.expand(
            sympy.Add(*(part.expression(getattr(part.counts, name)) for part in chosen))
        ).subs(given)
        for name in ("loads", "stores", "computes")
    ]
    used = {str(s) for expression in total for s in expression.free_symbols}
    tiles: dict[Any, Any] = {}
    for part in chosen:
        for name, extent, tile in part.algebra.tiles():
            count, size = _symbol(name), _symbol(tile)
            meeting = "Z" + name[1:]
            if name in used or (meeting in used and causal):
                tiles[count] = sympy.ceiling(_symbol(extent) / size).subs(given)
            if meeting in used and causal:
                there = {"n": _symbol("n"), "T": count, "B": size}
                formula = sympy.sympify(CAUSAL[part.met[meeting]], locals=there)
                tiles = {_symbol(meeting): formula.subs(given), **tiles}
    if causal:
        n = {"n": _symbol("n")}
        numbers = {_symbol(x): sympy.sympify(CAUSAL[x], locals=n) for x in ("N_p", "R_1", "C_1")}
        tiles = {**{s: v for s, v in numbers.items() if str(s) in used}, **tiles}
    lines = sorted(name for name in used if name.startswith("Z"))
    terms = "" if causal else f"; {', '.join(['N_p', *lines])} are counted from the mask"
    half = {_symbol("n") ** 2: _symbol("n") ** 2 / 2}
    leading = {
        regime: sympy.expand(term).subs(half) for regime, term in dense.leading.items() if causal
    }
    return replace(
        dense,
        loads=total[0],
        stores=total[1],
        computes=total[2],
        tiles=tiles,
        leading=leading,
        leading_computes=None,
        domain=dense.domain + terms,
        symbols=tuple(dict(part.sizes) for part in chosen),
    )


def leading_terms(strategy: TileStrategy, workload: Workload) -> dict[str, Any]:
    """Return `ClosedForm.leading` alone, several times faster than the whole form.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from strategies.registry import strategy
    >>> leading_terms(strategy("split"), workload("attention-backward:n=8,d=2"))["d^2 << M << n d"]
    14*d**2*n**2/M
    """
    parts = _parts(strategy, workload)
    if any(part.given() for choice in parts for part in choice):
        return {}
    return _leading_terms(strategy, workload, parts)[0]


def _symbol(name: str) -> Any:
    import sympy

    return sympy.Symbol(name, positive=True, integer=True)


@dataclass(frozen=True)
class _Part:
    """One text of one phase, tallied on symbols of its own ring."""

    phase: Phase
    sizes: dict[str, str]  # parameter of the text -> symbol
    algebra: Algebra
    counts: Counts
    met: dict[str, str] = field(default_factory=dict)  # under a mask: symbol -> what meets blocks

    def given(self) -> dict[Any, Any]:
        """Return the sizes that are not to be fitted, by symbol."""
        fixed = self.phase.fixed
        return {_symbol(s): fixed[name] for name, s in self.sizes.items() if name in fixed}

    def expression(self, value: Any) -> Any:
        """Return a count as a sympy expression."""
        return self.algebra.expression(value)


def _cut(phase: Phase) -> list[Tile]:
    """Return the tiles whose sizes are symbols: all but those of one value, which are no blocks."""
    return [tile for tile in phase.tiles if phase.fixed.get(tile.name) != 1]


def _parts(strategy: TileStrategy, workload: Workload) -> list[list[_Part]]:
    """Tally every text of every phase; a tile size that recurs is numbered by its phase."""
    names = list(workload.sizes())
    blank = Algebra(names)
    formula = workload.formula(**{name: blank[name] for name in names})
    assert formula is not None
    # The texts' tiles name the extents they cut by the symbols of the workload's sizes.
    choices = strategy.phases(workload, formula)
    printed = strategy.paper_sizes(workload, 1) is not None
    letters = [tile.symbol for choice in choices for tile in _cut(choice[0])]
    parts: list[list[_Part]] = []
    for number, choice in enumerate(choices):
        parts.append([])
        for place, phase in enumerate(choice):
            once = printed or all(letters.count(tile.symbol) < 2 for tile in _cut(phase))
            suffix = "" if once and len(choice) == 1 else str(number + 1)
            sizes = {tile.name: tile.symbol + suffix for tile in _cut(phase)}
            pairs = [
                (str(extent), sizes[tile.name]) for tile in _cut(phase) for extent in tile.extents
            ]
            algebra, own = _ring(workload, pairs)
            text = strategy.phases(workload, own)[number][place]
            written = schedule(own, algebra=algebra)
            values = {name: algebra[symbol] for name, symbol in sizes.items()}
            text.text(written, **{**text.fixed, **values})
            met = {} if own.pairs is None else own.pairs.mask.met  # type: ignore[attr-defined]
            parts[-1].append(_Part(text, sizes, algebra, tally(written), met))
    return parts


def _ring(workload: Workload, pairs: list[tuple[str, str]]) -> tuple[Algebra, Formula]:
    """Return the ring of a text's symbols, a mask's among them, and the formula in it."""
    names = list(workload.sizes())
    if workload.pairs() is None:
        algebra = Algebra(names, pairs)
        own = workload.formula(**{name: algebra[name] for name in names})
    else:
        counts = [name for name, _, _ in Algebra(names, pairs).tiles()]
        algebra = Algebra([*names, *mask_names(counts)], pairs)
        symbols = {name: algebra[name] for name in names}
        own = workload.formula(**symbols, pairs=MaskSymbols(algebra))
    assert own is not None
    return algebra, own


def _least_memory(strategy: TileStrategy, workload: Workload) -> Any:
    """Return the greatest peak of any phase at tiles of one value, each phase in its least text."""
    import sympy

    # Tallied anew with tiles of the number 1: in a symbol there would be two values at least.
    algebra = Algebra(workload.sizes())
    formula = workload.formula(**{name: algebra[name] for name in workload.sizes()})
    assert formula is not None

    def low(phase: Phase) -> list[Any]:
        written = schedule(formula, algebra=algebra)
        phase.text(written, **{tile.name: 1 for tile in phase.tiles} | dict(phase.fixed))
        return [algebra.expression(peak) for peak in tally(written).peaks]

    def height(peaks: list[Any]) -> int:
        sizes = {s: REALISTIC.get(str(s), 1024) for peak in peaks for s in peak.free_symbols}
        return max(int(peak.subs(sizes)) for peak in peaks)

    choices = strategy.phases(workload, formula)
    every = {peak for choice in choices for peak in min(map(low, choice), key=height)}
    highest = [p for p in every if not any(o != p and _at_least(o, p) for o in every)]
    return sympy.Max(*sorted(highest, key=str), evaluate=False) if highest[1:] else highest[0]


def _at_least(one: Any, other: Any) -> bool:
    """Whether a polynomial is proved no less than another, for sizes of at least 4."""
    import sympy

    rest = sympy.expand(one - other)
    shifted = sympy.expand(rest.subs({s: s + 4 for s in rest.free_symbols}, simultaneous=True))
    return all(term.as_coeff_Mul()[0] >= 0 for term in sympy.Add.make_args(shifted))


def _leading_terms(
    strategy: TileStrategy, workload: Workload, phases: list[list[_Part]]
) -> tuple[dict[str, Any], Any]:
    """Return the leading term for every regime in which each phase has a text that plays.

    Also that of the computes, in the first of these regimes.
    """
    import sympy

    printed = strategy.paper_sizes(workload, _symbol("M"))
    found: dict[str, Any] = {}
    computes: Any = None
    for regime, weights in REGIMES.items():
        io: Any = sympy.Integer(0)
        work: Any = sympy.Integer(0)
        for choice in phases:
            terms = [t for part in choice if (t := _order(part, printed, weights)) is not None]
            if not terms:
                break
            best = min(terms, key=lambda term: _size(term[0], weights))
            io, work = io + best[0], work + best[1]
        else:
            found[regime] = _leading(io, weights)
            computes = _leading(work, weights) if computes is None else computes
    return found, computes


def _order(part: _Part, printed: dict[str, Any] | None, weights: dict[str, float]) -> Any:
    """Return a phase's I/O and computes in n, d and M; None where it cannot play."""
    import sympy

    chosen = _asymptotic_sizes(part, printed, weights)
    if chosen is None:
        return None
    values = {name: _symbol(name) for name in map(str, part.algebra.ring.gens)}
    for (name, extent, tile), rest in zip(part.algebra.tiles(), part.algebra.rests(), strict=True):
        size, whole = chosen[_symbol(tile)], _symbol(extent)
        several = _weight(size, weights) < _weight(whole, weights)
        values[name] = whole / size if several else sympy.Integer(1)
        values[rest] = size if several else whole
        values[tile] = size
    counts = (part.counts.io, part.counts.computes)
    return tuple(_highest(part, value, values, weights) for value in counts)


def _highest(
    part: _Part, polynomial: Any, values: dict[str, Any], weights: dict[str, float]
) -> Any:
    """Return the monomials of greatest order of a count, at the values of its letters."""
    import sympy

    if isinstance(polynomial, int):
        return sympy.Integer(polynomial)
    letters = [str(x) for x in part.algebra.ring.gens]
    order = [_weight(values[x], weights) for x in letters]

    def weight(powers: tuple[int, ...]) -> float:
        return sum(power * w for power, w in zip(powers, order, strict=True))

    most = max(weight(powers) for powers, _ in polynomial.terms())
    # Only the monomials of greatest order are multiplied out; where those cancel, all of them.
    for least in (most - 1e-9, float("-inf")):
        total = sympy.Add(
            *(
                coefficient
                * sympy.Mul(*(values[x] ** p for x, p in zip(letters, powers, strict=True) if p))
                for powers, coefficient in polynomial.terms()
                if weight(powers) >= least
            )
        )
        term = sympy.expand(total)
        if term != 0:
            break
    return term


def _asymptotic_sizes(
    part: _Part, printed: dict[str, Any] | None, weights: dict[str, float]
) -> dict[Any, Any] | None:
    """Return tile sizes as functions of M and d; None where they would not grow with M."""
    import sympy

    if not part.sizes:
        return {}
    if printed is not None:
        return {_symbol(symbol): printed[name] for name, symbol in part.sizes.items()}
    # A pair of sizes is balanced: both the same.
    B = sympy.Symbol("B", positive=True)
    same = {_symbol(symbol): B for symbol in part.sizes.values()}
    largest = []
    for peak in part.counts.peaks:
        height = sympy.expand(part.expression(peak).subs(same))
        for (power,), coefficient in sympy.Poly(height, B).as_dict().items():
            if power > 0:
                leading = _leading(coefficient, weights)
                largest.append((_symbol("M") / leading) ** sympy.Rational(1, power))
    size = min(largest, key=lambda x: _size(x, weights))
    return dict.fromkeys(same, size) if _weight(size, weights) > 0 else None


def _weight(term: Any, weights: dict[str, float]) -> float:
    """Return the order of magnitude of a monomial."""
    import sympy

    powers = sympy.sympify(term).as_powers_dict()
    return sum(float(power) * weights.get(str(base), 0.0) for base, power in powers.items())


def _leading(expression: Any, weights: dict[str, float]) -> Any:
    """Return the sum of the terms of greatest order."""
    import sympy

    terms = sympy.Add.make_args(sympy.expand(expression))
    orders = [_weight(term, weights) for term in terms]
    return sympy.Add(*[t for t, w in zip(terms, orders, strict=True) if w > max(orders) - 1e-9])


def _size(expression: Any, weights: dict[str, float]) -> tuple[float, float]:
    """Return order of magnitude and constant, for comparing."""
    import sympy

    leading = _leading(expression, weights)
    order = max(_weight(term, weights) for term in sympy.Add.make_args(leading))
    return order, float(leading.subs(dict.fromkeys(leading.free_symbols, 1)))
