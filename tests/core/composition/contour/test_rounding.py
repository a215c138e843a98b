"""The assumption of contour/rounding.py: the platform's elementary functions are within 8 units in
the last place, and the constants that rest on it. Measured against balls of 200 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import pytest

from interlace.core.composition.contour.rounding import CHAIN, UNIT, around, summed
from tests.core.composition.contour.referees import balls
from tests.effort import examples

Floats = npt.NDArray[np.float64]
Ball = Any
UNITS = 8


def _spread(low: float, high: float, count: int, seed: int) -> Floats:
    """Both signs, in equal shares of each power of ten, and as many evenly."""
    draw = np.random.default_rng(seed)
    sizes = np.concatenate(
        [10 ** draw.uniform(math.log10(low), math.log10(high), count), draw.uniform(0, high, count)]
    )
    return np.asarray(sizes * draw.choice([-1.0, 1.0], sizes.size))


def _near_quarter_turns(count: int, seed: int) -> Floats:
    """Floats next to multiples of pi/2 up to 1e7: there sin or cos is tiny."""
    draw = np.random.default_rng(seed)
    turns = np.concatenate([np.arange(40.0), draw.integers(1, int(1e7 / 1.58), count)])
    exact = [float((flint.arb.pi() / 2 * int(n)).mid()) for n in turns]
    near = np.array(exact)
    return np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 1e9)])


def _units(found: float, exact: Ball) -> float:
    """The error in units in the last place of the exact value."""
    gap = abs(flint.arb(found) - exact)
    return float((gap / math.ulp(float(exact.mid()))).upper())


def _worst(
    function: Callable[..., Floats], exact: Callable[..., Ball], *arguments: Floats
) -> float:
    found = function(*arguments)
    with balls(300):
        return max(
            _units(value, exact(*map(flint.arb, row)))
            for value, *row in zip(found.tolist(), *(a.tolist() for a in arguments), strict=True)
        )


_COUNT = examples(1500)
_SMALL = _spread(1e-30, 1.0, _COUNT, 1)
_MEDIUM = _spread(1e-300, 340.0, _COUNT, 2)
_TURNS = np.concatenate([_spread(1e-20, 1e7, 2 * _COUNT, 3), _near_quarter_turns(_COUNT, 4)])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("exp", np.concatenate([_spread(1e-20, 700.0, _COUNT, 5), _SMALL])),
        ("expm1", np.concatenate([_MEDIUM, _SMALL, np.array([-1e3, -40.0, 1e-18])])),
        ("log", np.abs(np.concatenate([_MEDIUM, 1 + _SMALL * 1e-3]))),
        ("log1p", np.concatenate([np.abs(_MEDIUM), _SMALL * 0.999999, np.abs(_MEDIUM) * 1e250])),
        ("sin", _TURNS),
        ("cos", _TURNS),
        ("sinh", np.concatenate([_MEDIUM, _SMALL])),
        ("cosh", np.concatenate([_MEDIUM, _SMALL])),
        ("tanh", np.concatenate([_MEDIUM, _SMALL, _spread(1e-3, 30.0, _COUNT, 6)])),
        ("sqrt", np.abs(_MEDIUM)),
    ],
)
def test_a_function_is_within_eight_units(name: str, arguments: Floats) -> None:
    def exact(x: Ball) -> Ball:
        return getattr(x, name)()

    kept = arguments[arguments != 0]
    assert _worst(getattr(np, name), exact, kept) <= UNITS
    # One at a time other code runs than for arrays; and so does the math module.
    some = kept[:: max(1, kept.size // 100)]
    for one in (getattr(np, name), getattr(math, name)):
        assert _worst(lambda x, one=one: np.array([float(one(v)) for v in x]), exact, some) <= UNITS


def test_angles_and_moduli_are_within_eight_units() -> None:
    y, x = _spread(1e-20, 10.0, 2 * _COUNT, 7), _spread(1e-20, 10.0, 2 * _COUNT, 8)
    y[:50] *= 1e-15
    x[50:100] *= 1e-15
    assert _worst(np.arctan2, flint.arb.atan2, y, x) <= UNITS
    assert _worst(np.hypot, lambda a, b: (a * a + b * b).sqrt(), y, x) <= UNITS
    z = x + 1j * y
    assert _worst(lambda *_: np.angle(z), flint.arb.atan2, y, x) <= UNITS
    assert _worst(lambda *_: np.abs(z), lambda a, b: (a * a + b * b).sqrt(), y, x) <= UNITS


def test_a_complex_quotient_is_a_short_chain() -> None:
    draw = np.random.default_rng(9)
    parts = 10 ** draw.uniform(-8, 8, (4, _COUNT)) * draw.choice([-1, 1], (4, _COUNT))
    a, b = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
    with balls(300):
        for product, quotient, p, q in zip(a * b, 1 / b, a, b, strict=True):
            first, second = flint.acb(p.real, p.imag), flint.acb(q.real, q.imag)
            exact = first * second
            assert abs(flint.acb(product.real, product.imag) - exact) <= abs(exact) * (8 * UNIT)
            inverse = 1 / second
            lost = abs(flint.acb(quotient.real, quotient.imag) - inverse)
            assert lost <= abs(inverse) * (16 * UNIT)


@pytest.mark.parametrize("count", [1, 7, 100, 4097, 20_000])
def test_sums_and_products_of_matrices_lose_no_more_than_a_unit_a_term(count: int) -> None:
    draw = np.random.default_rng(count)
    for scale in (1.0, 1e8):
        x = draw.uniform(-1, 1, count) * scale ** draw.uniform(-1, 1, count)
        y = draw.uniform(0, 1, count)
        exact = sum((Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)), Fraction(0))
        moduli = sum(abs(a) * b for a, b in zip(x.tolist(), y.tolist(), strict=True))
        for found in (float(x @ y), float((x * y).sum()), float(np.vstack([x, x]) @ y @ [1.0, 0])):
            assert abs(Fraction(found) - exact) <= Fraction(moduli * summed(count))
    assert summed(count) >= CHAIN + count * UNIT


def test_around_holds_both_ends_and_refuses_what_is_no_number() -> None:
    found = around(0.1, 2.0**-60)
    assert found.contains(Fraction(0.1) - Fraction(1, 2**60))
    assert found.contains(Fraction(0.1) + Fraction(1, 2**60))
    assert found.upper - found.lower < Decimal(2) / Decimal(2**59)
    for value, error in ((math.nan, 0.0), (0.0, math.nan)):
        with pytest.raises(ValueError, match="NaN"):
            around(value, error)
    with pytest.raises(OverflowError):
        around(0.0, math.inf)
