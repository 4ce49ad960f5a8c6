"""The list: narrow, complete, and every short name in it explained."""

import json
import re

from click.testing import CliRunner

from lab.cli import main
from lab.papers import PAPERS
from strategies.registry import strategies


def listed(*arguments):
    done = CliRunner().invoke(main, ["list", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_it_fits_into_eighty_columns():
    out = listed()
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert "Θ(min(d² n²/M, d n²/√M))" in out


def test_every_short_name_of_a_paper_is_explained():
    out = listed()
    body, sources = out.split("\nSOURCES\n")
    used = set(re.findall(r"\b[A-Z][A-Za-z]*\d\d\b", body))
    assert used
    for name in used:
        assert name in PAPERS
        assert re.search(rf"^{name} +\w", sources, re.MULTILINE)


def test_other_names_are_given():
    out = listed()
    for cls in strategies():
        for alias in cls.aliases:
            assert re.search(rf"other names: .*\b{re.escape(alias)}", out)


def test_words_narrow_it_down():
    data = json.loads(listed("flashattention", "--json"))
    assert "flash" in {entry["name"] for entry in data["strategies"]}
    assert "naive" not in {entry["name"] for entry in data["strategies"]}
    assert "HK81" not in listed("FlashAttention-2")
    assert "nothing here has 'zzz'" in listed("zzz")
