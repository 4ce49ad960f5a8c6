"""What to compute: workloads that build computation DAGs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from graphs._guard import require_our_pebble

require_our_pebble(__name__)

if TYPE_CHECKING:
    from graphs.expressions import Formula, exp, maximum
    from graphs.files import read_graph, write_graph
    from graphs.registry import GivenDag, Workload, workload, workloads

_HOME = {
    "Formula": "expressions",
    "GivenDag": "registry",
    "Workload": "registry",
    "exp": "expressions",
    "maximum": "expressions",
    "read_graph": "files",
    "workload": "registry",
    "workloads": "registry",
    "write_graph": "files",
}

__all__ = ["Formula", "GivenDag", "Workload", "exp", "maximum", "read_graph"]
__all__ += ["workload", "workloads", "write_graph"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'graphs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"graphs.{_HOME[name]}"), name)
