"""The statement for the regulator: what it holds, what it must not hold, and its forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlace as il
from interlace.centre import Centre
from interlace.centre.disclosures import NOT_COVERED, RULES
from interlace.centre.figures import certified, lower, upper
from interlace.core.composition.filters import Budget
from tests.centre.stated import DETAILS, build, register
from tests.centre.support import clinic

m = il.mechanisms

#: Planted where a statement must not find them.
_ROWS, _INCOME, _NOISE = 1733, 314159, 27182818


@pytest.fixture
def centre(tmp_path: Path) -> Iterator[Centre]:
    with build(tmp_path / "centre") as centre:
        yield centre


@pytest.fixture(scope="module")
def statement(tmp_path_factory: pytest.TempPathFactory) -> il.Statement:
    with build(tmp_path_factory.mktemp("built")) as centre:
        return centre.statement()


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from (key, *_leaves(part))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def test_it_tells_what_was_promised_and_spent(statement: il.Statement) -> None:
    told = statement.json()
    assert told["neighbouring_relation"] == "add_remove"
    ada, ben = told["accounts"]
    assert (ada["account"], ada["quota"]["epsilon"], ada["spent"]["epsilon"]) == ("ada", "1", "3/4")
    assert (ben["quota"]["epsilon"], ben["spent"]["epsilon"]) == ("1/2", "5/16")
    assert (ada["rule"], ada["generation"]) == ("basic", 0)
    assert "odometer" in told["spent_is"]
    assert told["ledger"]["head"] == str(statement.head)
    assert told["not_covered"] == NOT_COVERED
    assert told["cap"] is None
    [people], [homes] = [domain["datasets"] for domain in told["domains"]]
    assert dict(people["tables"][0]["columns"])["fee"]["upper"] == "10"
    assert homes["tables"][0]["rows_per_unit"] == 4


def test_the_collusion_guarantee_is_that_of_the_centre_rounded_up(centre: Centre) -> None:
    statement = centre.statement(deltas=[0, 1e-6])
    for row, delta in zip(statement.collusion, (0, 1e-6), strict=True):
        exact = Fraction(centre.guarantee().epsilon(delta))
        assert exact <= Fraction(row["epsilon_at_most"]) <= exact + Fraction(1, 10**10)
        assert row["rule"] in centre.guarantee().explain(delta)
    # No delta: 1 + 0.5, and nothing less is true.
    assert float(statement.collusion[0]["epsilon_at_most"]) == pytest.approx(1.5)
    assert "Lyu" in statement.json()["collusion"]["assumption"]
    with pytest.raises(il.ParameterError, match="deltas"):
        centre.statement(deltas=[2])


def test_noise_laws_and_charges_are_told_for_each_domain_apart(statement: il.Statement) -> None:
    units, households = statement.json()["domains"]
    assert (units["domain"], households["domain"]) == ("units", "households")
    assert (units["sessions"], households["sessions"]) == (3, 2)
    vector, plan = units["charges"]
    # Half of 1/4 for the threshold: scale 8; the other half for 2 passes of 2: scale 32.
    noise = vector["mechanisms"][0]["noise"]
    assert [(n["law"], n["scale"]) for n in noise] == [
        ("discrete Laplace", "8"),
        ("discrete Laplace", "32"),
    ]
    assert [member["kind"] for member in plan["mechanisms"]] == ["Laplace", "GuessAndCheck"]
    assert plan["charge"]["epsilon"] == "5/16"
    [laplace] = households["charges"]
    assert (laplace["times"], laplace["charge"]["epsilon"]) == (2, "1/4")
    assert laplace["mechanisms"][0]["noise"][0]["scale"] == "8"


def test_a_person_in_two_domains_is_promised_the_guarantee_for_groups_only(
    statement: il.Statement,
) -> None:
    for text in (statement.markdown(), statement.json()["across_domains"]):
        assert "no parallel composition is claimed" in text
        assert "no more than the guarantee for a group" in text


def test_one_ledger_gives_one_statement(centre: Centre, tmp_path: Path) -> None:
    first = centre.statement()
    assert first.head == centre.ledger.verify()
    assert centre.statement() == first
    centre.close()
    with il.open(tmp_path / "centre") as again:
        assert again.statement().markdown() == first.markdown()
        assert json.dumps(again.statement().json()) == json.dumps(first.json())
        again.account("ada").open(m.Laplace(epsilon=0.125), "people")
        assert again.statement().markdown() != first.markdown()


def test_json_goes_round_and_holds_no_float(statement: il.Statement) -> None:
    told = statement.json()
    assert json.loads(json.dumps(told)) == told
    assert not [leaf for leaf in _leaves(told) if isinstance(leaf, float)]


def test_nothing_private_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for pool in ("account", "responders"):
        monkeypatch.setattr(f"interlace.centre.{pool}.POOL.draw", lambda law: (_NOISE,) * law.size)
    frame = pd.DataFrame({"id": [f"jane{i}" for i in range(_ROWS)], "income": [_INCOME] * _ROWS})
    with il.open(tmp_path) as centre:
        columns = {"income": il.Integer(0, 10**6)}
        centre.register(frame, name="people", unit="id", columns=columns)
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(m.SparseVector(epsilon=0.25), "people").ask(
            "SELECT COUNT(*) FROM people WHERE income < 87654", at_most=76543
        )
        answer = ada.open(m.Laplace(epsilon=0.25), "people").ask("SELECT COUNT(*) FROM people")
        secrets = [str(answer.value), str(_NOISE), str(_ROWS), str(_INCOME), "jane", "87654"]
        secrets += ["76543", str(_ROWS * _INCOME)]
        statement = centre.statement()
        files = [path.stem for path in (tmp_path / "snapshots").iterdir()]
    texts = [statement.markdown(), json.dumps(statement.json())]
    texts.append(json.dumps(statement.registry(DETAILS)))
    for text in texts:
        # Hexadecimal digits could hold any short number by chance.
        plain = text.replace(str(statement.head), "").replace(statement.ledger, "")
        assert [secret for secret in (*secrets, *files) if secret in plain] == []


def test_markdown_has_headings_and_whole_tables_whatever_the_names(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        register(centre, "more", domain="<b>|x")
        centre.account("a|b `c` <script>", quota=il.ZCDP(0.1))
        centre.account("b", quota=il.ZCDP(0.1)).open(m.Gaussian(sigma=8, answers=3), "more")
        text = centre.statement().markdown()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0] == "# Statement of privacy"
    assert len(headings) == len(set(headings)) >= 10
    assert re.search(r"(?<!\\)<", text) is None
    tables = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        rows = [re.split(r"(?<!\\)\|", row) for row in table.splitlines()]
        assert len({len(row) for row in rows}) == 1
        assert set(rows[1][1:-1]) == {" --- "}
        assert len(rows) > 2


def test_a_statement_of_an_empty_centre_promises_nothing(tmp_path: Path) -> None:
    with il.open(tmp_path) as centre:
        statement = centre.statement()
        assert "There is no account yet." in statement.markdown()
        assert statement.json()["domains"] == statement.json()["accounts"] == []
        with pytest.raises(il.Unproven):
            statement.registry(DETAILS)


def test_one_delta_is_reported_at_which_the_guarantee_is_finite(tmp_path: Path) -> None:
    cases: list[tuple[il.ApproxDP | None, tuple[Budget, ...], Fraction]] = [
        (il.ApproxDP(2, 1e-5), (), Fraction(1, 10**5)),
        (None, (il.ApproxDP(1, 1e-6), il.ApproxDP(1, 1e-6)), Fraction(5, 10**6)),
        (None, (il.ApproxDP(1, 1e-6),), Fraction(1, 10**6)),
        (None, (il.ApproxDP(1, 0.7), il.ApproxDP(1, 0.7)), Fraction(1)),
        (None, (il.ApproxDP(1, 1e-6), il.ZCDP(1)), Fraction(2, 10**6)),
        (None, (il.ApproxDP(1, 1e-7), il.PureDP(1)), Fraction(1, 10**6)),
    ]
    for number, (cap, quotas, first) in enumerate(cases):
        with clinic(tmp_path / str(number)) as centre:
            if cap is not None:
                centre.fix_cap(cap)
            for index, quota in enumerate(quotas):
                centre.account(f"a{index}", quota=quota)
            statement = centre.statement()
            assert statement.deltas[0] == first
            assert statement.deltas[-3:] == (Fraction(1, 10**6), *statement.deltas[-2:])
            assert float(statement.collusion[0]["epsilon_at_most"]) < 100
            assert centre.statement([1e-6]).deltas == (Fraction(1, 10**6),)
            assert str(statement) == statement.markdown()


def test_under_a_cap_the_guarantee_is_the_cap(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.ApproxDP(2, 1e-6))
        told = centre.statement().json()["cap"]
        assert (told["committed"]["epsilon"], told["committed"]["delta"]) == ("0", "0")
        centre.account("ada", quota=il.PureDP(0.75))
        statement = centre.statement(deltas=[1e-6])
        assert statement.json()["cap"]["committed"]["epsilon"] == "3/4"
        [row] = statement.collusion
        assert row["epsilon_at_most"] == "2"
        assert "cap" in row["rule"]
        assert "a cap on everything" in statement.markdown()
        parameters = statement.registry(DETAILS)["privacy_loss"]["privacy_parameters"]
        assert parameters == {"epsilon": 2, "delta": 1e-6}


def test_a_restored_folder_says_so(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("ada", quota=il.PureDP(1))
        assert centre.statement().json()["restored"] is None
    il.restore(tmp_path)
    with il.open(tmp_path) as centre:
        told = centre.statement().json()
        assert "not known" in told["restored"]
        assert told["accounts"][0]["spent"] == told["accounts"][0]["quota"]


def test_it_tells_when_an_account_ends(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("ada", quota=il.PureDP(1)).switch_off()
        centre.account("ben", quota=il.PureDP(1), expires=datetime(2030, 1, 2, tzinfo=UTC))
        statement = centre.statement()
    ada, ben = statement.json()["accounts"]
    assert (ada["switched_off"], ada["expires"]) == (True, None)
    assert (ben["switched_off"], ben["expires"]) == (False, "2030-01-02T00:00:00+00:00")
    assert "| switched off |" in statement.markdown()
    assert "on 2030-01-02T00:00:00+00:00 |" in statement.markdown()


def test_the_rule_of_every_account_is_explained(tmp_path: Path) -> None:
    with il.open(tmp_path) as centre:
        quotas: list[Any] = [il.PureDP(1), il.ApproxDP(1, 1e-6), il.ZCDP(1)]
        for i, quota in enumerate(quotas):
            assert centre.account(str(i), quota=quota).rule in RULES


@given(st.fractions(min_value=0, max_value=10**15) | st.fractions(0, Fraction(1, 10**30)))
def test_numbers_are_rounded_in_the_direction_that_holds(value: Fraction) -> None:
    below, above = Fraction(lower(value)), Fraction(upper(value))
    assert below <= value <= above
    assert above - below <= value / 10**11


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_a_certified_end_prints_as_one(bound: float) -> None:
    assert Fraction(certified(bound)) >= Fraction(bound)


def test_domains_are_declared_in_python_or_toml(tmp_path: Path) -> None:
    declaration = tmp_path / "clinic.toml"
    text = """
        name = "clinic"
        unit = "id"
        domain = "patients"
        [tables.visits]
        rows_per_unit = 2
        columns = { income = { type = "integer", lower = 0, upper = 9 } }
    """
    declaration.write_text(text)
    frame = pd.DataFrame({"id": [1, 2], "income": [3, 4]})
    with il.open(tmp_path / "centre") as centre:
        centre.register(declaration, tables={"visits": frame})
        register(centre, "one")
        register(centre, "two", domain="patients")
        assert centre.statement().domains == ("patients", "units")
        datasets, charges = centre.statement().of("patients")
        assert [record.dataset.name for record in datasets] == ["clinic", "two"]
        assert charges == ()
        for bad in ("", "a\nb", 3):
            with pytest.raises(il.ParameterError, match="domain"):
                register(centre, "three", domain=bad)
        with pytest.raises(il.ParameterError, match="domain"):
            centre.register(declaration, domain="x", tables={"visits": frame})
        declaration.write_text(text.replace('"patients"', "7").replace('"clinic"', '"other"'))
        with pytest.raises(il.ParameterError, match="domain"):
            centre.register(declaration, tables={"visits": frame})
