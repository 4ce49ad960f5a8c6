"""What no player can beat: theorems of the literature, and bounds of any DAG."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphs._guard import require_our_pebble

require_our_pebble(__name__)

if TYPE_CHECKING:
    from bounds.any_dag import best_bound, bounds_of
    from bounds.bound import Bound, crossover, regimes
    from bounds.dag_bound import DagBound
    from bounds.theorems import all_theorems, theorems_for

__all__ = ["Bound", "DagBound", "all_theorems", "best_bound", "bounds_of", "crossover", "regimes"]
__all__ += ["theorems_for"]

_HOME = {
    "Bound": "bound",
    "DagBound": "dag_bound",
    "all_theorems": "theorems",
    "best_bound": "any_dag",
    "bounds_of": "any_dag",
    "crossover": "bound",
    "regimes": "bound",
    "theorems_for": "theorems",
}


def __getattr__(name: str) -> Any:
    # Names are imported on first use: sympy would cost the command line its start-up.
    if name not in _HOME:
        raise AttributeError(f"module 'bounds' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bounds.{_HOME[name]}"), name)
