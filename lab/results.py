"""Results: the rows of a sweep, and the files that hold them."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pebble.errors import PebbleError, SpecError, unknown
from pebble.files import replacing

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMAT", "Results", "ResultsError", "Row"]

#: Lines that a notebook shows at most.
_SHOWN = 100
#: Word in the head of a JSON file of results.
FORMAT = "pebble-results 1"


class ResultsError(PebbleError, ValueError):
    """A file that holds no results, or holds them damaged."""


@dataclass(frozen=True)
class Row:
    """One point of a sweep.

    Attributes
    ----------
    workload, strategy, rules : str
        Text forms.
    sizes : mapping of str to int
        The workload's sizes, as ``{"n": 64, "d": 16}``.
    memory : int
        M.
    method : str
        ``referee`` for a play judged move by move, ``tally`` for a count from the schedule's text.
    status : str
        ``ok``, or why there are no counts: ``needs M >= 87``.
    loads, stores, computes, recomputes, peak_red, moves : int or None
        As in `pebble.Report`; None where there are no counts.
    compulsory : int or None
        Inputs plus outputs, which every play moves; None where it is not known.
    certified : int or None
        The greatest certified bound: no play moves less; None where none is known.
    certified_by : str
        Name of the theorem behind it; empty if none.
    bound : str
        Name of the Θ that the workload has in the literature; empty if none.
    bound_value : float or None
        Its value here, without a constant.
    in_regime : bool or None
        Whether the Θ is stated for these sizes and this M.
    """

    workload: str
    sizes: Mapping[str, int] = field(hash=False)
    strategy: str
    memory: int
    rules: str
    method: str
    status: str = "ok"
    loads: int | None = None
    stores: int | None = None
    computes: int | None = None
    recomputes: int | None = None
    peak_red: int | None = None
    moves: int | None = None
    compulsory: int | None = None
    certified: int | None = None
    certified_by: str = ""
    bound: str = ""
    bound_value: float | None = None
    in_regime: bool | None = None

    @property
    def played(self) -> bool:
        """Whether the row has counts."""
        return self.status == "ok"

    @property
    def failed(self) -> bool:
        """Whether the point ended in an error, which another try may not."""
        return self.status.startswith("failed")

    @property
    def io(self) -> int | None:
        """Loads and stores together."""
        if self.loads is None or self.stores is None:
            return None
        return self.loads + self.stores

    @property
    def memory_over_d2(self) -> float | None:
        """M over the square of the head dimension, where there is one."""
        return self.memory / self.sizes["d"] ** 2 if "d" in self.sizes else None

    @property
    def io_over_bound(self) -> float | None:
        """I/O over the value of the Θ; a ratio of orders, so only its course means something."""
        return None if self.io is None or not self.bound_value else self.io / self.bound_value

    @property
    def io_over_certified(self) -> float | None:
        """I/O over the greatest certified bound: 1 would be optimal."""
        return None if self.io is None or not self.certified else self.io / self.certified

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types, the sizes as a dict of their own."""
        return {name: getattr(self, name) for name in COLUMNS} | {"sizes": dict(self.sizes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Row:
        """Read what `to_json` wrote."""
        row = cls(**{name: data[name] for name in _FIELDS})
        # What follows from other columns must: a file that was edited or cut shows here.
        for name in COLUMNS:
            if data[name] != getattr(row, name):
                raise ValueError(f"{name} is {data[name]}, not {getattr(row, name)}")
        if row.played != (row.io is not None):
            raise ValueError(f"status is {row.status}, and there are counts or none")
        return row


#: Fields that a report fills.
COUNTS = ("loads", "stores", "computes", "recomputes", "peak_red", "moves")
_FIELDS = [f.name for f in dataclasses.fields(Row)]
#: Columns of a table, after the sizes: fields of a row, and what follows from them.
COLUMNS = [name for name in _FIELDS if name != "sizes"]
COLUMNS.insert(COLUMNS.index("memory") + 1, "memory_over_d2")
COLUMNS.insert(COLUMNS.index("stores") + 1, "io")
COLUMNS += ["io_over_bound", "io_over_certified"]


class Results:
    """Rows of one or more sweeps, in order.

    Examples
    --------
    >>> from lab import sweep
    >>> results = sweep("attention-forward:n=8,d=4", "naive,flash", "4:64:x4")
    >>> [(row.strategy, row.memory, row.status, row.io) for row in results][2:4]
    [('naive', 64, 'ok', 1416), ('flash', 4, 'needs M >= 20', None)]
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> Results: ...
    def __getitem__(self, key: int | slice) -> Row | Results:
        return Results(self.rows[key]) if isinstance(key, slice) else self.rows[key]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def __add__(self, other: Results) -> Results:
        return Results(self.rows + other.rows)

    def _repr_html_(self) -> str:
        # A notebook shows the I/O of each strategy side by side, as `pebble sweep` does.
        from pebble.showing import table

        lines: dict[tuple[str, int], dict[str, int | None]] = {}
        for row in self.rows:
            lines.setdefault((row.workload, row.memory), {})[row.strategy] = row.io
        shown = [
            [workload, memory, *(counts.get(name) for name in self.strategies)]
            for (workload, memory), counts in list(lines.items())[:_SHOWN]
        ]
        more = len(lines) - len(shown)
        foot = f"I/O, loads + stores{f'; {more:,} more lines' if more > 0 else ''}"
        return table(["workload", "M", *self.strategies], shown, foot=foot)

    def __repr__(self) -> str:
        return (
            f"<Results: {len(self)} rows, {len(self.workloads)} workloads, "
            f"{len(self.strategies)} strategies>"
        )

    @property
    def workloads(self) -> list[str]:
        """Text forms of the workloads, in order of appearance."""
        return list(dict.fromkeys(row.workload for row in self.rows))

    @property
    def strategies(self) -> list[str]:
        """Text forms of the strategies, in order of appearance."""
        return list(dict.fromkeys(row.strategy for row in self.rows))

    @property
    def memories(self) -> list[int]:
        """Values of M, ascending."""
        return sorted({row.memory for row in self.rows})

    @property
    def played(self) -> Results:
        """The rows that have counts."""
        return Results(row for row in self.rows if row.played)

    def where(self, **conditions: object) -> Results:
        """Return the rows whose columns or sizes have the given values.

        Examples
        --------
        >>> from lab import sweep
        >>> results = sweep("matmul:m=2,n=2,k=2", "naive", "4,8")
        >>> len(results.where(memory=8, n=2))
        1
        """
        known = {*COLUMNS, *(size for row in self.rows for size in row.sizes)}
        for name in conditions:
            if name not in known and self.rows:
                raise unknown("column", name, known)
        return Results(
            row
            for row in self.rows
            if all(_value(row, name) == value for name, value in conditions.items())
        )

    # -- tables ------------------------------------------------------------------------------

    def to_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return column names, sizes among them, and one list of values per row."""
        sizes = list(dict.fromkeys(size for row in self.rows for size in row.sizes))
        names = [COLUMNS[0], *sizes, *COLUMNS[1:]]
        return names, [[_value(row, name) for name in names] for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame; counts are nullable integers.

        A column with a number of more than 64 bits, which a tally may well have, holds plain
        Python integers.

        Raises
        ------
        SpecError
            If pandas is not installed.
        """
        pandas = _pandas()
        names, values = self.to_table()
        frame = pandas.DataFrame(values, columns=names, dtype=object)
        kinds = {int: "Int64", float: "Float64", bool: "boolean", str: "string"}
        kept = _long(names, values)
        return frame.astype({n: kinds[_KINDS.get(n, int)] for n in names if n not in kept})

    # -- files -------------------------------------------------------------------------------

    def write(self, path: str | Path) -> None:
        """Write ``.csv``, ``.json`` or ``.parquet`` (with pandas and pyarrow).

        The file appears whole or not at all, and when this returns it is on the disk. In parquet,
        which knows no integers of more than 64 bits, a column with one is written as text.

        Raises
        ------
        SpecError
            If the name ends otherwise.
        """
        writer = _codec(path)[0]
        with replacing(path) as temporary:
            writer(self, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())

    @classmethod
    def read(cls, path: str | Path) -> Results:
        """Read what `write` wrote.

        Raises
        ------
        ResultsError
            If there is no such file or it holds no results.
        SpecError
            If the name ends otherwise than `write` allows.
        """
        reader = _codec(path)[1]
        try:
            return Results(reader(Path(path)))
        except PebbleError:
            raise
        except FileNotFoundError:
            raise ResultsError(f"{path}: there is no such file") from None
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error.strerror or error}") from None
        except Exception as error:  # noqa: BLE001
            # Whatever csv, json and pandas make of a foreign file.
            raise ResultsError(
                f"{path}: holds no results of a sweep, or holds them damaged "
                f"({type(error).__name__}: {error}): run the sweep again"
            ) from None


def check_name(path: str | Path) -> None:
    """Raise `SpecError` unless results can be written to a file of this name."""
    _codec(path)


def _value(row: Row, name: str) -> Any:
    return getattr(row, name) if name in COLUMNS else row.sizes.get(name)


def _long(names: Sequence[str], values: Sequence[Sequence[Any]]) -> list[str]:
    """Return the columns of integers that 64 bits do not hold."""
    limit = 1 << 63
    return [
        name
        for name, column in zip(names, zip(*values, strict=True), strict=False)
        if any(isinstance(cell, int) and not -limit <= cell < limit for cell in column)
    ]


def _kind(annotation: Any) -> type:
    kinds = [k for k in typing.get_args(annotation) if k is not type(None)] or [annotation]
    kind: type = kinds[0]
    return kind


_HINTS = typing.get_type_hints(Row)
_KINDS: dict[str, type] = {name: _kind(_HINTS[name]) for name in _FIELDS if name != "sizes"}
_KINDS |= {"memory_over_d2": float, "io": int, "io_over_bound": float, "io_over_certified": float}


def _row(cells: Mapping[str, Any]) -> Row:
    """Build a row from the columns of a table: what is no column of ours is a size."""
    missing = [name for name in COLUMNS if name not in cells]
    if missing:
        raise ValueError(f"no column {', '.join(missing)}")
    data = {name: cells[name] for name in COLUMNS}
    sizes = {name: cells[name] for name in cells if name not in COLUMNS}
    data["sizes"] = {name: value for name, value in sizes.items() if value is not None}
    return Row.from_json(data)


def _read_cell(name: str, text: str) -> Any:
    kind = _KINDS.get(name, int)
    if kind is str:
        return text
    if text == "":
        return None
    if kind is bool:
        return {"True": True, "False": False}[text]
    return kind(text)


def _write_csv(results: Results, path: Path) -> None:
    names, values = results.to_table()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(["" if cell is None else cell for cell in row] for row in values)


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        if not file.read().endswith("\n"):
            raise ValueError("the last line is cut")
        file.seek(0)
        reader = csv.reader(file, strict=True)
        names = next(reader, [])
        for cells in reader:
            texts = dict(zip(names, cells, strict=True))
            yield _row({name: _read_cell(name, text) for name, text in texts.items()})
        if missing := [name for name in COLUMNS if name not in names]:
            raise ValueError(f"no column {', '.join(missing)}")


def _write_json(results: Results, path: Path) -> None:
    rows = [row.to_json() for row in results]
    path.write_text(json.dumps({"format": FORMAT, "rows": rows}, indent=1), encoding="utf-8")


def _read_json(path: Path) -> Iterator[Row]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["format"] != FORMAT:
        raise ValueError(f"format is {data['format']!r}, not {FORMAT!r}")
    yield from map(Row.from_json, data["rows"])


def _write_parquet(results: Results, path: Path) -> None:
    names, values = results.to_table()
    texts = dict.fromkeys(_long(names, values), "string")
    results.to_frame().astype(texts).to_parquet(path, index=False)


def _read_parquet(path: Path) -> Iterator[Row]:
    frame = _pandas().read_parquet(path)
    for record in frame.to_dict("records"):
        yield _row({name: _plain(_KINDS.get(name, int), cell) for name, cell in record.items()})


def _plain(kind: type, cell: Any) -> Any:
    """Return a cell of a frame as a Python value; pandas has several ways to say nothing."""
    if cell is None or not isinstance(cell, str | int | float | bool):
        return None
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return kind(cell)


def _pandas() -> Any:
    try:
        import pandas as pd
        import pyarrow as pa  # noqa: F401
    except ImportError:
        raise SpecError(
            "frames and parquet files need pandas and pyarrow: "
            "pip install 'redblue-pebble[frames]', or write .csv or .json"
        ) from None
    return pd


_Writer = Callable[[Results, Path], None]
_Reader = Callable[[Path], Iterator[Row]]
_CODECS: dict[str, tuple[_Writer, _Reader]] = {
    ".csv": (_write_csv, _read_csv),
    ".json": (_write_json, _read_json),
    ".parquet": (_write_parquet, _read_parquet),
}


def _codec(path: str | Path) -> tuple[_Writer, _Reader]:
    suffix = Path(path).suffix.lower()
    if suffix not in _CODECS:
        raise SpecError(f"{path}: results are written as {', '.join(_CODECS)}, not {suffix!r}")
    return _CODECS[suffix]
