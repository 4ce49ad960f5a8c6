"""A position as text: a drawing of a small graph, a list of a middling one, a table of a large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from pebble.legality import broken_rule
from pebble.moves import COMPUTE

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.drawing import Drawing
    from pebble.game import Game

__all__ = ["LEGEND", "Board", "can_be_computed", "handles"]

#: What the signs of a board mean.
LEGEND = "(x) red: fast memory   [x] blue: slow memory   [(x)] both   :x: must become blue"

#: Vertices of the largest board that is drawn, and of the largest that is listed.
_DRAWN, _LISTED = 80, 40
#: Tensors that the table of a large board names.
_ROWS = 24
#: Rows of text between two layers.
_GAP = 3
#: Dots of a braille character, by column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

Paint = Callable[[str, str], str]


def handles(dag: Dag) -> list[str]:
    """Return a short text for each vertex: its label where that is its own, else its number.

    Examples
    --------
    >>> from graphs import workload
    >>> handles(workload("matmul:m=1,n=1,k=2").dag())
    ['A00', 'A01', 'B00', 'B10', '4', '5', 'C00']
    """
    from pebble.drawing import short_names

    if len(dag) > _DRAWN:
        return [str(v) for v in range(len(dag))]
    labels = [label.translate(_DIGITS) for label in short_names(dag)]
    seen = Counter(labels)
    return [
        label if seen[label] == 1 and label.isprintable() and not label.isdigit() else str(v)
        for v, label in enumerate(label.removeprefix("#") for label in labels)
    ]


def can_be_computed(game: Game, most: int = 12) -> list[int]:
    """Return vertices that have their operands and are not red, lowest first, at most some.

    Room is not asked for: a full memory is another matter. Empty on graphs too large to look
    through after each move.
    """
    if len(game.dag) > 100 * _DRAWN:
        return []
    found = []
    for v in range(len(game.dag)):
        fresh = not game.is_blue(v) or not game.rules.one_shot
        if fresh and broken_rule(game, COMPUTE, v) in ("", "budget") and not game.is_red(v):
            found.append(v)
            if len(found) == most:
                break
    return found


class Board:
    r"""Draws the positions of games on one graph.

    Parameters
    ----------
    dag : Dag
        The graph.
    width : int
        Columns of the terminal.
    unicode : bool
        Whether lines may be drawn with braille dots; plain characters otherwise.
    paint : callable, optional
        Given a kind (``red``, ``blue``, ``both``, ``goal``, ``none``, ``edge``) and a text, returns
        the text with the colour of the kind.

    Examples
    --------
    >>> from graphs import workload
    >>> from pebble import Game
    >>> game = Game(workload("pyramid:h=1").dag(), 3)
    >>> game.push("L 0")
    >>> print(Board(game.dag, unicode=False).text(game))
         :1.0:
          / \
         /   \
        /     \
     [(a)]    [b]
    """

    def __init__(
        self, dag: Dag, width: int = 80, *, unicode: bool = True, paint: Paint | None = None
    ) -> None:
        self.dag, self.width, self.unicode = dag, width, unicode
        self.paint = paint or (lambda _, text: text)
        self.handles = handles(dag)
        self.outputs = set(dag.outputs.tolist())
        self._drawn = self._draw() if len(dag) <= _DRAWN else None

    @property
    def is_drawn(self) -> bool:
        """Whether the graph is drawn, because it is small and fits into the width."""
        return self._drawn is not None

    def text(self, game: Game) -> str:
        """Return a position as text."""
        if self._drawn is not None:
            return self._picture(game)
        if len(self.dag) <= _LISTED:
            return "\n".join(self.line(game, v) for v in range(len(self.dag)))
        return self._table(game)

    # -- signs -----------------------------------------------------------------------------------

    def kind(self, game: Game, v: int) -> str:
        """Return what a vertex carries: ``red``, ``blue``, ``both``, ``goal`` or ``none``."""
        red, blue = game.is_red(v), game.is_blue(v)
        if red and blue:
            return "both"
        return "red" if red else "blue" if blue else "goal" if v in self.outputs else "none"

    def sign(self, game: Game, v: int, text: str | None = None) -> str:
        """Return a vertex with its pebbles: round brackets for red, square ones for blue."""
        text = self.handles[v] if text is None else text
        if game.is_red(v):
            text = f"({text})"
        if game.is_blue(v):
            return f"[{text}]"
        return f":{text}:" if v in self.outputs and not game.rules.unstored_outputs else text

    def line(self, game: Game, v: int) -> str:
        """Return one vertex with its pebbles and what it is computed from."""
        sign = self.sign(game, v)
        return f"{self.paint(self.kind(game, v), f'{sign:>10}')}  {self.dag.describe(v)}"

    # -- a drawing -------------------------------------------------------------------------------

    def _draw(self) -> tuple[list[tuple[int, int]], list[list[str]]] | None:
        """Place the vertices and draw the edges; None where that would be too wide."""
        from pebble.drawing import draw

        drawing = draw(self.dag)
        wide = [len(handle) + 4 for handle in self.handles]
        layers: dict[float, list[int]] = {}
        for v, (_, y) in enumerate(drawing.places):
            layers.setdefault(y, []).append(v)
        scale = 8.0
        for layer in layers.values():
            layer.sort(key=lambda v: drawing.places[v])
            for u, v in pairwise(layer):
                apart = drawing.places[v][0] - drawing.places[u][0]
                scale = max(scale, ((wide[u] + wide[v]) / 2 + 1) / apart)
        edge = max(wide) // 2
        stops = [place for _, _, between in drawing.edges for place in between]
        right = max(x for x, _ in (*drawing.places, *stops))
        if right * scale + 2 * edge + 1 > self.width:
            return None
        top = max(y for _, y in drawing.places)
        rows = round(top * (_GAP + 1)) + 1

        def at(place: tuple[float, float]) -> tuple[int, int]:
            return edge + round(place[0] * scale), round((top - place[1]) * (_GAP + 1))

        columns = edge + round(right * scale) + edge + 1
        return [at(place) for place in drawing.places], self._edges(drawing, at, columns, rows)

    def _edges(
        self,
        drawing: Drawing,
        at: Callable[[tuple[float, float]], tuple[int, int]],
        columns: int,
        rows: int,
    ) -> list[list[str]]:
        dots = [[0] * columns for _ in range(rows)]
        plain = [[" "] * columns for _ in range(rows)]
        for u, v, between in drawing.edges:
            stops = [at(p) for p in (drawing.places[u], *between, drawing.places[v])]
            for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(stops)):
                # Lines leave and enter a vertex below and above its text, not through it.
                start = y0 - (0.5 if k == 0 else 0)
                end = y1 + (0.5 if k == len(stops) - 2 else 0)
                count = 4 * max(abs(x1 - x0), abs(y1 - y0), 1)
                for i in range(count + 1):
                    x = x0 + (x1 - x0) * i / count + 0.5
                    y = start + (end - start) * i / count + 0.5
                    row = min(int(y), rows - 1)
                    dots[row][int(x)] |= _DOTS[int(2 * x) % 2][int(4 * y) % 4]
                for row in range(y1 + (k == len(stops) - 2), y0 + (k > 0)):
                    middle = x0 + (x1 - x0) * (row - start) / (end - start)
                    half = abs(x1 - x0) / (2 * abs(end - start))
                    wide = int(half) if half > 1 else 0
                    centre = int(middle + 0.5)
                    for column in range(max(centre - wide, 0), min(centre + wide + 1, columns)):
                        plain[row][column] = _character(x1 - x0, y1 - y0)
        if not self.unicode:
            return plain
        return [[chr(0x2800 + dot) if dot else " " for dot in row] for row in dots]

    def _picture(self, game: Game) -> str:
        assert self._drawn is not None
        places, edges = self._drawn
        rows: list[list[tuple[int, str, str]]] = [[] for _ in edges]
        for v, (x, y) in enumerate(places):
            sign = self.sign(game, v)
            rows[y].append((x - len(sign) // 2, sign, self.kind(game, v)))
        lines = []
        for signs, row in zip(rows, edges, strict=True):
            line, column = "", 0
            for start, sign, kind in sorted(signs):
                line += self._ink(row[column:start]) + self.paint(kind, sign)
                column = start + len(sign)
            lines.append(line + self._ink(row[column:], last=True))
        return "\n".join(lines)

    def _ink(self, characters: list[str], *, last: bool = False) -> str:
        text = "".join(characters)
        if last:
            text = text.rstrip()
        return self.paint("edge", text) if text.strip() else text

    # -- a table ---------------------------------------------------------------------------------

    def _table(self, game: Game) -> str:
        """Sum up a large board: tensors with their pebbles, and the red vertices by name."""
        dag = self.dag
        red = Counter(dag.owner(v).name for v in game.red)
        blue = Counter(dag.owner(v).name for v in game.blue)
        sizes: Counter[str] = Counter()
        for tensor in dag.tensors:
            sizes[tensor.name] += len(tensor)
        wide = max([len(name) for name in sizes] + [6])
        lines = [f"{'tensor':{wide}} {'vertices':>9} {'blue':>9} {'red':>7}"]
        shown = [name for name in sizes if red[name] or blue[name]]
        shown = (shown + [name for name in sizes if name not in shown])[:_ROWS]
        for name in sizes:
            if name not in shown:
                continue
            size = sizes[name]
            counts = f"{name:{wide}} {size:>9,} {blue[name]:>9,} {red[name]:>7,}"
            lines.append(self.paint("red" if red[name] else "none", counts))
        if len(sizes) > len(shown):
            lines.append(f"... {len(sizes) - len(shown):,} more tensors")
        names = [self.dag.name(v) for v in list(game.red)[:12]]
        more = f" and {game.red_count - 12} more" if game.red_count > 12 else ""
        lines.append(f"red: {', '.join(names) or 'none'}{more}")
        return "\n".join(lines)


def _character(dx: int, dy: int) -> str:
    if dx == 0:
        return "|"
    if abs(dx) > 2 * abs(dy):
        return "-"
    return "\\" if dx * dy > 0 else "/"
