"""Plays a certified mechanism as Theorem 3 says: randomised response, then post-processing.

The label is all that depends on the bit. What answers sees the label and the questions, so the
whole interaction is a post-processing of approximate randomised response (FORMULAS 3.7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeVar

from interlace.core.errors import ParameterError, SessionHalted
from interlace.core.finite.laws import History, Query, Response

if TYPE_CHECKING:
    from interlace.core.finite.certificate import Certificate, Joint

#: What approximate randomised response says: "I am b" gives the bit b away.
LABELS = ("I am 0", "0", "1", "I am 1")

T = TypeVar("T")


class Randomness(Protocol):
    """Where draws come from, such as ``random.SystemRandom()``."""

    def randrange(self, stop: int, /) -> int:
        """An integer from 0 to ``stop`` - 1, uniformly."""


def label_law(exp_epsilon: Fraction, delta: Fraction, bit: int) -> dict[str, Fraction]:
    """Approximate randomised response for ``bit`` (FORMULAS 2.1), all four labels in order.

    Raises ParameterError unless ``bit`` is 0 or 1.

    >>> label_law(Fraction(3), Fraction(0), 0)["0"]
    Fraction(3, 4)
    """
    if bit not in (0, 1):
        raise ParameterError("bit", "must be 0 or 1")
    good = (1 - delta) * exp_epsilon / (1 + exp_epsilon)
    bad = (1 - delta) / (1 + exp_epsilon)
    zero = dict(zip(LABELS, (delta, good, bad, Fraction(0)), strict=True))
    return zero if bit == 0 else dict(zip(LABELS, reversed(zero.values()), strict=True))


class Simulation:
    """The post-processing: one label, and the answers drawn from its branch's conditionals.

    It knows no bit. ``history`` is what was asked and answered so far.
    """

    def __init__(self, certificate: Certificate, label: str, rng: Randomness) -> None:
        if label not in LABELS:
            raise ParameterError("label", f"must be one of {', '.join(LABELS)}")
        self.label = label
        self.history: History = ()
        self._certificate = certificate
        self._node = certificate.root
        self._rng = rng

    def ask(self, query: Query) -> Response:
        """Answer ``query``. Raises SessionHalted after the last round, and ParameterError for
        a query that is none of the certificate's."""
        if len(self.history) == self._certificate.rounds:
            raise SessionHalted("all rounds of the certificate have been answered")
        law = self._conditionals(self._node, query)
        response = drawn(law, self._rng)
        self._node = self._node.then[query][response]
        self.history = (*self.history, (query, response))
        return response

    def law(self, history: History, query: Query) -> dict[Response, Fraction]:
        """The law of the answer to ``query`` after ``history``, given the label.

        Raises ParameterError for what the label's branch never says, or for another query.
        """
        return self._conditionals(self._certificate.at(history), query)

    def _conditionals(self, node: Joint, query: Query) -> dict[Response, Fraction]:
        if query not in self._certificate.queries:
            raise ParameterError("query", f"must be one of {self._certificate.queries!r}")
        above = branch(node, self.label)
        if not above:
            raise ParameterError("history", f"is impossible under the label {self.label!r}")
        below = {y: branch(child, self.label) for y, child in node.then.get(query, {}).items()}
        return {response: weight / above for response, weight in below.items() if weight}


def branch(node: Joint, label: str) -> Fraction:
    """The joint function of a label's branch at one transcript: "I am b" is E^b, "b" is N^b."""
    system = node.e if label.startswith("I am") else node.n
    return system[int(label[-1])]


def simulate(certificate: Certificate, rng: Randomness, bit: int) -> Simulation:
    """Draw a label for ``bit`` and hand over to the post-processing: what is asked of it has
    exactly the law of M^bit. Draws are exact.

    >>> import random
    >>> from interlace.core.finite import FinitePair
    >>> from interlace.core.finite.certificate import certify
    >>> pair = FinitePair(lambda bit, history, query: {bit: 1}, queries=["bit?"], rounds=2)
    >>> played = simulate(certify(pair, epsilon=0, delta=1), random.Random(1), 1)
    >>> played.label, played.ask("bit?"), played.ask("bit?")
    ('I am 1', 1, 1)
    """
    label = drawn(label_law(certificate.exp_epsilon, certificate.delta, bit), rng)
    return Simulation(certificate, label, rng)


def drawn(law: Mapping[T, Fraction], rng: Randomness) -> T:
    """One draw from an exact law, by one uniform integer below the common denominator."""
    whole = math.lcm(*(p.denominator for p in law.values()))
    left = rng.randrange(whole)
    for outcome, p in law.items():
        left -= int(p * whole)
        if left < 0:
            return outcome
    raise ParameterError("law", "does not sum to 1: check the certificate first")
