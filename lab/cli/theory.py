"""The command bound: what is known of the least I/O."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import bar, example, json_option, rules_option, say_json, say_table
from lab.cli.layer import as_layer, layer_options

if TYPE_CHECKING:
    from bounds.bound import Bound
    from graphs.registry import Workload
    from lab.gaps import Ratio
    from lab.layers import Layer
    from pebble.rules import Rules

__all__ = ["bound_command"]


@click.command(
    "bound",
    short_help="Print what is known of the least I/O of a workload.",
    epilog=example("pebble bound attention-gradient:n=128,d=32 --memory 256"),
)
@click.argument("workload")
@click.option("--memory", "-M", help="M: a number, or a formula such as 0.25*d^2.")
@rules_option
@click.option(
    "--time",
    type=click.FloatRange(min=0),
    default=10,
    show_default=True,
    help="Seconds for bounds that are computed from the DAG itself.",
)
@click.option(
    "--ratios", is_flag=True, help="Also each tile schedule's closed form over each bound."
)
@layer_options
@json_option
def bound_command(
    workload: str,
    memory: str | None,
    rules: str,
    time: float,
    ratios: bool,
    heads: int | None,
    batch: int | None,
    width: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the bounds on the I/O of WORKLOAD that hold under the rules.

    With --memory the greatest certified bound comes first; without, the formulas alone. A value is
    printed only where the statement holds; a Θ has no constant, so that its value is an order of
    growth and no number of moves; it has none in bytes either.
    """
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.yardsticks import bounds_of, values_at

    layer = as_layer(heads, batch, width)
    what, judged_by = as_workload(workload), as_rules(rules)
    budget = None if memory is None else as_memory(memory, what)
    known = bounds_of(what, judged_by)
    sizes = what.sizes() | what.facts()
    shown = [bound.to_json(**values_at(bound, sizes, budget)) | _regimes(bound) for bound in known]
    if budget is not None:
        from bounds.certified import certified

        # The greatest certified bound at these sizes comes first.
        shown = [bound.to_json() for bound in certified(what, budget, judged_by)[:1]] + shown
        shown += _of_the_dag(what, budget, judged_by, time)
    if layer is not None:
        shown = [bound | _scaled(bound, layer) for bound in shown]
    if as_json:
        more: dict[str, Any] = {} if layer is None else {"layer": layer.to_json()}
        if ratios:
            more["ratios"] = [ratio.to_json() for ratio in _ratios(what)]
        say_json({"workload": str(what), "memory": budget, "rules": rules, "bounds": shown} | more)
        return
    _say(what, budget, shown, str(judged_by), layer)
    if ratios:
        _say_ratios(_ratios(what))


def _ratios(workload: Workload) -> list[Ratio]:
    from lab.gaps import ratios

    if workload.formula() is None:
        return []
    with bar("closed forms", 100) as advance:
        return ratios(workload, progress=lambda done, of: advance(100 * done // max(of, 1)))


def _say_ratios(found: list[Ratio]) -> None:
    from rich import box
    from rich.table import Table

    from lab.formulas import written
    from lab.gaps import REGIMES

    rows: dict[tuple[str, str], dict[str, str]] = {}
    for each in found:
        grows = bool(each.ratio.free_symbols)
        shown = f"grows: {written(each.ratio)}" if grows else f"{float(each.ratio):.3g}"
        rows.setdefault((each.strategy, each.bound), {})[each.regime] = shown
    table = Table("schedule", "over", *REGIMES.values(), box=box.SIMPLE_HEAD)
    for (strategy, bound), at in rows.items():
        table.add_row(strategy, bound, *(at.get(regime, "–") for regime in REGIMES))
    say_table(table)
    click.echo("leading terms; over a Θ, which has no constant, only growth means something")


def _regimes(bound: Bound) -> dict[str, Any]:
    """Return where the two regimes of an order of growth meet, and their terms."""
    from bounds.bound import crossover, regimes
    from pebble.errors import SpecError

    try:
        meeting = crossover(bound)
        parts = regimes(bound)
    except SpecError:
        return {}
    return {
        "crossover": str(meeting),
        "regimes": [
            {"expression": str(part.expression), "condition": str(part.condition)} for part in parts
        ],
    }


def _scaled(bound: dict[str, Any], layer: Layer) -> dict[str, Any]:
    """Return a bound's value for the layer; an order of growth has none."""
    value = bound["value"]
    if value is None or bound["kind"] not in ("lower", "exact", "upper"):
        return {}
    return {"layer": layer.scaled({"value": math.ceil(value)})}


def _of_the_dag(workload: Workload, memory: int, rules: Rules, time: float) -> list[dict[str, Any]]:
    """Bounds computed from the DAG, in the form of the formulas' ones; none if it is large."""
    from lab.dag_bounds import dag_bounds_of

    with bar("bounds of the DAG", 100) as advance:
        found = dag_bounds_of(
            workload, memory, rules, time=time, progress=lambda _, part: advance(int(100 * part))
        )
    return [
        bound.to_json()
        | {
            "expression": str(bound.value),
            "condition": "True",
            "algorithm": None,
            "holds": True,
        }
        for bound in found
    ]


def _say(
    workload: Workload,
    memory: int | None,
    shown: list[dict[str, Any]],
    rules: str,
    layer: Layer | None,
) -> None:
    from lab.cli.statements import say_bounds

    budget = "" if memory is None else f", M={memory}"
    click.echo(f"{workload}{budget}, rules {rules}")
    if layer is not None:
        click.echo(f"the layer: {layer}, each head and sequence a play of its own")
    of_dag = [bound for bound in shown if "detail" in bound]
    # A single piece is the whole DAG: it was solved.
    solved = any(bound["detail"].startswith("1 pieces") and bound["finished"] for bound in of_dag)
    say_bounds(shown, rules, layer, solvable=bool(of_dag) and not solved)
