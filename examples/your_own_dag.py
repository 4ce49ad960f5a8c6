"""A DAG of your own: build it with networkx, play it under several strategies, check a play.

The graph is a stencil: each cell of a row is computed from the three above it, as in an explicit
scheme for the heat equation.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx

from lab import check, play, sweep
from pebble import Dag
from pebble.errors import IllegalMoveError

STEPS, CELLS = 8, 24


def stencil(steps: int, cells: int) -> Dag:
    """Return the DAG; edges point from operand to result."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for t in range(1, steps + 1):
        for x in range(cells):
            for y in range(max(x - 1, 0), min(x + 2, cells)):
                graph.add_edge(f"u[{t - 1},{y}]", f"u[{t},{x}]")
    return Dag.from_networkx(graph, source=f"stencil of {steps} steps on {cells} cells")


def main() -> None:
    """Play, compare, check."""
    dag = stencil(STEPS, CELLS)
    print(dag)

    # Every strategy under every M; the referee judges each move.
    results = sweep(dag, "naive,lru,belady", "4:32:x2")
    print(f"inputs + outputs: {results[0].compulsory}")
    for memory in results.memories:
        counts = [f"{row.strategy} {row.io}" for row in results.where(memory=memory)]
        print(f"M = {memory:2}: I/O of {', '.join(counts)}")

    # A play kept in a file, and judged again: as it is, and with a pebble fewer.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "play.txt"
        play(dag, "belady", 8, trace=path)
        print(f"the trace is legal and moves {check(path, dag).io}")
        try:
            check(path, dag, memory=7)
        except IllegalMoveError as error:
            print(f"under M = 7: {error}")


if __name__ == "__main__":
    main()
