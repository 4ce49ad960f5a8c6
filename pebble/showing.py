"""What notebooks show of a DAG, a position, a report: SVG and HTML, each complete in itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pebble.dag import Dag

__all__ = ["LARGEST", "svg", "table", "tensor_table"]

#: Vertices of the largest graph that is drawn.
LARGEST = 150

#: Okabe and Ito's vermilion and blue, told apart with every kind of colour vision.
_RED, _BLUE, _INK, _EDGE, _GREY = "#d55e00", "#0072b2", "#1d2430", "#a9adb5", "#767d88"
_STEP, _RADIUS, _HALF = 64.0, 17.0, 24.0


def svg(dag: Dag, red: Collection[int] = (), blue: Collection[int] | None = None) -> str | None:
    """Draw a small DAG with its pebbles; None where it has more than `LARGEST` vertices.

    Parameters
    ----------
    dag : Dag
        The graph.
    red, blue : collection of int
        Vertices in fast and in slow memory; by default none, and the inputs.

    Returns
    -------
    str or None
        An ``<svg>`` element that needs nothing else: a square plate is a blue pebble, a disc a red
        one, a dashed plate an output that is not blue yet.

    Examples
    --------
    >>> from pebble import Dag
    >>> picture = svg(Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"]), red=[0])
    >>> picture.count("<circle"), picture.startswith("<svg "), picture.endswith("</svg>")
    (3, True, True)
    """
    if len(dag) > LARGEST:
        return None
    from pebble.drawing import draw

    drawing = draw(dag)
    blue = set(dag.inputs.tolist()) if blue is None else blue
    stops = [p for _, _, between in drawing.edges for p in between]
    xs, ys = zip(*drawing.places, *stops, strict=True)
    margin = _HALF + 8
    left, top = min(xs), max(ys)
    width = 2 * margin + (max(xs) - left) * _STEP
    height = 2 * margin + (top - min(ys)) * _STEP

    def at(place: tuple[float, float]) -> str:
        return f"{margin + (place[0] - left) * _STEP:.1f},{margin + (top - place[1]) * _STEP:.1f}"

    parts = [f'<rect width="{width:.1f}" height="{height:.1f}" rx="8" fill="#ffffff"/>']
    parts += [
        f'<polyline points="{" ".join(map(at, [drawing.places[u], *between, drawing.places[v]]))}" '
        f'fill="none" stroke="{_EDGE}" stroke-width="1.4"/>'
        for u, v, between in drawing.edges
    ]
    outputs = set(dag.outputs.tolist())
    for v, place in enumerate(drawing.places):
        x, y = at(place).split(",")
        is_red, is_blue = v in red, v in blue
        shapes = f"<title>{escape(dag.describe(v))}</title>"
        if is_blue or v in outputs:
            shapes += (
                f'<rect x="{-_HALF}" y="{-_HALF}" width="{2 * _HALF}" height="{2 * _HALF}" rx="7" '
                f'fill="{_BLUE if is_blue else "none"}" stroke="{_BLUE}" stroke-width="1.6" '
                f'stroke-dasharray="{"none" if is_blue else "4 3"}"/>'
            )
        shapes += (
            f'<circle r="{_RADIUS}" fill="{_RED if is_red else "#ffffff"}" '
            f'stroke="{"#ffffff" if is_red else _GREY}" stroke-width="1.6"/>'
            f'<text text-anchor="middle" dominant-baseline="central" font-size="12" '
            f'font-family="sans-serif" fill="{"#ffffff" if is_red else _INK}">'
            f"{escape(drawing.labels[v])}</text>"
        )
        parts.append(f'<g transform="translate({x} {y})">{shapes}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" style="max-width: 100%; height: auto" role="img" '
        f'aria-label="{escape(repr(dag))}">{"".join(parts)}</svg>'
    )


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", foot: str = ""
) -> str:
    """Return an HTML table; whole numbers are grouped and stand on the right.

    Examples
    --------
    >>> table(["tensor", "loads"], [["A<B", 1200]])[-76:-25]
    'ft">A&lt;B</td><td style="text-align: right">1,200<'
    """
    lines = [list(row) for row in rows]
    numeric = [
        all(isinstance(row[i], int | float) or row[i] is None for row in lines)
        for i in range(len(head))
    ]

    def cell(tag: str, value: object, *, right: bool) -> str:
        side = "right" if right else "left"
        return f'<{tag} style="text-align: {side}">{escape(_text(value))}</{tag}>'

    def line(tag: str, cells: Sequence[object]) -> str:
        columns = zip(cells, numeric, strict=True)
        return f"<tr>{''.join(cell(tag, value, right=right) for value, right in columns)}</tr>"

    body = "".join(line("td", row) for row in lines)
    title = (
        f"<caption style='white-space: nowrap; text-align: left'>{escape(caption)}</caption>"
        if caption
        else ""
    )
    under = f"<p>{escape(foot)}</p>" if foot else ""
    return f"<table>{title}<thead>{line('th', head)}</thead><tbody>{body}</tbody></table>{under}"


def tensor_table(dag: Dag) -> str:
    """Return a table of the tensors of a DAG: what is shown of one too large to draw."""
    rows = [
        [tensor.name, " × ".join(map(str, tensor.shape)) or "1", len(tensor)]
        for tensor in dag.tensors[:60]
    ]
    more = len(dag.tensors) - len(rows)
    foot = f"{more:,} more tensors" if more > 0 else ""
    return table(["tensor", "shape", "vertices"], rows, caption=repr(dag).strip("<>"), foot=foot)


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
