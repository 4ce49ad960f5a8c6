"""The command line's contract: JSON keys, exit codes, one line of error, no files left behind."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import graphs
import lab
from lab.cli import main
from pebble import __version__
from pebble.errors import TraceError

REPORT_KEYS = {
    "workload", "strategy", "memory", "rules", "loads", "stores", "io", "computes", "recomputes",
    "peak_red", "moves", "tensors",
}  # fmt: skip
BACKWARD = "attention-backward:n=6,d=3"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert done.exit_code == code, done.output
    return done


def run_json(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


def refused(*arguments):
    """Run what must be refused; return the one line of explanation."""
    before = sorted(Path().iterdir())
    done = run(*arguments, code=2)
    assert done.stdout == ""
    assert sorted(Path().iterdir()) == before
    message = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(message) == 1
    return message[0]


# -- help --------------------------------------------------------------------------------------


def examples(command):
    lines = (command.epilog or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("pebble ")]


#: Commands whose example takes seconds; each has tests of its own.
LONG = {"devices", "explain", "explore", "page", "picture", "solve", "sweep"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in (None, *main.commands)
    ],
)
def test_help_ends_with_an_example_that_runs(name):
    command = main if name is None else main.commands[name]

    shown = run(*([] if name is None else [name]), "--help").output
    assert shown.rstrip().splitlines()[-1].strip().startswith("pebble ")
    assert examples(command)
    for line in examples(command):
        assert run(*shlex.split(line)[1:]).output


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_speaks_json_and_says_what_it_does(name):
    command = main.commands[name]

    assert "--json" in {option for p in command.params for option in p.opts}
    assert command.get_short_help_str(200).endswith(".")
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or parameter.help


def test_the_contract_is_complete():
    contract = {"play", "count", "sweep", "bound", "graph", "check", "list"}

    assert contract <= set(main.commands)


def test_version():
    assert __version__ in run("--version").stdout


def test_help_imports_nothing_heavy():
    heavy = ["numpy", "numba", "sympy", "matplotlib", "networkx", "scipy", "rich", "pandas"]
    code = (
        "import sys\nfrom lab.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


# -- play and count ------------------------------------------------------------------------------


def test_play_gives_the_report():
    data = run_json("play", BACKWARD, "--strategy", "flash", "--memory", "64")

    report = lab.play(BACKWARD, "flash", 64)
    assert set(data) >= REPORT_KEYS
    assert {key: data[key] for key in report.to_json()} == report.to_json()
    assert data["io_over_certified"] == report.io / data["certified"]
    assert data["tensors"]["Q"] == {"loads": report.tensors["Q"].loads, "stores": 0}


def test_count_gives_the_same_and_builds_no_dag(monkeypatch):
    played = run_json("play", BACKWARD, "-s", "flash", "-M", "64")
    monkeypatch.setattr("graphs.registry.FormulaWorkload.dag", None)

    assert run_json("count", BACKWARD, "-s", "flash", "-M", "64") == played


def test_budgets_may_be_formulas_and_names_aliases():
    by_formula = run_json("count", "backward:n=6,d=3", "-s", "flashattention", "-M", "7*d^2+1")

    assert by_formula == run_json("count", BACKWARD, "-s", "flash", "-M", "64")


def test_play_and_check_give_a_timeline():
    play = ("play", BACKWARD, "-s", "flash", "-M", 32, "--timeline", 20)
    line = run_json(*play, "--trace", "play.pbl")["timeline"]
    report = run_json("check", "play.pbl", "--timeline", 20)
    assert report["timeline"] == line
    assert 10 <= len(line["moves"]) <= 20
    ends = {name: line[name][-1] for name in ("moves", "loads", "stores", "computes")}
    assert ends == {name: report[name] for name in ends}
    last = {name: {way: counts[-1] for way, counts in tensor.items()}
            for name, tensor in line["tensors"].items()}  # fmt: skip
    assert last == report["tensors"]
    rows = run(*play).stdout.split("timeline; of each tensor its I/O\n")[1].splitlines()
    assert len(rows) == 1 + len(line["moves"])
    assert refused(*play[:-1], 1).startswith("Error: Invalid value for '--timeline'")


def test_play_prints_a_table():
    shown = run("play", BACKWARD, "--strategy", "flash", "--memory", "64").stdout

    report = lab.play(BACKWARD, "flash", 64)
    assert str(report) in shown
    # Q, K, V, O, dO, l; dQ, dK, dV.
    assert f"inputs + outputs, which every play moves: {8 * 18 + 6}" in shown


@pytest.mark.parametrize(("sizes", "constant"), [("paper", 12), ("fit", 6)])
def test_the_closed_form_of_flash_attention_leads_with_12_as_printed_and_6_at_best(sizes, constant):
    command = ("count", "attention-forward:n=1024,d=16", "-s", f"flash:sizes={sizes}", "-M", "4096")

    assert f"leading term {constant}*d**2*n**2/M   for d^2 << M << n d" in run(*command).stdout
    form = run_json(*command, "--formula")["closed_form"]
    assert form["leading"]["d^2 << M << n d"] == f"{constant}*d**2*n**2/M"
    assert "closed form" not in run(*command, "--no-formula").stdout
    assert "closed_form" not in run_json(*command)


def test_the_closed_form_says_which_tile_sizes_were_taken():
    command = ("count", "attention-forward:n=1024,d=16", "-M", "4096", "-s")

    shown = run(*command, "flash:sizes=paper").stdout
    assert "  here B_r = 16, B_c = 64, as printed\n" in shown  # ceil(4096 / 64), at most d rows
    # One leading term for both regimes is one line.
    assert shown.count("leading term") == 1
    assert "leading term 12*d**2*n**2/M   for d^2 << M << n d and for M << d^2\n" in shown
    assert "here it gives" not in shown
    form = run_json(*command, "flash:sizes=paper", "--formula")["closed_form"]
    assert form["sizes"] == {"B_r": 16, "B_c": 64}
    # 16 rounds: 2nd + 16 (2nd + 2n) less the first, and 16 (nd + 2n) less what l is not stored for.
    assert form["io_here"] == run_json(*command, "flash:sizes=paper")["io"]


def test_the_closed_form_is_that_of_the_texts_that_are_played():
    count = ("count", "attention-backward:n=64,d=8", "-M", "64", "-s")

    # dQ by tiles with as many as 64 running sums, and not by rows: fewer loads at this M.
    assert "T_b4 = ceiling(d/b4)" in run(*count, "stored:keep=both").stdout
    assert "fitted to M" in run(*count, "best").stdout


@pytest.mark.parametrize("command", ["play", "count"])
def test_compulsory_moves_of_a_classic(command):
    shown = run(command, "fft:n=8", "-s", "naive", "-M", "4").stdout

    assert "inputs + outputs, which every play moves: 16 (I/O is 4.5 times)" in shown


def test_nothing_is_compulsory_where_outputs_need_no_store():
    play = ("play", "fft:n=8", "-s", "belady", "-M", "4", "--rules", "hk+unstored-outputs")

    assert "inputs + outputs" not in run(*play).stdout


def test_a_graph_file_is_a_workload(folder):
    run("graph", "pyramid:h=3", "--out", "pyramid.json")

    data = run_json("play", "pyramid.json", "-s", "naive", "-M", "3")

    assert data["workload"] == "pyramid.json"
    assert data["io"] == run_json("play", "pyramid:h=3", "-s", "naive", "-M", "3")["io"]


def test_one_shot():
    data = run_json("play", BACKWARD, "-s", "naive", "-M", "9", "--rules", "one-shot")

    assert (data["rules"], data["recomputes"]) == ("one-shot", 0)
    assert "computes some vertices" in refused(
        "play", "attention-gradient:n=6,d=3", "-s", "flash", "-M", "99", "--rules", "one-shot"
    )


# -- sweep ---------------------------------------------------------------------------------------

SWEEP = ("sweep", "attention-gradient:n=32,d=8", "-s", "naive,flash,algorithm6", "-M", "16:512:x2")


def test_sweep_prints_a_table_and_the_crossover():
    shown = run(*SWEEP).stdout

    lines = shown.splitlines()
    row = next(line.split() for line in lines if line.strip().startswith("256 "))
    results = lab.sweep("attention-gradient:n=32,d=8", "naive,flash,algorithm6", "256")
    assert row[:2] == ["256", "4"]
    assert row[2:5] == [f"{r.io:,}" for r in results]
    assert row[5:8] == [f"{r.io_over_bound:.1f}" for r in results]
    assert row[8:11] == [f"{r.io_over_certified:.3g}" for r in results]
    assert row[11] == "flash"
    first = next(line.split() for line in lines if line.strip().startswith("16 "))
    assert first[3] == "–"
    assert first[-1] == "algorithm6"
    assert "– flash needs M >= " in shown
    assert "crossover: between the measured M = " in shown
    assert "the least I/O passes from algorithm6 to flash" in shown
    assert "18 points: " in shown
    assert "refereed move by move, rules hk" in shown


def test_sweep_json_and_files(folder):
    data = run_json(*SWEEP, "--method", "tally", "--out", "rows.csv", "--plot", "io.png")

    assert data["files"] == ["rows.csv", "io.png"]
    assert len(data["rows"]) == 18
    assert {"workload", "strategy", "memory", "status", "io", "io_over_bound", "method"} <= set(
        data["rows"][0]
    )
    (crossing,) = data["crossovers"]
    assert (crossing["before"], crossing["after"]) == ("algorithm6", "flash")
    assert crossing["low"] < crossing["x"] < crossing["high"]
    assert [row.to_json() for row in lab.Results.read("rows.csv")] == data["rows"]
    assert (folder / "io.png").read_bytes()[:4] == b"\x89PNG"


def test_sweep_takes_several_workloads_and_sizes_as_ranges():
    data = run_json(
        "sweep", "attention-forward:n=4:16:x2,d=2", "pyramid:h=3,fft:n=4",
        "-s", "naive,flash:rows=1,columns=2", "-M", "20",
    )  # fmt: skip

    assert [row["workload"] for row in data["rows"][::2]] == [
        "attention-forward:n=4,d=2",
        "attention-forward:n=8,d=2",
        "attention-forward:n=16,d=2",
        "pyramid:h=3",
        "fft:n=4",
    ]
    assert [row["strategy"] for row in data["rows"][:2]] == ["naive", "flash:rows=1,columns=2"]
    assert data["rows"][-1]["status"].startswith("does not play")


def test_the_axis_is_what_varies(monkeypatch):
    drawn = []
    monkeypatch.setattr("lab.cli.sweeps._draw", lambda results, x, path: drawn.append(x))

    run("sweep", "attention-forward:n=4:16:x2,d=2", "-s", "naive", "-M", "20", "--plot", "a.png")
    run("sweep", "attention-forward:n=4,d=2:4:x2", "-s", "naive", "-M", "20", "--plot", "a.png")
    run("sweep", "attention-forward:n=4,d=2:4:x2", "-s", "naive", "-M", "8,20", "--plot", "a.png")

    assert drawn == ["n", "d", "M"]


def test_a_failed_point_is_a_finding(monkeypatch):
    play = lab.play

    def unlucky(workload, strategy, memory, *arguments, **options):
        if memory == 8:
            raise TraceError("no luck")
        return play(workload, strategy, memory, *arguments, **options)

    monkeypatch.setattr("lab.playing.play", unlucky)
    assert (
        "naive failed: no luck (1 point)"
        in run("sweep", "pyramid:h=3", "-s", "naive", "-M", "4,8", code=1).stdout
    )
    assert "no luck" in refused("sweep", "pyramid:h=3", "-s", "naive", "-M", "8")


# -- check ---------------------------------------------------------------------------------------


@pytest.fixture(params=["txt", "pbl"])
def trace(request, folder):
    run("play", BACKWARD, "-s", "flash", "-M", "64", "--trace", f"play.{request.param}")
    return folder / f"play.{request.param}"


def test_check_counts_what_play_counted(trace):
    data = run_json("check", trace)

    assert data == lab.play(BACKWARD, "flash", 64).to_json() | {"legal": True}
    assert "legal and finished" in run("check", trace).stdout


def test_check_under_less_memory_explains_the_first_move_too_many(trace):
    data = run_json("check", trace, "--memory", "20", code=1)

    assert (data["legal"], data["rule"], data["step"]) == (False, "budget", 21)
    assert data["explanation"].startswith("step 21: ")
    shown = run("check", trace, "--memory", "20", code=1).stdout
    assert shown == f"illegal: {data['explanation']}\n"


def test_check_by_other_rules(trace):
    data = run_json("check", trace, "--rules", "one-shot", code=1)

    assert data["rule"] == "one-shot"


def test_an_altered_move_is_found_where_it_breaks_the_rule(folder):
    run("play", "pyramid:h=3", "-s", "naive", "-M", "4", "--trace", "play.txt")
    lines = (folder / "play.txt").read_text().splitlines()
    place = lines.index("C 5")
    lines[place] = "C 6"
    (folder / "play.txt").write_text("\n".join(lines) + "\n")

    data = run_json("check", "play.txt", code=1)

    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    assert (data["step"], data["move"], data["rule"]) == (place - head + 1, "C 6", "compute")
    assert data["missing"] == [3]
    assert data["explanation"] == (
        "step 10: COMPUTE row1[2] needs row0[3] red; it is blue only: load it first (M=4, 2 red)"
    )


def test_a_play_that_ends_too_early_is_a_finding(folder):
    run("play", "pyramid:h=3", "-s", "naive", "-M", "4", "--trace", "play.txt")
    lines = (folder / "play.txt").read_text().splitlines()
    unfinished = lines[: lines.index("S 9")]
    (folder / "bare.txt").write_text("\n".join(line for line in unfinished if line[0] != "#"))

    data = run_json("check", "bare.txt", "--graph", "pyramid:h=3", "-M", "4", code=1)

    assert data["rule"] == "end"


def test_a_bare_list_of_moves_needs_to_be_told_what_it_was_played_on(folder):
    (folder / "bare.txt").write_text("L row0[0]\nL 1\nC row1[0]\nS row1[0]\n")

    data = run_json("check", "bare.txt", "--graph", "pyramid:h=1", "--memory", "3")

    assert (data["io"], data["memory"], data["rules"]) == (3, 3, "hk")
    assert "--graph and --memory" in refused("check", "bare.txt")
    assert "--graph and --memory" in refused("check", "bare.txt", "--graph", "pyramid:h=1")


def test_a_trace_of_a_graph_file(folder):
    run("graph", "pyramid:h=2", "--out", "mine.json")
    run("play", "mine.json", "-s", "naive", "-M", "3", "--trace", "play.txt")
    assert run_json("check", "play.txt")["workload"] == "mine.json"

    (folder / "mine.json").rename("moved.json")
    assert "give the graph (--graph FILE)" in refused("check", "play.txt")
    assert run_json("check", "play.txt", "--graph", "moved.json")["legal"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-9], "truncated"),
        (lambda data: data[: len(data) // 2], "truncated"),
        (lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], "play.pbl"),
        (lambda data: b"", "empty"),
        (lambda data: b"\x89PNG" + data, "play.pbl"),
    ],
)
def test_a_damaged_trace_is_misuse(folder, damage, words):
    run("play", BACKWARD, "-s", "flash", "-M", "64", "--trace", "play.pbl")
    path = folder / "play.pbl"
    path.write_bytes(damage(path.read_bytes()))

    assert words in refused("check", "play.pbl")


def test_a_trace_of_another_graph_is_misuse(trace):
    assert "belongs to another graph" in refused(
        "check", trace, "--graph", "attention-backward:n=6,d=4"
    )
    assert "No such file" in refused("check", "nowhere.txt")


# -- bound, graph, list ----------------------------------------------------------------------------


def test_bound_json():
    data = run_json("bound", "attention-gradient:n=128,d=32", "--memory", "256")

    by_name = {bound["name"]: bound for bound in data["bounds"]}
    theta = by_name["li24-gradient"]
    assert {"name", "kind", "rules", "expression", "condition", "value", "reference"} <= set(theta)
    assert (theta["kind"], theta["rules"]) == ("theta", "hk")
    assert theta["value"] == (128**2 * 32 + 128 * 32**2) / 16
    assert by_name["compulsory-attention-gradient"]["value"] == 4 * 128 * 32 + 3 * 32**2


def test_bound_without_memory_has_formulas_alone():
    data = run_json("bound", "attention-forward:n=64,d=16")

    assert data["bounds"][0]["name"] == "sy24-forward"
    assert data["bounds"][0]["value"] is None
    assert "Min(" in data["bounds"][0]["expression"]


def test_bound_keeps_to_the_rules():
    assert [b["name"] for b in run_json("bound", "pyramid:h=3")["bounds"]] == ["compulsory"]
    assert run_json("bound", "pyramid:h=3")["bounds"][0]["value"] == 5
    assert run_json("bound", "pyramid:h=3", "--rules", "graphio")["bounds"] == []
    assert "no bound" in run("bound", "pyramid:h=3", "--rules", "graphio").stdout


def test_bound_outside_its_condition_has_no_value():
    shown = run("bound", "attention-forward:n=64,d=16", "--memory", "9999").stdout

    elsewhere = shown.split("stated for other sizes or another M")[1]
    assert "sy24-forward: Θ(Min(" in elsewhere
    assert "where M <= n*Min(d, n)" in elsewhere


def test_bound_says_what_holds_once_and_first():
    shown = run("bound", "attention-backward:n=12,d=2", "--memory", "20", "--time", "0.2").stdout
    head, rest = shown.split("at least, here\n")

    assert "no play moves less than" in head
    assert "pebble solve" in head
    assert rest.split("orders of growth")[0].count("compulsory") == 1
    values = [
        int(line.split()[0].replace(",", ""))
        for line in rest.split("\n\n")[0].splitlines()
        if line[:3] != "   "
    ]
    assert values == sorted(values, reverse=True)


def test_bound_names_the_crossover_of_a_theta():
    data = run_json("bound", "attention-gradient:n=128,d=32")
    theta = next(bound for bound in data["bounds"] if bound["name"] == "li24-gradient")

    assert theta["crossover"] == "d**2"
    assert [part["condition"].startswith("(M ") for part in theta["regimes"]] == [True, True]
    assert "meet at M = d**2" in run("bound", "attention-gradient:n=128,d=32").stdout


@pytest.mark.parametrize("suffix", ["json", "npz", "graphml", "txt", "dot"])
def test_graph_writes_every_format(folder, suffix):
    data = run_json("graph", "matmul:m=2,n=2,k=2", "--out", f"product.{suffix}")

    assert (data["vertices"], data["edges"], data["inputs"], data["outputs"]) == (20, 24, 8, 4)
    assert (folder / f"product.{suffix}").stat().st_size > 0
    if suffix != "dot":
        assert len(graphs.read_graph(f"product.{suffix}")) == 20


def test_graph_json_format(folder):
    run("graph", "pyramid:h=1", "--out", "p.json")

    data = json.loads((folder / "p.json").read_text())
    assert data["format"] == "pebble-dag 1"
    assert data["predecessors"] == [[], [], [0, 1]]
    assert data["outputs"] == [2]
    assert data["names"] == ["row0[0]", "row0[1]", "row1[0]"]


def test_graph_shows_the_formula():
    assert "O[i,k] = U[i,k] / l[i]" in run("graph", "attention-forward:n=4,d=2").stdout


def test_list_json():
    data = run_json("list")

    assert set(data) == {"workloads", "strategies", "bounds", "rules"}
    assert {"attention-gradient", "fft"} <= {entry["name"] for entry in data["workloads"]}
    assert {"naive", "flash", "algorithm6"} <= {entry["name"] for entry in data["strategies"]}
    assert set(run_json("list", "--strategies")) == {"strategies", "costs"}


def test_list_text():
    shown = run("list").stdout

    for word in ("attention-backward:n=,d=", "algorithm6", "li24-gradient", "one-shot"):
        assert word in shown


# -- bad input ---------------------------------------------------------------------------------


def changed(**changes):
    words = {"workload": BACKWARD, "strategy": "flash", "memory": "64", "rules": "hk"} | changes
    return (
        "play", words["workload"], "-s", words["strategy"], "-M", words["memory"],
        "--rules", words["rules"], "--trace", "t.txt",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (changed(workload="attention-bakward:n=4,d=2"), "did you mean 'attention-backward'"),
        (changed(workload="attention-backward:n=4,e=2"), "unknown option 'e'"),
        (changed(workload="attention-backward:n=4"), "needs d="),
        (changed(workload="attention-backward:n=0,d=2"), "n must be a positive integer, got '0'"),
        (changed(workload="attention-backward:n=4,d=-2"), "d must be a positive integer"),
        (changed(workload="attention-backward:n=4.5,d=2"), "n must be a positive integer"),
        (changed(workload="attention-backward:n=4,d=x"), "d must be a positive integer"),
        (changed(workload="attention-backward"), "needs n= and d="),
        (changed(workload="nowhere.json"), "there is no such file"),
        (changed(strategy="flsh"), "did you mean 'flash'"),
        (changed(strategy="flash:rowz=4"), "unknown option 'rowz'; did you mean 'rows'"),
        (changed(strategy="flash:rows=0"), "rows must be a positive integer"),
        (changed(strategy="saha-ye"), "saha-ye does not play attention-backward"),
        (changed(memory="0"), "M must be a positive integer, got '0'"),
        (changed(memory="-5"), "M must be a positive integer, got '-5'"),
        (changed(memory="6.5"), "M must be a positive integer, got '6.5'"),
        (changed(memory="lots"), "unknown size"),
        (changed(memory="3"), "needs M >= "),
        (changed(rules="hong"), "unknown rules 'hong'"),
        (changed(workload="attention-backward:n=200000,d=64", strategy="naive"), "pebble count"),
        (("play", BACKWARD, "-s", "flash", "-M", "64", "--trace", "t.xyz"), "cannot write t.xyz"),
        (("play", BACKWARD, "-s", "flash", "-M", "64", "--trace", "no/t.txt"), "no folder"),
        (("count", BACKWARD, "-s", "flash", "-M", "3"), "needs M >= "),
        (("count", "pyramid:h=3", "-s", "flash", "-M", "30"), "does not play"),
        (("sweep", BACKWARD, "-s", "flash", "-M", "3,4"), "needs M >= "),
        (("sweep", BACKWARD, "-s", "flash", "-M", "16:8"), "starts above its end"),
        (("sweep", BACKWARD, "-s", "flash", "-M", "99", "--out", "rows.xls"), "written as .csv"),
        (
            ("sweep", BACKWARD, "-s", "flash", "-M", "99", "--plot", "io.xls"),
            "a picture is written as",
        ),
        (("sweep", BACKWARD, "-s", "flash", "-M", "99", "--out", "no/rows.csv"), "no folder"),
        (
            ("sweep", BACKWARD, "-s", "flash", "-M", "9,99", "--plot", "a.png", "--x", "k"),
            "no size",
        ),
        (("graph", "pyramid:h=3", "--out", "pyramid.xyz"), "cannot write this kind"),
        (("graph", "pyramid:h=3", "--out", "no/pyramid.json"), "no folder"),
        (("graph", "pyramid:h=3", "--out", "."), "folder"),
        (("bound", "piramid:h=3"), "did you mean 'pyramid'"),
        (("bound", "pyramid:h=3", "--memory", "0"), "positive integer"),
        (("paly", BACKWARD), "No such command 'paly'"),
        (("play", BACKWARD, "-M", "64"), "Missing option '--strategy'"),
        (("play", BACKWARD, "-s", "flash"), "Missing option '--memory'"),
        (("list", "--colour"), "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words):
    assert words in refused(*arguments)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"format": "pebble-dag 1", "predecessors": [[1], [0]]}', "cyclic: "),
        ('{"format": "pebble-dag 1", "predecessors": []}', "empty"),
        ('{"format": "pebble-dag 1", "predecessors": [[], [0, 7]]}', "does not exist"),
        ('{"format": "pebble-dag 1", "predecessors": [[0]]}', "self-loop"),
        ('{"format": "pebble-dag 9", "predecessors": []}', "pebble-dag 1"),
        ("no json at all", "is no .json graph file"),
    ],
)
def test_bad_graph_files(folder, content, words):
    (folder / "g.json").write_text(content)

    assert words in refused("play", "g.json", "-s", "naive", "-M", "9")


# -- processes, pipes, interruption ----------------------------------------------------------------


def pebble(*arguments, **options):
    code = "import sys; from lab.cli import main; main(sys.argv[1:])"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], text=True, **options)


def test_a_closed_pipe_is_no_error():
    process = pebble("list", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()

    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (141, "")


@pytest.mark.parametrize("everyone", [False, True])
def test_ctrl_c_ends_a_sweep_and_its_workers_quietly(folder, everyone):
    process = pebble(
        "sweep", "attention-gradient:n=128,d=32", "-s", "naive", "-M", "16:8192:x1.01", "-j", "2",
        "--out", "rows.csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    wait_for_workers(process)

    if everyone:  # as a terminal does, here while the workers are still importing
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)

    assert (process.returncode, out) == (130, "")
    assert errors.strip().endswith("interrupted; nothing half-written is left")
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
    assert group_ends(process.pid)


def wait_for_workers(process):
    """Wait until a process has two workers and what looks after their semaphores."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list the children of a process")
    for _ in range(600):
        if len(children.read_text().split()) >= 3:
            break
        time.sleep(0.1)


def group_ends(group):
    """Wait until no process of a group is left."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_count_under_a_mask_prints_a_form_in_the_masks_numbers():
    text = run("count", "attention-forward:n=6,d=2,mask=window-0", "-s", "flash", "-M", "40").stdout
    form = run_json(
        "count", "attention-forward:n=6,d=2,mask=window-0", "-s", "flash", "-M", "40", "--formula"
    )

    assert "N_p, Z_c are counted from the mask" in text
    assert form["closed_form"]["io_here"] is None
