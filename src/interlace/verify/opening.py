"""What is drawn when a mechanism is opened: all draws of a window, and their weights."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from interlace.core.errors import ParameterError
from interlace.core.laws import Law
from interlace.core.mechanisms.play import Secrets, openings
from interlace.core.mechanisms.protocol import Composite, Mechanism, Secret
from interlace.verify.noise import UNIT, Noise, completed

_MOST_SECRETS = 100_000
_ONE = Fraction(1)


def shape(mechanism: Mechanism | Composite) -> tuple[Secrets, list[Law]]:
    """The laws of all draws at the opening, and in place of each secret the places of its draws."""
    laws: list[Law] = []

    def note(law: Law) -> Secret:
        laws.extend([law] * law.size)
        return tuple(range(len(laws) - law.size, len(laws)))

    return openings(mechanism, note), laws


def window(
    laws: list[Law], cut: Fraction
) -> tuple[list[tuple[int, ...]], dict[int, Fraction], Fraction]:
    """All draws of a window, their weights, and how far these are off together."""
    noises = [Noise(law, cut) for law in laws]
    ranges = [range(-noise.radius, noise.radius + 1) for noise in noises]
    count = math.prod(map(len, ranges))
    if count > _MOST_SECRETS:
        raise ParameterError(
            "mechanism",
            f"about {count:.1g} secrets would be looked at, more than {_MOST_SECRETS:,}: verify it "
            "with less noise at its opening, a larger epsilon",
        )
    numbers, off = [], Fraction(0)
    for noise, kept in zip(noises, ranges, strict=True):
        values, error = completed([noise.between(z, z) for z in kept])
        numbers.append([Fraction(value, UNIT) for value in values])
        # What is left out is given to the greatest weight.
        off += Fraction(error, UNIT) + (0 if noise.certain else 2 * cut)
    weights = {i: math.prod(w, start=_ONE) for i, w in enumerate(product(*numbers))}
    return list(product(*ranges)), weights, off
