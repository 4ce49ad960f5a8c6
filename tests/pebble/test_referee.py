"""The referee: bookkeeping, streaming, and what it does with what is no play."""

from __future__ import annotations

import errno

import numba.core.caching
import numpy as np
import pytest

import pebble
from pebble._jit import jit
from pebble.dag import Dag
from pebble.errors import BudgetError, IllegalMoveError, InvalidMoveError
from pebble.moves import COMPUTE, DELETE, LOAD, STORE, Move, pack
from pebble.referee import Replay, referee
from pebble.report import Report, Traffic
from pebble.rules import HK, Rules
from pebble.tensor import contiguous


def moves(text, dag=None):
    parsed = (Move.parse(move, dag) for move in text.split(", "))
    return np.array([(move.kind << 30) | move.vertex for move in parsed], np.uint32)


def products():
    """c[i] = a[i] * b[i], and both sums of two of them share a name with the products."""
    rows = [[], [], [], [], [0, 2], [1, 3], [4, 5], []]
    tensors = [
        contiguous("a", 0, (2,)),
        contiguous("b", 2, (2,)),
        contiguous("c", 4, (2,)),
        contiguous("s", 6, ()),
        contiguous("c", 7, ()),  # blocks may share a name
    ]
    indptr = np.cumsum([0, *map(len, rows)])
    return Dag(
        indptr,
        [u for row in rows for u in row],
        [0, 0, 0, 0, 2, 2, 3, 0],
        tensors=tensors,
        source="dot:n=2",
    )


def test_traffic_is_booked_on_tensors():
    dag = products()
    play = moves(
        "L 0, L 2, C 4, S 4, D 0, D 2, D 4, L 1, L 3, C 5, D 1, D 3, L 4, L 7, D 7, L 7, D 7, "
        "C 6, S 6"
    )
    report = referee(dag, play, 3, strategy="by hand")
    assert report == Report(
        workload="dot:n=2",
        strategy="by hand",
        memory=3,
        rules=HK,
        loads=7,
        stores=2,
        computes=3,
        recomputes=0,
        peak_red=3,
        moves=19,
        tensors={"a": (2, 0), "b": (2, 0), "c": (3, 1), "s": (0, 1)},
    )
    assert report.tensors["c"] == Traffic(3, 1)
    # However the play is cut into chunks, the books are the same.
    for size in (1, 2, 3, 7):
        chunks = [play[i : i + size] for i in range(0, play.size, size)]
        assert referee(dag, iter(chunks), 3, strategy="by hand") == report


def test_report_round_trip_and_text():
    report = referee(products(), moves("L 0, L 2, C 4, L 1, L 3, C 5, C 6, S 6"), 10**12)
    data = report.to_json()
    assert Report.from_json(data) == report
    assert hash(Report.from_json(data)) == hash(report)
    assert data == {
        "workload": "dot:n=2",
        "strategy": "",
        "memory": 10**12,
        "rules": "hk",
        "loads": 4,
        "stores": 1,
        "io": 5,
        "computes": 3,
        "recomputes": 0,
        "peak_red": 7,
        "moves": 8,
        "tensors": {
            "a": {"loads": 2, "stores": 0},
            "b": {"loads": 2, "stores": 0},
            "s": {"loads": 0, "stores": 1},
        },
    }
    assert str(report) == (
        "dot:n=2, M=1000000000000, rules hk\n"
        "I/O         5  (4 loads, 1 store)\n"
        "computes    3  (0 recomputes)\n"
        "peak red    7  (of 1,000,000,000,000)\n"
        "moves       8\n"
        "\n"
        "tensor  loads  stores\n"
        "a           2       0\n"
        "b           2       0\n"
        "s           0       1"
    )


def test_a_report_holds_exact_integers_only():
    with pytest.raises(TypeError):
        Report("", "", 3, HK, 2.5, 1, 1, 0, 3, 6)
    report = Report("", "", np.int64(3), "one-shot", 2, 1, 1, 0, 3, 6, {"a": (0, 0)})
    assert (type(report.memory), report.rules, report.tensors) == (int, Rules(one_shot=True), {})


def test_the_first_illegal_step_across_chunks():
    replay = Replay(products(), 3)
    replay.feed(moves("L 0, L 2"))
    with pytest.raises(IllegalMoveError) as caught:
        replay.feed(moves("C 4, L 1, D 0"))
    assert str(caught.value) == (
        "step 4: LOAD a[1] would make 4 red: delete one first (M=3, 3 red)"
    )
    assert (caught.value.step, caught.value.move, replay.step) == (4, Move(LOAD, 1), 3)
    # The replay stands before the refused move and may go on.
    replay.feed(moves("S 4, D 0, L 1"))
    assert (replay.step, replay.io, replay.red_count) == (6, 4, 3)


def test_a_vertex_beyond_the_graph():
    with pytest.raises(IllegalMoveError, match=r"step 2: DELETE 8: there is no such vertex; .* 7"):
        referee(products(), moves("L 0, D 8"), 3)
    with pytest.raises(IllegalMoveError, match=f"COMPUTE {2**30 - 1}: there is no such vertex"):
        referee(products(), pack(COMPUTE, [2**30 - 1]), 3)


def test_an_empty_play():
    done = Dag.from_predecessors([[], []], outputs=[0])
    assert referee(done, [], 1).io == 0
    assert referee(done, np.empty(0, np.uint32), 1).moves == 0
    with pytest.raises(IllegalMoveError, match="the play ends before its first move"):
        referee(products(), [], 3)
    with pytest.raises(BudgetError, match="M must be a positive integer, got 0"):
        referee(done, [], 0)


@pytest.mark.parametrize("bad", [[1, 2], np.zeros(3), np.zeros((2, 2), np.uint32), "L 0"])
def test_what_is_no_array_of_packed_moves(bad):
    with pytest.raises(InvalidMoveError, match="expected a one-dimensional uint32 array"):
        Replay(products(), 3).feed(bad)


def test_arrays_of_any_layout():
    play = moves("L 0, L 2, C 4, L 1, L 3, C 5, C 6, S 6")
    doubled = np.repeat(play, 2)[::2]
    frozen = np.frombuffer(play.tobytes(), np.uint32)
    assert not frozen.flags.writeable
    assert referee(products(), doubled, 8) == referee(products(), frozen, 8)


def test_progress_and_slices(monkeypatch):
    monkeypatch.setattr("pebble.referee._SLICE", 3)
    told = []
    play = moves("L 0, L 2, C 4, L 1, L 3, C 5, C 6, S 6")
    referee(products(), play, 8, progress=told.append)
    assert told == [3, 6, 8]


def test_a_chain_of_recomputes():
    """0 > 1 > ... > 20 at M = 2 without a store but the last: all from the start, every time."""
    dag = Dag.from_predecessors([[], *([v] for v in range(20))], outputs=range(1, 21))
    play = []
    for v in range(1, 21):
        play += [pack(LOAD, [0])]
        for u in range(1, v + 1):
            play += [pack(COMPUTE, [u]), pack(DELETE, [u - 1])]
        play += [pack(STORE, [v]), pack(DELETE, [v])]
    report = referee(dag, play, 2)
    assert (report.loads, report.stores, report.computes, report.recomputes) == (20, 20, 210, 190)
    with pytest.raises(IllegalMoveError, match="a second time") as caught:
        referee(dag, play, 2, Rules(one_shot=True))
    assert caught.value.step == 7


def test_referee_by_its_short_name():
    done = Dag.from_predecessors([[]], outputs=[0])
    assert pebble.referee(done, [], 1) == referee(done, [], 1)
    from pebble import referee as short

    assert short(done, [], 1).io == 0
    for name in pebble.__all__:
        assert getattr(pebble, name) is not None


# -- where nothing can be written ---------------------------------------------------------------


def twice(x):
    return 2 * x


def test_kernels_compile_where_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert jit(twice)(21) == 42


def test_kernels_compile_when_the_disk_is_full(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", full)
    assert jit(twice)(21) == 42


def test_a_kernel_is_kept(monkeypatch):
    saved = []
    monkeypatch.setattr(
        numba.core.caching.IndexDataCacheFile, "save", lambda *args: saved.append(args)
    )
    assert jit(twice)(2.5) == 5.0
    assert len(saved) == 1
