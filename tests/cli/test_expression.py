"""What is typed for guarantees: every notion, as words and as it prints itself, and what is not."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import interlace as il
from interlace.cli.expression import read_expression
from interlace.cli.main import main
from interlace.core.errors import ParameterError
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", PureDP(0.5)),
        ("pure(1/3)", PureDP(Fraction(1, 3))),
        ("(0.1, 1e-8)", ApproxDP(0.1, 1e-8)),
        ("renyi(32, 0.5)", RenyiDP(32, 0.5)),
        ("rdp(3/2,1e-3)", RenyiDP(1.5, 0.001)),
        ("zcdp(0.05)", ZCDP(0.05)),
        ("tcdp(0.05, 16)", TCDP(0.05, 16)),
        ("gdp(0.2)", GaussianDP(0.2)),
        ("gaussian(1/7)", GaussianDP(Fraction(1, 7))),
        ("Gaussian ( 2 )", GaussianDP(2)),
    ],
)
def test_every_notion_has_its_word(text: str, expected: Guarantee) -> None:
    assert read_expression(text) == [(expected, 1)]
    assert read_expression(f"7x{text} + 2 × {text}") == [(expected, 7), (expected, 2)]


_numbers = st.decimals("0.000001", 1000, places=6)


@given(_numbers, st.decimals("1.000001", 1000, places=6), st.decimals(0, 1, places=6))
def test_what_a_guarantee_prints_is_read(value: Decimal, order: Decimal, delta: Decimal) -> None:
    for guarantee in (
        PureDP(value),
        ApproxDP(value, delta),
        RenyiDP(order, value),
        ZCDP(value),
        TCDP(value, order),
        GaussianDP(value),
    ):
        assert read_expression(repr(guarantee)) == [(guarantee, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "gdp(0.1, 2)",
        "gdp 0.1",
        "gdp()",
        "renyi(4)",
        "renyi",
        "tcdp(0.1)",
        "tcdp(0.1, 2, 3)",
        "zcdp(0.1, 2)",
        "pure(0.1, 2)",
        "approx(0.1)",
        "fdp(0.1)",
        "gdp(0.1",
        "1x",
        "+",
    ],
)
def test_what_is_no_item_is_refused_with_the_words_there_are(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^expression: .*renyi\(alpha,epsilon\)"):
        read_expression(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gdp(-1)", "mu"),
        ("gdp(1/0)", "mu"),
        ("renyi(1, 2)", "alpha"),
        ("renyi(2, -2)", "epsilon"),
        ("tcdp(-1, 2)", "rho"),
        ("tcdp(1, 0.5)", "omega"),
    ],
)
def test_a_number_out_of_range_is_named(text: str, name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name}: "):
        read_expression(text)


def test_the_command_composes_every_notion() -> None:
    text = "3x gdp(0.1) + renyi(8, 0.1) + tcdp(0.01, 16) + zcdp(0.01) + 2x0.1 + (0.1, 1e-9)"
    shown = CliRunner().invoke(main, ["compose", text, "--delta", "1e-6", "--json"])
    assert shown.exit_code == 0
    expected = il.compose(
        [
            (il.GaussianDP(0.1), 3),
            il.RenyiDP(8, 0.1),
            il.TCDP(0.01, 16),
            il.ZCDP(0.01),
            (il.PureDP(0.1), 2),
            il.ApproxDP(0.1, 1e-9),
        ]
    )
    assert json.loads(shown.output)["answers"][0]["epsilon"] == expected.epsilon(1e-6)
