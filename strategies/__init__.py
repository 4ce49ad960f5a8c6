"""How to play: schedules of the literature, and schedules for any DAG."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphs._guard import require_our_pebble

require_our_pebble(__name__)

if TYPE_CHECKING:
    from strategies.conformance import check_strategy
    from strategies.registry import STRATEGIES, RefusalError, Strategy, strategies, strategy
    from strategies.schedule import Schedule

_HOME = {
    "RefusalError": "registry",
    "STRATEGIES": "registry",
    "Schedule": "schedule",
    "Strategy": "registry",
    "check_strategy": "conformance",
    "strategies": "registry",
    "strategy": "registry",
}

__all__ = ["STRATEGIES", "RefusalError", "Schedule", "Strategy", "check_strategy"]
__all__ += ["strategies", "strategy"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'strategies' has no attribute {name!r}")
    return getattr(importlib.import_module(f"strategies.{_HOME[name]}"), name)
