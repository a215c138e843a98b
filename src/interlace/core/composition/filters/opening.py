"""Which rule guards which budget; what is no filter, and why."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from interlace.core.composition.filters.advanced import advanced
from interlace.core.composition.filters.costs import sum_rule
from interlace.core.composition.filters.points import NAMES
from interlace.core.composition.filters.rule import Rule
from interlace.core.composition.filters.values import reach, residue
from interlace.core.errors import ParameterError, Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Notion,
    PureDP,
    RenyiDP,
    is_notion,
)

#: The rules of each notion of a budget, its default first.
RULES: Mapping[type[Notion], tuple[str, ...]] = {
    PureDP: ("basic", "reach"),
    ApproxDP: ("reach", "residue", "advanced", "basic"),
    RenyiDP: ("renyi",),
    ZCDP: ("zcdp",),
    TCDP: ("tcdp",),
    GaussianDP: ("residue", "gaussian"),
}
_KNOWN = {name for names in RULES.values() for name in names}

#: Those that set a part of delta aside.
_PARTED = frozenset({"reach", "residue", "advanced"})
#: The part that is set aside where none is named.
USUAL_PART = Fraction(1, 10)

_OPTIMAL = (
    "optimal composition holds only for parameters fixed in advance, and an adaptive analyst "
    "exceeds the budget under it (FORMULAS 6.4)"
)
_CURVES = (
    "composing privacy losses or trade-off curves holds only for parameters fixed in advance, and "
    "the natural f-DP filter is invalid (FORMULAS 6.4)"
)
_NO_FILTERS = {
    **dict.fromkeys(("optimal", "kov", "mv", "murtagh-vadhan"), _OPTIMAL),
    **dict.fromkeys(("pld", "prv", "f-dp", "fdp", "privacy-loss"), _CURVES),
    "renyi-grid": "which order of a grid still has room depends on the answers: commit one order "
    "(FORMULAS 6.5)",
    "approximate-zcdp": "its concurrent filter is an open question; 'advanced' needs, and has, the "
    "structural sense (FORMULAS 6.6)",
}


def opened(
    budget: object, rule: object, structural: Real | None
) -> tuple[Rule[Any, Any], Fraction]:
    """The rule that is asked for, or the budget's default, and the part that it sets aside.

    Raises ParameterError for what is no budget, an unknown rule, one of another notion, and a
    ``structural`` that does not fit; Unproven for what is no filter.
    """
    if not is_notion(budget):
        raise ParameterError("budget", f"must be {_listed(RULES)}, not {type(budget).__name__}")
    name = _named(budget, rule)
    part = _part(budget, name, structural)
    if name == "reach" and isinstance(budget, PureDP | ApproxDP):
        return reach(budget, part), part
    if name == "residue" and isinstance(budget, ApproxDP | GaussianDP):
        return residue(budget, part), part
    if name == "advanced" and isinstance(budget, ApproxDP):
        return advanced(budget, part), part
    return sum_rule(name, budget), part


def _listed(notions: Mapping[type[Notion], object]) -> str:
    names = [notion.__name__ for notion in notions]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _named(budget: Notion, rule: object) -> str:
    own = RULES[type(budget)]
    if rule is None:
        # Without a delta reach is basic, which is exact and simple.
        pure = isinstance(budget, ApproxDP) and not budget.delta0
        return "basic" if pure else own[0]
    if not isinstance(rule, str):
        raise ParameterError("rule", f"must be one of {own}, not {type(rule).__name__}")
    known = rule.lower()
    if known in _NO_FILTERS:
        raise Unproven(
            f"rule {known!r} is no filter: {_NO_FILTERS[known]}. Use {own[0]!r}, or compose a plan "
            "and commit one point of it."
        )
    if rule in own:
        return rule
    if rule not in _KNOWN:
        raise ParameterError("rule", f"must be one of {', '.join(sorted(_KNOWN))}")
    raise ParameterError(
        "rule",
        f"{rule!r} needs a budget of its notion, and this one is in {NAMES[type(budget)]}: use "
        f"{' or '.join(map(repr, own))}",
    )


def _part(budget: Notion, name: str, structural: Real | None) -> Fraction:
    if isinstance(budget, ApproxDP) and name in _PARTED:
        if budget.delta0 == 1:
            raise ParameterError("budget", "delta must be below 1: every mechanism is (0, 1)-DP")
        if structural is None:
            return budget.delta0 * USUAL_PART
        part = rational(structural, "structural")
        if part > budget.delta0:
            raise ParameterError("structural", "is a part of the budget's delta: at most that")
        return part
    if structural is not None and rational(structural, "structural"):
        raise ParameterError(
            "structural", f"is not used by rule {name!r} on such a budget: leave it out"
        )
    return Fraction(0)
