"""What the verifier's adversary may ask: a public query, and a pair of private values for it.

A pair is (value in M^0, value in M^1), of which the mechanism sees neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.mechanisms.additive import Additive
from interlace.core.mechanisms.play import openings, play, start
from interlace.core.mechanisms.protocol import Answer, Composite, Mechanism, Public, Secret
from interlace.core.queries import LARGEST_INTEGER, Comparison, Query, Sensitivity, Shares


@dataclass(frozen=True)
class Plan:
    """Stands for any plan of one number: what a mechanism may know of it."""

    sensitivity: Sensitivity
    monotone: bool
    size: int = 1

    @property
    def shares(self) -> Shares:
        """One part."""
        return ((1, self.sensitivity),)


@dataclass(frozen=True)
class Question:
    """``zero`` and ``one`` are the value on the two neighbours; beside it at most one of what a
    query has: ``at_least``, ``at_most``, ``guess``.

    >>> print(Question(0, 1, at_least=5))
    (0, 1) >= 5
    """

    zero: int
    one: int
    at_least: int | None = None
    at_most: int | None = None
    guess: int | None = None

    def __post_init__(self) -> None:
        for name in ("zero", "one"):
            natural(getattr(self, name), name, minimum=-LARGEST_INTEGER, maximum=LARGEST_INTEGER)
        given = [self.at_least, self.at_most, self.guess]
        if sum(value is not None for value in given) > 1:
            raise ParameterError("values", "a question has one of at_least, at_most and guess")

    @property
    def values(self) -> tuple[int, int]:
        """In M^0 and in M^1."""
        return self.zero, self.one

    def query(self, plan: Plan) -> Query:
        """What the mechanism is asked."""
        if self.at_least is not None:
            return Query(plan, Comparison.at_least(self.at_least))
        if self.at_most is not None:
            return Query(plan, Comparison.at_most(self.at_most))
        return Query(plan, guess=self.guess)

    def __str__(self) -> str:
        named = {">=": self.at_least, "<=": self.at_most, "guess": self.guess}
        forms = [f" {name} {value}" for name, value in named.items() if value is not None]
        return f"({self.zero}, {self.one})" + "".join(forms)


Values = Iterable[tuple[int, int] | Question]


def questions(
    mechanism: Mechanism | Composite, values: Values | None
) -> tuple[Plan, tuple[Question, ...]]:
    """The plan and the questions for ``verify``, which tells what they cover.

    Raises ParameterError for values that move further than the mechanism declares, and for a
    mechanism that takes no such question.
    """
    given = None if values is None else _listed(values)
    pairs = [v.values if isinstance(v, Question) else _pair(v) for v in given or []]
    bound = _sensitivity(mechanism, pairs)
    scalar = Sensitivity.scalar(bound)
    for plan in (Plan(scalar, monotone=False), Plan(scalar, monotone=True)):
        found = _completed(mechanism, plan, given)
        if found:
            break
    else:
        _refuse(mechanism, Plan(scalar, monotone=True), given)
    rising = {q.zero < q.one for q in found if q.zero != q.one}
    if plan.monotone and len(rising) > 1:
        raise ParameterError(
            "values",
            "the mechanism takes monotone plans only: the values of one of the two neighbours "
            "must be the larger ones throughout",
        )
    return plan, tuple(dict.fromkeys(found))


def _listed(values: Any) -> list[tuple[int, int] | Question]:
    if isinstance(values, str | Question) or not isinstance(values, Iterable):
        raise ParameterError(
            "values",
            f"must be a list of pairs (value in M^0, value in M^1) or Questions, such as "
            f"[(0, 1), (1, 0)], not a {type(values).__name__}",
        )
    found = list(values)
    if not found:
        raise ParameterError("values", "must name at least one pair of values")
    return found


def _pair(value: Any) -> tuple[int, int]:
    problem = "must be pairs (value in M^0, value in M^1) of integers, or Questions"
    if not isinstance(value, tuple) or len(value) != 2:
        raise ParameterError("values", f"{problem}: {value!r} is none")
    try:
        return Question(*value).values
    except ParameterError as error:
        raise ParameterError("values", f"{problem}: {value!r} is none ({error})") from None


def _refuse(
    mechanism: Mechanism | Composite, plan: Plan, given: Sequence[tuple[int, int] | Question] | None
) -> NoReturn:
    for question in given or []:
        if isinstance(question, Question):
            problem = refusal(mechanism, question.query(plan))
            if problem is not None:
                raise ParameterError(
                    "values",
                    f"a {type(mechanism).__name__} does not take the question {question} "
                    f"({problem})",
                )
    raise ParameterError(
        "values",
        "the mechanism takes none of a plain query, at_least= and guess= for one number: "
        "say what it takes by interlace.verify.Question",
    )


def _sensitivity(mechanism: Mechanism | Composite, pairs: list[tuple[int, int]]) -> int:
    declared = getattr(mechanism, "sensitivity", None)
    moved = max((abs(zero - one) for zero, one in pairs), default=1)
    if not isinstance(declared, int):
        return max(moved, 1)
    if moved > declared:
        raise ParameterError(
            "values", f"a pair may differ by the mechanism's sensitivity, {declared}, at most"
        )
    return declared


def _completed(
    mechanism: Mechanism | Composite,
    plan: Plan,
    given: Sequence[tuple[int, int] | Question] | None,
) -> list[Question]:
    """The questions, pairs in a form that is taken; none where there is no such form."""
    form = _form(mechanism, plan)
    if given is None:
        plain = isinstance(mechanism, Additive)
        pairs = [] if form is None else _pairs(plan.sensitivity.linf, plan, plain=plain)
        return [Question(*pair, **form or {}) for pair in pairs]
    if form is None and not all(isinstance(v, Question) for v in given):
        return []
    found = [v if isinstance(v, Question) else Question(*v, **form or {}) for v in given]
    return found if all(accepted(mechanism, q.query(plan)) for q in found) else []


def _form(mechanism: Mechanism | Composite, plan: Plan) -> dict[str, int] | None:
    """What is asked beside a number, of the first kind of query that is taken."""
    # |value - guess| >= tolerance is value >= 0 then, for values from 0.
    tolerance = getattr(mechanism, "tolerance", None)
    guess = -tolerance if isinstance(tolerance, int) else 0
    forms: list[dict[str, int]] = [{}, {"at_least": 0}, {"guess": guess}]
    taken = (f for f in forms if accepted(mechanism, Question(0, 0, **f).query(plan)))
    return next(taken, None)


def _pairs(bound: int, plan: Plan, *, plain: bool) -> list[tuple[int, int]]:
    if plain:
        return [(0, bound), (bound, 0)][: 1 if plan.monotone else 2]
    found = [(0, 0), (0, bound), (bound, 0), (bound, bound)]
    return [pair for pair in found if not plan.monotone or pair[0] <= pair[1]]


class _Accepted(Exception):
    """A leaf took the query."""


def accepted(mechanism: Mechanism | Composite, query: Query) -> bool:
    """Whether the mechanism takes the query at its start."""
    return refusal(mechanism, query) is None


def refusal(mechanism: Mechanism | Composite, query: Query) -> ParameterError | None:
    """How the mechanism refuses the query at its start; None where it takes it."""

    def respond(leaf: Mechanism, _secret: Secret, public: Public, asked: Query) -> NoReturn:
        leaf.move(public, asked)
        raise _Accepted

    respond_: Any = respond
    try:
        play(
            mechanism,
            openings(mechanism, lambda law: (0,) * law.size),
            start(mechanism),
            query,
            respond_,
        )
    except _Accepted:
        return None
    except ParameterError as error:
        return error
    return None


def identity(answer: Answer) -> Hashable:
    """Equal for answers that look alike only: True equals 1 for Python, but not for a reader."""
    return answer, repr(answer.value), repr(answer.verdict)


def described(answer: Answer) -> str:
    """An answer in few words."""
    if answer.verdict is None or isinstance(answer.value, bool):
        return str(answer.value)
    return f"{answer.verdict}, {answer.value}"
