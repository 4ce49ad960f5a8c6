"""Experiments and faces: play, sweep, plot and the command ``pebble``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphs._guard import require_our_pebble

require_our_pebble(__name__)

if TYPE_CHECKING:
    from lab.analysis import crossovers
    from lab.credit import explain
    from lab.page.widget import widget
    from lab.playing import check, count, play
    from lab.plots import io_versus
    from lab.results import Results, Row
    from lab.sweeping import sweep

_HOME = {
    "Results": "results",
    "Row": "results",
    "check": "playing",
    "count": "playing",
    "crossovers": "analysis",
    "explain": "credit",
    "io_versus": "plots",
    "play": "playing",
    "sweep": "sweeping",
    "widget": "page.widget",
}

__all__ = ["Results", "Row", "check", "count", "crossovers", "explain", "io_versus"]
__all__ += ["play", "sweep", "widget"]


def __getattr__(name: str) -> Any:
    # Names are imported on first use: `pebble --help` needs none of them.
    if name not in _HOME:
        raise AttributeError(f"module 'lab' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lab.{_HOME[name]}"), name)
