"""Text forms and names of strategies, and those of other distributions."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from graphs import workload
from pebble.errors import SpecError, UnknownNameError
from strategies import RefusalError, registry, strategies, strategy
from strategies.naive import Naive
from strategies.registry import STRATEGIES, Strategy


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("flsh", UnknownNameError, "unknown strategy 'flsh'; did you mean 'flash'"),
        ("flash:row=8", SpecError, "unknown option 'row'; did you mean 'rows'"),
        ("flash:rows=0", SpecError, "rows must be a positive integer, got '0'"),
        ("flash:rows=-3", SpecError, "rows must be a positive integer"),
        ("flash:rows=2.5", SpecError, "rows must be a positive integer"),
        ("flash:rows=2,rows=3", SpecError, "rows is given twice"),
        ("flash:sizes=big", SpecError, "sizes must be one of fit, paper; got 'big'"),
        ("naive:tile=3", SpecError, "unknown option 'tile'"),
    ],
)
def test_bad_text_is_refused_in_words(text, error, message):
    with pytest.raises(error) as caught:
        strategy(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("alias", "text"),
    [
        ("FlashAttention", "flash"),
        ("flash-attention:columns=4", "flash:columns=4"),
        ("sy24:sizes=fit", "saha-ye"),
        ("li24:tile=3", "algorithm6:tile=3"),
    ],
)
def test_aliases_lead_to_one_text_form(alias, text):
    assert str(strategy(alias)) == text
    assert strategy(alias) == strategy(text)


def test_listing_is_sorted_and_each_class_says_what_it_is():
    names = [kind.name for kind in strategies()]
    assert names == sorted(set(names))
    assert {"naive", "standard", "flash", "saha-ye", "algorithm6"} <= set(names)
    assert all(kind.summary and kind.reference for kind in strategies())


class FakeEntryPoint:
    """An entry point of another distribution, whose module registers a strategy."""

    def load(self):
        @STRATEGIES.register
        @dataclass(frozen=True)
        class Mine(Naive):
            """Naive by a third party."""

            name: ClassVar[str] = "strategy-of-a-third-party"


def test_other_distributions_add_strategies(monkeypatch):
    asked = []

    def entry_points(group):
        asked.append(group)
        return [] if STRATEGIES.known("strategy-of-a-third-party") else [FakeEntryPoint()]

    strategies()
    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setattr(STRATEGIES, "_classes", dict(STRATEGIES._classes))
    mine = strategy("strategy-of-a-third-party")
    assert mine.count(workload("matmul:m=2,n=2,k=2"), 4).io == 20
    assert set(asked) == {"redblue_pebble.strategies"}


def test_a_strategy_that_cannot_count_says_what_to_do_instead():
    class Moves(Strategy):
        name = "moves-only"

    with pytest.raises(RefusalError, match="without its DAG: use `pebble play` instead"):
        Moves().count(workload("fft:n=4"), 3)
