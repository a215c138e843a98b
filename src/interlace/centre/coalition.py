"""What several analysts can have learned together, from their quotas (R2, R4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from interlace.core.composition import Composition, compose
from interlace.core.composition.filters import Budget
from interlace.core.exact import Real, float_up, rational
from interlace.core.guarantees import ApproxDP

if TYPE_CHECKING:
    from interlace.centre.account import Account


@dataclass(frozen=True)
class CoalitionGuarantee:
    """The guarantee of a coalition of accounts against all of them pooling their answers.

    The quotas were fixed before any answer left, so they compose as parameters fixed in
    advance: optimally where all are pure or (epsilon, delta), by the best proven bound beside
    zCDP (Lyu 2022, Thms 1 and 2; FORMULAS 9). It holds for a coalition that is fixed in
    advance, too: who may join as answers arrive belongs into it from the start.

    Accounts of several generations were created after one another: their guarantee is the
    custodian's ``cap`` (R4).

    ``spent`` is beside it as an odometer reading: what was charged so far, which later
    sessions may raise up to the quotas.
    """

    accounts: tuple[str, ...]
    quotas: tuple[Budget, ...]
    spent: tuple[Budget, ...]
    cap: Budget | None = None

    @classmethod
    def of(cls, members: Sequence[Account], cap: Budget | None, *, everybody: bool) -> Self:
        """That of these accounts; ``everybody`` stands for all that there may ever be."""
        # Quotas of several generations were not fixed in advance of each other: the cap was.
        capped = everybody or len({member.generation for member in members}) > 1
        return cls(
            tuple(member.name for member in members),
            tuple(member.quota for member in members),
            tuple(member.spent for member in members),
            cap if capped else None,
        )

    def __str__(self) -> str:
        names, spent = ", ".join(self.accounts), ", ".join(map(str, self.spent))
        if self.cap is not None:
            return f"{names} and all accounts to come: {self.cap}, the cap; spent so far {spent}"
        return f"{names} together: {self.composition}; spent so far {spent}"

    @property
    def composition(self) -> Composition:
        """The cap where the accounts may be of several generations, else the concurrent
        composition of the quotas."""
        return compose(list(self.quotas) if self.cap is None else [self.cap])

    def epsilon(self, delta: Real) -> float:
        """The certified epsilon at ``delta``, rounded up."""
        return self.composition.epsilon(delta)

    def delta(self, epsilon: Real) -> float:
        """The certified delta at ``epsilon``, rounded up."""
        return self.composition.delta(epsilon)

    def explain(self, delta: Real) -> str:
        """Which rule and which theorem gave ``epsilon(delta)``."""
        return self.composition.explain(delta)

    def added_up(self, delta: Real) -> float:
        """What adding up would say: each quota's epsilon at its own delta and an even share of
        what the deltas leave of ``delta``, summed."""
        own = [q.delta0 if isinstance(q, ApproxDP) else Fraction(0) for q in self.quotas]
        rest = rational(delta, "delta", maximum=1) - sum(own)
        if rest < 0:
            return math.inf
        parts = [q.epsilon(d + rest / len(own)) for q, d in zip(self.quotas, own, strict=True)]
        if math.inf in parts:
            return math.inf
        return float_up(sum(map(Fraction, parts), Fraction(0)))
