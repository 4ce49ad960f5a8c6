"""Pictures that commands write."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["check_picture", "save_picture"]


def check_picture(path: Path) -> None:
    """Raise, before any work, if a picture of this name cannot be written."""
    from matplotlib.backend_bases import FigureCanvasBase

    from pebble.errors import SpecError

    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in kinds:
        names = ", ".join(f".{kind}" for kind in sorted(kinds))
        raise SpecError(f"{path}: a picture is written as {names}")


def save_picture(figure: Figure, path: Path) -> None:
    """Write a picture, under a temporary name first."""
    from pebble.files import replacing

    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150)
