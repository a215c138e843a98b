"""A statement in the fields of the public registry of deployments that OpenDP keeps.

What the centre knows cannot be said otherwise by its custodian; what only the custodian
knows is asked for, by name, and not guessed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from interlace.centre import disclosures as words
from interlace.centre.described import domain_of, noises
from interlace.centre.figures import INFINITE, certified, upper
from interlace.centre.statement_markdown import budget_text
from interlace.core.composition.filters import Budget
from interlace.core.errors import ParameterError, Unproven
from interlace.core.guarantees import ZCDP, ApproxDP, PureDP

if TYPE_CHECKING:
    from interlace.centre.statement import Statement

#: What only the custodian knows; None stands for a field of no section.
_ASKED: Mapping[str | None, tuple[str, ...]] = {
    None: ("url_slug", "status", "tier", "administrative"),
    "basic": (
        "name",
        "data_curators",
        "intended_use",
        "region",
        "description",
        "publication_date",
        "sector",
    ),
    "dp_variant": ("unprotected_quantities",),
    "implementation": ("justification",),
}
#: Beyond it a float may be infinite.
_LARGEST = 10**300
#: What the custodian may add to the centre's own words.
_ADDED: Mapping[str | None, tuple[str, ...]] = {
    "deployment_model": ("actors",),
    "implementation": ("preprocessing",),
}


def registry(statement: Statement, details: Mapping[str, Any]) -> dict[str, Any]:
    """The record. Raises ParameterError, by its dotted name, for a field of ``details`` that is
    missing, unknown or the centre's own; Unproven where nothing is promised yet."""
    given = _checked(details)
    known = _known(statement)
    for name, value in given.items():
        section, _, field = name.rpartition(".")
        place = known.setdefault(section, {}) if section else known
        place[field] = f"{place[field]} {value}" if field in place else value
    order = ("url_slug", "status", "tier", "basic", *known, "administrative")
    return {name: known[name] for name in dict.fromkeys(order)}


def _checked(details: Mapping[str, Any]) -> dict[str, Any]:
    """The custodian's fields by their dotted names."""
    if not isinstance(details, Mapping):
        raise ParameterError("details", "must map the registry's fields to what they hold")
    given: dict[str, Any] = {}
    for name, value in details.items():
        if name in _ASKED or name in _ADDED:
            if not isinstance(value, Mapping):
                raise ParameterError(name, "must map its fields to what they hold")
            given |= {f"{name}.{field}": part for field, part in value.items()}
        else:
            given[name] = value
    asked, added = _names(_ASKED), _names(_ADDED)
    for name, value in given.items():
        if name not in (*asked, *added):
            raise ParameterError(
                name, f"is no field for a custodian to fill in: those are {', '.join(asked)}"
            )
        _check_value(name, value)
    for name in asked:
        if name not in given:
            raise ParameterError(name, "is missing: only the custodian knows it")
    return given


def _names(fields: Mapping[str | None, tuple[str, ...]]) -> list[str]:
    return [name if s is None else f"{s}.{name}" for s, names in fields.items() for name in names]


def _check_value(name: str, value: object) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(name, "must be text, or what JSON can hold") from None
    if value is None or value in ([], {}) or (isinstance(value, str) and not value.strip()):
        raise ParameterError(name, "is empty: only the custodian knows it")
    if name in _names(_ADDED) and not isinstance(value, str):
        raise ParameterError(name, "must be text")


def _known(statement: Statement) -> dict[str, Any]:
    variant, parameters, details = _parameters(statement)
    return {
        "basic": {"data_product_type": "Summary statistics"},
        "dp_variant": {"variant_name": variant, "data_domain": _data_domain(statement)},
        "privacy_loss": {
            "privacy_unit": "; ".join(
                f"domain {record.domain}, dataset {record.title}: one value of the column "
                f"{record.dataset.unit}, with all its rows"
                for record in statement.datasets
            ),
            "privacy_unit_details": f"{words.UNIT} {words.ONE_NUMBER}",
            "privacy_parameters": parameters,
            "privacy_parameters_details": details,
        },
        "deployment_model": _deployment(statement),
        "accounting": {
            "post_processing": "None by the centre. Analysts may process what they were answered.",
            "composition": f"{words.COALITION} Inside an account a filter admits sessions whose "
            "parameters may depend on earlier answers; each is charged its whole guarantee when "
            f"it is opened. {_theorems(statement)}",
        },
        "implementation": {
            "preprocessing": words.PREPROCESSING,
            "mechanisms": f"{_mechanisms(statement)} {words.SAMPLER} {words.TIMING} "
            f"{words.NOT_COVERED['the folder at rest']}",
        },
    }


def _parameters(statement: Statement) -> tuple[str, dict[str, float], str]:
    """The variant, its parameters as numbers that print as upper ends, and their details."""
    if statement.coalition is None:
        raise Unproven("there is no account and no cap yet, so nothing is promised: create one")
    quotas = [holder.account.quota for holder in statement.holders]
    promised: list[Budget] = quotas if statement.cap is None else [statement.cap[0]]
    pure = [quota.epsilon0 for quota in promised if isinstance(quota, PureDP)]
    rhos = [quota.rho for quota in promised if isinstance(quota, ZCDP)]
    points = "; ".join(
        f"epsilon {row['epsilon_at_most']} at delta {upper(Fraction(row['delta']))}"
        for row in _finite(statement)
    )
    details = (
        f"Of everything that all analysts are answered, pooled. Certified, rounded up: {points}. "
        f"{_theorems(statement)}"
    )
    if len(pure) == len(promised):
        return "Pure DP", {"epsilon": number(sum(pure, Fraction(0)))}, details
    if len(rhos) == len(promised):
        return "Zero-Concentrated DP", {"rho": number(sum(rhos, Fraction(0)))}, details
    return "Approximate DP", _point(statement, promised), details


def _point(statement: Statement, promised: list[Budget]) -> dict[str, float]:
    """One point of the curve: the quota's own where there is one, else the first that is
    finite."""
    if len(promised) == 1 and isinstance(only := promised[0], ApproxDP):
        return {"epsilon": number(only.epsilon0), "delta": number(only.delta0)}
    for row in _finite(statement):
        delta = number(Fraction(row["delta"]))
        return {"epsilon": number(Fraction(row["epsilon_at_most"])), "delta": delta}
    return _beyond_the_leaks(statement, promised)


def _finite(statement: Statement) -> list[Mapping[str, str]]:
    """The points of the guarantee at which there is an epsilon."""
    return [row for row in statement.collusion if row["epsilon_at_most"] != INFINITE]


def _beyond_the_leaks(statement: Statement, promised: list[Budget]) -> dict[str, float]:
    """The point at the sum of the quotas' deltas and a little more for those without one."""
    leaks = [quota.delta0 for quota in promised if isinstance(quota, ApproxDP)]
    delta = min(Fraction(1), sum(leaks, Fraction(0)) + Fraction(1, 10**9))
    assert statement.coalition is not None
    epsilon = Fraction(certified(statement.coalition.epsilon(delta)))
    return {"epsilon": number(epsilon), "delta": number(delta)}


def number(value: Fraction) -> float:
    """A number that JSON prints as a decimal which is not below ``value``.

    >>> number(Fraction(1, 3)), number(Fraction(1, 10**400))
    (0.333333333334, 5e-324)
    """
    if value > _LARGEST:
        return math.ceil(value)  # JSON has no infinity, and integers of any length
    found = float(upper(value))
    while Fraction(repr(found)) < value:  # among the least floats digits are lost
        found = math.nextafter(found, math.inf)
    return found


def _theorems(statement: Statement) -> str:
    rules = dict.fromkeys(row["rule"] for row in _finite(statement))
    return f"By {'; '.join(rules)}." if rules else ""


def _data_domain(statement: Statement) -> str:
    tables = (
        f"{record.title}.{table.name} ({table.rows_per_unit} rows for a unit at most): "
        + "; ".join(f"{name}: {domain_of(kind)}" for name, kind in table.columns)
        for record in statement.datasets
        for table in record.dataset.tables
    )
    return " | ".join(tables)


def _deployment(statement: Statement) -> dict[str, str]:
    shares = "; ".join(
        f"{holder.account.name}: {budget_text(holder.account.quota)}, by rule {holder.account.rule}"
        for holder in statement.holders
    )
    cap = (
        ""
        if statement.cap is None
        else f"All accounts stay within {budget_text(statement.cap[0])}. "
    )
    return {
        "model_name": "Central",
        "model_name_details": "The custodian holds the data and the noise; analysts see answers.",
        "actors": "The custodian, who is trusted with the data and this software. Analysts, who "
        f"are not trusted and may collude: {len(statement.holders)} accounts.",
        "release_type": "Many releases",
        "release_type_details": "Answers leave as they are asked for, until the quotas are spent.",
        "data_source_type": "Static",
        "data_source_type_details": "Fixed snapshots. " + words.NOT_COVERED["changing data"],
        "access_type": "Interactive",
        "access_type_details": "The budget is apportioned by account, each with a quota of its "
        f"own that the others cannot use: {shares or 'none yet'}. {cap}Non-collusion is not "
        f"assumed. {words.COALITION} {words.NOT_COVERED['coalitions formed as answers arrive']} "
        f"{words.TIMING}",
    }


def _mechanisms(statement: Statement) -> str:
    kinds = {
        type(member).__name__: noises(member)
        for charge, _ in statement.charges
        for member, _ in charge.members
    }
    laws = (
        f"{kind} ({', '.join(sorted({n.law for n in found}))})" for kind, found in kinds.items()
    )
    return f"Sessions so far: {', '.join(laws) or 'none'}."
