"""Mechanisms and their public answers as JSON, and back, without loss.

Only the library's own mechanisms are read: the centre serves what it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, get_args

from interlace.core.errors import ParameterError
from interlace.core.mechanisms.gaussian import Gaussian
from interlace.core.mechanisms.guess_and_check import GuessAndCheck
from interlace.core.mechanisms.laplace import Laplace
from interlace.core.mechanisms.protocol import Answer
from interlace.core.mechanisms.sparse_vector import SparseVector

Served = Laplace | Gaussian | SparseVector | GuessAndCheck
"""The mechanisms that a centre serves."""

_LIBRARY: dict[str, type[Served]] = {kind.__name__: kind for kind in get_args(Served)}


def encode_mechanism(mechanism: Served) -> dict[str, Any]:
    """Its name and public parameters; rationals as text.

    Raises ParameterError for anything that is not a mechanism of the library.

    >>> encode_mechanism(Laplace(scale=2.5))
    {'kind': 'Laplace', 'scale': '5/2', 'answers': 1, 'sensitivity': 1}
    """
    kind = type(mechanism).__name__
    if _LIBRARY.get(kind) is not type(mechanism):
        raise ParameterError(
            "mechanism", f"must be one of il.mechanisms ({', '.join(_LIBRARY)}), got {kind}"
        )
    values = ((f.name, getattr(mechanism, f.name)) for f in fields(mechanism))
    return {"kind": kind} | {n: str(v) if isinstance(v, Fraction) else v for n, v in values}


def decode_mechanism(body: Mapping[str, Any]) -> Served:
    """The mechanism that ``encode_mechanism`` wrote."""
    parameters: dict[str, Any] = {
        n: Fraction(v) if isinstance(v, str) else v for n, v in body.items() if n != "kind"
    }
    return _LIBRARY[body["kind"]](**parameters)


def encode_answer(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: integers, lists, one rational as text."""
    value = answer.value
    return {
        "value": list(value) if isinstance(value, tuple) else value,
        "verdict": answer.verdict,
        "spans": [list(span) for span in answer.spans],
        "confidence": str(answer.confidence),
    }


def decode_answer(body: Mapping[str, Any]) -> Answer:
    """The answer that ``encode_answer`` wrote."""
    value = body["value"]
    return Answer(
        tuple(value) if isinstance(value, list) else value,
        body["verdict"],
        tuple((low, high) for low, high in body["spans"]),
        Fraction(body["confidence"]),
    )
