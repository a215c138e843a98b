"""A live mechanism: the one loop move -> read -> kernel -> answer -> commit -> release.

Questions to one session are serialised, across threads and processes (R5); sessions need
nothing of one another. What a session may still do is a fold over the answers in the
ledger, so a crash or a second process changes nothing (R6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from interlace.centre.answers import Answer, present
from interlace.centre.noise import POOL
from interlace.centre.questions import Question
from interlace.centre.records import Round, SessionRecord, decode_secrets
from interlace.core.composition.filters import Budget
from interlace.core.errors import KeyConflict, LedgerCorrupt, ParameterError
from interlace.core.exact import Real
from interlace.core.mechanisms.codec import Served
from interlace.core.mechanisms.play import Respond, State, play, start
from interlace.core.mechanisms.protocol import Answer as CoreAnswer
from interlace.core.mechanisms.protocol import Mechanism, Public, Secret
from interlace.core.queries import Query
from interlace.ledger import ANSWER, Event, Ledger
from interlace.query.plan import Plan

_LONGEST_KEY = 200

Read = Callable[[Plan], tuple[int, ...]]
Parse = Callable[[str], Plan]


@dataclass(frozen=True)
class _Fold:
    """The public state up to event ``seq``: a cache, rebuilt from the ledger at will."""

    state: State
    round: int = 0
    seq: int = 0


class Session:
    """A mechanism that an account opened on a dataset. Get one from ``Account.open``.

    Asking costs nothing beyond the charge at opening (R1). Safe to use from many threads:
    the questions are answered one after the other.
    """

    def __init__(
        self, ledger: Ledger, record: SessionRecord, secret: bytes, parse: Parse, read: Read
    ) -> None:
        self._ledger = ledger
        self._record = record
        self._secrets = decode_secrets(secret)
        self._parse = parse
        self._read = read
        self._fold = _Fold(start(record.mechanism))

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.account} on {self.dataset}: {self.mechanism}>"

    def __reduce__(self) -> str:
        raise TypeError("a live session is not copied: take it from account.session(id)")

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def account(self) -> str:
        return self._record.account

    @property
    def dataset(self) -> str:
        return self._record.dataset

    @property
    def mechanism(self) -> Served:
        return self._record.mechanism

    @property
    def charge(self) -> Budget:
        """What the account was charged when the session was opened."""
        return self._record.charge

    @property
    def left(self) -> int:
        """How many answers (sparse vector: passes) may still be given."""
        with self._ledger.acquire(self.id):
            return self.mechanism.left(self._latest().state.public)

    def replay(self) -> None:
        """Fold the session's answers anew. Raises LedgerCorrupt for one that does not follow."""
        with self._ledger.acquire(self.id):
            self._fold = _Fold(start(self.mechanism))
            self._latest()

    def history(self) -> list[Answer]:
        """All answers of this session in order, from the ledger."""
        return [self._shown(event) for event in self._events(after=0)]

    def ask(
        self,
        sql: str,
        *,
        at_least: Real | None = None,
        at_most: Real | None = None,
        guess: Real | None = None,
        key: str | None = None,
    ) -> Answer:
        """Ask one question and get its answer, once it is durable.

        A sparse vector takes ``at_least`` or ``at_most``, guess-and-check a ``guess``, in the
        units of the value. With a ``key`` (text), asking the same again gives the recorded
        answer, also after a crash.

        Raises QueryRefused or ParameterError for a question that is not allowed, before any
        data is touched; SessionHalted when no answers are left; KeyConflict when the key
        named another question; EngineError when the engine failed. None of them costs
        anything or draws noise.
        """
        question = Question.of(sql, at_least=at_least, at_most=at_most, guess=guess)
        if key is not None and not (isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY):
            raise ParameterError("key", f"must be text of 1 to {_LONGEST_KEY} characters")
        plan = self._parse(sql)
        # Acquired before anything is drawn: racing draws of which one wins would be
        # rejection sampling (R5).
        with self._ledger.acquire(self.id):
            if key is not None and (known := self._ledger.answer_by_key(self.id, key)):
                if Round.read(known).question != question:
                    raise KeyConflict(key)
                return self._shown(known)
            return self._answer(question, plan, key)

    def _answer(self, question: Question, plan: Plan, key: str | None) -> Answer:
        """One round of the loop. The caller holds the session."""
        fold = self._latest()
        steps: list[CoreAnswer] = []
        respond = _draw(self._read, steps)
        query = question.query(plan)
        answer, state = play(self.mechanism, self._secrets, fold.state, query, respond)
        done = Round(question, answer, tuple(steps))
        # State and answer are one event, durable before the answer leaves (R6).
        with self._ledger.transaction() as transaction:
            event = transaction.append(
                ANSWER,
                dataset=self.dataset,
                account=self.account,
                session=self.id,
                round=fold.round + 1,
                key=key,
                body=done.body(),
            )
        self._fold = _Fold(state, fold.round + 1, event.seq)
        return present(answer, question.sql, fold.round + 1, plan.digits)

    def _latest(self) -> _Fold:
        """The fold over all answers, those of other handles too. The caller holds the session.

        Raises LedgerCorrupt for an answer that does not follow from those before it.
        """
        for event in self._events(after=self._fold.seq):
            fold, done = self._fold, Round.read(event)
            steps = list(done.steps)
            query = done.question.query(self._parse(done.question.sql))
            answer, state = play(
                self.mechanism, self._secrets, fold.state, query, _recall(steps, event)
            )
            if answer != done.answer or steps or event.round != fold.round + 1:
                raise LedgerCorrupt("does not follow from its session's history", event.seq)
            self._fold = _Fold(state, fold.round + 1, event.seq)
        return self._fold

    def _events(self, after: int) -> Iterator[Event]:
        return self._ledger.events(ANSWER, session=self.id, after=after)

    def _shown(self, event: Event) -> Answer:
        done = Round.read(event)
        digits = self._parse(done.question.sql).digits
        return present(done.answer, done.question.sql, event.round or 0, digits)


def _draw(read: Read, steps: list[CoreAnswer]) -> Respond:
    """Answers for a leaf from the data and fresh noise, and notes the step.

    A plan is read once a round: whether a composite reads it again depends on a draw, and
    nothing after a draw may fail because of it (FORMULAS 11).
    """
    values: dict[Plan, tuple[int, ...]] = {}

    def respond(mechanism: Mechanism, secret: Secret, public: Public, query: Query) -> CoreAnswer:
        move = mechanism.move(public, query)
        plan = move.plan
        assert isinstance(plan, Plan)
        if plan not in values:
            values[plan] = read(plan)
        exact = values[plan]
        if move.comparison is not None:
            exact = tuple(move.comparison(value) for value in exact)
        noise = POOL.draw(move.kernel.law)
        outcome = tuple(value + z for value, z in zip(exact, noise, strict=True))
        steps.append(mechanism.answer(secret, public, query, outcome))
        return steps[-1]

    return respond


def _recall(steps: list[CoreAnswer], event: Event) -> Respond:
    """Answers for a leaf from what was recorded, using up ``steps``."""

    def respond(mechanism: Mechanism, secret: Secret, public: Public, query: Query) -> CoreAnswer:
        del mechanism, secret, public, query
        if not steps:
            raise LedgerCorrupt("holds fewer steps than its answer needs", event.seq)
        return steps.pop(0)

    return respond
