"""What a query's items are made of its noisy parts: post-processing, within public bounds.

Each takes, for one group, the cells of all parts and the spans around them, which hold all together
with one probability; so does the interval that it gives. An empty group gives something within
bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from interlace.query.fixed_point import Value, in_units, nearest, outwards, root
from interlace.query.values import day_of

Span = tuple[int, int]
Cells = Sequence[Sequence[int]]
Spans = Sequence[Sequence[Span]]

#: So many more decimals than its column has a mean.
_MORE = 4


class Estimate(NamedTuple):
    """An item's value and the interval around it."""

    value: Value
    interval: tuple[Value, Value]


@dataclass(frozen=True)
class Cell:
    """A part itself."""

    name: str
    part: int
    digits: int
    uses = 1

    def estimate(self, cells: Cells, spans: Spans) -> Estimate:
        low, high = spans[self.part][0]
        ends = in_units(low, self.digits), in_units(high, self.digits)
        return Estimate(in_units(cells[self.part][0], self.digits), ends)


@dataclass(frozen=True)
class Mean:
    """``origin`` and the parts ``total`` over ``count``, which is within [lower, upper]; all in
    units of 10^-digits. The total is of numbers less the origin."""

    name: str
    total: int
    count: int
    lower: int
    upper: int
    digits: int
    origin: int = 0
    uses = 2

    def estimate(self, cells: Cells, spans: Spans) -> Estimate:
        unit, digits = 10**self.digits, self.digits + _MORE
        found = self.within(Fraction(cells[self.total][0], max(cells[self.count][0], 1)))
        value, low, high = (self.origin + end for end in (found, *self.ends(spans)))
        return Estimate(nearest(value / unit, digits), outwards(low / unit, high / unit, digits))

    def ends(self, spans: Spans) -> tuple[Fraction, Fraction]:
        """Between which the exact mean lies, less the origin, in units."""
        (least, most), (few, many) = spans[self.total][0], spans[self.count][0]
        few, many = max(few, 1), max(many, 1)
        low = Fraction(least, many if least > 0 else few)
        high = Fraction(most, few if most > 0 else many)
        return self.within(low), self.within(high)

    def within(self, value: Fraction) -> Fraction:
        return min(max(value, Fraction(self.lower)), Fraction(self.upper))


@dataclass(frozen=True)
class Spread:
    """A variance, of the population or of the sample, or its root: the mean of the part
    ``squares``, which are of numbers in units of ``factor``, less the square of the mean."""

    name: str
    squares: int
    factor: int
    mean: Mean
    sample: bool
    root: bool
    uses = 3

    def estimate(self, cells: Cells, spans: Spans) -> Estimate:
        count = max(cells[self.mean.count][0], 1)
        mean = self.mean.within(Fraction(cells[self.mean.total][0], count))
        unit = self.factor**2
        value = self._within(Fraction(cells[self.squares][0] * unit, count) - mean**2, count)
        few, many = (max(end, 1) for end in spans[self.mean.count][0])
        least, most = (max(end, 0) * unit for end in spans[self.squares][0])
        ends = self.mean.ends(spans)
        smallest = 0 if ends[0] <= 0 <= ends[1] else min(end**2 for end in ends)
        low = self._within(Fraction(least, many) - max(end**2 for end in ends), many)
        high = self._within(Fraction(most, few) - smallest, few)
        digits = self.mean.digits if self.root else 2 * self.mean.digits
        unit, digits = 10**digits, digits + _MORE
        if self.root:
            value, low = root(value, digits), root(low, digits)
            high = root(high, digits) + Fraction(1, 10**digits)
        return Estimate(nearest(value / unit, digits), outwards(low / unit, high / unit, digits))

    def _within(self, value: Fraction, count: int) -> Fraction:
        """Within what numbers between the bounds can have."""
        most = Fraction((self.mean.upper - self.mean.lower) ** 2, 4)
        found = min(max(value, Fraction(0)), most)
        rows = max(count, 2)
        return found * rows / (rows - 1) if self.sample else found


@dataclass(frozen=True)
class Quantile:
    """The least value that is a quantile of the part's histogram over ``codes``: at most a share
    ``share`` lies below it and at least that share not above it. Where noise leaves none,
    the one that misses by the least."""

    name: str
    part: int
    share: str
    codes: tuple[int, ...]
    digits: int
    day: bool

    @property
    def uses(self) -> int:
        """Of how many noisy numbers of a group it is made."""
        return len(self.codes)

    def estimate(self, cells: Cells, spans: Spans) -> Estimate:
        share, counts = Fraction(self.share), cells[self.part]
        below, total, missed = 0, sum(counts), list[Fraction]()
        for count in counts:
            target = share * total
            missed.append(max(target - below - count, below - target, Fraction(0)))
            below += count
        found = missed.index(min(missed))
        low, high = self._ends(spans, share)
        return Estimate(self._value(found), (self._value(low), self._value(high)))

    def _ends(self, spans: Spans, share: Fraction) -> tuple[int, int]:
        """Between which places the exact quantile lies."""
        low, high = ([max(span[side], 0) for span in spans[self.part]] for side in (0, 1))
        first = _reached(high, low, share)
        return first, _reached(low, high, share)

    def _value(self, place: int) -> Value:
        code = self.codes[place]
        return day_of(code) if self.day else in_units(code, self.digits)


def _reached(below: Sequence[int], above: Sequence[int], share: Fraction) -> int:
    """The first place up to which the share lies, if so many are in each place up to it and so
    many in each beyond it; the last one if there is none."""
    up, rest = 0, sum(above)
    for place, (more, less) in enumerate(zip(below, above, strict=True)):
        up, rest = up + more, rest - less
        if (1 - share) * up >= share * rest:
            return place
    return len(below) - 1


Estimator = Cell | Mean | Spread | Quantile
_KINDS: Mapping[str, type[Estimator]] = {
    "cell": Cell,
    "mean": Mean,
    "spread": Spread,
    "quantile": Quantile,
}


def body_of(estimator: Estimator) -> dict[str, Any]:
    """An estimator as JSON."""
    label = next(label for label, kind in _KINDS.items() if kind is type(estimator))
    return {"item": label} | asdict(estimator)


def estimator_of(body: Mapping[str, Any]) -> Estimator:
    """The estimator whose ``body_of`` this is."""
    fields = {name: value for name, value in body.items() if name != "item"}
    if "mean" in fields:
        fields["mean"] = Mean(**fields["mean"])
    if "codes" in fields:
        fields["codes"] = tuple(fields["codes"])
    return _KINDS[body["item"]](**fields)
