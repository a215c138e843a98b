"""Large trees of hidden-state machines in floats, a block of histories at a time.

Where histories do not merge, all of them must be looked at: ten million leaves a second in
blocks, against some hundred thousand one by one. It goes depth first, so that memory does not
grow with the number of histories. numpy is imported when it is called.

Only sums and products of non-negative floats occur but for one difference at the leaves: so
what rounding does is what changing each probability of a history by a small part would do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, TypeVar

from interlace.core.errors import ParameterError
from interlace.core.finite.fold import Number, Value
from interlace.core.finite.graph import refuse_size
from interlace.core.finite.laws import Response
from interlace.core.finite.strategy import Ask

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

V = TypeVar("V")
Steps = Sequence[tuple[int, int, Fraction]]
"""(state, next state, probability of the response and the next state)."""

#: Histories of one block.
_ROWS = 2**14
#: Smaller probabilities of a history may underflow.
_LEAST = -290


@dataclass(frozen=True)
class Kernel:
    """One system: its first hidden state's law, and for each query the steps of each response."""

    opening: Sequence[Fraction]
    steps: Sequence[Mapping[Response, Steps]]


class Blocks:
    """Delta and the best event of a pair of kernels, both orders."""

    scales = (1, 1)

    def __init__(self, kernels: tuple[Kernel, Kernel], rounds: int, limit: int) -> None:
        self._rounds, self._limit = rounds, limit
        names = [
            tuple(dict.fromkeys([*first, *second]))
            for first, second in zip(kernels[0].steps, kernels[1].steps, strict=True)
        ]
        # Queries with fewer responses get some of probability 0.
        self._wide = max(map(len, names))
        self._queries = len(names)
        self._systems = [_Arrays(kernel, names, self._wide, rounds) for kernel in kernels]
        self.size = (self._queries * self._wide) ** rounds

    @property
    def growth(self) -> Fraction:
        """What rounding does to the probability of a history, and to the sums of them."""
        states = max(system.states for system in self._systems)
        return 1 + Fraction((self._rounds + 2) * (states + self._wide + 8), 2**51)

    def solve(self, value: Value[V]) -> V:
        """Raises ParameterError: only delta and epsilon are computed in blocks."""
        self._refuse(value)

    def plan(self, value: Value[Number]) -> Ask | None:
        """Raises ParameterError, as ``solve``."""
        self._refuse(value)

    def _refuse(self, _value: object) -> NoReturn:
        refuse_size(self.size, self._limit)

    def stick(self, factor: Fraction) -> Fraction:
        """The hockey stick, of the worse order."""
        import numpy as np

        gamma = float(factor)

        def leaf(p: Floats, q: Floats) -> Floats:
            return np.stack(
                [
                    best(np.maximum(p - gamma * q, 0)[None])[0],
                    best(np.maximum(q - gamma * p, 0)[None])[0],
                ]
            )

        def best(values: Floats) -> Floats:
            found: Floats = self._shaped(values).sum(axis=2).max(axis=1)
            return found

        return Fraction(float(self._solved(leaf, best).max()))

    def event(self, factor: Fraction | None) -> tuple[Fraction, Fraction]:
        """The two probabilities of the best event, of the worse order; None is infinity."""
        import numpy as np

        gamma = math.inf if factor is None else float(factor)

        def score(own: Floats, other: Floats) -> Floats:
            if factor is None:
                return np.where(other > 0, -1.0, own)
            return own - gamma * other

        def leaf(p: Floats, q: Floats) -> Floats:
            first, second = score(p, q) > 0, score(q, p) > 0
            return best(np.stack([p * first, q * first, q * second, p * second]))

        def best(values: Floats) -> Floats:
            sums = self._shaped(values).sum(axis=2)
            found = np.empty((4, sums.shape[2]))
            for at in (0, 2):
                pair = sums[at : at + 2]
                chosen = score(pair[0], pair[1]).argmax(axis=0)
                found[at : at + 2] = np.take_along_axis(pair, chosen[None, None], axis=1)[:, 0]
            return found

        at = self._solved(leaf, best)[:, 0]
        pairs = [(float(at[0]), float(at[1])), (float(at[2]), float(at[3]))]
        p, q = max(pairs, key=lambda pair: pair[0] - (gamma * pair[1] if pair[1] else 0))
        return Fraction(p), Fraction(q)

    def _shaped(self, values: Floats) -> Floats:
        """Values after each response, one row for each kind: (kind, query, response, history)."""
        return values.reshape(len(values), self._queries, self._wide, -1)

    def _solved(
        self, leaf: Callable[[Floats, Floats], Floats], best: Callable[[Floats], Floats]
    ) -> Floats:
        """``leaf`` of the probabilities of last responses, then ``best`` up to the root."""
        import numpy as np

        zero, one = self._systems
        step = max(1, _ROWS // (self._queries * self._wide))

        def at(first: Floats, second: Floats, left: int) -> Floats:
            # The weights of a block of histories are columns.
            if left == 1:
                return leaf(zero.answers @ first, one.answers @ second)
            found = []
            for i in range(0, first.shape[1], step):
                block = slice(i, i + step)
                after = zero.after(first[:, block]), one.after(second[:, block])
                found.append(best(at(*after, left - 1)))
            return np.concatenate(found, axis=1)

        return at(zero.opening, one.opening, self._rounds)


class _Arrays:
    """One system's kernel as matrices that act on columns of weights."""

    def __init__(
        self, kernel: Kernel, names: Sequence[tuple[Response, ...]], wide: int, rounds: int
    ) -> None:
        import numpy as np

        self.states = len(kernel.opening)
        steps = np.zeros((self.states, len(names), wide, self.states))
        least = 1.0
        for x, (responses, laws) in enumerate(zip(names, kernel.steps, strict=True)):
            for y, response in enumerate(responses):
                for i, j, p in laws.get(response, ()):
                    steps[j, x, y, i] += float(p)
                    least = min(least, float(p))
        if (rounds + 1) * math.log10(least) < _LEAST:
            raise ParameterError(
                "rounds", "probabilities are so small that floats cannot hold those of histories"
            )
        # Rows are (next state, query, response).
        self._steps = np.ascontiguousarray(steps.reshape(-1, self.states))
        self.answers = np.ascontiguousarray(steps.sum(axis=0).reshape(-1, self.states))
        self.opening = np.array([[float(p)] for p in kernel.opening])

    def after(self, weights: Floats) -> Floats:
        """The weights after each response: all histories of the first one first."""
        moved: Floats = self._steps @ weights
        return moved.reshape(self.states, -1)
