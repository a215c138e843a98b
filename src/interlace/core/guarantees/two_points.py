"""Two-point pairs whose Rényi divergence of one order is as large as allowed, both ways.

What they attain is a lower end for every claim about a bound of one order (FORMULAS 7.2). Each
number is of a pair that was checked in intervals; where none was found it is 0. Names as in
``one_order``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees import one_order_search as search
from interlace.core.guarantees.enclosures import expm1, log_roughly, one_minus_exp, roughly
from interlace.core.interval import ONE, Interval

#: By how much a pair is drawn in, relatively, so that rounding does not make it too good; the
#: second times the exponent (alpha - 1) a.
_DRAWN_IN, _DRAWN_IN_EACH = 2e-13, 1e-15
#: Divergences for which pairs are searched for, and the largest order.
_DIVERGENCES, _ORDERS = (Fraction(1, 10**30), Fraction(10**9)), 10**15
_ZERO = Decimal(0)


def attained_delta(alpha: Fraction, divergence: Fraction, epsilon: Fraction) -> Decimal:
    """A delta at ``epsilon`` >= 0 that a pair within ``divergence`` > 0 attains at order
    ``alpha``.

    >>> attained_delta(Fraction(3), Fraction(1, 2), Fraction(2772, 1000)) > Decimal("0.001")
    True
    """
    if not _is_searched(alpha, divergence):
        return _ZERO
    x, d, e = roughly(alpha - 1), roughly(divergence), roughly(epsilon) if epsilon else 0.0
    s, beyond = search.widest(x, d, e)
    pair = _Pair.of(alpha, divergence, None if beyond else e - search.mean(s, x))
    # p - e^epsilon q = p (1 - e^(epsilon - a)).
    ahead = pair.a - Interval.of(epsilon)
    if ahead.lower <= 0 or not pair.is_within(alpha, divergence):
        return _ZERO
    return (pair.p * one_minus_exp(ahead)).lower


def attained_epsilon(alpha: Fraction, divergence: Fraction, share: Interval) -> Decimal:
    """An epsilon at ``share`` in (0, 1) that such a pair attains."""
    if not _is_searched(alpha, divergence):
        return _ZERO
    x, d = roughly(alpha - 1), roughly(divergence)
    log_share = log_roughly(Fraction(share.upper))
    w, beyond = search.deepest(x, d, log_share)
    pair = _Pair.of(alpha, divergence, None if beyond else search.reaching(w, x, d, log_share))
    room = pair.p - share
    if room.lower <= 0 or not pair.is_within(alpha, divergence):
        return _ZERO
    # log((p - delta) / q), and q = p e^-a.
    return max(_ZERO, (pair.a + (room / pair.p).log()).lower)


def _is_searched(alpha: Fraction, divergence: Fraction) -> bool:
    least, most = _DIVERGENCES
    return least <= divergence <= most and (alpha - 1) * max(Fraction(1), divergence) <= _ORDERS


@dataclass(frozen=True)
class _Pair:
    """Likelihood ratios e^a and e^-w, and the larger probability of the first."""

    a: Interval
    w: Interval
    p: Interval

    @classmethod
    def of(cls, alpha: Fraction, divergence: Fraction, a: float | None) -> _Pair:
        """The pair with this a, or for None the randomised response, as far as allowed."""
        x, d = roughly(alpha - 1), roughly(divergence)
        drawn = 1 - _DRAWN_IN - _DRAWN_IN_EACH * x * (d if a is None else a)
        if a is None:
            a = w = search.largest_response(x, d) * drawn
        else:
            w = search.opposite(a, x, d) * drawn
        right, wrong = Interval.of(Fraction(a)), Interval.of(Fraction(w))
        return cls(right, wrong, one_minus_exp(wrong) / one_minus_exp(right + wrong))

    def is_within(self, alpha: Fraction, divergence: Fraction) -> bool:
        """Whether neither direction's divergence can exceed the bound."""
        excess = Interval.of(alpha - 1)
        most = expm1(Interval.of((alpha - 1) * divergence)).lower
        q = self.p * (-self.a).exp()
        up, down = excess * self.a, excess * self.w
        # E_P L^(alpha-1) - 1, and E_Q L^(1-alpha) - 1.
        one = self.p * expm1(up) - (ONE - self.p) * one_minus_exp(down)
        other = (ONE - q) * expm1(down) - q * one_minus_exp(up)
        return one.upper <= most and other.upper <= most
