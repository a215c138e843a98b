"""The theorems as experiments: random systems, the exact best adversary, and what is claimed.

A theorem cannot be wrong; what implements it can. So every number here comes from the systems
and from exact fractions, none from the accountant (``composition``): bounds are computed anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from random import Random

from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.exact import natural
from interlace.core.finite import Certificate, Counterexample, certify, evaluate, interleave
from interlace.core.finite.laws import History
from interlace.core.finite.worst import WorstCase
from interlace.verify.outcome import Experiment, Finding, Outcome, Trial
from interlace.verify.random_pairs import random_pair, randomised_response, shapes
from interlace.verify.tables import Progress

Point = tuple[Fraction, Fraction]
"""(e^epsilon, delta)."""
Bound = Callable[[Sequence[Point], Fraction], Fraction]
Certifier = Callable[[WorstCase, Fraction, Fraction], Certificate | Counterexample]
Order = Fraction | float
"""Of a Rényi divergence; it may be infinite where it bounds orders."""

_ZERO, _ONE = Fraction(0), Fraction(1)
_RATIOS = tuple(map(Fraction, ("1", "1", "11/10", "3/2", "2", "3", "10")))
_SHARES = tuple(map(Fraction, ("0", "1/1000", "1/10", "1/2")))
#: Tuples of histories of one trial.
_JOINT, _SINGLE = 800, 900
_ORDERS = tuple(map(Fraction, ("1", "5/4", "3/2", "2", "3", "4", "8")))
_OMEGAS: tuple[Order, ...] = (Fraction(3, 2), Fraction(2), Fraction(4), math.inf, math.inf)


def run(
    name: str, trials: int, seed: int, progress: Progress | None = None, *, start: int = 0
) -> Outcome:
    """Check a theorem on random systems: "theorem1", "theorem2", "theorem3" or "corollary1".

    Equal arguments give equal findings. ``progress`` is told ("trials", how many are done, of
    how many); ``start`` is the number of the first trial, to repeat one that failed.

    Raises ParameterError for another name and counts out of range.

    >>> outcome = run("theorem1", trials=3, seed=1)
    >>> outcome.holds, outcome.first
    (True, None)
    """
    if name not in EXPERIMENTS:
        raise ParameterError("name", f"must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    count = natural(trials, "trials")
    first = natural(start, "start", minimum=0)
    return EXPERIMENTS[name].run(count, natural(seed, "seed", minimum=0), progress, start=first)


def optimal_delta(points: Sequence[Point], ratio: Fraction) -> Fraction:
    """Delta at e^epsilon = ``ratio`` of the optimal composition of (e^epsilon_i, delta_i), by
    the sum over all subsets (FORMULAS 2.3).

    >>> optimal_delta([(Fraction(3), Fraction(1, 100))] * 2, Fraction(3))
    Fraction(6199, 16000)
    """
    indices = range(len(points))
    whole = math.prod((r for r, _ in points), start=_ONE)
    gained = _ZERO
    for size in range(len(points) + 1):
        for chosen in combinations(indices, size):
            inside = math.prod((points[i][0] for i in chosen), start=_ONE)
            gained += max(inside - ratio * whole / inside, _ZERO)
    gained /= math.prod((1 + r for r, _ in points), start=_ONE)
    return 1 - math.prod((1 - d for _, d in points), start=_ONE) * (1 - gained)


def theorem1(rng: Random, bound: Bound = optimal_delta) -> Trial:
    """The best interleaving adversary of (epsilon_i, delta_i)-indistinguishable pairs reaches
    no more than the optimal composition (FORMULAS 2.1), and just that with approximate
    randomised responses."""
    extremal = rng.random() < 0.25
    if extremal:
        points = [(rng.choice(_RATIOS), _some_share(rng)) for _ in range(rng.randint(1, 4))]
        pairs: list[WorstCase] = [randomised_response(*point) for point in points]
    else:
        pairs = _pairs(rng)
        points = [_point(rng, pair) for pair in pairs]
    whole = math.prod((r for r, _ in points), start=_ONE)
    ratios = {_ONE, whole, 1 + (whole - 1) * Fraction(rng.randint(1, 9), 10)}

    def findings() -> Iterator[Finding]:
        joint = interleave(*pairs)
        for ratio in sorted(ratios):
            reached, most = _exact(joint.delta(exp_epsilon=ratio)), bound(points, ratio)
            claim = f"delta at e^epsilon = {ratio} of (e^epsilon_i, delta_i) = {_told(points)}"
            if extremal:
                yield Finding.equal(claim, reached, most)
            else:
                # Where all is lost anyway nothing is learnt about tightness.
                found = Finding.at_most(claim, reached, most)
                yield found if most < 1 else Finding(found.claim, found.holds)

    return Trial(tuple(pairs), findings())


def _point(rng: Random, pair: WorstCase) -> Point:
    """An (e^epsilon, delta) that the pair satisfies: delta 0, its minimum, above it, or 1."""
    kind = rng.choice(["pure", "least", "least", "corner", "above", "one"])
    if kind == "one":
        return rng.choice(_RATIOS), _ONE
    largest = pair.exp_epsilon(0)
    if kind == "pure" and isinstance(largest, Fraction):
        return largest, _ZERO
    corners = pair.profile().corners
    ratio = rng.choice(corners)[0] if kind == "corner" else rng.choice(_RATIOS)
    least = _exact(pair.delta(exp_epsilon=ratio))
    return ratio, least + (1 - least) * (_some_share(rng) if kind == "above" else 0)


def _some_share(rng: Random) -> Fraction:
    return _ONE if rng.random() < 0.05 else rng.choice(_SHARES)


def theorem2(
    rng: Random, moment: Callable[[WorstCase, int, int], Fraction | None] | None = None
) -> Trial:
    """The greatest moment of the privacy loss of an interleaving is the product of the pairs'
    own, exactly, in each order of the pair (FORMULAS 2.6)."""
    pairs = _pairs(rng, common=rng.random() < 0.8)
    own = moment or greatest_moment

    def findings() -> Iterator[Finding]:
        joint = interleave(*pairs)
        for alpha in (2, 3, rng.randint(4, 9)):
            reached = joint.renyi_moment(alpha)
            products = [_product([own(pair, alpha, bit) for pair in pairs]) for bit in (0, 1)]
            claim = f"moment of order {alpha}"
            yield Finding.equal(claim, reached, max(products))
            # Each pair in its own worse order is what one adds up: more than one adversary gets.
            most = _product([_finite(pair.renyi_moment(alpha)) for pair in pairs])
            if isinstance(most, Fraction) and isinstance(reached, Fraction):
                yield Finding.at_most(f"{claim}, the worse orders multiplied", reached, most)

    return Trial(tuple(pairs), findings())


def greatest_moment(pair: WorstCase, alpha: int, bit: int) -> Fraction | None:
    """The greatest sum of P^alpha Q^(1-alpha), P being the law of ``bit``, by the plainest
    recursion over histories; None where it is infinite."""

    def best(history: History) -> Fraction | None:
        if len(history) == pair.rounds:
            return _ONE
        found = []
        for query in pair.queries:
            here, there = pair.law(bit, history, query), pair.law(1 - bit, history, query)
            total = _ZERO
            for response, p in here.items():
                below = best((*history, (query, response))) if response in there else None
                if below is None:
                    return None
                total += Fraction(p) ** alpha / Fraction(there[response]) ** (alpha - 1) * below
            found.append(total)
        return max(found)

    return best(())


def _product(moments: Sequence[Fraction | None]) -> Fraction | float:
    found = [moment for moment in moments if moment is not None]
    return math.prod(found, start=_ONE) if len(found) == len(moments) else math.inf


def _finite(moment: Fraction | float) -> Fraction | None:
    return moment if isinstance(moment, Fraction) else None


def theorem3(rng: Random, certifier: Certifier | None = None) -> Trial:
    """From the least delta on there is a certificate that the referee accepts; below it an
    adversary and an event whose two probabilities refute the claim (FORMULAS 3)."""
    [shape] = shapes(rng, 1, _SINGLE)
    pair = random_pair(rng, shape)
    ratio = rng.choice([*_RATIOS, *(at for at, _ in pair.profile().corners)])
    least = _exact(pair.delta(exp_epsilon=ratio))
    above = least + (1 - least) * Fraction(rng.randint(1, 9), 10)
    below = {_ZERO, least * Fraction(rng.randint(1, 9), 10), least * (1 - Fraction(1, 10**9))}
    deltas = sorted({least, above, _ONE, *below})

    def findings() -> Iterator[Finding]:
        adversary = pair.worst_adversary(exp_epsilon=ratio)
        reached = evaluate(adversary, pair, exp_epsilon=ratio)
        yield Finding.equal(f"the worst adversary at e^epsilon = {ratio}", reached, least)
        for delta in deltas:
            found = (certifier or _certified)(pair, ratio, delta)
            yield _proof(pair, found, (ratio, delta), least)

    return Trial((pair,), findings())


def _certified(pair: WorstCase, ratio: Fraction, delta: Fraction) -> Certificate | Counterexample:
    return certify(pair, exp_epsilon=ratio, delta=delta)


def _proof(
    pair: WorstCase, found: Certificate | Counterexample, claim: Point, least: Fraction
) -> Finding:
    ratio, delta = claim
    told = f"(log {ratio}, {delta}), where {least} is the least delta"
    try:
        checked = found.check(pair)
    except CheckFailed as error:
        return Finding(f"{told}: {error}", holds=False)
    if (checked.exp_epsilon, checked.delta) != claim:
        return Finding(f"{told}: it is about {checked.exp_epsilon}, {checked.delta}", holds=False)
    if isinstance(found, Certificate):
        # How near to the minimum a certificate exists.
        return Finding(f"{told}: a certificate", delta >= least, least / delta if delta else None)
    proved = found.p - ratio * found.q
    proves = delta < proved <= least
    return Finding(f"{told}: P - e^epsilon Q = {proved} of an attack exceeds delta", proves)


def corollary1(rng: Random, least_omega: Callable[[Sequence[Order]], Order] = min) -> Trial:
    """(rho_i, omega_i)-tCDP pairs are together (sum of rho_i, least omega_i)-tCDP; omega_i is
    infinite for zCDP (FORMULAS 2.7). Orders are those of a grid."""
    pairs = _pairs(rng, common=True)
    omegas = [rng.choice(_OMEGAS) for _ in pairs]

    def findings() -> Iterator[Finding]:
        joint = interleave(*pairs)
        rhos = [_rho(pair, omega) for pair, omega in zip(pairs, omegas, strict=True)]
        for alpha in _ORDERS:
            if alpha < least_omega(omegas):
                claim = f"divergence of order {alpha} with omega_i = {[str(w) for w in omegas]}"
                reached = _before_rounding(joint.renyi(alpha))
                yield Finding.at_most(claim, reached, alpha * sum(rhos))

    return Trial(tuple(pairs), findings())


def _before_rounding(divergence: float) -> Fraction:
    """Not above the exact divergence, which was rounded up: to a float, after sums of logarithms
    of 60 digits. A bound that is met exactly is no failure."""
    lower = Fraction(divergence) * (1 - Fraction(1, 2**48)) - Fraction(1, 2**128)
    return max(lower, _ZERO)


def _rho(pair: WorstCase, omega: Order) -> Fraction:
    """The least rho of (rho, omega)-tCDP on the grid, rounded up."""
    return max(Fraction(pair.renyi(alpha)) / alpha for alpha in _ORDERS if alpha < omega)


def _pairs(rng: Random, *, common: bool = False) -> list[WorstCase]:
    drawn = shapes(rng, rng.choice([2, 2, 2, 3]), _JOINT)
    return [random_pair(rng, shape, common=common) for shape in drawn]


def _exact(value: Fraction | float) -> Fraction:
    assert isinstance(value, Fraction)  # of an exact pair at a rational ratio
    return value


def _told(points: Sequence[Point]) -> str:
    return ", ".join(f"({ratio}, {delta})" for ratio, delta in points)


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "theorem1",
            "interleaved (eps_i, delta_i) pairs stay within optimal composition",
            theorem1,
        ),
        Experiment("theorem2", "Rényi moments multiply exactly when interleaved", theorem2),
        Experiment("theorem3", "certificates from the least delta on, attacks below", theorem3),
        Experiment("corollary1", "rho adds up when interleaved, at the least omega", corollary1),
    )
}
"""By name."""
