"""The model of exact parameters: floats for the integral, exact numbers where they decide."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from interlace.core.composition.batch import Batch
from interlace.core.composition.contour.edge import Below, Edge, Flips, Listed, Steps
from interlace.core.composition.contour.finite import FiniteLoss
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.integers import DiscreteGaussianLoss
from interlace.core.composition.contour.model import Kind, Lattice, Model
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.rounded import RoundedGaussianLoss
from interlace.core.composition.contour.rounding import around, summed
from interlace.core.composition.terms import Losses, total_of
from interlace.core.exact import near
from interlace.core.guarantees.losses import DiscreteGaussian, RoundedGaussian
from interlace.core.guarantees.losses.atoms import Atoms, enclosed
from interlace.core.interval import ZERO, Interval

#: A common denominator longer than this makes no lattice that is worth its period.
_FINEST_BITS = 60

Counted = Sequence[tuple[Atoms, int]]
Integers = Sequence[tuple[DiscreteGaussian | RoundedGaussian, int]]


def built(
    losses: Losses,
    mu_squared: Fraction = Fraction(0),
    finite: Counted = (),
    arrays: Sequence[tuple[Batch, int]] = (),
    integers: Integers = (),
    *,
    upper: bool = True,
) -> Model:
    """The sum of two-point losses, a Gaussian one of mu^2, losses of finitely many values, and
    those of wide discrete or rounded Gaussian noise.

    Of enclosed values and masses the upper or the lower ends are taken: more of either is more
    loss. What floats round is accounted for by the model.
    """
    smooth = bool(mu_squared or arrays)
    return Model(
        _responses(losses, arrays),
        GaussianLoss(float(mu_squared)),
        (
            *(_finite(atoms, n, upper=upper) for atoms, n in finite),
            *(_noise(loss, n) for loss, n in integers),
        ),
        None if smooth else _lattice(losses, finite, integers),
        None if smooth or integers else partial(_edge, losses, finite, upper=upper),
    )


def _responses(losses: Losses, arrays: Sequence[tuple[Batch, int]]) -> Responses:
    epsilon = np.array([near(e) for e, _ in losses])
    count = np.array([float(n) for _, n in losses])
    for batch, times in arrays:
        more = batch.epsilons[batch.epsilons > 0]
        epsilon = np.concatenate([epsilon, more])
        count = np.concatenate([count, np.full(more.size, float(times))])
    if len(arrays) > 1 or (arrays and losses):
        order = np.argsort(epsilon)
        epsilon, count = epsilon[order], count[order]
    return Responses(epsilon, count)


def _finite(atoms: Atoms, count: int, *, upper: bool) -> FiniteLoss:
    ends = _ends(atoms, upper=upper)
    values = np.array([float(value.upper) for value, _ in ends])
    masses = np.array([float(mass.log().upper) for _, mass in ends])
    total = ZERO
    for _, mass in ends:
        total = total + mass
    return FiniteLoss(values, masses, float(count), float(total.log().upper))


def _noise(loss: DiscreteGaussian | RoundedGaussian, count: int) -> Kind:
    if isinstance(loss, RoundedGaussian):
        return RoundedGaussianLoss(loss.sigma, loss.shift, count)
    return DiscreteGaussianLoss(float(loss.sigma), loss.shift, count)


def _ends(atoms: Atoms, *, upper: bool) -> list[tuple[Interval, Interval]]:
    """The values and masses above 0, each as the one of its ends that is taken."""
    found = []
    for loss, mass in zip(atoms.losses, atoms.masses, strict=True):
        at = enclosed(loss)
        value, end = (at.upper, mass.upper) if upper else (at.lower, mass.lower)
        if end > 0:
            found.append((Interval(value, value), Interval(end, end)))
    return found


def _lattice(losses: Losses, finite: Counted, integers: Integers) -> Lattice | None:
    """The coarsest lattice that holds all values of the sum; None where it would be very fine.

    Where there is no largest value, one of the lattice's points stands for it.
    """
    spacing = _common_step(_doubled(e) for e, _ in losses)
    if losses and spacing is None:
        return None
    steps, largest = [spacing or Fraction(0)], total_of(losses)
    for atoms, count in finite:
        last = atoms.losses[-1]
        if len(atoms.losses) > 1 and atoms.step is None:
            return None
        if not isinstance(last, Fraction):
            return None
        largest += last * count
        steps.append(atoms.step or Fraction(0))
    for gaussian, count in integers:
        if isinstance(gaussian, RoundedGaussian):
            return None
        # Half the square of mu, and steps of shift / sigma^2.
        steps.append(gaussian.shift / gaussian.sigma**2)
        largest += count * (gaussian.shift / gaussian.sigma) ** 2 / 2
    spacing = common_step(steps)
    return Lattice(largest, spacing) if spacing else None


def common_step(steps: Iterable[Fraction]) -> Fraction | None:
    """The greatest number of which all ``steps`` are multiples; None where it is very small."""
    return _common_step(step.as_integer_ratio() for step in steps)


def _common_step(ratios: Iterable[tuple[int, int]]) -> Fraction | None:
    """The same of numerators and denominators. In integers: there may be many."""
    numerators: dict[int, int] = {}
    denominator = 1
    for n, d in ratios:
        if d not in numerators:
            denominator = math.lcm(denominator, d)
            if denominator.bit_length() > _FINEST_BITS:
                return None
        numerators[d] = math.gcd(numerators.get(d, 0), n)
    divisor = math.gcd(*(n * (denominator // d) for d, n in numerators.items()))
    return Fraction(divisor, denominator) if divisor else None


def _doubled(epsilon: Fraction) -> tuple[int, int]:
    n, d = epsilon.as_integer_ratio()
    return (2 * n, d) if d & 1 else (n, d >> 1)


def _edge(losses: Losses, finite: Counted, *, upper: bool) -> Edge:
    """The largest value of the sum, with its chance, and what lies below."""
    largest = Interval.of(total_of(losses))
    parts: list[Below] = [Flips(float(e), n) for e, n in losses]
    logs = [-n * math.log1p(math.exp(-min(float(e), 700.0))) for e, n in losses]
    for atoms, count in finite:
        ends = _ends(atoms, upper=upper)
        # Both ends: a law that is the same from both sides has one model for both.
        top = max(i for i, mass in enumerate(atoms.masses) if mass.upper > 0)
        largest = largest + Interval.of(count) * enclosed(atoms.losses[top])
        logs.append(count * float(ends[-1][1].log().upper))
        if len(ends) > 1:
            parts.append(Steps(_below(ends), count))
    log_chance = math.fsum(logs)
    lost = -log_chance * summed(1) + 1e-300
    parts.sort(key=lambda part: part.nearest)
    return Edge(largest, around(log_chance, lost).exp().clip(0, 1), parts)


def _below(ends: Sequence[tuple[Interval, Interval]]) -> Listed:
    top, mass = ends[-1]
    distance = [float((top - value).upper) for value, _ in ends[::-1]]
    # A mass that is far larger is infinite here: then nothing is listed.
    return Listed(np.array(distance), np.array([float((m / mass).upper) for _, m in ends[::-1]]))
