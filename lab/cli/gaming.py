"""The command that plays the game in a terminal."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli.group import bar, check_target, example, json_option, say_json

if TYPE_CHECKING:
    from lab.page.levels import Level
    from lab.terminal.session import Session

__all__ = ["game_command"]

#: Columns of a board that goes into a pipe or a file.
_WIDTH = 100
_COLOURS = {
    "red": {"fg": "bright_red", "bold": True},
    "both": {"fg": "bright_red", "bold": True},
    "blue": {"fg": "bright_blue"},
    "goal": {"fg": "yellow"},
    "edge": {"fg": "bright_black"},
}


@click.command(
    "game",
    short_help="Play the game yourself, in the terminal.",
    epilog=example("pebble game pyramid:h=4 --memory 4", "pebble game --level pyramid"),
)
@click.argument("workload", required=False)
@click.option("--memory", "-M", help="M: a number, or a formula in the workload's sizes.")
@click.option("--rules", help="hk (the default), one-shot, ...: see `pebble list`.")
@click.option("--level", help="A lesson of `pebble page` by name or number, or a level file.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the moves of a trace.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the play there when you leave, however you leave.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0),
    default=2,
    show_default=True,
    help="Seconds to look for the optimum, which is par.",
)
@json_option
def game_command(
    workload: str | None,
    memory: str | None,
    rules: str | None,
    level: str | None,
    resume: Path | None,
    trace: Path | None,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Play WORKLOAD with M red pebbles: type moves, as "l 3" and "c 7", see the board and the I/O.

    Moves are read from the standard input, also from a pipe; "?" lists the commands. Whoever leaves
    before saving, by Ctrl-C too, is told which file holds the moves.
    """
    from lab.page.pars import par_of
    from lab.terminal.board import Board
    from lab.terminal.session import Session

    _check_trace(trace)
    chosen = _level(workload, memory, rules, level, resume)
    typed = sys.stdin.isatty()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    with bar("looking for par", None) as show:
        par = par_of(chosen, seconds, show)
    board = Board(chosen.dag, width, unicode=_can_print("⣠"), paint=None if as_json else _paint)
    session = Session(chosen, par, board)
    if resume is not None:
        _resume(session, resume)
    say = (lambda _: None) if as_json else click.echo
    say(session.greeting())
    ended_by: BaseException | None = None
    try:
        for line in _lines(typed):
            if not typed:
                say(f"> {line}")
            answer = session.answer(line)
            if answer.over:
                break
            if answer.text:
                say(answer.text)
            if answer.moved and typed:
                say(session.position())
    except KeyboardInterrupt as error:
        ended_by = error
    if not typed:
        say(f"{session.position()}\n{session.status()}")
        if not session.game.is_finished and session.game.step:
            say("not finished")
    kept = _keep(session, trace)
    if as_json:
        say_json(session.to_json() | {"trace": None if kept is None else str(kept)})
    elif kept is not None:
        go_on = "" if kept == trace else f"; go on with: pebble game --resume {kept}"
        moves = "1 move is" if session.game.step == 1 else f"{session.game.step} moves are"
        say(f"your {moves} kept in {kept}{go_on}")
    if ended_by is not None:
        raise ended_by


def _check_trace(path: Path | None) -> None:
    from pebble.errors import TraceError

    check_target(path)
    if path is not None and path.suffix not in (".txt", ".pbl"):
        raise TraceError(f"{path}: a trace is named .txt (readable) or .pbl (compact)")


def _level(
    workload: str | None,
    memory: str | None,
    rules: str | None,
    level: str | None,
    resume: Path | None,
) -> Level:
    """Return what is to be played, from whichever way it was named."""
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.page.levels import Level, find_level
    from pebble.trace import read_trace

    if level is not None:
        if workload is not None or memory is not None or rules is not None:
            raise click.UsageError("--level brings its own workload, M and rules")
        return find_level(level)
    if workload is None and resume is not None:
        header = read_trace(resume).header
        if header is None:
            raise click.UsageError(f"{resume} does not say what it was played on: name a workload")
        workload = header.workload
        memory, rules = memory or str(header.memory), rules or str(header.rules)
    if workload is None:
        raise click.UsageError("name a workload, as pyramid:h=4, or a lesson, as --level pyramid")
    if memory is None:
        raise click.UsageError("--memory is missing: the number of red pebbles")
    what, judged_by = as_workload(workload), as_rules(rules or "hk")
    budget = as_memory(memory, what)
    _check_size(what)
    dag = what.dag()
    judged_by.check_memory(dag, budget)
    count = dag.outputs.size
    goal = f"make {'the output' if count == 1 else f'all {count:,} outputs'} blue"
    return Level(str(what), str(what), goal, what, budget, judged_by)


def _check_size(what: object) -> None:
    from graphs.registry import Workload
    from lab.dag_bounds import MOST_VERTICES, is_small
    from pebble.errors import GraphError

    assert isinstance(what, Workload)
    if not is_small(what):
        raise GraphError(
            f"{what} has more than {MOST_VERTICES:,} vertices, too many to play by hand: let a "
            "strategy play it with `pebble play`, and look at it with `pebble picture`"
        )


def _resume(session: Session, path: Path) -> None:
    """Make the moves of a trace; the first illegal one is explained."""
    from pebble.errors import TraceError
    from pebble.moves import Move, unpack
    from pebble.trace import read_trace

    trace = read_trace(path)
    kinds, vertices = unpack(trace.moves(session.level.dag))
    if kinds.size > 10_000:
        raise TraceError(f"{path} has {kinds.size:,} moves, too many to go on with by hand")
    for kind, vertex in zip(kinds.tolist(), vertices.tolist(), strict=True):
        session.game.push(Move(kind, vertex))
    session.saved = session.game.moves


def _lines(typed: bool) -> Iterator[str]:
    """Give the lines of the standard input, with a prompt where somebody types them."""
    if not typed:
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(errors="replace")
        yield from (line.rstrip("\n") for line in sys.stdin)
        return
    with contextlib.suppress(ImportError):  # not everywhere
        import readline  # noqa: F401 (its import alone gives input() a history and editing)
    while True:
        try:
            yield input("> ")
        except EOFError:
            click.echo()
            return


def _keep(session: Session, trace: Path | None) -> Path | None:
    """Write the play where it was asked for, or, if it is not saved, into a new temporary file."""
    if trace is not None:
        session.write(trace)
        return trace
    if session.is_saved or not session.game.step:
        return None
    name = re.sub(r"[^\w.-]+", "-", session.level.name)[:40]
    folder = Path(tempfile.mkdtemp(prefix="pebble-game-"))
    session.write(folder / f"{name}.txt")
    return folder / f"{name}.txt"


def _can_print(character: str) -> bool:
    try:
        character.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _paint(kind: str, text: str) -> str:
    style = _COLOURS.get(kind)
    if style is None or "NO_COLOR" in os.environ:
        return text
    return click.style(text, **style)  # type: ignore[arg-type]
