"""Many (epsilon_i, delta_i)-DP mechanisms from arrays, as one guarantee.

A list of a hundred thousand guarantees takes seconds to make, an array of as many numbers nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from interlace.core.errors import ParameterError
from interlace.core.guarantees.base import Guarantee, Relation, read_relation
from interlace.core.interval import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from interlace.core.composition.terms import Terms

#: The largest epsilon that a batch may hold.
LARGEST = 1e6
#: Up to this many distinct numbers are read exactly.
_FEW = 2048


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Batch(Guarantee):
    """Mechanisms fixed in advance, the i-th being (``epsilons[i]``, ``deltas[i]``)-DP.

    ``epsilons`` and ``deltas`` are arrays or lists of floats of one length, or ``deltas`` is one
    float for all; each number is read as the decimal that it prints (R8). A batch is a guarantee,
    and an item for ``compose``. Raises ParameterError, with the index, for NaN, for negative
    numbers, for an epsilon above 1e6 and a delta above 1.

    >>> found = Batch([0.1] * 100)
    >>> found, 4.77456758 < found.epsilon(1e-6) < 4.77456760
    (Batch(100 mechanisms), True)
    """

    epsilons: npt.NDArray[np.float64]
    """Ascending."""
    deltas: npt.NDArray[np.float64]
    """Those above 0, ascending."""
    relation: Relation

    def __init__(
        self,
        epsilons: Iterable[float],
        deltas: Iterable[float] | float = 0.0,
        *,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        import numpy as np

        epsilon, delta = _read(epsilons, "epsilons", LARGEST), _read(deltas, "deltas", 1.0)
        if epsilon.ndim != 1:
            raise ParameterError("epsilons", "must be one list of numbers")
        if delta.ndim and delta.shape != epsilon.shape:
            raise ParameterError("deltas", "must be as many as the epsilons, or one number")
        every = np.broadcast_to(delta, epsilon.shape)
        object.__setattr__(self, "epsilons", np.sort(epsilon))
        object.__setattr__(self, "deltas", np.sort(every[every > 0]))
        object.__setattr__(self, "relation", read_relation(relation))
        for held in (self.epsilons, self.deltas):
            held.setflags(write=False)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        from interlace.core.composition import rules

        return rules.epsilon(self._terms, delta).enclosure

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        from interlace.core.composition import rules

        return rules.delta(self._terms, epsilon).enclosure

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        from interlace.core.composition import rules

        return rules.renyi(self._terms, alpha)

    def scaled(self, size: int) -> Self:
        if size == 1:
            return self
        raise ParameterError(
            "size", "a batch has no group guarantee: compose a list of its members for one"
        )

    @cached_property
    def _terms(self) -> Terms:
        from interlace.core.composition.terms import terms

        return terms([(self, 1)])

    @cached_property
    def few(self) -> tuple[tuple[Fraction, int], ...] | None:
        """The distinct epsilons > 0, exactly, with their counts; None where they are many."""
        return _counted(self.epsilons[self.epsilons > 0], _FEW)

    @cached_property
    def leaks(self) -> tuple[tuple[Fraction, int], ...] | None:
        """The distinct deltas > 0, exactly, with their counts; None where they are many."""
        return _counted(self.deltas, _FEW)

    @cached_property
    def leak_exponent(self) -> Interval:
        """The sum of -log(1 - delta), enclosed; needs deltas below 1."""
        import numpy as np

        from interlace.core.composition.contour.rounding import around, summed

        found = float(-np.log1p(-self.deltas).sum())
        return around(found, found * summed(self.deltas.size))

    @property
    def total(self) -> Interval:
        """The sum of the epsilons, enclosed."""
        from interlace.core.composition.contour.rounding import around, summed

        found = float(self.epsilons.sum())
        return around(found, found * summed(self.epsilons.size))

    @cached_property
    def coarse(self) -> tuple[tuple[Fraction, int], ...]:
        """The epsilons > 0 rounded up to 10 significant bits, with their counts."""
        import numpy as np

        fraction, exponent = np.frexp(self.epsilons[self.epsilons > 0])
        # One more than the next: the decimal may be a rounding above the float.
        up = np.ldexp(np.floor(fraction * 1024) + 1, exponent - 10)
        found = _counted(up, up.size) or ()
        return tuple((Fraction(float(x)), n) for x, n in found)

    @cached_property
    def digest(self) -> str:
        """Tells batches apart."""
        found = hashlib.sha256(self.epsilons.tobytes())
        found.update(self.deltas.tobytes())
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return (self.digest, self.relation) == (other.digest, other.relation)

    def __hash__(self) -> int:
        return hash((self.digest, self.relation))

    def __repr__(self) -> str:
        return f"Batch({self.epsilons.size} mechanisms)"


def _counted(
    ascending: npt.NDArray[np.float64], most: int
) -> tuple[tuple[Fraction, int], ...] | None:
    """Distinct numbers, as the decimals they print, with counts; None for more than ``most``."""
    import numpy as np

    starts = np.flatnonzero(np.diff(ascending, prepend=-1.0))
    if starts.size > most:
        return None
    counts = np.diff(starts, append=ascending.size)
    return tuple(
        # By way of a decimal: twice as quick as from text.
        (Fraction(Decimal(repr(x))), n)
        for x, n in zip(ascending[starts].tolist(), counts.tolist(), strict=True)
    )


def _read(values: Any, name: str, most: float) -> npt.NDArray[np.float64]:
    import numpy as np

    listed = values if isinstance(values, np.ndarray | float | int) else list(values)
    try:
        # A copy: it is sorted, and must not change under a guarantee.
        found = np.array(listed, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, "must be numbers") from None
    bad = ~((found >= 0) & (found <= most))
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        raise ParameterError(f"{name}[{index}]", f"must be a number between 0 and {most:g}")
    return found
