"""`Bound`: a formula for I/O with the condition, the rules and the source that it holds by."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import sympy

from pebble import spec
from pebble.errors import SpecError, unknown

if TYPE_CHECKING:
    from graphs import Workload

__all__ = ["Z_QK", "Bound", "Kind", "M", "Z_input", "arity", "crossover", "d", "depth", "k", "m"]
__all__ += ["n", "regimes", "s"]

Kind = Literal["exact", "lower", "upper", "theta", "omega", "claimed"]
KINDS: dict[str, str] = {
    "exact": "= {}",
    "lower": ">= {}",
    "upper": "<= {}",
    "theta": "Θ({})",
    "omega": "Ω({})",
    # A printed lower bound that does not hold in our game as printed: never one to judge by.
    "claimed": "claimed >= {}",
}
#: Kinds that are orders of growth, without a constant.
ORDERS = {"theta": "Θ", "omega": "Ω"}

#: Sizes of workloads, and M, the number of red pebbles. All formulas share these.
n, d, M, m, k = sympy.symbols("n d M m k", positive=True, integer=True)
#: Complete trees.
depth, arity = sympy.symbols("depth arity", positive=True, integer=True)
#: Sparse attention: share of the blocks that a mask keeps, nonzeros of Q and K, scores kept.
s = sympy.Symbol("s", positive=True)
Z_input, Z_QK = sympy.symbols("Z_input Z_QK", positive=True, integer=True)
SYMBOLS = {symbol.name: symbol for symbol in (n, d, M, m, k, depth, arity, s, Z_input, Z_QK)}

Number = int | float


@lru_cache(maxsize=1024)
def _compiled(formula: sympy.Basic, names: tuple[str, ...]) -> Callable[..., Any]:
    # Plain Python numbers: a polynomial of integers stays an exact integer of any size.
    function: Callable[..., Any] = sympy.lambdify(
        [SYMBOLS[name] for name in names], formula, modules="math"
    )
    return function


@dataclass(frozen=True)
class Bound:
    """What is known of the I/O (loads plus stores) of a family of workloads.

    Parameters
    ----------
    name : str
        Short name, unique: ``li24-gradient``.
    workload : str
        The family of workloads: ``attention-gradient``.
    kind : {"exact", "lower", "upper", "theta", "omega", "claimed"}
        What the expression says of the I/O. A Θ or Ω has no constant, see `scaled`. A claimed
        lower bound is printed in the literature, but fails in our game: ``hypotheses`` says where.
    expression : sympy.Expr
        In the symbols of this module.
    condition : sympy Boolean
        Where the statement holds.
    rules : str
        Names of the rules of the game that it holds under, separated by commas.
    reference : str
        Paper and theorem.
    hypotheses : str
        In words: what the condition stands for and what else is assumed.
    algorithm : str
        Name of the algorithm whose I/O this is; empty if it is the least I/O of any play.
    options : tuple of str
        Options of the workload (such as ``sum``) that do not matter to the statement. With any
        other option, `covers` says no. An entry ``softmax=early`` asks for that value; several for
        the same option, for one of them.
    scale : int or float
        The constant that `scaled` has put before a Θ.

    Examples
    --------
    >>> from bounds.theorems import theorems
    >>> bound = theorems("attention-forward")[0]
    >>> print(bound)
    sy24-forward: Θ(Min(d**2*n**2/M, d*n**2/sqrt(M))) where M <= n*Min(d, n), Saha, Ye 2024, ...
    >>> bound.evaluate(n=64, d=16, M=256)
    4096.0
    >>> bound.holds(n=64, d=16, M=5000)
    False
    """

    name: str
    workload: str
    kind: Kind
    expression: Any
    condition: Any
    rules: str
    reference: str
    hypotheses: str = ""
    algorithm: str = ""
    options: tuple[str, ...] = ()
    scale: Number = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SpecError(f"{self.name}: kind must be one of {', '.join(KINDS)}; not {self.kind}")
        object.__setattr__(self, "expression", sympy.sympify(self.expression))
        object.__setattr__(self, "condition", sympy.sympify(self.condition))
        strange = self._free_symbols() - set(SYMBOLS.values())
        if strange:
            raise SpecError(
                f"{self.name} uses {', '.join(sorted(map(str, strange)))}; a formula is written in "
                f"the symbols {', '.join(SYMBOLS)} of bounds.bound"
            )

    def _free_symbols(self) -> set[Any]:
        return set(self.expression.free_symbols | self.condition.free_symbols)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the sizes that expression and condition need, in alphabetical order."""
        return tuple(sorted(symbol.name for symbol in self._free_symbols()))

    @property
    def has_constant(self) -> bool:
        """Whether the expression is a number of moves, and no order of growth.

        True for all kinds but Θ and Ω, and for those that `scaled` has given a constant.
        """
        return self.kind not in ORDERS or self.scale != 1

    @property
    def label(self) -> str:
        """Name for a legend; a constant that was chosen, and not proved, shows."""
        statement = f"{ORDERS[self.kind]}({self.name})" if self.kind in ORDERS else self.name
        return statement if self.scale == 1 else f"{self.scale:.3g} × {statement}"

    def evaluate(self, **values: Number) -> Number:
        """Value of the expression, whether or not the condition holds (ask `holds`).

        A polynomial of integers gives an exact integer.

        Parameters
        ----------
        **values : int or float
            The sizes by name, M among them if the expression needs it. Sizes of this module that
            the bound does not need are allowed.

        Raises
        ------
        SpecError
            If a size is missing, unknown or not positive, or the expression is undefined there.

        Examples
        --------
        >>> from bounds.theorems import theorems
        >>> theorems("matmul")[0].evaluate(m=6, n=4, k=10, M=16)
        60.0
        """
        arguments = self._arguments(values)
        try:
            value = _compiled(self.expression, self.symbols)(*arguments)
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            raise SpecError(f"{self.name} is undefined at {self._at(values)}: {error}") from error
        return value if isinstance(value, int) else float(value)

    def floor(self, **values: Number) -> int:
        """Whole part of the expression, exact however large the sizes are.

        A lower bound that is printed must not have been rounded up, as a float may have been.

        Examples
        --------
        >>> from bounds.theorems import theorems
        >>> sllg = next(b for b in theorems("matmul") if b.name == "sllg17-matmul")
        >>> sllg.evaluate(m=7, n=7, k=7, M=5), sllg.floor(m=7, n=7, k=7, M=5)
        (296.788..., 296)
        """
        value = self.evaluate(**values)
        if isinstance(value, int):
            return value
        exact = {
            SYMBOLS[name]: sympy.nsimplify(values[name], rational=True) for name in self.symbols
        }
        return int(sympy.floor(self.expression.subs(exact)))

    def holds(self, **values: Number) -> bool:
        """Whether the condition holds at these sizes; parameters and errors as in `evaluate`."""
        return bool(_compiled(self.condition, self.symbols)(*self._arguments(values)))

    def _arguments(self, values: dict[str, Number]) -> list[Number]:
        for name, value in values.items():
            if name not in SYMBOLS:
                raise SpecError(f"{self.name}: {unknown('size', name, SYMBOLS)}")
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not (number and value > 0 and math.isfinite(value)):
                raise SpecError(f"{self.name}: {name} must be a positive number, got {value!r}")
        missing = [name for name in self.symbols if name not in values]
        if missing:
            raise SpecError(
                f"{self.name} needs {', '.join(self.symbols)}; missing {', '.join(missing)}"
            )
        # Python integers: numpy's would overflow at large sizes without a word.
        return [
            int(value) if value == int(value) else float(value)
            for value in (values[name] for name in self.symbols)
        ]

    @staticmethod
    def _at(values: dict[str, Number]) -> str:
        return ", ".join(f"{name} = {value}" for name, value in values.items())

    def covers(self, workload: Workload | str) -> bool:
        """Whether the statement is about this workload, its options included.

        A workload's text form will do.

        Examples
        --------
        >>> from bounds.theorems import theorems
        >>> theorems("matmul")[0].covers("matmul:m=2,n=3,k=4,sum=tree")
        True
        >>> theorems("attention-forward")[0].covers("attention-forward:n=8,d=4,mask=causal")
        False
        """
        try:
            family, given = spec.parse(str(workload))
        except SpecError:  # the path of a graph file is no text form
            return False
        free = {option for option in self.options if "=" not in option}
        asked: dict[str, set[str]] = {}
        for option in self.options:
            if "=" in option:
                key, _, value = option.partition("=")
                asked.setdefault(key, set()).add(value)
        return (
            family == self.workload
            and set(given) <= {*SYMBOLS, *free, *asked}
            and all(given.get(key) in values for key, values in asked.items())
        )

    def values(self, workload: Workload, memory: Number | None = None) -> dict[str, Number]:
        """Sizes of a workload by the names that `evaluate` and `holds` take.

        Parameters
        ----------
        workload : Workload
            Of this bound's family.
        memory : int, optional
            Number of red pebbles, the value of M.

        Raises
        ------
        SpecError
            If the bound is not about this workload.

        Examples
        --------
        >>> import graphs
        >>> from bounds.theorems import theorems
        >>> theorems("fft")[0].values(graphs.workload("fft:n=8"), memory=4)
        {'M': 4, 'n': 8}
        """
        if not self.covers(workload):
            raise SpecError(
                f"{self.name} is a statement about {self.workload}, not about {workload}"
            )
        values: dict[str, Number] = {} if memory is None else {"M": memory}
        # What the workload cannot tell, such as a number of nonzeros, is left out.
        known = {name: getattr(workload, name, None) for name in self.symbols if name != M.name}
        return values | {name: value for name, value in known.items() if value is not None}

    def scaled(self, constant: Number) -> Bound:
        """Put an explicit constant before a Θ or Ω, for plotting; `label` names it.

        Raises
        ------
        SpecError
            If the bound is no order of growth (its constant is proved, another would falsify it),
            or the constant is not positive.

        Examples
        --------
        >>> from bounds.theorems import theorems
        >>> curve = theorems("attention-forward")[0].scaled(4)
        >>> curve.label, curve.evaluate(n=64, d=16, M=256)
        ('4 × Θ(sy24-forward)', 16384.0)
        """
        if self.kind not in ORDERS:
            raise SpecError(
                f"{self.name} is {self.kind}: its constant is proved, only a Θ or Ω may be scaled"
            )
        if not (constant > 0 and math.isfinite(constant)):
            raise SpecError(f"the scale of {self.name} must be positive, got {constant!r}")
        return dataclasses.replace(
            self, expression=constant * self.expression, scale=constant * self.scale
        )

    def to_json(self, **values: Number) -> dict[str, Any]:
        """Plain form for ``--json``.

        ``value`` is None if a size is missing or the statement does not hold at these sizes; then
        ``holds`` is None or false. The value of a lower bound is its whole part.
        """
        known = all(name in values for name in self.symbols)
        holds = self.holds(**values) if known else None
        value: Number | None = None
        if holds:
            value = self.floor(**values) if self.kind == "lower" else self.evaluate(**values)
        return {
            "name": self.name,
            "workload": self.workload,
            "kind": self.kind,
            "algorithm": self.algorithm or None,
            "rules": self.rules,
            "expression": str(self.expression),
            "condition": str(self.condition),
            "holds": holds,
            "value": value,
            "reference": self.reference,
            "hypotheses": self.hypotheses,
        }

    def __str__(self) -> str:
        where = "" if self.condition == sympy.true else f" where {self.condition}"
        whose = f" by {self.algorithm}" if self.algorithm else ""
        statement = KINDS[self.kind].format(self.expression)
        return f"{self.name}: {statement}{whose}{where}, {self.reference}"


def crossover(first: Bound, second: Bound | None = None) -> Any:
    """Number of red pebbles where two regimes meet, solved by sympy.

    Parameters
    ----------
    first : Bound
        Alone, the smaller of two terms in it (``Min(a, b)``), which meet there.
    second : Bound, optional
        Another bound, whose expression meets that of `first`.

    Returns
    -------
    sympy.Expr
        M as a formula in the other sizes.

    Raises
    ------
    SpecError
        If there are not two regimes, or they do not meet at exactly one M.

    Examples
    --------
    >>> from bounds.theorems import theorems
    >>> crossover(theorems("attention-gradient")[0])
    d**2
    """
    if second is None:
        what = first.name
        terms = _terms(first.expression)
        if len(terms) != 2:
            raise SpecError(f"{what} has {len(terms)} regime(s); a crossover is between two")
    else:
        what = f"{first.name} and {second.name}"
        terms = [first.expression, second.expression]
    # M is solved for as a positive real: sympy would drop solutions it cannot show to be integers.
    memory = sympy.Symbol("M", positive=True)
    left, right = (term.subs(M, memory) for term in terms)
    solutions = sympy.solve(sympy.Eq(left, right), memory)
    if len(solutions) != 1:
        raise SpecError(f"{what}: the two regimes meet at {len(solutions)} values of M, not at one")
    return sympy.simplify(solutions[0])


def regimes(bound: Bound) -> tuple[Bound, Bound]:
    """Split the smaller of two terms into the small-cache and the large-cache statement.

    Raises
    ------
    SpecError
        If the expression is not the smaller of two terms that meet at one M.

    Examples
    --------
    >>> from bounds.theorems import theorems
    >>> for regime in regimes(theorems("attention-forward")[0]):
    ...     print(regime.name, regime.expression, "where", regime.condition)
    sy24-forward-small-cache d*n**2/sqrt(M) where (M <= d**2) & (M <= n*Min(d, n))
    sy24-forward-large-cache d**2*n**2/M where (M >= d**2) & (M <= n*Min(d, n))
    """
    meeting = crossover(bound)
    first, second = _terms(bound.expression)
    # Beyond the crossing the smaller of the two is the large-cache term.
    if sympy.simplify((first / second).subs(M, 4 * meeting)) > 1:
        first, second = second, first
    small = dataclasses.replace(
        bound,
        name=f"{bound.name}-small-cache",
        expression=second,
        condition=sympy.And(M <= meeting, bound.condition),
    )
    large = dataclasses.replace(
        bound,
        name=f"{bound.name}-large-cache",
        expression=first,
        condition=sympy.And(M >= meeting, bound.condition),
    )
    return small, large


def _terms(expression: Any) -> list[Any]:
    """Terms of a Min, each with the constant before it; any other formula is one term."""
    constant, rest = expression.as_coeff_Mul()
    return [constant * term for term in rest.args] if isinstance(rest, sympy.Min) else [expression]
