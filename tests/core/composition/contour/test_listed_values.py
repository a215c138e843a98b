"""Losses of finitely many values, and the list of the largest: both ends of enclosures, extremes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest

from interlace.core.composition.contour import Model, built, delta, epsilon
from interlace.core.composition.contour.drawing import drawn
from interlace.core.composition.contour.saddle import for_epsilon
from interlace.core.guarantees.losses import Direction, DiscreteLaplace, PrivacyLoss
from interlace.core.guarantees.losses.atoms import Atoms, enclosed
from interlace.core.interval import ZERO, Interval
from tests.core.composition.contour import referees
from tests.core.composition.contour.referees import Law
from tests.effort import examples


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with referees.balls(1300):
        yield


def _law(atoms: Atoms, *, upper: bool) -> Law:
    """One end of all masses, at the same end of all values."""
    found: Law = {}
    for loss, mass in zip(atoms.losses, atoms.masses, strict=True):
        value, end = enclosed(loss), mass.upper if upper else mass.lower
        if end > 0:
            at = Fraction(value.upper if upper else value.lower)
            found[at] = found.get(at, 0) + referees.ball(Fraction(end))
    return found


def _enclosures(draw: random.Random, slack: Fraction) -> Atoms:
    """A law whose values and masses are known up to ``slack`` only."""
    size = draw.randint(1, 5)
    values = sorted(draw.sample(range(-200, 200), size))
    weights = [draw.randint(1, 1000) for _ in values]
    masses = [Fraction(w, sum(weights)) for w in weights]

    def around(x: Fraction, gap: Fraction) -> Interval:
        return Interval(Interval.of(x - gap).lower, Interval.of(x + gap).upper)

    return Atoms(
        tuple(around(Fraction(v, 97), slack) for v in values),
        tuple(around(m, m * slack).clip(0, 1) for m in masses),
    )


def _holds(model: Model, law: Law, draw: random.Random) -> None:
    top = max(law)
    for at in (Fraction(0), top * Fraction(draw.random()), top * (1 - Fraction(1, 10**7)), top):
        if at >= 0:
            assert referees.holds_delta(delta(model, at), referees.delta(law, at))
    # A share above delta(0) too.
    for share in (Fraction(1, 10**250), Fraction(1, 10**4), Fraction(draw.random()) / 2):
        assert referees.holds_epsilon(epsilon(model, Interval.of(share)), law, share)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_the_ends_that_are_more_or_less_loss_are_taken(seed: int) -> None:
    """Of a listing too: an upper model that lists lower ends would be too small."""
    draw = random.Random(seed)
    slack = draw.choice([Fraction(0), Fraction(1, 10**9), Fraction(1, 10**4)])
    atoms, count = _enclosures(draw, slack), draw.choice([1, 2, 4])
    losses = draw.choice([(), ((Fraction(1, 7), 3),)])
    for upper in (False, True):
        model = built(losses, finite=[(atoms, count)], upper=upper)
        law = referees.convolved(
            referees.law(losses), referees.powers(_law(atoms, upper=upper), count)
        )
        assert model.edge is not None
        if max(law) > 0:
            _holds(model, law, draw)


def test_upper_ends_on_a_line_may_add_up_to_more_than_one() -> None:
    slack = Interval.of(1 + Fraction(1, 10**4))
    masses = tuple(Interval.of(Fraction(m, 10)) * slack for m in (2, 3, 5))
    atoms = Atoms((Fraction(-1, 3), Fraction(0), Fraction(1, 3)), masses, step=Fraction(1, 3))
    losses = ((Fraction(1, 6), 60),)
    model = built(losses, finite=[(atoms, 12)], upper=True)
    law = referees.convolved(referees.law(losses), referees.powers(_law(atoms, upper=True), 12))
    for at in (Fraction(1, 2), Fraction(4), Fraction(8)):
        found = drawn(model, for_epsilon(model, float(at))).delta(at)
        assert referees.holds_delta(found, referees.delta(law, at))
        assert referees.width(found) < 1e-10


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_discrete_laplace_is_the_sum_over_its_values(shift: int, count: int) -> None:
    """FORMULAS 8.2: values (shift - 2z)/scale for z = 0 to shift, tails at both ends."""
    scale = Fraction(3, 2)
    ratio = (-referees.ball(1 / scale)).exp()
    norm = (1 - ratio) / (1 + ratio)
    one: Law = {}
    for z in range(-60, shift + 61):
        value = (abs(z - shift) - abs(z)) / scale
        one[value] = one.get(value, 0) + norm * ratio ** abs(z)
    tail = norm * ratio**61 / (1 - ratio)
    one[shift / scale] += tail
    one[-shift / scale] += tail
    law = referees.powers(one, count)
    loss: PrivacyLoss = DiscreteLaplace(scale, shift)
    for upper in (False, True):
        atoms = loss.atoms(Direction.REMOVE, upper=upper)
        _holds(built((), finite=[(atoms, count)], upper=upper), law, random.Random(count))


def _pair(low: str, high: str, mass: Interval) -> Atoms:
    rest = Interval.of(1) - mass
    return Atoms((Fraction(low), Fraction(high)), (rest, mass))


def test_a_share_that_is_next_to_one_ends() -> None:
    model = built((), finite=[(_pair("-2", "2", Interval.of(Fraction(3, 4))), 1)])
    for share in (1 - Fraction(1, 10**14), 1 - Fraction(1, 10**40)):
        assert epsilon(model, Interval.of(share)) == ZERO
    # Everything is at one value: delta(0) is 1 - e^-50, known to floats only.
    sure = Atoms((Fraction(50),), (Interval.of(1),))
    found = epsilon(built((), finite=[(sure, 1)]), Interval.of(1 - Fraction(1, 10**22)))
    assert found.lower == 0
    assert found.upper <= 50


def test_a_delta_that_no_float_tells_from_none_is_not_called_none() -> None:
    model = built(((Fraction(1), 1),), finite=[(_pair("-1", "1", Interval.of(Fraction(1, 2))), 1)])
    at = 2 - Fraction(1, 10**400)
    with referees.balls(4000):
        found = delta(model, at)
        assert found.upper > 0
        assert found.lower <= Decimal("1e-400")
    assert delta(model, Fraction(2)) == ZERO


@pytest.mark.parametrize("loss", ["1e-12", "1e-6", "30", "700", "745", "1000"])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_of_one_loss_of_any_size(loss: str, count: int) -> None:
    """Also where e^-epsilon is no float any more."""
    losses = ((Fraction(loss), count), (Fraction(loss) * Fraction(7, 5), 1))
    model = built(losses)
    law = referees.law(losses)
    total = max(law)
    for part in ("0", "0.3", "0.999999", "0.99999999999999999999"):
        at = total * Fraction(part)
        found, exact = delta(model, at), referees.delta(law, at)
        assert referees.holds_delta(found, exact)
        assert referees.width(found) < 1e-8
    for share in (Fraction(1, 10**300), Fraction(1, 10**6), Fraction(1, 3)):
        found = epsilon(model, Interval.of(share))
        assert referees.holds_epsilon(found, law, share)
        assert found.upper - found.lower <= total.numerator * Decimal("1e-9") / total.denominator
