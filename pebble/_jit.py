"""Compilation of kernels, kept on disk wherever some folder can be written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jit"]


def jit(function: Callable[..., Any]) -> Any:
    """Compile a kernel with numba on its first call and keep the machine code for later runs.

    numba keeps it beside the source or, where that folder is read-only, in the user's cache
    folder. Where neither can be written, or the disk is full, the kernel is compiled afresh in
    every process: slower to start, never an error.
    """
    try:
        compiled = numba.njit(cache=True)(function)
    except (RuntimeError, OSError):  # numba found no folder that it may write
        return numba.njit(function)
    cache: Any = getattr(compiled, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if save is not None:

        def save_if_possible(signature: Any, data: Any) -> None:
            with contextlib.suppress(OSError):
                save(signature, data)

        cache.save_overload = save_if_possible
    return compiled
