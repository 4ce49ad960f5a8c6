"""Trace: a play kept in a file, readable (``.txt``) or compact (``.pbl``), always streamed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Self

import numpy as np

from pebble import _trace_compact, _trace_text
from pebble._trace_compact import MAGIC, CompactWriter
from pebble._trace_text import TextWriter
from pebble.errors import PebbleError, TraceError
from pebble.files import replacing
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.moves import Moves

__all__ = ["Header", "Trace", "read_trace", "trace_writer", "write_trace"]


@dataclass(frozen=True)
class Header:
    """What a trace says of itself.

    Attributes
    ----------
    workload : str
        Text form of the workload or name of the file that the DAG came from.
    fingerprint : str
        `Dag.fingerprint` of the DAG played on.
    vertices : int
        Its number of vertices.
    memory : int
        M, the number of red pebbles.
    rules : Rules
        Conventions played under.
    strategy : str
        Text form of the strategy; empty when nobody said.
    """

    workload: str
    fingerprint: str
    vertices: int
    memory: int
    rules: Rules = HK
    strategy: str = ""

    #: Version of the file format.
    version: ClassVar[str] = "1"

    @classmethod
    def of(cls, dag: Dag, memory: int, rules: Rules = HK, strategy: str = "") -> Self:
        """Make the header of a play on a DAG."""
        return cls(dag.source, dag.fingerprint, len(dag), memory, rules, strategy)

    def check(self, dag: Dag) -> None:
        """Raise `TraceError` unless the trace was played on this DAG."""
        if (self.fingerprint, self.vertices) != (dag.fingerprint, len(dag)):
            expected = f"{self.workload or 'a graph'} ({self.vertices:,} vertices, "
            came = f"{dag.source or 'a graph'} ({len(dag):,} vertices, "
            raise TraceError(
                f"the trace belongs to another graph: it was played on {expected}fingerprint "
                f"{self.fingerprint}), and this is {came}fingerprint {dag.fingerprint})"
            )

    def fields(self) -> dict[str, str]:
        """Return the header as text, one line a field, the version first."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        lines = {key: " ".join(str(value).split()) for key, value in fields.items()}
        return {"version": self.version, **lines}

    @classmethod
    def from_fields(cls, fields: dict[str, str], where: str) -> Self:
        """Read what `fields` wrote; ``where`` is the file that errors name."""
        version = fields.pop("version", "")
        if version != cls.version:
            raise TraceError(
                f"{where} is a trace of format version {version[:20] or 'unknown'}; "
                f"this program reads version {cls.version}"
            )
        names = [f.name for f in dataclasses.fields(cls)]
        if sorted(fields) != sorted(names):
            raise TraceError(f"{where}: expected a header with {', '.join(names)}")
        for name in ("vertices", "memory"):
            if not (fields[name].isascii() and fields[name].isdigit()):
                raise TraceError(f"{where}: {name} must be a number, got {fields[name]!r}")
        try:
            rules = Rules.parse(fields["rules"])
        except PebbleError as error:
            raise TraceError(f"{where}: {error}") from None
        return cls(
            fields["workload"],
            fields["fingerprint"],
            int(fields["vertices"]),
            int(fields["memory"]),
            rules,
            fields["strategy"],
        )


@dataclass(frozen=True)
class Trace:
    """A trace file: its header, and its moves as a stream.

    Attributes
    ----------
    path : Path
        The file.
    header : Header or None
        None for a bare list of moves, whose M and rules must come from elsewhere.
    """

    path: Path
    header: Header | None

    def chunks(self, dag: Dag | None = None) -> Iterator[Moves]:
        """Read the moves, in chunks, as often as asked.

        Parameters
        ----------
        dag : Dag, optional
            The graph played on: it is compared with the header, and names of vertices are read
            with its help.

        Raises
        ------
        TraceError
            If the file is damaged or truncated, which may show only at its end, or if the trace
            belongs to another graph.
        """
        if self.header is not None and dag is not None:
            self.header.check(dag)
        with _opened(self.path) as (file, header, is_compact):
            if header != self.header:
                raise TraceError(f"{self.path} has changed since it was opened")
            if is_compact:
                yield from _trace_compact.read_moves(file, str(self.path))
            else:
                lines = 0 if header is None else len(dataclasses.fields(header)) + 1
                yield from _trace_text.read_moves(file, dag, str(self.path), lines)

    def moves(self, dag: Dag | None = None) -> Moves:
        """Return all moves in one array, for traces that fit in memory."""
        return np.concatenate([np.empty(0, np.uint32), *self.chunks(dag)])


def read_trace(path: str | Path) -> Trace:
    """Open a trace file of either form, whatever its name.

    Raises
    ------
    TraceError
        If the file cannot be read, is no trace, or is one of another version.

    Examples
    --------
    >>> import tempfile
    >>> from pebble import Dag, referee
    >>> from pebble.moves import pack
    >>> dag = Dag.from_predecessors([[], [0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "play.txt"
    ...     _ = write_trace(path, Header.of(dag, 2), map(pack, (0, 2, 1), ([0], [1], [1])))
    ...     trace = read_trace(path)
    ...     referee(dag, trace.chunks(dag), trace.header.memory, trace.header.rules).io
    2
    """
    path = Path(path)
    with _opened(path) as (_, header, _):
        return Trace(path, header)


@contextmanager
def trace_writer(
    path: str | Path, header: Header, names: Dag | None = None, *, graph: Dag | None = None
) -> Iterator[TextWriter | CompactWriter]:
    """Open a trace for writing: ``.write(moves)`` until the block ends.

    The file appears under its name only when the block ends well; otherwise nothing is left.

    Parameters
    ----------
    path : path
        Ends in ``.txt`` for the readable form, ``.pbl`` for the compact one.
    header : Header
        Written first.
    names : Dag, optional
        In the readable form, write the names of this DAG instead of numbers.
    graph : Dag, optional
        The DAG played on, under rules with partial computation: the readable form then says
        ``P u v``. Without it, it has the numbers of packed moves, ``C`` and V + edge.

    Raises
    ------
    TraceError
        If the name ends otherwise.
    FileError
        If the file cannot be written.
    """
    path = Path(path)
    if path.suffix not in (".txt", ".pbl"):
        raise TraceError(f"cannot write {path}: a trace is named .txt (readable) or .pbl (compact)")
    with replacing(path) as temporary, temporary.open("wb") as file:
        writer: TextWriter | CompactWriter
        if path.suffix == ".txt":
            partial = graph if header.rules.partial else None
            writer = TextWriter(file, header.fields(), names, partial)
        else:
            writer = CompactWriter(file, header.fields())
        yield writer
        writer.close()


def write_trace(
    path: str | Path,
    header: Header,
    chunks: Moves | Iterable[Moves],
    names: Dag | None = None,
    *,
    graph: Dag | None = None,
) -> int:
    """Write a trace and return its number of moves; see `trace_writer`."""
    with trace_writer(path, header, names, graph=graph) as writer:
        for chunk in [chunks] if isinstance(chunks, np.ndarray) else chunks:
            writer.write(chunk)
    return writer.count


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, Header | None, bool]]:
    """Open a trace, read its header, and say whether it is compact."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}") from None
    with file:
        where = str(path)
        start = file.read(len(MAGIC))
        if not start:
            raise TraceError(f"{where} is empty: expected a trace")
        if start == MAGIC:
            yield file, Header.from_fields(_trace_compact.read_fields(file, where), where), True
            return
        file.seek(0)
        keys = [f.name for f in dataclasses.fields(Header)]
        fields = _trace_text.read_fields(file, keys, where)
        yield file, None if fields is None else Header.from_fields(fields, where), False
