"""An attack on a finite pair: a deterministic adversary, an event and its two probabilities, in
exact numbers that anyone can check."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Self

from interlace.core.finite.laws import Query, Response
from interlace.core.finite.levels import Both, Level, Pair

if TYPE_CHECKING:
    from interlace.core.finite.check import Checked


@dataclass(frozen=True)
class Seen:
    """What a counterexample's adversary sees: the probabilities of the transcript up to here
    under each bit, and either the next question or a verdict."""

    m: Both
    then: Question | None = None
    event: bool = False


@dataclass(frozen=True)
class Question:
    """The adversary's only query after one transcript, and the answers that are possible."""

    query: Query
    answers: dict[Response, Seen] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Counterexample:
    """A deterministic adversary and an event with P > e^ε·Q + δ, P being its probability under
    ``bit`` and Q under the other: the pair is not (ε, δ)-indistinguishable.

    The adversary stops as soon as its verdict is settled. ``str`` draws it.
    """

    exp_epsilon: Fraction
    delta: Fraction
    rounds: int
    bit: int
    p: Fraction
    q: Fraction
    strategy: Question = field(repr=False)

    @property
    def excess(self) -> Fraction:
        """P - e^ε·Q: no delta below it would do."""
        return self.p - self.exp_epsilon * self.q

    def check(self, pair: Pair | None = None) -> Checked:
        """As ``Certificate.check``: recompute both probabilities and the claim."""
        from interlace.core.finite.documents import verify

        return verify(self.to_json(), pair)

    def to_json(self) -> str:
        """The documented JSON form; raises as ``Certificate.to_json``."""
        from interlace.core.finite.documents import write_counterexample

        return write_counterexample(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """As ``Certificate.from_json``."""
        from interlace.core.finite.reading import read_as

        return read_as(cls, text, "counterexample")

    def __str__(self) -> str:
        return "\n".join(_drawn(self.strategy, self.bit, ""))


def attack(
    pair: Pair, levels: list[Level], gained: list[list[Both]], claim: Both
) -> Counterexample:
    """The best adversary, from what is gained below each transcript (FORMULAS 3.1). ``claim`` is
    (e^epsilon, delta), and delta below the least."""
    [least] = gained[0]
    bit = int(least[1] > least[0])
    hung: list[dict[int, list[int]]] = [{} for _ in levels]
    for level, by_parent in zip(levels[1:], hung, strict=False):
        for number, group in enumerate(level.groups):
            by_parent.setdefault(group.parent, []).append(number)
    found = [Fraction(0), Fraction(0)]

    def question(depth: int, node: int) -> Question:
        level, gain = levels[depth + 1], gained[depth + 1]
        groups = [level.groups[i] for i in hung[depth][node]]
        best = max(groups, key=lambda g: sum(low[bit] for low in gain[g.first : g.stop]))
        answers = {level.answers[i]: seen(depth + 1, i) for i in range(best.first, best.stop)}
        return Question(pair.queries[best.query], answers)

    def seen(depth: int, node: int) -> Seen:
        m, gain = levels[depth].joint[node], gained[depth][node][bit]
        if not gain:
            return Seen(m)
        # Nothing is gained by asking on where every continuation would be in the event.
        if gain == m[bit] - claim[0] * m[1 - bit]:
            found[0] += m[bit]
            found[1] += m[1 - bit]
            return Seen(m, event=True)
        return Seen(m, question(depth, node))

    strategy = question(0, 0)
    return Counterexample(*claim, pair.rounds, bit, found[0], found[1], strategy)


def _drawn(question: Question, bit: int, indent: str) -> list[str]:
    lines = [f"{indent}ask {question.query!r}"]
    for response, after in question.answers.items():
        if after.then is None:
            verdict = bit if after.event else 1 - bit
            lines.append(f"{indent}  {response!r}: say {verdict}")
        else:
            below = _drawn(after.then, bit, indent + "    ")
            lines += [f"{indent}  {response!r}:", *below]
    return lines
