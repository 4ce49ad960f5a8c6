"""Input that once hung, filled memory or ended in a stack trace."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from lab.cli import main


def refused(*call, match):
    answer = CliRunner().invoke(main, list(call))
    assert answer.exit_code == 2, answer.output
    assert match in answer.stderr


@pytest.mark.parametrize(
    "text", ["pyramid:h=1000000000", "tree:depth=2000000000,arity=1", "tree:depth=3000000"]
)
def test_sizes_are_checked_before_anything_is_built(text):
    refused("play", text, "-s", "naive", "-M", "4", match="take")


def test_a_header_that_promises_too_much(tmp_path):
    file = tmp_path / "big.mtx"
    file.write_text(
        "%%MatrixMarket matrix coordinate pattern general\n99999999999 99999999999 1\n2 1\n"
    )
    refused("play", str(file), "-s", "naive", "-M", "4", match="only 1 entries")


def test_bounds_at_absurd_sizes_end():
    answer = CliRunner().invoke(
        main, ["bound", "attention-backward:n=5,d=999999999999", "-M", "3", "--json"]
    )
    assert answer.exit_code == 0, answer.output


def test_numbers_too_long_say_so():
    refused("play", f"pyramid:h={10**30}", "-s", "naive", "-M", "4", match="at most 19 digits")
    refused("play", "pyramid:h=3", "-s", "naive", "-M", str(10**30), match="below 2**63")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_full_disk_is_said_in_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        call = [sys.executable, "-c", "from lab.cli import main; main()", "list"]
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip() == "Error: cannot write: No space left on device"
