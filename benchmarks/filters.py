"""How many mechanisms does each filter admit, chosen one after another from earlier answers?

Identical and mixed pure epsilons at delta = 1e-6, beside what would be optimal had all been fixed
in advance, and the time of one admission. Run by `make bench`; `--plot FILE.svg` draws it.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from statistics import mean

import mpmath
from rich.console import Console
from rich.progress import track
from rich.table import Table

import interlace as il

DELTA = Fraction(1, 10**6)
ORDERS = [1 + 1.12**k / 10 for k in range(75)]
Count = Callable[[Fraction, Sequence[Fraction]], int]
"""From E and the epsilons in their order to how many are admitted before the first refusal."""


def epsilon_at(w: int) -> Fraction:
    """The epsilon of sqrt(w)-GDP at DELTA, a little above."""
    with mpmath.workdps(30):
        root = mpmath.sqrt(w)

        def missing(e: mpmath.mpf) -> mpmath.mpf:
            near, far = mpmath.ncdf(root / 2 - e / root), mpmath.ncdf(-root / 2 - e / root)
            return mpmath.log((near - mpmath.exp(e) * far) / float(DELTA))

        return Fraction(str(mpmath.findroot(missing, 5 * root))) + Fraction(1, 10**14)


def within(budget: float, costs: Iterable[float]) -> int:
    spent, count = 0.0, 0
    for cost in costs:
        spent += cost
        if spent > budget:
            break
        count += 1
    return count


def filtered(rule: il.Filter, epsilons: Sequence[Fraction]) -> int:
    for count, epsilon in enumerate(epsilons):
        try:
            rule.admit(il.PureDP(epsilon))
        except il.BudgetExceeded:
            return count
    return len(epsilons)


def basic(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    return filtered(il.Filter(il.ApproxDP(limit, DELTA), "basic"), epsilons)


def wrrw23(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    # sqrt(2 log(1/delta) S) + S/2 <= E, S the sum of squares (FORMULAS 6.3), solved for S.
    log = math.log(1 / DELTA)
    root = math.sqrt(2 * log + 2 * float(limit)) - math.sqrt(2 * log)
    return within(root * root * (1 + 1e-12), (float(e) ** 2 for e in epsilons))


def zcdp(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    # Pure mechanisms by epsilon tanh(epsilon/2), converted as well as is known.
    return filtered(il.Filter(il.ApproxDP(limit, DELTA), "advanced", structural=0), epsilons)


def renyi(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    """The best order of a grid for these very epsilons: more than an account could choose."""
    return max(within(_budget(a, limit), _curve(a, epsilons)) for a in ORDERS)


@cache
def _budget(alpha: float, limit: Fraction) -> float:
    """The largest divergence of that order that gives (limit, DELTA)."""
    low, high = 0.0, 2 * float(limit)
    for _ in range(40):
        middle = (low + high) / 2
        fits = il.RenyiDP(alpha, middle).delta(limit) <= DELTA
        low, high = (middle, high) if fits else (low, middle)
    return low


def _curve(alpha: float, epsilons: Sequence[Fraction]) -> Iterable[float]:
    # Randomised response (FORMULAS 7.3).
    for epsilon in epsilons:
        e = float(epsilon)
        lost = math.log1p(math.exp(-e)) - math.log1p(math.exp(-(2 * alpha - 1) * e))
        yield e - lost / (alpha - 1)


def residue(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    return filtered(il.Filter(il.ApproxDP(limit, DELTA), "residue", structural=0), epsilons)


def reach(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    return filtered(il.Filter(il.ApproxDP(limit, DELTA), structural=0), epsilons)


def optimum(limit: Fraction, epsilons: Sequence[Fraction]) -> int:
    """The longest beginning that fits by optimal composition: no filter (FORMULAS 6.4)."""
    low, high = reach(limit, epsilons), len(epsilons)
    while low < high:
        # Hardly more than reach admits, and a composition takes seconds: look near it first.
        middle = min((low + high + 1) // 2, low + 1 + low // 25)
        ordered = groupby(sorted(epsilons[:middle]))
        parts = [(il.PureDP(e), len(list(same))) for e, same in ordered]
        fits = il.compose(parts).delta(limit) <= DELTA
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


FILTERS: dict[str, Count] = {
    "basic": basic,
    "WRRW23": wrrw23,
    "zCDP": zcdp,
    "Rényi, best order": renyi,
    "residue": residue,
    "reach": reach,
}
ALL = {**FILTERS, "fixed in advance": optimum}


def identical(epsilon: str, w: int = 1) -> tuple[str, int, list[list[Fraction]]]:
    return f"all {epsilon}", w, [[Fraction(epsilon)] * int(1.1 * w / float(epsilon) ** 2 + 10)]


def mixed(w: int, lists: int, large: float = 0.0) -> tuple[str, int, list[list[Fraction]]]:
    draw = random.Random(w)  # noqa: S311  the same lists in every run
    found = [[_one(draw, large) for _ in range(60 * w)] for _ in range(lists)]
    return f"U[.01,.3]{', 5 % U[.5,2]' if large else ''}, V={w}", w, found


def _one(draw: random.Random, large: float) -> Fraction:
    span = (500, 2000) if draw.random() < large else (10, 300)
    return Fraction(draw.randint(*span), 1000)


def cases() -> list[tuple[str, int, list[list[Fraction]]]]:
    same = [identical(e) for e in ("0.01", "0.1", "0.3", "1")]
    return [*same, mixed(1, 10), mixed(4, 4), mixed(16, 1), mixed(16, 1, 0.05)]


def measure() -> dict[str, dict[str, float]]:
    """From case and filter to the mean number admitted."""
    found: dict[str, dict[str, float]] = {}
    for name, w, lists in track(cases(), "admitting"):
        limit = epsilon_at(w)
        found[name] = {
            rule: mean(count(limit, epsilons) for epsilons in lists) for rule, count in ALL.items()
        }
    return found


def admission_us(count: Count, epsilon: str) -> float:
    """Microseconds of one admission, the first 90 % of all that fit; the least of seven runs."""
    limit, epsilons = epsilon_at(1), [Fraction(epsilon)] * 2_000
    most = [Fraction(epsilon)] * (9 * count(limit, epsilons) // 10)
    opening = min(_timed(count, limit, []) for _ in range(7))
    return 1e6 * (min(_timed(count, limit, most) for _ in range(7)) - opening) / len(most)


def _timed(count: Count, limit: Fraction, epsilons: list[Fraction]) -> float:
    start = time.perf_counter()
    count(limit, epsilons)
    return time.perf_counter() - start


def drawn(found: dict[str, dict[str, float]]) -> str:
    """Bars: the part of the optimum that each filter admits."""
    shades = ("#cccccc", "#a6bddb", "#74a9cf", "#3690c0", "#fdae61", "#d7301f")
    high, wide, left = 34 + 13 * len(FILTERS), 620, 190
    parts = []
    for row, (case, counts) in enumerate(found.items()):
        top = 10 + row * high
        parts.append(f'<text x="8" y="{top + 40}">{escape(case)}</text>')
        for line, (rule, shade) in enumerate(zip(FILTERS, shades, strict=True)):
            share = counts[rule] / counts["fixed in advance"]
            y = top + 13 * line
            parts.append(
                f'<rect x="{left}" y="{y}" width="{300 * share:.1f}" height="11" fill="{shade}"/>'
                f'<text x="{left + 6 + 300 * share:.1f}" y="{y + 10}">{rule} {share:.1%}</text>'
            )
    size = f'width="{wide}" height="{10 + len(found) * high}"'
    style = 'font-family="sans-serif" font-size="10"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(parts)}</svg>\n'


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    asked = parser.parse_args()
    found = measure()
    table = Table("admitted at δ = 1e-6", *ALL)
    for case, counts in found.items():
        table.add_row(case, *(f"{counts[rule]:,.5g}" for rule in ALL))
    times = Table("µs for one admission", *FILTERS)
    for epsilon in ("0.2", "0.1", "0.03", "0.01"):
        cells = (admission_us(count, epsilon) for count in FILTERS.values())
        times.add_row(f"all {epsilon}", *(f"{cell:,.1f}" for cell in cells))
    Console().print(table, times)
    if asked.plot:
        asked.plot.write_text(drawn(found), encoding="utf-8")


if __name__ == "__main__":
    main()
