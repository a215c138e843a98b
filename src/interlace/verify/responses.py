"""Which answers are one response: those that an adversary gains nothing by telling apart.

Answers with the same likelihood ratio, whatever the secret, and the same public state after them
lead to the same game but for a factor, so that the worst case is that of their sum.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

from interlace.core.mechanisms.protocol import Answer
from interlace.verify.questions import described


class Kind(NamedTuple):
    """Of ways whose answers have the same likelihood ratio and the same state after them."""

    path: tuple[int, ...]
    after: int
    side: str


class Way(NamedTuple):
    """One way a round may go under one secret. Answers are told by their numbers."""

    answer: int
    after: int
    masses: tuple[Fraction, Fraction]
    kind: Kind | None


def responses(rows: list[list[Way]], answers: list[Answer]) -> dict[int, str]:
    """A response for each answer, one for all those that may go together."""
    together = _together(rows)
    names: dict[int, str] = {}
    taken: set[str] = set()
    for way in (way for row in rows for way in row):
        if way.answer in names:
            continue
        members, text = {way.answer}, described(answers[way.answer])
        if way.kind in together:
            members = together[way.kind]
            text = _ranged([answers[i] for i in members], way.kind.side)
        while text in taken:
            text += "'"
        taken.add(text)
        names |= dict.fromkeys(members, text)
    return names


def _together(rows: list[list[Way]]) -> dict[Kind, set[int]]:
    """The answers of each kind, where under every secret they are all possible, each in this one
    way; or none of them is."""
    kinds: dict[Kind, set[int]] = {}
    for way in (way for row in rows for way in row):
        if way.kind is not None:
            kinds.setdefault(way.kind, set()).add(way.answer)
    found = {kind: answers for kind, answers in kinds.items() if len(answers) > 1}
    for row in rows:
        times = Counter(way.answer for way in row)
        own: dict[Kind | None, set[int]] = {}
        for way in row:
            if times[way.answer] == 1:
                own.setdefault(way.kind, set()).add(way.answer)
        for kind, answers in list(found.items()):
            if own.get(kind, set()) != answers and answers & times.keys():
                del found[kind]
    return found


def _ranged(answers: list[Answer], side: str) -> str:
    def place(answer: Answer) -> tuple[int, ...]:
        return answer.value if isinstance(answer.value, tuple) else (answer.value,)

    first = min(answers, key=place) if side == "or more" else max(answers, key=place)
    return f"{described(first)} {side}"
