"""The five packages import downwards only, and keep the house rules that a parser can see."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What each package may import of ours, besides itself.
BELOW = {
    "pebble": set(),
    "graphs": {"pebble"},
    "strategies": {"pebble", "graphs"},
    "bounds": {"pebble", "graphs"},
    "lab": {"pebble", "graphs", "strategies", "bounds"},
}
# llvmlite is what numba compiles with.
THIRD_PARTY = {
    "click",
    "llvmlite",
    "matplotlib",
    "networkx",
    "numba",
    "numpy",
    "rich",
    "scipy",
    "sympy",
}
EXTRAS = {"distributed", "pandas", "pyarrow"}
LONGEST = 600

FILES = sorted(path for package in BELOW for path in (ROOT / package).rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in FILES]


def imports(tree, inside=()):
    """(line, top-level name) of each absolute import; `inside` resolves relative ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                assert node.level <= len(inside), f"line {node.lineno} imports beyond the top"
                yield node.lineno, inside[0]
            else:
                yield node.lineno, node.module.split(".")[0]


def faults(source, path):
    """All breaches in one file, as text."""
    tree = ast.parse(source)
    package = path.parts[0]
    allowed = BELOW[package] | {package} | THIRD_PARTY | EXTRAS | set(sys.stdlib_module_names)
    yield from (
        f"{path}:{line}: {package} must not import {name}"
        for line, name in imports(tree, path.parts[:-1])
        if name not in allowed
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            yield f"{path}:{node.lineno}: star import"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
            and not re.match(r"lab/cli\b", path.as_posix())
        ):
            yield f"{path}:{node.lineno}: library code prints"
    lines = source.count("\n")
    if lines > LONGEST:
        yield f"{path}: {lines} lines; a file has one subject and at most {LONGEST} lines"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_file_keeps_the_floors(path):
    assert list(faults(path.read_text(encoding="utf-8"), path.relative_to(ROOT))) == []


def test_every_package_is_scanned():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(BELOW)


@pytest.mark.parametrize(
    ("place", "source", "fault"),
    [
        ("pebble/a.py", "import graphs", "pebble must not import graphs"),
        ("bounds/a.py", "def f():\n    from strategies.x import y", "must not import strategies"),
        ("strategies/a.py", "import bounds.theorems", "strategies must not import bounds"),
        ("graphs/a.py", "import lab", "graphs must not import lab"),
        ("lab/a.py", "import requests", "lab must not import requests"),
        ("lab/a.py", "from pebble import *", "star import"),
        ("lab/plots.py", "print(1)", "library code prints"),
        ("lab/a.py", "x = 1\n" * 601, "601 lines"),
    ],
)
def test_the_scan_sees_a_breach(place, source, fault):
    found = list(faults(source, Path(place)))

    assert len(found) == 1
    assert fault in found[0]


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("lab/a.py", "import strategies, bounds.theorems, numpy.linalg, os.path"),
        ("strategies/optimum/a.py", "from . import b\nfrom ..orders import c"),
        ("lab/cli.py", "print(1)"),
        ("lab/cli/play.py", "print(1)"),
    ],
)
def test_the_scan_lets_pass_what_is_allowed(place, source):
    assert list(faults(source, Path(place))) == []
