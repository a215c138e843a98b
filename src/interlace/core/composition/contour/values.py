"""The numbers that kinds of losses hand to the contour: cumulants on the axis, nodes off it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.rounding import UNIT

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

#: An error of a logarithm that is worth knowing.
SMALL = 1e-3


@dataclass(frozen=True)
class Cumulants:
    """log E[e^(cL)] under P, its first two derivatives, and a bound of the error of the value.

    The derivatives only choose where to integrate: they carry no bound."""

    value: float
    slope: float
    bend: float
    error: float

    def __add__(self, other: Cumulants) -> Cumulants:
        value = self.value + other.value
        return Cumulants(
            value,
            self.slope + other.slope,
            self.bend + other.bend,
            # A sum that grows by ever so many small parts loses a rounding at each.
            self.error + other.error + UNIT * abs(value),
        )


@dataclass(frozen=True, eq=False)
class Nodes:
    """log phi of a tilted law at some points: the logarithm of its modulus, its angle, and a
    bound of the error of either. Where that is infinite, the angle is not known and the modulus
    is a bound."""

    log_modulus: Floats
    phase: Floats
    error: Floats

    @classmethod
    def settled(
        cls, log_modulus: Floats, phase: Floats, error: Floats, known: Booleans | None = None
    ) -> Nodes:
        """Nodes of one kind. Where the error is not small, or the angle not ``known``, the modulus
        is raised by the error, so that it is a bound."""
        small = error <= SMALL if known is None else known & (error <= SMALL)
        return cls(
            np.where(small, log_modulus, log_modulus + error),
            phase,
            np.where(small, error, np.inf),
        )

    @classmethod
    def joined(cls, parts: Sequence[Nodes]) -> Nodes:
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(np.zeros(0), np.zeros(0), np.zeros(0))
        return cls(
            np.concatenate([p.log_modulus for p in parts]),
            np.concatenate([p.phase for p in parts]),
            np.concatenate([p.error for p in parts]),
        )

    def __add__(self, other: Nodes) -> Nodes:
        log_modulus, phase = self.log_modulus + other.log_modulus, self.phase + other.phase
        known = np.isfinite(self.error) & np.isfinite(other.error)
        # A modulus that is a bound has no error any more; what is added to it may have one.
        lost = [np.where(np.isfinite(e), e, 0.0) for e in (self.error, other.error)]
        rounded = UNIT * (np.abs(log_modulus) + np.abs(phase))
        return Nodes.settled(log_modulus, phase, lost[0] + lost[1] + rounded, known)
