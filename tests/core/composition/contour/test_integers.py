"""Wide discrete Gaussian noise by its formula, against sums over its values."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from interlace.core.composition import compose
from interlace.core.composition.contour import built, delta, epsilon
from interlace.core.composition.contour.integers import DiscreteGaussianLoss
from interlace.core.guarantees import PureDP
from interlace.core.guarantees.losses import Direction, DiscreteGaussian
from interlace.core.interval import Interval


@pytest.mark.parametrize(("sigma", "shift"), [("4", 1), ("5.5", 3), ("20", 1), ("150", 7)])
def test_one_answer_has_the_profile_of_its_own_sums(sigma: str, shift: int) -> None:
    loss = DiscreteGaussian(Fraction(sigma), shift)
    model = built((), integers=[(loss, 1)])
    width = Fraction(shift) / Fraction(sigma)
    for times in (0, 1, 3, 8):
        at = times * width * Fraction(10001, 10000)
        found, exact = delta(model, at), loss.profile(Direction.REMOVE, at)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper
        assert found.upper - found.lower <= found.upper * Interval.of(Fraction(1, 10**6)).lower


@pytest.mark.parametrize("count", [1, 7, 300])
@pytest.mark.parametrize(("sigma", "shift"), [("4", 1), ("6.25", 2)])
def test_many_answers_agree_with_lists_of_their_values(sigma: str, shift: int, count: int) -> None:
    loss = DiscreteGaussian(Fraction(sigma), shift)
    by_formula = built(((Fraction(1, 10), 5),), integers=[(loss, count)])
    for share in (Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 10**40)):
        found = epsilon(by_formula, Interval.of(share))
        for upper in (False, True):
            atoms = loss.atoms(upper=upper)
            listed = built(((Fraction(1, 10), 5),), finite=[(atoms, count)], upper=upper)
            other = epsilon(listed, Interval.of(share))
            if upper:
                assert found.lower <= other.upper
            else:
                assert other.lower <= found.upper


def test_the_characteristic_function_is_the_sum_over_the_integers() -> None:
    sigma, shift, c = 4.0, 3, 0.7
    kind = DiscreteGaussianLoss(sigma, shift, 2)
    half = np.pi * sigma**2 / shift
    t = np.array([0.0, 0.3, half * 0.6, half * 0.95, half * 1.4, half * 2, half * 4.1])
    nodes, bounds = kind.nodes(c, t), kind.log_bounds(c, t, t)
    with mpmath.workdps(60):

        def moment(s: mpmath.mpc) -> mpmath.mpc:
            scale = 2 * mpmath.mpf(sigma) ** 2
            return mpmath.fsum(
                mpmath.exp(-mpmath.mpf(z * z) / scale + s * shift * (2 * z + shift) / scale)
                for z in range(-150, 151)
            )

        for k, at in enumerate(t):
            exact = (moment(mpmath.mpc(c, float(at))) / moment(mpmath.mpf(c))) ** 2
            assert mpmath.log(abs(exact)) <= bounds[k] + 1e-9
            if np.isfinite(nodes.error[k]):
                found = mpmath.exp(mpmath.mpc(nodes.log_modulus[k], nodes.phase[k]))
                allowed = mpmath.expm1(2 * nodes.error[k]) * abs(exact) + mpmath.mpf("1e-50")
                assert abs(found - exact) <= allowed
            else:
                assert mpmath.log(abs(exact)) <= nodes.log_modulus[k] + 1e-9


def test_a_thousand_answers_beside_pure_parts_are_narrow() -> None:
    c = compose([(DiscreteGaussian(100, 1), 1000), (PureDP(0.05), 20)])
    lower, upper = c.epsilon_interval(1e-6)
    assert upper - lower <= 1e-9 * upper
