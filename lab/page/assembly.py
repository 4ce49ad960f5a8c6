"""The teaching page as one file: HTML, style, scripts and levels put together."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lab.page.levels import Level, lessons, playable
from pebble import __version__
from pebble.drawing import draw
from pebble.errors import PebbleError, SpecError
from pebble.moves import LETTERS, unpack

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.moves import Moves

__all__ = ["LONGEST", "page", "page_level", "write_page"]

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("rules.js", "traces.js", "advisor.js", "board.js", "chart.js", "app.js")
#: A title and moves to be replayed.
Watch: TypeAlias = "tuple[str, Iterable[Moves]]"
#: Moves of a strategy that a browser replays with pleasure.
LONGEST = 20_000


def page(levels: Sequence[Level] | None = None, watch: Watch | None = None) -> str:
    """Return the page with the given levels, by default the course.

    With ``watch``, a title and moves of the first level, it opens by replaying them.

    Nothing in it is fetched from anywhere: it can be opened from disk or hosted as it is.

    Examples
    --------
    >>> from lab.page.levels import find_level
    >>> text = page([find_level("first-steps")])
    >>> text.startswith("<!doctype html>"), "http://" in text.replace("http://www.w3.org", "")
    (True, False)
    """
    chosen = lessons() if levels is None else list(levels)
    if not chosen:
        raise SpecError("a page needs at least one level")
    names = [level.name for level in chosen]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f'two levels are named {name!r}: give one another "name"')
    data: dict[str, Any] = {
        "version": __version__,
        "levels": [page_level(level) for level in chosen],
    }
    if watch is not None:
        data["levels"][0]["plays"].append(_watched(chosen[0], *watch))
        data["watch"] = len(data["levels"][0]["plays"]) - 1
    # "</script>" or "<!--" in a teacher's text must not end the element that holds it.
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    text = _part("index.html").replace("@@STYLE@@", _part("page.css").rstrip())
    scripts = "\n".join(_part(name) for name in _SCRIPTS)
    return text.replace("@@SCRIPT@@", scripts.rstrip()).replace("@@DATA@@", packed)


def write_page(
    path: str | Path, levels: Sequence[Level] | None = None, watch: Watch | None = None
) -> None:
    """Write the page to a file, under a temporary name first."""
    from pebble.files import replacing

    text = page(levels, watch)
    with replacing(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page_level(level: Level) -> dict[str, Any]:
    """Return all that the page needs of a level: graph, drawing, texts, plays to watch."""
    plays = _plays(level)
    par = level.par
    if par is None and plays:
        par = min(play["io"] for play in plays)
    # What meets the bound is the optimum, whoever found it.
    exact = level.par is not None or par == level.lower_bound
    return {
        "name": level.name,
        "title": level.title,
        "goal": level.goal,
        "text": list(level.text),
        "insight": level.insight,
        "hints": list(level.hints),
        "memory": level.memory,
        "rules": _rules(level),
        "par": par,
        "exact": exact,
        "lower_bound": level.lower_bound,
        "dag": _graph(level.dag, str(level.workload)),
        "drawing": dataclasses.asdict(draw(level.dag, level.positions)),
        "plays": plays,
    }


def _part(name: str) -> str:
    return (_PARTS / name).read_text(encoding="utf-8")


def _rules(level: Level) -> dict[str, Any]:
    rules = level.rules
    switches = {
        field.name: True
        for field in dataclasses.fields(rules)
        if field.type == "bool" and getattr(rules, field.name)
    }
    return {"text": str(rules), "described": rules.describe(), **switches}


def _graph(dag: Dag, workload: str) -> dict[str, Any]:
    import numpy as np

    aliases = {}
    for view in dag.views:
        for place in np.ndindex(view.shape):
            index = tuple(f + i for f, i in zip(view.first, place, strict=True))
            label = f"{view.name}[{','.join(map(str, index))}]" if index else view.name
            aliases[label] = view.vertex(index)
    return {
        "names": [dag.name(v) for v in range(len(dag))],
        "operands": [dag.operands(v).tolist() for v in range(len(dag))],
        "inputs": dag.inputs.tolist(),
        "outputs": dag.outputs.tolist(),
        "aliases": aliases,
        "fingerprint": dag.fingerprint,
        "source": workload,
    }


def _plays(level: Level) -> list[dict[str, Any]]:
    """Return the plays to watch: the level's strategies, the certificate, other strategies."""
    from pebble.referee import referee
    from strategies.registry import strategy

    def played(texts: Iterable[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for text in texts:
            moves = _strategy_moves(level, text)
            if moves is not None:
                report = referee(level.dag, moves, level.memory, level.rules)
                found.append({"title": text, "io": report.io, "moves": _texts(moves)})
        return sorted(found, key=lambda play: -play["io"])

    plays = [play | {"best": False} for play in played(level.strategies)]
    if level.certificate:
        moves = level.moves()
        title = "the best possible play"
        plays.append({"title": title, "io": level.par, "moves": _texts(moves), "best": True})
    elif plays:
        plays[-1]["best"] = True
    chosen = {strategy(text) for text in level.strategies}
    rest = playable(level.workload, level.memory, level.rules)
    others = played(text for text in rest if strategy(text) not in chosen)
    return plays + [play | {"best": False, "other": True} for play in others]


def _watched(level: Level, title: str, chunks: Iterable[Moves]) -> dict[str, Any]:
    """Return a play that the page opens with; the referee judges it."""
    import numpy as np

    from pebble.referee import referee

    moves = np.concatenate([np.empty(0, np.uint32), *chunks])
    report = referee(level.dag, moves, level.memory, level.rules)
    return {"title": title, "io": report.io, "moves": _texts(moves), "best": False}


def _strategy_moves(level: Level, text: str) -> Moves | None:
    """Return a strategy's moves; None if they are too long to watch, or a search finds none."""
    import numpy as np

    from strategies.registry import RefusalError, strategy

    chosen = strategy(text)
    try:
        chosen.require(level.workload, level.memory)
    except PebbleError as error:
        raise type(error)(f"level {level.name}: {error}") from None
    chunks, total = [], 0
    try:
        for chunk in chosen.under(level.rules).moves(level.workload, level.memory, level.dag):
            chunks.append(chunk)
            total += chunk.size
            if total > LONGEST:
                return None
    except RefusalError:
        return None
    return np.concatenate(chunks)


def _texts(moves: Moves) -> list[str]:
    kinds, vertices = unpack(moves)
    return [f"{LETTERS[k]} {v}" for k, v in zip(kinds.tolist(), vertices.tolist(), strict=True)]
