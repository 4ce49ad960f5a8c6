"""`check_strategy` on every registered strategy, and on strategies that break their promises."""

import dataclasses
import typing
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest

from pebble.errors import BudgetError
from strategies import check_strategy, strategies, strategy
from strategies.conformance import ConformanceError, small_workloads
from strategies.naive import Naive
from strategies.registry import Strategy

QUICK = [
    "matmul:m=2,n=3,k=4",
    "bilinear:n=3,d=2",
    "attention-forward:n=1,d=1",
    "attention-forward:n=5,d=2",
    "attention-forward:n=3,d=2,softmax=early",
    "attention-forward:n=3,d=1,softmax=safe",
    "attention-forward:n=3,d=2,sum=tree",
    "attention-backward:n=4,d=3",
    "attention-forward:n=4,d=2,mask=causal",
    "attention-backward:n=3,d=1,dropout=yes",
    "attention-training:n=3,d=2",
    "attention-gradient:n=1,d=1",
    "attention-gradient:n=4,d=3",
    "attention-gradient:n=3,d=2,form=as24",
    "fft:n=4",
    "grid:rows=2,columns=3",
]
SHORT = ["matmul:m=2,n=1,k=3", "attention-forward:n=2,d=1", "fft:n=4"]


def forms():
    """Every registered strategy: its defaults, and each of its options in turn."""
    for kind in strategies():
        yield str(kind())
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            for word in typing.get_args(hints[field.name]):
                if isinstance(word, str) and word != field.default:
                    yield str(kind(**{field.name: word}))


def searches(text):
    """Searches take a seed or a time, and their time."""
    return hasattr(strategy(text), "seed") or hasattr(strategy(text), "time")


@pytest.mark.parametrize(
    "text",
    # An option other than the default takes a colon.
    [
        pytest.param(text, marks=[pytest.mark.slow] if ":" in text else [])
        for text in sorted(set(forms()))
    ],
)
def test_every_strategy_keeps_its_promises(text):
    # The best of many is asked of all of them, many times over.
    assert check_strategy(text, SHORT if searches(text) or text == "best" else QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("text", sorted(set(forms())))
def test_every_strategy_keeps_its_promises_on_every_workload(text):
    exact = text.startswith("optimal")  # refuses what it does not finish: short ones are above
    assert check_strategy(text, SHORT if exact else None)


def test_workloads_are_found_by_their_registry():
    made = list(map(str, small_workloads()))
    assert len(made) == len(set(made))
    assert {
        "attention-gradient:n=1,d=1,form=as24",
        "matmul:m=5,n=2,k=3,sum=tree",
        "fft:n=4",
    } <= set(made)


@dataclass(frozen=True)
class Honest(Strategy):
    """Naive under another name; tests break it method by method."""

    name: ClassVar[str] = "honest"
    speed: Literal["slow", "fast"] = "slow"

    def refusal(self, workload):
        return None

    def recomputes(self, workload):
        return False

    def least_memory(self, workload):
        return Naive().least_memory(workload)

    def moves(self, workload, memory, dag=None):
        self.require(workload, memory)
        return Naive().moves(workload, memory, dag)

    def count(self, workload, memory):
        self.require(workload, memory)
        return dataclasses.replace(Naive().count(workload, memory), strategy=str(self))


def broken(**methods):
    return type("Broken", (Honest,), methods)()


def test_an_honest_third_party_passes():
    assert len(check_strategy(Honest(speed="fast"), ["matmul:m=2,n=2,k=2"])) == 4


def test_a_strategy_need_not_count():
    assert check_strategy(broken(count=Strategy.count), ["matmul:m=2,n=2,k=2"])


def unfinished(self, workload, memory, dag=None):
    (chunk,) = Honest.moves(self, workload, memory, dag)
    yield chunk[:-3]


def signed(self, workload, memory, dag=None):
    return (chunk.astype(np.int64) for chunk in Honest.moves(self, workload, memory, dag))


def forgets_to_load(self, workload, memory, dag=None):
    return (chunk[1:] for chunk in Honest.moves(self, workload, memory, dag))


def moody(self, workload, memory, dag=None):
    yield from Honest.moves(self, workload, memory, dag)
    if dag is not None:
        yield np.array([0, 3 << 30], np.uint32)


def generous(self, workload, memory, dag=None):
    return Naive().moves(workload, max(memory, 4))


def misnames_the_least(self, workload, memory, dag=None):
    if memory < 4:
        raise BudgetError("needs more", 5)
    return Naive().moves(workload, memory)


def count_off_by_one(self, workload, memory):
    report = Honest.count(self, workload, memory)
    return dataclasses.replace(report, loads=report.loads + 1)


def count_wrong_tensor(self, workload, memory):
    report = Honest.count(self, workload, memory)
    a, b = report.tensors["A"], report.tensors["B"]
    return dataclasses.replace(report, tensors={**report.tensors, "A": b, "B": (a[0] + 0, 1)})


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"moves": unfinished}, "the referee refuses: .*"),
        ({"moves": signed}, "one-dimensional uint32 arrays, got int64"),
        ({"moves": lambda *a: [[1, 2]]}, "M=3 is not refused"),
        ({"moves": forgets_to_load}, "the referee refuses: step "),
        ({"moves": moody}, "moves differ when asked again"),
        ({"moves": generous}, "least_memory is 4, but moves at M=3 is not refused"),
        ({"moves": misnames_the_least}, "says that 5 is the least"),
        ({"least_memory": lambda *a: 2}, "at most 2, but it is refused there"),
        ({"least_memory": lambda *a: 4.0}, "must be an int"),
        ({"count": count_off_by_one}, "it counts loads 21, the referee 20|it counts loads"),
        ({"count": count_wrong_tensor}, "it counts tensors"),
        ({"recomputes": lambda *a: True}, "says that it recomputes, and no play does"),
        ({"refusal": lambda *a: ""}, "must be None or say why"),
        ({"refusal": lambda *a: "no"}, "least_memory must raise RefusalError"),
        ({"refusal": lambda *a: "no", "any_dag": True}, "yet it refuses"),
        ({"__str__": lambda self: "honest:speed=warp"}, "does not read"),
        ({"__str__": lambda self: "honest:speed=fast"}, "reads back as"),
        ({"__str__": lambda self: "other"}, "must start with its name"),
        ({"name": "naive"}, "the name naive is registered for"),
        ({"aliases": ("flash",)}, "the name flash is registered for"),
    ],
)  # fmt: skip
def test_a_broken_promise_is_named(methods, message):
    with pytest.raises(ConformanceError, match=message):
        check_strategy(broken(**methods), ["matmul:m=2,n=2,k=2"])


def test_a_strategy_that_says_nothing_of_its_recomputes():
    liar = type(
        "Liar",
        (type(strategy("flash")),),
        {"name": "liar", "aliases": (), "recomputes": lambda *a: False},
    )
    with pytest.raises(ConformanceError, match="says that it never recomputes, and does with M="):
        check_strategy(dataclass(frozen=True)(liar)(), ["attention-gradient:n=4,d=2"])


def test_a_strategy_that_plays_nothing():
    with pytest.raises(ConformanceError, match="refuses every workload"):
        check_strategy("saha-ye", ["matmul:m=2,n=2,k=2"])
