"""The command bound: what is known of the least I/O."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from lab.cli.group import bar, example, json_option, rules_option, say_json
from lab.cli.layer import as_layer, layer_options

if TYPE_CHECKING:
    from bounds.bound import Bound
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
    shown = [bound.to_json(**values_at(bound, sizes, budget)) | _regimes(bound) for bound in known]
    if budget is not None:
        from bounds.certified import certified

        # The greatest certified bound at these sizes comes first.
        shown = [bound.to_json() for bound in certified(what, budget, judged_by)[:1]] + shown
        shown += _of_the_dag(what, budget, judged_by, time)
    if layer is not None:
        shown = [bound | _scaled(bound, layer) for bound in shown]
    if as_json:
        more = {} if layer is None else {"layer": layer.to_json()}
        say_json({"workload": str(what), "memory": budget, "rules": rules, "bounds": shown} | more)
        return
    _say(what, budget, shown, str(judged_by), layer)


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
