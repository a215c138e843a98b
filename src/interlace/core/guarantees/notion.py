"""The notions that are known, as one type. A guarantee of another type is no notion."""

from __future__ import annotations

from typing import TypeGuard

from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.concentrated import ZCDP
from interlace.core.guarantees.gaussian import GaussianDP
from interlace.core.guarantees.pure import PureDP
from interlace.core.guarantees.renyi import RenyiDP
from interlace.core.guarantees.truncated import TCDP

Notion = PureDP | ApproxDP | ZCDP | TCDP | RenyiDP | GaussianDP

#: The same for comparing ``type(x)``: a subclass may lie about its curves.
NOTIONS = frozenset({PureDP, ApproxDP, ZCDP, TCDP, RenyiDP, GaussianDP})


def is_notion(value: object) -> TypeGuard[Notion]:
    """Whether ``value`` is a guarantee of a known notion, and of no subclass of one."""
    return type(value) in NOTIONS
