"""Many equal children, in a few steps however many they are.

Where (*) of inequality.py holds for every y from w' + c to w', it holds from w' + c + t to w' + t,
for every t >= 0: v(y, w + t) is the mean of v(y + L, w) over the loss L of a Gaussian of variance
t, and (*) may be averaged. So n steps of epsilon from w' + n c down to w' are proved by the last,
at y0 = 0. Small epsilons lose hardly anything by that, since what they cost depends little on w.
"""

from __future__ import annotations

from interlace.core.composition.value_filters.children import Child, PureChild, State
from interlace.core.composition.value_filters.rules import Rule

#: Up to so many equal children each take a step of their own.
_FEW = 64
#: A step of many takes about this part of w, and no admission more steps than these.
_PART, _MOST = 10, 2_000

Piece = tuple[Child, int, State]
"""A child, how many of it in one step, and the state after it."""


def admitted(rule: Rule, state: State, child: Child, count: int) -> list[Piece] | None:
    """The steps by which ``count`` equal children are admitted; None where they are refused.

    >>> from interlace.core.composition.value_filters import Residue
    >>> rule, child = Residue.of(mu=1), PureChild.of(0.001)
    >>> pieces = admitted(rule, rule.start(), child, 900_000)
    >>> len(pieces) < 100, 0.0999 < pieces[-1][2].w < 0.1
    (True, True)
    """
    found: list[Piece] = []
    now, left = state, count
    while left:
        size = _size(now, child, left) if len(found) < _MOST else left
        after = rule.step(now, child, size)
        if after is None:
            return None
        found.append((child, size, after))
        now, left = after, left - size
    return found


def _size(state: State, child: Child, left: int) -> int:
    if not isinstance(child, PureChild) or not child.epsilon or not state.w:
        return left
    if left <= _FEW:
        return 1
    size = int(state.w / (_PART * child.epsilon * child.epsilon))
    return min(left, size) if size >= _FEW else 1
