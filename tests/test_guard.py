"""The unrelated distribution *Pebble*, installed over ours, is named, with a remedy."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pebble", "graphs", "strategies", "bounds", "lab")

# The beginning of the other distribution's pebble/__init__.py, in outline.
FOREIGN = '__all__ = ["ProcessPool"]\nclass ProcessPool: pass\n'


@pytest.fixture
def installed(tmp_path):
    """A folder that stands for site-packages, with a copy of our five packages."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def run(folder, code):
    # -S: without site-packages the copy in `folder` is the only one, even where ours is installed.
    # It also shows that the five packages import without any third-party library.
    return subprocess.run(
        [sys.executable, "-S", "-P", "-c", code],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("package", PACKAGES[1:])
def test_overwritten_pebble_is_named_with_the_remedy(installed, package):
    (installed / "pebble" / "__init__.py").write_text(FOREIGN)

    done = run(installed, f"import {package}")

    assert done.returncode == 1
    last = done.stderr[done.stderr.rindex("\nImportError: ") :].strip()
    assert last.startswith("ImportError: graphs needs the `pebble` of the distribution redblue")
    assert "unrelated distribution named Pebble" in last
    assert "pip uninstall --yes Pebble" in last
    assert "pip install --force-reinstall --no-deps redblue-pebble" in last
    assert str(installed / "pebble" / "__init__.py") in last


def test_init_removed_with_the_other_distribution(installed):
    # `pip uninstall Pebble` takes the file along; what is left is a namespace package.
    (installed / "pebble" / "__init__.py").unlink()

    done = run(installed, "import lab")

    assert done.returncode == 1
    assert "pip install --force-reinstall --no-deps redblue-pebble" in done.stderr


def test_submodules_are_guarded_too(installed):
    (installed / "pebble" / "__init__.py").write_text(FOREIGN)

    done = run(installed, "import bounds.theorems")

    assert done.returncode == 1
    assert "unrelated distribution named Pebble" in done.stderr


def test_our_own_pebble_passes(installed):
    done = run(installed, "import lab, bounds, strategies, graphs; print(graphs.__file__)")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(installed / "graphs" / "__init__.py")
