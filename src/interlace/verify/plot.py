"""Delta(epsilon) of the exact worst case beside what is claimed, as an SVG picture."""

from __future__ import annotations

import math
from fractions import Fraction
from xml.sax.saxutils import escape

from interlace.verify.report import Report

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 400, 70, 50, 50
_STEPS = 60
#: The lowest power of ten that is drawn; what is below lies on the axis.
_LOWEST = -12

Curve = list[tuple[float, float]]


def draw(report: Report) -> str:
    """The picture of a report: claimed dashed, the worst case drawn through, delta in powers of
    ten. Where the worst case is an interval its upper end is drawn.

    >>> from interlace.core.mechanisms import Laplace
    >>> from interlace.verify import verify
    >>> draw(verify(Laplace(scale=1))).count("<polyline")
    2
    """
    last = 1.15 * max([float(p.at) for p in report.points if p.kind == "delta"] + [0.1])
    places = [last * i / _STEPS for i in range(_STEPS + 1)]
    worst = [(e, report.findings.delta(Fraction(e))[1]) for e in places]
    claimed = [(e, report.claim.delta(e)) for e in places]
    lowest = _lowest([*worst, *claimed])
    body = [
        f'<text x="{_LEFT}" y="20">{escape(_short(report.mechanism))}</text>',
        f'<text x="{_LEFT}" y="38">{report.rounds} rounds: {report.verdict}; exact worst case'
        " (drawn through), claimed (dashed)</text>",
        *_axes(last, lowest),
        _line(claimed, last, lowest, 'stroke="#888" stroke-dasharray="6 4"'),
        _line(worst, last, lowest, 'stroke="#b00" stroke-width="2"'),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="13">',
            '<rect width="100%" height="100%" fill="white"/>',
            *body,
            "</svg>\n",
        ]
    )


def _lowest(curve: Curve) -> int:
    positive = [delta for _, delta in curve if delta > 10.0**_LOWEST]
    return min(-1, max(_LOWEST, math.floor(math.log10(min(positive, default=0.1)))))


def _place(epsilon: float, delta: float, last: float, lowest: int) -> tuple[float, float]:
    log = max(math.log10(delta), lowest) if delta > 0 else lowest
    right, height = _WIDTH - 20 - _LEFT, _HEIGHT - _TOP - _BOTTOM
    return _LEFT + right * epsilon / last, _TOP + height * log / lowest


def _line(curve: Curve, last: float, lowest: int, style: str) -> str:
    points = (_place(e, d, last, lowest) for e, d in curve)
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{text}" fill="none" {style}/>'


def _axes(last: float, lowest: int) -> list[str]:
    found = []
    for power in range(0, lowest - 1, -max(1, -lowest // 6)):
        _, y = _place(0, 10.0**power, last, lowest)
        found.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - 20}" stroke="#ddd"/>')
        found.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for i in range(6):
        x, y = _place(last * i / 5, 10.0**lowest, last, lowest)
        label = f"{last * i / 5:.3g}"
        found.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{label}</text>')
    middle = (_LEFT + _WIDTH) / 2
    found.append(f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">epsilon</text>')
    found.append(f'<text x="12" y="{_TOP + 4}">delta</text>')
    return found


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
