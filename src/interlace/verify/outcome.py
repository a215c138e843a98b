"""What an experiment found: its trials, its first failure, how near the claim it came."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Self

from interlace.core.finite.worst import WorstCase
from interlace.verify.random_pairs import described
from interlace.verify.tables import Progress

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Finding:
    """One comparison of a trial. ``tightness`` is what was reached as a part of the bound,
    where that says something."""

    claim: str
    holds: bool
    tightness: Fraction | None = None

    @classmethod
    def at_most(cls, claim: str, reached: Fraction, bound: Fraction) -> Self:
        """Holds where ``reached`` is not above ``bound``."""
        told = f"{claim}: {_short(reached)} is at most {_short(bound)}"
        return cls(told, reached <= bound, reached / bound if bound else None)

    @classmethod
    def equal(cls, claim: str, reached: object, expected: object) -> Self:
        """Holds where the two are equal; says nothing about tightness."""
        return cls(f"{claim}: {_short(reached)} is {_short(expected)}", reached == expected)


@dataclass(frozen=True)
class Trial:
    """Random systems, and what is found about them when one asks."""

    systems: tuple[WorstCase, ...]
    findings: Iterable[Finding]


@dataclass(frozen=True)
class Failure:
    """A claim that does not hold, and the systems that refute it. ``call`` repeats the trial."""

    call: str
    claim: str
    systems: tuple[str, ...]

    def __str__(self) -> str:
        named = [f"system {i}\n{text}" for i, text in enumerate(self.systems)]
        return "\n".join([f"false: {self.claim}", f"again: {self.call}", *named])


@dataclass(frozen=True)
class Outcome:
    """Of ``trials`` trials with ``comparisons`` together, ``failures`` had one that failed.

    ``closest`` is the greatest part of a bound that was reached where equality is not claimed,
    ``usual`` the average part, both in the nearest float; None where nothing was bounded. ``str``
    and rich print it.
    """

    name: str
    statement: str
    trials: int
    seed: int
    comparisons: int
    failures: int
    first: Failure | None
    closest: float | None
    usual: float | None
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def rows(self) -> list[tuple[str, str]]:
        """What is printed, as (label, text)."""
        near = "-"
        if self.closest is not None:
            near = f"{self.closest:.6f} at most, {self.usual:.6f} on average"
        return [
            ("claim", self.statement),
            ("trials", f"{self.trials} (seed {self.seed})"),
            ("comparisons", str(self.comparisons)),
            ("failures", str(self.failures)),
            ("part of the bound reached", near),
            ("seconds", f"{self.seconds:.2f}"),
        ]

    def __str__(self) -> str:
        lines = [f"{label}: {text}" for label, text in self.rows()]
        return "\n".join([self.name, *lines, *([] if self.first is None else [str(self.first)])])

    def __rich__(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self.name, show_header=False)
        # Not markup: brackets of a failure would be read as styles.
        for label, text in self.rows():
            table.add_row(Text(label), Text(text))
        if self.first is not None:
            table.add_row(Text("first failure"), Text(str(self.first)))
        return table


@dataclass(frozen=True)
class Experiment:
    """A theorem, and a trial of it on random systems."""

    name: str
    statement: str
    trial: Callable[[Random], Trial]

    def run(
        self, trials: int, seed: int, progress: Progress | None = None, *, start: int = 0
    ) -> Outcome:
        """Trials number ``start`` and up: each has a generator of its own, so that it can be
        repeated alone."""
        began = time.perf_counter()
        comparisons = failures = 0
        first, parts = None, list[Fraction]()
        for number in range(start, start + trials):
            call = f"run({self.name!r}, trials=1, seed={seed}, start={number})"
            findings, failure = self._judged(number, seed, call)
            comparisons += len(findings)
            failures += failure is not None
            first = first or failure
            parts += [f.tightness for f in findings if f.tightness is not None]
            if progress is not None:
                progress("trials", number - start + 1, trials)
        return Outcome(
            name=self.name,
            statement=self.statement,
            trials=trials,
            seed=seed,
            comparisons=comparisons,
            failures=failures,
            first=first,
            closest=float(max(parts)) if parts else None,
            usual=fmean(map(float, parts)) if parts else None,
            seconds=time.perf_counter() - began,
        )

    def _judged(self, number: int, seed: int, call: str) -> tuple[list[Finding], Failure | None]:
        try:
            # Text, since Random of a tuple would be that of its hash.
            trial = self.trial(Random(f"{self.name} {seed} {number}"))  # noqa: S311  to be repeated
            findings = list(trial.findings)
        except Exception as error:
            error.add_note(f"in {call}")
            raise
        false = next((f.claim for f in findings if not f.holds), None)
        if false is None:
            return findings, None
        return findings, Failure(call, false, tuple(map(described, trial.systems)))


def _short(value: object) -> str:
    text = str(value)
    if isinstance(value, Fraction) and len(text) > 40:
        return f"{text} (about {float(value):.17g})"
    return text
