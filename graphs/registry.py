"""Workloads: named families of DAGs with a text form, such as ``matmul:m=4,n=4,k=4``."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar

from pebble.spec import Registry, Spec

if TYPE_CHECKING:
    from graphs.expressions import Formula, Size
    from graphs.masks import Mask
    from pebble.dag import Dag, Vertices

__all__ = ["WORKLOADS", "FormulaWorkload", "GivenDag", "Workload", "workload", "workloads"]

#: Entry-point group through which other distributions add workloads.
ENTRY_POINTS = "redblue_pebble.workloads"


@dataclass(frozen=True)
class Workload(Spec):
    """A computation whose DAG can be pebbled.

    Attributes
    ----------
    summary : str
        One line for listings.
    reference : str
        Where the computation is defined.
    """

    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""

    def dag(self) -> Dag:
        """Build the DAG."""
        raise NotImplementedError

    def extent(self) -> tuple[int, int] | None:
        """Return the numbers of vertices and edges, or None where only the built DAG tells.

        Memory is planned by it before anything is built.
        """
        return None

    def formula(self, **sizes: Size) -> Formula | None:  # noqa: ARG002
        """Return the tensor expressions behind the DAG, or None where there are none."""
        return None

    def blocked_order(self, memory: int) -> Vertices | None:  # noqa: ARG002
        """Return an order of computation in blocks that fit into M, or None if none is known.

        The order lists every vertex that is no input, once and after its operands; strategies for
        any DAG play it as ``order=recursive``.
        """
        return None

    def pairs(self) -> Mask | None:
        """Return the mask that the workload is under, or None where nothing is left out."""
        return None

    def fingerprint(self) -> str:
        """Return a checksum of what the text form does not say, such as a file's content."""
        return ""

    def facts(self) -> dict[str, int]:
        """Return numbers that sizes do not give, as the scores that a mask keeps, by symbol."""
        return {}

    def sizes(self) -> dict[str, int]:
        """Return the integer parameters, such as ``{"n": 64, "d": 16}``."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, int)}

    def symbols(self) -> dict[str, Any]:
        """Return a positive integer sympy symbol for every size."""
        import sympy

        return {name: sympy.Symbol(name, positive=True, integer=True) for name in self.sizes()}


class FormulaWorkload(Workload):
    """A workload that is written as tensor expressions in its method `define`."""

    def define(self, g: Formula, **sizes: Size) -> None:
        """Write the formula into ``g``, with integer sizes or symbols."""
        raise NotImplementedError

    def formula(self, **sizes: Size) -> Formula:
        """Return the formula, at the workload's own sizes or at others, symbols included."""
        from graphs.expressions import Formula

        g = Formula(getattr(self, "sum", "chain"))
        self.define(g, **{**self.sizes(), **sizes})
        return g

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        from graphs.layout import extent

        return extent(self.formula())

    def dag(self) -> Dag:
        """Build the DAG."""
        return self.formula().dag(str(self))


class GivenDag(Workload):
    """A DAG that somebody brought: built by hand, by networkx, or read from a file.

    Examples
    --------
    >>> from pebble import Dag
    >>> str(GivenDag(Dag.from_predecessors([[], [0]]), "path.json"))
    'path.json'
    """

    name: ClassVar[str] = "graph"
    summary: ClassVar[str] = "a DAG of your own"

    def __init__(self, dag: Dag, text: str = "") -> None:
        object.__setattr__(self, "_dag", dag)
        object.__setattr__(self, "_text", text or dag.source or "graph")

    def __str__(self) -> str:
        return str(self.__dict__["_text"])

    def dag(self) -> Dag:
        """Return the DAG."""
        dag: Dag = self.__dict__["_dag"]
        return dag

    def extent(self) -> tuple[int, int]:
        """Return the numbers of vertices and edges."""
        return len(self.dag()), int(self.dag().predecessors.size)

    def fingerprint(self) -> str:
        """Return the DAG's checksum: its name says nothing about it."""
        return self.dag().fingerprint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GivenDag) and self.dag() is other.dag()

    def __hash__(self) -> int:
        return hash((str(self), id(self.dag())))


WORKLOADS: Registry[Workload] = Registry("workload")


def _discover() -> None:
    """Import every module of this package, and of the entry points: they register themselves."""
    import graphs

    for module in pkgutil.iter_modules(graphs.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"graphs.{module.name}")
    for point in entry_points(group=ENTRY_POINTS):
        point.load()


def workloads() -> list[type[Workload]]:
    """Return every registered workload class, sorted by name."""
    _discover()
    return WORKLOADS.classes()


def _known(name: str) -> bool:
    _discover()
    return WORKLOADS.known(name)


def workload(text: str) -> Workload:
    """Read a workload's text form, or the graph file of that name.

    Parameters
    ----------
    text : str
        ``NAME:key=value,...`` or the path of a graph file (a text that ends like one of the
        formats of `graphs.files`).

    Raises
    ------
    UnknownNameError
        If nothing of that name is registered and no such file exists.
    SpecError, GraphError
        If the parameters or the file do not read.

    Examples
    --------
    >>> w = workload("pyramid:h=4")
    >>> str(w), len(w.dag())
    ('pyramid:h=4', 15)
    """
    from graphs.files import is_graph_file, read_graph

    name, colon, _ = text.partition(":")
    # A mask's file may stand last in a workload's text: mask=kept.npz.
    if is_graph_file(text) and not (colon and _known(name)):
        return GivenDag(read_graph(text), text)
    _discover()
    return WORKLOADS.read(text)
