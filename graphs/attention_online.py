"""Online softmax: a running maximum, rescaled key block by key block (Dao22, RS21).

The keys come in blocks of a given size. After block b a row keeps the maximum m_b of its scores so
far, the sum l_b and the product U_b of exponentials taken against that maximum:

    m_b = max(m_{b-1}, max_j S_b),  A_b = exp(S_b - m_b),  c_b = exp(m_{b-1} - m_b),
    l_b = c_b l_{b-1} + sum_j A_b,  U_b = c_b U_{b-1} + A_b V_b,

and O = U_T / l_T at the end. This is a DAG of its own: the block size is part of the computation,
and a schedule can neither take other blocks nor another order of them. K and V are inputs block by
block, K1, V1, K2, V2, ..., with the entries that they have in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphs.expressions import exp, maximum
from pebble.errors import SpecError

if TYPE_CHECKING:
    from graphs.expressions import Array, Formula, Index, Size

__all__ = ["blocks", "online"]

#: More key blocks than this take longer to write down than to count.
MOST_BLOCKS = 1 << 16


def blocks(n: int, block: int) -> list[int]:
    """Return the sizes of the key blocks; the last holds the rest.

    Examples
    --------
    >>> blocks(10, 4)
    [4, 4, 2]
    """
    if -(-n // block) > MOST_BLOCKS:
        raise SpecError(f"{-(-n // block):,} key blocks are more than {MOST_BLOCKS:,}: take larger")
    return [min(block, n - start) for start in range(0, n, block)]


@dataclass(frozen=True, eq=False)
class _Row:
    """What a row keeps: its maximum, its sum, its product with V."""

    m: Array
    l: Array
    U: Array


def online(g: Formula, n: int, d: Size, block: int) -> Array:
    """Write the forward pass with online softmax, and return O.

    Parameters
    ----------
    g : Formula
        Where to.
    n, block : int
        Sequence length and keys per block: numbers, since the DAG depends on them.
    d : int or symbol
        Head dimension.

    Examples
    --------
    >>> from graphs.expressions import Formula
    >>> g = Formula()
    >>> g.output(online(g, 4, 2, 2))
    >>> print(g)
    Q[i,k] given
    K1[j1,k] given
    V1[j1,k] given
    S1[i,j1] = sum_k Q[i,k] * K1[j1,k]
    m1[i] = max_j1 S1[i,j1]
    Z1[i,j1] = S1[i,j1] - m1[i]
    A1[i,j1] = exp(Z1[i,j1])
    l1[i] = sum_j1 A1[i,j1]
    U1[i,k] = sum_j1 A1[i,j1] * V1[j1,k]
    K2[j2,k] given
    V2[j2,k] given
    S2[i,j2] = sum_k Q[i,k] * K2[j2,k]
    x2[i] = max_j2 S2[i,j2]
    m2[i] = max(x2[i], m1[i])
    Z2[i,j2] = S2[i,j2] - m2[i]
    A2[i,j2] = exp(Z2[i,j2])
    t2[i] = m1[i] - m2[i]
    c2[i] = exp(t2[i])
    y2[i] = sum_j2 A2[i,j2]
    r2[i] = c2[i] * l1[i]
    l2[i] = y2[i] + r2[i]
    W2[i,k] = sum_j2 A2[i,j2] * V2[j2,k]
    R2[i,k] = c2[i] * U1[i,k]
    U2[i,k] = W2[i,k] + R2[i,k]
    O[i,k] = U2[i,k] / l2[i]
    wanted: O
    """
    i, k = g.index("i", n), g.index("k", d)
    g.input("Q", i, k)
    row: _Row | None = None
    for number, size in enumerate(blocks(n, block), 1):
        j = g.index(f"j{number}", size)
        row = _block(g, number, (i, j, k), row)
    assert row is not None
    return g.map("O", row.U[i, k] / row.l[i])


def _block(g: Formula, b: int, indices: tuple[Index, Index, Index], before: _Row | None) -> _Row:
    """Write key block number b behind what the row kept before."""
    i, j, k = indices
    Q, K, V = g["Q"], g.input(f"K{b}", j, k), g.input(f"V{b}", j, k)
    S = g.sum(f"S{b}", k, Q[i, k] * K[j, k])
    m = g.maximum(f"m{b}" if before is None else f"x{b}", j, S[i, j])
    if before is not None:
        m = g.map(f"m{b}", maximum(m[i], before.m[i]))
    Z = g.map(f"Z{b}", S[i, j] - m[i])
    A = g.map(f"A{b}", exp(Z[i, j]))
    if before is None:
        return _Row(m, g.sum("l1", j, A[i, j]), g.sum("U1", j, A[i, j] * V[j, k]))
    t = g.map(f"t{b}", before.m[i] - m[i])
    c = g.map(f"c{b}", exp(t[i]))
    y = g.sum(f"y{b}", j, A[i, j])
    r = g.map(f"r{b}", c[i] * before.l[i])
    l = g.map(f"l{b}", y[i] + r[i])
    W = g.sum(f"W{b}", j, A[i, j] * V[j, k])
    R = g.map(f"R{b}", c[i] * before.U[i, k])
    return _Row(m, l, g.map(f"U{b}", W[i, k] + R[i, k]))
