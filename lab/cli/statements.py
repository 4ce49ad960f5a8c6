"""How `pebble bound` prints what it knows: what holds here first, then what is said elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from lab.layers import Layer

__all__ = ["say_bounds"]

Shown = dict[str, Any]

_SIGNS = {"lower": "at least", "upper": "at most", "exact": "exactly"}
_ORDERS = {"theta": "Θ", "omega": "Ω"}


def say_bounds(shown: list[Shown], rules: str, layer: Layer | None, solvable: bool) -> None:
    """Print bounds in their plain form, those that hold here by falling value.

    Parameters
    ----------
    shown : list of dict
        As ``--json`` gives them.
    rules : str
        The rules asked for.
    layer : Layer, optional
        Scales numbers of moves.
    solvable : bool
        Whether the DAG is small enough for `pebble solve` to be worth a try.
    """
    if not shown:
        click.echo(f"no bound on this workload is known here under the rules {rules}; try hk")
        return
    numbers = [bound for bound in shown if bound["kind"] in _SIGNS and bound["value"] is not None]
    least = [bound for bound in numbers if bound["kind"] != "upper"]
    if least:
        best = max(least, key=lambda bound: bound["value"])
        click.echo(f"no play moves less than {math.floor(best['value']):,} ({_name(best)})")
        _say_layer(best, layer)
        if solvable:
            click.echo("pebble solve looks for the least itself, on a DAG as small as this one")
    _section("at least, here", _distinct(least), layer)
    _section("at most, here", [bound for bound in numbers if bound["kind"] == "upper"], layer)
    orders = [bound for bound in shown if bound["kind"] in _ORDERS and bound["holds"] is not False]
    _section("orders of growth, without a constant", orders, layer)
    formulas = [b for b in shown if b["kind"] in _SIGNS and b["holds"] is None]
    _section("formulas", formulas, layer)
    other = [bound for bound in shown if bound["holds"] is False]
    _section("stated for other sizes or another M", other, layer)
    _section("printed, but not true in this game", [b for b in shown if _is_claim(b)], layer)


def _is_claim(bound: Shown) -> bool:
    return bool(bound["kind"] == "claimed" and bound["holds"] is not False)


def _name(bound: Shown) -> str:
    name: str = bound["name"]
    if "detail" in bound and name != "compulsory":
        return f"{name}, of this DAG"
    # "compulsory-attention-forward": one name for all that is compulsory.
    return "compulsory" if name.startswith("compulsory") else name


def _distinct(bounds: Iterable[Shown]) -> list[Shown]:
    """Return the greatest first; what several methods call compulsory is said once."""
    found: list[Shown] = []
    for bound in sorted(bounds, key=lambda bound: -bound["value"]):
        if any((_name(b), b["value"]) == (_name(bound), bound["value"]) for b in found):
            continue
        found.append(bound)
    return found


def _section(title: str, bounds: list[Shown], layer: Layer | None) -> None:
    if not bounds:
        return
    click.echo(f"\n{title}")
    for bound in bounds:
        value = bound["value"]
        number = "" if value is None else f"{value:,.10g}  "
        click.echo(f"  {number}{_name(bound)}{_whose(bound)}: {_statement(bound)}")
        if value is not None and title != "at least, here":
            _say_layer(bound, layer, indent="    ")
        if bound["condition"] != "True":
            click.echo(f"    where {bound['condition']}")
        if bound.get("crossover"):
            click.echo(f"    its two regimes meet at M = {bound['crossover']}")
        click.echo(f"    {bound['reference']}; rules {bound['rules']}")


def _whose(bound: Shown) -> str:
    return f", I/O of {bound['algorithm']}" if bound["algorithm"] else ""


def _statement(bound: Shown) -> str:
    if "statement" in bound:
        segment = "" if bound["segment"] is None else f", T = {bound['segment']:,}"
        return f"{bound['statement']}{segment}"
    if "detail" in bound:
        return str(bound["detail"]) + ("" if bound["finished"] else "; stopped by --time")
    sign = _ORDERS.get(bound["kind"])
    if sign is not None:
        return f"{sign}({bound['expression']})"
    return f"{_SIGNS.get(bound['kind'], 'at least')} {bound['expression']}"


def _say_layer(bound: Shown, layer: Layer | None, indent: str = "  ") -> None:
    if layer is not None and "layer" in bound:
        click.echo(f"{indent}in the layer: {layer.text(math.ceil(bound['value']))}")
