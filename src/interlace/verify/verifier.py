"""The exact verifier: a mechanism's own code against every adaptive adversary.

It takes the claim from the mechanism and computes nothing as the accountant does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from itertools import islice

from interlace.core.exact import Real, float_down, float_up, natural, rational
from interlace.core.finite import evaluate, interleave, transcripts
from interlace.core.guarantees import Guarantee
from interlace.core.mechanisms.protocol import Composite, Mechanism, composite
from interlace.verify.findings import Findings, factors, smallest
from interlace.verify.mistakes import checked, claim_of
from interlace.verify.questions import Values, questions
from interlace.verify.report import Attack, Point, Report, Verdict, judge
from interlace.verify.tables import Progress, System

#: Where epsilon is reported unless said, if it cannot be at delta 0.
_DELTA = Fraction(1, 10**12)
_USUAL_DELTA = Fraction(1, 10**6)
#: No claim is compared at a larger epsilon.
_LARGEST = 700
_MOST_ROUNDS = 4
_LISTED = 20
_MOST_TUPLES = 50_000


def verify(
    mechanism: Mechanism | Composite,
    *,
    rounds: int | None = None,
    values: Values | None = None,
    epsilon: Real | Iterable[Real] | None = None,
    delta: Real | None = None,
    claim: Guarantee | None = None,
    tolerance: Real = 1e-9,
    progress: Progress | None = None,
) -> Report:
    """The worst case of ``mechanism`` against every adaptive adversary, and its claim beside it.

    The mechanism is played by the code that the centre plays it with, for every secret and
    every outcome in place of drawn ones. ``rounds`` questions are asked, unless said one more
    than it gives answers, at most 4. Delta is reported at 0, at ``epsilon`` (one or several; half
    the claim unless said) and at the claim; epsilon at ``delta``. The claim is
    ``mechanism.guarantee``, or ``claim``.

    ``values`` are what may be asked: pairs (value in M^0, value in M^1), or ``verify.Question``
    with a public query too. Unless said they are all pairs of 0 and the mechanism's
    ``sensitivity`` (1 where it has none), in both directions unless it takes monotone plans
    only; compared with a threshold of 0, or beside a guess that is its tolerance below 0; only
    (0, sensitivity) and its mirror image where values are answered with noise and no more
    (``Additive``). For one noisy number and plans that move by the ``sensitivity`` that is all: a
    larger shift of discrete Laplace or Gaussian noise is never more private. Plans that move by
    less get less noise in proportion, and their delta may be larger: verify the mechanism of a
    smaller ``sensitivity`` and as much less noise for them. For comparisons it is what thresholds
    next to the values can show; others, further away, have to be given.

    What is proved, for adversaries with these questions and rounds and for outcomes of exactly
    the named laws: the intervals contain the exact worst case. Where the mechanism's kernels are
    ``Compare``, or it derives from ``Additive`` with discrete Laplace noise, all its transcripts
    are looked at and epsilon is given at delta 0. Otherwise outcomes beyond a window are cut, of
    probability below 1e-20, so that epsilon is given at a ``delta`` of 1e-12 unless said, or 1e-6
    where no pure guarantee is claimed. Of a violated claim the report holds an attack that proves
    it. What is not covered: vectors, samplers and their floats, timing, errors, other values.

    ``progress`` is told what is done, and how much of how much.

    Raises ParameterError for arguments out of range, for a mechanism that is no frozen value,
    whose methods do not give what the protocol says or whose public state does not follow from
    what it released, and with an estimate for what is too large.

    >>> from interlace.core.mechanisms import Laplace
    >>> report = verify(Laplace(scale=2))
    >>> report.verdict, report.points[-1].kind, report.points[-1].worst
    ('tight', 'epsilon', (0.49999999999999994, 0.5000000000000001))
    """
    began = time.monotonic()
    told = progress or (lambda *_: None)
    checked(mechanism)
    claimed = claim_of(mechanism, claim)
    width = rational(tolerance, "tolerance", above=True, maximum=1)
    plan, asked = questions(mechanism, values)
    count = _rounds(mechanism, rounds)
    system = System(mechanism, plan, asked, count, told)
    found = _findings(system)
    at = _at(claimed, found, delta)
    epsilons = _epsilons(epsilon, claimed)
    points = _points(found, claimed, epsilons, at, told)
    parts = _parts(mechanism, values, count, told)
    sides = [] if parts is None else _points(parts, claimed, epsilons, at, told)
    verdict = judge(points, width)
    told("the best adversary", 0, 1)
    factor = found.telling(epsilons)
    adversary = found.pair.worst_adversary(exp_epsilon=factor)
    reached = evaluate(adversary, found.pair, exp_epsilon=factor)
    told("the best adversary", 1, 1)
    return Report(
        mechanism=repr(mechanism),
        claim=claimed,
        verdict=verdict,
        tolerance=float(width),
        rounds=count,
        questions=tuple(map(str, asked)),
        points=tuple(points),
        parts=tuple(sides),
        parts_verdict=_parts_verdict(mechanism, sides, width),
        adversary=adversary,
        reached=float(reached),
        reached_at=math.log(factor),
        attack=_attack(found, points),
        distance=float_up(found.distance),
        nodes=len(found.pair.graph()),
        seconds=time.monotonic() - began,
        findings=found,
    )


def _parts_verdict(
    mechanism: Mechanism | Composite, sides: list[Point], width: Fraction
) -> Verdict | None:
    if composite(mechanism) is None:
        return None
    return judge(sides, width) if sides else "undecided"


def _rounds(mechanism: Mechanism | Composite, rounds: int | None) -> int:
    if rounds is not None:
        return natural(rounds, "rounds", maximum=1000)
    return min(mechanism.left(mechanism.start()) + 1, _MOST_ROUNDS)


def _findings(system: System) -> Findings:
    least = smallest(system.pair)
    distance = system.distance()
    whole = system.closed and least is not None and 2 * distance < least
    return Findings(system.pair, distance, distance / least if whole and least else None)


def _parts(
    mechanism: Mechanism | Composite, values: Values | None, rounds: int, told: Progress
) -> Findings | None:
    """A composite's children side by side, each asked as often as the composite; None where
    they have too many tuples of histories."""
    whole = composite(mechanism)
    if whole is None:
        return None
    found = []
    for child in whole.children.values():
        # Questions in the composite's form are none that its children need take.
        plain = None if values is None else [v for v in values if isinstance(v, tuple)] or None
        plan, asked = questions(child, plain)
        found.append(_findings(System(child, plan, asked, rounds, told)))
    if math.prod(len(part.pair.graph()) for part in found) > _MOST_TUPLES:
        return None
    relative: Fraction | None = Fraction(1)
    for part in found:
        relative = (
            None if relative is None or part.relative is None else relative * (1 + part.relative)
        )
    return Findings(
        interleave(*(part.pair for part in found)),
        sum((part.distance for part in found), Fraction(0)),
        None if relative is None else relative - 1,
    )


def _at(claimed: Guarantee, found: Findings, delta: Real | None) -> Fraction:
    """The delta at which epsilon is reported."""
    if delta is not None:
        return rational(delta, "delta", maximum=1)
    if math.isinf(claimed.epsilon(0)):
        return _least_delta(claimed)
    return Fraction(0) if found.ratio() is not None else _DELTA


def _least_delta(claimed: Guarantee) -> Fraction:
    """The usual delta, or the claim's own where that is larger."""
    return max(_USUAL_DELTA, rational(claimed.delta(_LARGEST), "claim"))


def _epsilons(given: Real | Iterable[Real] | None, claimed: Guarantee) -> list[Fraction]:
    whole = claimed.epsilon(0)
    if math.isinf(whole):
        whole = claimed.epsilon(_least_delta(claimed))
    found = {Fraction(0)}
    if given is not None:
        several = given if isinstance(given, Iterable) else [given]
        found |= {rational(value, "epsilon", maximum=_LARGEST) for value in several}
    if whole <= _LARGEST:
        claim = rational(whole, "claim")
        found |= {claim} if given is not None else {claim, claim / 2}
    return sorted(found)


def _points(
    found: Findings,
    claimed: Guarantee,
    epsilons: list[Fraction],
    at: Fraction,
    told: Progress,
) -> list[Point]:
    points = []
    for i, epsilon in enumerate(epsilons):
        told("the worst case", i, len(epsilons) + 1)
        points.append(Point("delta", epsilon, claimed.delta(epsilon), found.delta(epsilon)))
    told("the worst case", len(epsilons), len(epsilons) + 1)
    upper = claimed.epsilon(at)
    points.append(Point("epsilon", at, upper, found.epsilon(at, upper)))
    told("the worst case", len(epsilons) + 1, len(epsilons) + 1)
    return points


def _attack(found: Findings, points: list[Point]) -> Attack | None:
    for point in points:
        if point.worst[0] > point.claimed:
            epsilon, delta = point.at, Fraction(point.claimed)
            if point.kind == "epsilon":
                epsilon, delta = delta, epsilon
            attack = _witness(found, epsilon, delta)
            if attack is not None:
                return attack
    return None


def _witness(found: Findings, epsilon: Fraction, delta: Fraction) -> Attack | None:
    factor = factors(epsilon)[1]
    adversary = found.pair.worst_adversary(exp_epsilon=factor)
    first = adversary.first
    event = []
    p = q = Fraction(0)
    for history, *masses in transcripts(adversary, found.pair):
        own, other = masses[first], masses[1 - first]
        if own > factor * other:
            p, q = p + own, q + other
            event.append((own, history))
    low, high = float_down(max(p - found.distance, Fraction(0))), float_up(q + found.distance)
    if Fraction(low) <= factor * Fraction(high) + delta:
        return None
    event.sort(key=lambda pair: pair[0], reverse=True)
    listed = islice((history for _, history in event), _LISTED)
    shown = tuple(tuple((str(x), str(y)) for x, y in history) for history in listed)
    return Attack(adversary, float(epsilon), float(delta), low, high, shown)
