"""Commands about one play: play, count, check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import (
    bar,
    check_target,
    example,
    finding,
    json_option,
    memory_option,
    rules_option,
    say_json,
    strategy_option,
    timeline_option,
)
from lab.cli.layer import as_layer, layer_options, say_layer

if TYPE_CHECKING:
    from graphs.registry import Workload
    from pebble.errors import IllegalMoveError
    from pebble.report import Report
    from strategies.registry import Strategy

__all__ = ["check_command", "count_command", "play_command"]


@click.command(
    "play",
    short_help="Let a strategy play; judge every move and count.",
    epilog=example("pebble play attention-backward:n=64,d=16 --strategy flash --memory 256"),
)
@click.argument("workload")
@strategy_option
@memory_option
@rules_option
@click.option(
    "--trace",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the moves: .txt to read, .pbl compact.",
)
@click.option(
    "--execute", "seed", type=click.IntRange(min=0), help="Carry it out on random numbers."
)
@timeline_option
@layer_options
@json_option
def play_command(
    workload: str,
    strategy: str,
    memory: str,
    rules: str,
    trace: Path | None,
    seed: int | None,
    timeline: int | None,
    heads: int | None,
    batch: int | None,
    width: str | None,
    *,
    as_json: bool,
) -> None:
    """Let a strategy pebble WORKLOAD; the referee judges every move and counts.

    WORKLOAD is a text form such as attention-backward:n=64,d=16, or a graph file. With --execute
    the play is also carried out on numbers and compared with numpy; exit code 1 if they differ.
    """
    from lab.arguments import as_memory, as_rules, as_strategy, as_workload
    from lab.executing import execute
    from lab.playing import check_playable, play

    check_target(trace)
    layer = as_layer(heads, batch, width)
    what, how, judged_by = as_workload(workload), as_strategy(strategy), as_rules(rules)
    budget = as_memory(memory, what)
    check_playable(what, how, budget, judged_by)
    with bar("moves", _moves(what, how, budget)) as progress:
        report = play(
            what, how, budget, judged_by, trace=trace, progress=progress, timeline=timeline
        )
    done = None if seed is None else execute(what, how, budget, seed)
    more = {} if done is None else {"execution": done.to_json()}
    if layer is not None:
        more["layer"] = layer.traffic(report)
    _say(what, report, more, as_json=as_json)
    if not as_json:
        _say_timeline(report)
        if layer is not None:
            say_layer(layer, report)
        if done is not None:
            click.echo(f"\nplayed on numbers (seed {seed}), against {done.reference}:")
            for name, error in done.errors.items():
                click.echo(f"  {name}: largest relative error {error:.1e}")
        if trace is not None:
            click.echo(f"\nwrote {trace}")
    if done is not None and not done.agrees:
        finding()


@click.command(
    "count",
    short_help="Count exactly what play would, at any size, without a DAG.",
    epilog=example("pebble count attention-forward:n=1048576,d=64 --strategy flash --memory 98304"),
)
@click.argument("workload")
@strategy_option
@memory_option
@click.option(
    "--formula/--no-formula",
    default=None,
    help="Also give the closed form; by default with text, not with --json.",
)
@layer_options
@json_option
def count_command(
    workload: str,
    strategy: str,
    memory: str,
    heads: int | None,
    batch: int | None,
    width: str | None,
    *,
    formula: bool | None,
    as_json: bool,
) -> None:
    """Count what `pebble play` would, from the schedule's text alone: exact, at any size.

    No DAG is built. The closed form holds for at least two tiles along every index.
    """
    from lab.arguments import as_memory, as_strategy, as_workload
    from lab.playing import count

    layer = as_layer(heads, batch, width)
    what, how = as_workload(workload), as_strategy(strategy)
    report = count(what, how, as_memory(memory, what))
    if as_json:
        more: dict[str, Any] = {} if layer is None else {"layer": layer.traffic(report)}
        more |= {"closed_form": _closed_form(what, how, report.memory)} if formula else {}
        say_json(report.to_json() | _certified(what, report) | more)
        return
    _say(what, report, as_json=False)
    if layer is not None:
        say_layer(layer, report)
    if formula is not False and (form := _closed_form(what, how, report.memory)):
        click.echo("\nclosed form")
        click.echo(f"  I/O = {form['io']}")
        for name, value in form["tiles"].items():
            click.echo(f"  with {name} = {value}")
        if form["sizes"]:
            sizes = ", ".join(f"{name} = {size:,}" for name, size in form["sizes"].items())
            click.echo(f"  here {sizes}, {form['sizes_are']}")
        regimes: dict[str, list[str]] = {}
        for regime, term in form["leading"].items():
            regimes.setdefault(term, []).append(regime)
        for term, where in regimes.items():
            click.echo(f"  leading term {term}   for {' and for '.join(where)}")
        click.echo(f"  exact for {form['domain']}")
        if form["io_here"] is not None and form["io_here"] != report.io:
            click.echo(f"  here it gives {form['io_here']:,}: some index has a single tile")


@click.command(
    "check",
    short_help="Judge a trace, ours or not.",
    epilog=example(
        "pebble play pyramid:h=3 --strategy naive --memory 4 --trace play.txt",
        "pebble check play.txt",
    ),
)
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--graph", help="What it was played on: a graph file or a workload; by default the header's."
)
@click.option("--memory", "-M", help="Judge under this M instead of the header's.")
@click.option("--rules", help="Judge by these rules instead of the header's.")
@timeline_option
@json_option
def check_command(
    trace: Path,
    graph: str | None,
    memory: str | None,
    rules: str | None,
    timeline: int | None,
    *,
    as_json: bool,
) -> None:
    """Judge every move of TRACE; explain the first illegal one and exit with 1, or count.

    The graph is built from the header and compared with its checksum. A bare list of moves, as
    "L 0" and "C 3" or with names, needs --graph and --memory.
    """
    from lab.playing import check
    from pebble.errors import IllegalMoveError

    try:
        with bar("moves", None) as progress:
            report = check(trace, graph, memory, rules, progress=progress, timeline=timeline)
    except IllegalMoveError as error:
        if as_json:
            say_json(_verdict(error))
        else:
            click.echo(f"illegal: {error}")
        finding()
    if as_json:
        say_json(report.to_json() | {"legal": True})
    else:
        click.echo(f"legal and finished\n\n{report}")
        _say_timeline(report)


def _say_timeline(report: Report) -> None:
    if report.timeline is not None:
        click.echo(f"\ntimeline; of each tensor its I/O\n{report.timeline}")


def _verdict(error: IllegalMoveError) -> dict[str, Any]:
    return {
        "legal": False,
        "step": error.step,
        "move": None if error.move is None else str(error.move),
        "rule": error.rule,
        "vertex": error.vertex,
        "missing": list(error.missing),
        "explanation": str(error),
    }


def _moves(workload: Workload, strategy: Strategy, memory: int) -> int | None:
    """Return how many moves to expect, where that costs nothing to know."""
    from strategies.registry import RefusalError

    if workload.formula() is None:
        return None
    try:
        return strategy.count(workload, memory).moves
    except RefusalError:
        return None


def _say(
    workload: Workload, report: Report, more: dict[str, Any] | None = None, *, as_json: bool
) -> None:
    if as_json:
        say_json(report.to_json() | _certified(workload, report) | (more or {}))
        return
    click.echo(str(report))
    least = _compulsory(workload, report)
    if least:
        ratio = report.io / least
        click.echo(
            f"\ninputs + outputs, which every play moves: {least:,} (I/O is {ratio:.3g} times)"
        )
    known = _certified(workload, report)
    if known and known["certified_by"] != "compulsory":
        click.echo(
            f"no play moves less than {known['certified']:,}, by the certified bound "
            f"{known['certified_by']} (I/O is {known['io_over_certified']:.4g} times)"
        )


def _compulsory(workload: Workload, report: Report) -> int | None:
    """Return inputs plus outputs, where the rules make every play move them."""
    from lab.yardsticks import compulsory, compulsory_of
    from pebble.rules import Rules

    rules = Rules.parse(str(report.rules))
    if rules.free_inputs or rules.unstored_outputs:
        return None
    least = compulsory(workload)
    # Whatever has no formula was played on its DAG, so that building it again is affordable.
    return compulsory_of(workload.dag()) if least is None else least


def _certified(workload: Workload, report: Report) -> dict[str, Any]:
    """Return the greatest certified bound beside a count; empty where none is known."""
    from lab.yardsticks import certified_least
    from pebble.rules import Rules

    bound = certified_least(workload, report.memory, Rules.parse(str(report.rules)))
    if bound is None:
        return {}
    ratio = report.io / bound.value
    return {"certified": bound.value, "certified_by": bound.name, "io_over_certified": ratio}


def _closed_form(workload: Workload, strategy: Strategy, memory: int) -> dict[str, Any] | None:
    """Return the closed form of what is played at M as texts, or None where there is none."""
    from strategies.best import Best
    from strategies.phases import TileStrategy

    if isinstance(strategy, Best):
        strategy = strategy.choose(workload, memory)
    if not isinstance(strategy, TileStrategy) or workload.formula() is None:
        return None
    if getattr(workload, "sum", "chain") != "chain" or getattr(workload, "block", None):
        return None
    form = strategy.closed_form(workload, memory)
    fitted = strategy.fitted(workload, memory)
    sizes = {
        symbols[name]: size
        for symbols, (_, chosen) in zip(form.symbols, fitted, strict=True)
        for name, size in chosen.items()
        if name in symbols
    }
    printed = strategy.paper_sizes(workload, memory) is not None
    values = sizes | workload.sizes()
    # Numbers that are counted from a mask have no value here.
    known = form.needs(form.io) <= values.keys()
    return {
        "io": str(form.io),
        "loads": str(form.loads),
        "stores": str(form.stores),
        "computes": str(form.computes),
        "tiles": {str(symbol): str(value) for symbol, value in form.tiles.items()},
        "sizes": sizes,
        "io_here": form.evaluate(form.io, **values) if known else None,
        "sizes_are": "as printed" if printed else "fitted to M",
        "leading": {regime: str(term) for regime, term in form.leading.items()},
        "least_memory": None if form.least_memory is None else str(form.least_memory),
        "domain": form.domain,
    }
