"""Text forms, parameter errors, third-party workloads, and sizes that no memory holds."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import graphs
from graphs import memory, registry, workload, workloads
from graphs.registry import WORKLOADS, GivenDag, Workload
from pebble import Dag
from pebble.errors import GraphError, PebbleError, SpecError, UnknownNameError
from pebble.spec import Registry


@pytest.mark.parametrize("value", ["0", "-1", "2.5", "x", "", "1e3", "٣", "True"])
@pytest.mark.parametrize(
    "text", ["attention-forward:n={},d=2", "matmul:m=2,n=2,k={}", "pyramid:h={}"]
)
def test_sizes_are_positive_integers(text, value):
    expected = "must be a positive integer" if value else "expected key=value"
    with pytest.raises(SpecError, match=expected):
        workload(text.format(value))


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None, True])
def test_sizes_are_positive_integers_from_python_too(value):
    kind = WORKLOADS.find("attention-forward")
    with pytest.raises(SpecError, match="n must be a positive integer"):
        kind(n=value, d=2)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("attention-forward:n=2", SpecError, "attention-forward needs d="),
        ("attention-forward", SpecError, "needs n= and d=: write attention-forward:n=,d="),
        ("attention-forward:n=2,n=3,d=1", SpecError, "n is given twice"),
        ("attention:n=2,d=1,summ=tree", SpecError, "unknown option 'summ'; did you mean 'sum'"),
        ("attention-forward:n=2,d=1,sum=three", SpecError, "one of chain, tree; got 'three'"),
        ("attention-gradient:n=2,d=1,form=li25", SpecError, "one of li24, as24"),
        ("attention-gradient:n=2,d=1,given=O", SpecError, "one of E, dO"),
        ("attention-forwrd:n=2,d=1", UnknownNameError, "did you mean 'attention-forward'"),
        ("quux:n=2", UnknownNameError, "unknown workload 'quux'"),
        ("", SpecError, "expected NAME"),
        ("matmul:", SpecError, "expected NAME"),
        ("matmul:m", SpecError, "expected key=value, got 'm'"),
        ("matmul:m=1,,n=1", SpecError, "expected key=value, got ''"),
    ],
)  # fmt: skip
def test_bad_text_is_refused_in_words(text, error, message):
    with pytest.raises(error) as caught:
        workload(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("attention:n=2,d=1", "attention-forward:n=2,d=1"),
        ("forward:n=2,d=1", "attention-forward:n=2,d=1"),
        ("backward:n=2,d=1", "attention-backward:n=2,d=1"),
        ("gradient:n=2,d=1", "attention-gradient:n=2,d=1"),
        ("Matrix-Product: m = 2, n=2 ,k=2", "matmul:m=2,n=2,k=2"),
        ("attention-gradient:form=as24,d=1,n=2,sum=chain", "attention-gradient:n=2,d=1,form=as24"),
    ],
)
def test_aliases_spaces_and_order_lead_to_one_text_form(alias, name):
    assert str(workload(alias)) == name
    assert workload(alias) == workload(name)
    assert hash(workload(alias)) == hash(workload(name))


def test_listing_is_sorted_and_each_class_says_what_it_is():
    names = [kind.name for kind in workloads()]
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    assert {"attention-forward", "attention-backward", "attention-gradient", "bilinear"} <= set(
        names
    )
    assert {"matmul", "pyramid", "tree", "fft", "grid"} <= set(names)
    assert all(kind.summary for kind in workloads())


def test_no_two_classes_share_a_name():
    mine: Registry[Workload] = Registry("workload")
    mine.register(type("One", (Workload,), {"name": "one", "aliases": ("uno",)}))
    with pytest.raises(SpecError, match="'UNO' is empty or already taken"):
        mine.register(type("Two", (Workload,), {"name": "UNO"}))
    with pytest.raises(SpecError, match="'' is empty"):
        mine.register(type("None", (Workload,), {"name": ""}))


class FakeEntryPoint:
    """An entry point of another distribution, whose module registers a workload."""

    def load(self):
        @WORKLOADS.register
        @dataclass(frozen=True)
        class Path(Workload):
            """A path of n vertices."""

            name: ClassVar[str] = "path-of-a-third-party"
            n: int

            def dag(self):
                return Dag.from_predecessors([[v - 1] if v else [] for v in range(self.n)])


def test_other_distributions_add_workloads(monkeypatch):
    asked = []

    def entry_points(group):
        asked.append(group)
        return [FakeEntryPoint()] if "path-of-a-third-party" not in WORKLOADS._classes else []

    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setattr(WORKLOADS, "_classes", dict(WORKLOADS._classes))
    assert len(workload("path-of-a-third-party:n=4").dag()) == 4
    assert "path-of-a-third-party" in [kind.name for kind in workloads()]
    assert set(asked) == {"redblue_pebble.workloads"}


def test_a_dag_of_ones_own_is_a_workload():
    dag = Dag.from_predecessors([[], [], [0, 1]])
    mine = GivenDag(dag, "mine.json")
    assert (str(mine), mine.dag(), mine.formula(), mine.sizes()) == ("mine.json", dag, None, {})
    assert mine == GivenDag(dag, "another name")
    assert mine != GivenDag(Dag.from_predecessors([[], [], [0, 1]]), "mine.json")


def test_a_text_that_ends_like_a_file_is_read_as_one(tmp_path):
    graphs.write_graph(workload("pyramid:h=2").dag(), tmp_path / "p.json")
    assert len(workload(str(tmp_path / "p.json")).dag()) == 6
    with pytest.raises(GraphError, match="there is no such file"):
        workload(str(tmp_path / "q.json"))


@pytest.mark.parametrize(
    "text",
    [
        "attention-forward:n=100000,d=64",
        "attention-backward:n=1000000,d=128",
        "attention-gradient:n=100000,d=8",
        "matmul:m=1000000,n=1000000,k=1000000",
        "bilinear:n=1000000,d=1000",
        "pyramid:h=1000000",
        "tree:depth=60",
        "tree:depth=3,arity=100000",
        "fft:n=1073741824",
        "grid:rows=1000000,columns=1000000",
    ],
)
def test_a_graph_beyond_thirty_bits_is_refused_before_it_is_built(text):
    with pytest.raises(GraphError) as caught:
        workload(text).dag()
    assert "vertices" in str(caught.value)
    assert "pebble count" in str(caught.value)


@pytest.mark.parametrize("text", ["tree:depth=200000", "tree:depth=61", "tree:depth=30,arity=9"])
def test_a_tree_of_astronomic_size_is_refused(text):
    with pytest.raises(GraphError, match="far too large"):
        workload(text).dag()


def test_a_number_of_thousands_of_digits_is_refused():
    with pytest.raises(SpecError, match="h must have at most 19 digits, got 5000"):
        workload(f"pyramid:h={'9' * 5000}")


def test_a_graph_that_does_not_fit_in_free_memory_is_refused(monkeypatch):
    fits = workload("matmul:m=20,n=20,k=20")
    need = memory.dag_bytes(len(fits.dag()), fits.dag().predecessors.size)
    monkeypatch.setattr(memory, "available_bytes", lambda: need)
    assert len(fits.dag()) == 800 + 400 * 39
    monkeypatch.setattr(memory, "available_bytes", lambda: need - 1)
    with pytest.raises(GraphError, match=r"needs .* GiB .* are free: take smaller sizes"):
        fits.dag()
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert fits.dag()


def test_errors_are_one_family():
    assert issubclass(SpecError, PebbleError)
    assert issubclass(UnknownNameError, PebbleError)
