"""Files are written under a temporary name and renamed, so that no half-written one is left."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pebble.errors import PebbleError

__all__ = ["FileError", "replacing"]


class FileError(PebbleError, OSError):
    """A file that cannot be written."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that replaces it when the block ends well.

    Raises
    ------
    FileError
        If the folder does not exist or cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     print((Path(folder) / "a.txt").read_text())
    whole
    """
    path = Path(path)
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; name a file")
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files only their owner can read; a result gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
