"""Commands about what there is: list, graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import bar, check_target, example, json_option, say_json, say_table
from lab.cli.listing import matching, say_entries, say_papers

if TYPE_CHECKING:
    from bounds.bound import Bound
    from pebble.spec import Spec

__all__ = ["graph_command", "list_command"]


@click.command(
    "list",
    short_help="List workloads, strategies, bounds and rules.",
    epilog=example("pebble list --strategies", "pebble list flash"),
)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--strategies", is_flag=True, help="Strategies only.")
@click.option("--gaps", is_flag=True, help="How far each strategy is from what no play can beat.")
@json_option
def list_command(words: tuple[str, ...], *, strategies: bool, gaps: bool, as_json: bool) -> None:
    """List workloads, strategies, bounds and rules, with their sources; with WORDs, what has them.

    With --strategies, also what each costs on attention: closed form, leading terms, least M, and
    operations over those of a play without recomputation.

    --gaps prints the leading term of each tile strategy's I/O over the certified bound's, in large
    and in small cache: optimal, a constant, or the term that grows.
    """
    if gaps:
        _list_gaps(as_json)
        return
    from strategies.registry import strategies as all_strategies

    shown: dict[str, list[dict[str, Any]]] = {}
    shown["strategies"] = [
        _spec(cls) | {"any_dag": cls.any_dag, "plays": list(getattr(cls, "plays", ()))}
        for cls in all_strategies()
    ]
    if not strategies:
        from bounds.theorems import all_theorems
        from graphs.registry import workloads
        from pebble.rules import PRESETS

        shown = {"workloads": [_spec(cls) for cls in workloads()]} | shown
        shown["bounds"] = [
            {
                "name": b.name,
                "workload": b.workload,
                "statement": _statement(b),
                "reference": b.reference,
            }
            for b in all_theorems()
        ]
        shown["rules"] = [
            {"name": name, "conventions": rules.describe()} for name, rules in PRESETS.items()
        ]
    shown = {title: matching(entries, words) for title, entries in shown.items()}
    if strategies and not words:
        from lab.costs import costs

        with bar("formulas", None) as progress:
            shown["costs"] = [row.to_json() for row in costs(progress)]
    if as_json:
        say_json(shown)
        return
    if not any(shown.values()):
        click.echo(f"nothing here has {' and '.join(map(repr, words))} in its name or description")
    for title, entries in shown.items():
        if title == "costs":
            _say_costs(entries)
        elif entries:
            say_entries(title, entries)
    say_papers([entry for entries in shown.values() for entry in entries])


def _list_gaps(as_json: bool) -> None:
    from lab.gaps import gap_lines, gaps

    with bar("closed forms", 100) as advance:
        found = gaps(progress=lambda done, of: advance(100 * done // max(of, 1)))
    if as_json:
        say_json({"gaps": [gap.to_json() for gap in found]})
        return
    from rich import box
    from rich.table import Table

    head, *lines = gap_lines(found)
    table = Table(*head, box=box.SIMPLE_HEAD)
    previous = None
    for line in lines:
        if previous not in {None, line[0]}:
            table.add_section()
        previous = line[0]
        table.add_row(*line)
    say_table(table)
    click.echo("leading terms, tile sizes fitted; bounds: docs/certified-bounds.md")


def _spec(cls: type[Spec]) -> dict[str, Any]:
    return {
        "name": cls.name,
        "aliases": list(cls.aliases),
        "usage": cls.usage(),
        "summary": getattr(cls, "summary", ""),
        "reference": getattr(cls, "reference", ""),
    }


def _statement(bound: Bound) -> str:
    return str(bound).removeprefix(f"{bound.name}: ")


def _say_costs(entries: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table

    from lab.costs import LARGE, NOTE, SMALL, pretty

    table = Table(box=box.SIMPLE_HEAD, title="costs", title_justify="left", title_style="bold")
    for heading in ("workload", "strategy", "I/O", f"for {LARGE}", f"for {SMALL}", "least M"):
        table.add_column(heading, overflow="fold", max_width=90)
    table.add_column("operations", justify="right")
    for row in entries:
        leading = [pretty(row["leading"].get(regime, "–")) for regime in (LARGE, SMALL)]
        cells = [row["workload"], row["strategy"], pretty(row["io"]), *leading]
        table.add_row(*cells, pretty(row["least_memory"]), row["operations"])
    say_table(table)
    click.echo(NOTE)


@click.command(
    "graph",
    short_help="Build a workload's DAG, describe it and write it to a file.",
    epilog=example("pebble graph pyramid:h=3 --out pyramid.json"),
)
@click.argument("workload")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write it: .json .npz .graphml .dot keep everything; .hdag .mtx .txt keep edges, outputs.",
)
@json_option
def graph_command(workload: str, out: Path | None, *, as_json: bool) -> None:
    """Build the DAG of WORKLOAD, describe it, and write it to a file."""
    from graphs.files import write_graph
    from lab.arguments import as_workload

    check_target(out)
    what = as_workload(workload)
    dag = what.dag()
    lost = [] if out is None else write_graph(dag, out)
    if lost:
        click.echo(f"note: {out.suffix if out else ''} does not keep {', '.join(lost)}", err=True)
    facts = {
        "workload": str(what),
        "vertices": len(dag),
        "edges": int(dag.predecessors.size),
        "inputs": int(dag.inputs.size),
        "outputs": int(dag.outputs.size),
        "max_in_degree": dag.max_in_degree,
        "least_memory": dag.least_memory,
        "fingerprint": dag.fingerprint,
    }
    named = what.facts()
    if as_json:
        say_json(facts | named | {"file": None if out is None else str(out), "not_kept": lost})
        return
    formula = what.formula()
    if formula is not None:
        click.echo(f"{formula}\n")
    shown = {name.replace("_", " "): fact for name, fact in facts.items()} | named
    for name, fact in shown.items():
        click.echo(f"{name:14} {f'{fact:,}' if isinstance(fact, int) else fact}")
    if out is not None:
        click.echo(f"wrote {out}")
