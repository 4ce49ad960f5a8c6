"""The command that measures claims of the literature."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lab.cli.group import bar, example, finding, json_option, say_json, say_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lab.verify.statement import Claim, Verdict

__all__ = ["verify_command"]


@click.command(
    "verify",
    short_help="Measure claims of the literature, and judge them.",
    epilog=example("pebble verify dao22-no-better --quick"),
)
@click.argument("claims", nargs=-1, metavar="[CLAIM]...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for a figure and a csv of each claim.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    show_default=True,
    help="Format of the figures.",
)
@click.option("--quick", is_flag=True, help="Fewer and smaller points, no exact search.")
@json_option
def verify_command(
    claims: tuple[str, ...], out: Path | None, kind: str, *, quick: bool, as_json: bool
) -> None:
    """Measure the named CLAIMs, by default all, and judge them.

    Upper halves are exact counts, lower halves certified bounds. Exit code 1 if a claim does not
    hold. The tolerances, fixed beforehand, are those of `lab.verify.tolerances`.
    """
    from lab.verify import claim, verify, write
    from lab.verify import claims as every
    from pebble.files import FileError

    chosen = [claim(name) for name in claims] or every()
    if out is not None:
        # Before any work: minutes of measuring are not lost to a folder that cannot be.
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {out}: {error.strerror}") from None
    found: dict[Claim, Verdict] = {}
    files: dict[str, dict[str, str]] = {}
    total = len({each.id for each in chosen})
    with bar("claims", total) as show:
        for each in dict.fromkeys(chosen):
            found |= verify([each.id], quick=quick)
            if out is not None:
                files[each.id] = write(each, found[each], out, kind)
            show(len(found))
    if as_json:
        say_json({"claims": [_plain(c, v) | files.get(c.id, {}) for c, v in found.items()]})
    else:
        _say(found)
        if out is not None:
            click.echo(f"wrote {2 * len(files)} files to {out}")
    if not all(verdict.holds for verdict in found.values()):
        finding()


def _plain(claim: Claim, verdict: Verdict) -> dict[str, object]:
    return {
        "name": claim.id,
        "statement": claim.statement,
        "reference": claim.reference,
        "predicted": claim.predicted,
        "measured": verdict.measured,
        "tolerance": claim.tolerance,
        "holds": verdict.holds,
        "checks": [check.to_json() for check in verdict.checks],
    }


def _say(found: Mapping[Claim, Verdict]) -> None:
    from rich import box
    from rich.table import Table

    for claim, verdict in found.items():
        word = "holds" if verdict.holds else "DOES NOT HOLD"
        table = Table(
            title=f"{claim.id}: {word}\n{claim.statement} ({claim.reference})",
            title_justify="left",
            title_style="",
            box=box.SIMPLE_HEAD,
        )
        for head in ("", "", "predicted", "measured", "tolerance"):
            table.add_column(head, overflow="fold")
        for check in verdict.checks:
            sign = "ok" if check.holds else "NO"
            table.add_row(sign, check.name, check.predicted, check.measured, check.tolerance)
        say_table(table)
    fails = [claim.id for claim, verdict in found.items() if not verdict.holds]
    click.echo(f"{len(found) - len(fails)} of {len(found)} claims hold")
    for name in fails:
        click.echo(f"does not hold: {name}")
