"""What is wrong with a mechanism that does not keep to the protocol, or with what is verified.

Errors of the mechanism's own code are not touched: they are what its author looks for.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NoReturn, SupportsIndex

from interlace.core.errors import ParameterError
from interlace.core.guarantees import Guarantee
from interlace.core.mechanisms.protocol import (
    Add,
    Answer,
    Compare,
    Composite,
    Mechanism,
    Move,
    Outcome,
    Public,
    composite,
)
from interlace.core.queries import Query

_OF_ALL = ("start", "left", "after")
_OF_LEAVES = ("opening", "move", "answer")


def checked(mechanism: Mechanism | Composite) -> None:
    """Raise ParameterError for what is not frozen, has not the methods of a mechanism, or whose
    ``opening`` or ``left`` give something else; children included."""
    if inspect.isclass(mechanism):
        raise ParameterError(
            "mechanism",
            f"must be a mechanism, not the class {mechanism.__name__}: call it, as in "
            f"{mechanism.__name__}(...)",
        )
    try:
        hash(mechanism)
    except TypeError:
        raise ParameterError(
            "mechanism", "must be a frozen value, as frozen dataclasses are: it is not hashable"
        ) from None
    _checked_methods(mechanism)


def _checked_methods(mechanism: Mechanism | Composite) -> None:
    whole = composite(mechanism)
    kind = type(mechanism).__name__
    names = (*_OF_ALL, *_OF_LEAVES) if whole is None else _OF_ALL
    missing = [name for name in names if not callable(getattr(mechanism, name, None))]
    if missing:
        raise ParameterError(
            "mechanism",
            f"{kind} must have the methods {', '.join(names)}; it lacks {', '.join(missing)}: "
            "give a mechanism such as il.mechanisms.Laplace(scale=2), or see docs/verifier.md",
        )
    left = mechanism.left(mechanism.start())
    _given(mechanism, "left", left, isinstance(left, int), "how many answers are left, an integer")
    if whole is not None:
        for child in whole.children.values():
            _checked_methods(child)
        return
    law = mechanism.opening()  # type: ignore[union-attr]  # composites have returned
    _given(mechanism, "opening", law, _is_law(law), "a law such as Point() or DiscreteLaplace(2)")


def claim_of(mechanism: Mechanism | Composite, claim: Guarantee | None) -> Guarantee:
    """What is claimed. Raises ParameterError where that is no guarantee."""
    wanted = "a guarantee such as il.PureDP(1)"
    if claim is not None:
        if not isinstance(claim, Guarantee):
            raise ParameterError("claim", f"must be {wanted}, not {_named(claim)}")
        return claim
    try:
        found = mechanism.guarantee
    except AttributeError:
        if inspect.getattr_static(mechanism, "guarantee", None) is not None:
            raise  # an error of its own code
        raise ParameterError(
            "mechanism",
            f"{type(mechanism).__name__} must have a property guarantee, {wanted}; or give claim=",
        ) from None
    _given(
        mechanism,
        "guarantee",
        found,
        isinstance(found, Guarantee),
        f"{wanted}, as a property; or give claim=",
    )
    return found


def moved(leaf: Mechanism, public: Public, query: Query) -> Move:
    """The leaf's move. Raises ParameterError where that is none."""
    move: Any = leaf.move(public, query)
    wanted = "Move(query.plan, kernel), where the kernel is Add(law) or Compare(law)"
    good = isinstance(move, Move) and isinstance(move.kernel, Add | Compare)
    _given(leaf, "move", move, good and _is_law(move.kernel.law), wanted)
    return move  # type: ignore[no-any-return]  # checked a line above


def answered(
    leaf: Mechanism, secret: tuple[int, ...], public: Public, query: Query, outcome: Outcome
) -> Answer:
    """The leaf's answer; an empty ``secret`` where it was not given.

    Raises ParameterError where the answer is none, or where the code fails since it reads a
    secret that it is not given."""
    try:
        answer = leaf.answer(secret, public, query, outcome)
    except Exception as error:
        if not secret:
            _refuse_reading(leaf, public, query, outcome, error)
        raise
    _given(leaf, "answer", answer, isinstance(answer, Answer), "Answer(value)")
    return answer


def released(mechanism: Mechanism | Composite, answer: Answer) -> Answer:
    """What the whole releases; only a composite's program can give something else."""
    _given(mechanism, "program", answer, isinstance(answer, Answer), "Answer(value) at its end")
    return answer


def _refuse_reading(
    leaf: Mechanism, public: Public, query: Query, outcome: Outcome, error: Exception
) -> None:
    withheld = _Withheld()
    # Once more, to see what it failed at: answers are deterministic.
    try:
        leaf.answer(withheld, public, query, outcome)
    except _Read:
        raise ParameterError(
            "mechanism",
            f"{type(leaf).__name__}.answer reads its secret, which is not given where the kernel "
            "is Compare: use the outcome, (1,) where the bound was "
            "reached and (0,) where not",
        ) from error
    except Exception:  # noqa: BLE001  the first one is raised
        return


class _Read(Exception):
    """The secret was read."""


class _Withheld(tuple[int, ...]):
    """No secret, and it tells where it is read."""

    __slots__ = ()

    def __getitem__(self, place: SupportsIndex | slice, /) -> NoReturn:
        raise _Read

    def __iter__(self) -> Iterator[int]:
        raise _Read


def _given(of: object, method: str, found: object, good: bool, wanted: str) -> None:
    if not good:
        raise ParameterError(
            "mechanism",
            f"{type(of).__name__}.{method} must give {wanted}; it gives {_named(found)}",
        )


def _is_law(found: object) -> bool:
    if inspect.isclass(found) or not isinstance(getattr(found, "size", None), int):
        return False
    return all(callable(getattr(found, name, None)) for name in ("radius", "pmf", "tail"))


def _named(found: object) -> str:
    """A value by its kind, which holds nothing private."""
    if found is None:
        return "None"
    if inspect.isclass(found):
        return f"the class {found.__name__}"
    shown = f" ({found!r})" if isinstance(found, int | str) else ""
    return f"a value of type {type(found).__name__}{shown}"
