"""What is shipped: five typed packages and nothing else at the top; one version; one demo."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import pebble

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"pebble", "graphs", "strategies", "bounds", "lab"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    built = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")))
    with zipfile.ZipFile(next(built)) as archive:
        yield archive


def test_the_wheel_holds_the_five_packages_alone(wheel):
    top = {name.split("/")[0] for name in wheel.namelist()}

    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES


def test_the_wheel_holds_every_module_of_the_tree(wheel):
    tree = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }

    assert {name for name in wheel.namelist() if name.endswith(".py")} == tree


def test_every_package_says_it_is_typed(wheel):
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(wheel.namelist())


def test_metadata_of_the_wheel(wheel):
    info = f"redblue_pebble-{pebble.__version__}.dist-info"
    metadata = wheel.read(f"{info}/METADATA").decode()

    assert re.search(r"^Name: redblue-pebble$", metadata, re.MULTILINE)
    assert re.search(rf"^Version: {re.escape(pebble.__version__)}$", metadata, re.MULTILINE)
    assert re.search(r"^License-Expression: MIT$", metadata, re.MULTILINE)
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    entry_points = wheel.read(f"{info}/entry_points.txt").decode()
    assert re.search(r"^pebble = lab\.cli:main$", entry_points, re.MULTILINE)


def test_the_version_is_written_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert "version" not in project
    assert project["dynamic"] == ["version"]


def test_ci_runs_the_demo_of_the_makefile():
    command = re.compile(r"pebble\"? (sweep .* --plot demo\.png)$", re.MULTILINE)

    (demo,) = command.findall((ROOT / "Makefile").read_text())
    assert command.findall((ROOT / ".ci" / "run").read_text()) == [demo]
