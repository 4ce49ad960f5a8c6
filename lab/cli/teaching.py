"""Commands for teaching: page, grade."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli.group import check_target, example, finding, json_option, say_json, say_table

if TYPE_CHECKING:
    from lab.page.grading import Grade
    from lab.page.levels import Level

__all__ = ["grade_command", "page_command"]


@click.command(
    "page",
    short_help="Open the teaching page: the game in the browser, with lessons.",
    epilog=example(
        "pebble page --out lessons.html",
        "pebble page --workload pyramid:h=4 --memory 5 --out pyramid.html",
    ),
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the page there; without it, it opens in the browser.",
)
@click.option(
    "--level", "levels", multiple=True, help="A level: a file of yours, or a lesson's name. Repeat."
)
@click.option("--workload", help="A level of any small workload or graph file.")
@click.option("--memory", "-M", help="M for --workload: a number, or a formula in its sizes.")
@click.option("--rules", default="hk", show_default=True, help="Rules for --workload.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(min=0),
    default=2,
    show_default=True,
    help="Seconds to look for the optimum of a level that states no par.",
)
@json_option
def page_command(
    out: Path | None,
    levels: tuple[str, ...],
    workload: str | None,
    memory: str | None,
    rules: str,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Write or open the teaching page: one file, which needs no network and can be hosted as it is.

    Without --level and --workload it holds the course of lessons.
    """
    from lab.page.assembly import write_page
    from lab.page.levels import find_level, lessons
    from lab.page.pars import solved

    check_target(out)
    chosen = [find_level(text) for text in levels]
    if workload is not None:
        chosen.append(_from_workload(workload, memory, rules))
    elif memory is not None:
        raise click.UsageError("--memory belongs to --workload: a level has an M of its own")
    chosen = [solved(level, seconds) for level in chosen] or lessons()
    path = out if out is not None else Path(tempfile.mkdtemp(prefix="pebble-")) / "pebble.html"
    write_page(path, chosen)
    if out is None:
        click.launch(path.as_uri())
    if as_json:
        say_json({"file": str(path), "levels": [level.name for level in chosen]})
    else:
        count = f"{len(chosen)} level{'s' if len(chosen) > 1 else ''}"
        click.echo(f"wrote {path} ({count})" if out is not None else f"opened {path} ({count})")


def _from_workload(workload: str, memory: str | None, rules: str) -> Level:
    from lab.arguments import as_memory, as_rules, as_workload
    from lab.page.levels import level_of

    if memory is None:
        raise click.UsageError("--workload needs --memory: the number of red pebbles")
    what = as_workload(workload)
    return level_of(what, as_memory(memory, what), as_rules(rules))


@click.command(
    "grade",
    short_help="Grade a class: referee traces of a level against its par.",
    epilog=example(
        "pebble play pyramid:h=3 --strategy lru --memory 4 --trace play.txt",
        "pebble grade play.txt --level pyramid --out grades.csv",
    ),
)
@click.argument("files", nargs=-1, required=True)
@click.option("--level", required=True, help="A lesson's name or number, or a level file.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table as csv, too.")
@json_option
def grade_command(files: tuple[str, ...], level: str, out: Path | None, *, as_json: bool) -> None:
    """Referee the traces FILES of a level: legal or why not, I/O, distance to par.

    Each is judged by the level's own graph, M and rules. The exit code is 1 when one is not legal.
    """
    from lab.page.grading import grade, write_grades
    from lab.page.levels import find_level
    from lab.page.pars import solved

    check_target(out)
    found = solved(find_level(level))
    grades = grade(files, found)
    if out is not None:
        write_grades(out, grades)
    if as_json:
        say_json({"level": found.name, "par": found.par, "grades": [g.to_json() for g in grades]})
    else:
        _say(found, grades)
        if out is not None:
            click.echo(f"wrote {out}")
    if not all(g.legal for g in grades):
        finding()


def _say(level: Level, grades: list[Grade]) -> None:
    from rich import box
    from rich.table import Table

    par = "no par known" if level.par is None else f"par {level.par}"
    title = f"{level.title}: M={level.memory}, rules {level.rules}, {par}"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for heading in ("trace", "legal", "I/O", "above par", "stars", "remark"):
        right = heading in ("I/O", "above par")
        table.add_column(heading, overflow="fold", justify="right" if right else "left")
    for g in grades:
        above = "" if g.above_par is None else f"{g.above_par:+d}" if g.above_par else "0"
        io = "" if g.io is None else str(g.io)
        legal = "yes" if g.legal else "no"
        table.add_row(g.file, legal, io, above, "★" * g.stars, g.reason)
    say_table(table)
