"""The steps of a value-function filter, listed so that a second program can prove each anew.

Nothing is proved here, and nothing is computed: it says what was admitted, from the states that
were kept, in exact numbers as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from interlace.core.composition.value_filters.children import Child, GaussianChild, State
from interlace.core.composition.value_filters.rules import Reach, Rule
from interlace.core.composition.value_filters.steps import LEAST_EPSILON

FORMAT, VERSION = "interlace value filter", 1

Document = dict[str, object]


def certificate(rule: Rule, start: State, history: Iterable[tuple[Child, State]]) -> Document:
    """The budget, the w it starts with, and for each child (epsilon, w, w', y0) or what a
    Gaussian took; ``history`` holds each child with the state after it.

    >>> from interlace.core.composition.value_filters import PureChild, Residue
    >>> rule, child = Residue.of(mu=1), PureChild.of(0.5)
    >>> after = rule.step(rule.start(), child)
    >>> [step["y0"] for step in certificate(rule, rule.start(), [(child, after)])["steps"]]
    ['0']
    """
    steps, before = [], start
    for child, after in history:
        steps.append(_entry(rule, child, before, after))
        before = after
    return {
        "format": FORMAT,
        "version": VERSION,
        **_budget(rule),
        "w": str(start.w),
        "steps": steps,
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


def _entry(rule: Rule, child: Child, before: State, after: State) -> Document:
    ends = {"w": str(before.w), "after": str(after.w)}
    if isinstance(child, GaussianChild):
        return {"kind": "gaussian", "mu_squared": str(child.mu_squared), **ends}
    charged = max(child.epsilon, LEAST_EPSILON) if child.epsilon else Fraction(0)
    return {
        "kind": "pure",
        "epsilon": str(charged),
        "delta": str(child.delta),
        "y0": str(rule.distance(before)),
        **ends,
    }
