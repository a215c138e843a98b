"""Bounds on Rényi divergences of many orders at once, as zCDP, tCDP and one order have them.

Numbers only: what such a bound says in epsilon and delta. No guarantee, no composition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.guarantees import one_order, orders
from interlace.core.guarantees.base import is_infinite
from interlace.core.guarantees.enclosures import INFINITE, roughly
from interlace.core.interval import ZERO, Interval


def read_order(value: Real, name: str, instead: str) -> Fraction:
    """An order above 1, exactly. Raises ParameterError, naming ``name``."""
    if is_infinite(value):
        raise ParameterError(name, f"must be finite: for all orders use {instead}")
    order = rational(value, name, minimum=1, above=True)
    if order < one_order.LEAST_ORDER:
        raise ParameterError(name, "must be at least 1 + 1e-20")
    return order


@dataclass(frozen=True)
class RenyiLine:
    """D_alpha <= constant + alpha * rho in both directions, at every order alpha from 1 to
    ``limit``, or at every finite order for None.

    rho-zCDP is (0, rho, None), (rho, omega)-tCDP (0, rho, omega), an RDP bound of one order
    (epsilon, 0, alpha): divergences do not decrease in the order.
    """

    constant: Fraction
    rho: Fraction
    limit: Fraction | None = None

    @property
    def empty(self) -> bool:
        """Whether the two datasets cannot be told apart at all."""
        return not self.constant and not self.rho

    @property
    def single(self) -> Fraction | None:
        """The order that says all, where one does: the bound at the others is no smaller."""
        return None if self.rho else self.limit

    def rough(self, excess: float) -> float:
        """The bound at order 1 + excess, in floats."""
        constant, rho = self._floats
        return constant + (1 + excess) * rho

    @cached_property
    def _floats(self) -> tuple[float, float]:
        return (
            roughly(self.constant) if self.constant else 0.0,
            roughly(self.rho) if self.rho else 0.0,
        )

    def at(self, alpha: Fraction) -> Interval:
        """The bound at an order within the limit."""
        return Interval.of(self.constant + alpha * self.rho)

    def renyi(self, alpha: Fraction | None) -> Interval:
        """The bound at any order, None for infinity; INFINITE beyond the limit."""
        if self.empty:
            return ZERO
        if alpha is None or (self.limit is not None and alpha > self.limit):
            return INFINITE
        return self.at(alpha)

    def epsilon(self, delta: Fraction) -> Interval:
        """The certified epsilon at ``delta`` in [0, 1]."""
        if self.empty or delta >= 1:
            return ZERO
        if delta == 0:
            return INFINITE
        share = Interval.of(delta)
        if self.single is not None:
            return one_order.epsilon(self.single, self.at(self.single), share)
        return orders.best_epsilon(self.rough, self.at, share, self.limit)

    def delta(self, epsilon: Fraction) -> Interval:
        """The certified delta at ``epsilon`` >= 0."""
        if self.empty:
            return ZERO
        if self.single is not None:
            return one_order.delta(self.single, self.at(self.single), epsilon)
        return orders.best_delta(self.rough, self.at, epsilon, self.limit)
