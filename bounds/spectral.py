"""The spectral bound of Jain and Zaharia, from eigenvalues that are certified to be low enough.

It is false when vertices may be computed again: it cuts the one order in which they are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bounds.dag_bound import Clock, Problem, Progress, induced

if TYPE_CHECKING:
    from bounds.dag_bound import DagBound
    from pebble.dag import Dag

__all__ = ["Eigenvalues", "eigenvalues", "laplacian", "segment_bound", "spectral"]

JAIN_ZAHARIA = "Jain, Zaharia, SPAA 2020 (arXiv 1909.09791)"

#: Up to here all eigenvalues are computed at once, densely.
DENSE = 700
#: Eigenvalues computed at first.
_FEW = 32
#: How often the solver is started for eigenvalues that it missed before.
_ROUNDS = 4
#: How many gaps between eigenvalues are tried, from the highest downwards.
_GAPS = 6

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Eigenvalues:
    """Lower estimates of the smallest eigenvalues of a symmetric matrix, ascending.

    Attributes
    ----------
    values : float array
        ``values[i]`` is at most the i-th smallest eigenvalue.
    missed : int
        How many of them the solver never saw; they stand as 0.
    error : float
        Norm of the residual that the estimates allow for.
    """

    values: Floats
    missed: int
    error: float


def laplacian(dag: Dag) -> Any:
    """Return the Laplacian of the undirected graph, edge (u, v) of weight 1 / out-degree of u.

    Examples
    --------
    >>> from pebble.dag import Dag
    >>> laplacian(Dag.from_predecessors([[], [0], [0]])).toarray()
    array([[ 1. , -0.5, -0.5],
           [-0.5,  0.5,  0. ],
           [-0.5,  0. ,  0.5]])
    """
    from scipy.sparse import coo_array, diags_array

    size = len(dag)
    tails = dag.predecessors.astype(np.int64)
    heads = np.repeat(np.arange(size), np.diff(dag.indptr).astype(np.int64))
    weights = 1 / np.bincount(tails, minlength=size)[tails]
    half = coo_array((weights, (tails, heads)), shape=(size, size)).tocsr()
    adjacency = half + half.T
    return (diags_array(np.asarray(adjacency.sum(axis=1)).ravel()) - adjacency).tocsc()


def segment_bound(size: int, values: Floats, memory: int) -> tuple[float, int]:
    """Return the best of the bounds ``sum s_i l_i - 2 k M`` over the numbers k of segments.

    s_i are the sizes of k nearly equal segments, l_i the eigenvalues. Returns it and its k; (0, 0)
    where none is positive.
    """
    k = np.arange(1, min(values.size, size) + 1)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    each, longer = np.divmod(size, k)
    bounds = each * sums[k] + sums[longer] - 2.0 * k * memory
    best = int(np.argmax(bounds)) if bounds.size else 0
    if not bounds.size or bounds[best] <= 0:
        return 0.0, 0
    return float(bounds[best]), int(k[best])


def spectral(
    problem: Problem,
    clock: Clock | None = None,
    progress: Progress | None = None,
    *,
    count: int = 100,
) -> DagBound:
    """Bound by the edges that cross between segments of the order of computing.

    Two forms are tried. On the whole graph J + outputs: the first load of an input pays for what
    would be its store in the paper's game. On the graph without its inputs J + inputs + outputs.

    Parameters
    ----------
    problem : Problem
        The DAG, M and rules; without recomputation.
    clock : Clock, optional
        Time budget. A factorisation under way is not interrupted.
    progress : callable, optional
        Told the part done.
    count : int
        How many eigenvalues to compute.

    Examples
    --------
    >>> from graphs.registry import workload
    >>> from pebble.rules import GRAPHIO
    >>> bound = spectral(Problem.of(workload("fft:n=128").dag(), 4, GRAPHIO))
    >>> bound.value, bound.detail
    (7, 'J = 6.376857 with 2 segments')
    """
    clock = clock or Clock()
    loads, stores = int(problem.loaded.size), problem.stored_sinks
    parts = [(problem.dag, stores, "")]
    rest = np.flatnonzero(~problem.is_input)
    if 0 < rest.size < len(problem.dag):
        # First what is most often larger, in case the time runs out.
        without = induced(problem.dag, rest)
        parts.insert(0, (without, loads + stores, " without inputs"))
    best, detail, finished = float(loads + stores), "no positive J", True
    for i, (dag, base, which) in enumerate(parts):
        if progress:
            progress("spectral", i / len(parts))
        # Weighted degrees sum to twice the vertices with successors: J is less than that.
        share = clock.share(1 / (len(parts) - i))
        matrix = laplacian(dag)
        found = None
        for few in sorted({min(_FEW, count), count}):
            more = eigenvalues(matrix, few, share)
            found = found if more is None else more
            # More segments than half the eigenvalues known: with more of them J may be larger.
            if found is None or segment_bound(len(dag), found.values, problem.memory)[1] < few / 2:
                break
        if found is None:
            finished = False
            detail = detail if best > loads + stores else "eigenvalues not certified"
            continue
        finished = finished and not found.missed
        value, segments = segment_bound(len(dag), found.values, problem.memory)
        if segments and base + value > best:
            best = base + value
            constant = f" + {base}" if base else ""
            detail = f"J = {value:.6f}{constant} with {segments} segments{which}"
    return problem.bound(
        "spectral", best, JAIN_ZAHARIA, recomputation=False, finished=finished, detail=detail
    )


def eigenvalues(matrix: Any, count: int, clock: Clock | None = None) -> Eigenvalues | None:
    """Return lower estimates of the smallest eigenvalues of a positive semidefinite matrix.

    Small matrices are solved densely. For others Lanczos iterations find approximate eigenvectors;
    each approximate value is within the residual's norm of some eigenvalue, and a factorisation
    L D L^T of the matrix less a number s, by the signs of D, counts the eigenvalues below s: as
    many as were found, unless some were missed. Missed ones stand as 0, those beyond as s.

    Returns
    -------
    Eigenvalues or None
        None if the solver did not converge, the count cannot be trusted or the time is up.
    """
    clock = clock or Clock()
    size = matrix.shape[0]
    count = min(count, size)
    scale = float(abs(matrix).sum(axis=0).max()) if size else 0.0
    rounding = max(1, size) * np.finfo(float).eps * scale
    if size <= DENSE:
        values = np.linalg.eigvalsh(matrix.toarray())[:count]
        return Eigenvalues(np.maximum(values - rounding, 0), 0, rounding)
    return None if clock.over else _sparse(matrix, count, scale, clock)


def _sparse(matrix: Any, count: int, scale: float, clock: Clock) -> Eigenvalues | None:
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import ArpackError, splu

    size = matrix.shape[0]
    identity = eye_array(size, format="csc")
    # Slightly below zero, so that the matrix to be inverted is positive definite.
    shift = 1e-3 * scale
    solve = _symmetric_factors(splu, (matrix + shift * identity).tocsc()).solve
    basis, wanted = np.zeros((size, 0)), count
    best = None
    for _ in range(_ROUNDS):
        if clock.over:
            break
        try:
            values, basis = _ritz(matrix, solve, shift, basis, wanted)
        except (ArpackError, RuntimeError):
            break
        residual = float(np.linalg.norm(matrix @ basis - basis * values))
        error = residual + 1000 * np.finfo(float).eps * scale  # what products round off
        found = _certified(splu, matrix, values, error, scale)
        if found is None:
            break
        best, beyond = found
        if not best.missed:
            tail = np.full(3 * count, max(beyond, 0.0))
            return Eigenvalues(np.concatenate([best.values, tail])[:size], 0, error)
        # A multiple eigenvalue was not seen as often as it occurs: search beside what is known.
        wanted = best.missed + 8
    return best


def _ritz(
    matrix: Any, solve: Any, shift: float, known: Floats, wanted: int
) -> tuple[Floats, Floats]:
    """Return approximate eigenvalues and an orthonormal basis, the known vectors included."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = matrix.shape[0]

    def inverse(x: Floats) -> Floats:
        x = x.ravel()
        x = solve(x - known @ (known.T @ x))
        return np.asarray(x - known @ (known.T @ x))

    start = np.random.default_rng(known.shape[1]).standard_normal(size)
    operator = LinearOperator(matrix.shape, matvec=inverse, dtype=np.float64)
    wanted = min(wanted, size - known.shape[1] - 1)
    _, vectors = eigsh(matrix, wanted, sigma=-shift, OPinv=operator, v0=start)
    # Rayleigh and Ritz once more, on an orthonormal basis to full precision.
    basis, _ = np.linalg.qr(np.hstack([known, vectors]))
    values, turn = np.linalg.eigh(basis.T @ (matrix @ basis))
    return values, basis @ turn


def _certified(
    splu: Any, matrix: Any, values: Floats, error: float, scale: float
) -> tuple[Eigenvalues, float] | None:
    """Count the eigenvalues below the last gap of those found below which none is missed."""
    from scipy.sparse import eye_array

    gaps = np.diff(values)
    wide = np.flatnonzero(gaps > 1e-5 * scale + 4 * error)[::-1]
    best: tuple[Eigenvalues, float] | None = None
    for seen in wide[:_GAPS] + 1:
        for distance in (1e-6, 1e-5, 1e-4):
            level = float(values[seen] - min(distance * scale, gaps[seen - 1] / 2))
            shifted = matrix - level * eye_array(matrix.shape[0], format="csc")
            below, slack = _count_below(splu, shifted.tocsc())
            level -= slack
            if below >= seen and values[seen - 1] + error < level:
                break
        else:
            continue  # the factors are not accurate enough at any of these shifts
        missed = int(below - seen)
        if best is None or missed < best[0].missed:
            lower = np.maximum(values[:seen] - error, 0)
            lower = np.concatenate([np.zeros(missed), lower])
            best = Eigenvalues(lower, missed, error), level
        if not missed:
            break
    return best


def _symmetric_factors(splu: Any, matrix: Any) -> Any:
    return splu(
        matrix,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def _count_below(splu: Any, matrix: Any) -> tuple[int, float]:
    """Count negative eigenvalues by Sylvester's law; -1 if the factors are not symmetric.

    Also returns a number that the error of the factors exceeds with probability below 1e-16, which
    is how far the count may be off its mark: the largest image of eight random vectors, times 100.
    """
    try:
        factors = _symmetric_factors(splu, matrix)
    except RuntimeError:  # an exact zero on the diagonal
        return -1, float("inf")
    if not np.array_equal(factors.perm_r, factors.perm_c):
        return -1, float("inf")
    place = factors.perm_c
    lower, diagonal = factors.L, factors.U.diagonal()
    tests = np.random.default_rng(1).standard_normal((matrix.shape[0], 8))
    turned = np.empty_like(tests)
    turned[place] = tests
    image = lower @ (diagonal[:, None] * (lower.T @ turned))
    slack = 100 * float(np.linalg.norm(matrix @ tests - image[place], axis=0).max())
    return int(np.count_nonzero(diagonal < 0)), slack
