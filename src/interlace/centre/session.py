"""A live mechanism: the one loop move -> read -> kernel -> answer -> commit -> release.

Questions to one session are serialised, across threads and processes (R5); sessions need
nothing of one another. What a session may still do is a fold over the answers in the
ledger, so a crash or a second process changes nothing (R6).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from interlace.centre.answers import Accuracy, Answer, bounding, present
from interlace.centre.closing import check_expiry, close
from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import uninterrupted
from interlace.centre.live import Drawn, Fold, Host, Live
from interlace.centre.names import checked_name
from interlace.centre.questions import Question, RecordedPlan
from interlace.centre.records import ChargeRecord, Round, SessionRecord, decode_secrets
from interlace.centre.responders import drawing, recalling
from interlace.core.composition.filters import Charge
from interlace.core.errors import Closed, KeyConflict, LedgerCorrupt, SessionHalted, SessionVoid
from interlace.core.exact import Real, rational
from interlace.core.mechanisms.codec import Served
from interlace.core.mechanisms.play import leaves, play
from interlace.core.mechanisms.protocol import Answer as CoreAnswer
from interlace.ledger import ANSWER, Event, Ledger
from interlace.query.explain import Explanation, explained, without_prefix
from interlace.query.fixed_point import in_units
from interlace.query.plan import Plan


class Session:
    """A mechanism that an account opened on a dataset. Get one from ``Account.open``.

    Asking costs nothing beyond the charge at opening (R1). Safe to use from many threads:
    the questions are answered one after the other.
    """

    def __init__(
        self,
        ledger: Ledger,
        record: SessionRecord,
        secret: bytes,
        live: Live,
        host: Host,
    ) -> None:
        self._ledger = ledger
        self._record = record
        self._secrets = decode_secrets(secret)
        self._live = live
        self._host = host

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
    def version(self) -> int:
        """Which version of the dataset it reads: the latest when it was opened, for ever."""
        return self._record.version

    @property
    def mechanism(self) -> Served:
        return self._record.mechanism

    @property
    def charge(self) -> Charge:
        """What the account was charged when the session was opened; for a member of a plan,
        what the whole plan was charged."""
        event = self._ledger.at(self._record.charged)
        assert event is not None
        return ChargeRecord.read(event).charge

    @property
    def members(self) -> int:
        """How many sessions share ``charge``: 1, or the size of the plan."""
        return self._record.members

    @property
    @uninterrupted()
    def left(self) -> int:
        """How many answers (sparse vector: passes) may still be given."""
        with self._ledger.acquire(self.id):
            try:
                self._refresh()
            except (Closed, SessionVoid):
                return 0
            return self.mechanism.left(self._live.fold.state.public)

    @uninterrupted()
    def replay(self) -> int:
        """Fold the session's answers anew and return how many there are.

        Raises LedgerCorrupt for one that does not follow from those before it.
        """
        with self._ledger.acquire(self.id):
            self._live.mark = None  # unless it comes to its end, the fold is not complete
            self._live.fold = Live.of(self._record).fold
            self._read_on()
            return self._live.fold.round

    def close(self) -> None:
        """Answer nothing more, for good. What was charged stays charged."""
        close(self._ledger, self.account, self.id)

    def history(self) -> list[Answer]:
        """All answers of this session in order, from the ledger."""
        return [_shown(Round.read(event), event.round) for event in self._events(after=0)]

    def accuracy(self, sql: str, *, confidence: Real = Fraction(19, 20)) -> Accuracy:
        """How near the answer to a question will come, exactly, before it is asked.

        Costs nothing and reads no data. Raises QueryRefused or ParameterError as ``ask`` does,
        and for a ``confidence`` outside (0, 1).
        """
        share = rational(confidence, "confidence", above=True, maximum=1)
        plan = self._host.parse(Question.of(sql).sql)
        within = self.mechanism.within(plan, share)
        measured = None if within.measured is None else in_units(within.measured, plan.digits)
        radii = zip(within.radii, plan.parts, strict=True)
        radius = tuple(in_units(found, part.digits) for found, part in radii)
        return Accuracy(
            sql, radius if len(radius) > 1 else radius[0], measured, float(share), bounding(plan)
        )

    def explain(self, sql: str) -> Explanation:
        """What a question comes to here: the bounded plan, how far one unit moves it, what this
        session's mechanism adds, and what bounding may change. ``sql`` may begin with EXPLAIN
        PRIVACY. Costs nothing and reads no data. Raises QueryRefused as ``ask`` does."""
        plan = self._host.parse(without_prefix(Question.of(sql).sql))
        return explained(plan, [self.mechanism])

    @uninterrupted()
    @disk_errors()
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
        answer, also after a crash. Without one it is a further round, also where the first
        answer became durable but an error or a crash kept it from its caller: it then stands
        in ``history``. Give a key wherever a question may have to be asked again.

        Raises QueryRefused or ParameterError for a question that is not allowed, before any
        data is touched; SessionHalted when no answers are left; Closed; SessionVoid; KeyConflict when the key
        named another question; EngineError when the engine failed. None of them costs
        anything or draws noise; if the session ends while it reads, what was drawn is never
        stored. LedgerError says that the answer could not be stored: once
        drawn it is kept, and is stored before anything else is answered.
        """
        question = Question.of(sql, at_least=at_least, at_most=at_most, guess=guess)
        if key is not None:
            checked_name(key, "key")
        plan = self._host.parse(sql)
        question.check(plan)
        # Acquired before anything is drawn: racing draws of which one wins would be
        # rejection sampling (R5).
        with self._ledger.acquire(self.id):
            reach("ask.after-acquire")
            self._refresh()
            late = self._store_late()
            if late is not None and (late.key, late.done.question) == (key, question):
                return _shown(late.done, late.round)
            if key is not None and (known := self._ledger.answer_by_key(self.id, key)):
                done = Round.read(known)
                if done.question != question:
                    raise KeyConflict(key)
                return _shown(done, known.round)
            return self._answer(question, plan, key)

    def _answer(self, question: Question, plan: Plan, key: str | None) -> Answer:
        """One round of the loop. The caller holds the session."""
        fold = self._live.fold
        steps: list[CoreAnswer] = []
        respond = drawing(self._host.read, steps)
        query = question.query(plan)
        answer, after = play(self.mechanism, self._secrets, fold.state, query, respond)
        done = Round(question, answer, tuple(steps), RecordedPlan.of(plan), bounding(plan))
        drawn = self._live.drawn = Drawn(fold.round + 1, key, done, after)
        reach("ask.after-draw")
        self._store(drawn)
        return _shown(done, drawn.round)

    def _store_late(self) -> Drawn | None:
        """Commit the round that was drawn and could not be stored, if one is waiting, and return
        it. The caller holds the session."""
        drawn = self._live.drawn
        if drawn is None:
            return None
        self._read_on()
        if self._live.fold.round + 1 != drawn.round:
            # It was stored after all, or another process answered that round; ours never left.
            self._live.drawn = None
            return None
        self._store(drawn)
        return drawn

    def _store(self, drawn: Drawn) -> None:
        """Commit a round: state and answer are one event, durable before the answer leaves (R6).

        If that fails, the round waits: drawing it again would be rejection sampling. If the
        session has ended meanwhile, it waits for ever.
        """
        mark, self._live.mark = self._live.mark, None
        seq = self._ledger.append(
            ANSWER,
            dataset=self.dataset,
            account=self.account,
            session=self.id,
            round=drawn.round,
            key=drawn.key,
            body=drawn.done.body(leaves(self.mechanism)),
            mark=mark,
            check=self._host.check,  # it may have ended while it read
            before_commit=lambda: reach("ask.before-commit"),
        )
        reach("ask.after-commit")
        self._live.fold = Fold(drawn.after, drawn.round, seq)
        self._live.drawn = None
        self._live.mark = mark
        self._host.stored()

    def _refresh(self) -> None:
        """See what others have recorded, if they have. The caller holds the session.

        Raises Closed or SessionVoid if the session answers nothing more.
        """
        check_expiry(self.account, self._host.expires)
        mark = self._ledger.mark()
        if mark != self._live.mark:
            self._host.check(self._ledger)
            self._read_on()
            self._live.mark = mark

    def _read_on(self) -> None:
        """Fold the answers that are new, those of other processes too. The caller holds the
        session.

        Raises LedgerCorrupt for an answer that does not follow from those before it.
        """
        for event in self._events(after=self._live.fold.seq):
            fold, done = self._live.fold, Round.read(event)
            steps = list(done.steps)
            query = done.question.query(done.plan)
            try:
                answer, after = play(
                    self.mechanism, self._secrets, fold.state, query, recalling(steps, event)
                )
            except SessionHalted:
                raise LedgerCorrupt("answers a session that had halted", event.seq) from None
            if answer != done.answer or steps or event.round != fold.round + 1:
                raise LedgerCorrupt("does not follow from its session's history", event.seq)
            self._live.fold = Fold(after, fold.round + 1, event.seq)

    def _events(self, after: int) -> Iterator[Event]:
        return self._ledger.events(ANSWER, session=self.id, after=after)


def _shown(done: Round, round_: int | None) -> Answer:
    assert round_ is not None
    return present(done.answer, done.question.sql, round_, done.plan.shape, done.bounding)
