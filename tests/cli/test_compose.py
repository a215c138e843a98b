"""``interlace compose``: expressions, files, the table, the picture, and what is refused."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ET
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.cli import main
from interlace.cli.comparison import compared
from interlace.cli.expression import read_expression
from interlace.cli.listing import read_file
from interlace.core.composition import Batch
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.guarantees import Notion, encode_notion
from tests.effort import examples


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compose", *arguments], catch_exceptions=False)


def asked(*arguments: str) -> list[dict[str, Any]]:
    shown = run(*arguments, "--json")
    assert shown.exit_code == 0, shown.output
    found: list[dict[str, Any]] = json.loads(shown.output)["answers"]
    return found


def test_it_prints_the_optimal_epsilon_its_interval_and_the_theorem() -> None:
    # 4.32963671401661: FORMULAS 10, computed independently to 15 digits.
    shown = run("100x(0.1,1e-8)", "--delta", "1e-5")
    assert shown.exit_code == 0
    assert "4.32963671401661" in shown.output or "4.3296367140166" in shown.output
    assert "ApproxDP(0.1, 1e-08)" in shown.output
    assert "Thm 1" in shown.output
    [answer] = asked("100x(0.1,1e-8)", "--delta", "1e-5")
    assert round(answer["epsilon"], 14) == 4.32963671401661
    lower, upper = answer["interval"]
    assert upper == answer["epsilon"]
    assert 0 < upper - lower < 1e-12


def test_several_deltas_or_epsilons_are_answered_in_their_order() -> None:
    plan = il.compose([(il.PureDP(0.5), 2), il.ApproxDP(1, 1e-9), il.ZCDP(0.05)])
    text = "2x0.5 + (1, 1e-9) + zcdp(0.05)"
    deltas = asked(text, "--delta", "1e-5", "--delta", "1e-50", "--delta", "1/1000")
    assert [a["delta"] for a in deltas] == ["1e-5", "1e-50", "1/1000"]
    assert [a["epsilon"] for a in deltas] == [plan.epsilon(1e-5), "inf", plan.epsilon(1e-3)]
    found = asked(text, "--epsilon", "3", "--epsilon", "0")
    assert [a["delta"] for a in found] == [plan.delta(3), plan.delta(0)]
    assert [tuple(a["interval"]) for a in found] == [plan.delta_interval(3), plan.delta_interval(0)]


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("laplace(20)", il.losses.DiscreteLaplace(20)),
        ("discrete_laplace(2.5, 3)", il.losses.DiscreteLaplace(2.5, 3)),
        ("discrete_gaussian(10, 2)", il.losses.DiscreteGaussian(10, 2)),
        ("rounded_gaussian(10)", il.losses.RoundedGaussian(10)),
        ("response(1, 4)", il.losses.RandomisedResponse(1, 4)),
        ("bounded_range(0.1)", il.losses.BoundedRange(0.1)),
    ],
)
def test_every_loss_of_numbers_has_its_word_and_reads_as_it_prints(
    text: str, loss: il.Guarantee
) -> None:
    assert read_expression(text) == read_expression(repr(loss)) == [(loss, 1)]


def test_a_csv_file_holds_what_an_expression_holds(tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    file.write_text(
        "\ufeffnotion, epsilon,delta,rho,scale,shift,count\n"
        ",0.1,1e-8,,,,100\n"
        "\n"
        "zcdp,,,1/20,,,\n"
        '"laplace",,,,20,2,3\n'
        "pure,0.25,,,,,2\n",
        encoding="utf-8",
    )
    expected = read_expression("100x(0.1,1e-8) + zcdp(1/20) + 3xlaplace(20,2) + 2x0.25")
    assert read_file(file) == expected
    assert asked(str(file), "--delta", "1e-4") == asked(
        "100x(0.1,1e-8) + zcdp(1/20) + 3xlaplace(20,2) + 2x0.25", "--delta", "1e-4"
    )


def test_a_json_file_holds_objects_and_expressions(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    written = [
        "100x(0.1,1e-8) + gdp(0.2)",
        {"notion": "approximate", "epsilon": 0.1, "delta": "1/11"},
        {"notion": "renyi", "alpha": 8, "epsilon": "0.1", "count": 2},
        {"notion": "pure", "relation": "add_remove", "epsilon": "1/11"},
    ]
    file.write_text(json.dumps(written), encoding="utf-8")
    expected = "100x(0.1,1e-8) + gdp(0.2) + (0.1,1/11) + 2xrenyi(8,0.1) + pure(1/11)"
    assert read_file(file) == read_expression(expected)


def test_what_the_codec_writes_is_read(tmp_path: Path) -> None:
    notions: list[Notion] = [il.PureDP(1), il.ApproxDP(1, 0.1), il.RenyiDP(2, 1), il.ZCDP(1)]
    notions += [il.TCDP(1, 9), il.GaussianDP(0.3)]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps([encode_notion(n) for n in notions]))
    assert [g for g, _ in read_file(file)] == notions


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "epsilon,delta\n0.1,0\nx,0\n", "line 3, column epsilon"),
        ("a.csv", "epsilon,delta\n0.1,2\n", "line 2, column delta"),
        ("a.csv", "epsilon,count\n0.1,2.5\n", "line 2, column count"),
        ("a.csv", "epsilon,count\n0.1,-1\n", "line 2, column count"),
        ("a.csv", "epsilon\n0.1\n0.1,3\n", "line 3"),
        ("a.csv", "0.1\n0.2\n", "line 1"),
        ("a.csv", "epsilon,epsilon\n0.1,1\n", "line 1"),
        ("a.csv", "", "line 1"),
        ("a.csv", "count\n3\n", "line 1"),
        ("a.csv", "notion,rho\nzcpd,1\n", "line 2, column notion"),
        ("a.csv", "notion,rho,epsilon\nzcdp,1,2\n", "line 2, column epsilon"),
        ("a.csv", "notion,rho\nzcdp,\n", "line 2, column rho"),
        ("a.csv", 'epsilon\n"0.1\n', "is no CSV"),
        ("a.csv", "epsilon\nnan\n", "line 2, column epsilon"),
        ("a.json", "[[0.1]]", "item 0"),
        ("a.json", '["0.1", "1y2"]', "item 1"),
        ("a.json", '["0.1", {"notion": "pure"}]', "item 1"),
        ("a.json", '[{"notion": "pure", "epsilon": [1]}]', "item 0"),
        ("a.json", '[{"notion": "pure", "epsilon": true}]', "item 0"),
        ("a.json", '[{"notion": "pure", "epsilon": NaN}]', "item 0"),
        ("a.json", '[{"notion": "pure", "epsilon": 1e999999999}]', "item 0"),
        ("a.json", '[{"notion": "pure", "epsilon": 1, "epsilon": 2}]', "twice"),
        ("a.json", '[{"notion": "pure", "epsilon": 1, "relation": "near"}]', "relation"),
        ("a.json", '{"notion": "pure", "epsilon": 1}', "must be a list"),
        ("a.json", "[\n1,,\n]", "line 2"),
        ("a.json", "[" * 100_000, "nested"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    shown = run(str(file), "--delta", "1e-6")
    assert shown.exit_code == 2
    assert told in shown.output.replace("\n", " ")
    assert "Traceback" not in shown.output
    with pytest.raises(ParameterError, match=r"a\.(csv|json)"):
        read_file(file)


def test_relations_are_read_and_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "plan.csv"
    file.write_text("epsilon,relation\n0.1,change_one\n0.2,change_one\n")
    assert asked(str(file), "--delta", "0")[0]["epsilon"] == pytest.approx(0.3)
    file.write_text("epsilon,relation\n0.1,change_one\n0.2,add_remove\n")
    assert run(str(file), "--delta", "0").exit_code == 2
    with pytest.raises(RelationMismatch, match=r"items\[1\]"):
        il.compose(read_file(file))


@pytest.mark.parametrize("name", ["gone.csv", "gone.json", "folder.csv"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    shown = run(str(tmp_path / name), "--delta", "0")
    assert (shown.exit_code, "Traceback" in shown.output) == (2, False)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"epsilon\n\xff\n")
    assert "UTF-8" in run(str(tmp_path / "a.csv"), "--delta", "0").output


def test_a_long_file_is_one_batch_and_gives_the_same_number(tmp_path: Path) -> None:
    draw = random.Random(5)
    epsilons = [draw.uniform(0.01, 0.2) for _ in range(1200)]
    file = tmp_path / "plan.csv"
    rows = [f"{e},1e-9,1" for e in epsilons]
    # A number that no float is, and one with a count, stay themselves.
    file.write_text("\n".join(["epsilon,delta,count", *rows, "1/7,,", "0.1,,5"]))
    items = read_file(file)
    assert isinstance(items[0][0], Batch)
    assert items[1:] == read_expression("1/7 + 5x0.1")
    rest = il.compose(items[1:])
    alone = il.compose([*(il.ApproxDP(e, 1e-9) for e in epsilons), rest])
    low, high = alone.epsilon_interval(1e-4)
    [answer] = asked(str(file), "--delta", "1e-4")
    assert max(low, answer["interval"][0]) <= min(high, answer["interval"][1])
    assert answer["epsilon"] == pytest.approx(high, rel=1e-8)


def test_many_parts_are_counted_and_the_first_are_shown() -> None:
    shown = run(" + ".join(f"{k}/100" for k in range(1, 31)), "--delta", "1e-6")
    assert "and 10 more kinds" in shown.output
    assert "30 mechanisms" in shown.output


def test_the_picture_has_a_curve_for_each_part_and_for_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "profile.svg"
    text = "100x(0.1,1e-8) + laplace(2) + gdp(0.3)"
    assert run(text, "--delta", "1e-5", "--plot", str(file)).exit_code == 0
    root = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  our own picture
    lines = root.findall("{*}polyline")
    assert len(lines) == 4
    heights = [[float(p.split(",")[1]) for p in line.attrib["points"].split()] for line in lines]
    # Downwards on the page is less delta: the whole lies above each of its parts.
    for part in heights[:-1]:
        assert all(whole <= own + 0.1 for whole, own in zip(heights[-1], part, strict=True))
    assert "100 x ApproxDP(0.1, 1e-08)" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "option", "value", "curves"),
    [
        ("0.1", "--epsilon", "0", 1),
        ("0", "--delta", "0", 1),
        ("gdp(1)", "--delta", "0", 1),
        ("gdp(1)", "--delta", "1e-300", 1),
        (" + ".join(f"{k}/10" for k in range(1, 12)), "--epsilon", "1", 9),
    ],
)
def test_extreme_pictures_are_drawn(
    tmp_path: Path, text: str, option: str, value: str, curves: int
) -> None:
    file = tmp_path / "profile.svg"
    assert run(text, option, value, "--plot", str(file)).exit_code == 0
    written = file.read_text(encoding="utf-8")
    assert (written.count("<polyline"), "nan" in written, "inf" in written) == (
        curves,
        False,
        False,
    )


def test_a_picture_that_cannot_be_written_is_refused_after_the_table(tmp_path: Path) -> None:
    shown = run("0.1", "--delta", "0", "--plot", str(tmp_path / "no" / "where.svg"))
    assert shown.exit_code == 2
    assert "PureDP(0.1)" in shown.output


def test_comparison_shows_known_formulas_side_by_side() -> None:
    # sum; sqrt(2 log 1e6) + 10 (e^0.1 - 1); sqrt(2 log 1e6) + 10 tanh(0.05), to 10 digits by hand.
    [answer] = asked("100x0.1", "--delta", "1e-6", "--compare")
    basic, advanced, closed, zcdp, renyi, optimal = answer["compared"].values()
    assert basic == 10
    assert advanced == pytest.approx(6.3082309470)
    assert closed == pytest.approx(5.7561053418)
    # The textbook's rho + 2 sqrt(rho log(1/delta)) is what the better conversions improve on.
    assert optimal < renyi < zcdp < 0.4995837495788 + 2 * (0.4995837495788 * 13.815510558) ** 0.5
    assert round(optimal, 11) == 4.77456758811  # FORMULAS 10


_ITEMS = st.one_of(
    st.sampled_from(["0.1", "3x0.5", "(0.2,1e-9)", "5x(0.01,1e-8)", "gdp(0.3)", "zcdp(0.02)"]),
    st.sampled_from(["laplace(4,2)", "renyi(8,0.1)", "tcdp(0.02,9)", "bounded_range(0.3)"]),
    st.sampled_from(["discrete_gaussian(5)", "response(1,3)"]),
)


@settings(max_examples=examples(15))
@given(st.lists(_ITEMS, min_size=1, max_size=4), st.sampled_from(["1e-3", "1e-6", "1e-12", "1"]))
def test_no_rule_promises_less_than_what_is_needed(items: list[str], delta: str) -> None:
    plan = il.compose(read_expression(" + ".join(items)))
    least = plan.epsilon_interval(float(delta))[0]
    found = [row.epsilon for row in compared(plan, il.ApproxDP(0, float(delta)).delta0)]
    assert all(epsilon is None or epsilon >= least for epsilon in found)
    assert found[-1] == plan.epsilon(float(delta))


def test_comparison_says_where_a_rule_covers_nothing() -> None:
    [answer] = asked("gdp(1)", "--delta", "1e-6", "--compare")
    assert list(answer["compared"].values()).count(None) == 2
    assert "does not cover it" in run("gdp(1)", "--delta", "1e-6", "--compare").output


@pytest.mark.parametrize(
    "options",
    [(), ("--delta", "0", "--epsilon", "1"), ("--epsilon", "1", "--compare")],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...]) -> None:
    assert run("0.1", *options).exit_code == 2


def test_a_file_may_be_what_to_json_wrote(tmp_path: Path) -> None:
    plan = il.compose([(il.PureDP(0.25), 7), il.losses.DiscreteLaplace(2.5, 3)])
    file = tmp_path / "plan.json"
    file.write_text(il.interchange.to_json(plan))
    assert il.compose(read_file(file)) == plan
    file.write_text(il.interchange.to_json(plan).replace('"version": 1', '"version": 999'))
    with pytest.raises(ParameterError, match=r"plan.json, version: "):
        read_file(file)


def test_long_lists_are_read_as_the_decimals_they_are(tmp_path: Path) -> None:
    others = ["0.1000000000000000055", "5e6", "1e-400"]
    rows = ["0.10", "1e-2", "0.3", *others] * 400
    file = tmp_path / "plan.csv"
    file.write_text("\n".join(["epsilon", *rows]))
    [(batch, _), *rest] = read_file(file)
    assert isinstance(batch, Batch)
    assert batch.few == tuple((Fraction(x), 400) for x in ("0.01", "0.1", "0.3"))
    assert {g for g, _ in rest} == {il.PureDP(Decimal(x)) for x in others}
    file.write_text("\n".join(["epsilon,delta", *["0.1,0.5"] * 2000, "0.1,1.5"]))
    with pytest.raises(ParameterError, match="line 2002, column delta"):
        read_file(file)
