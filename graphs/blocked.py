"""Orders of computation in blocks that fit into M: sub-butterflies, strips, square tiles."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pebble.tensor import Tensor

__all__ = ["fft_order", "grid_order", "product_order", "pyramid_order"]


def fft_order(n: int, memory: int) -> npt.NDArray[np.uint32]:
    """Order the butterfly on n points in passes of sub-butterflies on b points, b + 2 <= M.

    A pass does log2(b) stages; each of its n / b sub-butterflies runs in fast memory alone
    (Hong and Kung 1981, section 4).

    Examples
    --------
    >>> fft_order(4, memory=4).tolist()
    [4, 5, 6, 7, 8, 10, 9, 11]
    """
    stages = n.bit_length() - 1
    depth = max(1, (memory - 2).bit_length() - 1)
    order = []
    for s in range(0, stages, depth):
        here = min(depth, stages - s)
        # Point = high bits, then `here` bits that this pass mixes, then s low bits.
        points = np.arange(n).reshape(n >> (s + here), 1 << here, 1 << s)
        groups = points.transpose(0, 2, 1).reshape(-1, 1 << here)
        # The two results of one pair of operands stand together, so that two places do for them.
        local = np.arange(1 << here)
        pairs = [local.reshape(-1, 2, 1 << q).swapaxes(1, 2).ravel() for q in range(here)]
        stage = [groups[:, pair] + (s + 1 + q) * n for q, pair in enumerate(pairs)]
        order.append(np.concatenate(stage, axis=1).ravel())
    return np.concatenate(order).astype(np.uint32)


def grid_order(rows: int, columns: int, memory: int) -> npt.NDArray[np.uint32]:
    """Order a grid in strips of M - 2 rows (or columns, where that makes fewer crossings).

    A strip is walked along its length; only its last row is stored and loaded again. The first
    strip, which loads nothing, has a row more.

    Examples
    --------
    >>> grid_order(3, 3, memory=3).tolist()
    [3, 1, 4, 2, 5, 6, 7, 8]
    """
    height = max(1, memory - 2)
    v = np.arange(rows * columns).reshape(rows, columns)
    crossings = [max(0, -(-(size - 1 - height) // height)) for size in v.shape]
    if crossings[0] * columns > crossings[1] * rows:
        v = v.T
    cuts = [0, *range(height + 1, v.shape[0], height), v.shape[0]]
    strips = [v[low:high].T.ravel() for low, high in pairwise(cuts)]
    return np.concatenate(strips)[1:].astype(np.uint32)


def pyramid_order(h: int, memory: int) -> npt.NDArray[np.uint32]:
    """Order a pyramid in strips of M - 2 rows, each walked diagonal by diagonal.

    Examples
    --------
    >>> pyramid_order(3, memory=4).tolist()
    [4, 5, 7, 6, 8, 9]
    """
    height = max(1, memory - 2)
    order = []
    first = np.array([r * (h + 1) - r * (r - 1) // 2 for r in range(h + 1)])
    for low in range(1, h + 1, height):
        r = np.arange(low, min(low + height, h + 1))
        diagonal = np.arange(low, h + 1)[:, None]
        # (r, i) lies on diagonal r + i; row r has the diagonals r to h.
        order.append((first[r] + diagonal - r)[diagonal >= r])
    return np.concatenate(order or [np.empty(0, np.int64)]).astype(np.uint32)


def product_order(
    m: int, n: int, k: int, tensors: dict[str, Tensor], memory: int, name: str = "C"
) -> npt.NDArray[np.uint32]:
    """Order a matrix product in square tiles of running sums, b**2 + b + 3 <= M.

    Examples
    --------
    >>> from graphs.layout import Layout
    >>> from graphs.registry import workload
    >>> tensors = Layout.of(workload("matmul:m=1,n=2,k=2").formula()).tensors
    >>> product_order(1, 2, 2, tensors, memory=5).tolist()  # product, product, sum; the next entry
    [6, 7, 10, 8, 9, 11]
    """
    b = 1
    while (b + 1) ** 2 + (b + 1) + 3 <= memory:
        b += 1
    products = _numbers(tensors[f"{name}.prod"])
    if k == 1:
        sums = np.empty((m, n, 0), np.int64)
    elif k == 2:
        sums = _numbers(tensors[name])[:, :, None]
    else:
        sums = np.concatenate(
            [_numbers(tensors[f"{name}.sum"]), _numbers(tensors[name])[:, :, None]], axis=2
        )
    order = []
    for i in range(0, m, b):
        for j in range(0, n, b):
            tile = products[i : i + b, j : j + b].transpose(2, 1, 0)  # term, column, row
            order.append(tile[0].ravel())
            added = sums[i : i + b, j : j + b].transpose(2, 1, 0)
            order.append(np.stack([tile[1:], added], axis=-1).ravel())
    return np.concatenate(order).astype(np.uint32)


def _numbers(tensor: Tensor) -> npt.NDArray[np.int64]:
    """Return the vertices of a tensor as an array of its shape."""
    out = np.array(tensor.base, np.int64)
    for size, stride in zip(tensor.shape, tensor.strides, strict=True):
        out = out[..., None] + np.arange(size, dtype=np.int64) * stride
    return out
