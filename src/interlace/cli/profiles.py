"""The profiles of a composition and of its parts as an SVG picture."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from interlace.core.composition import Composition
from interlace.core.composition.terms import terms
from interlace.verify.plot import Frame, picture, places

_SHADES = ("#1f77b4", "#2ca02c", "#9467bd", "#e68a00", "#17a2b8", "#8c564b", "#7f7f7f", "#bcbd22")
_DEEPEST = -320
"""Powers of ten below which floats end."""
_APART = 5


def draw(whole: Composition, title: str, delta: float, epsilon: float) -> str:
    """delta(epsilon) of the whole, drawn through, and of each of the first eight parts with its
    count, thin; down to below ``delta``, and out to beyond ``epsilon``.

    >>> from interlace.core.guarantees import PureDP, ZCDP
    >>> both = Composition(((PureDP(1), 2), (ZCDP(0.5), 1)))
    >>> draw(both, "2x1 + zcdp(0.5)", 1e-6, 5).count("<polyline")
    3
    """
    lowest = max(_DEEPEST, math.floor(math.log10(delta)) - 1) if delta > 0 else -12
    last = 1.15 * epsilon if 0 < epsilon < math.inf else 1.0
    frame = Frame(last, min(-1, lowest))
    body = frame.axes()
    parts = whole.parts if len(whole.parts) > 1 else ()
    for row, (part, count) in enumerate(parts[: len(_SHADES)]):
        shade = _SHADES[row]
        single = Composition(((part, count),), whole.relation)
        body.append(frame.line(_profile(single, last), f'stroke="{shade}"'))
        body.append(_label(row, f"{count:,} x {part}" if count > 1 else str(part), shade))
    body.append(frame.line(_profile(whole, last), 'stroke="#b00" stroke-width="2"'))
    body.append(_label(min(len(parts), len(_SHADES)), "together", "#b00"))
    left = len(parts) - len(_SHADES)
    told = f"certified delta at each epsilon{f'; {left:,} more parts not drawn' * (left > 0)}"
    return picture(title, told, body)


def _profile(composition: Composition, last: float) -> list[tuple[float, float]]:
    at = places(last)
    sorted_parts = terms(composition.parts)
    if not (sorted_parts.exact or sorted_parts.line_only):
        # Bounds on divergences beside exact losses may take a second each.
        at = at[::_APART]
    return list(zip(at, composition.profile(at), strict=True))


def _label(row: int, text: str, shade: str) -> str:
    short = text if len(text) <= 40 else text[:39] + "…"
    return (
        f'<text x="612" y="{66 + 15 * row}" text-anchor="end" font-size="11" '
        f'fill="{shade}">{escape(short)}</text>'
    )
