"""The best (epsilon, delta) that a bound on the Rényi divergences of one order gives.

Numbers only, enclosed (FORMULAS 7.2). Let D_alpha(P, Q) and D_alpha(Q, P) be at most D, and
C = e^((alpha-1) D). By convexity L^alpha lies above its tangents at any t < r, so

    max(L - x, 0) <= lambda (L^alpha - alpha t^(alpha-1) L + (alpha-1) t^alpha),
    lambda = 1 / (alpha (r^(alpha-1) - t^(alpha-1))),
    x = (1 - 1/alpha) (r^alpha - t^alpha) / (r^(alpha-1) - t^(alpha-1)):

the right side is 0 where it touches at t, and L - x where it touches at r. With L = dP/dQ the
expectation under Q gives delta at e^epsilon = x: it is at most
lambda (C - alpha t^(alpha-1) + (alpha-1) t^alpha). The bound of Canonne, Kamath and Steinke
2020 is t = 0. The best t is where the two-point pair with likelihood ratios t and r has
E_Q L^alpha = C, so that it attains the bound; its probabilities of the event with ratio r are
p = (1 - t) r / (r - t) and q = p / r. That pair satisfies the bound in the other direction too
while p + q <= 1. Below that epsilon the profile is the line of randomised response at the
largest loss whose divergence is D: the chord of the profile and its mirror image.

In this file w = -log t, a = log r and s = a + w. The places are searched for in floats: the
bounds hold at any.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees import one_order_search as search
from interlace.core.guarantees.enclosures import expm1, log_roughly, one_minus_exp, roughly, smaller
from interlace.core.interval import ONE, UP, ZERO, Interval

#: Orders nearer to 1 cost digits and tell nothing more.
LEAST_ORDER = 1 + Fraction(1, 10**20)
#: Above these orders and exponents (alpha - 1) D a lower order serves.
_LARGEST_ORDER, _LARGEST_EXPONENT = Fraction(10**50), 10**12
#: Losses this large get the bound of t = 0; smaller divergences are taken for this one.
_LARGEST_LOSS = 10**9
_LEAST = Decimal("1e-29")
_LEAST_DIVERGENCE = Interval.of(_LEAST)
#: Where w is so small that only its square is known to count.
_FLAT = Decimal("1e-25")
_CANCELLED = Decimal("1e-6")


def delta(alpha: Fraction, divergence: Interval, epsilon: Fraction) -> Interval:
    """The delta at ``epsilon`` >= 0 of a bound ``divergence`` of an order ``alpha`` of at least
    1 + 1e-20.

    >>> found = delta(Fraction(3), Interval.of(Fraction(1, 2)), Fraction(2773, 1000))
    >>> Decimal("0.00099") < found.upper < Decimal("0.001")
    True
    """
    if divergence.upper <= 0:
        return ZERO
    if divergence.upper >= _LARGEST_LOSS or epsilon >= _LARGEST_LOSS:
        return _simple_delta(alpha, divergence, epsilon)
    if divergence.upper < _LEAST:
        most = delta(alpha, _LEAST_DIVERGENCE, epsilon)
        return smaller(_simple_delta(alpha, divergence, epsilon), most)
    bound = _Bound.of(alpha, divergence)
    s, beyond = search.widest(bound.x, bound.d, roughly(epsilon) if epsilon else 0.0)
    at = Interval.of(epsilon)
    if beyond:
        end, value = bound.corner()
        if at.upper <= end.lower:
            return below_chord(end, value, at)
    wide = Interval.of(Fraction(s))
    a = at - bound.mean(wide)
    if (wide - a).upper < UP.multiply(wide.lower, _CANCELLED):
        # A float s says too little about w.
        wide = Interval.of(a.upper) + bound.opposite(a)
        a = at - bound.mean(wide)
    if bound.is_astray(wide - a):
        return _simple_delta(alpha, divergence, epsilon)
    return bound.value(a, wide - a)


def epsilon(alpha: Fraction, divergence: Interval, share: Interval) -> Interval:
    """The epsilon at ``share`` in (0, 1) of a bound ``divergence`` of such an order.

    >>> found = epsilon(Fraction(3), Interval.of(Fraction(1, 2)), Interval.of(Fraction(1, 1000)))
    >>> Decimal("2.7723") < found.lower <= found.upper < Decimal("2.7724")
    True
    """
    if divergence.upper <= 0:
        return ZERO
    if divergence.upper >= _LARGEST_LOSS:
        return _simple_epsilon(alpha, divergence, share)
    if divergence.upper < _LEAST:
        most = epsilon(alpha, _LEAST_DIVERGENCE, share)
        return smaller(_simple_epsilon(alpha, divergence, share), most)
    bound = _Bound.of(alpha, divergence)
    w, beyond = search.deepest(bound.x, bound.d, log_roughly(Fraction(share.lower)))
    if beyond:
        end, value = bound.corner()
        if value.upper <= share.lower:
            return on_chord(end, value, share)
    t = Interval.of(Fraction(w))
    a = bound.reaching(t, share)
    return (a + bound.mean(a + t)).clip(0)


def below_chord(at: Interval, value: Interval, epsilon: Interval) -> Interval:
    """The height at ``epsilon`` of the chord of a profile between -at and at.

    Let d be a profile that bounds both directions, H_x(P, Q) and H_x(Q, P) at x = e^epsilon.
    H_(1/x)(P, Q) = 1 - 1/x + H_x(Q, P)/x gives d(e^-a) <= 1 - e^-a (1 - d(e^a)), and H is
    convex in x, so between the two it lies below the chord. With w = e^-a and d = d(e^a)
    the chord is (1 - w x + w d (1 + x)) / (1 + w).
    """
    w, x = (-at).exp(), epsilon.exp()
    return ((one_minus_exp((at - epsilon).clip(0)) + w * value * (ONE + x)) / (ONE + w)).clip(0, 1)


def on_chord(at: Interval, value: Interval, share: Interval) -> Interval:
    """Where that chord is as low as ``share``, at least 0."""
    w = (-at).exp()
    room = ONE + w * value - share * (ONE + w)
    x = (room / (w * (ONE - value))).clip(1)
    return x.log().clip(0) if x.upper > 1 else ZERO


class _Bound:
    """D_alpha <= ``divergence``, and the bounds on delta that tangents at t and r give."""

    def __init__(self, alpha: Fraction, divergence: Fraction) -> None:
        self._order, self._excess = Interval.of(alpha), Interval.of(alpha - 1)
        self._lifted = expm1(Interval.of((alpha - 1) * divergence))
        self.x, self.d = roughly(alpha - 1), roughly(divergence)

    @classmethod
    def of(cls, alpha: Fraction, divergence: Interval) -> _Bound:
        exact = Fraction(max(divergence.upper, _LEAST))
        return cls(min(alpha, _LARGEST_ORDER, 1 + _LARGEST_EXPONENT / exact), exact)

    def mean(self, s: Interval) -> Interval:
        """log x - a."""
        ratio = one_minus_exp(self._order * s) / one_minus_exp(self._excess * s)
        return (ratio * self._excess / self._order).log()

    def value(self, a: Interval, w: Interval) -> Interval:
        """delta at the epsilon that belongs to a and w: at most this."""
        fall = self._order * one_minus_exp(self._excess * (a + w))
        return ((-(self._excess * a)).exp() * self._room(w) / fall).clip(0, 1)

    def reaching(self, w: Interval, share: Interval) -> Interval:
        """The a for which that is ``share``."""
        risen = (-(self._excess * w)).exp() + self._room(w) / (self._order * share)
        return risen.log() / self._excess

    def _room(self, w: Interval) -> Interval:
        """C - alpha t^(alpha-1) + (alpha-1) t^alpha, C - 1 and the convex rest apart."""
        if w.lower > _FLAT:
            slow, fast = one_minus_exp(self._excess * w), one_minus_exp(self._order * w)
            return self._lifted + (self._order * slow - self._excess * fast).clip(0)
        # Between 0 and alpha (alpha - 1) w^2 / 2, times at most e^(2 alpha |w|) for w < 0.
        far = Interval(Decimal(0), max(w.upper, w.lower.copy_abs()))
        most = self._order * self._excess * far * far
        if w.lower < 0:
            most = most * (self._order * (far + far)).exp()
        return self._lifted + Interval(Decimal(0), most.upper)

    def is_astray(self, w: Interval) -> bool:
        """Whether w is so far below 0 that the bound says nothing."""
        return (self._order * w).lower < -1

    def opposite(self, a: Interval) -> Interval:
        """About the w whose pair with a is as far apart as allowed."""
        return Interval.of(Fraction(search.opposite(float(a.upper), self.x, self.d)))

    def corner(self) -> tuple[Interval, Interval]:
        """Where the chord ends: epsilon and delta there."""
        loss = Interval.of(Fraction(search.largest_response(self.x, self.d)))
        return loss + self.mean(loss + loss), self.value(loss, loss)


def _simple_delta(alpha: Fraction, divergence: Interval, epsilon: Fraction) -> Interval:
    order, excess = Interval.of(alpha), Interval.of(alpha - 1)
    slack = excess * (divergence - Interval.of(epsilon))
    found = slack + order * (excess / order).log() - excess.log()
    return ONE if found.upper > 0 else found.exp()


def _simple_epsilon(alpha: Fraction, divergence: Interval, share: Interval) -> Interval:
    order, excess = Interval.of(alpha), Interval.of(alpha - 1)
    return (divergence + (excess / order).log() - (share.log() + order.log()) / excess).clip(0)
