"""One round of any mechanism, composite or not: the fold that every driver shares.

Pure: the driver gives the function that answers for a leaf, by drawing noise, by recalling
a recorded answer, or by enumerating.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from interlace.core.errors import SessionHalted
from interlace.core.laws import Law
from interlace.core.mechanisms.protocol import (
    Answer,
    Compare,
    Composite,
    Mechanism,
    Move,
    Public,
    Secret,
    composite,
)
from interlace.core.queries import Query

Secrets = Secret | Mapping[str, "Secrets"]
"""One secret for each leaf, in the shape of the composite."""

Respond = Callable[[Mechanism, Secret, Public, Query], Answer]
"""Answers for a leaf. Raises ParameterError when it takes no such query."""


def answered(
    mechanism: Mechanism,
    secret: Secret,
    public: Public,
    query: Query,
    move: Move,
    read: Sequence[int],
    noise: Sequence[int],
) -> Answer:
    """A leaf's answer by its move: from what was read and a draw of the kernel's law."""
    if move.comparison is not None:
        read = [move.comparison(value) for value in read]
    outcome = tuple(value + z for value, z in zip(read, noise, strict=True))
    if isinstance(move.kernel, Compare):
        reached = int(outcome[0] >= secret[0])
        return mechanism.answer((), public, query, (reached,))
    return mechanism.answer(secret, public, query, outcome)


@dataclass(frozen=True)
class State:
    """The public state of a mechanism and, below it, of its children."""

    public: Public
    children: Mapping[str, State] = field(default_factory=dict)


def openings(mechanism: Mechanism | Composite, draw: Callable[[Law], Secret]) -> Secrets:
    """The secrets of a new session, each leaf's drawn independently (R5)."""
    whole = composite(mechanism)
    if whole is not None:
        return {name: openings(child, draw) for name, child in whole.children.items()}
    return draw(cast("Mechanism", mechanism).opening())


def leaves(mechanism: Mechanism | Composite) -> int:
    """How many mechanisms without children it is made of."""
    whole = composite(mechanism)
    return 1 if whole is None else sum(leaves(child) for child in whole.children.values())


def start(mechanism: Mechanism | Composite) -> State:
    """The public state before the first answer."""
    whole = composite(mechanism)
    children = {} if whole is None else {n: start(c) for n, c in whole.children.items()}
    return State(mechanism.start(), children)


def play(
    mechanism: Mechanism | Composite,
    secrets: Secrets,
    state: State,
    query: Query,
    respond: Respond,
) -> tuple[Answer, State]:
    """One round: the answer that leaves and the public state after it.

    Raises SessionHalted when the mechanism has nothing more to give; nothing has changed.
    """
    if mechanism.left(state.public) == 0:
        raise SessionHalted("this session has given all the answers it was opened for")
    whole = composite(mechanism)
    if whole is None:
        assert isinstance(secrets, tuple)
        answer = respond(cast("Mechanism", mechanism), secrets, state.public, query)
        return answer, State(mechanism.after(state.public, query, answer))
    assert isinstance(secrets, Mapping)
    program = whole.program(state.public, query)
    children = dict(state.children)
    reply: Answer | None = None
    while True:
        try:
            # A fresh generator is started by send(None).
            name, asked = program.send(reply)  # type: ignore[arg-type]
        except StopIteration as done:
            answer = done.value
            return answer, State(mechanism.after(state.public, query, answer), children)
        child = whole.children[name]
        reply, children[name] = play(child, secrets[name], children[name], asked, respond)
