"""The least scale of noise for a target (epsilon, delta), by the exact loss of the noise.

Each scale is a float64 that was rounded up: both it and the decimal that it prints meet the
target (R9), and one that is smaller by a part of 1e-12 does not.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from interlace.core.composition.boundary import Tried, boundary
from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import GaussianDP, Guarantee, losses
from interlace.core.guarantees.enclosures import log_roughly


def gaussian(epsilon: Real, delta: Real, sensitivity: Real = 1) -> float:
    """The least sigma of continuous Gaussian noise that is (epsilon, delta)-DP for values of l2
    ``sensitivity`` (FORMULAS 7.5); also of Gaussian noise that is rounded afterwards.

    Raises ParameterError where no sigma is: at delta 0, and beyond the floats.

    >>> round(gaussian(1, 1e-5), 11), gaussian(1, 1e-5, sensitivity=2) < 7.4612633
    (3.73063163482, True)
    """
    bound = rational(sensitivity, "sensitivity", above=True)
    return _least(epsilon, delta, lambda sigma: GaussianDP(bound / sigma))


def discrete_gaussian(epsilon: Real, delta: Real, sensitivity: int = 1) -> float:
    """The least parameter sigma of discrete Gaussian noise that is (epsilon, delta)-DP on an
    integer of ``sensitivity`` (FORMULAS 8.4).

    Raises ParameterError where there is none within the limits of ``losses.DiscreteGaussian``.

    >>> 3.7 < discrete_gaussian(1, 1e-5) < 3.8
    True
    """
    shift = natural(sensitivity, "sensitivity")
    return _least(epsilon, delta, lambda sigma: losses.DiscreteGaussian(sigma, shift))


def discrete_laplace(epsilon: Real, delta: Real = 0, sensitivity: int = 1) -> float:
    """The least scale of discrete Laplace noise that is (epsilon, delta)-DP on an integer of
    ``sensitivity`` (FORMULAS 8.2); at delta 0 it is sensitivity/epsilon.

    Raises ParameterError where there is none within the limits of ``losses.DiscreteLaplace``.

    >>> discrete_laplace(0.5), discrete_laplace(0.5, 1e-3) < 2
    (2.0, True)
    """
    shift = natural(sensitivity, "sensitivity")
    return _least(epsilon, delta, lambda scale: losses.DiscreteLaplace(scale, shift))


def _least(epsilon: Real, delta: Real, loss: Callable[[Fraction], Guarantee]) -> float:
    target = rational(epsilon, "epsilon")
    allowed = rational(delta, "delta", maximum=1)

    def trial(x: float) -> Tried[None] | None:
        # The float in binary and the decimal that it prints: whoever reads it either way.
        scale = min(Fraction(x), Fraction(repr(x)))
        try:
            found = loss(scale)
        except ParameterError:
            return None
        if not allowed:
            return Tried(None, found.epsilon_enclosure(allowed).upper <= target)
        upper = Fraction(found.delta_enclosure(target).upper)
        taken = log_roughly(upper) - log_roughly(allowed) if upper > 0 else None
        return Tried(None, upper <= allowed, taken)

    found = boundary(trial, grows=False)
    if found is None:
        raise ParameterError("epsilon", "no scale of this noise meets it at this delta")
    return found.at
