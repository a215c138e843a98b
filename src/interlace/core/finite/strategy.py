"""A deterministic adversary as a frozen value: what it asks first, and next after each answer.

By FORMULAS 1.2 deterministic adversaries suffice. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from interlace.core.errors import ParameterError
from interlace.core.finite.laws import History, Query, Response

#: Lines that a printed tree has at most.
LINES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Ask:
    """One question, and the question after each response (None: the adversary stops).

    Equal continuations are one object, so that a strategy may stand for a tree that is much
    larger than itself.
    """

    query: Query
    after: tuple[tuple[Response, Ask | None], ...]

    def then(self, response: Response) -> Ask | None:
        """What is asked next. Raises ParameterError for a response that cannot occur."""
        for known, following in self.after:
            if known == response:
                return following
        raise ParameterError("history", f"{response!r} is no response to {self.query!r}")


@dataclass(frozen=True, eq=False)
class Adversary:
    """A deterministic adversary, and which order of the pair it is good at: with ``first`` = b
    it tells M^b from M^(1-b). Called with a history it gives its next query, None at its end;
    ``str`` draws it as a tree.

    >>> stop = Ask("again", ((0, None), (1, None)))
    >>> print(Adversary(Ask("once", ((0, None), (1, stop))), 0))
    tells bit 0 from bit 1
    ask 'once'
      0: stop
      1: ask 'again'
        0, 1: stop
    """

    root: Ask | None
    first: int

    def __call__(self, history: History) -> Query | None:
        """The next query after a history that this adversary can see.

        Raises ParameterError for another history."""
        at = self.root
        for query, response in history:
            if at is None or query != at.query:
                raise ParameterError("history", "is none that this adversary can see")
            at = at.then(response)
        return None if at is None else at.query

    def __str__(self) -> str:
        lines = [f"tells bit {self.first} from bit {1 - self.first}"]
        drawn = _drawn(self.root, "", 0)
        lines += [line for line, _ in zip(drawn, range(LINES), strict=False)]
        if next(drawn, None) is not None:
            lines.append(f"... (the first {LINES} lines)")
        return "\n".join(lines)


def _drawn(at: Ask | None, label: str, indent: int) -> Iterator[str]:
    if at is None:
        yield f"{' ' * indent}{label}stop"
        return
    yield f"{' ' * indent}{label}ask {at.query!r}"
    if indent >= 2 * LINES:
        # Longer than what is drawn, and perhaps than what Python may recurse.
        yield f"{' ' * indent}  ..."
        return
    alike: dict[int, tuple[list[str], Ask | None]] = {}
    for response, following in at.after:
        alike.setdefault(id(following), ([], following))[0].append(repr(response))
    for names, following in alike.values():
        yield from _drawn(following, f"{', '.join(names)}: ", indent + 2)
