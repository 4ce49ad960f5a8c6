"""Tile sizes and counts at sizes where 64-bit arrays end."""

import pytest

from graphs.registry import workload
from strategies.phases import Candidates, TileStrategy
from strategies.registry import RefusalError, strategies, strategy

SMALL = [
    "attention-forward:n=13,d=4",
    "attention-forward:n=9,d=3,softmax=safe",
    pytest.param("attention-backward:n=11,d=3", marks=pytest.mark.slow),
    pytest.param("attention-gradient:n=10,d=4", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("text", SMALL)
def test_bisection_finds_what_trying_all_sizes_finds(text):
    what = workload(text)
    formula, compared = what.formula(), 0
    for cls in strategies():
        if not issubclass(cls, TileStrategy) or cls().refusal(what) is not None:
            continue
        for choice in cls().phases(what, formula):
            for phase in choice:
                if len(phase.free()) != 1:
                    continue
                one = Candidates(phase, formula)
                assert one.table is not None
                for more in (-1, 0, 1, 5, 17, 40, 119):
                    memory = one.least + more
                    all_at_once, bisected = one.fit(memory), one._largest(memory)
                    assert (all_at_once is None) == (bisected is None)
                    if bisected is not None:
                        assert bisected[:2] == all_at_once[:2]
                compared += 1
    assert compared >= 3


@pytest.mark.parametrize("n", [10**8, 10**12, 999999999999999999])
def test_flash_at_any_scale_is_its_closed_form(n):
    d, memory = 64, 65536
    what, flash = workload(f"attention-forward:n={n},d={d}"), strategy("flash")
    report = flash.count(what, memory)
    ((_, sizes),) = flash.fitted(what, memory)
    tiles = -(-n // sizes["columns"])
    assert report.io == 3 * tiles * n * d + 2 * tiles * n + n * d - 2 * n
    assert report.peak_red <= memory


def test_two_sizes_are_refused_where_they_cannot_be_chosen():
    with pytest.raises(RefusalError, match="take smaller sizes"):
        strategy("standard").count(workload("attention-backward:n=4000000000,d=64"), 1000)
    with pytest.raises(RefusalError, match="take smaller sizes"):
        strategy("flash:sizes=paper").count(workload("attention-forward:n=4000000000,d=64"), 10**6)
