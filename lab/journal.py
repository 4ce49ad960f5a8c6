"""The journal of a sweep: each finished row a line, on the disk before the next one is begun.

Beside ``rows.csv`` lies ``rows.csv.journal``, to which a sweep only ever appends::

    pebble-journal 1 CHECKSUM {"version": "0.1.0", "points": 18, "strategies": [...], ...}
    CHECKSUM {"point": 0, "row": {...}}
    CHECKSUM {"point": 3, "row": {...}}

The first line says what is swept and by which code; a journal of another sweep is never written to.
A line's checksum takes in the first line's, so that no line passes in a journal it was not written
to. Whoever dies in the middle of a line leaves it without its end, and it is dropped; any other
damage is an error. While a sweep writes to the file, the operating system keeps it locked: a dead
process holds nothing.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import inspect
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.results import Row
from pebble.errors import PebbleError
from pebble.files import FileError

if TYPE_CHECKING:
    from lab.sweeping import Point

__all__ = ["Journal", "JournalError", "code_digest", "identity", "journal_of", "opened"]

FORMAT = 1
_WORD = b"pebble-journal "
#: Packages that a count depends on.
_PACKAGES = ("pebble", "graphs", "strategies", "bounds", "lab")


class JournalError(PebbleError, ValueError):
    """A journal of another sweep, in other hands, or damaged."""


def journal_of(out: str | Path) -> Path:
    """Return where the journal of a file of results lies.

    Examples
    --------
    >>> journal_of("rows.csv").name
    'rows.csv.journal'
    """
    return Path(f"{out}.journal")


class Journal:
    """The open journal of one sweep; made by `opened`.

    Attributes
    ----------
    path : Path
        The file.
    rows : dict of int to Row
        The rows it holds, by the number of their point.
    cut : bool
        Whether it ended in half a line, which was dropped.
    """

    def __init__(self, path: Path, handle: int, head: Mapping[str, Any]) -> None:
        self.path, self._handle = path, handle
        content = _content(path, handle)
        found = _head(path, content)
        if found is None:
            # Nothing, or what is left of a first line: the sweep had not begun.
            self._cut_at(0)
            line = _WORD + b"%d " % FORMAT + _line(head)
            self.rows: dict[int, Row] = {}
            self._key, self._end, self.cut = _checksum(_json(head)), 0, False
            self._append(line)
            _settle_name(path)
            return
        _check_same(path, found, head)
        self._key = _checksum(_json(found))
        self.rows, self._end = _read(path, content, self._key, int(found["points"]))
        self.cut = self._end < len(content)
        if self.cut:
            self._cut_at(self._end)

    def add(self, point: int, row: Row) -> None:
        """Append a row; when this returns it is on the disk.

        Raises
        ------
        FileError
            If it cannot be written, as on a full disk; what was written before stays.
        """
        self._append(_line({"point": point, "row": row.to_json()}, self._key))
        self.rows[point] = row

    def forget(self) -> None:
        """Drop all rows: there is nothing in them worth keeping."""
        self.rows.clear()

    def _append(self, line: bytes) -> None:
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
        except OSError as error:
            # Half a line may stand there; a cut needs no room, so it works on a full disk.
            with suppress(OSError):
                self._cut_at(self._end)
            kept = f"; the {len(self.rows)} rows before are kept" if self.rows else ""
            raise FileError(
                f"cannot write {self.path}: {error.strerror or error}{kept}: make room and sweep "
                "again, which goes on from here"
            ) from None
        self._end += len(line)

    def _cut_at(self, length: int) -> None:
        os.ftruncate(self._handle, length)


@contextmanager
def opened(path: str | Path, head: Mapping[str, Any], *, fresh: bool = False) -> Iterator[Journal]:
    """Open the journal of a sweep, or begin one; it stays locked to the end of the block.

    A journal without rows is removed at the end.

    Parameters
    ----------
    path : path
        The file.
    head : mapping
        What `identity` says of the sweep.
    fresh : bool
        Forget what is there.

    Raises
    ------
    JournalError
        If the file belongs to another sweep or another version, is damaged, is no journal at all,
        or is being written by another sweep.
    FileError
        If it cannot be opened or written.

    Examples
    --------
    >>> import tempfile
    >>> from lab.sweeping import plan
    >>> head = identity(plan("pyramid:h=3", "naive", "4,8"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with opened(Path(folder) / "rows.csv.journal", head) as journal:
    ...         print(journal.rows)
    {}
    """
    path = Path(path)
    handle = _open(path)
    try:
        if fresh:
            content = _content(path, handle)
            if not _is_ours(content):
                raise _foreign(path)
            os.ftruncate(handle, 0)
        journal = Journal(path, handle, head)
        try:
            yield journal
        finally:
            if not journal.rows:
                with suppress(OSError):
                    path.unlink()
    finally:
        os.close(handle)


# -- what is swept ------------------------------------------------------------------------------


def identity(points: Sequence[Point]) -> dict[str, Any]:
    """Return what two sweeps must have in common for their rows to stand in one file.

    Examples
    --------
    >>> from lab.sweeping import plan
    >>> head = identity(plan("pyramid:h=3", "naive", "4:64:x2"))
    >>> head["points"], head["workloads"], head["M"]
    (5, ['pyramid:h=3'], [4, 8, 16, 32, 64])
    """
    import pebble

    digest = hashlib.blake2b(digest_size=8)
    workloads = {point.workload: point.workload.fingerprint() for point in points}
    for point in points:
        parts = (point.workload, workloads[point.workload], point.strategy, point.memory)
        for part in (*parts, point.rules, point.method):
            digest.update(f"{part}\0".encode())
    return {
        "version": pebble.__version__,
        "code": code_digest(),
        "points": len(points),
        "workloads": _few([f"{w}{f and ' '}{f}" for w, f in workloads.items()]),
        "strategies": _few(dict.fromkeys(str(point.strategy) for point in points)),
        "M": _few(sorted({point.memory for point in points})),
        "rules": _few(dict.fromkeys(str(point.rules) for point in points)),
        "method": _few(dict.fromkeys(point.method for point in points)),
        "plug-ins": _plugins(points),
        "plan": digest.hexdigest(),
    }


def _few(values: Iterable[Any]) -> list[Any]:
    """Return a list short enough to be read; the plan's checksum takes in the rest."""
    values = list(values)
    return values if len(values) <= 8 else [*values[:4], "...", values[-1], f"({len(values)})"]


@cache
def code_digest() -> str:
    """Return a checksum of the product's source, as it stood when this process first asked."""
    digest = hashlib.blake2b(digest_size=8)
    for name in _PACKAGES:
        folder = Path(next(iter(importlib.import_module(name).__path__)))
        # How results are shown changes no row.
        files = folder.glob("*.py") if name == "lab" else folder.rglob("*.py")
        for file in sorted(files):
            digest.update(f"{name}/{file.relative_to(folder).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _plugins(points: Sequence[Point]) -> str:
    """Return a checksum of the modules of workloads and strategies that others wrote."""
    kinds = {type(thing) for point in points for thing in (point.workload, point.strategy)}
    others = [kind for kind in kinds if kind.__module__.partition(".")[0] not in _PACKAGES]
    digest = hashlib.blake2b(digest_size=8)
    for kind in sorted(others, key=lambda kind: (kind.__module__, kind.__qualname__)):
        digest.update(f"{kind.__module__}.{kind.__qualname__}\0".encode())
        with suppress(OSError, TypeError):  # typed in at a prompt, or compiled
            digest.update(Path(inspect.getfile(kind)).read_bytes())
    return digest.hexdigest() if others else ""


def _check_same(path: Path, found: Mapping[str, Any], head: Mapping[str, Any]) -> None:
    if found == head:
        return
    remedy = "give --fresh (fresh=True) to play it all again, or name another file"
    if found.get("version") != head["version"]:
        raise JournalError(
            f"{path} was made by version {found.get('version')}, this is {head['version']}; counts "
            f"of two versions are not mixed: {remedy}"
        )
    for name in ("code", "plug-ins"):
        if found.get(name) != head[name]:
            what = "this version" if name == "code" else "a plug-in"
            raise JournalError(
                f"{path} was made by {what} with other source code; its counts are not mixed with "
                f"this one's: {remedy}"
            )
    names = [name for name in head if name not in ("plan", "points")]
    changed = [name for name in names if found[name] != head[name]]
    what = "; ".join(
        f"{name}: {_shown(found[name])} there, {_shown(head[name])} here" for name in changed
    )
    raise JournalError(f"{path} holds another sweep ({what or 'other points'}): {remedy}")


def _shown(values: Any) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else str(values)


# -- lines --------------------------------------------------------------------------------------


def _json(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _checksum(payload: bytes, key: bytes = b"") -> bytes:
    return hashlib.blake2b(payload, digest_size=8, key=key).hexdigest().encode()


def _line(data: Mapping[str, Any], key: bytes = b"") -> bytes:
    payload = _json(data)
    return _checksum(payload, key) + b" " + payload + b"\n"


def _parsed(line: bytes, key: bytes = b"") -> Any:
    """Return the data of a line, or None where the checksum does not fit."""
    checksum, _, payload = line.partition(b" ")
    return json.loads(payload) if checksum == _checksum(payload, key) else None


def _is_ours(content: bytes) -> bool:
    # A computer that lost its power may leave zeros in place of what was to be written.
    return content.startswith(_WORD) or _WORD.startswith(content) or not content.strip(b"\0")


def _foreign(path: Path) -> JournalError:
    return JournalError(f"{path} is no journal of a sweep: move it away, or name another file")


def _head(path: Path, content: bytes) -> dict[str, Any] | None:
    """Return what the first line says, or None where there is no whole first line."""
    if not _is_ours(content):
        raise _foreign(path)
    first, end, _ = content.partition(b"\n")
    if not end:
        return None
    number, _, rest = first.removeprefix(_WORD).partition(b" ")
    if number != b"%d" % FORMAT:
        raise JournalError(
            f"{path} is a journal of format {number.decode(errors='replace')[:20]}, made by "
            f"another version; this one reads format {FORMAT}: give --fresh (fresh=True) to play "
            "it all again, or name another file"
        )
    head = _parsed(rest)
    if not isinstance(head, dict):
        raise JournalError(
            f"{path} is damaged in its first line, which says what was swept: give --fresh "
            "(fresh=True) to play it all again"
        )
    return head


def _read(path: Path, content: bytes, key: bytes, points: int) -> tuple[dict[int, Row], int]:
    """Return the rows, and where the last whole line ends."""
    rows: dict[int, Row] = {}
    whole, _, rest = content.rpartition(b"\n")
    for number, line in enumerate(whole.split(b"\n")[1:], start=2):
        data = _parsed(line, key)
        if data is None or not 0 <= data["point"] < points:
            raise JournalError(
                f"{path} was edited or is damaged in line {number}: remove that line to play its "
                "point again, or give --fresh (fresh=True) to play them all"
            )
        rows[data["point"]] = Row.from_json(data["row"])
    return rows, len(content) - len(rest)


# -- the file -------------------------------------------------------------------------------------


def _open(path: Path) -> int:
    """Open and lock a file that may not be there yet."""
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; name another file")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    while True:
        try:
            handle = os.open(path, flags, 0o666)
        except OSError as error:
            raise FileError(f"cannot write {path}: {error.strerror or error}") from None
        try:
            _lock(path, handle)
            # Its owner may have removed it while we waited for its name.
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(handle)):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(path: Path, handle: int) -> None:
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte that no journal reaches: others may not even read what is locked.
            os.lseek(handle, 1 << 40, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise JournalError(
                f"{path} is being written by another sweep: wait for it, or name another file"
            ) from None
        raise FileError(
            f"cannot lock {path}: {error.strerror or error}: name a file on another disk"
        ) from None


def _content(path: Path, handle: int) -> bytes:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        parts = []
        while part := os.read(handle, 1 << 24):
            parts.append(part)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    return b"".join(parts)


def _settle_name(path: Path) -> None:
    """Write the folder's new entry to the disk, where folders can be opened."""
    with suppress(OSError):
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
