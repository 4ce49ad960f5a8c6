"""The group that every command belongs to: errors in one line, exit codes, shared options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from pebble.errors import IllegalMoveError, PebbleError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

__all__ = ["FINDING", "MISUSE", "PebbleGroup", "bar", "check_target", "example", "finding"]
__all__ += ["compiling", "json_option", "memory_option", "rules_option", "say_json", "say_table"]
__all__ += ["strategy_option", "timeline_option"]

#: Exit codes: a finding (an illegal trace, a claim that fails), misuse, Ctrl-C, a closed pipe.
FINDING, MISUSE, INTERRUPTED, CLOSED = 1, 2, 130, 141

F = TypeVar("F", bound=Callable[..., Any])


class PebbleGroup(click.Group):
    """A group whose errors are one line on standard error and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and leave with its exit code."""

        def run() -> Any:
            return super(PebbleGroup, self).main(
                args,
                prog_name or "pebble",
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        if not standalone_mode:
            return run()
        sys.exit(self._guarded(run))

    @staticmethod
    def _guarded(run: Callable[[], Any]) -> int:
        for stream in (sys.stdout, sys.stderr):
            # A terminal without Θ prints a question mark, not an error.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        try:
            code = run()
            sys.stdout.flush()
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except IllegalMoveError as error:
            return _complain(error, FINDING)
        except PebbleError as error:
            return _complain(error, MISUSE)
        except MemoryError:
            return _complain("out of memory: take smaller sizes", MISUSE)
        except (click.Abort, KeyboardInterrupt):
            return _complain("interrupted; nothing half-written is left", INTERRUPTED)
        except (BrokenPipeError, SystemExit):
            # Whoever read our output has gone (click makes a SystemExit of it). Python flushes
            # once more at the end: into nothing.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return CLOSED
        except OSError as error:
            # A full disk, say. Our output goes nowhere from here on, the reason to stderr.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _complain(f"cannot write: {error.strerror or error}", MISUSE)
        return code if isinstance(code, int) else 0


def _complain(error: object, code: int) -> int:
    click.echo(f"Error: {error}", err=True)
    return code


def finding() -> NoReturn:
    """Leave with the exit code of a finding."""
    raise click.exceptions.Exit(FINDING)


# -- options that commands share --------------------------------------------------------------


def example(*lines: str) -> str:
    """Return a command's epilogue: commands to try, which the tests run."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def json_option(function: F) -> F:
    """Add ``--json``."""
    option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
    return option(function)


def rules_option(function: F) -> F:
    """Add ``--rules``."""
    option = click.option(
        "--rules", default="hk", show_default=True, help="hk, one-shot, ...: see `pebble list`."
    )
    return option(function)


def memory_option(function: F) -> F:
    """Add a required ``--memory``."""
    option = click.option(
        "--memory", "-M", required=True, help="M: a number, or a formula such as 0.25*d^2."
    )
    return option(function)


def strategy_option(function: F) -> F:
    """Add a required ``--strategy``."""
    option = click.option(
        "--strategy", "-s", required=True, help="As flash or flash:rows=8; see `pebble list`."
    )
    return option(function)


def timeline_option(function: F) -> F:
    """Add ``--timeline``."""
    option = click.option(
        "--timeline",
        type=click.IntRange(min=2),
        metavar="N",
        help="Also give the counts at up to N moments.",
    )
    return option(function)


def check_target(path: Path | None) -> None:
    """Raise, before any work, if a file cannot be written."""
    from pebble.files import FileError

    if path is None:
        return
    if path.is_dir():
        raise FileError(f"cannot write {path}: it is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.absolute().parent}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise FileError(f"cannot write {path}: no permission in {path.absolute().parent}")


# -- output -------------------------------------------------------------------------------------


def say_json(data: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def say_table(table: Table) -> None:
    """Print a table, as wide as it needs to be unless a terminal is narrower."""
    from rich.console import Console

    # Into a pipe or a file a table is never folded.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 240)
    console.print(table)


@contextmanager
def bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Give a function that sets a progress bar; the bar shows on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Elapsed())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def compiling(ready: Callable[[], None]) -> None:
    """Compile what a command runs, or load it; say so on standard error where it is compiled."""
    from numba.core import event as events

    event: Any = events

    class Listener(events.Listener):
        said = False

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if not self.said:
                click.echo("compiling, once ...", err=True)
            self.said = True

        def on_end(self, event: Any) -> None:
            pass

    listener = Listener()
    event.register("numba:compile", listener)
    try:
        ready()
    finally:
        event.unregister("numba:compile", listener)
