"""How a leaf's answer comes about: drawn from the data and fresh noise, or recalled."""

from __future__ import annotations

from interlace.centre.faults import reach
from interlace.centre.interrupts import interruptible
from interlace.centre.live import Read
from interlace.centre.noise import POOL
from interlace.core.errors import LedgerCorrupt
from interlace.core.mechanisms.play import Respond, answered
from interlace.core.mechanisms.protocol import Answer, Mechanism, Public, Secret
from interlace.core.queries import Query
from interlace.ledger import Event
from interlace.query.plan import Plan


def drawing(read: Read, steps: list[Answer]) -> Respond:
    """Answers for a leaf from the data and fresh noise, and notes the step.

    A plan is read once a round: whether a composite reads it again depends on a draw, and
    nothing after a draw may fail because of it (FORMULAS 11).
    """
    values: dict[Plan, tuple[int, ...]] = {}

    def respond(mechanism: Mechanism, secret: Secret, public: Public, query: Query) -> Answer:
        move = mechanism.move(public, query)
        plan = move.plan
        assert isinstance(plan, Plan)
        if plan not in values:
            with interruptible():
                values[plan] = read(plan)
            reach("ask.after-read")
        noise = POOL.draw(move.kernel.law)
        steps.append(answered(mechanism, secret, public, query, move, values[plan], noise))
        return steps[-1]

    return respond


def recalling(steps: list[Answer], event: Event) -> Respond:
    """Answers for a leaf from what was recorded, using up ``steps``."""

    def respond(mechanism: Mechanism, secret: Secret, public: Public, query: Query) -> Answer:
        del mechanism, secret, public, query
        if not steps:
            raise LedgerCorrupt("holds fewer steps than its answer needs", event.seq)
        return steps.pop(0)

    return respond
