"""Automorphisms of a DAG: relabellings that change no cost, so that one state stands for many."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from strategies.optimum.instance import Instance, Layout

__all__ = ["automorphisms", "weights"]

#: Most automorphisms that a search looks at per state, and most vertices that are searched.
MOST, LARGEST = 2048, 160

Permutation = list[int]


def automorphisms(
    instance: Instance, most: int = MOST, seconds: float = 2.0
) -> npt.NDArray[np.int32]:
    """Return automorphisms, one per row, the identity first; a group of at most ``most``.

    Twins are left in place: outputs with the same operands, and given inputs with the same
    successors, which the searches treat alike anyway. Where the group is larger than ``most``, or
    the search for it takes longer than ``seconds``, a subgroup is returned.
    """
    n = instance.size
    identity = np.arange(n, dtype=np.int32)[None]
    if not 1 < n <= LARGEST or most < 2:
        return identity
    finder = _Finder(instance, time.monotonic() + seconds)
    chain = finder.chain()
    group: list[Permutation] = [list(range(n))]
    for transversal in reversed(chain):  # from the deepest stabiliser upwards
        if len(group) * (len(transversal) + 1) > most:
            break
        group += [[u[g[v]] for v in range(n)] for u in transversal for g in group]
    return np.array(group, np.int32)


def weights(
    permutations: npt.NDArray[np.int32], layout: Layout, seed: int = 1
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Return what a search needs to find the representative of a state.

    Returns
    -------
    weights : uint64 array, shape (bits, automorphisms)
        The image of a state under an automorphism has as its score the sum of the weights of the
        state's bits; the image of least score represents the state. Dirty bits weigh so little
        that they break ties only.
    images : int32 array, shape (automorphisms, bits)
        Where each bit goes.
    """
    rng = np.random.default_rng(seed)
    bits = max(layout.bits, 1)
    weight = rng.integers(1, 1 << 40, bits, dtype=np.uint64) << np.uint64(22)
    low = rng.integers(1, 1 << 14, bits, dtype=np.uint64)
    weight[layout.first_dirty :] = low[layout.first_dirty :]
    images = np.zeros((len(permutations), bits), np.int32)
    for place in (layout.done, layout.red, layout.dirty, layout.blue):
        have = np.flatnonzero(place >= 0)
        images[:, place[have]] = place[permutations[:, have]]
    return np.ascontiguousarray(weight[images].T), images


class _Finder:
    """Colour refinement and backtracking on the DAG with its twins merged."""

    def __init__(self, instance: Instance, deadline: float) -> None:
        self.instance, self.deadline = instance, deadline
        classes: dict[tuple[object, ...], list[int]] = {}
        for v in range(instance.size):
            below, above = tuple(instance.operands[v]), tuple(instance.successors[v])
            key: tuple[object, ...] = (v,)
            if instance.given[v]:
                key = ("given", above)
            elif not above:
                key = ("sink", below, int(instance.out[v]))
            classes.setdefault(key, []).append(v)
        self.members = list(classes.values())
        merged = {v: i for i, members in enumerate(self.members) for v in members}
        heads = [members[0] for members in self.members]
        self.below = [sorted({merged[u] for u in instance.operands[v]}) for v in heads]
        self.above = [sorted({merged[u] for u in instance.successors[v]}) for v in heads]
        start = [
            (
                int(instance.given[v]), int(instance.out[v]), len(instance.operands[v]),
                len(instance.successors[v]), len(members),
            )
            for v, members in zip(heads, self.members, strict=True)
        ]  # fmt: skip
        names = {key: i for i, key in enumerate(sorted(set(start)))}
        self.start = [names[key] for key in start]

    def refine(self, colours: Sequence[int]) -> list[int]:
        """Refine a colouring until neighbours of equal colours have equal colours.

        The new colours depend on the structure alone, not on the numbering.
        """
        colours = list(colours)
        while True:
            keys = [
                (
                    colours[v],
                    tuple(sorted(colours[u] for u in self.below[v])),
                    tuple(sorted(colours[u] for u in self.above[v])),
                )
                for v in range(len(colours))
            ]
            names = {key: i for i, key in enumerate(sorted(set(keys)))}
            if len(names) == len(set(colours)):
                return [names[key] for key in keys]
            colours = [names[key] for key in keys]

    def chain(self) -> list[list[Permutation]]:
        """Return the transversals of a stabiliser chain, without their identities."""
        colours = self.refine(self.start)
        chain: list[list[Permutation]] = []
        while True:
            cell = _first_cell(colours)
            if not cell:
                return chain
            base = cell[0]
            fixed = self._single(colours, base)
            transversal = []
            for other in cell[1:]:
                if time.monotonic() > self.deadline:
                    break  # fewer automorphisms, still all of them true ones
                found = self._match(fixed, self._single(colours, other))
                if found is not None:
                    transversal.append(self._spread(found))
            chain.append(transversal)
            colours = fixed

    def _single(self, colours: Sequence[int], vertex: int) -> list[int]:
        marked = [2 * c for c in colours]
        marked[vertex] += 1
        return self.refine(marked)

    def _match(self, left: list[int], right: list[int]) -> Permutation | None:
        """Find an automorphism that takes one colouring to the other."""
        if sorted(left) != sorted(right) or time.monotonic() > self.deadline:
            return None
        cell = _first_cell(left)
        if not cell:
            place = {c: v for v, c in enumerate(right)}
            found = [place[c] for c in left]
            return found if self._preserves(found) else None
        marked = self._single(left, cell[0])
        for other in (v for v, c in enumerate(right) if c == left[cell[0]]):
            deeper = self._match(marked, self._single(right, other))
            if deeper is not None:
                return deeper
        return None

    def _preserves(self, found: Permutation) -> bool:
        return all(
            sorted(found[u] for u in self.below[v]) == self.below[w] for v, w in enumerate(found)
        )

    def _spread(self, found: Permutation) -> Permutation:
        """Extend an automorphism of the merged graph to the twins, in order."""
        whole = [0] * self.instance.size
        for v, w in enumerate(found):
            for a, b in zip(self.members[v], self.members[w], strict=True):
                whole[a] = b
        return whole


def _first_cell(colours: Sequence[int]) -> list[int]:
    """Return the vertices of the first colour that several have; none if all are single."""
    cells: dict[int, list[int]] = {}
    for v, c in enumerate(colours):
        cells.setdefault(c, []).append(v)
    return next((cells[c] for c in sorted(cells) if len(cells[c]) > 1), [])
