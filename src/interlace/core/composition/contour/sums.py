"""Sums over nodes of phi(t) W(t) e^(-it at), for many ``at``, each with a bound of its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.rounding import CHAIN, UNIT, product, summed
from interlace.core.composition.contour.values import Floats, Nodes

Complexes = npt.NDArray[np.complex128]

#: Beyond this error of its logarithm a node is only known to be at most its modulus.
_LOST = 0.25


@dataclass(frozen=True, eq=False)
class Sums:
    """phi W at the nodes ``row`` + ``place``, all pairs, for some W; and of each what may be wrong
    with its sum: in any case, and for each unit of |at|.

    e^(-it at) is a product over ``row`` and ``place``: a sum is one of a matrix with two vectors.
    """

    row: Floats
    place: Floats
    tables: tuple[Complexes, ...]
    errors: tuple[tuple[float, float], ...]

    @classmethod
    def of(
        cls,
        at: tuple[Floats, Floats],
        phi: Complexes,
        lost: Floats,
        functions: Sequence[Complexes | None],
        rounded: float,
    ) -> Sums:
        """Of phi with these absolute errors, ``at`` the nodes of row and place, and functions of
        t known up to a relative error ``rounded``; None stands for 1."""
        row, place = at
        # At most half as much again as |phi|.
        moduli = np.abs(phi.real)
        moduli += np.abs(phi.imag)
        # Each function, the products and the exponentials, and the sums over rows and places.
        relative = rounded + 3 * CHAIN + summed(4 * (row.size + place.size))
        fixed = lost + moduli * relative
        # t is off by up to five roundings, at by one, and so are the products of the two.
        growing = moduli * np.add.outer(row, place)
        growing *= 16 * UNIT
        tables, errors = [], []
        for function in functions:
            sizes = 1.0 if function is None else np.abs(function)
            tables.append(phi if function is None else phi * function)
            found = (float((fixed * sizes).sum()), float((growing * sizes).sum()))
            errors.append((found[0] * (1 + 1e-9), found[1] * (1 + 1e-9)))
        return cls(row, place, tuple(tables), tuple(errors))

    def about(self, at: float, factors: Sequence[float]) -> float:
        """The real part of the sum with the first functions, in these proportions."""
        rows, places = turned(-self.row * at), turned(-self.place * at)
        return sum(
            factor * float((rows @ product(table, places)).real)
            for factor, table in zip(factors, self.tables, strict=False)
            if factor
        )

    def error(self, at: float, factors: Sequence[float]) -> float:
        """How far that may be off."""
        return sum(
            factor * (fixed + growing * abs(at))
            for factor, (fixed, growing) in zip(factors, self.errors, strict=False)
        ) * (1 + CHAIN)


def numbers(nodes: Nodes) -> tuple[Complexes, Floats]:
    """phi of one kind, or of all, and its absolute errors; 0 where only the modulus is known."""
    known = nodes.error < _LOST
    modulus = np.exp(nodes.log_modulus)
    phi = np.where(known, modulus, 0.0) * turned(nodes.phase)
    rounded = CHAIN * (1 + np.abs(nodes.phase))
    # |e^(x + iy) - 1| <= e^(2 max) - 1.
    lost = np.expm1(2 * np.where(known, nodes.error, 0.0)) * (1 + CHAIN) + rounded
    return phi, np.asarray(np.where(known, modulus * lost, modulus * (1 + CHAIN)))


def turned(x: Floats) -> Complexes:
    """e^(ix)."""
    found = np.empty(x.shape, dtype=np.complex128)
    found.real, found.imag = np.cos(x), np.sin(x)
    return found
