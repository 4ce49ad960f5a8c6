"""Where the vertices of a small DAG go on a board: layers from below, edges crossing little."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from pebble.operations import INPUT
from pebble.tensor import split_name

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["Band", "Drawing", "draw", "short_names"]

Point = tuple[float, float]
_SWEEPS = 24
_SUBSCRIPTS = str.maketrans("0123456789,", "₀₁₂₃₄₅₆₇₈₉,")


@dataclass(frozen=True)
class Band:
    """Neighbouring vertices of one tensor: drawn together on one ground.

    Attributes
    ----------
    name : str
        The tensor.
    vertices : tuple of int
        From left to right.
    """

    name: str
    vertices: tuple[int, ...]


@dataclass(frozen=True)
class Drawing:
    """A drawing in units of one place; y grows upwards, from the inputs to the outputs.

    Attributes
    ----------
    places : list of point
        By vertex.
    edges : list
        ``(operand, vertex, points)``: the points in between that keep the line off other vertices.
    bands : list of Band
        Neighbouring vertices of one tensor.
    labels : list of str
        What fits on a vertex.
    """

    places: list[Point]
    edges: list[tuple[int, int, list[Point]]]
    bands: list[Band]
    labels: list[str]

    @property
    def crossings(self) -> int:
        """Number of pairs of straight edge pieces that cross."""
        pieces = []
        for u, v, between in self.edges:
            points = [self.places[u], *between, self.places[v]]
            pieces += list(pairwise(points))
        return sum(_cross(a, b) for i, a in enumerate(pieces) for b in pieces[:i])


def draw(dag: Dag, positions: Mapping[str, Point] | None = None) -> Drawing:
    """Lay a DAG out.

    Parameters
    ----------
    dag : Dag
        A small graph.
    positions : mapping, optional
        Places by vertex name; all or none of the vertices.

    Examples
    --------
    >>> from graphs import workload
    >>> drawing = draw(workload("pyramid:h=2").dag())
    >>> drawing.places
    [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (0.5, 1.0), (1.5, 1.0), (1.0, 2.0)]
    >>> drawing.crossings
    0
    """
    rows = [dag.operands(v).tolist() for v in range(len(dag))]
    labels = short_names(dag)
    if positions and len(positions) == len(dag):
        places = [positions[dag.name(v)] for v in range(len(dag))]
        edges = [(u, v, list[Point]()) for v in range(len(dag)) for u in rows[v]]
        return Drawing(places, edges, [], labels)
    layers, chains, below = _layers(dag, rows)
    above: list[list[int]] = [[] for _ in below]
    for v, row in enumerate(below):
        for u in row:
            above[u].append(v)
    _order(layers, below, above, keep=_is_layered(dag, layers))
    x = _abscissae(layers, below, above)
    height = {v: float(y) for y, layer in enumerate(layers) for v in layer}
    place = [(round(x[v], 4), height[v]) for v in range(len(below))]
    edges = [(u, v, [place[w] for w in chain]) for u, v, chain in chains]
    return Drawing(place[: len(dag)], edges, _bands(dag, layers), labels)


# -- layers ------------------------------------------------------------------------------------


def _layers(
    dag: Dag, rows: list[list[int]]
) -> tuple[list[list[int]], list[tuple[int, int, list[int]]], list[list[int]]]:
    """Put vertices on layers; edges over several layers get stand-ins on those in between."""
    depth = [0] * len(rows)
    for v in dag.order.tolist():
        depth[v] = 1 + max((depth[u] for u in rows[v]), default=-1)
    start, users = dag.successors()
    for v in dag.inputs.tolist():
        # An input stands right below its first use, not at the foot of the page.
        mine = users[start[v] : start[v + 1]].tolist()
        depth[v] = min((depth[w] for w in mine), default=1) - 1
    layers: list[list[int]] = [[] for _ in range(max(depth) + 1)]
    for v in range(len(rows)):
        layers[depth[v]].append(v)
    below: list[list[int]] = [[] for _ in rows]
    chains = []
    for v, row in enumerate(rows):
        for u in row:
            chain = []
            last = u
            for y in range(depth[u] + 1, depth[v]):
                stand_in = len(below)
                below.append([last])
                layers[y].append(stand_in)
                chain.append(stand_in)
                last = stand_in
            below[v].append(last)
            chains.append((u, v, chain))
    return layers, chains, below


def _is_layered(dag: Dag, layers: Sequence[Sequence[int]]) -> bool:
    """Whether the builder's tensors are the layers, whose order is then the builder's."""
    if len(layers) != len(dag.tensors):
        return False
    return all(
        layer == list(range(tensor.base, tensor.base + len(tensor)))
        for layer, tensor in zip(layers, dag.tensors, strict=True)
    )


def _order(
    layers: list[list[int]], below: list[list[int]], above: list[list[int]], *, keep: bool
) -> None:
    """Order each layer in place: medians swept up and down, then swaps of neighbours."""
    if keep:
        return
    best, fewest = [layer[:] for layer in layers], _crossings(layers, below)
    for sweep in range(_SWEEPS):
        up = sweep % 2 == 0
        near = below if up else above
        place = {v: i for layer in layers for i, v in enumerate(layer)}
        for layer in layers if up else layers[::-1]:
            weight = {
                v: float(np.mean([place[u] for u in near[v]])) if near[v] else float(place[v])
                for v in layer
            }
            # Ties turn over every few sweeps, so that the search does not stand still.
            layer.sort(key=lambda v: (weight[v], v if sweep % 8 < 4 else -v))
            place.update({v: i for i, v in enumerate(layer)})
        _swap(layers, below, above)
        now = _crossings(layers, below)
        if now < fewest:
            best, fewest = [layer[:] for layer in layers], now
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _swap(layers: list[list[int]], below: list[list[int]], above: list[list[int]]) -> None:
    """Swap neighbours as long as that takes crossings away."""
    place = {v: i for layer in layers for i, v in enumerate(layer)}

    def pairs(a: int, b: int) -> int:
        return sum(place[u] > place[w] for near in (below, above) for u in near[a] for w in near[b])

    for layer in layers:
        changed = True
        while changed:
            changed = False
            for i, (a, b) in enumerate(pairwise(layer)):
                if pairs(a, b) > pairs(b, a):
                    layer[i], layer[i + 1] = b, a
                    place[a], place[b] = i + 1, i
                    changed = True
                    break


def _crossings(layers: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    total = 0
    for lower, upper in pairwise(layers):
        place = {v: i for i, v in enumerate(lower)}
        ends = np.array([place[u] for v in upper for u in sorted(below[v], key=place.__getitem__)])
        owner = np.array([i for i, v in enumerate(upper) for _ in below[v]])
        later = owner[None, :] > owner[:, None]
        total += int((later & (ends[None, :] < ends[:, None])).sum()) if ends.size else 0
    return total


# -- coordinates ---------------------------------------------------------------------------------


def _abscissae(
    layers: list[list[int]], below: list[list[int]], above: list[list[int]]
) -> list[float]:
    """Give every vertex an x: near its neighbours, at least one place from the next one."""
    x = [0.0] * len(below)
    for layer in layers:
        for i, v in enumerate(layer):
            x[v] = i - (len(layer) - 1) / 2
    for sweep in range(40):
        up = sweep % 2 == 0
        near = below if up else above
        for layer in layers[1:] if up else layers[-2::-1]:
            wish = [float(np.mean([x[u] for u in near[v]])) if near[v] else x[v] for v in layer]
            for v, value in zip(layer, _spread(wish), strict=True):
                x[v] = value
    for layer in layers[1:]:
        # The last word has the way up: a result stands over its operands.
        wish = [float(np.mean([x[u] for u in below[v]])) if below[v] else x[v] for v in layer]
        for v, value in zip(layer, _spread(wish), strict=True):
            x[v] = value
    least = min(x)
    return [value - least for value in x]


def _spread(wish: Sequence[float]) -> list[float]:
    """Return the places nearest to a wish, in least squares, that are at least one apart."""
    # With i taken off, "one apart" reads "not falling": pool adjacent violators.
    pools: list[list[float]] = []
    for i, value in enumerate(wish):
        pools.append([value - i, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            other, many = pools.pop()
            pools.append([(mean * size + other * many) / (size + many), size + many])
    flat = [mean for mean, size in pools for _ in range(int(size))]
    return [value + i for i, value in enumerate(flat)]


def _cross(first: tuple[Point, Point], second: tuple[Point, Point]) -> bool:
    if set(first) & set(second):
        return False

    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    (a, b), (c, d) = first, second
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


# -- names ---------------------------------------------------------------------------------------


def _family(dag: Dag, vertex: int) -> str:
    parts = split_name(dag.name(vertex))
    return parts[0] if parts is not None and parts[1] else ""


def _bands(dag: Dag, layers: Sequence[Sequence[int]]) -> list[Band]:
    """Find the tensors that stand together: all of their vertices on a layer, side by side."""
    bands = []
    for layer in layers:
        keyed = groupby(layer, key=lambda v: _family(dag, v) if v < len(dag) else "")
        runs = [(family, tuple(vertices)) for family, vertices in keyed]
        families = [family for family, _ in runs]
        for family, run in runs:
            if family and len(run) > 1 and families.count(family) == 1:
                bands.append(Band(family, run))
    return bands


def short_names(dag: Dag) -> list[str]:
    """Return labels that fit on a vertex: ``Q₀₁``, and ``×`` or ``+`` on products and partial sums.

    Examples
    --------
    >>> from graphs import workload
    >>> short_names(workload("matmul:m=1,n=1,k=2").dag())
    ['A₀₀', 'A₀₁', 'B₀₀', 'B₁₀', '×', '×', 'C₀₀']
    """
    second = {
        view.vertex(tuple(f + int(i) for f, i in zip(view.first, index, strict=True))): view.name
        + _index(index)
        for view in dag.views
        for index in np.ndindex(view.shape)
    }
    return [second.get(v) or _short(dag, v) for v in range(len(dag))]


def _short(dag: Dag, vertex: int) -> str:
    name = dag.name(vertex)
    parts = split_name(name)
    if parts is None or not parts[1]:
        return name if len(name) <= 5 else f"#{vertex}"
    tensor, index = parts
    if tensor.endswith(".prod"):
        return "×"
    if tensor.endswith(".sum"):
        return "+"
    layered = re.fullmatch(r"(row|level|stage)(\d+)", tensor)
    if layered:
        # Layers of the classics: inputs a, b, c, ..., above them row and place.
        letter = dag.operations[vertex] == INPUT and index[0] < 26
        return chr(97 + index[0]) if letter else f"{layered[2]}.{index[0]}"
    return tensor + _index(index) if len(tensor) <= 3 else f"#{vertex}"


def _index(index: Sequence[int]) -> str:
    joined = ("" if max(index, default=0) < 10 else ",").join(map(str, index))
    return joined.translate(_SUBSCRIPTS)
