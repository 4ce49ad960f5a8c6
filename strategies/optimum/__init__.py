"""The true optimum: exact search over packed states, and the strategy that plays its certificate.

`solve` answers for a DAG, M and rules; `strategies.optimum.player` registers ``optimal``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import strategies.optimum.player  # noqa: F401 - registers the strategy

if TYPE_CHECKING:
    from strategies.optimum.solver import Solution, is_compiled, solve

__all__ = ["Solution", "is_compiled", "solve"]


def __getattr__(name: str) -> Any:
    # The searches load numba; listing strategies must not.
    if name not in __all__:
        raise AttributeError(f"module 'strategies.optimum' has no attribute {name!r}")
    return getattr(importlib.import_module("strategies.optimum.solver"), name)
