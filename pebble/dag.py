"""The computation DAG: predecessor lists in CSR arrays, operations, named tensors."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pebble.errors import GraphError, InvalidMoveError, unknown
from pebble.moves import MAX_VERTICES
from pebble.operations import APPLY, INPUT, OPERATIONS
from pebble.tensor import Tensor, contiguous, split_name

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Dag", "Vertices"]

#: Vertex numbers: uint32.
Vertices: TypeAlias = npt.NDArray[np.uint32]


class Dag:
    """A computation DAG whose vertices are scalars, numbered from 0.

    Parameters
    ----------
    indptr : uint32 array, shape (V + 1,)
        The operands of vertex v are ``predecessors[indptr[v]:indptr[v + 1]]``.
    predecessors : uint32 array, shape (E,)
        Operands in slot order; a set: an operand used in two slots stands once.
    operations : uint8 array, shape (V,), optional
        Codes of `pebble.operations`. Default: ``input`` for vertices without predecessors,
        ``apply`` for the others. A source that is no input is a constant: it is computed from
        nothing.
    outputs : sequence of int, optional
        Vertices that must end blue. Default: the vertices without successors, isolated inputs
        excepted.
    tensors : sequence of Tensor, optional
        Contiguous tensors that partition the vertices, by ascending base; each vertex belongs to
        exactly one, which its traffic is booked on.
    views : sequence of Tensor, optional
        Further names for the same vertices, as affine views.
    names : sequence of str, optional
        One name per vertex, for graphs without tensors. A name made of digits that is not the
        vertex's own number is put in quotes, so that a plain number always means the vertex.
    source : str
        Text form of the workload or name of the file that the DAG came from.
    checked : bool
        True skips the check for malformed edges and cycles: for builders whose edges always
        point to lower numbers.

    Raises
    ------
    GraphError
        If the graph is empty, too large (2**30 vertices), cyclic or malformed.

    Notes
    -----
    Memory: 5 bytes a vertex and 4 bytes an edge, that is 13 bytes a vertex where in-degrees are 2.

    Examples
    --------
    >>> dag = Dag.from_predecessors([[], [], [0, 1], [2]])
    >>> len(dag), dag.inputs.tolist(), dag.outputs.tolist(), dag.least_memory
    (4, [0, 1], [3], 3)
    """

    def __init__(
        self,
        indptr: npt.ArrayLike,
        predecessors: npt.ArrayLike,
        operations: npt.ArrayLike | None = None,
        outputs: npt.ArrayLike | None = None,
        *,
        tensors: Sequence[Tensor] = (),
        views: Sequence[Tensor] = (),
        names: Sequence[str] | None = None,
        source: str = "",
        checked: bool = False,
    ) -> None:
        if np.size(indptr) > MAX_VERTICES + 1:
            raise GraphError(
                f"the graph has {np.size(indptr) - 1:,} vertices; packed moves hold at most "
                f"{MAX_VERTICES:,}: take a smaller one, or count without a DAG"
            )
        self.indptr: Vertices = np.ascontiguousarray(indptr, dtype=np.uint32)
        self.predecessors: Vertices = np.ascontiguousarray(predecessors, dtype=np.uint32)
        size = self.indptr.size - 1
        if size < 1:
            raise GraphError("the graph is empty: expected at least one vertex")
        degrees_ok = self.indptr[0] == 0 and int(self.indptr[-1]) == self.predecessors.size
        if not checked and not (degrees_ok and bool(np.all(self.indptr[1:] >= self.indptr[:-1]))):
            raise GraphError("indptr must ascend from 0 to the number of predecessors")
        if operations is None:
            operations = np.where(np.diff(self.indptr) == 0, INPUT, APPLY)
        self.operations: npt.NDArray[np.uint8] = np.ascontiguousarray(operations, dtype=np.uint8)
        if self.operations.size != size:
            raise GraphError(f"expected {size} operations, got {self.operations.size}")
        if not checked and int(self.operations.max()) >= len(OPERATIONS):
            raise GraphError(f"operation codes must be below {len(OPERATIONS)}")
        self.source = source
        self.views = tuple(views)
        self.tensors = tuple(tensors) or (contiguous("vertex", 0, (size,)),)
        self._names = _names(names, size) if names is not None else None
        self._ascending = True
        if not checked:
            self._check()
        if outputs is None:
            self.outputs = self._sinks()
        else:
            given = np.asarray(outputs)
            if given.size and not (0 <= int(given.min()) and int(given.max()) < size):
                raise GraphError(f"outputs must be vertices 0 to {size - 1}")
            self.outputs = np.unique(given).astype(np.uint32)

    def _check(self) -> None:
        from pebble import _arrays

        v, u, fault, ascending = _arrays.first_fault(self.indptr, self.predecessors)
        if fault:
            what = {
                _arrays.RANGE: f"names predecessor {u}, which does not exist",
                _arrays.SELF_LOOP: "is its own predecessor: remove the self-loop",
                _arrays.DUPLICATE: f"lists predecessor {u} twice: predecessors are a set",
            }[fault]
            raise GraphError(f"vertex {v} {what}")
        inputs = self.operations == INPUT
        bad = np.flatnonzero(inputs & (np.diff(self.indptr) > 0))
        if bad.size:
            raise GraphError(f"vertex {bad[0]} is an input but has predecessors")
        self._ascending = bool(ascending)
        if not ascending and self.order.size < len(self):
            rest = np.setdiff1d(np.arange(len(self), dtype=np.uint32), self.order)
            raise GraphError(f"the graph is cyclic: {self._cycle(rest)}")

    def _cycle(self, rest: Vertices) -> str:
        """Walk back through vertices that Kahn's order never reached until one repeats."""
        left: set[int] = set(rest.tolist())
        place: dict[int, int] = {}
        v = int(rest[0])
        while v not in place:
            place[v] = len(place)
            v = next(int(u) for u in self.operands(v) if int(u) in left)
        loop = [*list(place)[place[v] :], v][::-1]
        shown: list[int | str] = [*loop] if len(loop) <= 8 else [*loop[:7], "...", loop[-1]]
        return " -> ".join(x if isinstance(x, str) else self.name(x) for x in shown)

    def _sinks(self) -> Vertices:
        from pebble import _arrays

        used = _arrays.used(self.predecessors, len(self))
        return np.flatnonzero(~used & (self.operations != INPUT)).astype(np.uint32)

    def __len__(self) -> int:
        return self.indptr.size - 1

    def __repr__(self) -> str:
        label = f"{self.source}: " if self.source else ""
        return (
            f"<Dag {label}{len(self):,} vertices, {self.predecessors.size:,} edges, "
            f"{self.inputs.size:,} inputs, {self.outputs.size:,} outputs>"
        )

    def _repr_svg_(self) -> str | None:
        # Notebooks draw a small DAG; of a large one they show the tensors.
        from pebble.showing import svg

        return svg(self)

    def _repr_html_(self) -> str | None:
        from pebble.showing import LARGEST, tensor_table

        return tensor_table(self) if len(self) > LARGEST else None

    # -- structure ---------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Vertices:
        """Vertices that start blue, ascending."""
        return np.flatnonzero(self.operations == INPUT).astype(np.uint32)

    def operands(self, vertex: int) -> Vertices:
        """Return the predecessors of a vertex in slot order."""
        return self.predecessors[self.indptr[vertex] : self.indptr[vertex + 1]]

    def successors(self) -> tuple[Vertices, Vertices]:
        """Return the transposed CSR structure ``(start, successors)``; computed once."""
        return self._successors

    @cached_property
    def _successors(self) -> tuple[Vertices, Vertices]:
        from pebble import _arrays

        start, out = _arrays.successors(self.indptr, self.predecessors)
        return start, out

    @cached_property
    def order(self) -> Vertices:
        """A topological order: the vertices as numbered when the numbering already is one."""
        if self._ascending:
            return np.arange(len(self), dtype=np.uint32)
        from pebble import _arrays

        order: Vertices = _arrays.topological_order(self.indptr, *self.successors())
        return order

    @cached_property
    def needed(self) -> npt.NDArray[np.bool_]:
        """Mask of the vertices from which an output can be reached; no other need be touched."""
        from pebble import _arrays

        needed: npt.NDArray[np.bool_] = _arrays.reaches(
            self.indptr, self.predecessors, self.order, self.outputs
        )
        return needed

    @cached_property
    def max_in_degree(self) -> int:
        """Largest number of operands of a vertex."""
        chunk = 1 << 24
        return max(
            int(np.diff(self.indptr[s : s + chunk + 1]).max()) for s in range(0, len(self), chunk)
        )

    @cached_property
    def least_memory(self) -> int:
        """Least M that can pebble the DAG without sliding: largest needed in-degree plus one.

        0 when nothing has to be computed, because every output is an input.
        """
        return int((self.operands(self.widest).size + 1) if self.widest >= 0 else 0)

    @cached_property
    def widest(self) -> int:
        """A needed vertex with most operands, the one that forces `least_memory`; -1 if none."""
        from pebble import _arrays

        everything = self.outputs.size > 0 and self._all_needed
        needed = np.ones(1, np.bool_) if everything else self.needed
        return int(_arrays.widest(self.indptr, self.operations, needed, everything))

    @cached_property
    def _all_needed(self) -> bool:
        # With every sink an output, every computed vertex leads to one: no search is needed.
        return bool(np.array_equal(self.outputs, self._sinks()))

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of edges, operations and outputs, 16 hexadecimal digits."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.indptr, self.predecessors, self.operations, self.outputs):
            digest.update(array.size.to_bytes(8, "little"))
            digest.update(array.data)
        return digest.hexdigest()

    # -- names -------------------------------------------------------------------------------

    @cached_property
    def block_starts(self) -> npt.NDArray[np.int64]:
        """First vertex of each of `tensors`, ascending."""
        return np.array([tensor.base for tensor in self.tensors], dtype=np.int64)

    def owner(self, vertex: int) -> Tensor:
        """Return the tensor that a vertex belongs to."""
        return self.tensors[int(np.searchsorted(self.block_starts, vertex, side="right")) - 1]

    def name(self, vertex: int) -> str:
        """Return the name of a vertex, as ``S[2,3]``; its number where it has no name."""
        if self._names is not None:
            return self._names[vertex]
        tensor = self.owner(vertex)
        return str(vertex) if tensor.name == "vertex" else tensor.label(vertex)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names given one by one, or None where names come from tensors."""
        return self._names

    def vertex(self, name: str) -> int:
        """Return the vertex of a name or number.

        Raises
        ------
        InvalidMoveError
            If there is no such vertex.
        """
        if self._names is not None and name in self._by_name:
            return self._by_name[name]
        if name.isascii() and name.isdigit() and int(name) < len(self):
            return int(name)
        parts = split_name(name)
        named = self._by_tensor
        if parts is not None and parts[0] in named:
            try:
                return named[parts[0]].vertex(parts[1])
            except GraphError as error:
                raise InvalidMoveError(str(error)) from None
        known = list(named) or list(self._names or ())[:1000] or [f"0 to {len(self) - 1}"]
        raise InvalidMoveError(str(unknown("vertex", name, known)))

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {name: vertex for vertex, name in enumerate(self._names or ())}

    def tensor(self, name: str) -> Tensor:
        """Return the tensor or view of a name.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        if name not in self._by_tensor:
            raise unknown("tensor", name, self._by_tensor)
        return self._by_tensor[name]

    @cached_property
    def _by_tensor(self) -> dict[str, Tensor]:
        return {t.name: t for t in (*self.views, *self.tensors) if t.name != "vertex"}

    def describe(self, vertex: int) -> str:
        """Describe a vertex in one line.

        Examples
        --------
        >>> Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"]).describe(2)
        'z (vertex 2) = apply(x, y), output'
        """
        if not 0 <= vertex < len(self):
            last = len(self) - 1
            raise InvalidMoveError(f"there is no vertex {vertex}; vertices are 0 to {last}")
        name, operation = self.name(vertex), OPERATIONS[self.operations[vertex]]
        head = name if name == str(vertex) else f"{name} (vertex {vertex})"
        if operation.code == INPUT:
            body = f"{head}: input"
        else:
            body = f"{head} = {operation.name}({', '.join(map(self.name, self.operands(vertex)))})"
        i = int(np.searchsorted(self.outputs, vertex))
        is_output = i < self.outputs.size and int(self.outputs[i]) == vertex
        return f"{body}, output" if is_output else body

    # -- edges of the world --------------------------------------------------------------------

    @classmethod
    def from_predecessors(
        cls,
        predecessors: Sequence[Sequence[int]],
        outputs: Iterable[int] | None = None,
        names: Sequence[str] | None = None,
        operations: Sequence[int] | None = None,
        source: str = "",
    ) -> Dag:
        """Build a small DAG from one list of predecessors per vertex."""
        flat = [int(u) for row in predecessors for u in row]
        if any(not 0 <= u < MAX_VERTICES for u in flat):
            raise GraphError("predecessors must be vertex numbers from 0")
        indptr = np.cumsum([0, *(len(row) for row in predecessors)])
        chosen = list(outputs) if outputs is not None else None
        return cls(indptr, flat, operations, chosen, names=names, source=source)

    @classmethod
    def from_networkx(
        cls, graph: nx.DiGraph[Any], outputs: Iterable[Hashable] | None = None, source: str = ""
    ) -> Dag:
        """Build a DAG from a networkx digraph whose edges point from operand to result.

        Vertices are numbered in the order of ``graph.nodes``; their names are the nodes'. Node
        attributes ``operation`` (``mul``, ``add``, ...) and ``output`` (true or false) and edge
        attribute ``slot`` are read where present.

        Examples
        --------
        >>> import networkx as nx
        >>> Dag.from_networkx(nx.DiGraph([("x", "z"), ("y", "z")])).describe(1)
        'z (vertex 1) = apply(x, y), output'
        """
        from pebble.operations import NAMES

        if not graph.is_directed():
            raise GraphError("expected a directed graph whose edges point from operand to result")
        if graph.is_multigraph():
            raise GraphError("expected a DiGraph without parallel edges: predecessors are a set")
        number = {node: v for v, node in enumerate(graph.nodes)}
        rows, operations = [], []
        for node, data in graph.nodes(data=True):
            edges = [
                (slot.get("slot", i), number[u])
                for i, (u, _, slot) in enumerate(graph.in_edges(node, data=True))
            ]
            rows.append([u for _, u in sorted(edges)])
            default = "apply" if edges else "input"
            name = str(data.get("operation", default))
            if name not in NAMES:
                raise unknown("operation", name, NAMES)
            operations.append(NAMES[name])
        if outputs is None and any("output" in data for _, data in graph.nodes(data=True)):
            outputs = [node for node, data in graph.nodes(data=True) if data.get("output")]
        try:
            chosen = None if outputs is None else [number[node] for node in outputs]
        except KeyError as error:
            raise GraphError(f"output {error.args[0]!r} is no node of the graph") from None
        names = [str(node) for node in graph.nodes]
        return cls.from_predecessors(rows, chosen, names, operations, source)

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return a networkx digraph, edges from operand to result, for small DAGs.

        Node attributes: ``vertex``, ``operation``, ``output``; edge attribute: ``slot``.
        """
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        names, outputs = [self.name(v) for v in range(len(self))], set(self.outputs.tolist())
        for v, name in enumerate(names):
            operation = OPERATIONS[self.operations[v]].name
            graph.add_node(name, vertex=v, operation=operation, output=v in outputs)
        for v, name in enumerate(names):
            for slot, u in enumerate(self.operands(v)):
                graph.add_edge(names[u], name, slot=slot)
        return graph


def _names(given: Sequence[str], size: int) -> tuple[str, ...]:
    """Check names given one by one, and make them fit for the text form of moves."""
    names = [" ".join(str(name).split()) for name in given]
    if len(names) != size:
        raise GraphError(f"expected {size} names, got {len(names)}")
    if len(set(names)) < size:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise GraphError(f"two vertices are named {twice!r}: names must differ")
    for v, name in enumerate(names):
        if not name:
            raise GraphError(f"the name of vertex {v} is empty")
        if name.isascii() and name.isdigit() and name != str(v):
            names[v] = f"'{name}'"
    return tuple(names)
