"""Levels of the teaching page: a small DAG, M, rules, a text and a par, read from JSON files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pebble.errors import GraphError, IllegalMoveError, PebbleError, SpecError, unknown
from pebble.moves import Move, pack
from pebble.rules import Rules

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.dag import Dag
    from pebble.moves import Moves

__all__ = ["FORMAT", "LARGEST", "Level", "find_level", "lesson_graph"]
__all__ += ["lessons", "level_of", "playable", "read_level"]
__all__ += ["split_moves"]

FORMAT = "pebble-level 1"
#: Vertices of the largest board: beyond that, neither finger nor eye finds one.
LARGEST = 150

_LESSONS = Path(__file__).parent / "lessons"
_TEXTS = ("name", "title", "goal", "insight", "workload", "rules")
_KEYS = {*_TEXTS, "format", "text", "edges", "outputs", "memory", "par", "certificate"}
_KEYS |= {"strategies", "hints", "positions"}


@dataclass(frozen=True)
class Level:
    """One level of the game.

    Attributes
    ----------
    name, title, goal : str
        What ``--level`` takes; a heading; one sentence to do.
    workload : Workload
        What to pebble.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions to play by.
    text : tuple of str
        Paragraphs shown before the play; words between ``**`` are set bold.
    insight : str
        What the level taught, shown when it is finished.
    par : int or None
        The least I/O; None where nobody has worked it out.
    certificate : tuple of str
        Moves that reach par.
    strategies : tuple of str
        Strategies whose plays the page can show.
    hints : tuple of str
        Said before any computed hint.
    positions : dict
        Places of vertices by name, where the drawing should not choose them.

    Examples
    --------
    >>> level = find_level("pyramid")
    >>> level.memory, level.par, len(level.dag)
    (4, 7, 10)
    """

    name: str
    title: str
    goal: str
    workload: Workload
    memory: int
    rules: Rules = field(default_factory=Rules)
    text: tuple[str, ...] = ()
    insight: str = ""
    par: int | None = None
    certificate: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def dag(self) -> Dag:
        """The graph of the board."""
        return self.workload.dag()

    @cached_property
    def lower_bound(self) -> int:
        """I/O that every play needs: each needed input loaded, each output stored."""
        from lab.yardsticks import compulsory_of

        dag, rules = self.dag, self.rules
        stores = int(np.setdiff1d(dag.outputs, dag.inputs).size)
        loads = 0 if rules.free_inputs else compulsory_of(dag) - stores
        return loads + (0 if rules.unstored_outputs else stores)

    def moves(self) -> Moves:
        """Return the certificate, packed."""
        moves = [Move.parse(text, self.dag) for text in self.certificate]
        packed = [pack(move.kind, [move.vertex]) for move in moves]
        return np.concatenate(packed) if packed else np.empty(0, np.uint32)

    def stars(self, io: int) -> int:
        """Return 3 for par, 2 for at most a quarter more, 1 for any finished play.

        Examples
        --------
        >>> [find_level("pyramid").stars(io) for io in (7, 8, 20)]
        [3, 2, 1]
        """
        if self.par is None:
            return 1
        return 3 if io <= self.par else 2 if 4 * io <= 5 * self.par else 1


def lessons() -> list[Level]:
    """Return the levels of the course, in their order.

    Examples
    --------
    >>> lessons()[0].name
    'first-steps'
    """
    return [read_level(path) for path in sorted(_LESSONS.glob("*.json"))]


def find_level(text: str) -> Level:
    """Return the lesson of a name or number, or the level in a file.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    if Path(text).suffix == ".json":
        return read_level(Path(text))
    paths = sorted(_LESSONS.glob("*.json"))
    names = [_name_of(path) for path in paths]
    if text.isascii() and text.isdigit() and 0 < int(text) <= len(paths):
        return read_level(paths[int(text) - 1])
    if text not in names:
        raise unknown("level", text, [*names, "a file that ends in .json"])
    return read_level(paths[names.index(text)])


def lesson_graph(text: str) -> Dag:
    """Return the graph of a lesson of the course."""
    return find_level(Path(text).stem).dag


def _name_of(path: Path) -> str:
    """Return ``pyramid`` for ``05-pyramid.json``."""
    number, dash, name = path.stem.partition("-")
    return name if dash and number.isdigit() else path.stem


def read_level(path: Path) -> Level:
    """Read a level file.

    Raises
    ------
    SpecError, GraphError, BudgetError
        If the file is missing or malformed, its graph is cyclic or too large to draw, or M is too
        small; the message names the file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file") from None
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise SpecError(f"{path}: is no JSON: {error}") from None
    try:
        return _level(data, path)
    except PebbleError as error:
        raise type(error)(f"{path}: {error}") from None


def level_of(
    workload: Workload, memory: int, rules: Rules | None = None, *, title: str = ""
) -> Level:
    """Make a level of a workload, with the built-in strategies that can play it to watch.

    Raises
    ------
    GraphError
        If the DAG is too large to draw.
    BudgetError
        If M is too small.
    """
    from strategies.registry import strategies

    rules = rules if rules is not None else Rules()
    dag = _checked(workload, memory, rules)
    names = []
    for cls in strategies():
        try:
            cls().require(workload, memory)
        except (PebbleError, TypeError):  # it cannot play this, or has no defaults
            continue
        if not (rules.one_shot and cls().under(rules).recomputes(workload)):
            names.append(str(cls()))
    what = "output" if dag.outputs.size == 1 else "outputs"
    return Level(
        name=str(workload),
        title=title or str(workload),
        goal=f"Make the {dag.outputs.size} {what} blue with {memory} red pebbles.",
        workload=workload,
        memory=memory,
        rules=rules,
        strategies=tuple(names),
    )


def playable(workload: Workload, memory: int, rules: Rules) -> list[str]:
    """Return the built-in strategies that play a workload at once, without a search.

    Examples
    --------
    >>> from graphs import workload
    >>> playable(workload("pyramid:h=2"), 4, Rules())
    ['belady', 'clean-first', 'cost-aware', 'lru', 'naive']
    """
    from strategies.registry import strategies

    names = []
    for cls in strategies():
        try:
            strategy = cls()
            strategy.require(workload, memory)
        except (PebbleError, TypeError):  # it cannot play this, or has no defaults
            continue
        if hasattr(strategy, "time") or hasattr(strategy, "seed"):
            continue  # a search
        if not (rules.one_shot and strategy.recomputes(workload)):
            names.append(str(strategy))
    return names


# -- reading ---------------------------------------------------------------------------------


def _level(data: Any, path: Path) -> Level:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        came = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise SpecError(f'expected "format": "{FORMAT}", got {came!r}')
    for key in data:
        if key not in _KEYS:
            raise unknown("key", key, _KEYS)
    for key in _TEXTS:
        if not isinstance(data.get(key, ""), str):
            raise SpecError(f'"{key}" must be a text, got {data[key]!r}')
    for key in ("memory", "par"):
        if type(data.get(key, 0)) is not int:
            raise SpecError(f'"{key}" must be a whole number, got {data[key]!r}')
    if "memory" not in data:
        raise SpecError('"memory" is missing: the number of red pebbles')
    rules = Rules.parse(data.get("rules", "hk"))
    workload = _workload(data, path)
    dag = _checked(workload, data["memory"], rules)
    name: str = data.get("name", _name_of(path))
    level = Level(
        name=name,
        title=data.get("title", name),
        goal=data.get("goal", "Make every output blue."),
        workload=workload,
        memory=data["memory"],
        rules=rules,
        text=_texts(data, "text"),
        insight=data.get("insight", ""),
        par=data.get("par"),
        certificate=tuple(m for text in _texts(data, "certificate") for m in split_moves(text)),
        strategies=_texts(data, "strategies"),
        hints=_texts(data, "hints"),
        positions=_positions(data, dag),
    )
    _check_certificate(level)
    return level


def _workload(data: dict[str, Any], path: Path) -> Workload:
    from graphs.files import is_graph_file
    from graphs.registry import GivenDag
    from graphs.registry import workload as read

    if ("workload" in data) == ("edges" in data):
        raise SpecError('expected either "workload" (a text form or a graph file) or "edges"')
    if "workload" in data:
        text = data["workload"]
        # A graph file lies beside the level file that names it.
        return read(str(path.parent / text) if is_graph_file(text) else text)
    name = _name_of(path)
    own = path.parent.resolve() == _LESSONS.resolve()
    # Traces of the course's lessons name a workload that every command can build.
    source = f"lesson:level={name}" if own else name
    return GivenDag(_graph(data, source), source)


def _graph(data: dict[str, Any], source: str) -> Dag:
    """Build the graph of ``"edges": ["x y -> z"]``: operands, an arrow, the result."""
    from pebble.dag import Dag

    operands: dict[str, list[str]] = {}
    for line in _texts(data, "edges"):
        sources, arrow, target = line.partition("->")
        if not arrow or not sources.split() or len(target.split()) != 1:
            raise GraphError(f'edge {line!r}: expected operands, an arrow and a result: "x y -> z"')
        for operand in sources.split():
            operands.setdefault(operand, [])
        operands.setdefault(target.strip(), []).extend(sources.split())
    # Inputs first, then in the order written: numbers that a reader can follow.
    names = sorted(operands, key=lambda v: bool(operands[v]))
    number = {v: i for i, v in enumerate(names)}
    outputs = _texts(data, "outputs") or None
    for v in outputs or ():
        if v not in number:
            raise unknown("output", v, names)
    return Dag.from_predecessors(
        [[number[u] for u in operands[v]] for v in names],
        None if outputs is None else [number[v] for v in outputs],
        names,
        source=source,
    )


def _checked(workload: Workload, memory: int, rules: Rules) -> Dag:
    if rules.partial:
        raise SpecError(
            f"the board does not know partial computation (rules {rules}): play by other rules "
            "here, or by these with pebble.Game"
        )
    dag = workload.dag()
    if len(dag) > LARGEST:
        raise GraphError(
            f"{workload} has {len(dag):,} vertices; the board shows at most {LARGEST}: take "
            "smaller sizes, or see how strategies play it with `pebble picture`"
        )
    rules.check_memory(dag, memory)
    return dag


def _texts(data: dict[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise SpecError(f'"{key}" must be a text or a list of texts, got {value!r}')
    return tuple(value)


def split_moves(text: str) -> list[str]:
    """Split ``L x, L y, C z``; commas inside brackets belong to names.

    Examples
    --------
    >>> split_moves("L Q[0,1], D K[1,0]")
    ['L Q[0,1]', 'D K[1,0]']
    """
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _positions(data: dict[str, Any], dag: Dag) -> dict[str, tuple[float, float]]:
    given = data.get("positions", {})
    if not isinstance(given, dict):
        raise SpecError('"positions" must give [x, y] by vertex name')
    places = {}
    for name, place in given.items():
        dag.vertex(name)
        if not (
            isinstance(place, list)
            and len(place) == 2
            and all(type(x) in (int, float) for x in place)
        ):
            raise SpecError(f'"positions": expected "{name}": [x, y], got {place!r}')
        places[name] = (float(place[0]), float(place[1]))
    return places


def _check_certificate(level: Level) -> None:
    """Raise unless the certificate is a legal play with exactly the I/O of the par."""
    if not level.certificate:
        return
    from pebble.referee import referee

    try:
        report = referee(level.dag, level.moves(), level.memory, level.rules)
    except IllegalMoveError as error:
        raise SpecError(f'"certificate" is not legal: {error}') from None
    if report.io != level.par:
        raise SpecError(f'"par" is {level.par}, but the certificate takes {report.io} I/O')
