"""From one head to a layer, and from scalars to bytes: what is multiplied and printed."""

import json

import pytest
from click.testing import CliRunner

import lab
from lab.cli import main
from lab.layers import Layer, bytes_text, read_width
from pebble.errors import SpecError, UnknownNameError

FORWARD = "attention-forward:n=64,d=8"
LAYER = ("--heads", "16", "--batch", "64", "--bytes", "fp16")


def run(*arguments, code=0):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == code, done.output
    return done.output if code else done.stdout


def test_dao22s_matrices_in_bytes():
    # GPT-2 medium, batch 64, fp16: an n x d matrix of all heads has 0.1342 GB, an n x n one 2.1475.
    layer = Layer(heads=16, batch=64, width=2)

    assert layer.bytes(1024 * 64) == 134_217_728
    assert layer.bytes(1024 * 1024) == 2_147_483_648
    assert bytes_text(2_147_483_648) == "2.15 GB"


@pytest.mark.parametrize(
    ("text", "width"), [("fp16", 2), ("BF16", 2), ("fp32", 4), ("fp64", 8), ("fp8", 1), ("2", 2)]
)
def test_widths(text, width):
    assert read_width(text) == width


@pytest.mark.parametrize(
    ("number", "text"),
    [(999, "999 bytes"), (1000, "1.00 kB"), (999_600, "1.00 MB"), (10**24, "1,000,000 EB")],
)
def test_bytes_in_words(number, text):
    assert bytes_text(number) == text


@pytest.mark.parametrize("text", ["0", "17", "-1", "2.5", "", "fp17", "²", "9" * 5000])
def test_other_widths_are_refused(text):
    with pytest.raises((SpecError, UnknownNameError)):
        read_width(text)


def test_a_layer_has_heads():
    with pytest.raises(SpecError, match="heads must be at least 1"):
        Layer(heads=0)


@pytest.mark.parametrize("command", ["play", "count"])
def test_a_report_keeps_its_counts_and_gains_a_layer(command):
    call = (command, FORWARD, "-s", "flash", "-M", "100", "--json")
    plain, scaled = json.loads(run(*call)), json.loads(run(*call, *LAYER))

    layer = scaled.pop("layer")
    assert scaled == plain
    assert (layer["heads"], layer["batch"], layer["bytes_per_scalar"]) == (16, 64, 2)
    for name in ("loads", "stores", "io"):
        assert layer[name] == 1024 * plain[name]
        assert layer[f"{name}_bytes"] == 2048 * plain[name]
    assert layer["fast_memory_bytes"] == 200


def test_a_layer_in_words():
    io = lab.count(FORWARD, "flash", 100).io
    shown = run("count", FORWARD, "-s", "flash", "-M", "100", *LAYER)

    assert "the layer: 16 heads x batch 64, 2 bytes a scalar" in shown
    assert f"  I/O      {1024 * io:,} scalars = {2048 * io / 1e6:.1f} MB\n" in shown
    only = run("count", FORWARD, "-s", "flash", "-M", "100", "--heads", "3")
    assert f"  I/O      {3 * io:,} scalars\n" in only
    assert "bytes" not in only


def test_sweeps_in_bytes():
    call = ("sweep", FORWARD, "-s", "naive,flash", "-M", "8,100", "--method", "tally")
    plain, scaled = (json.loads(run(*call, "--json", *more)) for more in ((), LAYER))

    for before, after in zip(plain["rows"], scaled["rows"], strict=True):
        layer = after.pop("layer")
        assert after == before
        assert layer["io_bytes"] == (None if before["io"] is None else 2048 * before["io"])
    shown = run(*call, *LAYER)
    assert "layer I/O" in shown
    assert bytes_text(2048 * lab.count(FORWARD, "naive", 100).io) in shown


def test_bounds_in_bytes_but_orders_not():
    call = ("bound", "attention-forward:n=1048576,d=64", "-M", "100000", "--time", "0", "--json")
    plain, scaled = (json.loads(run(*call, *more))["bounds"] for more in ((), LAYER))

    for before, after in zip(plain, scaled, strict=True):
        layer = after.pop("layer", None)
        assert after == before
        if before["kind"] == "theta":
            assert layer is None
        if "certified" in str(before) and before["kind"] == "lower" and before["value"]:
            assert layer["value_bytes"] == 2048 * before["value"]
    assert any("layer" in bound for bound in json.loads(run(*call, *LAYER))["bounds"])


def test_a_wrong_width_is_one_line():
    shown = run("count", FORWARD, "-s", "flash", "-M", "100", "--bytes", "fp61", code=2)

    assert shown.startswith("Error: unknown data type")
