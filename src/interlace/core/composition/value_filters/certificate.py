"""The steps of a value-function filter, listed so that a second program can prove each anew.

Nothing is proved here, and nothing is computed: it says what was admitted, from the states that
were kept, in exact numbers as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from interlace.core.composition.value_filters.children import (
    Child,
    GaussianChild,
    PureChild,
    State,
)
from interlace.core.composition.value_filters.many import Piece
from interlace.core.composition.value_filters.rules import Reach, Rule
from interlace.core.composition.value_filters.steps import at_least

FORMAT, VERSION = "interlace value filter", 1

Document = dict[str, object]


def certificate(rule: Rule, start: State, history: Iterable[Piece]) -> Document:
    """The budget, the states at both ends, and for each step (epsilon, w, w', y0) or what
    Gaussians took; ``history`` holds each child with its count and the state after them.

    >>> from interlace.core.composition.value_filters import Residue
    >>> rule, child = Residue.of(mu=1), PureChild.of(0.5)
    >>> after = rule.step(rule.start(), child)
    >>> [step["y0"] for step in certificate(rule, rule.start(), [(child, 1, after)])["steps"]]
    ['0']
    """
    steps, before = [], start
    for child, count, after in history:
        one = count == 1 or isinstance(child, GaussianChild)
        many = {} if one else {"count": str(count)}
        steps.append({**_entry(rule, child, count, before, after), **many})
        before = after
    return {
        "format": FORMAT,
        "version": VERSION,
        **_budget(rule),
        "start": start.document(),
        "steps": steps,
        "end": before.document(),
    }


def _budget(rule: Rule) -> Document:
    if isinstance(rule, Reach):
        point = {"epsilon": str(rule.epsilon), "delta": str(rule.delta)}
        return {"rule": "reach", **point, "structural": str(rule.structural)}
    return {
        "rule": "residue",
        "mu_squared": str(rule.mu_squared),
        "structural": str(rule.structural),
    }


def _entry(rule: Rule, child: Child, count: int, before: State, after: State) -> dict[str, str]:
    ends = {"w": str(before.w), "after": str(after.w)}
    if isinstance(child, GaussianChild):
        return {"kind": "gaussian", "mu_squared": str(child.mu_squared * count), **ends}
    charged = at_least(child.epsilon) if child.epsilon else Fraction(0)
    return {
        "kind": "pure",
        "epsilon": str(charged),
        "delta": str(child.delta),
        "y0": str(rule.distance(before)),
        **ends,
    }


def children(steps: Iterable[Mapping[str, str]]) -> list[tuple[Child, int]]:
    """What the steps of a certificate admitted, in their order, with counts."""
    found: list[tuple[Child, int]] = []
    for step in steps:
        if step["kind"] == "gaussian":
            found.append((GaussianChild(Fraction(step["mu_squared"])), 1))
        else:
            child = PureChild(Fraction(step["epsilon"]), Fraction(step["delta"]))
            found.append((child, int(step.get("count", "1"))))
    return found
