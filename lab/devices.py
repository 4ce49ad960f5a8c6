"""Real devices on the axis M / d²: how large fast memory is, and which schedule moves least there.

The figures are kept in ``lab/data/devices.json``, each with its source. M counts scalars, as if all
of that memory held them: a kernel that keeps accumulators in fp32, double buffers, or shares the
memory with another one, has less, and registers that it uses besides are not counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from lab.layers import DATA_TYPES
from pebble.errors import BudgetError, SpecError

if TYPE_CHECKING:
    from graphs.registry import Workload

__all__ = ["Device", "Verdict", "devices", "regime", "verdicts"]


@dataclass(frozen=True)
class Device:
    """A device and its fast memory.

    Attributes
    ----------
    name, memory : str
        The device, and which of its memories is meant.
    bytes : int
        Its size, of one core.
    data_type : str
        Of the scalars, a key of `lab.layers.DATA_TYPES`.
    source, address : str
        Where the figure is published.
    """

    name: str
    memory: str
    bytes: int
    data_type: str
    source: str
    address: str

    @property
    def scalars(self) -> int:
        """M: how many scalars the memory holds."""
        return self.bytes // DATA_TYPES[self.data_type]


@dataclass(frozen=True)
class Verdict:
    """What a device makes of a workload.

    Attributes
    ----------
    device : Device
        The device.
    workload : str
        Text form.
    n, d : int
        Its sizes.
    memory : int
        M in scalars.
    ratio : float
        M / d².
    regime : str
        `regime` of it.
    strategy : str or None
        The tile schedule with the least I/O; None where none plays with so little memory.
    io : int or None
        Its I/O, in scalars.
    over_compulsory : float or None
        That over inputs plus outputs.
    """

    device: Device
    workload: str
    n: int
    d: int
    memory: int
    ratio: float
    regime: str
    strategy: str | None
    io: int | None
    over_compulsory: float | None

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        return asdict(self)


@lru_cache(maxsize=1)
def devices() -> tuple[Device, ...]:
    """Return the devices that are known, as published.

    Examples
    --------
    >>> next(device for device in devices() if device.name == "NVIDIA H100").scalars
    116736
    """
    text = (resources.files("lab") / "data" / "devices.json").read_text(encoding="utf-8")
    return tuple(Device(**row) for row in json.loads(text))


def regime(memory: int, n: int, d: int) -> str:
    """Return on which side of M = d² a memory lies.

    Examples
    --------
    >>> regime(98304, n=4096, d=64), regime(98304, n=4096, d=512), regime(98304, n=1024, d=16)
    ('large cache', 'small cache', 'M >= n d')
    """
    if memory >= n * d:
        return "M >= n d"
    return "large cache" if memory >= d * d else "small cache"


def verdicts(
    workloads: Iterable[Workload], progress: Callable[[int], None] | None = None
) -> list[Verdict]:
    """Choose the schedule with the least I/O for every device and workload.

    Parameters
    ----------
    workloads : iterable of Workload
        With sizes n and d.
    progress : callable, optional
        Called with the number of verdicts reached.

    Raises
    ------
    SpecError
        If a workload has no n and d.

    Examples
    --------
    >>> from graphs import workload
    >>> found = verdicts([workload("attention-forward:n=1024,d=256")])
    >>> [(v.memory, round(v.ratio, 3), v.strategy) for v in found if "Dao22" in v.device.name]
    [(98304, 1.5, 'attenio')]
    """
    found: list[Verdict] = []
    for what in workloads:
        sizes = what.sizes()
        if not {"n", "d"} <= set(sizes):
            raise SpecError(
                f"{what} has no head dimension d: take an attention, such as attention-backward"
            )
        for device in devices():
            found.append(_verdict(device, what, sizes["n"], sizes["d"]))
            if progress is not None:
                progress(len(found))
    return found


def _verdict(device: Device, workload: Workload, n: int, d: int) -> Verdict:
    from lab.yardsticks import compulsory
    from strategies.best import Best

    memory = device.scalars
    strategy, io, over = None, None, None
    try:
        best = Best().choose(workload, memory)
    except BudgetError:
        pass
    else:
        strategy, io = str(best), best.count(workload, memory).io
        least = compulsory(workload)
        over = io / least if least else None
    return Verdict(
        device,
        str(workload),
        n,
        d,
        memory,
        memory / d**2,
        regime(memory, n, d),
        strategy,
        io,
        over,
    )
