"""SELECT: from sqlglot's tree to the items of a query and the noisy parts that they need.

Parts that several items need are read once. Pure; sees no data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from sqlglot import expressions as exp

from interlace.query import arithmetic, estimates
from interlace.query.columns import Boolean, Day
from interlace.query.estimates import Mean
from interlace.query.keys import Key, public_codes
from interlace.query.parsing.advice import advice_for
from interlace.query.parsing.expressions import Expressions, named, titled
from interlace.query.parsing.scope import Scope
from interlace.query.parsing.tree import construct_of
from interlace.query.parts import Kind, Part, part
from interlace.query.plan import Item
from interlace.query.predicates import Predicate
from interlace.query.terms import Ref, Rounded, Term, TermError, is_number
from interlace.query.text import Writer

#: A histogram for a quantile has at most so many cells.
MOST_VALUES = 1_024
#: Up to which one unit's squares are added up as they are.
_LARGEST_SQUARES = 2**34
#: How a variance or its root is called: of the sample or not, a root or not.
_SPREADS: dict[str, tuple[bool, bool]] = {
    "VAR_POP": (False, False), "VAR_SAMP": (True, False), "VARIANCE": (True, False),
    "VAR": (True, False), "STDDEV_POP": (False, True), "STDDEV_SAMP": (True, True),
    "STDDEV": (True, True),
}  # fmt: skip
_SPREAD_NODES: dict[type[exp.Expr], str] = {
    exp.VariancePop: "VAR_POP", exp.Variance: "VAR_SAMP", exp.StddevPop: "STDDEV_POP",
    exp.StddevSamp: "STDDEV_SAMP", exp.Stddev: "STDDEV_SAMP",
}  # fmt: skip
Clamp = tuple[int, int]


class Aggregates:
    """Reads the aggregates of one query; ``parts`` are what they need, in order."""

    def __init__(
        self, scope: Scope, expressions: Expressions, where: Predicate, keys: Sequence[Key]
    ) -> None:
        self._scope = scope
        self._source = scope.source
        self._expressions = expressions
        self._where = where
        self._keys = tuple(keys)
        self._write = Writer(scope.joined.single)
        self._readers: dict[type[exp.Expr], Callable[[exp.Expr, str | None], Item]] = {
            exp.Count: self._count, exp.Sum: self._sum, exp.Avg: self._mean,
            exp.Quantile: self._quantile, exp.Median: self._quantile, exp.Anonymous: self._function,
            **dict.fromkeys(_SPREAD_NODES, self._spread),
        }  # fmt: skip
        self.parts: list[Part] = []
        self._places: dict[Part, int] = {}

    def read(self, node: exp.Expr, name: str | None) -> Item:
        """The item of an aggregate, called ``name`` or else by its own text. Raises QueryRefused."""
        reader = self._readers.get(type(node))
        if reader is None:
            construct = construct_of(node)
            raise self._source.refuse(node, construct, advice_for(construct))
        return reader(node, name)

    def _count(self, node: exp.Expr, name: str | None) -> Item:
        return self._cell(name, self._part(self._counted(node)))

    def _counted(self, node: exp.Expr) -> Kind:
        self._source.expect(node, exp.Count, "this", "big_int")
        of, unit = node.this, self._scope.dataset.unit
        if type(of) is exp.Star:
            self._source.expect(of, exp.Star)
            return "rows"
        advice = f"COUNT(*) counts rows, COUNT(DISTINCT {unit}) counts units"
        if type(of) is not exp.Distinct or len(of.expressions) != 1:
            present = f"nothing is missing in a registered table: {advice}"
            among = isinstance(of, exp.Column | exp.Literal)
            raise self._source.refuse(of, "COUNT", present if among else advice)
        self._source.expect(of, exp.Distinct, "expressions")
        if not self._scope.is_unit(of.expressions[0]):
            raise self._source.refuse(of.expressions[0], "COUNT(DISTINCT)", advice)
        return "units"

    def _sum(self, node: exp.Expr, name: str | None) -> Item:
        self._source.expect(node, exp.Sum, "this")
        term = self._summed(node.this, "SUM")
        return self._cell(name, self._part("sum", term))

    def _summed(self, node: exp.Expr, what: str) -> Term:
        term = self._expressions.term(node)
        if is_number(term) or isinstance(term.kind, Boolean):
            return term
        raise self._source.refuse(
            node,
            f"{what} of {titled(term) if isinstance(term, Ref) else construct_of(node)}",
            f"is {named(term.kind)}, and a number is needed",
        )

    def _mean(self, node: exp.Expr, name: str | None) -> Item:
        self._source.expect(node, exp.Avg, "this")
        term = self._summed(node.this, "AVG")
        text = f"AVG({self._write.term(term)})"
        return Item(text, self._mean_of(term, name or _plain(text)))

    def _mean_of(self, term: Term, name: str) -> Mean:
        """Read around the middle of the bounds: so one unit moves it by as little as can be."""
        centred, origin = _centred(term)
        total, count = self._part("sum", centred), self._part("rows")
        return Mean(name, total, count, *centred.kind.codes, term.kind.digits, origin)

    def _spread(self, node: exp.Expr, name: str | None) -> Item:
        self._source.expect(node, type(node), "this")
        return self._spread_of(_SPREAD_NODES[type(node)], node.this, name)

    def _spread_of(self, called: str, of: exp.Expr, name: str | None) -> Item:
        term = self._expressions.number(of)
        sample, root = _SPREADS[called]
        called = ("STDDEV" if root else "VAR") + ("_SAMP" if sample else "_POP")
        text = f"{called}({self._write.term(term)})"
        # What is cut off here lies far below the noise of so large squares.
        centred, _ = _centred(term)
        coarse = arithmetic.rounded(
            centred, math.isqrt(_LARGEST_SQUARES // self._scope.joined.rows)
        )
        factor = coarse.factor if isinstance(coarse, Rounded) else 1
        try:
            squares = self._part("sum", arithmetic.times(coarse, coarse))
        except TermError as error:
            raise self._source.refuse(of, f"square in {called}", str(error)) from None
        mean = self._mean_of(term, "")
        column = estimates.Spread(name or _plain(text), squares, factor, mean, sample, root)
        return Item(text, column)

    def _quantile(self, node: exp.Expr, name: str | None) -> Item:
        arguments = ("this",) if type(node) is exp.Median else ("this", "quantile")
        self._source.expect(node, type(node), *arguments)
        share = Fraction(1, 2)
        if type(node) is exp.Quantile:
            if node.args.get("quantile") is None:
                raise self._source.refuse(node, "QUANTILE", "takes a share: QUANTILE(e, 0.5)")
            share = self._expressions.bound(node.args["quantile"])
        if not 0 < share < 1:
            raise self._source.refuse(node, "QUANTILE", "takes a share between 0 and 1, as 0.9")
        term = self._expressions.term(node.this)
        day = isinstance(term.kind, Day)
        if not day and not is_number(term):
            raise self._source.refuse(
                node, "QUANTILE", f"is of numbers and days, not of {named(term.kind)}"
            )
        codes = public_codes(term, self._where, MOST_VALUES)
        if codes is None:
            raise self._source.refuse(
                node,
                "QUANTILE",
                f"is read off a histogram, and this has more than {MOST_VALUES:,} values: "
                "QUANTILE(BUCKET(e, width), share)",
            )
        keys = (*self._keys, Key(term, codes))
        place = self._part("rows", keys=keys)
        digits = 0 if day else term.kind.digits
        text = f"QUANTILE({self._write.term(term)}, {_constant(share)})"
        column = estimates.Quantile(name or _plain(text), place, str(share), codes, digits, day)
        return Item(text, column)

    def _function(self, node: exp.Expr, name: str | None) -> Item:
        """CLAMP around an aggregate, and VAR, which the parser does not know."""
        self._source.expect(node, exp.Anonymous, "this", "expressions")
        called, arguments = str(node.this).upper(), node.expressions
        if called in _SPREADS and len(arguments) == 1:
            return self._spread_of(called, arguments[0], name)
        if called == "CLAMP" and len(arguments) == 3 and type(arguments[0]) in (exp.Count, exp.Sum):
            return self._clamped(node, name)
        advice = {
            "CLAMP": "as an item is CLAMP(COUNT(*), 0, u) or CLAMP(SUM(e), l, u)",
            "VAR": "takes one expression",
        }
        construct = f"function {called}"
        reason = advice.get(called) or advice_for(construct)
        raise self._source.refuse(node, construct, reason)

    def _clamped(self, node: exp.Expr, name: str | None) -> Item:
        of, *ends = node.expressions
        term = None
        if type(of) is exp.Count:
            kind: Kind = self._counted(of)
            if kind == "units":
                raise self._source.refuse(node, "CLAMP", "of COUNT(DISTINCT ...): one unit adds 1")
        else:
            self._source.expect(of, exp.Sum, "this")
            kind, term = "sum", self._summed(of.this, "SUM")
        lower, upper = (self._expressions.bound(end) for end in ends)
        if not lower <= 0 <= upper:
            raise self._source.refuse(
                node, "CLAMP", "around an aggregate must contain 0, which a unit without rows adds"
            )
        unit = 10 ** (0 if term is None else term.kind.digits)
        codes = lower * unit, upper * unit
        if any(code.denominator != 1 for code in codes):
            raise self._source.refuse(node, "CLAMP", "has bounds with more decimals than the sum")
        return self._cell(name, self._part(kind, term, clamp=(int(codes[0]), int(codes[1]))))

    def _part(
        self,
        kind: Kind,
        term: Term | None = None,
        *,
        clamp: Clamp | None = None,
        keys: tuple[Key, ...] | None = None,
    ) -> int:
        """The place of this part, which is added if it is not there yet."""
        keys = self._keys if keys is None else keys
        joined = self._scope.joined
        new = part(kind, joined, term=term, keys=keys, clamp=clamp)
        place = self._places.setdefault(new, len(self.parts))
        if place == len(self.parts):
            self.parts.append(new)
        return place

    def _cell(self, name: str | None, place: int) -> Item:
        part = self.parts[place]
        text = self._write.aggregate(part, self._scope.dataset.unit)
        return Item(text, estimates.Cell(name or _plain(text), place, part.digits))


def _constant(value: Fraction) -> str:
    """A constant number as SQL writes it."""
    found = arithmetic.literal(value)
    return found.kind.show(found.code)


def _centred(term: Term) -> tuple[Term, int]:
    """A number less the middle of its bounds, and that middle in units of its last digit; a truth
    as it is."""
    middle = sum(term.kind.codes) // 2
    if middle == 0 or isinstance(term.kind, Boolean):
        return term, 0
    constant = arithmetic.literal(Fraction(middle, 10**term.kind.digits))
    return arithmetic.minus(term, constant), middle


def _plain(text: str) -> str:
    """How an item without a name of its own is called."""
    return text.replace('"', "")
