"""A second proof of every step of a certificate; shares no code with what made it.

The inequality is taken as it stands, with the normal distribution function itself (decimals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from interlace.core.composition.value_filters.decimals import Ends, Line, line_of
from interlace.core.errors import CheckFailed

_DIGITS = (40, 80, 160, 320, 640, 1280)


def recheck(document: object) -> int:
    """Prove every step of a certificate of "reach" or "residue"; how many steps there are.

    Checked: the first w gives no more than the budget, as named and in numbers; each step starts where the one before
    ended; each pure step satisfies

        p v(epsilon - y0, w') + q v(-epsilon - y0, w') <= v(-y0, w),  w' < w, or w' = w = 0,

    at the y0 that this file computes from the epsilons so far; a step of ``count`` equal ones does
    from w' + (w - w')/count to w', at y0 = 0 (many.py), or all their epsilons sum to at most y0; a
    Gaussian takes its mu**2; the product of 1 - delta is at least 1 - structural; the last state
    follows. All that the filter
    promises is proved by that where the start has a sum of 0 and a product of 1, else that the
    steps keep to it from there on.

    Raises CheckFailed, naming the first step that is not proved.

    >>> from interlace.core.composition.value_filters import PureChild, Residue, certificate
    >>> rule, child = Residue.of(mu=1), PureChild.of(0.5)
    >>> recheck(certificate(rule, rule.start(), [(child, 1, rule.step(rule.start(), child))]))
    1
    """
    whole = _mapping(document, "certificate")
    if (whole.get("format"), whole.get("version")) != ("interlace value filter", 1):
        raise CheckFailed("format", "is not an interlace value filter of version 1")
    steps = whole.get("steps")
    if not isinstance(steps, list):
        raise CheckFailed("steps", "must be a list")
    walk = _Walk(whole)
    for number, step in enumerate(steps):
        walk.take(_mapping(step, f"step {number}"), f"step {number}")
    walk.end(_mapping(whole.get("end"), "end"))
    return len(steps)


class _Walk:
    def __init__(self, whole: Mapping[str, object]) -> None:
        start = _mapping(whole.get("start"), "start")
        self.w, self.good = _number(start, "w", "start"), _number(start, "good", "start")
        self.floor = 1 - _number(whole, "structural", "budget")
        self.total = _optional(start, "sum_epsilon", "start") or Fraction(0)
        self.limit: Fraction | None = None
        if self.floor <= 0 or not self.floor <= self.good <= 1:
            raise CheckFailed("budget", "structural must be below 1, and good between it and 1")
        if whole.get("rule") == "residue":
            if self.w > _number(whole, "mu_squared", "budget"):
                raise CheckFailed("budget", "w is larger than mu_squared")
            if "point" in whole:
                self._check_start(_mapping(whole["point"], "budget"))
        elif whole.get("rule") == "reach":
            self._check_start(whole)
            if start.get("sum_epsilon") is not None:
                self.limit = _number(whole, "epsilon", "budget")
        else:
            raise CheckFailed("budget", "the rule must be reach or residue")
        for name in ("point", "budget"):
            if name in whole and not self._is_promised(_mapping(whole[name], name), whole):
                raise CheckFailed("budget", f"the {name} that it names is not what it proves")

    def _is_promised(self, named: Mapping[str, object], whole: Mapping[str, object]) -> bool:
        """Whether what a reader sees first says no more than the numbers that are checked."""
        if named.get("notion") == "gaussian":
            mu = _number(named, "mu", "budget")
            return self.floor == 1 and mu * mu >= _number(whole, "mu_squared", "budget")
        proved = whole if whole.get("rule") == "reach" else _mapping(whole.get("point"), "budget")
        delta = Fraction(0) if named.get("notion") == "pure" else _number(named, "delta", "budget")
        return (
            _number(named, "epsilon", "budget") >= _number(proved, "epsilon", "budget")
            and delta >= _number(proved, "delta", "budget")
            and named.get("notion") in ("approximate", "pure", None)
        )

    def _check_start(self, point: Mapping[str, object]) -> None:
        epsilon = _number(point, "epsilon", "budget")
        delta = 1 - (1 - _number(point, "delta", "budget")) / self.floor
        if delta < 0 or not _starts(epsilon, self.w, delta):
            raise CheckFailed("budget", "w gives more than delta")

    def end(self, state: Mapping[str, object]) -> None:
        if _number(state, "w", "end") != self.w:
            raise CheckFailed("end", "is not the w of the last step")
        if _number(state, "good", "end") > self.good:
            raise CheckFailed("end", "its product of 1 - delta is larger than it was")
        total = _optional(state, "sum_epsilon", "end")
        if total is not None and (self.limit is None or total < self.total):
            raise CheckFailed("end", "its sum of epsilon is smaller than it was")

    def take(self, step: Mapping[str, object], place: str) -> None:
        if _number(step, "w", place) != self.w:
            raise CheckFailed(place, "does not start with the w of the step before")
        after = _number(step, "after", place)
        if step.get("kind") == "gaussian":
            self._gaussian(_number(step, "mu_squared", place), after, place)
        elif step.get("kind") == "pure":
            self._pure(step, after, place)
        else:
            raise CheckFailed(place, "its kind must be pure or gaussian")
        self.w = after

    def _gaussian(self, mu_squared: Fraction, after: Fraction, place: str) -> None:
        if after > self.w - mu_squared:
            raise CheckFailed(place, "takes less than mu_squared")
        if mu_squared:
            self.limit = None

    def _pure(self, step: Mapping[str, object], after: Fraction, place: str) -> None:
        count = _count(step, place)
        # (1 - delta)**n >= 1 - n delta.
        self.good *= max(1 - count * _number(step, "delta", place), Fraction(0))
        if self.good < self.floor:
            raise CheckFailed(place, "the product of 1 - delta is below 1 - structural")
        epsilon = _number(step, "epsilon", place)
        nearest = Fraction(0) if self.limit is None else max(self.limit - self.total, Fraction(0))
        y0 = _number(step, "y0", place)
        if y0 > nearest:
            raise CheckFailed(place, "its y0 leaves out losses that can occur")
        if epsilon and not self._narrows(y0, epsilon, after, count):
            raise CheckFailed(place, "its inequality is not proved")
        if after > self.w:
            raise CheckFailed(place, "w grows")
        self.total += count * epsilon

    def _narrows(self, y0: Fraction, epsilon: Fraction, after: Fraction, count: int) -> bool:
        if count == 1:
            return _holds(y0, epsilon, self.w, after)
        if after == 0 and count * epsilon <= y0:
            return True  # all outcomes of all of them have the value 0
        return _holds(Fraction(0), epsilon, after + (self.w - after) / count, after)


def _count(step: Mapping[str, object], place: str) -> int:
    text = step.get("count", "1")
    if not isinstance(text, str) or not text.isdecimal() or len(text) > 20 or not int(text):
        raise CheckFailed(place, "count must be a number of at least 1")
    return int(text)


def _mapping(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise CheckFailed(place, "must be an object")
    return value


def _number(part: Mapping[str, object], name: str, place: str) -> Fraction:
    text = part.get(name)
    if not isinstance(text, str) or len(text) > 4000 or not text.replace("/", "", 1).isdecimal():
        raise CheckFailed(place, f"{name} must be an exact fraction that is not negative")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise CheckFailed(place, f"{name} is no fraction") from None


def _optional(part: Mapping[str, object], name: str, place: str) -> Fraction | None:
    return None if part.get(name) is None else _number(part, name, place)


def _starts(epsilon: Fraction, w: Fraction, delta: Fraction) -> bool:
    if w == 0:
        return True
    return _decided(lambda line: line.minus(line.of(delta), line.value(-epsilon, w)))


def _holds(y0: Fraction, epsilon: Fraction, w: Fraction, after: Fraction) -> bool:
    if after == 0 and epsilon <= y0:
        return True  # both outcomes have the value 0
    if after >= w:
        return False

    def room(line: Line) -> Ends:
        fall = line.exp(line.of(-epsilon))
        # Times 1 + e^-epsilon: v (1 + e^-epsilon) - v(up) - e^-epsilon v(down).
        kept = line.times(line.value(-y0, w), line.plus(line.of(Fraction(1)), fall))
        up, down = line.value(epsilon - y0, after), line.value(-epsilon - y0, after)
        return line.minus(kept, line.plus(up, line.times(fall, down)))

    return _decided(room)


def _decided(room: Callable[[Line], Ends]) -> bool:
    for digits in _DIGITS:
        low, high = room(line_of(digits))
        if low >= 0:
            return True
        if high < 0:
            return False
    return False
