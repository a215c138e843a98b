"""The statement in the fields of the public registry: what is filled in, asked for, refused."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlace as il
from interlace.centre.registry import number
from tests.centre.stated import DETAILS, build
from tests.centre.support import clinic


@pytest.fixture(scope="module")
def statement(tmp_path_factory: pytest.TempPathFactory) -> il.Statement:
    with build(tmp_path_factory.mktemp("built")) as centre:
        return centre.statement()


def _without(details: dict[str, Any], name: str) -> dict[str, Any]:
    found = copy.deepcopy(details)
    section, _, field = name.rpartition(".")
    del (found[section] if section else found)[field]
    return found


_ASKED = [
    *("url_slug", "status", "tier", "administrative"),
    *(f"basic.{field}" for field in DETAILS["basic"]),
    *("dp_variant.unprotected_quantities", "implementation.justification"),
]


@pytest.mark.parametrize("name", _ASKED)
def test_the_registry_asks_for_what_only_the_custodian_knows(
    statement: il.Statement, name: str
) -> None:
    with pytest.raises(il.ParameterError) as refusal:
        statement.registry(_without(DETAILS, name))
    assert refusal.value.name == name


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("privacy_loss", "privacy_parameters", {"epsilon": 0.01}),
        ("accounting", "composition", "parallel"),
        ("basic", "colour", "red"),
        ("basic", "region", " "),
        ("basic", "name", object()),
        ("implementation", "preprocessing", 3),
    ],
)
def test_the_registry_refuses_what_is_not_the_custodians_to_say(
    statement: il.Statement, section: str, field: str, value: object
) -> None:
    details = copy.deepcopy(DETAILS)
    details.setdefault(section, {})[field] = value
    with pytest.raises(il.ParameterError) as refusal:
        statement.registry(details)
    assert refusal.value.name in {section, f"{section}.{field}"}


def test_the_registry_refuses_details_of_another_shape(statement: il.Statement) -> None:
    wrong: Any = ["basic"]
    with pytest.raises(il.ParameterError, match="details"):
        statement.registry(wrong)
    with pytest.raises(il.ParameterError, match="basic"):
        statement.registry({**DETAILS, "basic": "a name"})


def test_the_registry_has_its_fields_and_answers_for_interactive_systems(
    statement: il.Statement,
) -> None:
    details = copy.deepcopy(DETAILS)
    details["implementation"]["preprocessing"] = "Bounds are those of the law."
    record = statement.registry(details)
    assert json.loads(json.dumps(record)) == record
    assert list(record) == [
        *("url_slug", "status", "tier", "basic", "dp_variant", "privacy_loss"),
        *("deployment_model", "accounting", "implementation", "administrative"),
    ]
    assert record["basic"]["sector"] == "Health"
    assert record["dp_variant"]["variant_name"] == "Pure DP"
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.5}
    assert record["deployment_model"]["access_type"] == "Interactive"
    access = record["deployment_model"]["access_type_details"]
    assert "ada: epsilon 1," in access  # how the budget is apportioned
    assert "Non-collusion is not assumed" in access
    assert "Nothing protects against it beyond the class of refusals" in access
    assert "Bounds are those of the law." in record["implementation"]["preprocessing"]
    assert "GuessAndCheck" in record["implementation"]["mechanisms"]


@pytest.mark.parametrize(
    ("quotas", "variant", "parameters"),
    [
        ([il.ZCDP(0.25), il.ZCDP(0.5)], "Zero-Concentrated DP", {"rho": 0.75}),
        ([il.ApproxDP(1, 1e-5)], "Approximate DP", {"epsilon": 1, "delta": 1e-5}),
    ],
)
def test_the_registrys_parameters_are_those_of_the_quotas(
    tmp_path: Path, quotas: list[Any], variant: str, parameters: dict[str, float]
) -> None:
    with clinic(tmp_path) as centre:
        for i, quota in enumerate(quotas):
            centre.account(f"analyst {i}", quota=quota)
        record = centre.statement().registry(DETAILS)
    assert record["dp_variant"]["variant_name"] == variant
    assert record["privacy_loss"]["privacy_parameters"] == parameters


def test_the_registrys_point_lies_where_there_is_an_epsilon(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("ada", quota=il.ApproxDP(1, 1e-5))
        centre.account("ben", quota=il.ZCDP(0.1))
        found = centre.statement().registry(DETAILS)["privacy_loss"]["privacy_parameters"]
        assert 1e-5 < found["delta"] <= 2e-5
        assert found["epsilon"] >= centre.guarantee().epsilon(found["delta"])


@given(st.fractions(0, 10**9) | st.fractions(0, Fraction(1, 10**320)) | st.just(Fraction(10**400)))
def test_a_number_of_the_registry_prints_as_an_upper_end(value: Fraction) -> None:
    assert Fraction(json.dumps(number(value), allow_nan=False)) >= value
