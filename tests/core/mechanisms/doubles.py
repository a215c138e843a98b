"""A plan and a driver for tests of mechanisms: no data, and noise that the test dictates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from interlace.core.laws import Joint, Law, Point
from interlace.core.mechanisms.codec import Served
from interlace.core.mechanisms.play import Respond, Secrets, State, answered, openings, play, start
from interlace.core.mechanisms.protocol import Answer, Mechanism, Public, Secret
from interlace.core.queries import Query, Sensitivity, Shares

Draw = Callable[[Law], tuple[int, ...]]


@dataclass(frozen=True)
class Reading:
    """A plan that satisfies ``core.queries.Plan``; ``values`` is what its engine would read."""

    values: tuple[int, ...] = (0,)
    sensitivity: Sensitivity = field(default_factory=lambda: Sensitivity.scalar(1))
    monotone: bool = True

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def shares(self) -> Shares:
        return ((self.size, self.sensitivity),)


def reading(*values: int, bound: int = 1, monotone: bool = True) -> Reading:
    """One unit moves every cell by up to ``bound``."""
    n = len(values)
    return Reading(values, Sensitivity(n, n * bound, n * bound**2, bound), monotone)


def scripted(draws: Iterable[int]) -> Draw:
    """A sampler that hands out what the test says, in order; no noise is never drawn."""
    left = iter(draws)

    def draw(law: Law) -> tuple[int, ...]:
        return silent(law) if isinstance(law, Point) else tuple(islice(left, law.size))

    return draw


def silent(law: Law) -> tuple[int, ...]:
    return (0,) * law.size


@dataclass
class Run:
    """A session without a ledger: draws, answers, and records every step and law used."""

    mechanism: Served
    draw: Draw = silent
    steps: list[Answer] = field(default_factory=list)
    laws: list[Law] = field(default_factory=list)
    secrets: Secrets = ()
    state: State = field(init=False)

    def __post_init__(self) -> None:
        self.state = start(self.mechanism)
        self.secrets = openings(self.mechanism, self._noise)

    def _noise(self, law: Law | Joint) -> tuple[int, ...]:
        assert not isinstance(law, Joint)  # these plans have one part
        self.laws.append(law)
        return self.draw(law)

    def _respond(self, leaf: Mechanism, secret: Secret, public: Public, query: Query) -> Answer:
        move = leaf.move(public, query)
        assert isinstance(move.plan, Reading)
        noise = self._noise(move.kernel.law)
        answer = answered(leaf, secret, public, query, move, move.plan.values, noise)
        self.steps.append(answer)
        return self.steps[-1]

    @property
    def left(self) -> int:
        return self.mechanism.left(self.state.public)

    def ask(self, query: Query, respond: Respond | None = None) -> Answer:
        answer, self.state = play(
            self.mechanism, self.secrets, self.state, query, respond or self._respond
        )
        return answer
