"""One play: a workload, a strategy and M; refereed move by move, or counted without a DAG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lab.arguments import as_memory, as_rules, as_strategy, as_workload
from pebble.errors import IllegalMoveError
from pebble.rules import HK, ONE_SHOT, Rules

if TYPE_CHECKING:
    from pathlib import Path

    from graphs.registry import Workload
    from lab.arguments import MemoryLike, RulesLike, StrategyLike, WorkloadLike
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.referee import Replay
    from pebble.report import Report
    from strategies.registry import Strategy

__all__ = ["count", "play"]


def play(
    workload: WorkloadLike,
    strategy: StrategyLike,
    memory: MemoryLike,
    rules: RulesLike = HK,
    *,
    trace: str | Path | None = None,
    dag: Dag | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Let a strategy play a workload under M red pebbles; the referee counts.

    Parameters
    ----------
    workload : str, Workload or Dag
        What to compute, as ``attention-backward:n=64,d=16``; a graph file; a DAG.
    strategy : str or Strategy
        How, as ``flash`` or ``flash:rows=8``.
    memory : int or str
        M, or a formula in the workload's sizes such as ``0.25*d^2``.
    rules : str or Rules
        Conventions to be judged by.
    trace : path, optional
        Write the moves there, ``.txt`` to read or ``.pbl`` compact; only a legal, finished play
        leaves a file.
    dag : Dag, optional
        The workload's DAG, where it is already built.
    progress : callable, optional
        Called now and then with the number of moves judged so far.

    Returns
    -------
    Report
        Exact counts of a legal play.

    Raises
    ------
    UnknownNameError, SpecError
        If a text does not read.
    RefusalError
        If the strategy does not play this workload, or not under these rules.
    BudgetError
        If M is less than the strategy needs; the message and ``.least`` say how much it needs.
    GraphError
        If the DAG would not fit into memory.
    IllegalMoveError
        If the strategy breaks a rule; that is a fault of the strategy.

    Examples
    --------
    >>> play("attention-forward:n=8,d=4", "naive", 4).io
    1448
    """
    from pebble.referee import Replay

    workload, strategy, rules = as_workload(workload), as_strategy(strategy), as_rules(rules)
    memory = as_memory(memory, workload)
    check_playable(workload, strategy, memory, rules)
    dag = dag if dag is not None else workload.dag()
    replay = Replay(dag, memory, rules)
    moves = _judged(replay, strategy.moves(workload, memory, dag), progress)
    try:
        if trace is None:
            for _ in moves:
                pass
        else:
            _write(trace, workload, strategy, replay, moves)
    except IllegalMoveError as error:
        if rules in (HK, ONE_SHOT):
            raise
        from strategies.registry import RefusalError

        raise RefusalError(
            f"{strategy} plays by the rules hk, and its play of {workload} breaks the rules "
            f"{rules}: {error}"
        ) from error
    return replay.finish(str(workload), str(strategy))


def count(workload: WorkloadLike, strategy: StrategyLike, memory: MemoryLike) -> Report:
    """Return what `play` would, from the schedule's text alone, at any size.

    Raises
    ------
    RefusalError
        If the strategy does not play the workload, or has no count.
    BudgetError
        If M is less than the strategy needs.

    Examples
    --------
    >>> count("attention-forward:n=1000000,d=64", "flash", 100000).computes > 2 * 10**14
    True
    """
    workload, strategy = as_workload(workload), as_strategy(strategy)
    memory = as_memory(memory, workload)
    strategy.require(workload, memory)
    return strategy.count(workload, memory)


def check_playable(workload: Workload, strategy: Strategy, memory: int, rules: Rules = HK) -> None:
    """Raise unless a strategy plays a workload with this M and under these rules."""
    from strategies.registry import RefusalError

    strategy.require(workload, memory)
    if rules.one_shot and strategy.recomputes(workload):
        raise RefusalError(
            f"{strategy} computes some vertices of {workload} more than once, which the rules "
            f"{rules} forbid: play it under hk, or take a strategy that stores instead"
        )


def _judged(
    replay: Replay, chunks: Iterable[Moves], progress: Callable[[int], None] | None
) -> Iterator[Moves]:
    """Pass on the moves that the referee has accepted; at the end, insist that it is the end."""
    for chunk in chunks:
        replay.feed(chunk)
        yield chunk
        if progress is not None:
            progress(replay.step)
    replay.finish()


def _write(
    path: str | Path,
    workload: Workload,
    strategy: Strategy,
    replay: Replay,
    moves: Iterable[Moves],
) -> None:
    raise NotImplementedError
