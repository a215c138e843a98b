"""One round of any mechanism, composite or not: the fold that every driver shares.

Pure: the driver gives the function that answers for a leaf, by drawing noise, by recalling
a recorded answer, or by enumerating.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from interlace.core.errors import SessionHalted
from interlace.core.laws import Law
from interlace.core.mechanisms.protocol import (
    Answer,
    Composite,
    Mechanism,
    Public,
    Secret,
)
from interlace.core.queries import Query

Secrets = Secret | Mapping[str, "Secrets"]
"""One secret for each leaf, in the shape of the composite."""

Respond = Callable[[Mechanism, Secret, Public, Query], Answer]
"""Answers for a leaf. Raises ParameterError when it takes no such query."""


@dataclass(frozen=True)
class State:
    """The public state of a mechanism and, below it, of its children."""

    public: Public
    children: Mapping[str, State] = field(default_factory=dict)


def openings(mechanism: Mechanism | Composite, draw: Callable[[Law], Secret]) -> Secrets:
    """The secrets of a new session, each leaf's drawn independently (R5)."""
    if isinstance(mechanism, Composite):
        return {name: openings(child, draw) for name, child in mechanism.children.items()}
    return draw(mechanism.opening())


def leaves(mechanism: Mechanism | Composite) -> int:
    """How many mechanisms without children it is made of."""
    if isinstance(mechanism, Composite):
        return sum(leaves(child) for child in mechanism.children.values())
    return 1


def start(mechanism: Mechanism | Composite) -> State:
    """The public state before the first answer."""
    if isinstance(mechanism, Composite):
        return State(mechanism.start(), {n: start(c) for n, c in mechanism.children.items()})
    return State(mechanism.start())


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
    if not isinstance(mechanism, Composite):
        assert isinstance(secrets, tuple)
        answer = respond(mechanism, secrets, state.public, query)
        return answer, State(mechanism.after(state.public, query, answer))
    assert isinstance(secrets, Mapping)
    program = mechanism.program(state.public, query)
    children = dict(state.children)
    reply: Answer | None = None
    while True:
        try:
            # A fresh generator is started by send(None).
            name, asked = program.send(reply)  # type: ignore[arg-type]
        except StopIteration as done:
            answer = done.value
            return answer, State(mechanism.after(state.public, query, answer), children)
        child = mechanism.children[name]
        reply, children[name] = play(child, secrets[name], children[name], asked, respond)
