"""How `pebble list` is laid out: narrow, two to four lines an entry, sources explained."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import click

from lab.papers import papers_in

__all__ = ["matching", "say_entries", "say_papers"]

#: Columns where nobody says how many there are, and the most that read well.
_WIDTH, _WIDEST = 80, 100
_HEADS = {
    "workloads": "what to compute: name:size=number,...; a value that is shown can be left out",
    "strategies": "how to play: name, or name:option=value,...; the values shown are the default",
    "bounds": "what no play can beat, from the literature; a Θ or Ω has no constant",
    "rules": "conventions: --rules name, or several joined by +",
}


def matching(entries: Sequence[dict[str, Any]], words: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries in which every word occurs, in name, alias or description."""

    def text(entry: dict[str, Any]) -> str:
        return " ".join(str(value) for value in entry.values()).lower()

    return [entry for entry in entries if all(word.lower() in text(entry) for word in words)]


def say_entries(title: str, entries: Sequence[dict[str, Any]]) -> None:
    """Print entries: what to write, and indented what it is, its other names, its source."""
    click.echo(f"{click.style(title.upper(), bold=True)}\n{_HEADS[title]}\n")
    for entry in entries:
        click.echo(click.style(entry.get("usage", entry["name"]), fg="cyan"))
        for line in _lines(entry):
            click.echo(line)
    click.echo()


def say_papers(entries: Sequence[dict[str, Any]]) -> None:
    """Print what the short names of papers in the entries' sources stand for."""
    papers = papers_in(entry.get("reference", "") for entry in entries)
    if not papers:
        return
    click.echo(f"{click.style('SOURCES', bold=True)}\n")
    for name, paper in papers.items():
        click.echo(_wrapped(f"{name:8}{paper}", "", " " * 8))


def _lines(entry: dict[str, Any]) -> Iterator[str]:
    if entry.get("statement"):
        formula, where, condition = _formula(entry).partition(" where ")
        yield _wrapped(formula)
        if where:
            yield _wrapped(f"where {condition}")
    for key in ("summary", "conventions"):
        if entry.get(key):
            value = entry[key]
            yield _wrapped(value if isinstance(value, str) else "; ".join(value))
    if entry.get("aliases"):
        yield _wrapped(f"other names: {', '.join(entry['aliases'])}")
    # The list of sources gives the number of the preprint.
    source = re.sub(r" \(arXiv [\d.]+\)", "", entry.get("reference", ""))
    if source:
        yield _wrapped(f"source: {source}")


def _formula(entry: dict[str, Any]) -> str:
    """Return a bound's statement without its source, written for reading."""
    from lab.costs import pretty

    text = pretty(entry["statement"].removesuffix(f", {entry['reference']}"))
    signs = {"<=": "≤", ">=": "≥", " & ": " and ", "Min(": "min("}
    for sign, shown in signs.items():
        text = text.replace(sign, shown)
    return text


def _wrapped(text: str, first: str = " " * 4, rest: str = " " * 4) -> str:
    width = _WIDTH
    if sys.stdout.isatty():
        width = min(max(shutil.get_terminal_size().columns, 40), _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
