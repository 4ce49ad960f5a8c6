"""Claims of the literature, measured and judged: the command ``pebble verify``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pebble.errors import unknown

if TYPE_CHECKING:
    from pathlib import Path

    from lab.verify.statement import Claim, Verdict

__all__ = ["claim", "claims", "verify", "write"]


def claims() -> list[Claim]:
    """Return every claim: what the modules of this package list as ``CLAIMS``.

    Examples
    --------
    >>> len({claim.id for claim in claims()}) == len(claims()) > 10
    True
    """
    from lab.verify.statement import Claim

    found = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        found += [each for each in members.get("CLAIMS", ()) if isinstance(each, Claim)]
    return found


def claim(name: str) -> Claim:
    """Return the claim of a name.

    Raises
    ------
    UnknownNameError
        If there is none; the message has close names.

    Examples
    --------
    >>> claim("sy24-forward-large").predicted
    'Θ(n^2 d^2 M^-1)'
    """
    known = {each.id: each for each in claims()}
    if name not in known:
        raise unknown("claim", name, known)
    return known[name]


def verify(
    names: Iterable[str] = (),
    *,
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[Claim, Verdict]:
    """Measure claims, all of them if no name is given.

    Parameters
    ----------
    names : iterable of str
        Names of claims; repeated ones count once.
    quick : bool
        Fewer and smaller points, no exact search.
    progress : callable, optional
        Called with a claim's name, how many are done, and how many there are.

    Raises
    ------
    UnknownNameError
        If there is no claim of a name; nothing is measured then.

    Examples
    --------
    >>> for claim, verdict in verify(["dao22-no-better"], quick=True).items():
    ...     print(claim.id, verdict.holds)
    dao22-no-better True
    """
    chosen = list(dict.fromkeys(claim(name) for name in names)) or claims()
    found = {}
    for done, each in enumerate(chosen):
        if progress:
            progress(each.id, done, len(chosen))
        found[each] = each.measure(quick=quick)
    if progress:
        progress("", len(chosen), len(chosen))
    return found


def write(claim: Claim, verdict: Verdict, folder: Path, kind: str = "png") -> dict[str, str]:
    """Write a claim's figure and its points, as ``ID.png`` and ``ID.csv``, into a folder.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    kind : {"png", "svg", "pdf"}
        Format of the figure.

    Returns
    -------
    dict of str to str
        The paths, as ``figure`` and ``csv``.

    Raises
    ------
    FileError
        If a file cannot be written.
    """
    import csv

    from lab.plots import figure
    from pebble.files import FileError, replacing

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}") from None
    table, picture = folder / f"{claim.id}.csv", folder / f"{claim.id}.{kind}"
    with replacing(table) as path, path.open("w", newline="", encoding="utf-8") as file:
        names: list[Any] = list(verdict.rows[0])
        lines = csv.DictWriter(file, names, lineterminator="\n")
        lines.writeheader()
        lines.writerows(verdict.rows)
    fig, ax = figure()
    verdict.draw(ax)
    with replacing(picture) as path:
        fig.savefig(path, dpi=150)
    return {"figure": str(picture), "csv": str(table)}
