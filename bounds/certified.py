"""Certified bounds: numbers of loads and stores, constants included, that no play can go below.

The theorems and their proofs are in docs/certified-bounds.md.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bounds import certified_backward as back
from bounds import certified_fft as butterfly
from bounds import certified_forward as front
from pebble.errors import SpecError
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from graphs.registry import Workload

__all__ = ["Certified", "Heads", "best", "certified"]

PROOFS = "docs/certified-bounds.md"


@dataclass(frozen=True)
class Certified:
    """A number of loads and stores that no play of a workload with M red pebbles can go below.

    Attributes
    ----------
    name : str
        Name of the theorem: ``forward``.
    value : int
        Every legal play makes at least so many loads and stores.
    workload : str
        Text form.
    memory : int
        M.
    statement : str
        The inequality that gave the value; Q is loads plus stores, L loads alone, T = `segment`.
    segment : int or None
        T, the number of charged moves per segment of the play, chosen for the greatest value where
        the theorem leaves it free; None where the theorem has none.
    hypotheses : str
        What is assumed of the DAG.
    reference : str
        Where the proof is.
    rules : str
        The rules asked for, which the value holds under.
    """

    name: str
    value: int
    workload: str
    memory: int
    statement: str
    segment: int | None
    hypotheses: str
    reference: str
    rules: str

    def to_json(self) -> dict[str, Any]:
        """Plain form for ``--json``, with the keys of any other bound."""
        return dataclasses.asdict(self) | {
            "kind": "lower",
            "algorithm": None,
            "expression": self.statement,
            "condition": "True",
            "holds": True,
        }

    def __str__(self) -> str:
        segment = "" if self.segment is None else f", T = {self.segment}"
        return (
            f"{self.name}: at least {self.value:,} loads and stores "
            f"({self.statement}{segment}; {self.reference}; rules {self.rules})"
        )


@dataclass(frozen=True)
class Heads:
    """Sizes of attention beyond one square head, for the theorems that allow them.

    Parameters
    ----------
    queries, keys : int
        Rows of Q and of K. Query heads that share their keys and values count as one head with
        all their queries.
    d, d_values : int
        Length of the rows of Q and K, and of V and O.
    pairs : int, optional
        Pairs of query and key that a mask allows; all of them if not given. Every query and every
        key must be in one.
    heads : int
        Number of independent heads of these sizes, played as one DAG.
    softmax : {"late", "early", "safe"}
        As in the workload ``attention-forward``; online softmax is ``late``.
    backward : bool
        The backward pass (dQ, dK, dV from Q, K, V, O, dO, l) instead of the forward pass; then
        rows of V must be as long as those of Q and K.

    Examples
    --------
    Causal attention with 4096 rows: half the pairs, half the moves.

    >>> n = 4096
    >>> causal = Heads(n, n, 64, 64, pairs=n * (n + 1) // 2)
    >>> causal.certified(65536)[0].value
    2097664
    >>> Heads(n, n, 64, 64).certified(65536)[0].value
    4194304

    Eight query heads that share keys and values are one head of eight times the queries:

    >>> Heads(8 * n, n, 64, 64, backward=True).certified(131072)[0].name
    'backward-loads-and-stores'
    """

    queries: int
    keys: int
    d: int
    d_values: int
    pairs: int | None = None
    heads: int = 1
    softmax: str = "late"
    backward: bool = False

    def __post_init__(self) -> None:
        for field in ("queries", "keys", "d", "d_values", "heads"):
            _positive(getattr(self, field), field)
        if self.backward and self.d != self.d_values:
            raise SpecError(
                "no bound with a constant is proved for a backward pass whose rows of V have "
                f"another length than those of Q and K; got d = {self.d}, d_values = "
                f"{self.d_values}"
            )
        most = self.queries * self.keys
        if self.pairs is not None and not max(self.queries, self.keys) <= self.pairs <= most:
            raise SpecError(
                f"pairs must be from max(queries, keys) to {most}, got {self.pairs}: every query "
                "and every key is in an allowed pair"
            )

    def certified(self, memory: int, rules: Rules = HK) -> list[Certified]:
        """Return what `certified` does for a workload: the bounds of the pass."""
        if self.backward:
            return _evaluated(f"attention-backward with {self}", memory, rules, self._backward)
        return _evaluated(f"attention-forward with {self}", memory, rules, self._found)

    def _backward(self, memory: int) -> Iterator[_Found]:
        pairs = self.queries * self.keys if self.pairs is None else self.pairs
        gradients = self.heads * (self.queries + 2 * self.keys) * self.d
        inputs = self.heads * self.queries * (2 * self.d + 1)
        yield _compulsory(gradients + inputs, gradients)
        yield _scores(self.heads * pairs, self.d, memory, gradients)
        yield from _backward_pass(self.heads * pairs, gradients, self.d, memory, others=0)

    def _found(self, memory: int) -> Iterator[_Found]:
        outputs = self.heads * self.queries * self.d_values
        pairs = self.queries * self.keys if self.pairs is None else self.pairs
        rows = self.queries * self.d + self.keys * (self.d + self.d_values)
        yield _compulsory(self.heads * rows, outputs)
        yield from _forward_pass(
            self.heads * pairs, self.d, self.d_values, memory, outputs, outputs
        )
        if self.softmax in {"early", "safe"} and self.d == self.d_values:
            yield from _two_pass(self.heads * pairs, self.heads * self.queries, self.d, memory)


def certified(workload: Workload, memory: int, rules: Rules = HK) -> list[Certified]:
    """Evaluate every certified bound on a workload, the greatest first.

    Recomputation is allowed, and each value is rounded down.

    Parameters
    ----------
    workload : Workload
        Any; where only the compulsory bound is known, that alone is returned.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Rules that only take plays away from Hong and Kung's keep the bounds; ``sliding`` is played
        with M + 1. Where inputs are free or outputs need not be stored, nothing is certified.

    Returns
    -------
    list of Certified
        Empty where nothing is known.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> print(certified(workload("attention-forward:n=4096,d=64"), 65536)[0])
    forward: at least 4,194,304 loads and stores (Q >= L + n d >= 4 n^2 d^2 / M if T = M >= ...
    >>> [bound.name for bound in certified(workload("fft:n=1024"), 4)]
    ['fft', 'compulsory']
    """
    return _evaluated(str(workload), memory, rules, lambda M: _of_workload(workload, M))


def best(workload: Workload, memory: int, rules: Rules = HK) -> Certified | None:
    """Return the greatest certified bound, or None; parameters as in `certified`.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> best(workload("matmul:m=16,n=16,k=16"), 64).value
    1024
    """
    return next(iter(certified(workload, memory, rules)), None)


@dataclass(frozen=True)
class _Found:
    """A theorem at given sizes, before the rules and the workload's name are added."""

    name: str
    value: int
    segment: int | None
    statement: str
    hypotheses: str
    theorem: str


def _evaluated(
    workload: str, memory: int, rules: Rules, find: Callable[[int], Iterator[_Found]]
) -> list[Certified]:
    M = _positive(memory, "M")
    if rules.free_inputs or rules.unstored_outputs or rules.partial:
        return []
    # A play with sliding and M red pebbles is one without and M + 1.
    found = sorted(find(M + rules.sliding), key=lambda each: -each.value)
    return [
        Certified(
            name=each.name,
            value=each.value,
            workload=workload,
            memory=M,
            statement=each.statement,
            segment=each.segment,
            hypotheses=each.hypotheses,
            reference=f"{PROOFS}, {each.theorem}" if each.theorem else "by definition of the game",
            rules=str(rules),
        )
        for each in found
        if each.value > 0
    ]


def _positive(value: int, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise SpecError(f"{name} must be a positive integer, got {value!r}")
    return number


# --- which theorem is about which workload --------------------------------------------------------


def _of_workload(workload: Workload, memory: int) -> Iterator[_Found]:
    formula = workload.formula()
    sizes = workload.sizes()
    if formula is not None:
        yield _compulsory(int(formula.inputs_size()), int(formula.outputs_size()))
    elif workload.name == "fft" and sizes["n"] > 1:
        yield _compulsory(sizes["n"], sizes["n"])
    theorems = _THEOREMS.get(workload.name)
    # An option that is not known here, such as a mask, may make the DAG another one.
    known = {*sizes, *_OPTIONS}
    strange = any(
        field.name not in known and getattr(workload, field.name) != field.default
        for field in dataclasses.fields(workload)
    )
    if theorems is not None and not strange:
        yield from theorems(workload, memory)


#: Options that the theorems below allow for: a mask leaves some pairs, dropout multiplies a weight
#: by a factor of its own pair; the blocks are those of online softmax, whose rescaled
#: sums are private trees as well.
_OPTIONS = {"sum", "softmax", "form", "given", "block", "mask", "dropout"}


def _pairs(workload: Any) -> int:
    """Return the number of scores: n^2, or what a mask leaves of it."""
    mask = workload.pairs()
    return int(workload.n) ** 2 if mask is None else int(mask.pairs)


def _of_forward(workload: Any, memory: int) -> Iterator[_Found]:
    n, d, pairs = workload.n, workload.d, _pairs(workload)
    yield from _forward_pass(pairs, d, d, memory, outputs=n * d, sums=n * d)
    if workload.softmax in {"early", "safe"}:
        yield from _two_pass(pairs, n, d, memory)


def _of_backward(workload: Any, memory: int) -> Iterator[_Found]:
    n, d, pairs = workload.n, workload.d, _pairs(workload)
    yield _scores(pairs, d, memory, outputs=3 * n * d)
    yield from _backward_pass(pairs, 3 * n * d, d, memory, others=0)


def _of_training(workload: Any, memory: int) -> Iterator[_Found]:
    n, d, pairs = workload.n, workload.d, _pairs(workload)
    yield from _forward_pass(pairs, d, d, memory, outputs=4 * n * d, sums=n * d)
    yield from _backward_pass(pairs, 3 * n * d, d, memory, others=n * d)


def _of_gradient(workload: Any, memory: int) -> Iterator[_Found]:
    n, d, pairs = workload.n, workload.d, _pairs(workload)
    if workload.form == "as24" and workload.given == "dO":
        # O is not formed, so that one pass is all there is.
        yield _scores(pairs, d, memory, outputs=d * d)
        return
    yield from _forward_pass(pairs, d, d, memory, outputs=d * d, sums=n * d)
    found = back.gradient_loads(n, d, memory)
    # Behind a mask an entry of O can be made again from few weights: Theorem 8 is for all pairs.
    if found is not None and pairs == n * n:
        value, segment = found
        yield _Found(
            "gradient",
            value + d * d,
            segment,
            "Q - d^2 >= L >= 10 n^2 d^2 / M - 22 n d, 19 d^2 <= M <= n d / 8",
            PRIVATE,
            "Theorem 8",
        )


def _of_product(workload: Any, memory: int) -> Iterator[_Found]:
    yield _product(workload.m, workload.n, workload.k, memory)


def _of_fft(workload: Any, memory: int) -> Iterator[_Found]:
    if workload.n > 1:
        value, segment = butterfly.fft(workload.n, memory)
        statement = "Q >= n + 1 + T ceil((n log2 n - f(T)) / f(M + T)), f(x) = x log2 x"
        yield _Found("fft", value, segment, statement, "Recomputation allowed.", "Theorem 9")


def _of_bilinear(workload: Any, memory: int) -> Iterator[_Found]:
    yield _product(workload.n, workload.n, workload.d, memory)


_THEOREMS: dict[str, Callable[[Any, int], Iterator[_Found]]] = {
    "attention-forward": _of_forward,
    "attention-backward": _of_backward,
    "attention-training": _of_training,
    "attention-gradient": _of_gradient,
    "matmul": _of_product,
    "bilinear": _of_bilinear,
    "fft": _of_fft,
}

# --- the theorems, with what is stored besides ----------------------------------------------------

PRIVATE = "Any summation trees, each private to its entry; recomputation allowed."


def _compulsory(inputs: int, outputs: int) -> _Found:
    return _Found(
        "compulsory",
        inputs + outputs,
        None,
        "Q >= inputs + outputs",
        "Every input leads to an output, and no output is an input.",
        "",
    )


def _scores(pairs: int, d: int, memory: int, outputs: int) -> _Found:
    value, segment = front.score_loads(pairs, d, memory)
    statement = "Q >= L + outputs, L >= T n^2 / max((M + T)^2 / 4 d^2, M + T)"
    return _Found("scores", value + outputs, segment, statement, PRIVATE, "Theorem 1")


def _forward_pass(
    pairs: int, d: int, d_values: int, memory: int, outputs: int, sums: int
) -> Iterator[_Found]:
    """Yield Theorems 1, 2 and 4; `sums` trees begin, and `outputs` are stored at the end."""
    yield _scores(pairs, d, memory, outputs)
    value, segment = front.forward(pairs, d, d_values, memory)
    large = segment == memory and 27 * memory >= 128 * d * d
    statement = (
        "Q >= L + n d >= 4 n^2 d^2 / M if T = M >= (128/27) d^2"
        if large
        else "Q >= L + n d >= T n^2 d / max(((M + T)/3)^(3/2), (M + T)^2 / 16 d)"
    )
    beyond = outputs - sums
    yield _Found("forward", value + beyond, segment, statement, PRIVATE, "Theorem 2")
    value, segment = front.both(pairs, d, d_values, memory)
    statement = (
        "Q >= 2 n^2 d T / N(M + T) - n^2, "
        "N(s)^2 = max over u <= s of u^2 (s - u) / 4 + u^4 / 108 d^2"
    )
    if value:
        yield _Found("both-products", value + beyond, segment, statement, PRIVATE, "Theorem 4")


def _two_pass(pairs: int, queries: int, d: int, memory: int) -> Iterator[_Found]:
    found = front.two_pass(pairs, queries, d, memory)
    if found is not None:
        statement = "Q >= L + n d >= (5 n^2 d^2 / M - 2 n d) / (1 + 2 d^2 / M), M >= (128/27) d^2"
        words = f"Every weight waits for a statistic of its whole row. {PRIVATE}"
        yield _Found("two-pass", found[0], found[1], statement, words, "Theorem 5")


def _backward_pass(
    pairs: int, gradients: int, d: int, memory: int, others: int
) -> Iterator[_Found]:
    """Yield Theorems 6 and 7; `others` are outputs besides the gradients."""
    value, segment = back.backward_loads(pairs, d, memory)
    statement = (
        "Q >= L + 3 n d >= 3 n^2 d T / N(M + T), "
        "N(s) = max over t of (s - t)^2 / 16 d + min(3 d t, sqrt(t) (s - t) / 2)"
    )
    yield _Found("backward-loads", value + others, segment, statement, PRIVATE, "Theorem 6")
    value, segment = back.backward_io(pairs, d, memory)
    statement = (
        "Q + 3 n d >= 14 n^2 d^2 / (M phi), phi the greater of d ceil(M / d) / M and "
        "(d / M^2) max over t of (2 M - t)^2 / 4 d + min(14 d t, 3 sqrt(t) (2 M - t))"
    )
    if value > gradients:
        name = "backward-loads-and-stores"
        yield _Found(name, value - gradients + others, segment, statement, PRIVATE, "Theorem 7")


def _product(m: int, n: int, k: int, memory: int) -> _Found:
    value, segment = front.matrix_product(m, n, k, memory)
    return _Found(
        "matrix-product", value, segment, "Q >= L + m n >= 2 m n k / sqrt(M)", PRIVATE, "Theorem 3"
    )
