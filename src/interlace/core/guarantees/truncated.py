"""Truncated concentrated differential privacy. A value and its curves; no composition here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.errors import Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Parametric, Relation, briefly, hash_of, read_relation
from interlace.core.guarantees.enclosures import fitting, fitting_down
from interlace.core.guarantees.lines import RenyiLine, read_order
from interlace.core.guarantees.one_order import LEAST_ORDER
from interlace.core.interval import Interval


@dataclass(frozen=True, init=False, repr=False)
class TCDP(Parametric):
    """(rho, omega)-tCDP: the Rényi divergence of every order alpha < omega is at most
    alpha * rho.

    ``rho`` and ``omega`` > 1 are the exact parameters. Raises ParameterError for an ``omega``
    of at most 1, and for infinite, NaN and negative parameters; omega infinity is ZCDP. At
    order omega itself the bound holds too: the divergence is its own limit from below.

    >>> TCDP(0.5, 8).renyi(4), TCDP(0.5, 8).renyi(9), TCDP(0.5, 8).group(3)
    (2.0, inf, TCDP(4.5, Fraction(8, 3)))
    """

    rho: Fraction
    omega: Fraction
    relation: Relation

    def __init__(self, rho: Real, omega: Real, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "rho", rational(rho, "rho"))
        object.__setattr__(self, "omega", read_order(omega, "omega", "ZCDP"))
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def line(self) -> RenyiLine:
        return RenyiLine(Fraction(0), self.rho, self.omega)

    def __hash__(self) -> int:
        return hash_of(self.rho, self.omega)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return self.line.epsilon(delta)

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return self.line.delta(epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return self.line.renyi(alpha)

    def scaled(self, size: int) -> Self:
        """(size^2 rho, omega / size)-tCDP (FORMULAS 7.7). Raises Unproven for a ``size`` of
        omega or more."""
        if size == 1:
            return self
        order = fitting_down(self.omega / size)
        if order < LEAST_ORDER:
            raise Unproven(
                f"omega = {briefly(self.omega)} is too low for a group of {size}: nothing is "
                "proven in tCDP for groups of omega or more units. Use a higher omega, or ask "
                "for epsilon at a delta first, and for the group of that ApproxDP."
            )
        rho = fitting(self.rho * size * size)
        return type(self)(rho, order, relation=self.relation)
