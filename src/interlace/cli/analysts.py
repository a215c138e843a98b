"""The analysts of the demo: scripts that choose each question from the answers so far.

A script is a generator: it yields a question and receives its answer. So several scripts can
be interleaved by one thread, or each be played by a thread of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from interlace.centre import Answer, Session

_TESTS = ("hdl", "chol", "sbp", "dbp", "smoke", "fib4")
_EVENTS = (
    "nafld", "htn", "dyslipidemia", "diabetes", "ang/isc", "stroke", "afib", "heart failure",
    "MI", "cardiac arrest",
)  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """One question to one session."""

    session: Session
    sql: str
    numbers: dict[str, int] = field(default_factory=dict)

    def put(self) -> Answer:
        numbers: dict[str, Any] = self.numbers
        return self.session.ask(self.sql, **numbers)

    def __str__(self) -> str:
        short = self.sql.removeprefix("SELECT ")
        extras = (f"{name.replace('_', ' ')} {value:,}" for name, value in self.numbers.items())
        return "  ".join([short, *(f"[bold]{extra}?[/]" for extra in extras)])


Script = Generator[Ask, Answer, None]


def hunt(sieve: Session, gauge: Session, threshold: int) -> Script:
    """Which lab tests and events concern many people? What passes the sieve is estimated."""
    topics = [("labs", "test", name) for name in _TESTS]
    topics += [("events", "event", name) for name in _EVENTS]
    for table, column, name in topics:
        if sieve.left == 0:
            return
        rows = f"FROM {table} WHERE {column} = '{name}'"
        passed = yield Ask(sieve, f"SELECT COUNT(DISTINCT id) {rows}", {"at_least": threshold})
        if passed.verdict and gauge.left > 1:
            people = yield Ask(gauge, f"SELECT COUNT(DISTINCT id) {rows}")
            # Only where many more people turn up than were asked for, how early did it start?
            if _number(people) > 2 * threshold:
                yield Ask(gauge, f"SELECT COUNT(DISTINCT id) {rows} AND days < 0")


#: People by age and sex, and how heavy they are; a weight of 0 was not measured.
BY_AGE = (
    "SELECT BUCKET(age, 20) AS age_from, male, COUNT(*) AS people, AVG(weight) AS kg "
    "FROM people WHERE weight > 0 GROUP BY age_from, male"
)
#: Who of the older got which diagnosis, over two tables.
DIAGNOSES = (
    "SELECT event, COUNT(DISTINCT id) AS people FROM events JOIN people USING (id) "
    "WHERE age >= 65 GROUP BY event"
)


def tables(session: Session) -> Script:
    """Two tables, each of them one answer."""
    yield Ask(session, BY_AGE)
    yield Ask(session, DIAGNOSES)


def median_age(counter: Session) -> Script:
    """Bisection: each bound depends on the noisy count before."""
    everyone = yield Ask(counter, "SELECT COUNT(*) FROM people")
    low, high = 18, 100
    while high - low > 1:
        middle = (low + high) // 2
        younger = yield Ask(counter, f"SELECT COUNT(*) FROM people WHERE age < {middle}")
        low, high = (middle, high) if 2 * _number(younger) < _number(everyone) else (low, middle)


def age_bands(checker: Session, first_guess: int) -> Script:
    """People in each decade of age, guessed from the decade before; half of them women?"""
    guess = first_guess
    for low in range(20, 90, 10):
        if checker.left == 0:
            return
        rows = f"FROM people WHERE age BETWEEN {low} AND {low + 9}"
        band = yield Ask(checker, f"SELECT COUNT(*) {rows}", {"guess": guess})
        guess = max(0, round(_number(band)))
        if checker.left:
            women = f"{rows} AND male = FALSE"
            yield Ask(checker, f"SELECT COUNT(*) {women}", {"guess": guess // 2})


def deaths(sieve: Session, threshold: int) -> Script:
    """By which year of follow-up had so many people died?"""
    for year in range(1, 20):
        rows = f"FROM people WHERE status = TRUE AND futime <= {365 * year}"
        passed = yield Ask(sieve, f"SELECT COUNT(*) {rows}", {"at_least": threshold})
        if passed.verdict:
            return


def mean_weight(gauge: Session) -> Script:
    """The mean weight of those weighed, men and women, from sums and counts."""
    for sex in ("TRUE", "FALSE"):
        rows = f"FROM people WHERE male = {sex} AND weight > 0"
        yield Ask(gauge, f"SELECT SUM(weight) {rows}")
        yield Ask(gauge, f"SELECT COUNT(*) {rows}")


def _number(answer: Answer) -> int | Decimal:
    assert isinstance(answer.value, int | Decimal)
    return answer.value
