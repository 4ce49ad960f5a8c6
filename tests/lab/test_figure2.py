"""Figure 2 of Dao22, as the example derives it: the printed figures, and the game's beside them."""

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "dao22_figure2.py"


@pytest.fixture(scope="module")
def figure():
    return runpy.run_path(str(SCRIPT))


def gigabytes(lines):
    return [round(line.gigabytes, 2) for line in lines]


def test_standard_attention(figure):
    listed, forward, backward, frameworks, eager = gigabytes(figure["standard"]())

    # One n x d matrix of all heads has 0.1342 GB, one n x n matrix 2.1475 GB.
    assert listed == round(11 * 2.1475 + 12 * 0.1342, 2) == 25.23
    assert forward == round(4 * 2.1475 + 4 * 0.1342, 2)
    # Beyond the 7 n^2 + 8 n d listed: S is written and read, P written, from Q and K; D is made.
    assert backward == pytest.approx((7 + 3) * 2.1475 + (8 + 4) * 0.1342, abs=0.02)
    assert frameworks == 40.27
    assert round(frameworks, 1) == figure["PRINTED"]["standard"] == 40.3
    assert eager == pytest.approx(40.3, rel=0.02)
    assert sum(figure["EAGER"].values()) == 18


def test_flash_attention(figure):
    lines = figure["flash"]()
    listed = lines[:2]

    # B_c = 384, three rounds: 11 n d forward and 19 n d backward.
    assert gigabytes(listed) == [round(11 * 0.13421772, 2), round(19 * 0.13421772, 2)]
    assert round(sum(line.gigabytes for line in listed), 2) == 4.03
    assert round(sum(line.gigabytes for line in lines[:4]), 2) == 4.38
    assert round(4.38, 1) == figure["PRINTED"]["FlashAttention"]
    # The game moves 28 n d: 2 n d less than listed, O and dQ in the first round.
    assert round(lines[5].gigabytes, 2) == 3.76
    assert lines[5].scalars == sum(line.scalars for line in listed) + lines[4].scalars
    assert round(lines[5].gigabytes + lines[6].gigabytes, 2) == 3.77


def test_the_curve_against_the_block_size(figure):
    curve = figure["curve"]()

    assert [columns for columns, _, _ in curve] == [64, 128, 256, 512]
    assert gigabytes(listed for _, listed, _ in curve) == [6.71, 3.49, 1.88, 1.07]
    assert gigabytes(game for _, _, game in curve) == [6.58, 3.36, 1.74, 0.94]


def test_the_script_prints_both_figures(figure, capsys):
    figure["main"]()
    shown = capsys.readouterr().out

    assert "printed: 40.3 GB" in shown
    assert " 40.27 GB   kernel by kernel" in shown
    assert "   4.38 GB   the first four together" in shown
