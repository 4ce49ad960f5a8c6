"""Tensors found again in the names of a graph's vertices: ``S[0,0]``, ``S[0,1]``, ... are S."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from pebble.dag import Dag
from pebble.tensor import Tensor, contiguous, split_name

__all__ = ["with_tensors"]


def with_tensors(dag: Dag, tensors: Sequence[Tensor] = (), views: Sequence[Tensor] = ()) -> Dag:
    """Return a graph whose names come from tensors, where they say the same as its own names.

    Without ``tensors`` these are read from the names: each run of vertices whose names differ in
    their index alone must be a full block in row-major order. Where one is not, or has no index,
    the graph is returned as it is.
    """
    names = dag.names
    if names is None:
        return dag
    found = tuple(tensors) or _tensors(names)
    if not found or not _fit(found, names):
        return dag
    size = len(dag)
    inside = [
        view
        for view in views
        if view.base + sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True))
        < size
    ]
    return Dag(
        dag.indptr,
        dag.predecessors,
        dag.operations,
        dag.outputs,
        tensors=found,
        views=inside,
        source=dag.source,
    )


def _tensors(names: Sequence[str]) -> tuple[Tensor, ...]:
    """Return the tensors that names speak of; none if some name has no index."""
    split = [split_name(name) for name in names]
    if not all(part is not None and part[1] for part in split):
        return ()
    found = []
    base = 0
    for name, run in groupby([part for part in split if part is not None], lambda part: part[0]):
        indices = [index for _, index in run]
        first, last = indices[0], indices[-1]
        if len(first) != len(last) or any(b < a for a, b in zip(first, last, strict=True)):
            return ()
        shape = tuple(b - a + 1 for a, b in zip(first, last, strict=True))
        found.append(contiguous(name, base, shape, first))
        base += len(indices)
    return tuple(found)


def _fit(tensors: Sequence[Tensor], names: Sequence[str]) -> bool:
    """Whether tensors follow each other, are named once, and give every vertex its name."""
    base = 0
    for tensor in tensors:
        if tensor.base != base or not len(tensor):
            return False
        base += len(tensor)
        if base > len(names):
            return False
    if base != len(names) or len({tensor.name for tensor in tensors}) < len(tensors):
        return False
    return all(
        tensor.label(v) == names[v]
        for tensor in tensors
        for v in range(tensor.base, tensor.base + len(tensor))
    )
