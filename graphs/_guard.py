"""The check that ``pebble`` is ours.

An unrelated distribution, *Pebble* (threads and processes), also imports as ``pebble``. Installed
beside ours it silently replaces ``pebble/__init__.py`` and leaves our other modules in place, so
that things break far from the cause. The check cannot live in the package that is overwritten; it
lives here, at the lowest floor that survives, and the packages above borrow it.
"""

from types import ModuleType

import pebble

__all__ = ["require_our_pebble"]

DISTRIBUTION = "redblue-pebble"


def require_our_pebble(package: str, found: ModuleType = pebble) -> None:
    """Raise unless the imported ``pebble`` is the red-blue pebble game's.

    Parameters
    ----------
    package : str
        Name of the package that is being imported, for the message.
    found : module
        What ``import pebble`` gave.

    Raises
    ------
    ImportError
        When `found` does not carry our marker: the other distribution has overwritten it, or was
        removed again and took ``pebble/__init__.py`` with it.

    Examples
    --------
    >>> require_our_pebble("graphs")
    """
    if getattr(found, "__distribution__", None) == DISTRIBUTION:
        return
    # A namespace package (no __init__.py left) has no file but has a path.
    place = getattr(found, "__file__", None) or next(iter(getattr(found, "__path__", ["?"])))
    raise ImportError(
        f"{package} needs the `pebble` of the distribution {DISTRIBUTION}, but `import pebble` "
        f"gave {place}, which is another. An unrelated distribution named Pebble also imports as "
        f"`pebble` and overwrites pebble/__init__.py when both are installed: the two cannot share "
        f"an environment. Install {DISTRIBUTION} into an environment of its own, or repair this "
        f"one:\n"
        f"    python -m pip uninstall --yes Pebble\n"
        f"    python -m pip install --force-reinstall --no-deps {DISTRIBUTION}",
        name="pebble",
        path=getattr(found, "__file__", None),
    )
