"""The notions that are known, as one type. A guarantee of another type is no notion."""

from __future__ import annotations

from typing import TypeGuard

from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.concentrated import ZCDP
from interlace.core.guarantees.pure import PureDP

Notion = PureDP | ApproxDP | ZCDP

#: The same for comparing ``type(x)``: a subclass may lie about its curves.
NOTIONS = frozenset({PureDP, ApproxDP, ZCDP})


def is_notion(value: object) -> TypeGuard[Notion]:
    """Whether ``value`` is a guarantee of a known notion, and of no subclass of one."""
    return type(value) in NOTIONS
