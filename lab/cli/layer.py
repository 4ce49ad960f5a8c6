"""The options --heads, --batch and --bytes, which scale counts of one head to a layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.layers import Layer
    from pebble.report import Report

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["as_layer", "layer_options", "say_layer"]


def layer_options(function: F) -> F:
    """Add ``--heads``, ``--batch`` and ``--bytes``."""
    for option in (
        click.option("--bytes", "width", help="Bytes a scalar: 2, or a data type such as fp16."),
        click.option("--batch", type=click.IntRange(min=1), help="Sequences of the batch."),
        click.option("--heads", type=click.IntRange(min=1), help="Heads: also count the layer."),
    ):
        function = option(function)
    return function


def as_layer(heads: int | None, batch: int | None, width: str | None) -> Layer | None:
    """Return the layer that the options describe; None where none was given."""
    if heads is None and batch is None and width is None:
        return None
    from lab.layers import Layer, read_width

    return Layer(heads or 1, batch or 1, None if width is None else read_width(width))


def say_layer(layer: Layer, report: Report) -> None:
    """Print a report's traffic for the whole layer."""
    click.echo(f"\nthe layer: {layer}, each head and sequence a play of its own")
    click.echo(f"  I/O      {layer.text(report.io)}")
    click.echo(f"  loads    {layer.text(report.loads)}")
    click.echo(f"  stores   {layer.text(report.stores)}")
    if layer.width is not None:
        click.echo(f"  fast memory of one play: {report.memory * layer.width / 1024:,.4g} KiB")
