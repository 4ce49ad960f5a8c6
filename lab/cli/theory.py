"""The command bound: what is known of the least I/O."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import bar, example, json_option, rules_option, say_json
from lab.cli.layer import as_layer, layer_options

if TYPE_CHECKING:
    from graphs.registry import Workload
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
@layer_options
@json_option
def bound_command(
    workload: str,
    memory: str | None,
    rules: str,
    time: float,
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
    sizes = what.sizes()
    shown = [bound.to_json(**values_at(bound, sizes, budget)) for bound in known]
    if budget is not None:
        from bounds.certified import certified

        # The greatest certified bound at these sizes comes first.
        shown = [bound.to_json() for bound in certified(what, budget, judged_by)[:1]] + shown
    if budget is not None:
        shown += _of_the_dag(what, budget, judged_by, time)
    if layer is not None:
        shown = [bound | _scaled(bound, layer) for bound in shown]
    if as_json:
        more = {} if layer is None else {"layer": layer.to_json()}
        say_json({"workload": str(what), "memory": budget, "rules": rules, "bounds": shown} | more)
        return
    _say(what, budget, shown, str(judged_by), layer)


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
    budget = "" if memory is None else f", M={memory}"
    click.echo(f"{workload}{budget}, rules {rules}")
    if layer is not None:
        click.echo(f"the layer: {layer}, each head and sequence a play of its own")
    if not shown:
        click.echo(
            f"no bound on this workload is known here under the rules {rules}; try --rules hk"
        )
    signs = {"theta": "order", "lower": "at least", "upper": "at most", "exact": "exactly"}
    signs |= {"omega": "at least of order", "claimed": "printed, but not so in this game: at least"}
    for bound in shown:
        if "statement" in bound:
            segment = "" if bound["segment"] is None else f", T = {bound['segment']:,}"
            click.echo(f"\nat least {bound['value']:,}, certified: {bound['name']}")
            _say_layer(bound, layer)
            click.echo(f"  {bound['statement']}{segment}")
            click.echo(f"  {bound['reference']}; rules {bound['rules']}")
            continue
        if "detail" in bound:
            stopped = "" if bound["finished"] else "; stopped by --time, holds all the same"
            click.echo(f"\nat least {bound['value']:,}, of this DAG: {bound['name']}{stopped}")
            _say_layer(bound, layer)
            click.echo(f"  {bound['detail']}")
            click.echo(f"  {bound['reference']}; rules {bound['rules']}")
            continue
        whose = f", I/O of {bound['algorithm']}" if bound["algorithm"] else ""
        click.echo(f"\n{bound['name']}{whose}")
        value = "" if bound["value"] is None else f"  =  {bound['value']:,.10g}"
        click.echo(f"  {signs[bound['kind']]} {bound['expression']}{value}")
        _say_layer(bound, layer)
        if bound["condition"] != "True":
            verdict = {True: "", False: ": not so here", None: ""}[bound["holds"]]
            click.echo(f"  where {bound['condition']}{verdict}")
        click.echo(f"  {bound['reference']}; rules {bound['rules']}")


def _say_layer(bound: dict[str, Any], layer: Layer | None) -> None:
    if layer is not None and "layer" in bound:
        click.echo(f"  in the layer: {layer.text(math.ceil(bound['value']))}")
