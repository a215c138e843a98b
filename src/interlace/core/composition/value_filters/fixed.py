"""Proven enclosures in fixed point, on Python's own integers: exp, and the Mills ratio.

A number is enclosed by a pair (low, high) of integers in units of 2**-bits. Nothing rests on a
float or on a platform's library: each function's docstring counts what its roundings can lose.
Beside the 60 digits of interlace.core.interval these take microseconds, at any precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt

Pair = tuple[int, int]

#: Bits beyond those asked for, and what the roundings of ``exp_at`` lose of them at most.
_GUARD, _LOST = 24, 1 << 17
#: The farthest argument of exp for which ``_LOST`` is proved, and with at most as many bits.
FARTHEST = 4096


class OutOfReach(Exception):
    """The terms differ by more than these enclosures hold: nothing is proved."""


def scaled(numerator: int, denominator: int, bits: int) -> Pair:
    """The rational number, enclosed.

    >>> scaled(1, 3, 4), scaled(1, 4, 4)
    ((5, 6), (4, 4))
    """
    low, rest = divmod(numerator << bits, denominator)
    return low, low + bool(rest)


def times(x: Pair, y: Pair, bits: int) -> Pair:
    """A product of two enclosures that are not negative."""
    return x[0] * y[0] >> bits, -(-x[1] * y[1] >> bits)


@lru_cache(maxsize=64)
def log_two(bits: int) -> int:
    """An integer L with L <= 2**bits log 2 <= L + 2.

    log 2 = 2 atanh(1/3); each of fewer than ``bits`` terms, cut, and the rest lose less than
    2 units of 2**-(bits + 64) each.
    """
    fine = bits + 64
    power, total, k = (2 << fine) // 3, 0, 1
    while power:
        total += power // k
        power //= 9
        k += 2
    return total >> 64


@lru_cache(maxsize=64)
def _pi(bits: int) -> Pair:
    """The circle constant by Machin's formula; 64 guard bits hold every cut of its terms."""
    fine = bits + 64

    def arctangent(n: int) -> int:
        power, total, k, sign = (1 << fine) // n, 0, 1, 1
        while power:
            total += sign * (power // k)
            power //= n * n
            k, sign = k + 2, -sign
        return total

    near = 16 * arctangent(5) - 4 * arctangent(239) >> 64
    return near - 1, near + 2


@lru_cache(maxsize=64)
def _steps(fine: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """e^(i / 64) for i <= 45 and e^(j / 4096) for j < 64, each cut, within 2 units.

    e^(1 / 2**n) by its series with 64 guard bits, then powers: each of fewer than 64 products
    cuts 1 of 2**-(fine + 64), and grows no error by more than e.
    """
    far = fine + 64

    def powers(n: int, count: int) -> tuple[int, ...]:
        base = term = 1 << far
        k = 1
        while term:
            term = (term >> n) // k
            base += term
            k += 1
        found = [1 << far]
        while len(found) < count:
            found.append(found[-1] * base >> far)
        return tuple(x >> 64 for x in found)

    return powers(6, 46), powers(12, 64)


def exp_at(x: int, bits: int) -> Pair:
    """e^(x / 2**bits) for an exact argument of at most ``FARTHEST`` in size.

    With 24 guard bits, in units of 2**-(bits + 24): log 2 is known within 2 and taken out at most
    2**13 times, which moves e^r, r in [0, 0.7], by at most 2**15. The next 6 and 6 bits of r are
    looked up, within 2 units; the series of the rest, below 2**-12, has J <= 320 terms, each cut
    twice, and loses at most 3 J + 3. The two products cut 1 each. Everything is below 2.1 in
    size, so that the cuts are together below 2**13, and with the first below ``_LOST`` = 2**17.
    """
    fine = bits + _GUARD
    two = log_two(fine)
    doublings, rest = divmod(x << _GUARD, two)
    coarse, medium = _steps(fine)
    cut = rest >> fine - 12
    y = rest - (cut << fine - 12)
    total = term = 1 << fine
    k = 1
    while term:
        term = (term * y >> fine) // k
        total += term
        k += 1
    total = (total * medium[cut & 63] >> fine) * coarse[cut >> 6] >> fine
    return _shifted(total - _LOST, total + _LOST, doublings - _GUARD)


def _shifted(low: int, high: int, by: int) -> Pair:
    if by >= 0:
        return low << by, high << by
    return low >> -by, -(-high >> -by)


def exp(x: Pair, bits: int) -> Pair:
    """e^x of an enclosure: e^(x + d) <= e^x (1 + 2 d) for d <= 1.

    Raises OutOfReach where it is wider than 1/4 or above ``FARTHEST``; below it is near 0.
    """
    if x[1] < -FARTHEST << bits:
        return 0, exp_at(-FARTHEST << bits, bits)[1]
    if x[1] - x[0] > 1 << bits - 2 or x[1] > FARTHEST << bits or x[0] < -FARTHEST << bits:
        raise OutOfReach
    low, high = exp_at(x[0], bits)
    width = x[1] - x[0]
    return max(low, 0), high + (2 * high * width >> bits) + 1 if width else high


def square_root(x: int) -> Pair:
    """The square root of x, in units of 2**-bits where x is in units of 2**-(2 bits)."""
    low = isqrt(x)
    return low, low + (low * low < x)


@dataclass(frozen=True)
class _Nodes:
    """The trapezoidal rule for the Mills ratio, at one precision and step; see ``mills_at``."""

    step: int
    """In units of 1/64."""
    terms: tuple[Pair, ...]
    """e^(-t_n**2 / 2) within 2 units, times 2**bits, and t_n**2, exact."""
    loss: int
    """Units that the cuts of the sum lose at most, at any argument."""
    frequency: Pair
    """2 pi / step."""
    factor: Pair
    """2 step / sqrt(2 pi)."""
    root: Pair
    """sqrt(2 pi)."""


@lru_cache(maxsize=64)
def _coarse(bits: int) -> _Nodes:
    # About the largest step with e^(-(2 pi / step)**2 / 2) <= 2 units; the float only proposes.
    step = int(64 * 2 * math.pi / math.sqrt(2 * bits * math.log(2)))
    while exp_at(-((128 * _pi(bits)[0] // step) ** 2 >> bits + 1), bits)[1] > 2:
        step -= 1
    return _with_step(step, bits)


@lru_cache(maxsize=64)
def _fine(bits: int) -> _Nodes:
    return _with_step(_coarse(bits).step // 2, bits)


def _with_step(step: int, bits: int) -> _Nodes:
    terms: list[Pair] = []
    loss = 0
    while True:
        square = ((2 * len(terms) + 1) * step) ** 2 << bits - 14
        low, high = exp_at(-square >> 1, bits)
        if high <= 2 and square >= 4 << bits:
            break
        terms.append((max(low, 0) << bits, square))
        inverse = -(-(1 << bits) // square)
        loss += 2 * inverse + inverse * inverse + 1
    pi = _pi(bits)
    root = square_root(2 * pi[0] << bits)[0], square_root(2 * pi[1] << bits)[1]
    factor = (step << 2 * bits - 5) // root[1], -(-(step << 2 * bits - 5) // root[0])
    frequency = 128 * pi[0] // step, -(-128 * pi[1] // step)
    return _Nodes(step, tuple(terms), loss, frequency, factor, root)


def root_two_pi(bits: int) -> Pair:
    """sqrt(2 pi)."""
    return _coarse(bits).root


def mills_at(x: int, bits: int) -> Pair:
    """The Mills ratio M(x) = e^(x**2/2) * integral of e^(-t**2/2) from x on, exact x >= 0.

    M(x) = (x / sqrt(2 pi)) * integral of f over the line, f(t) = e^(-t**2/2) / (t**2 + x**2). By
    Poisson's summation the rule with nodes t_n = (n + 1/2) h gives, k_m = 2 pi m / h,

        M(x) + sum over m >= 1 of (-1)**m e^(-k_m**2/2) (M(x - k_m) + M(x + k_m)),

    since f has the transform (sqrt(2 pi)/x) e^(-k**2/2) (M(x - k) + M(x + k))/2. For x < k_1 put
    M(-z) = sqrt(2 pi) e^(z**2/2) - M(z): the first parts sum to the negative of

        A = sqrt(2 pi) e^(x**2/2 - k_1 x) / (1 + e^(-k_1 x)),

    and what is left is at most sqrt(pi/2) sum of e^(-k_m**2/2) <= 2 e^(-k_1**2/2) in size. For
    x >= k_1 the terms with k_m <= x are together at most 3 e^(-k_1**2/2), and of those with
    k_m > x, m >= 2, each is below 3 e^(-(m - 1/2) k_1**2).

    The coarse step has e^(-k_1**2/2) <= 2 units; call its k_1 K. Up to x = 0.3 K the coarse step
    is taken and A added. Beyond, half the step is taken, k_1 >= 2 K, which costs less than A; as
    x**2/2 - k_1 x <= -0.555 K**2, A is below 3 e^(-K**2/2). From the last node on, t_N >= 2 and
    e^(-t_N**2/2) <= 2 units, the sum is at most e^(-t_N**2/2). So 14 units hold all that is left
    out. Nothing cancels: every term is positive. A weight off by 2 units, a denominator by 1 and
    a cut quotient lose 2/t**2 + 1/t**4 + 1 units at a node at most; from x >= 1 on t**2 may be
    replaced by 1.

    >>> low, high = mills_at(0, 64)   # sqrt(pi/2)
    >>> low / 2**64, high - low < 2**12
    (1.2533141373155003, True)
    """
    nodes = _coarse(bits)
    near = 10 * x <= 3 * nodes.frequency[0]
    if not near:
        nodes = _fine(bits)
    square = x * x >> bits
    total = sum([weight // (node + square) for weight, node in nodes.terms])
    loss = nodes.loss if x < 1 << bits else 4 * len(nodes.terms)
    low = ((total - loss) * nodes.factor[0] >> bits) * x >> bits
    high = -(-(-(-(total + loss) * nodes.factor[1] >> bits) * x) >> bits)
    low, high = low - 14, high + 14
    if near:
        drop = -nodes.frequency[1] * x >> bits, -(nodes.frequency[0] * x >> bits)
        half = x * x >> bits + 1
        kept = exp((half + drop[0], half + 1 + drop[1]), bits)
        fall = exp(drop, bits)
        one = 1 << bits
        low += nodes.root[0] * kept[0] // (one + fall[1])
        high -= -nodes.root[1] * kept[1] // (one + fall[0])
    return max(low, 0), high


def mills(x: Pair, bits: int) -> Pair:
    """The Mills ratio of an enclosure of a number that is not far below 0.

    M falls, by at most 1 a unit from 0 on and by at most 2 between -1/2 and 0. Raises OutOfReach
    where the enclosure reaches below that.
    """
    start = max(x[0], 0)
    if start - x[0] > 1 << bits - 1:
        raise OutOfReach
    low, high = mills_at(start, bits)
    return max(low - (x[1] - start), 0), high + 2 * (start - x[0])
