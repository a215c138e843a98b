"""Delta(epsilon) as an SVG picture: of the exact worst case beside what is claimed, and the parts
of which other pictures of profiles are made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from xml.sax.saxutils import escape

from interlace.verify.report import Report

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 400, 70, 50, 50
_STEPS = 60
#: The lowest power of ten that is drawn; what is below lies on the axis.
_LOWEST = -12

Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class Frame:
    """Where points lie: epsilon from 0 to ``last``, delta from 10^``lowest`` to 1, in powers."""

    last: float
    lowest: int

    def line(self, curve: Curve, style: str) -> str:
        """A curve; what is below the frame lies on the axis."""
        points = (self._place(e, d) for e, d in curve)
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polyline points="{text}" fill="none" {style}/>'

    def axes(self) -> list[str]:
        """Both axes, with labels."""
        found = []
        for power in range(0, self.lowest - 1, -max(1, -self.lowest // 6)):
            _, y = self._place(0, power=power)
            found.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - 20}" stroke="#ddd"/>')
            found.append(
                f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'
            )
        for i in range(6):
            x, y = self._place(self.last * i / 5, power=self.lowest)
            label = f"{self.last * i / 5:.3g}"
            found.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{label}</text>')
        middle = (_LEFT + _WIDTH) / 2
        found.append(f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">epsilon</text>')
        found.append(f'<text x="12" y="{_TOP + 4}">delta</text>')
        return found

    def _place(
        self, epsilon: float, delta: float = 0, power: float | None = None
    ) -> tuple[float, float]:
        if power is None:
            power = max(math.log10(delta), self.lowest) if delta > 0 else self.lowest
        right, height = _WIDTH - 20 - _LEFT, _HEIGHT - _TOP - _BOTTOM
        return _LEFT + right * epsilon / self.last, _TOP + height * power / self.lowest


def places(last: float) -> list[float]:
    """The epsilons at which a curve is drawn."""
    return [last * i / _STEPS for i in range(_STEPS + 1)]


def picture(title: str, subtitle: str, body: Iterable[str]) -> str:
    """A whole SVG file; ``title`` and ``subtitle`` are plain text."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="13">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{_LEFT}" y="20">{escape(shortened(title))}</text>',
            f'<text x="{_LEFT}" y="38">{escape(subtitle)}</text>',
            *body,
            "</svg>\n",
        ]
    )


def draw(report: Report) -> str:
    """The picture of a report: claimed dashed, the worst case drawn through, delta in powers of
    ten. Where the worst case is an interval its upper end is drawn.

    >>> from interlace.core.mechanisms import Laplace
    >>> from interlace.verify import verify
    >>> draw(verify(Laplace(scale=1))).count("<polyline")
    2
    """
    last = 1.15 * max([float(p.at) for p in report.points if p.kind == "delta"] + [0.1])
    worst = [(e, report.findings.delta(Fraction(e))[1]) for e in places(last)]
    claimed = [(e, report.claim.delta(e)) for e in places(last)]
    frame = Frame(last, _lowest([*worst, *claimed]))
    told = f"{report.rounds} rounds: {report.verdict}; exact worst case"
    return picture(
        report.mechanism,
        f"{told} (drawn through), claimed (dashed)",
        [
            *frame.axes(),
            frame.line(claimed, 'stroke="#888" stroke-dasharray="6 4"'),
            frame.line(worst, 'stroke="#b00" stroke-width="2"'),
        ],
    )


def _lowest(curve: Curve) -> int:
    positive = [delta for _, delta in curve if delta > 10.0**_LOWEST]
    return min(-1, max(_LOWEST, math.floor(math.log10(min(positive, default=0.1)))))


def shortened(text: str) -> str:
    """As much of a text as there is room for in a line."""
    return text if len(text) <= 80 else text[:79] + "…"
