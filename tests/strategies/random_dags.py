"""Random DAGs for hypothesis: a few inputs, then vertices with up to three operands."""

from __future__ import annotations

from hypothesis import strategies as st

from pebble.dag import Dag


@st.composite
def random_dags(draw: st.DrawFn, most: int = 24) -> Dag:
    """Draw a DAG with up to ``most`` vertices; some operations may lead to no output."""
    inputs = draw(st.integers(1, 4))
    rows: list[list[int]] = [[] for _ in range(inputs)]
    for v in range(inputs, draw(st.integers(inputs + 1, most))):
        near = st.integers(max(0, v - 8), v - 1)
        rows.append(draw(st.lists(near, min_size=1, max_size=3, unique=True)))
    outputs = None
    if draw(st.booleans()):
        operations = st.integers(inputs, len(rows) - 1)
        outputs = draw(st.lists(operations, min_size=1, max_size=4, unique=True))
    return Dag.from_predecessors(rows, outputs)
