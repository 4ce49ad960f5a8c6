"""The compact form of a trace: records of packed moves, each with a checksum.

Layout, little-endian: 8 bytes of magic; length and CRC-32 of a JSON header, the header; then
records of (number of moves, CRC-32 of that number and the moves, the moves); at last a record of
zero moves: 0, the total, a CRC-32 over the checksums of all records, and a CRC-32 of these three.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

import numpy as np

from pebble.errors import TraceError

if TYPE_CHECKING:
    from pebble.moves import Moves

__all__ = ["MAGIC", "CompactWriter", "read_fields", "read_moves"]

#: Not text, and broken by whatever rewrites ends of lines.
MAGIC = b"\x89pbl\r\n\x1a\n"

_HEAD = struct.Struct("<II")
_TAIL = struct.Struct("<QII")
_RECORD = 1 << 20  # moves in a record
_MOST = 1 << 24  # moves in a record that a reader makes room for
_HEADER = 1 << 24


class CompactWriter:
    """Writes the compact form."""

    def __init__(self, file: BinaryIO, fields: dict[str, str]) -> None:
        self._file = file
        self._checksum = 0
        self.count = 0
        header = json.dumps(fields, sort_keys=True).encode()
        file.write(MAGIC + _HEAD.pack(len(header), crc32(header)) + header)

    def write(self, moves: Moves) -> None:
        """Write packed moves."""
        for start in range(0, moves.size, _RECORD):
            payload = np.ascontiguousarray(moves[start : start + _RECORD], "<u4")
            size = struct.pack("<I", payload.size)
            checksum = struct.pack("<I", crc32(payload.data, crc32(size)))
            self._checksum = crc32(checksum, self._checksum)
            self._file.write(size + checksum)
            self._file.write(payload.data)
            self.count += payload.size

    def close(self) -> None:
        """Write the end record."""
        tail = struct.pack("<IQI", 0, self.count, self._checksum)
        self._file.write(tail + struct.pack("<I", crc32(tail)))


def read_fields(file: BinaryIO, where: str) -> dict[str, str]:
    """Read the header; the magic has been read."""
    length, checksum = _HEAD.unpack(_take(file, _HEAD.size, where, "the header"))
    if length > _HEADER:
        raise TraceError(f"{where} is damaged: its header claims to be {length:,} bytes long")
    header = bytes(_take(file, length, where, "the header"))
    if crc32(header) != checksum:
        raise TraceError(f"{where} is damaged: the checksum of its header does not match")
    try:
        fields = json.loads(header)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise TraceError(f"{where} is no trace: its header is no JSON object")
    return {str(key): str(value) for key, value in fields.items()}


def read_moves(file: BinaryIO, where: str) -> Iterator[Moves]:
    """Read records up to the end record; nothing may follow it."""
    total = running = 0
    while True:
        after = f"move {total + 1}"
        size = bytes(_take(file, 4, where, after))
        count = int.from_bytes(size, "little")
        if count == 0:
            break
        if count > _MOST:
            raise TraceError(f"{where} is damaged at {after}: a record claims {count:,} moves")
        checksum = bytes(_take(file, 4, where, after))
        payload = _take(file, 4 * count, where, after)
        if crc32(payload, crc32(size)) != int.from_bytes(checksum, "little"):
            last = total + count
            raise TraceError(
                f"{where} is damaged: the checksum of moves {total + 1} to {last} does not match"
            )
        running = crc32(checksum, running)
        total += count
        yield np.frombuffer(payload, "<u4").astype(np.uint32, copy=False)
    tail = bytes(_take(file, _TAIL.size, where, "its end record"))
    counted, checksums, own = _TAIL.unpack(tail)
    if crc32(size + tail[:-4]) != own or checksums != running or counted != total:
        raise TraceError(
            f"{where} is damaged: its end record does not match the {total} moves read"
        )
    if file.read(1):
        raise TraceError(f"{where} is damaged: something follows its end record")


def _take(file: BinaryIO, size: int, where: str, what: str) -> bytearray:
    """Read exactly so many bytes, never asking for more memory than the file can fill."""
    data = bytearray()
    while len(data) < size:
        piece = file.read(min(size - len(data), 1 << 24))
        if not piece:
            raise TraceError(f"{where} is truncated: it ends within {what}")
        data += piece
    return data
