"""Traces: both forms round-trip; damage, truncation and foreign graphs are noticed."""

from __future__ import annotations

import json
import struct
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pebble.dag import Dag
from pebble.errors import IllegalMoveError, PebbleError, TraceError
from pebble.files import FileError
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, pack
from pebble.referee import referee
from pebble.rules import HK, Rules
from pebble.trace import Header, read_trace, trace_writer, write_trace

DAG = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y [m]", "z[2,3]"], source="toy:n=1")
PLAY = np.concatenate(
    [pack(LOAD, [0, 1]), pack(COMPUTE, [2]), pack(STORE, [2]), pack(DELETE, [0, 1, 2])]
)
HEADER = Header.of(DAG, 3, Rules(sliding=True), "by-hand:x=1")
FORMS = [".txt", ".pbl"]

TEXT = f"""\
# pebble-trace 1
# workload toy:n=1
# fingerprint {DAG.fingerprint}
# vertices 3
# memory 3
# rules hk+sliding
# strategy by-hand:x=1
L 0
L 1
C 2
S 2
D 0
D 1
D 2
# end 7
"""


@pytest.fixture
def path(tmp_path, request):
    return tmp_path / f"play{getattr(request, 'param', '.txt')}"


both_forms = pytest.mark.parametrize("path", FORMS, indirect=True)


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path, dag=None):
    """What reading a file to its end is refused with."""
    with pytest.raises(TraceError) as caught:
        list(read_trace(path).chunks(dag))
    assert str(path) in str(caught.value)
    return str(caught.value)


# -- round trips -----------------------------------------------------------------------------------


@both_forms
def test_round_trip(path):
    assert write_trace(path, HEADER, [PLAY[:3], PLAY[3:3], PLAY[3:]]) == 7
    trace = read_trace(path)
    assert trace.header == HEADER
    for _ in range(2):  # as often as asked
        assert np.array_equal(trace.moves(DAG), PLAY)
    report = referee(DAG, trace.chunks(DAG), trace.header.memory, trace.header.rules)
    assert report == referee(DAG, PLAY, 3, HEADER.rules)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_readable_form_is_readable(path):
    write_trace(path, HEADER, PLAY)
    assert path.read_text() == TEXT
    write_trace(path, HEADER, PLAY, names=DAG)
    assert path.read_text().splitlines()[7:11] == ["L x", "L y [m]", "C z[2,3]", "S z[2,3]"]
    assert np.array_equal(read_trace(path).moves(DAG), PLAY)
    assert "line 8: 'L x': 'x' is no vertex number (to read names, give the graph)" in refusal(path)


def test_an_empty_field_and_an_odd_source(path):
    header = Header("a\n# file", "f", 3, 3)
    write_trace(path, header, PLAY)
    assert read_trace(path).header == Header("a # file", "f", 3, 3)


@given(st.lists(arrays.arrays(np.uint32, st.integers(0, 30)), max_size=4), st.sampled_from(FORMS))
@settings(max_examples=60)
def test_any_moves_round_trip(tmp_path_factory, chunks, form):
    path = tmp_path_factory.mktemp("trace") / f"any{form}"
    write_trace(path, HEADER, chunks)
    assert np.array_equal(read_trace(path).moves(), np.concatenate([pack(0, []), *chunks]))


@both_forms
def test_blocks_and_records_meet_anywhere(path, monkeypatch):
    monkeypatch.setattr("pebble._trace_text._BLOCK", 11)
    monkeypatch.setattr("pebble._trace_compact._RECORD", 2)
    moves = np.arange(10, dtype=np.uint32) * np.uint32(0x1357_9BDF)
    assert write_trace(path, HEADER, moves) == 10
    chunks = list(read_trace(path).chunks())
    assert np.array_equal(np.concatenate(chunks), moves)
    assert len(chunks) >= 5
    assert all(chunk.size and chunk.dtype == np.uint32 for chunk in chunks)


# -- bare lists of moves ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "L 0\nL 1\nC 2\nS 2\nD 0\nD 1\nD 2\n",
        "L 0\nL 1\nC 2\nS 2\nD 0\nD 1\nD 2",
        "# mine\r\n\r\nload x\r\nL y [m]\r\n  C  z[2,3] \r\nSTORE 2\r\nd 00\r\nD 1\r\nD 2\r\n"
        "# end 7\r\n",
    ],
)
def test_a_bare_list_of_moves(path, text):
    trace = read_trace(put(path, text))
    assert trace.header is None
    assert np.array_equal(trace.moves(DAG), PLAY)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty: expected a trace"),
        ("\n", "is no trace: it holds no moves"),
        ("# pebble-tr", "is no trace: it holds no moves"),
        ("L 0\nL one\n", "line 2: unknown vertex 'one'"),
        ("L 0\n\nQ 1\n", "line 3: 'Q 1' is no move"),
        ("L 0\nL 1073741824\n", "line 2: 'L 1073741824': there is no vertex 1073741824"),
        ("L 0\n# end 2\n", "line 2: the footer counts 2 moves, but 1 came before it"),
        ("L 0\n# end\n", "line 2: expected '# end COUNT', got '# end'"),
        ("L 0\n# end 1\nL 1\n", "line 3: nothing may follow the footer"),
        ("L 0\n\xff\n".encode("latin1"), "line 2 is no text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is no trace"),
        (b"\0" * 100, "is no move"),
        ("[1, 2, 3]", "line 1: '[1, 2, 3]' is no move"),
    ],
)
def test_what_is_no_trace(path, text, words):
    assert words in refusal(put(path, text), DAG)


def test_a_number_beyond_the_graph_is_for_the_referee(path):
    trace = read_trace(put(path, "L 0\nL 3\n"))
    with pytest.raises(IllegalMoveError, match="step 2: LOAD 3: there is no such vertex"):
        referee(DAG, trace.chunks(DAG), 3)


def test_a_file_of_one_endless_line(path, monkeypatch):
    monkeypatch.setattr("pebble._trace_text._LINE", 100)
    put(path, "# short\n" + "x" * 1000)
    assert "is no trace: it has a line of 1,000 characters" in refusal(path)


def test_files_that_cannot_be_read(path, tmp_path):
    with pytest.raises(TraceError, match=r"cannot read .*: No such file"):
        read_trace(path)
    with pytest.raises(TraceError, match=r"cannot read .*: Is a directory"):
        read_trace(tmp_path)


# -- damage ----------------------------------------------------------------------------------------


@both_forms
def test_truncation_at_every_byte(path):
    write_trace(path, HEADER, PLAY)
    whole = path.read_bytes()
    for length in range(len(whole)):
        message = refusal(put(path, whole[:length]))
        if length > 200:
            assert "truncated" in message


@pytest.mark.parametrize("path", [".pbl"], indirect=True)
def test_every_flipped_byte_of_the_compact_form(path):
    """Bits one by one and all together, and for the shorter fields every value there is."""
    write_trace(path, HEADER, [PLAY[:4], PLAY[4:]])
    whole = path.read_bytes()
    first_record = whole.index(b"}") + 1
    for place in range(len(whole)):
        masks = [1 << bit for bit in range(8)] + [0xFF, whole[place] ^ ord("#")]
        if place < 16 or first_record <= place < first_record + 8:
            masks = range(1, 256)
        for mask in filter(None, masks):
            damaged = bytearray(whole)
            damaged[place] ^= mask
            refusal(put(path, bytes(damaged)))


@pytest.mark.parametrize("path", [".pbl"], indirect=True)
def test_records_lost_doubled_or_swapped(path):
    write_trace(path, HEADER, [PLAY[:1], PLAY[1:2], PLAY[2:]])
    whole = path.read_bytes()
    start = whole.index(b"}") + 1
    head, one, two, rest = whole[:start], whole[start:][:12], whole[start + 12 :][:12], None
    rest = whole[start + 24 :]
    assert np.array_equal(read_trace(put(path, head + one + two + rest)).moves(), PLAY)
    for damaged in (head + one + rest, head + two + one + rest, head + one + one + two + rest):
        assert "its end record does not match" in refusal(put(path, damaged))


@both_forms
def test_something_after_the_end(path):
    write_trace(path, HEADER, PLAY)
    whole = path.read_bytes()
    for more in (b"\0", b"\n", b"L 0\n", whole):
        message = refusal(put(path, whole + more))
        assert "follow" in message or "truncated" in message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trace 1", "trace 2", "is a trace of format version 2; this program reads version 1"),
        ("trace 1", "trace", "format version unknown"),
        ("# vertices 3\n", "", "expected the header line '# vertices ...', got '# memory'"),
        ("vertices 3", "vertices -3", "vertices must be a number, got '-3'"),
        ("memory 3", "memory", "memory must be a number, got ''"),
        ("sliding", "slding", "unknown rules 'slding'; did you mean 'sliding'?"),
        ("# end 7", "# end 8", "the footer counts 8 moves, but 7 came before it"),
        ("L 1\n", "", "the footer counts 7 moves, but 6 came before it"),
    ],
)
def test_a_header_or_footer_that_does_not_fit(path, old, new, words):
    assert old in TEXT
    assert words in refusal(put(path, TEXT.replace(old, new, 1)))


@pytest.mark.parametrize("path", [".pbl"], indirect=True)
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"version": "9"}, "format version 9"),
        ({}, "format version unknown"),
        ({"version": "1", "memory": "3"}, "expected a header with workload, fingerprint"),
        ([1], "its header is no JSON object"),
    ],
)
def test_compact_headers_that_do_not_fit(path, fields, words):
    header = json.dumps(fields).encode()
    head = b"\x89pbl\r\n\x1a\n" + struct.pack("<II", len(header), crc32(header)) + header
    assert words in refusal(put(path, head))


@both_forms
def test_a_foreign_graph(path):
    write_trace(path, HEADER, PLAY)
    other = Dag.from_predecessors([[], [], [1, 0]], source="other:n=1")
    with pytest.raises(TraceError) as caught:
        read_trace(path).moves(other)
    assert str(caught.value) == (
        "the trace belongs to another graph: it was played on toy:n=1 (3 vertices, fingerprint "
        f"{DAG.fingerprint}), and this is other:n=1 (3 vertices, fingerprint {other.fingerprint})"
    )


@both_forms
def test_a_file_that_changes_between_reads(path):
    write_trace(path, HEADER, PLAY)
    trace = read_trace(path)
    write_trace(path, Header.of(DAG, 4, HK), PLAY)
    with pytest.raises(TraceError, match="has changed since it was opened"):
        trace.moves()


# -- writing ---------------------------------------------------------------------------------------


@both_forms
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, TraceError("x")])
def test_nothing_is_left_of_a_write_that_fails(path, error):
    def broken():
        yield PLAY
        raise error

    with pytest.raises(BaseException) as caught:  # noqa: PT011
        write_trace(path, HEADER, broken())
    assert caught.type is error or caught.value is error
    assert list(path.parent.iterdir()) == []
    put(path, "old")
    with pytest.raises(BaseException):  # noqa: B017, PT011
        write_trace(path, HEADER, broken())
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_play_is_judged_while_it_is_written(path):
    """The idiom for a trace larger than memory; an illegal play leaves no file."""

    def write(moves):
        with trace_writer(path, HEADER) as writer:

            def passed():
                for chunk in np.split(moves, 3):
                    writer.write(chunk)
                    yield chunk

            return referee(DAG, passed(), 3)

    with pytest.raises(IllegalMoveError):
        write(PLAY[1:])
    assert not path.exists()
    assert write(PLAY[:6]).io == 3
    assert read_trace(path).moves().size == 6


def test_names_and_places_that_do_not_do(path, tmp_path):
    with pytest.raises(TraceError, match=r"a trace is named .txt \(readable\) or .pbl \(compact\)"):
        write_trace(tmp_path / "play.json", HEADER, PLAY)
    with pytest.raises(FileError, match=r"cannot write .*No such file or directory"):
        write_trace(tmp_path / "nowhere" / "play.txt", HEADER, PLAY)
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(PebbleError, match="it is a folder"):
        write_trace(tmp_path / "folder.txt", HEADER, PLAY)
