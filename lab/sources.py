"""Where a play comes from: a strategy or a trace, opened, not yet judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.arguments import as_memory, as_rules, as_strategy, as_workload
from pebble.errors import PebbleError, SpecError, TraceError
from pebble.rules import HK, Rules

if TYPE_CHECKING:
    from pathlib import Path

    from graphs.registry import Workload
    from lab.arguments import MemoryLike, RulesLike, StrategyLike, WorkloadLike
    from pebble.dag import Dag
    from pebble.moves import Moves
    from pebble.trace import Trace

__all__ = ["Source", "check_shown", "of_strategy", "of_trace"]


@dataclass(frozen=True)
class Source:
    """A play to be judged or shown.

    Attributes
    ----------
    workload : Workload
        What is played.
    dag : Dag
        Its graph.
    memory : int
        M.
    rules : Rules
        Conventions.
    strategy : str
        Who plays; empty when nobody said.
    chunks : callable
        Gives the moves, packed, as often as it is called.
    """

    workload: Workload
    dag: Dag
    memory: int
    rules: Rules
    strategy: str
    chunks: Callable[[], Iterator[Moves]] = field(repr=False, compare=False)

    def __str__(self) -> str:
        by = f" by {self.strategy}" if self.strategy else ""
        return f"{self.workload}{by}, M={self.memory:,}"


def check_shown(source: Source) -> None:
    """Raise unless pictures and films know the rules of a play.

    Raises
    ------
    SpecError
        Under partial computation, where a compute moves no whole value.
    """
    if source.rules.partial:
        raise SpecError(
            f"pictures and films do not know partial computation (rules {source.rules}): "
            "judge the play with `pebble check`, or show one under other rules"
        )


def of_strategy(
    workload: WorkloadLike,
    strategy: StrategyLike,
    memory: MemoryLike,
    rules: RulesLike = HK,
    *,
    dag: Dag | None = None,
) -> Source:
    """Open the play of a strategy; arguments and errors are those of `lab.play`.

    Examples
    --------
    >>> print(of_strategy("pyramid:h=3", "naive", 4))
    pyramid:h=3 by naive, M=4
    """
    from lab.playing import check_playable

    what, how, judged_by = as_workload(workload), as_strategy(strategy), as_rules(rules)
    budget = as_memory(memory, what)
    check_playable(what, how, budget, judged_by)
    graph = dag if dag is not None else what.dag()
    plays = how.under(judged_by)
    return Source(
        what, graph, budget, judged_by, str(how), lambda: plays.moves(what, budget, graph)
    )


def of_trace(
    trace: str | Path | Trace,
    graph: WorkloadLike | None = None,
    memory: MemoryLike | None = None,
    rules: RulesLike | None = None,
) -> Source:
    """Open a trace; arguments and errors are those of `lab.check`."""
    from pebble.trace import Trace, read_trace

    opened = trace if isinstance(trace, Trace) else read_trace(trace)
    header = opened.header
    if header is None and (graph is None or memory is None):
        raise TraceError(
            f"{opened.path} has no header that says what it was played on: if it is a bare list of "
            "moves, give the graph and M (--graph and --memory)"
        )
    workload = _graph_of(opened) if graph is None else as_workload(graph)
    dag = workload.dag()
    if header is None:
        judged_by, strategy = HK, ""
    else:
        header.check(dag)
        judged_by, strategy = header.rules, header.strategy
    if rules is not None:
        judged_by = as_rules(rules)
    if memory is not None:
        budget = as_memory(memory, workload)
    else:
        assert header is not None
        budget = header.memory
    return Source(workload, dag, budget, judged_by, strategy, lambda: opened.chunks(dag))


def _graph_of(trace: Trace) -> Workload:
    """Return the workload that a header names."""
    assert trace.header is not None
    name = trace.header.workload
    try:
        return as_workload(name)
    except PebbleError as error:
        raise TraceError(
            f"{trace.path} was played on {name or 'a graph without a name'!r}, which cannot be "
            f"built here: give the graph (--graph FILE). {error}"
        ) from None
