"""Drawings: no two vertices on one place, few crossings, the classics as one knows them."""

import pytest

from graphs.registry import workload
from lab.page.levels import lessons
from pebble.drawing import draw


@pytest.mark.parametrize("level", lessons(), ids=lambda level: level.name)
def test_vertices_keep_their_distance(level):
    places = draw(level.dag, level.positions).places
    for i, (x, y) in enumerate(places):
        assert all(abs(x - a) + abs(y - b) > 0.79 for a, b in places[:i])


@pytest.mark.parametrize(
    ("text", "crossings"),
    [("pyramid:h=5", 0), ("tree:depth=4", 0), ("grid:rows=4,columns=5", 0), ("fft:n=4", 10)],
)
def test_crossings(text, crossings):
    # The butterfly on 4 points: two small crosses, then 0-2 meets 3 edges, 1-3 three, 2-0 and 3-1
    # one more each.
    assert draw(workload(text).dag()).crossings == crossings


def test_edges_point_up():
    drawing = draw(workload("attention-forward:n=2,d=2").dag())
    for u, v, between in drawing.edges:
        heights = [p[1] for p in (drawing.places[u], *between, drawing.places[v])]
        assert heights == sorted(heights)
        assert heights[-1] - heights[0] == len(between) + 1
