"""The table of strategies: closed form, leading constants, least M, operations against naive.

A row is derived from the strategy's text by the tally on symbols, in a fraction of a second; all of
them together take several, so that those of the strategies in this distribution are kept in
``lab/data/costs.json``. ``python -m lab.costs README.md`` derives them anew and puts the table into
the page, and the tests hold both against the code. Strategies of other distributions are derived
when the table is asked for.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphs.registry import Workload
    from strategies.closed_form import ClosedForm
    from strategies.phases import TileStrategy

__all__ = [
    "LARGE",
    "NOTE",
    "SMALL",
    "WORKLOADS",
    "Cost",
    "cost",
    "costs",
    "markdown",
    "pairs",
    "pretty",
    "stored",
]

#: What the table is about: attention, with the variants that have strategies of their own.
WORKLOADS = (
    "attention-forward:n=1024,d=64",
    "attention-forward:n=1024,d=64,softmax=safe",
    "attention-backward:n=1024,d=64",
    "attention-gradient:n=1024,d=64",
    "attention-training:n=1024,d=64",
)
#: What the columns mean.
NOTE = (
    "T is a number of tiles along one index, ceil(n / B_c) for T_c, with the number of its phase;\n"
    "a product is written in its first text (rows resident). Leading terms are those of the best\n"
    "texts and tile sizes. Operations: computes over vertices, as n and d grow."
)
#: The markers that the table stands between in a markdown page.
OPENS, CLOSES = "<!-- strategies -->\n", "<!-- /strategies -->"
#: The regimes of the columns.
LARGE, SMALL = "d^2 << M << n d", "M << d^2"


@dataclass(frozen=True)
class Cost:
    """What a strategy costs on a kind of workload, in formulas as texts.

    Attributes
    ----------
    strategy, workload : str
        The strategy's text form, and the workload's without its sizes.
    io : str
        Loads and stores, exact for at least two tiles along every index.
    tiles : dict of str to str
        The numbers of tiles in it.
    leading : dict of str to str
        Leading term of the I/O for each regime, at the tile sizes that fit best.
    least_memory : str
        The least M it plays with, for n and d of at least 4.
    operations : str
        Computes over those of a play that computes every vertex once, as n and d grow: the price
        of recomputation.
    """

    strategy: str
    workload: str
    io: str
    tiles: dict[str, str] = field(hash=False)
    leading: dict[str, str] = field(hash=False)
    least_memory: str
    operations: str

    def to_json(self) -> dict[str, Any]:
        """Return a dict of plain types."""
        return dataclasses.asdict(self)


def pairs() -> list[tuple[TileStrategy, Workload]]:
    """Return every tile strategy, in each of its variants, with every workload it plays.

    Variants of a workload count only for strategies that do not play its default.
    """
    from graphs.registry import workload
    from strategies.phases import TileStrategy
    from strategies.registry import strategies, strategy

    found: list[tuple[TileStrategy, Workload]] = []
    played: set[tuple[str, str]] = set()
    for text in WORKLOADS:
        what = workload(text)
        for cls in strategies():
            if not issubclass(cls, TileStrategy):
                continue
            for variant in cls.variants or (cls.name,):
                how = strategy(variant)
                if (variant, what.name) in played or how.refusal(what) is not None:
                    continue
                assert isinstance(how, TileStrategy)
                played.add((variant, what.name))
                found.append((how, what))
    return found


def cost(strategy: TileStrategy, workload: Workload) -> Cost:
    """Derive a row of the table from the strategy's text.

    Examples
    --------
    >>> from graphs import workload
    >>> from strategies import strategy
    >>> row = cost(strategy("split"), workload("attention-backward:n=64,d=8"))
    >>> row.leading["d^2 << M << n d"], row.least_memory, row.operations
    ('14*d**2*n**2/M', '5*d + 5', '7/5')
    """
    form = strategy.closed_form(workload)
    return Cost(
        str(strategy),
        _kind(workload),
        str(form.io),
        {str(symbol): str(value) for symbol, value in form.tiles.items()},
        {regime: str(term) for regime, term in form.leading.items()},
        str(form.least_memory),
        _operations(form, workload),
    )


def _operations(form: ClosedForm, workload: Workload) -> str:
    """Return the limit of computes over vertices, n growing faster than d."""
    import sympy

    formula = workload.formula(**workload.symbols())
    assert formula is not None
    once = sympy.expand(formula.computed_size())
    n, d = (workload.symbols()[name] for name in ("n", "d"))
    done = form.leading_computes
    return str(sympy.limit(sympy.limit(sympy.expand(done / once), n, sympy.oo), d, sympy.oo))


def _kind(workload: Workload) -> str:
    """Return a workload's text form without its sizes."""
    name, _, options = str(workload).partition(":")
    kept = [piece for piece in options.split(",") if piece.partition("=")[0] not in ("n", "d")]
    return ":".join([name, *([",".join(kept)] if kept else [])])


def stored() -> list[Cost]:
    """Return the rows that are kept in the distribution."""
    text = (resources.files("lab") / "data" / "costs.json").read_text(encoding="utf-8")
    return [Cost(**row) for row in json.loads(text)]


def costs(progress: Callable[[int], None] | None = None) -> list[Cost]:
    """Return the whole table; rows that are not kept are derived.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of rows done.
    """
    known = {(row.strategy, row.workload): row for row in stored()}
    rows = []
    for number, (how, what) in enumerate(pairs()):
        row = known.get((str(how), _kind(what)))
        rows.append(row if row is not None else cost(how, what))
        if progress is not None:
            progress(number + 1)
    return rows


# -- text ---------------------------------------------------------------------------------------


def pretty(formula: str) -> str:
    """Write a formula for reading.

    Examples
    --------
    >>> pretty("4*sqrt(3)*d*n**2/sqrt(M) + 2*n")
    '4 √3 d n²/√M + 2 n'
    """
    shown = formula.replace("**2", "²").replace("**3", "³")
    shown = re.sub(r"sqrt\((\w+)\)", r"√\1", shown)
    return shown.replace("*", " ")


def markdown(rows: Iterable[Cost]) -> str:
    """Write the table in markdown, one block of rows per workload."""
    lines = [
        "| workload | strategy | I/O | d² ≪ M ≪ nd | M ≪ d² | least M | operations |",
        "| :------- | :------- | :-- | :---------- | :----- | :------ | ---------: |",
    ]
    before = ""
    for row in rows:
        shown = "" if row.workload == before else row.workload
        before = row.workload
        large, small = (pretty(row.leading.get(regime, "–")) for regime in (LARGE, SMALL))
        cells = [shown, row.strategy, pretty(row.io), large, small]
        cells += [pretty(row.least_memory), row.operations]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _derive_anew(pages: Iterable[str]) -> None:
    """Write the file of rows, and the table between its markers into markdown pages."""
    from pebble.files import replacing

    rows = [cost(how, what).to_json() for how, what in pairs()]
    with replacing(Path(__file__).parent / "data" / "costs.json") as temporary:
        temporary.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for page in map(Path, pages):
        head, _, rest = page.read_text("utf-8").partition(OPENS)
        _, _, tail = rest.partition(CLOSES)
        with replacing(page) as temporary:
            temporary.write_text(head + OPENS + markdown(stored()) + CLOSES + tail, "utf-8")


if __name__ == "__main__":
    _derive_anew(sys.argv[1:])
