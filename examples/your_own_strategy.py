"""A strategy of your own, in one file: write it, count it, hold it against others, check it.

The idea to try: attention forward by *strips*. A block of query rows stays in fast memory with its
running sums, as in FlashAttention-2, but keys and values come one row at a time and each is used
for the whole block before it goes, so that the block can be as tall as fast memory allows. (The
answer: it moves what `flash2` moves, whose tile sizes, fitted to M, come out as one key row, too.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import lab
from graphs import workload
from lab.executing import execute
from lab.yardsticks import certified_least
from strategies import check_strategy
from strategies.phases import Phase, Tile, TileStrategy

if TYPE_CHECKING:
    from graphs.expressions import Formula, Size
    from graphs.registry import Workload
    from strategies.schedule import Schedule


def strips(s: Schedule, rows: Size) -> None:
    """Attend a block of query rows to all keys, one key row after the other."""
    Q, K, V, S, A, l, U, O = s.arrays("Q", "K", "V", "S", "A", "l", "U", "O")
    n, d = Q.size
    for I in s.blocks(n, rows):
        s.load(Q[I, :])
        for j in s.each(n):
            s.load(K[j, :], V[j, :])
            for i in s.each(I):
                s.accumulate(S[i, j])
                s.compute(A[i, j])
                s.free(S[i, j])
                s.accumulate(U[i, :], j)
                s.accumulate(l[i], j)
            s.free(K[j, :], V[j, :])
        s.free(Q[I, :])
        for i in s.each(I):
            for k in s.each(d):
                s.compute(O[i, k])
                s.free(U[i, k])
                s.store(O[i, k])
                s.free(O[i, k])
            s.free(l[i])


@dataclass(frozen=True)
class Strips(TileStrategy):
    """Query rows in blocks as tall as fits, keys and values row by row."""

    name: ClassVar[str] = "strips"
    summary: ClassVar[str] = "query blocks outside, one row of K and V at a time"
    plays: ClassVar[tuple[str, ...]] = ("attention-forward",)

    def phases(self, _: Workload, formula: Formula) -> list[tuple[Phase, ...]]:
        """Return the one phase there is; its tile size is fitted to M."""
        n, _ = formula["Q"].shape
        return [(Phase("O", strips, (Tile("rows", "a", (n,)),)),)]


def main() -> None:
    """Count by hand and by machine, compare, check."""
    mine, text, memory = Strips(), "attention-forward:n=64,d=8", 150
    what = workload(text)

    # Refereed move by move, and counted from the text: the same numbers.
    report = lab.play(what, mine, memory)
    print(report)
    print(f"the count from the text agrees: {lab.count(what, mine, memory) == report}")

    # The closed form, for any n and d: T_a blocks, of a rows.
    print(f"I/O = {mine.closed_form(what).io}")

    # Does it compute attention? Every move on numbers, compared with numpy.
    print(f"it is attention: {execute('attention-forward:n=9,d=3', mine, 40, seed=1).agrees}")

    # Against others, and against what nobody can beat.
    rows = lab.sweep(text, ["flash", "flash2", mine], "50:1600:x2")
    for budget in rows.memories:
        counts = [f"{row.strategy} {row.io or '-'}" for row in rows.where(memory=budget)]
        bound = certified_least(what, budget)
        least = "?" if bound is None else bound.value
        print(f"M = {budget:5}: {', '.join(counts)}; no play below {least}")

    # All that a strategy promises, tried on small instances: legal from its least M on, refusals
    # in words, the same moves each time, counts that are the referee's.
    small = ["attention-forward:n=1,d=1", "attention-forward:n=5,d=2", "fft:n=4"]
    print(f"check_strategy: {len(check_strategy(mine, small))} plays, every promise kept")


if __name__ == "__main__":
    main()
