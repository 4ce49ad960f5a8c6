"""Devices on the axis M / d²: the figures, the regimes, and what moves least there."""

import json
import re

import pytest
from click.testing import CliRunner

import lab
from graphs import workload
from lab.cli import main
from lab.devices import devices, regime, verdicts
from lab.layers import DATA_TYPES
from pebble.errors import SpecError


def run(*arguments, code=0):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


def ratio(name, d):
    device = next(device for device in devices() if device.name == name)
    return device.scalars / d**2


def test_a_dozen_devices_each_with_its_source():
    assert len(devices()) >= 12
    assert len({device.name for device in devices()}) == len(devices())
    for device in devices():
        assert device.data_type in DATA_TYPES
        assert device.address.startswith("https://")
        # What is stored is what the source prints, in KB or MB of 1024.
        printed = re.search(r"([\d.]+) (K|M)i?B\b", device.source)
        assert device.bytes == float(printed[1]) * {"K": 1024, "M": 1 << 20}[printed[2]]


def test_the_a100_of_dao22_in_fp16():
    # 192 KB are 98,304 scalars: 24 d², 6 d², 1.5 d², 0.375 d² at d = 64, 128, 256, 512.
    assert [ratio("NVIDIA A100 (Dao22)", d) for d in (64, 128, 256, 512)] == [24, 6, 1.5, 0.375]


@pytest.mark.parametrize(
    ("memory", "n", "d", "side"),
    [(4096, 1024, 64, "large cache"), (4095, 1024, 64, "small cache"), (64, 8, 8, "M >= n d")],
)
def test_regimes(memory, n, d, side):
    assert regime(memory, n, d).startswith(side)


def test_what_moves_least_is_found_by_counting(monkeypatch):
    apple = next(device for device in devices() if device.name == "Apple M-series GPU")
    monkeypatch.setattr("lab.devices.devices", lambda: (apple,))
    (found,) = verdicts([workload("attention-backward:n=64,d=512")])

    assert (found.memory, found.regime) == (16384, "small cache")
    names = ("split", "standard", "algorithm6:tiles=outer", "stored", "stored:keep=both")
    least = min(
        lab.count(found.workload, name, 16384).io
        for name in names
    )  # fmt: skip
    assert found.io == least
    assert found.over_compulsory == least / (8 * 64 * 512 + 64)


@pytest.mark.slow
def test_the_table():
    shown = run("devices", "--n", "128", "--d", "64", "--sources")

    assert "NVIDIA H100" in shown
    assert "28.5" in shown  # 228 KB in fp16 over 64²
    assert "https://docs.nvidia.com/cuda/hopper-tuning-guide/" in shown


@pytest.mark.slow
def test_the_table_in_json():
    rows = json.loads(run("devices", "--n", "16", "--d", "8,4096", "--json"))["verdicts"]

    assert len(rows) == 2 * len(devices())
    assert {row["d"] for row in rows} == {8, 4096}
    assert rows[0]["device"]["source"]
    assert {row["regime"] for row in rows} >= {"small cache", "M >= n d"}


def test_misuse_is_one_line():
    assert "Error: d" in run("devices", "--d", "0", code=2)
    assert "unknown workload" in run("devices", "--workload", "attention-sideways", code=2)
    with pytest.raises(SpecError, match="no head dimension"):
        verdicts([workload("matmul:m=2,n=2,k=2")])
