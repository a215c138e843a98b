"""What an analyst gets back: the answer in the units of the data, with its interval."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.mechanisms.protocol import Answer as CoreAnswer
from interlace.query.fixed_point import Number, Value, in_units
from interlace.query.parts import Part
from interlace.query.plan import Plan
from interlace.query.shape import Shape

Interval = tuple[Value, Value]


@dataclass(frozen=True)
class Accuracy:
    """How near an answer will come, known before it is asked for.

    With probability ``confidence`` the answer is within ``radius`` of the exact one (sparse
    vector: a value further than that from its threshold gets the right verdict; guess-and-check:
    a confirmed guess is within ``radius``, a measured value within ``measured``). A query of
    several noisy parts has a radius for each of them, in the order in which the explanation lists
    them, and all hold together. That covers the noise only; ``bounding`` says what one privacy
    unit can contribute at most, beyond which the exact answer itself is cut.
    """

    sql: str
    radius: Number | tuple[Number, ...]
    measured: Number | None
    confidence: float
    bounding: str


@dataclass(frozen=True)
class Answer:
    """One released answer.

    ``value`` is the noisy number, or a guess that was confirmed, or a sparse vector's verdict.
    ``verdict`` is True where a sparse vector's comparison passed, or where guess-and-check
    found the guess off and measured. ``interval`` contains the exact answer with probability
    ``confidence`` and covers the noise only, not what ``bounding`` changes: what one privacy
    unit can contribute at most. Interval and confidence are None for a verdict alone.
    ``round`` counts the session's answers from 1.

    ``rows`` is the answer as a table: for each public group a mapping of the keys and items by
    name; ``intervals`` has for each row those of its items, which hold all together. For several
    items or groups, ``value`` and ``interval`` are those of all rows, one after the other.
    """

    sql: str
    value: Value | tuple[Value, ...]
    verdict: bool | None
    interval: Interval | tuple[Interval, ...] | None
    confidence: float | None
    round: int
    bounding: str
    rows: tuple[Mapping[str, Value], ...] = field(default=(), hash=False)
    intervals: tuple[Mapping[str, Interval], ...] = field(default=(), hash=False)
    _noisy: _Noisy | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        if self.interval is None:
            return str(self.value)
        if self._noisy is None or not self._noisy.shape.scalar:
            return _table(self.rows, self.intervals[0] if self.intervals else ())
        low, high = self.interval
        found = {True: "guess off, measured ", False: "guess confirmed: ", None: ""}[self.verdict]
        return (
            f"{found}{_shown(self.value)} "
            f"({self.confidence:.0%} interval {_shown(low)} to {_shown(high)}, noise only)"
        )

    def __float__(self) -> float:
        """The value as a float. Raises TypeError for several values, and for a date."""
        if isinstance(self.value, tuple):
            raise TypeError("this answer has several values: take them from .rows")
        return float(self.value)  # type: ignore[arg-type]  # a date raises TypeError

    def consistent(self, total: int | None = None) -> Answer:
        """The answer with all its counts at least 0 and, if a ``total`` is given, such that the
        groups of each count add up to it, moved as little as possible.

        A public step, which costs nothing and can be left out: it makes single groups better and
        sums of groups worse, which are no longer unbiased. ``total`` may be another answer's
        noisy count. Intervals stay as they are. Raises ParameterError for a total that is no
        count, and for an answer without counts.
        """
        if total is not None:
            natural(total, "total", minimum=0)
        if self._noisy is None or not any(self._noisy.shape.counts):
            raise ParameterError("answer", "has no counts to make consistent")
        shape, cells = self._noisy.shape, self._noisy.cells
        return _filled(self, replace(self._noisy, cells=shape.consistent(cells, total)))


@dataclass(frozen=True)
class _Noisy:
    """What left the mechanism."""

    shape: Shape
    cells: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def present(answer: CoreAnswer, sql: str, round_: int, shape: Shape, bounding: str) -> Answer:
    """A mechanism's integer answer in the units of the data."""
    if isinstance(answer.value, bool):
        return Answer(sql, answer.value, answer.verdict, None, None, round_, bounding)
    cells = answer.value if isinstance(answer.value, tuple) else (answer.value,)
    empty = Answer(sql, (), answer.verdict, (), float(answer.confidence), round_, bounding)
    return _filled(empty, _Noisy(shape, cells, answer.spans))


def _filled(answer: Answer, noisy: _Noisy) -> Answer:
    table = noisy.shape.table(noisy.cells, noisy.spans)
    names = [column.name for column in noisy.shape.columns]
    values = tuple(row[name] for row in table.rows for name in names)
    ends = tuple(row[name] for row in table.intervals for name in names)
    scalar = noisy.shape.scalar
    return replace(
        answer,
        value=values[0] if scalar else values,
        interval=ends[0] if scalar else ends,
        rows=table.rows,
        intervals=table.intervals,
        _noisy=noisy,
    )


def _shown(value: object) -> str:
    return str(value) if not isinstance(value, Number) or isinstance(value, bool) else f"{value:,}"


def _table(rows: Sequence[Mapping[str, Value]], items: Collection[str]) -> str:
    """The rows as text in columns. Keys stand as they are written in SQL: a year is 2024."""
    names = list(rows[0])
    shown = {name: _shown if name in items else str for name in names}
    cells = [names, *([shown[name](row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in cells
    )


def bounding(plan: Plan) -> str:
    """What one unit can contribute to each part of a plan, in words."""
    return "; ".join(_bound(part) for part in plan.parts)


def _bound(part: Part) -> str:
    low, high = (in_units(end, part.digits) for end in part.bounds)
    groups = part.sensitivity.l0
    among = f", in at most {groups:,} of {part.size:,} groups" if part.keys else ""
    if part.kind == "sum":
        return f"one unit adds between {low:,} and {high:,}{among}"
    return f"one unit counts at most {high:,}{among}"
