"""The journal: what is written stays, whatever happens to the writer, the disk or the file."""

import errno
import os
import signal
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lab import Results, journal, playing, sweep
from lab.journal import JournalError, journal_of, opened
from lab.sweeping import plan
from pebble.errors import BudgetError
from pebble.files import FileError

GRID = ("attention-gradient:n=12,d=4,pyramid:h=5", "naive,flash", "4:128:x2")


@pytest.fixture(scope="module")
def undisturbed():
    return sweep(*GRID, method="tally")


@pytest.fixture(scope="module")
def kept(undisturbed, tmp_path_factory):
    """What the journal of the whole sweep holds."""
    out = tmp_path_factory.mktemp("sweep") / "rows.csv"
    sweep(*GRID, method="tally", out=out)
    return journal_of(out).read_bytes()


@pytest.fixture
def counted(monkeypatch):
    """A list of the points that were played."""
    calls = []
    count = playing.count
    monkeypatch.setattr(
        "lab.playing.count", lambda *point: calls.append(tuple(map(str, point))) or count(*point)
    )
    return calls


def again(out, **options):
    return sweep(*GRID, method="tally", out=out, **options)


def test_a_line_a_point_and_the_results_are_made_from_them(kept, undisturbed, tmp_path):
    lines = kept.decode().splitlines()
    assert len(lines) == 1 + len(undisturbed)
    assert lines[0].startswith("pebble-journal 1 ")

    out = tmp_path / "rows.json"
    journal_of(out).write_bytes(kept)
    assert again(out) == undisturbed
    assert Results.read(out) == undisturbed


def test_only_what_is_missing_is_played(kept, undisturbed, tmp_path, counted):
    out, said = tmp_path / "rows.csv", []
    lines = kept.splitlines(keepends=True)
    gone = [3, 7, 20]  # naive at M = 32, flash at M = 8 (a gap), flash on the pyramid (it refuses)
    journal_of(out).write_bytes(b"".join(x for i, x in enumerate(lines, -1) if i not in gone))

    assert again(out, notice=said.append) == undisturbed
    assert counted == [("attention-gradient:n=12,d=4", "naive", "32")]
    assert said == [f"21 of 24 points come from {journal_of(out)}"]

    counted.clear()
    assert again(out) == undisturbed
    assert counted == []
    assert again(out, fresh=True) == undisturbed
    assert len(counted) == len(undisturbed.played)


@pytest.fixture(scope="module")
def short(kept, undisturbed, tmp_path_factory):
    """What a journal of four points holds: their rows, what is swept, the bytes."""
    points = plan("pyramid:h=5", "naive,flash", "4,32", method="tally")
    path, head = tmp_path_factory.mktemp("short") / "j", journal.identity(points)
    rows = [undisturbed[index] for index in (12, 15, 18, 21)]
    with opened(path, head) as book:
        for index, row in enumerate(rows):
            book.add(index, row)
    return rows, head, path.read_bytes()


def test_truncated_at_every_byte(short, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    rows, head, content = short
    path, first = tmp_path / "j", content.index(b"\n") + 1

    for length in range(len(content)):
        path.write_bytes(content[:length])
        with opened(path, head) as book:
            whole = max(0, content[:length].count(b"\n") - 1)
            assert list(book.rows.items()) == list(enumerate(rows))[:whole]
            assert book.cut == (length > first and content[length - 1 : length] != b"\n")
            if length % 7 == 0:  # made whole again
                for index in range(whole, len(rows)):
                    book.add(index, rows[index])
                assert path.read_bytes() == content
    assert length > 1000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_edited_anywhere_it_is_noticed(short, tmp_path, data):
    rows, head, content = short
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
    path = tmp_path / "j"
    path.write_bytes(content[:at] + bytes([byte]) + content[at + 1 :])

    try:
        with opened(path, head) as book:
            # Its very last character is gone: half a line, as a writer that dies leaves it.
            assert at == len(content) - 1
            assert list(book.rows.items()) == list(enumerate(rows))[:-1]
    except JournalError as error:
        told = str(error)
    else:
        return
    assert any(word in told for word in ("damaged", "no journal", "another version"))


def test_lines_of_another_journal_do_not_pass(kept, tmp_path):
    other = tmp_path / "other.csv"
    sweep(GRID[0], "naive,flash", "4:256:x2", method="tally", out=other)
    stranger = journal_of(other).read_bytes().splitlines(keepends=True)[2]
    lines = kept.splitlines(keepends=True)
    out = tmp_path / "rows.csv"
    journal_of(out).write_bytes(b"".join([*lines[:2], stranger, *lines[3:]]))

    with pytest.raises(JournalError, match="edited or is damaged in line 3: remove that line"):
        again(out)


def test_another_sweep_is_not_mixed_in(kept, tmp_path, monkeypatch):
    out = tmp_path / "rows.csv"
    journal_of(out).write_bytes(kept)

    with pytest.raises(JournalError, match=r"\(M: 4, 8, .* here\): give --fresh"):
        sweep(*GRID[:2], "4:256:x2", method="tally", out=out)
    with pytest.raises(JournalError, match=r"\(method: tally there, referee here\)"):
        sweep(*GRID, out=out)
    with pytest.raises(JournalError, match=r"\(rules: hk there, one-shot here\)"):
        sweep(*GRID, method="tally", rules="one-shot", out=out)
    with pytest.raises(JournalError, match=r"strategies: naive, flash there, naive here"):
        sweep(GRID[0], "naive", GRID[2], method="tally", out=out)
    monkeypatch.setattr("pebble.__version__", "9.9.9")
    with pytest.raises(JournalError, match=r"version 0\..*this is 9\.9\.9.*--fresh"):
        again(out)
    monkeypatch.undo()
    monkeypatch.setattr("lab.journal.code_digest", lambda: "0" * 16)
    with pytest.raises(JournalError, match="other source code"):
        again(out)
    assert journal_of(out).read_bytes() == kept


def test_a_graph_file_that_changed_is_another_sweep(tmp_path):
    graph, out = tmp_path / "g.json", tmp_path / "rows.csv"
    graph.write_text('{"format": "pebble-dag 1", "predecessors": [[], [], [0, 1]]}')
    sweep(str(graph), "naive", "3", out=out)
    graph.write_text('{"format": "pebble-dag 1", "predecessors": [[], [], [0, 1], [2]]}')

    with pytest.raises(JournalError, match="workloads: "):
        sweep(str(graph), "naive", "3", out=out)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"workload,n,d\n1,2,3\n", "no journal of a sweep: move it away"),
        (b"my notes, without an end", "no journal of a sweep"),
        (b"pebble-journal 2 0123 {}\n", "journal of format 2, made by another version"),
        (b"pebble-journal 1 0123456789abcdef {}\n", "damaged in its first line"),
        (b"pebble-journal \xff\xfe\n", "made by another version"),
    ],
)
def test_other_files_are_left_alone(content, words, tmp_path):
    out = tmp_path / "rows.csv"
    journal_of(out).write_bytes(content)

    with pytest.raises(JournalError, match=words):
        again(out)
    assert journal_of(out).read_bytes() == content


def test_fresh_takes_no_foreign_file_either(tmp_path):
    out = tmp_path / "rows.csv"
    journal_of(out).write_text("my notes")
    with pytest.raises(JournalError, match="no journal"):
        again(out, fresh=True)
    journal_of(out).unlink()
    journal_of(out).mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        again(out)


@pytest.mark.slow
def test_two_sweeps_on_one_file(kept, undisturbed, tmp_path):
    out = tmp_path / "rows.csv"
    tried = []

    def meanwhile(done, total, row):
        with pytest.raises(JournalError, match="being written by another sweep") as caught:
            again(out, fresh=done % 2 == 0)
        tried.append(caught)

    assert again(out, progress=meanwhile) == undisturbed
    assert len(tried) == len(undisturbed)
    assert journal_of(out).read_bytes() == kept


def test_a_full_disk(undisturbed, tmp_path, monkeypatch):
    out, said, write, room = tmp_path / "rows.csv", [], os.write, [3000]

    def narrow(handle, data):
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(handle, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr("os.write", narrow)
    with pytest.raises(FileError, match=r"No space left on device; the \d rows before are kept"):
        again(out, notice=said.append)
    assert journal_of(out).read_bytes().endswith(b"}\n")
    assert said[-1].endswith("the same sweep goes on from there")
    assert not out.exists()

    monkeypatch.undo()
    assert again(out) == undisturbed


def test_nothing_is_left_of_a_sweep_that_plays_nothing(tmp_path):
    out = tmp_path / "rows.csv"
    for _ in range(2):
        with pytest.raises(BudgetError, match="needs M >= "):
            sweep("attention-forward:n=4,d=4", "flash", "4,5", out=out)
        assert list(tmp_path.iterdir()) == []


def test_why_nothing_can_be_played_is_known_without_playing(tmp_path, monkeypatch):
    out = tmp_path / "rows.csv"

    def stop(done, total, row):
        raise KeyboardInterrupt

    for _ in range(3):  # each goes one point further
        with pytest.raises((KeyboardInterrupt, BudgetError)):
            sweep("attention-forward:n=4,d=4", "flash", "4,5", out=out, progress=stop)
    with pytest.raises(BudgetError, match="needs M >= "):
        sweep("attention-forward:n=4,d=4", "flash", "4,5", out=out)


# -- killed ---------------------------------------------------------------------------------------


def killed_at_random(out, rounds, longest, rng):
    """Sweep in a child that is killed at a random moment, again and again."""
    deaths = 0
    for _ in range(rounds):
        child = os.fork()
        if child == 0:
            try:
                again(out)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        deaths += os.WIFSIGNALED(status)
    return deaths


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads, which rest
@pytest.mark.parametrize(
    ("sweeps", "rounds"), [(2, 12), pytest.param(10, 40, marks=pytest.mark.slow)]
)
def test_killed_at_random_moments(sweeps, rounds, undisturbed, kept, tmp_path, counted):
    import random

    rng = random.Random(rounds)  # noqa: S311
    deaths = 0
    for number in range(sweeps):
        out = tmp_path / f"rows{number}.csv"
        deaths += killed_at_random(out, rounds, 0.06, rng)

        before = len(kept.splitlines()) - 1
        if journal_of(out).exists():
            before -= max(0, len(journal_of(out).read_bytes().splitlines(keepends=True)) - 2)
        counted.clear()
        assert again(out) == undisturbed
        assert Results.read(out) == undisturbed
        assert len(counted) <= before
        assert sorted(journal_of(out).read_bytes().splitlines()) == sorted(kept.splitlines())
    assert deaths > sweeps
