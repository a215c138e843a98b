"""A composed loss that grows by one part after the other, and is read in between.

The frame of the last line is kept and grows with the loss. It is made anew when what it gives has
become wide: about as often as the loss grows by half. Nothing here is a filter.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np

from interlace.core.composition.contour.building import built, common_step
from interlace.core.composition.contour.drawing import framed
from interlace.core.composition.contour.frame import Frame
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.kernels import LatticeKernel
from interlace.core.composition.contour.model import Kind, Lattice
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.search import listed, on_line, saddle_of
from interlace.core.interval import ZERO, Interval

#: The relative width that a frame is made for, how many numbers that may take, and by how much
#: wider its answers may become.
_PRECISION, _WORK, _WIDER = 1e-7, 2_000_000, 5
#: Up to this many losses |phi| falls so slowly that less precision is asked for.
_FEW, _COARSE = 150, 1e-6
#: How much longer than needed the period of a new frame is.
_ROOM = 1.5
_NARROW = Decimal("1e-11")


class Growing:
    """Two-point and Gaussian losses, added one after the other."""

    def __init__(self) -> None:
        self._losses: Counter[Fraction] = Counter()
        self._mu_squared = Fraction(0)
        self._lattice: Lattice | None = Lattice(Fraction(0), Fraction(0))
        self._frame: Frame | None = None
        self._width = _NARROW
        self._near = 0.0

    def add(self, epsilon: Fraction, count: int) -> None:
        """``count`` losses +-``epsilon`` > 0 more."""
        self._losses[epsilon] += count
        if len(self._losses) == _FEW:
            self._frame = None
        if self._lattice is not None:
            spacing = common_step([self._lattice.spacing, 2 * epsilon])
            largest = self._lattice.largest + count * epsilon
            self._lattice = None if spacing is None else Lattice(largest, spacing)
        self._grow(Responses(np.array([float(epsilon)]), np.array([float(count)])))

    def add_gaussian(self, mu_squared: Fraction) -> None:
        """A Gaussian loss of this mu^2 > 0 more."""
        self._mu_squared += mu_squared
        self._lattice = None
        self._grow(GaussianLoss(float(mu_squared)))

    def epsilon(self, share: Interval) -> Interval:
        """Encloses the least epsilon >= 0 at which delta is at most ``share``, 0 < share < 1."""
        if self._frame is not None:
            # As much farther as the tilted mean has moved.
            start = self._near + self._frame.axis.slope
            found = on_line(self._frame.line(), start, share)
            if _width(found) <= self._width * _WIDER:
                self._near = _finite(found) - self._frame.axis.slope
                return found
        return self._afresh(share)

    def _afresh(self, share: Interval) -> Interval:
        if not self._losses and not self._mu_squared:
            return ZERO
        model = built(tuple(sorted(self._losses.items())), self._mu_squared)
        saddle = saddle_of(model, share)
        found = listed(model, saddle, share)
        if found is not None:
            self._frame = None
            return found
        precision = _COARSE if len(self._losses) < _FEW else _PRECISION
        self._frame = framed(model, saddle, _ROOM, precision, _WORK)
        found = on_line(self._frame.line(), saddle.epsilon, share)
        self._width = max(_width(found), _NARROW)
        self._near = _finite(found) - self._frame.axis.slope
        return found

    def _grow(self, kind: Kind) -> None:
        if self._frame is None:
            return
        kernel = self._frame.kernel
        if isinstance(kernel, LatticeKernel):
            if self._lattice is None or self._lattice.spacing != kernel.lattice.spacing:
                self._frame = None
                return
            kernel = LatticeKernel(self._lattice)
        self._frame = self._frame.plus(kind, kernel)


def _finite(found: Interval) -> float:
    return float(found.upper if found.upper.is_finite() else found.lower)


def _width(found: Interval) -> Decimal:
    """Relative to the upper end."""
    return (found - Interval.of(found.lower)).upper / found.upper if found.upper > 0 else Decimal(0)
