"""One play: a workload, a strategy and M; refereed move by move, or counted without a DAG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    from pebble.report import Report
    from pebble.trace import Trace
    from strategies.registry import Strategy

__all__ = ["check", "check_playable", "count", "play"]


def play(
    workload: WorkloadLike,
    strategy: StrategyLike,
    memory: MemoryLike,
    rules: RulesLike = HK,
    *,
    trace: str | Path | None = None,
    dag: Dag | None = None,
    progress: Callable[[int], None] | None = None,
    timeline: int | None = None,
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
    timeline : int, optional
        Keep the counts of at most so many moments as ``timeline`` of the report.

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
    1416
    """
    from pebble.referee import referee

    workload, strategy, rules = as_workload(workload), as_strategy(strategy), as_rules(rules)
    memory = as_memory(memory, workload)
    check_playable(workload, strategy, memory, rules)
    dag = dag if dag is not None else workload.dag()
    names = {"workload": str(workload), "strategy": str(strategy)}
    try:
        with _recording(trace, workload, strategy, dag, memory, rules) as record:
            moves = map(record, strategy.under(rules).moves(workload, memory, dag))
            return referee(dag, moves, memory, rules, **names, progress=progress, timeline=timeline)
    except IllegalMoveError as error:
        if rules in (HK, ONE_SHOT):
            raise
        from strategies.registry import RefusalError

        raise RefusalError(
            f"{strategy} plays by the rules hk, and its play of {workload} breaks the rules "
            f"{rules}: {error}"
        ) from error


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


def check(
    trace: str | Path | Trace,
    graph: WorkloadLike | None = None,
    memory: MemoryLike | None = None,
    rules: RulesLike | None = None,
    *,
    progress: Callable[[int], None] | None = None,
    timeline: int | None = None,
) -> Report:
    """Judge a trace, ours or not, move by move.

    Parameters
    ----------
    trace : path or Trace
        A trace file of either form; a bare list of moves will do.
    graph : str, Workload or Dag, optional
        What it was played on; by default what its header says.
    memory, rules : optional
        Judge under another M or other rules than the header's.
    progress : callable, optional
        Called now and then with the number of moves judged so far.
    timeline : int, optional
        Keep the counts of at most so many moments as ``timeline`` of the report.

    Returns
    -------
    Report
        Exact counts, if the play is legal and finished.

    Raises
    ------
    IllegalMoveError
        At the first move that breaks a rule, explained.
    TraceError
        If the file is damaged, truncated, no trace, or played on another graph, or if neither the
        header nor the caller says what it was played on.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "play.pbl"
    ...     report = play("matmul:m=2,n=2,k=2", "naive", 4, trace=path)
    ...     check(path) == report
    True
    """
    from lab.sources import of_trace
    from pebble.referee import referee

    source = of_trace(trace, graph, memory, rules)
    return referee(
        source.dag,
        source.chunks(),
        source.memory,
        source.rules,
        workload=str(source.workload),
        strategy=source.strategy,
        progress=progress,
        timeline=timeline,
    )


def check_playable(workload: Workload, strategy: Strategy, memory: int, rules: Rules = HK) -> None:
    """Raise unless a strategy plays a workload with this M and under these rules."""
    from strategies.registry import RefusalError

    strategy.under(rules).require(workload, memory)
    if rules.one_shot and strategy.under(rules).recomputes(workload):
        raise RefusalError(
            f"{strategy} computes some vertices of {workload} more than once, which the rules "
            f"{rules} forbid: play it under hk, or take a strategy that stores instead"
        )


@contextmanager
def _recording(
    path: str | Path | None,
    workload: Workload,
    strategy: Strategy,
    dag: Dag,
    memory: int,
    rules: Rules,
) -> Iterator[Callable[[Moves], Moves]]:
    """Give a function that writes moves to a trace and passes them on."""
    if path is None:
        yield lambda moves: moves
        return
    from pebble.trace import Header, trace_writer

    header = Header(str(workload), dag.fingerprint, len(dag), memory, rules, str(strategy))
    with trace_writer(path, header, graph=dag) as writer:

        def record(moves: Moves) -> Moves:
            writer.write(moves)
            return moves

        yield record
