"""A game played by lines of text: what each line does, and what is answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.terminal.advice import advise, first_costly
from lab.terminal.board import LEGEND, can_be_computed
from pebble.errors import IllegalMoveError, PebbleError, unknown
from pebble.game import Game
from pebble.moves import KINDS, LETTERS, LOAD, STORE, Move, edge_of, partial_compute

if TYPE_CHECKING:
    from lab.page.levels import Level
    from lab.page.pars import Par
    from lab.terminal.board import Board

__all__ = ["HELP", "Answer", "Session"]

HELP = """\
l X   load: a red pebble on X, which is blue              costs 1
s X   store: a blue pebble on X, which is red             costs 1
c X   compute: a red pebble on X, whose operands are red  free
d X   delete: take the red pebble off X                   free
      X is a label of the board, a name or a number; several moves: l a, l b, c 1.0
undo [N]  redo [N]  restart
hint       a move that leads on as cheaply as can be
why        after the end: the first move that cost something
board      the position        list      every vertex, with what it is computed from
save FILE  the moves as a trace, which `pebble check` judges
quit"""

_SHORT = {"u": "undo", "r": "redo", "h": "hint", "b": "board", "q": "quit", "?": "help"}
_SHORT |= {"exit": "quit", "m": "list", "restart!": "restart"}
_KINDS = {letter.lower(): kind for kind, letter in enumerate(LETTERS)}
_KINDS |= {name.lower(): kind for kind, name in enumerate(KINDS)}
#: Where the rules have partial computation: p U V, by which V absorbs its operand U.
_PARTIAL = ("p", "partial")
#: Vertices that `list` shows at most.
_LISTED = 200


class Answer(NamedTuple):
    """What a line brought about.

    Attributes
    ----------
    text : str
        To be shown.
    moved : bool
        Whether the position has changed.
    over : bool
        Whether the player leaves.
    """

    text: str
    moved: bool = False
    over: bool = False


class Session:
    """One player at one board.

    Parameters
    ----------
    level : Level
        Graph, M and rules.
    par : Par
        What the play is held against.
    board : Board
        How positions are shown.

    Examples
    --------
    >>> from lab.page.levels import find_level
    >>> from lab.page.pars import par_of
    >>> from lab.terminal.board import Board
    >>> level = find_level("first-steps")
    >>> session = Session(level, par_of(level), Board(level.dag))
    >>> print(session.answer("l x").text)
    LOAD x: I/O 1 (1 load, 0 stores), par 3; 1 of 3 red
    >>> print(session.answer("c z").text)
    not legal: step 2: COMPUTE z needs y red; it is blue only: load it first (M=3, 1 red)
    """

    def __init__(self, level: Level, par: Par, board: Board) -> None:
        self.level, self.par, self.board = level, par, board
        self.game = Game(level.dag, level.memory, level.rules)
        self.undone: list[Move] = []
        self.saved: tuple[Move, ...] = ()  # the moves as they were last written to a file
        self._files: set[Path] = set()
        self._hints = 0
        handles = board.handles
        self._handle = {handle: v for v, handle in enumerate(handles)}

    # -- what is shown -----------------------------------------------------------------------------

    def greeting(self) -> str:
        """Return what a player reads first: the task and the board."""
        level, dag = self.level, self.level.dag
        size = f"{len(dag):,} vertices, M = {level.memory} red pebbles, rules {level.rules}"
        lines = [f"{level.title}: {size}; {self.par}"]
        lines += [text.replace("**", "") for text in level.text]
        lines += [f"Goal: {level.goal}", "", self.position(), "", LEGEND]
        return "\n".join(
            [*lines, "Moves: l X, s X, c X, d X; undo, redo, hint, save FILE, quit; ?"]
        )

    def position(self) -> str:
        """Return the board and what can be computed."""
        game = self.game
        most = 12
        ready = [self.board.handles[v] for v in can_be_computed(game, most + 1)]
        words = ", ".join(ready[:most]) + (", ..." if len(ready) > most else "")
        return self.board.text(game) + (f"\ncan be computed: {words}" if ready else "")

    def status(self) -> str:
        """Return the counts so far against par or lower bound."""
        game = self.game
        loads, stores = _many(game.loads, "load"), _many(game.stores, "store")
        cost = f", cost {game.cost}" if game.rules.compute_price else ""
        red = f"{game.red_count} of {game.memory} red"
        return f"I/O {game.io} ({loads}, {stores}){cost}, {self.par}; {red}"

    def verdict(self) -> str:
        """Return what a finished play is worth."""
        io, par = self.game.io, self.par
        if par.is_exact:
            if io <= par.lower:
                return f"Finished with I/O {io}: that is par, nobody can do better."
            more = io - par.lower
            return f"Finished with I/O {io}, {more} above par {par.lower}. Ask `why`, or undo."
        if io <= par.lower:
            return f"Finished with I/O {io}: that meets the lower bound, nobody can do better."
        best = "" if par.upper is None else f"; the best play known takes {par.upper:,}"
        return f"Finished with I/O {io}; no play can do it with less than {par.lower:,}{best}."

    def to_json(self) -> dict[str, Any]:
        """Return the play as a dict of plain types."""
        game = self.game
        return {
            "workload": str(self.level.workload),
            "memory": game.memory,
            "rules": str(game.rules),
            "finished": game.is_finished,
            "loads": game.loads,
            "stores": game.stores,
            "io": game.io,
            "computes": game.computes,
            "peak_red": game.peak_red,
            "moves": [str(move) for move in game.moves],
            "par": self.par.upper if self.par.is_exact else None,
            "lower": self.par.lower,
            "upper": self.par.upper,
        }

    @property
    def is_saved(self) -> bool:
        """Whether nothing would be lost if the player left now."""
        return self.game.moves == self.saved

    # -- lines -------------------------------------------------------------------------------------

    def answer(self, line: str) -> Answer:
        """Do what a line says; errors are answers, too."""
        words = line.split(maxsplit=1)
        if not words:
            return Answer("")
        word, rest = words[0].lower(), words[1].strip() if len(words) > 1 else ""
        if rest and (word in _KINDS or (word in _PARTIAL and self.game.rules.partial)):
            return self._moves(line)
        command = _SHORT.get(word, word)
        action = getattr(self, f"do_{command}", None)
        if action is None:
            if word in _KINDS:
                return Answer(f"{word!r} needs a vertex: {word} {self.board.handles[0]}")
            return Answer(str(unknown("command", word, [*self._commands(), *_KINDS])))
        try:
            done: Answer = action(rest)
            return done
        except PebbleError as error:
            return Answer(str(error))

    @classmethod
    def _commands(cls) -> list[str]:
        """Names of the commands: each is a method, as `do_undo`."""
        return [name[3:] for name in dir(cls) if name.startswith("do_")]

    def _moves(self, line: str) -> Answer:
        from lab.page.levels import split_moves

        made, texts = 0, []
        for text in split_moves(line.replace(";", ",")):
            try:
                move = self._read(text)
                self.game.push(move)
            except IllegalMoveError as error:
                texts.append(f"not legal: {error}{self._where(error)}")
                break
            except PebbleError as error:
                texts.append(str(error))
                break
            made += 1
            self.undone = []
            name = self._named(move)
            if move.kind in (LOAD, STORE):
                texts.append(f"{KINDS[move.kind]} {name}: {self.status()}")
            else:
                red = f"{self.game.red_count} of {self.game.memory} red"
                verb = "PARTIAL" if edge_of(self.level.dag, move.vertex) else KINDS[move.kind]
                texts.append(f"{verb} {name}: free; {red}")
        if made and self.game.is_finished:
            texts.append(self.verdict())
            if self.level.insight:
                texts.append(self.level.insight)
        return Answer("\n".join(texts), moved=made > 0)

    def _where(self, error: IllegalMoveError) -> str:
        """Say where the vertices of an error stand on the board, if their labels are others."""
        concerned = [error.vertex, *error.missing[:3]]
        known = [v for v in concerned if 0 <= v < len(self.level.dag)]
        pairs = {self.level.dag.name(v): self.board.handles[v] for v in known}
        words = [f"{name} is {handle}" for name, handle in pairs.items() if name != handle]
        return f"\n(on the board {', '.join(words)})" if words and self.board.is_drawn else ""

    def _read(self, text: str) -> Move:
        """Read a move; the board's labels come before names and numbers."""
        verb, _, vertex = text.strip().partition(" ")
        vertex = vertex.strip()
        if verb.lower() in _PARTIAL:
            ends = [self._handle.get(word) for word in vertex.split()]
            if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
                return partial_compute(self.level.dag, ends[0], ends[1])
        if verb.lower() in _KINDS and vertex in self._handle:
            return Move(_KINDS[verb.lower()], self._handle[vertex])
        return Move.parse(text, self.level.dag)

    def do_undo(self, rest: str) -> Answer:
        """Take moves back."""
        times, done = _times(rest), 0
        while done < times and self.game.step:
            self.undone.append(self.game.pop())
            done += 1
        if not done:
            return Answer("there is no move to take back")
        last = self.undone[-1].named(self.level.dag)
        what = f"took back {last}" if done == 1 else f"took back {done} moves"
        return Answer(f"{what}: {self.status()}", moved=True)

    def do_redo(self, rest: str) -> Answer:
        """Make moves taken back again."""
        times, done = _times(rest), 0
        while done < times and self.undone:
            self.game.push(self.undone.pop())
            done += 1
        if not done:
            return Answer("there is no move to make again")
        return Answer(f"made {_many(done, 'move')} again: {self.status()}", moved=True)

    def do_restart(self, _: str) -> Answer:
        """Take all moves back."""
        if not self.game.step:
            return Answer("you are at the start")
        while self.game.step:
            self.undone.append(self.game.pop())
        count = len(self.undone)
        return Answer(f"back at the start; redo {count} brings your moves back", moved=True)

    def do_hint(self, _: str) -> Answer:
        """Say a move that leads on as cheaply as can be."""
        game = self.game
        if game.is_finished:
            return Answer("you are there: every goal is blue")
        if self._hints < len(self.level.hints):
            self._hints += 1
            return Answer(f"hint: {self.level.hints[self._hints - 1]}")
        way = self.par.moves
        if way[: game.step] == game.moves and game.step < len(way):
            word = "par" if self.par.is_exact else "the best play known"
            return Answer(f"hint: {self._shown(way[game.step])} leads to {word}, {self.par.upper}")
        found = advise(game)
        if not found.moves or found.io is None:
            return Answer(f"no hint: {found.reason}")
        total = game.io + found.io
        lost = self.par.is_exact and total > self.par.lower
        more = f" (par, {self.par.lower}, is out of reach from here)" if lost else ""
        return Answer(f"hint: {self._shown(found.moves[0])} leads to a total of {total}{more}")

    def do_why(self, _: str) -> Answer:
        """Name the first move of a finished play that cost something."""
        game, par = self.game, self.par
        if not game.is_finished:
            return Answer("finish first: every goal blue")
        if not par.is_exact:
            return Answer("the optimum of this board is not known, so neither is what it lost")
        if game.io <= par.lower:
            return Answer("nothing was lost: that is par")
        step, reason = first_costly(game, par.lower)
        if not step:
            return Answer(f"no answer: {reason}")
        move = game.moves[step - 1]
        back = game.step - step + 1
        return Answer(
            f"the first move that cost something was step {step}, {self._shown(move)}: before it, "
            f"{par.lower} was still within reach (undo {back} takes you there)"
        )

    def _named(self, move: Move) -> str:
        """Return the label of a move's vertex; of both ends of a partial compute's edge."""
        ends = edge_of(self.level.dag, move.vertex) or (move.vertex,)
        return " ".join(self.board.handles[v] for v in ends)

    def _shown(self, move: Move) -> str:
        verb = "p" if edge_of(self.level.dag, move.vertex) else LETTERS[move.kind].lower()
        return f"{verb} {self._named(move)}"

    def do_board(self, _: str) -> Answer:
        """Show the position."""
        return Answer(f"{self.position()}\n{self.status()}")

    def do_list(self, _: str) -> Answer:
        """Show every vertex with what it is computed from."""
        dag = self.level.dag
        lines = [self.board.line(self.game, v) for v in range(min(len(dag), _LISTED))]
        if len(dag) > _LISTED:
            lines.append(f"... {len(dag) - _LISTED:,} more vertices")
        return Answer("\n".join(lines))

    def do_save(self, rest: str) -> Answer:
        """Write the moves to a new file, or again to one written before."""
        if not rest:
            return Answer("save where? As in: save play.txt (to read) or save play.pbl (compact)")
        path = Path(rest).expanduser()
        if not path.suffix:
            path = path.with_suffix(".txt")
        if path.exists() and path.absolute() not in self._files:
            return Answer(f"{path} is there already: take another name")
        self.write(path)
        self._files.add(path.absolute())
        return Answer(f"wrote {path} ({_many(self.game.step, 'move')})")

    def write(self, path: Path) -> None:
        """Write the moves made so far as a trace.

        Raises
        ------
        TraceError, FileError
            If the file cannot be written.
        """
        from pebble.moves import pack
        from pebble.trace import Header, write_trace

        level, moves = self.level, self.game.moves
        header = Header(
            str(level.workload), level.dag.fingerprint, len(level.dag), level.memory, level.rules
        )
        write_trace(path, header, (pack(move.kind, [move.vertex]) for move in moves))
        self.saved = moves

    def do_help(self, _: str) -> Answer:
        """Show the commands."""
        more = (
            "\np U V  partial compute: V absorbs its operand U" if self.game.rules.partial else ""
        )
        return Answer(f"{HELP}{more}\n{LEGEND}")

    def do_quit(self, _: str) -> Answer:
        """Leave."""
        return Answer("", over=True)


def _times(text: str) -> int:
    from pebble.errors import SpecError

    if not text:
        return 1
    if not (text.isascii() and text.isdigit()):
        raise SpecError(f"expected a number of moves, got {text!r}")
    return int(text)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
