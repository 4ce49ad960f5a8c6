"""The red-blue pebble game of Hong and Kung: DAGs, moves, rules, a game, a referee, a machine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Another distribution called Pebble also imports as ``pebble``; this tells ours.
__distribution__ = "redblue-pebble"
__version__ = "0.1.0"

if TYPE_CHECKING:
    from pebble.dag import Dag
    from pebble.game import Game
    from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move
    from pebble.referee import referee
    from pebble.report import Report
    from pebble.rules import HK, ONE_SHOT, Rules
    from pebble.trace import Trace, read_trace, write_trace

_HOME = {
    "COMPUTE": "moves",
    "DELETE": "moves",
    "Dag": "dag",
    "Game": "game",
    "HK": "rules",
    "LOAD": "moves",
    "Move": "moves",
    "ONE_SHOT": "rules",
    "Report": "report",
    "Rules": "rules",
    "STORE": "moves",
    "Trace": "trace",
    "read_trace": "trace",
    "referee": "referee",
    "write_trace": "trace",
}

__all__ = [
    "COMPUTE",
    "DELETE",
    "HK",
    "LOAD",
    "ONE_SHOT",
    "STORE",
    "Dag",
    "Game",
    "Move",
    "Report",
    "Rules",
    "Trace",
    "read_trace",
    "referee",
    "write_trace",
]


def __getattr__(name: str) -> Any:
    # Names are imported on first use: numba and numpy would cost the command line its start-up.
    if name not in _HOME:
        raise AttributeError(f"module 'pebble' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pebble.{_HOME[name]}"), name)
