"""The example of a strategy in a distribution of its own, installed as a user would."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "examples" / "plugin"
PAGE = ROOT / "docs" / "writing-a-strategy.md"


def test_the_page_registers_it_as_the_package_does():
    written = tomllib.loads(re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]

    assert written["project"]["entry-points"] == project["entry-points"]


def test_the_page_and_the_package_show_the_same_text():
    page = [line[4:] for line in PAGE.read_text().splitlines() if line[:3] in {">>>", "..."}]
    shown = page[page.index("def one_row(s):") + 1 :]
    code = (PLUGIN / "one_row" / "__init__.py").read_text().split('scalar by scalar."""\n')[1]

    body = [line for line in code.split("\n\n\n")[0].splitlines() if line]
    assert shown[: len(body)] == body


def pebble(site, *arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    call = [sys.executable, "-c", "from lab.cli import main; main()", *arguments, "--json"]
    done = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_an_installed_strategy_is_found_played_and_keeps_its_promises(tmp_path):
    site = tmp_path / "site"
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    # Built from a copy: the build leaves nothing in the tree.
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN, copy)
    install = [sys.executable, "-m", "pip", "install", "-q", *options, str(copy)]
    subprocess.run(install, check=True, capture_output=True)

    play = ("attention-forward:n=6,d=3", "--strategy", "one-row", "--memory", "11")
    report = pebble(site, "play", *play, "--execute", "1")
    assert report["io"] == 2 * 6 * 3 + 2 * 6**2 * 3
    assert report["execution"]["agrees"]
    listed = pebble(site, "list", "--strategies")
    assert "one-row" in {entry["name"] for entry in listed["strategies"]}
    (row,) = (row for row in listed["costs"] if row["strategy"] == "one-row")
    assert row["io"] == "2*d*n**2 + 2*d*n"
    check = "from strategies import check_strategy; print(len(check_strategy('one-row')))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, env=environment, check=True
    )
    assert int(done.stdout) > 10
