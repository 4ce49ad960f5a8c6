"""The cheapest plan: a shortest path over what has been made, every pass counted by tally."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import isqrt
from typing import TYPE_CHECKING

from pebble.errors import BudgetError
from strategies.dataflow.plan import Plan
from strategies.dataflow.space import Anatomy, Option, Pass, Roles, passes
from strategies.dataflow.text import phases_of
from strategies.phases import Candidates
from strategies.registry import RefusalError

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula
    from graphs.registry import Workload

__all__ = ["Exploration", "Found", "explore"]


@dataclass(frozen=True)
class Found:
    """A plan that makes every output.

    Attributes
    ----------
    plan : Plan
        The strategy.
    io : int
        Its loads and stores.
    kept : tuple of str
        Arrays besides the outputs that it keeps in slow memory.
    """

    plan: Plan
    io: int
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Exploration:
    """What a search found.

    Attributes
    ----------
    best : Found
        The least I/O of all plans.
    others : list of Found
        The best plans that keep other arrays, by rising I/O.
    passes : int
        Number of passes in the space.
    counted : int
        How many of these were fitted to M and counted; the others cannot be part of a cheaper plan.
    """

    best: Found
    others: list[Found] = field(default_factory=list)
    passes: int = 0
    counted: int = 0


def explore(
    workload: Workload,
    memory: int,
    *,
    others: int = 4,
    progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Search all plans for the one that moves least.

    Parameters
    ----------
    workload : Workload
        One with a formula.
    memory : int
        M, the number of red pebbles.
    others : int
        How many further plans to return, each keeping other arrays than the ones before.
    progress : callable, optional
        Told the number of passes counted so far.

    Raises
    ------
    RefusalError
        If the workload has no formula, sums by trees, or sizes below 2.
    BudgetError
        If no plan plays with so little memory.

    Examples
    --------
    Small cache: the weights are kept.

    >>> from graphs.registry import workload
    >>> found = explore(workload("attention-forward:n=256,d=16"), 64)
    >>> [str(each) for each in found.best.plan.passes]
    ['A, l by tiles of S', 'O by tiles of U from A, l']
    """
    formula = _formula(workload)
    options = [_Costed(option, formula, memory) for option in passes(formula)]
    outputs = frozenset(array.name for array in formula.outputs)
    ticket = count()
    # Entries: cost so far, the pass that is still only estimated, what is made and spilled, passes.
    State = tuple[frozenset[str], frozenset[str]]
    start: State = (frozenset(), frozenset())
    heap: list[tuple[int, int, _Costed | None, State, tuple[Pass, ...]]] = [
        (0, next(ticket), None, start, ())
    ]
    done: set[State] = set()
    found: list[Found] = []
    while heap and len(found) <= others:
        cost, _, pending, state, path = heapq.heappop(heap)
        made, spilled = state
        if pending is not None:
            after = _after(state, pending.option)
            exact = pending.exact()
            if progress:
                progress(sum(option.is_exact for option in options))
            if exact is not None and after not in done:
                total = cost - pending.least + exact
                longer = (*path, pending.option.form)
                heapq.heappush(heap, (total, next(ticket), None, after, longer))
            continue
        if state in done:
            continue
        done.add(state)
        if outputs <= made:
            kept = tuple(name for name in formula.arrays if name in made - outputs)
            if all(each.kept != kept for each in found):
                found.append(Found(Plan(path), cost, kept))
            continue
        for option in options:
            if _fits(state, option.option) and _after(state, option.option) not in done:
                waiting = (cost + option.least, next(ticket), option, state, path)
                heapq.heappush(heap, waiting)
    if not found:
        least = _least_memory([option.option for option in options], formula, outputs)
        message = f"every dataflow of {workload} needs M >= {least}, got M = {memory}"
        raise BudgetError(message, least)
    counted = sum(option.is_exact for option in options)
    return Exploration(found[0], found[1:], len(options), counted)


def _least_memory(options: list[Option], formula: Formula, outputs: frozenset[str]) -> int:
    """Return the least M with which some plan plays: its most demanding pass decides."""
    needs = []
    for option in options:
        peaks = [
            phase.counts(formula, {tile.name: 1 for tile in phase.tiles}).peak
            for phase in phases_of(formula, option.form)
        ]
        needs.append((int(min(peaks)), option))
    start: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    ticket = count()
    heap = [(0, next(ticket), start)]
    done = set()
    while heap:
        need, _, state = heapq.heappop(heap)
        if outputs <= state[0]:
            return need
        if state in done:
            continue
        done.add(state)
        for peak, option in needs:
            if _fits(state, option):
                heapq.heappush(heap, (max(need, peak), next(ticket), _after(state, option)))
    raise RefusalError("no sequence of passes makes every output")


def _formula(workload: Workload) -> Formula:
    formula = workload.formula()
    if formula is None or not any(a.is_contraction for a in formula.arrays.values()):
        raise RefusalError(
            f"{workload} has no formula with products to explore: attention and matmul have"
        )
    if getattr(workload, "sum", "chain") != "chain":
        raise RefusalError("dataflows add terms one by one: take sum=chain")
    for option, plain in (("mask", "none"), ("dropout", "no"), ("block", None)):
        value = getattr(workload, option, plain)
        if value != plain:
            raise RefusalError(
                f"dataflows are generated for whole products only: leave out {option}={value}"
            )
    small = {name: size for name, size in workload.sizes().items() if size < 2}
    if small:
        name, size = next(iter(small.items()))
        raise RefusalError(f"dataflows are explored for sizes of at least 2, got {name} = {size}")
    return formula


def _fits(state: tuple[frozenset[str], frozenset[str]], option: Option) -> bool:
    """Whether a pass can come next, and stores nothing that is stored already."""
    made, spilled = state
    stored = made | spilled
    new = set(option.form.makes)
    return option.requires <= made and not new & stored and not option.spills & stored


def _after(
    state: tuple[frozenset[str], frozenset[str]], option: Option
) -> tuple[frozenset[str], frozenset[str]]:
    made = state[0] | set(option.form.makes)
    return made, (state[1] | option.spills) - made


class _Costed:
    """A pass with an estimate that is never too high, and its count once somebody asks."""

    def __init__(self, option: Option, formula: Formula, memory: int) -> None:
        self.option, self.formula, self.memory = option, formula, memory
        self.least = _at_least(option, formula, memory)
        self.is_exact = False
        self._exact: int | None = None

    def exact(self) -> int | None:
        """Return the least I/O of the pass over its texts and tile sizes; None if none fits."""
        if not self.is_exact:
            self.is_exact = True
            counts = [
                best[0]
                for phase in phases_of(self.formula, self.option.form)
                if (best := Candidates(phase, self.formula).fit(self.memory)) is not None
            ]
            self._exact = min(counts, default=None)
        return self._exact


def _size(arrays: Iterator[Array] | list[Array]) -> int:
    total = 0
    for array in arrays:
        entries = 1
        for extent in array.shape:
            entries *= int(extent)
        total += entries
    return total


def _at_least(option: Option, formula: Formula, memory: int) -> int:
    """Return a number that no text of the pass goes below: what must stream, over what fits."""
    form, arrays = option.form, formula.arrays
    stores = _size([arrays[name] for name in form.makes])
    if form.form == "tiles":
        product = arrays[form.product]
        assert product.over is not None
        m, n, k = *map(int, product.shape), int(product.over.size)
        factors = {entry.array for entry in product.operands}
        loads = max(_size(list(factors)), isqrt(4 * (m * n * k) ** 2 // memory) - m * n)
        rest = [arrays[name] for name in form.loads if arrays[name] not in factors]
        return stores + loads + _size([each for each in rest if len(each.shape) == 2])
    roles = Roles(formula)
    anatomy = Anatomy(roles, form)
    here = [x for x in anatomy.sums if roles.side(x) is anatomy.resident]
    there = [x for x in anatomy.sums if roles.side(x) is anatomy.streamed]
    resident = anatomy.on(anatomy.resident, anatomy.early)
    height = _size([*resident, *here])
    blocks = max(1, -(-height // memory))
    streamed = _size(anatomy.on(anatomy.streamed, anatomy.early))
    pairs = _size([x for x in anatomy.pairs if x.name in anatomy.loaded])
    return stores + _size(resident) + pairs + blocks * streamed + 2 * (blocks - 1) * _size(there)
