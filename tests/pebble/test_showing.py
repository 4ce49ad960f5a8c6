"""What notebooks show: well-formed, complete, and nothing that a name could break out of."""

import re
import xml.etree.ElementTree as ET

import pytest

from graphs.registry import workload
from pebble.dag import Dag
from pebble.game import Game
from pebble.report import Report
from pebble.rules import Rules

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text):
    return ET.fromstring(text)  # noqa: S314 (our own text)


def pyramid():
    return workload("pyramid:h=2").dag()


def test_a_small_dag_is_drawn():
    root = parsed(pyramid()._repr_svg_())
    assert len(root.findall(f".//{SVG}circle")) == 6
    assert len(root.findall(f".//{SVG}polyline")) == 6
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert "row2[0] (vertex 5) = apply(row1[0], row1[1]), output" in titles
    assert pyramid()._repr_html_() is None


def test_a_game_shows_its_pebbles():
    game = Game(pyramid(), 4)
    for move in ("L 0", "L 1", "C 3"):
        game.push(move)
    html = game._repr_html_()
    root = parsed(html[html.index("<svg") :])
    fills = [circle.get("fill") for circle in root.iter(f"{SVG}circle")]
    red = [v for v, fill in enumerate(fills) if fill != "#ffffff"]
    assert red == [0, 1, 3]
    plates = [rect for rect in root.iter(f"{SVG}rect") if rect.get("stroke")]
    assert len(plates) == 4  # three inputs, and dashed the output
    assert [p.get("fill") for p in plates].count("none") == 1
    assert "2 loads, 0 stores" in html


def test_a_large_dag_is_summed_up():
    dag = workload("attention-forward:n=16,d=4").dag()
    assert dag._repr_svg_() is None
    assert "<td" in dag._repr_html_()
    assert "16 × 4" in dag._repr_html_()
    assert "<pre>" in Game(dag, 99)._repr_html_()


def test_a_report_is_a_table():
    report = Report("w", "s", 3, Rules(), 1200, 1, 1, 0, 3, 6, {"Q": (1200, 0), "O": (0, 1)})
    html = report._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    assert cells[:4] == ["Q", "1,200", "0", "1,200"]
    assert cells[-4:] == ["all", "1,200", "1", "1,201"]
    assert "peak red 3" in html


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>', "a&b"])
def test_names_cannot_break_out(name):
    dag = Dag.from_predecessors([[], [0]], names=[name, "y"], source=name)
    game = Game(dag, 2)
    for html in (dag._repr_svg_(), game._repr_html_()):
        assert name not in html
        parsed(html[html.index("<svg") :])
    assert name not in Report(name, name, 3, Rules(), 0, 0, 0, 0, 0, 0)._repr_html_()
