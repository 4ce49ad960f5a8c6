"""Report: what a play costs, in exact integers."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pebble.rules import Rules

if TYPE_CHECKING:
    from fractions import Fraction

    from pebble.timeline import Timeline

__all__ = ["Report", "Traffic"]


class Traffic(NamedTuple):
    """Loads and stores of one tensor."""

    loads: int
    stores: int


@dataclass(frozen=True)
class Report:
    """Counts of a finished play.

    Attributes
    ----------
    workload, strategy : str
        Text forms of what was played and how; empty when nobody said.
    memory : int
        M, the number of red pebbles allowed.
    rules : Rules
        Conventions that the counts hold under; a text form is read.
    loads, stores, computes, recomputes : int
        Moves of each kind; a recompute is a compute of a vertex computed before. Under partial
        computation each absorbed operand is a compute.
    peak_red : int
        Most red pebbles at one time. Under sliding, the result that takes an operand's place is
        counted after it has done so.
    moves : int
        All moves, deletes included.
    tensors : mapping of str to Traffic
        Loads and stores by the tensor that owns the vertex; tensors without traffic are left out.
    timeline : Timeline, optional
        The counts as they grew, where the referee was asked for them; no part of comparisons.

    Examples
    --------
    >>> report = Report("pyramid:h=1", "naive", 3, Rules(), 2, 1, 1, 0, 3, 6, {"vertex": (2, 1)})
    >>> report.io, report.to_json()["tensors"]
    (3, {'vertex': {'loads': 2, 'stores': 1}})
    >>> print(report)
    pyramid:h=1 by naive, M=3, rules hk
    I/O         3  (2 loads, 1 store)
    computes    1  (0 recomputes)
    peak red    3  (of 3)
    moves       6
    <BLANKLINE>
    tensor  loads  stores
    vertex      2       1
    """

    workload: str
    strategy: str
    memory: int
    rules: Rules
    loads: int
    stores: int
    computes: int
    recomputes: int
    peak_red: int
    moves: int
    tensors: Mapping[str, Traffic] = field(default_factory=dict, hash=False)
    timeline: Timeline | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.rules, str):
            object.__setattr__(self, "rules", Rules.parse(self.rules))
        for name in _COUNTS:
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        tensors = {
            name: Traffic(operator.index(loads), operator.index(stores))
            for name, (loads, stores) in self.tensors.items()
            if loads or stores
        }
        object.__setattr__(self, "tensors", tensors)

    @property
    def io(self) -> int:
        """Loads and stores together."""
        return self.loads + self.stores

    @property
    def cost(self) -> int | Fraction:
        """I/O plus, where the rules put a price on computes, that price for each."""
        price = self.rules.compute_price
        return self.io + price * self.computes if price else self.io

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        shown: dict[str, Any] = {
            "workload": self.workload,
            "strategy": self.strategy,
            "memory": self.memory,
            "rules": str(self.rules),
            "loads": self.loads,
            "stores": self.stores,
            "io": self.io,
            "computes": self.computes,
            "recomputes": self.recomputes,
            "peak_red": self.peak_red,
            "moves": self.moves,
            "tensors": {name: traffic._asdict() for name, traffic in self.tensors.items()},
        }
        if self.rules.compute_price:
            shown["cost"] = str(self.cost)
        if self.timeline is not None:
            shown["timeline"] = self.timeline.to_json()
        return shown

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        read = {"rules", "tensors", "timeline"}
        names = [f.name for f in dataclasses.fields(cls) if f.name not in read]
        tensors = {
            name: Traffic(traffic["loads"], traffic["stores"])
            for name, traffic in data["tensors"].items()
        }
        values = {name: data[name] for name in names}
        timeline = None
        if "timeline" in data:
            from pebble.timeline import Timeline

            timeline = Timeline.from_json(data["timeline"])
        rules = Rules.parse(data["rules"])
        return cls(**values, rules=rules, tensors=tensors, timeline=timeline)

    def __str__(self) -> str:
        who = f"{self.workload or 'a play'}{f' by {self.strategy}' if self.strategy else ''}"
        rows = [
            ("I/O", self.io, f"({_many(self.loads, 'load')}, {_many(self.stores, 'store')})"),
            ("computes", self.computes, f"({_many(self.recomputes, 'recompute')})"),
            ("peak red", self.peak_red, f"(of {self.memory:,})"),
            ("moves", self.moves, ""),
        ]
        width = max(len(f"{count:,}") for _, count, _ in rows)
        lines = [f"{who}, M={self.memory}, rules {self.rules}"]
        lines += [f"{what:8}  {count:>{width + 2},}  {more}".rstrip() for what, count, more in rows]
        if self.rules.compute_price:
            lines.append(f"cost      {self.cost}")
        if self.tensors:
            table = [("tensor", "loads", "stores")]
            table += [(name, f"{t.loads:,}", f"{t.stores:,}") for name, t in self.tensors.items()]
            first, second, third = (max(map(len, column)) for column in zip(*table, strict=True))
            lines.append("")
            lines += [f"{a:{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in table]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # A notebook shows the same numbers as `str`.
        from pebble.showing import table

        who = f"{self.workload or 'a play'}{f' by {self.strategy}' if self.strategy else ''}"
        price = f", cost {self.cost}" if self.rules.compute_price else ""
        counts = (
            f"I/O {self.io:,}: {_many(self.loads, 'load')}, {_many(self.stores, 'store')}{price}; "
            f"{_many(self.computes, 'compute')} ({_many(self.recomputes, 'recompute')}), "
            f"peak red {self.peak_red:,}, {_many(self.moves, 'move')}"
        )
        rows = [[name, t.loads, t.stores, t.loads + t.stores] for name, t in self.tensors.items()]
        rows.append(["all", self.loads, self.stores, self.io])
        title = f"{who}, M={self.memory:,}, rules {self.rules}"
        return table(["tensor", "loads", "stores", "I/O"], rows, caption=title, foot=counts)


_COUNTS = ("memory", "loads", "stores", "computes", "recomputes", "peak_red", "moves")


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
