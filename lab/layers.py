"""From one head to a whole layer, and from scalars to bytes.

A report counts scalars of one head. A layer plays all its heads, for every sequence of the batch,
each by itself: its traffic is the head's times both, and bytes are scalars times the width of the
data type. The counts themselves stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pebble.errors import SpecError, unknown

if TYPE_CHECKING:
    from pebble.report import Report

__all__ = ["DATA_TYPES", "Layer", "bytes_text", "read_width"]

#: Bytes of one scalar.
DATA_TYPES: dict[str, int] = {
    "fp64": 8,
    "fp32": 4,
    "tf32": 4,
    "fp16": 2,
    "bf16": 2,
    "fp8": 1,
    "int8": 1,
}

#: A width above this is a slip of the pen.
WIDEST = 16


def read_width(text: str) -> int:
    """Return the bytes of one scalar from a data type or a number.

    Raises
    ------
    UnknownNameError, SpecError
        If the text is neither.

    Examples
    --------
    >>> read_width("fp16"), read_width("4")
    (2, 4)
    """
    name = text.strip().lower()
    if name in DATA_TYPES:
        return DATA_TYPES[name]
    if name.isdecimal() and name.isascii() and len(name) < 4:
        if 1 <= int(name) <= WIDEST:
            return int(name)
        raise SpecError(f"a scalar has between 1 and {WIDEST} bytes, got {text!r}")
    raise unknown("data type (or number of bytes)", text, DATA_TYPES)


def bytes_text(number: int) -> str:
    """Write a number of bytes with three digits, in powers of 1000 as papers do.

    Examples
    --------
    >>> bytes_text(40_265_318_400), bytes_text(134_217_728), bytes_text(512)
    ('40.3 GB', '134 MB', '512 bytes')
    """
    if number < 1000:
        return f"{number} bytes"
    units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    value = number / 1000
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    shown = f"{value:#.3g}".rstrip(".") if value < 999.5 else f"{value:,.0f}"
    return f"{shown} {units[0]}"


@dataclass(frozen=True)
class Layer:
    """Heads, batch and data type of an attention layer.

    Attributes
    ----------
    heads, batch : int
        Heads of the layer, and sequences.
    width : int or None
        Bytes a scalar; None where nobody said, and then nothing is said in bytes.

    Examples
    --------
    >>> layer = Layer(heads=16, batch=64, width=2)
    >>> print(layer)
    16 heads x batch 64, 2 bytes a scalar
    >>> layer.scalars(65536), layer.text(65536)
    (67108864, '67,108,864 scalars = 134 MB')
    """

    heads: int = 1
    batch: int = 1
    width: int | None = None

    def __post_init__(self) -> None:
        for name in ("heads", "batch"):
            if getattr(self, name) < 1:
                raise SpecError(f"{name} must be at least 1, got {getattr(self, name)}")

    def __str__(self) -> str:
        width = {None: "", 1: ", 1 byte a scalar"}.get(self.width, f", {self.width} bytes a scalar")
        heads = "1 head" if self.heads == 1 else f"{self.heads:,} heads"
        return f"{heads} x batch {self.batch:,}{width}"

    def scalars(self, head: int) -> int:
        """Return the scalars that the layer moves where one head moves ``head``."""
        return head * self.heads * self.batch

    def bytes(self, head: int) -> int | None:
        """Return the bytes that the layer moves; None without a width."""
        return None if self.width is None else self.scalars(head) * self.width

    def text(self, head: int) -> str:
        """Return a count of one head as words about the layer."""
        scalars, size = self.scalars(head), self.bytes(head)
        return f"{scalars:,} scalars" + ("" if size is None else f" = {bytes_text(size)}")

    def short(self, head: int) -> str:
        """Return a count of one head as a cell of a table: bytes, or scalars without a width."""
        size = self.bytes(head)
        return f"{self.scalars(head):,}" if size is None else bytes_text(size)

    def to_json(self) -> dict[str, Any]:
        """Return what the layer is, as plain types."""
        return {"heads": self.heads, "batch": self.batch, "bytes_per_scalar": self.width}

    def scaled(self, counts: Mapping[str, int | None]) -> dict[str, Any]:
        """Return counts of one head, by name, for the layer: scalars, and bytes under ``_bytes``.

        Examples
        --------
        >>> Layer(heads=2, width=4).scaled({"io": 10})
        {'io': 20, 'io_bytes': 80}
        """
        shown: dict[str, Any] = {}
        for name, count in counts.items():
            shown[name] = None if count is None else self.scalars(count)
            if self.width is not None:
                shown[f"{name}_bytes"] = None if count is None else self.bytes(count)
        return shown

    def traffic(self, report: Report) -> dict[str, Any]:
        """Return a report's loads, stores and I/O for the layer, and M in bytes (of one head)."""
        counts = {"loads": report.loads, "stores": report.stores, "io": report.io}
        shown = self.to_json() | self.scaled(counts)
        if self.width is not None:
            shown["fast_memory_bytes"] = report.memory * self.width
        return shown
