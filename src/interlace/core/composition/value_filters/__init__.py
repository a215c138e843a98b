"""Filters whose state is a value function: "reach" and "residue" (FORMULAS 6.12).

``Reach`` and ``Residue`` are frozen budgets; ``start()`` and ``step(state, child)`` are pure;
``State`` can be written down exactly. ``admitted`` takes many equal children in a few steps.
``certificate`` lists the steps of a history, and
``recheck`` proves each anew with code and formulas of its own.
"""

from interlace.core.composition.value_filters.certificate import certificate, children
from interlace.core.composition.value_filters.children import (
    Child,
    GaussianChild,
    PureChild,
    State,
)
from interlace.core.composition.value_filters.many import Piece, admitted
from interlace.core.composition.value_filters.recheck import recheck
from interlace.core.composition.value_filters.rules import Reach, Residue, Rule

__all__ = [
    "Child",
    "GaussianChild",
    "Piece",
    "PureChild",
    "Reach",
    "Residue",
    "Rule",
    "State",
    "admitted",
    "certificate",
    "children",
    "recheck",
]
