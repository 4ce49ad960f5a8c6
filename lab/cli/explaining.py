"""The command that says where the cost of a play comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lab.cli.group import bar, compiling, example, finding, json_option, say_json

if TYPE_CHECKING:
    from lab.credit import Credit

__all__ = ["explain_command"]


@click.command(
    "explain",
    short_help="Say where the cost of a play comes from: its order, its eviction, which move.",
    epilog=example(
        "pebble play grid:rows=3,columns=3 --strategy lru --memory 3 --trace play.txt",
        "pebble explain play.txt",
        "pebble explain fft:n=16 --strategy lru --memory 5 --time 1",
    ),
)
@click.argument("target", metavar="TRACE|WORKLOAD")
@click.option("--strategy", "-s", help="TARGET is a workload, and this strategy plays it.")
@click.option(
    "--order",
    help="TARGET is a workload, computed in this order: depth-first, construction, recursive or a "
    "file.",
)
@click.option("--memory", "-M", help="M; for a trace, instead of the header's.")
@click.option("--rules", help="Conventions; by default the trace's, or hk.")
@click.option("--graph", help="What a trace was played on; by default what its header says.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds to spend.",
)
@click.option("--every", is_flag=True, help="Find every costly move, not only the first.")
@json_option
def explain_command(
    target: str,
    strategy: str | None,
    order: str | None,
    memory: str | None,
    rules: str | None,
    graph: str | None,
    seconds: float,
    *,
    every: bool,
    as_json: bool,
) -> None:
    """Say where the cost of a play comes from.

    The play is a trace, or a strategy's, or an order of computation with the best eviction. Its
    cost is the optimum, plus what its order costs under the best eviction, plus what its eviction
    costs over that. Also said: what recomputation would save, and the first move after which the
    optimum is out of reach. What a graph is too large for is given as an interval.
    """
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.credit import explain, explain_trace
    from lab.least import ready
    from pebble.errors import IllegalMoveError

    by_name = strategy is not None or order is not None
    if by_name and graph is not None:
        raise click.UsageError("--graph goes with a trace: with --strategy, name the graph instead")
    if by_name and memory is None:
        raise click.UsageError("a workload needs --memory")
    if by_name:
        what = as_workload(target)
        as_rules(rules or "hk").check_memory(what.dag(), as_memory(memory or 0, what))
    compiling(ready)
    try:
        with bar("explain", 1000) as show:

            def tell(_: str, share: float) -> None:
                show(int(1000 * share))

            if by_name:
                assert memory is not None
                credit = explain(
                    what, strategy, memory, rules or "hk",
                    order=order, seconds=seconds, every=every, progress=tell,
                )  # fmt: skip
            else:
                credit = explain_trace(
                    target, graph, memory, rules, seconds=seconds, every=every, progress=tell
                )
    except IllegalMoveError as error:
        if as_json:
            say_json({"legal": False, "step": error.step, "explanation": str(error)})
        else:
            click.echo(f"illegal: {error}")
        finding()
    if as_json:
        say_json(credit.to_json())
    else:
        for line in lines(credit):
            click.echo(line)


def lines(credit: Credit) -> list[str]:
    """Return the explanation, line by line."""
    from lab.least import number

    report = credit.report
    who = f"{report.workload or 'a play'}{f' by {report.strategy}' if report.strategy else ''}"
    said = [f"{who}, M={report.memory:,}, rules {report.rules}", ""]
    rows: list[tuple[str, str, str]] = []
    if credit.optimum is not None:
        best = credit.optimum
        how = best.lower_by if best.exact else f"{best.lower_by}; {best.upper_by}"
        rows.append(("least of any play", str(best), how))
    if credit.order is not None:
        rows.append(("its order, best eviction", str(credit.order), credit.order_by))
    if credit.once is not None:
        rows.append(("the same, each vertex once", str(credit.once), ""))
    if credit.repeated is not None:
        rows.append(("its order, repeats added", f"{credit.repeated:,}", "best found"))
    rows.append(("this play", f"{number(credit.cost)}", ""))
    wide = [max(len(row[i]) for row in rows) for i in range(2)]
    said += [f"{a:{wide[0]}}  {b:>{wide[1]}}  {c}".rstrip() for a, b, c in rows]
    said.append("")
    if credit.by_order is not None:
        said.append(f"its order costs {credit.by_order} over the least of any play")
    if credit.by_eviction is not None:
        said.append(f"its eviction costs {credit.by_eviction} over the best for that order")
    if credit.by_recomputation is not None:
        assert credit.without is not None
        assert credit.with_ is not None
        said.append(
            f"recomputation saves {credit.by_recomputation}: the least is {credit.with_} with it, "
            f"{credit.without} without"
        )
    return [*said, "", *_moves(credit)]


def _moves(credit: Credit) -> list[str]:
    """Return what is known of the moves that cost something."""
    from lab.least import number

    if credit.is_optimal:
        return ["no move costs anything: this play is optimal"]
    found = credit.losses
    said = []
    for i, move in enumerate(found.moves):
        which = "first costly move: " if not i else "then "
        said.append(
            f"{which}step {move.step:,}, {move.move}: {number(move.before)} could still be reached "
            f"before it, {number(move.after)} after"
        )
    if found.between is not None:
        low, high = found.between
        where = f"step {low:,}" if low == high else f"one of steps {low:,} to {high:,}"
        said.append(
            f"{'the next' if said else 'the first'} costly move is {where}: give more --time"
        )
    if said:
        return said
    if credit.late is not None and credit.optimum is not None:
        return [
            f"the least is not known exactly, so neither is the first costly move; after step "
            f"{credit.late:,} at the latest, {number(credit.optimum.upper)} is out of reach"
        ]
    return ["which move costs what is not known: nothing cheaper was found, nor excluded"]
