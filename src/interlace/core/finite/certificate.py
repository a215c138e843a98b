"""A proof that a finite pair is (epsilon, delta)-indistinguishable, or an attack that shows it is
not: Theorem 3 of Lyu made explicit, in exact numbers that anyone can check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.finite.counterexample import Counterexample, attack
from interlace.core.finite.decompose import gains, residuals
from interlace.core.finite.laws import History, Query, Response
from interlace.core.finite.levels import Below, Both, Level, Pair, enumerate_levels, folded
from interlace.core.finite.ratios import read_ratio_up
from interlace.core.interval import Interval

if TYPE_CHECKING:
    from interlace.core.finite.check import Checked
    from interlace.core.finite.simulate import Randomness, Simulation


@dataclass(frozen=True)
class Joint:
    """The joint functions at one transcript, for each bit, and what may follow it.

    ``m`` is the pair itself, ``e`` tells the bit, ``n`` is as indistinguishable as pure
    epsilon allows; transcripts that are impossible under both bits are left out.
    """

    m: Both
    e: Both
    n: Both
    then: dict[Query, dict[Response, Joint]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Certificate:
    """The systems of Theorem 3: at every transcript and for both bits,
    M^b = δE^b + (1-δ)(e^ε/(1+e^ε) N^b + 1/(1+e^ε) N^(1-b)), exactly.

    Who believes the numbers ``m`` believes the claim: approximate randomised response is
    (ε, δ)-DP, and M is a post-processing of it (FORMULAS 3.7). Nothing is said about programs
    that only approximate these probabilities.
    """

    exp_epsilon: Fraction
    delta: Fraction
    queries: tuple[Query, ...]
    rounds: int
    root: Joint = field(repr=False)

    @property
    def epsilon(self) -> float:
        """log of ``exp_epsilon``, rounded up."""
        return 0.0 if self.exp_epsilon == 1 else Interval.of(self.exp_epsilon).log().up()

    def at(self, history: History) -> Joint:
        """The numbers at one transcript.

        Raises ParameterError for a transcript that is impossible under both bits.
        """
        node = self.root
        for query, response in history:
            try:
                node = node.then[query][response]
            except (KeyError, TypeError):
                raise ParameterError("history", "is impossible under both bits") from None
        return node

    def check(self, pair: Pair | None = None) -> Checked:
        """Verify every number anew, from the JSON form, by code that shares none with what made
        it; with ``pair``, also that the certificate is about that pair.

        Raises CheckFailed, naming the transcript, where the claim does not follow.
        """
        from interlace.core.finite.documents import verify

        return verify(self.to_json(), pair)

    def to_json(self) -> str:
        """The documented JSON form. Raises ParameterError for queries or responses that have
        none: text, integers, booleans, None and tuples of these do."""
        from interlace.core.finite.documents import write_certificate

        return write_certificate(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON form; whether the claim holds is for ``check`` to say.

        Raises ParameterError, naming the place, for anything but a certificate.
        """
        from interlace.core.finite.reading import read_as

        return read_as(cls, text, "certificate")

    def simulate(self, rng: Randomness, bit: int) -> Simulation:
        """Play M^bit as the theorem says: draw the label of approximate randomised response for
        ``bit``, then answer from the label alone (FORMULAS 3.7)."""
        from interlace.core.finite.simulate import simulate

        return simulate(self, rng, bit)


def certify(
    pair: Pair,
    *,
    epsilon: Real | None = None,
    exp_epsilon: Real | None = None,
    delta: Real,
) -> Certificate | Counterexample:
    """A certificate that no adaptive adversary tells ``pair`` apart beyond (epsilon, delta), or
    the adversary that does (Theorem 3; FORMULAS 3.8).

    Exact: at the least delta there is a certificate, and below it a counterexample. An
    ``epsilon`` is taken at e^epsilon rounded up to a multiple of 2**-64. Float laws are read
    at their exact values, divided by their sum. An interleaving is certified against every
    interleaving adversary, whatever its ``power``.

    Raises ParameterError for arguments out of range and for a pair with too many transcripts
    to list.

    >>> from interlace.core.finite import FinitePair
    >>> response = FinitePair(
    ...     lambda bit, history, query: {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)},
    ...     queries=["ask"], rounds=1)
    >>> certify(response, exp_epsilon=3, delta=0).check().kind
    'certificate'
    >>> attack = certify(response, exp_epsilon=2, delta=Fraction(1, 5))
    >>> attack.p, attack.q, attack.check().kind
    (Fraction(3, 4), Fraction(1, 4), 'counterexample')
    >>> print(attack)
    ask 'ask'
      0: say 0
      1: say 1
    """
    ratio = read_ratio_up(epsilon, exp_epsilon)
    allowed = rational(delta, "delta", maximum=1)
    levels = enumerate_levels(pair)
    gained = gains(levels, ratio)
    [least] = gained[0]
    if allowed < max(least):
        return attack(pair, levels, gained, (ratio, allowed))
    parts = residuals(levels, gained, ratio, allowed)
    root = _nested(pair, levels, parts, (ratio, allowed))
    return Certificate(ratio, allowed, pair.queries, pair.rounds, root)


def _nested(pair: Pair, levels: list[Level], parts: list[list[Both]], claim: Both) -> Joint:
    systems = _systems(*claim)

    def make(depth: int, i: int, below: Below[Joint]) -> Joint:
        m = levels[depth].joint[i]
        then = {pair.queries[number]: dict(answers) for number, answers in below}
        return Joint(m, *systems(m, parts[depth][i]), then)

    return folded(levels, make)


def _systems(ratio: Fraction, delta: Fraction) -> Callable[[Both, Both], tuple[Both, Both]]:
    """From M and the residual a = (1-δ)N of a transcript to its E and N' (FORMULAS 3.8); where δ is
    0 or 1 one of them is arbitrary, and M itself."""
    kept = 1 - delta
    if not kept:
        return lambda m, _: (m, m)
    if ratio == 1:
        own, other = 1 / kept, Fraction(0)  # N' = N, the same under both bits
    else:
        # Lemma 3 of Lyu: N'^b = (e^ε N^b - N^(1-b)) / (e^ε - 1).
        own, other = ratio / (ratio - 1) / kept, -1 / (ratio - 1) / kept
    share = 1 / delta if delta else Fraction(0)

    def systems(m: Both, a: Both) -> tuple[Both, Both]:
        e = (share * (m[0] - a[0]), share * (m[1] - a[1])) if share else m
        return e, (own * a[0] + other * a[1], own * a[1] + other * a[0])

    return systems
