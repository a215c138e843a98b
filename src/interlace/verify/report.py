"""What the verifier found, to be read by a person or a program. Nothing is decided here."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal

from interlace.core.finite import Adversary
from interlace.core.finite.worst import WorstCase
from interlace.core.guarantees import Guarantee
from interlace.verify.findings import Findings, Span

#: What is shown of an adversary.
_WIDE, _LONG = 90, 24
#: Several integers as answers, as a tree shows them.
_RUN = re.compile(r"'-?\d+'(?:, '-?\d+')+")

Verdict = Literal["tight", "slack", "holds", "violated", "undecided"]


@dataclass(frozen=True)
class Point:
    """The worst case at one place of the curve beside what is claimed there.

    ``kind`` says which of the two is the value: "delta" at an ``at`` = epsilon, or "epsilon" at
    an ``at`` = delta. The exact worst case lies in ``worst``.
    """

    kind: Literal["delta", "epsilon"]
    at: Fraction
    claimed: float
    worst: Span

    def __str__(self) -> str:
        other = "epsilon" if self.kind == "delta" else "delta"
        return (
            f"{self.kind} at {other} {float(self.at):.6g}: {_between(self.worst)}, "
            f"claimed {_short(self.claimed)}"
        )

    def json(self) -> dict[str, Any]:
        """As plain values; an infinite one is the text "inf"."""
        low, high = self.worst
        named = {"claimed": self.claimed, "lower": low, "upper": high}
        return {"kind": self.kind, "at": float(self.at)} | {n: _plain(v) for n, v in named.items()}


@dataclass(frozen=True)
class Attack:
    """A proof that a claim is violated: an adversary and an event of its transcripts, of a
    probability of at least ``p`` on the neighbour that it names and of at most ``q`` on the other
    one, with p > e^epsilon q + delta where (epsilon, delta) is claimed. ``transcripts`` lists the
    event, at most some of it, each as pairs of question and answer."""

    adversary: Adversary
    epsilon: float
    delta: float
    p: float
    q: float
    transcripts: tuple[tuple[tuple[str, str], ...], ...]

    def __str__(self) -> str:
        first = self.adversary.first
        return "\n".join(
            [
                f"attack: an event has probability {self.p:.9g} or more on neighbour {first}, and "
                f"{self.q:.9g} or less on neighbour {1 - first};",
                f"claimed is at most e^{self.epsilon:.6g} times the latter plus {self.delta:.6g}",
                *("  " + _transcript(t) for t in self.transcripts),
            ]
        )

    def json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "neighbour": self.adversary.first,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "p": self.p,
            "q": self.q,
            "event": [[list(step) for step in t] for t in self.transcripts],
            "adversary": str(self.adversary),
        }


@dataclass(frozen=True)
class Report:
    """The worst case of a mechanism against every adaptive adversary with ``rounds`` questions
    out of ``questions``, beside what it claims.

    ``points`` hold the curve, ``parts`` the same for a composite's parts under an adversary that
    interleaves them at will, with a verdict of their own: where they are "violated" and the whole
    is not, its guarantee rests on its program; "undecided" without points, they are too large.
    ``adversary`` is a best one, worth ``reached`` = delta at its ``reached_at`` = epsilon, as an
    independent function evaluates it. ``distance`` is how much of the probability the finite
    ``pair`` may be off; it is in all intervals. ``findings.delta`` gives the interval at any
    epsilon. ``verdict``:

    - violated: some lower end is above the claim, and ``attack`` proves it;
    - tight: the claim is reached up to ``tolerance``; slack: it is nowhere near;
    - holds: it is not exceeded by more than ``tolerance``, and the intervals tell no more;
    - undecided: the intervals are too wide.
    """

    mechanism: str
    claim: Guarantee
    verdict: Verdict
    tolerance: float
    rounds: int
    questions: tuple[str, ...]
    points: tuple[Point, ...]
    parts: tuple[Point, ...]
    parts_verdict: Verdict | None
    adversary: Adversary
    reached: float
    reached_at: float
    attack: Attack | None
    distance: float
    nodes: int
    seconds: float
    findings: Findings

    @property
    def pair(self) -> WorstCase:
        """The finite systems, exact: to certify, to interleave, to ask for more."""
        return self.findings.pair

    def __str__(self) -> str:
        lines = [
            f"{self.mechanism}: {self.verdict}",
            f"claims {self.claim}; {self.rounds} rounds of {', '.join(self.questions)}",
            *map(str, self.points),
        ]
        if self.verdict == "slack":
            lines.append("with these rounds and questions; more may come nearer to the claim")
        if self.parts_verdict is not None:
            lines.append(f"its parts, interleaved at will: {self.parts_verdict}")
            lines += [f"  {point}" for point in self.parts] or ["  too many histories for a look"]
        if self.attack is not None:
            lines.append(str(self.attack))
        lines.append(
            f"a best adversary, delta {self.reached:.6g} at epsilon {self.reached_at:.6g}:"
        )
        lines += _tree(self.adversary)
        lines.append(
            f"{self.nodes:,} nodes, {self.seconds:.2g} s; cut and rounded: {self.distance:.2g} "
            "of the probability, which is in the intervals"
        )
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """As plain values, for ``json.dumps``."""
        return {
            "mechanism": self.mechanism,
            "claim": str(self.claim),
            "verdict": self.verdict,
            "tolerance": self.tolerance,
            "rounds": self.rounds,
            "questions": list(self.questions),
            "points": [point.json() for point in self.points],
            "parts": [point.json() for point in self.parts],
            "parts_verdict": self.parts_verdict,
            "adversary": str(self.adversary),
            "reached": {"delta": self.reached, "epsilon": self.reached_at},
            "attack": None if self.attack is None else self.attack.json(),
            "distance": self.distance,
            "nodes": self.nodes,
            "seconds": self.seconds,
        }


def judge(points: list[Point], tolerance: Fraction) -> Verdict:
    """The verdict on points, of which none may be violated."""
    if any(point.worst[0] > point.claimed for point in points):
        return "violated"
    # What claims nothing, or 0, is met exactly by nearly everything: it says nothing about
    # tightness.
    telling = [p for p in points if tolerance < p.claimed < math.inf]
    if any(p.worst[0] >= p.claimed - tolerance for p in telling):
        return "tight"
    if any(point.worst[1] > point.claimed + tolerance for point in points):
        return "undecided"
    return "slack" if all(p.worst[1] < p.claimed - tolerance for p in telling) else "holds"


def _between(span: Span) -> str:
    low, high = span
    if low == high or high - low <= 1e-12 * max(1.0, low):
        return f"{high:.12g}"
    return f"between {low:.9g} and {_short(high)}"


def _tree(adversary: Adversary) -> list[str]:
    drawn = [_RUN.sub(_ranged, line) for line in str(adversary).splitlines()]
    shown = [f"  {line}" if len(line) <= _WIDE else f"  {line[:_WIDE]} …" for line in drawn]
    more = f"  … {len(shown) - _LONG} more lines: print(report.adversary)"
    return shown if len(shown) <= _LONG else [*shown[:_LONG], more]


def _ranged(run: re.Match[str]) -> str:
    """Answers with one continuation, neighbouring ones as a range."""
    numbers = [int(label.strip("' ")) for label in run[0].split(",")]
    # Along neighbours, number minus place stays the same.
    groups = groupby(enumerate(numbers), lambda at: at[1] - at[0])
    parts = []
    for _, group in groups:
        members = [number for _, number in group]
        if len(members) > 2:
            parts.append(f"'{members[0]}' to '{members[-1]}'")
        else:
            parts += [f"'{number}'" for number in members]
    return ", ".join(parts)


def _short(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.12g}"


def _transcript(transcript: tuple[tuple[str, str], ...]) -> str:
    return "; ".join(f"{query} → {answer}" for query, answer in transcript)


def _plain(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
