"""The recursion behind adaptive games: values of states, exact or enclosed, and strategies."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from interlace.core.errors import ParameterError
from interlace.core.finite.menu import Child, Number, Outcome
from interlace.core.interval import ZERO, Interval

_MOST_STATES = 1_000_000
_SHOWN_LINES = 200


class Rule(Protocol):
    """A filter as a frozen, hashable value: its state is what it has admitted.

    A filter that changes itself, such as ``interlace.Filter``, is none: wrap it. The method has
    a name of its own, so that one is not taken for the other.
    """

    def admitting(self, guarantee: Hashable, /) -> Self | None:
        """The rule after admitting this guarantee, or None where it refuses."""


@dataclass(frozen=True)
class Choice:
    """An analyst's strategy: open ``child``, go on as ``then`` says for its outcome. No entry,
    or None for a whole strategy, is to stop."""

    child: str
    then: tuple[tuple[Hashable, Choice], ...] = ()

    def after(self, outcome: Hashable) -> Choice | None:
        """How to go on after this outcome."""
        return next((choice for name, choice in self.then if name == outcome), None)

    def __str__(self) -> str:
        lines = _lines(self, self.child, "", _SHOWN_LINES)
        more = ["…"] if len(lines) > _SHOWN_LINES else []
        return "\n".join([*lines[:_SHOWN_LINES], *more])


def _lines(choice: Choice, head: str, indent: str, room: int) -> list[str]:
    lines = [indent + head]
    for name, after in choice.then:
        if len(lines) > room:
            break
        below = f"on {name}: {after.child}"
        lines += _lines(after, below, f"{indent}  ", room - len(lines))
    return lines


@dataclass(frozen=True)
class Reached:
    """The best that an analyst can reach: ``lower`` = ``upper`` where all numbers are rational.

    ``bit`` is the world in which the event is more likely; ``strategy`` reaches the value, up to
    the width of the enclosure; None where no mechanism helps.
    """

    lower: Fraction
    upper: Fraction
    bit: int
    strategy: Choice | None


N = TypeVar("N", Fraction, Interval)


@dataclass(frozen=True)
class Field(Generic[N]):
    """The arithmetic of one game: exact, or with enclosures."""

    zero: N
    lift: Callable[[Number], N]
    ratio: Callable[[Fraction, Fraction], N]
    """factor · e^loss."""
    payoff: Callable[[N], N]
    """What stopping is worth at a likelihood ratio, in units of the other bit's probability."""
    ends: Callable[[N], tuple[Fraction, Fraction]]
    better: Callable[[N, N], tuple[N, bool]]
    """The larger of two values, and whether it is surely the second."""


def exact_field(payoff: Callable[[Fraction], Fraction]) -> Field[Fraction]:
    """Rational numbers throughout: the value is the value."""
    return Field(
        Fraction(0),
        _exactly,
        lambda factor, _loss: factor,
        payoff,
        lambda value: (value, value),
        lambda old, new: (max(old, new), new > old),
    )


def interval_field(payoff: Callable[[Interval], Interval]) -> Field[Interval]:
    """Enclosures: a choice counts as better only where it surely is."""
    power = cache(lambda loss: Interval.of(loss).exp())
    return Field(
        ZERO,
        enclosed,
        lambda factor, loss: Interval.of(factor) * power(loss) if loss else Interval.of(factor),
        payoff,
        lambda value: (Fraction(value.lower), Fraction(value.upper)),
        lambda old, new: (
            Interval(max(old.lower, new.lower), max(old.upper, new.upper)),
            new.lower > old.upper,
        ),
    )


def _exactly(value: Number) -> Fraction:
    assert isinstance(value, Fraction)
    return value


def enclosed(value: Number) -> Interval:
    """The number as an enclosure."""
    return Interval.of(value) if isinstance(value, Fraction) else value


def positive(value: Number) -> bool:
    """Whether it is surely above zero."""
    return value > 0 if isinstance(value, Fraction) else value.lower > 0


class _State(NamedTuple):
    """``copies`` and ``rounds`` are what is left, ``factor`` and ``loss`` tell the likelihood
    ratio of what was seen."""

    copies: tuple[int, ...]
    rule: Rule
    rounds: int
    factor: Fraction = Fraction(1)
    loss: Fraction = Fraction(0)

    def moved(self, factor: Fraction, loss: Fraction) -> _State:
        return self._replace(factor=self.factor * factor, loss=self.loss + loss)


class Solver(Generic[N]):
    """The recursion for one order of the pair: P is the world of ``bit``."""

    def __init__(self, menu: tuple[Child, ...], rule: Rule, bit: int, numbers: Field[N]) -> None:
        self._menu = menu
        self._rule = rule
        self._bit = bit
        self._numbers: Field[N] = numbers
        self._known: dict[_State, tuple[N, int | None]] = {}
        self._admitted: dict[tuple[Rule, int], Rule | None] = {}
        self._strategies: dict[_State, Choice | None] = {}
        self._steps: list[list[tuple[N, N, Fraction, Fraction]]] = [
            [self._step(o) for o in child.outcomes] for child in menu
        ]

    def _step(self, outcome: Outcome) -> tuple[N, N, Fraction, Fraction]:
        p, q = (self._numbers.lift(outcome.p[b]) for b in (self._bit, 1 - self._bit))
        if self._bit:
            return p, q, 1 / outcome.factor, -outcome.loss
        return p, q, outcome.factor, outcome.loss

    def start(self, rounds: int) -> tuple[N, Choice | None]:
        """The value of a game of so many rounds, and the strategy that reaches it."""
        copies: tuple[int, ...] = tuple(child.copies for child in self._menu)
        state = _State(copies, self._rule, rounds)
        return self._value(state), self._strategy(state)

    def _value(self, state: _State) -> N:
        if state in self._known:
            return self._known[state][0]
        if len(self._known) >= _MOST_STATES:
            raise ParameterError("menu", f"the game has more than {_MOST_STATES} states")
        best: N = self._numbers.payoff(self._numbers.ratio(state.factor, state.loss))
        chosen: int | None = None
        for i in range(len(self._menu)):
            opened = self._opened(state, i)
            if opened is not None:
                best, taken = self._numbers.better(best, self._worth(opened, i))
                chosen = i if taken else chosen
        self._known[state] = best, chosen
        return best

    def _opened(self, state: _State, i: int) -> _State | None:
        """The state once child i is open and has not yet answered, if it may be opened."""
        copies: tuple[int, ...] = state.copies
        rule: Rule = state.rule
        if not copies[i] or not state.rounds:
            return None
        if (rule, i) not in self._admitted:
            self._admitted[rule, i] = rule.admitting(self._menu[i].guarantee)
        after = self._admitted[rule, i]
        if after is None:
            return None
        left = (*copies[:i], copies[i] - 1, *copies[i + 1 :])
        return _State(left, after, state.rounds - 1, state.factor, state.loss)

    def _worth(self, opened: _State, i: int) -> N:
        total: N = self._numbers.zero
        for p, q, more, further in self._steps[i]:
            if q == self._numbers.zero:
                # The bit is known: all of P's mass counts, whatever is opened later.
                total = total + self._numbers.ratio(opened.factor, opened.loss) * p
            elif p != self._numbers.zero:
                total = total + q * self._value(opened.moved(more, further))
        return total

    def _strategy(self, state: _State) -> Choice | None:
        if state not in self._strategies:
            chosen = self._known[state][1] if state in self._known else None
            opened = None if chosen is None else self._opened(state, chosen)
            self._strategies[state] = (
                None if chosen is None or opened is None else self._choice(opened, chosen)
            )
        return self._strategies[state]

    def _choice(self, opened: _State, i: int) -> Choice:
        child = self._menu[i]
        then = []
        for outcome, (_, _, more, further) in zip(child.outcomes, self._steps[i], strict=True):
            if all(p != self._numbers.zero for p in map(self._numbers.lift, outcome.p)):
                choice = self._strategy(opened.moved(more, further))
                if choice is not None:
                    then.append((outcome.name, choice))
        return Choice(child.name, tuple(then))
