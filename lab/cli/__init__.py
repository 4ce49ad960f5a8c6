"""The command ``pebble``."""

from __future__ import annotations

import click

from lab.cli.catalogue import graph_command, list_command
from lab.cli.devices import devices_command
from lab.cli.explaining import explain_command
from lab.cli.exploring import explore_command
from lab.cli.gaming import game_command
from lab.cli.gapping import gap_command
from lab.cli.group import PebbleGroup, example
from lab.cli.improving import improve_command
from lab.cli.pictures import animate_command, picture_command
from lab.cli.plays import check_command, count_command, play_command
from lab.cli.solving import solve_command
from lab.cli.sweeps import sweep_command
from lab.cli.teaching import grade_command, page_command
from lab.cli.theory import bound_command
from lab.cli.verifying import verify_command
from pebble import __version__

__all__ = ["main"]


@click.group(
    cls=PebbleGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("pebble play pyramid:h=4 --strategy naive --memory 3"),
)
@click.version_option(__version__, prog_name="pebble")
def main() -> None:
    """Play the red-blue pebble game, built to ask how much data attention must move.

    Exit codes: 0, 1 for a finding (an illegal trace), 2 for misuse.
    """


for _command in (
    list_command,
    graph_command,
    play_command,
    count_command,
    sweep_command,
    check_command,
    bound_command,
    verify_command,
    devices_command,
    solve_command,
    improve_command,
    explore_command,
    picture_command,
    animate_command,
    explain_command,
    gap_command,
    page_command,
    game_command,
    grade_command,
):
    main.add_command(_command)
