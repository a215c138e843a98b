"""What every mechanism of the library must do, whatever it is."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from interlace.core.errors import ParameterError, SessionHalted
from interlace.core.guarantees import Relation
from interlace.core.laws import DiscreteGaussian, DiscreteLaplace, Law, Point, Vector
from interlace.core.mechanisms import Gaussian, GuessAndCheck, Laplace, SparseVector
from interlace.core.mechanisms.codec import (
    Served,
    decode_answer,
    decode_mechanism,
    encode_answer,
    encode_mechanism,
)
from interlace.core.mechanisms.play import openings, start
from interlace.core.queries import Comparison, Query
from tests.core.mechanisms.doubles import Run, reading

AT_LEAST = Comparison.at_least(5)

#: Each with a query that it takes, which uses up an answer when nothing is added to it.
LIBRARY: list[tuple[Served, Query]] = [
    (Laplace(epsilon=0.1, answers=3), Query(reading(7))),
    (Laplace(scale=2.5, answers=2, sensitivity=9), Query(reading(7, -7, bound=4))),
    (Gaussian(rho=0.005, answers=4), Query(reading(7))),
    (Gaussian(sigma=0.7, answers=1, sensitivity=3), Query(reading(1, 2, 3))),
    (SparseVector(epsilon=1, cutoff=2), Query(reading(7), AT_LEAST)),
    (SparseVector(epsilon=0.3, cutoff=3, sensitivity=4), Query(reading(5, bound=4), AT_LEAST)),
    (SparseVector(epsilon=0.3, monotone=True), Query(reading(7), AT_LEAST)),
    (SparseVector(epsilon=2, threshold_share=0.5), Query(reading(3), Comparison.at_most(5))),
    (GuessAndCheck(epsilon=0.7, tolerance=10), Query(reading(100), guess=7)),
    (
        GuessAndCheck(epsilon=0.1, tolerance=1, cutoff=5, sensitivity=3),
        Query(reading(9, bound=3), guess=-9),
    ),
]
mechanisms = pytest.mark.parametrize("mechanism", [m for m, _ in LIBRARY], ids=str)
with_query = pytest.mark.parametrize(("mechanism", "query"), LIBRARY, ids=lambda x: str(x)[:60])


def declared(mechanism: Served) -> int:
    if isinstance(mechanism, Laplace | Gaussian):
        return mechanism.answers
    return mechanism.cutoff


def noisy(seed: int) -> Any:
    """A sampler for tests: not the law, but every draw depends on the seed alone."""
    source = random.Random(seed)

    def draw(law: Law) -> tuple[int, ...]:
        return tuple(source.randint(-20, 20) for _ in range(law.size))

    return draw


@mechanisms
def test_it_is_a_frozen_value(mechanism: Served) -> None:
    twin = dataclasses.replace(mechanism)
    assert twin == mechanism
    assert twin is not mechanism
    # What was computed and kept does not count.
    assert mechanism.guarantee == twin.guarantee
    assert hash(twin) == hash(mechanism)
    assert len({twin, mechanism}) == 1
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism  # noqa: S301  our own bytes
    for parameter in dataclasses.fields(mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(mechanism, parameter.name, 1)
    with pytest.raises(AttributeError):
        mechanism.guarantee = None  # type: ignore[assignment]  # what is proven here
    assert sum(mechanism == other for other, _ in LIBRARY) == 1


@mechanisms
def test_it_is_written_and_read_without_loss(mechanism: Served) -> None:
    body = json.loads(json.dumps(encode_mechanism(mechanism)))
    again = decode_mechanism(body)
    assert again == mechanism
    assert again.guarantee == mechanism.guarantee
    assert encode_mechanism(again) == body


def test_only_the_library_is_written() -> None:
    class Cheaper(Laplace):  # type: ignore[misc]  # final, but only to a type checker
        pass

    wrong: Any
    imposter = type("Laplace", (), {"scale": 1, "answers": 1, "sensitivity": 1})
    for wrong in (Cheaper(scale=1), imposter(), None, "Laplace"):
        with pytest.raises(ParameterError, match=r"^mechanism: "):
            encode_mechanism(wrong)


@mechanisms
def test_its_guarantee_is_for_units_added_or_removed(mechanism: Served) -> None:
    assert mechanism.guarantee.relation is Relation.ADD_REMOVE
    assert 0 < mechanism.guarantee.epsilon(1e-6) < math.inf


@with_query
def test_it_halts_exactly_at_the_declared_count(mechanism: Served, query: Query) -> None:
    run = Run(mechanism)
    for left in range(declared(mechanism), 0, -1):
        assert run.left == left
        run.ask(query)
    assert run.left == 0
    before, drawn = run.state, len(run.laws)
    for _ in range(2):
        with pytest.raises(SessionHalted):
            run.ask(query)
    assert run.state == before
    assert len(run.laws) == drawn


@with_query
def test_it_is_deterministic_but_for_the_noise(mechanism: Served, query: Query) -> None:
    for seed in range(20):
        runs = [Run(mechanism, noisy(seed)) for _ in range(2)]
        while runs[0].left and len(runs[0].steps) < 40:
            answers = [run.ask(query) for run in runs]
            assert answers[0] == answers[1]
            assert runs[0].state == runs[1].state
            assert runs[0].left == runs[1].left


@with_query
def test_its_public_state_is_a_fold_over_what_was_released(mechanism: Served, query: Query) -> None:
    for seed in range(20):
        live, restarted = Run(mechanism, noisy(seed)), Run(mechanism)
        while live.left and len(live.steps) < 40:
            begun = len(live.steps)
            answer = live.ask(query)
            recorded = iter(live.steps[begun:])
            # A restart knows neither the data nor the secret: it recalls the steps.
            assert restarted.ask(query, lambda *_: next(recorded)) == answer  # noqa: B023  used at once
            assert next(recorded, None) is None
            assert restarted.state == live.state
        assert restarted.steps == []


@with_query
def test_an_answer_is_written_and_read_without_loss(mechanism: Served, query: Query) -> None:
    run = Run(mechanism, noisy(1))
    while run.left and len(run.steps) < 40:
        answer = run.ask(query)
        for one in (answer, run.steps[-1]):
            again = decode_answer(json.loads(json.dumps(encode_answer(one))))
            assert again == one
            assert type(again.value) is type(one.value)


@with_query
def test_an_answer_sees_the_outcome_and_never_the_value(mechanism: Served, query: Query) -> None:
    # Other data and other noise with the same sum: nothing can tell them apart.
    shift = 3
    assert isinstance(query.plan, type(reading(0)))
    plan = dataclasses.replace(query.plan, values=tuple(v - shift for v in query.plan.values))
    moved = Query(plan, query.comparison, query.guess)
    if query.comparison is not None:
        sign = query.comparison.sign
    elif query.guess is not None:
        sign = 1 if query.plan.values[0] > query.guess else -1
    else:
        sign = 1
    one, other = Run(mechanism), Run(mechanism)
    opened = len(other.laws)
    # The composite's measure adds to the value itself, whatever the side of the guess.
    kernels = iter([sign, 1])
    other.draw = lambda law: (shift * next(kernels),) * law.size
    assert one.ask(query).value == other.ask(moved).value
    assert one.state == other.state
    assert len(other.laws) == len(one.laws) > opened


@with_query
def test_all_noise_is_of_the_laws_it_names(mechanism: Served, query: Query) -> None:
    run = Run(mechanism)
    run.ask(query)
    for law in run.laws:
        single = law.law if isinstance(law, Vector) else law
        assert isinstance(single, Point | DiscreteLaplace | DiscreteGaussian)
    assert openings(mechanism, lambda law: (0,) * law.size) == run.secrets
    assert start(mechanism) == Run(mechanism).state


PLAN = reading(7)
WRONG: list[tuple[Served, Query, str]] = [
    (Laplace(scale=1), Query(PLAN, AT_LEAST), "at_least"),
    (Laplace(scale=1), Query(PLAN, guess=3), "guess"),
    (Laplace(scale=2**40), Query(reading(7, bound=2)), "sql"),
    (Gaussian(sigma=1), Query(PLAN, AT_LEAST), "at_least"),
    (Gaussian(sigma=1), Query(PLAN, guess=3), "guess"),
    (Gaussian(sigma=2**40), Query(reading(7, bound=2)), "sql"),
    (SparseVector(epsilon=1), Query(PLAN), "at_least"),
    (SparseVector(epsilon=1), Query(PLAN, guess=3), "at_least"),
    (SparseVector(epsilon=1), Query(reading(7, bound=2), AT_LEAST), "sql"),
    (SparseVector(epsilon=1), Query(reading(7, 7), AT_LEAST), "sql"),
    (SparseVector(epsilon=1, monotone=True), Query(PLAN, Comparison.at_most(5)), "at_least"),
    (SparseVector(epsilon=1, monotone=True), Query(PLAN, Comparison.distance(5, 1)), "at_least"),
    (
        SparseVector(epsilon=1, monotone=True),
        Query(reading(7, monotone=False), AT_LEAST),
        "at_least",
    ),
    (GuessAndCheck(epsilon=1, tolerance=1), Query(PLAN), "guess"),
    (GuessAndCheck(epsilon=1, tolerance=1), Query(PLAN, AT_LEAST), "guess"),
    (GuessAndCheck(epsilon=1, tolerance=1), Query(reading(7, bound=2), guess=1), "sql"),
    (GuessAndCheck(epsilon=1, tolerance=1), Query(reading(7, 7), guess=1), "sql"),
]


@pytest.mark.parametrize(("mechanism", "query", "argument"), WRONG, ids=lambda x: str(x)[:50])
def test_a_query_of_the_wrong_form_is_refused_with_nothing_drawn(
    mechanism: Served, query: Query, argument: str
) -> None:
    run = Run(mechanism)
    before, drawn = run.state, len(run.laws)
    with pytest.raises(ParameterError) as refused:
        run.ask(query)
    assert refused.value.name.split("/")[0] == argument
    assert run.state == before
    assert len(run.laws) == drawn


BAD_NUMBERS = [0, -1, -0.5, math.nan, math.inf, np.float64("nan"), True, "1", 1e-300, 10**40]
BAD_COUNTS = [0, -1, True, 1.0, math.nan, "2", None, 10**13, 2**70]
MAKE: dict[type[Served], dict[str, Any]] = {
    Laplace: {"epsilon": 1},
    Gaussian: {"rho": 1},
    SparseVector: {"epsilon": 1},
    GuessAndCheck: {"epsilon": 1, "tolerance": 5},
}
NUMBERS = [
    (Laplace, "epsilon"),
    (Laplace, "scale"),
    (Gaussian, "rho"),
    (Gaussian, "sigma"),
    (SparseVector, "epsilon"),
    (GuessAndCheck, "epsilon"),
]
COUNTS = [
    (Laplace, "answers"),
    (Gaussian, "answers"),
    (SparseVector, "cutoff"),
    (GuessAndCheck, "cutoff"),
]


@pytest.mark.parametrize("value", BAD_NUMBERS, ids=str)
@pytest.mark.parametrize(("kind", "argument"), NUMBERS)
def test_bad_numbers_are_refused_by_name(kind: type[Served], argument: str, value: Any) -> None:
    others = {n: v for n, v in MAKE[kind].items() if n == "tolerance"}
    with pytest.raises(ParameterError) as refused:
        kind(**others, **{argument: value})
    assert refused.value.name == argument
    assert str(refused.value).startswith(f"{argument}: ")


@pytest.mark.parametrize("value", BAD_COUNTS, ids=str)
@pytest.mark.parametrize(("kind", "argument"), COUNTS)
def test_bad_counts_are_refused_by_name(kind: type[Served], argument: str, value: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        kind(**MAKE[kind], **{argument: value})
    assert refused.value.name == argument


@pytest.mark.parametrize("value", [*BAD_COUNTS[:-2], 2**70 + 1], ids=str)
@pytest.mark.parametrize("kind", list(MAKE))
def test_bad_sensitivities_are_refused_by_name(kind: type[Served], value: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        kind(**MAKE[kind], sensitivity=value)
    assert refused.value.name == "sensitivity"


@pytest.mark.parametrize("value", [0, -1, True, 2.0, math.nan, None, "5", 2**70 + 1])
def test_a_tolerance_is_a_positive_integer(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^tolerance: "):
        GuessAndCheck(epsilon=1, tolerance=value)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, math.nan, True])
def test_a_threshold_share_lies_between_0_and_1(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^threshold_share: "):
        SparseVector(epsilon=1, threshold_share=value)


@pytest.mark.parametrize("value", [1, 0, "no", None, math.nan])
def test_monotone_is_true_or_false(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^monotone: "):
        SparseVector(epsilon=1, monotone=value)


@pytest.mark.parametrize(("kind", "names"), [(Laplace, "scale epsilon"), (Gaussian, "sigma rho")])
def test_noise_is_given_in_one_way(kind: type[Laplace | Gaussian], names: str) -> None:
    first, second = names.split()
    with pytest.raises(ParameterError, match=f"give either {first}= or {second}="):
        kind(**{first: 1, second: 1})
    with pytest.raises(ParameterError, match=f"give either {first}= or {second}="):
        kind()


def test_parameters_are_read_exactly() -> None:
    assert SparseVector(epsilon=0.1).epsilon == Fraction(1, 10)
    assert GuessAndCheck(epsilon=0.1, tolerance=1).epsilon == Fraction(1, 10)
    assert Laplace(epsilon=0.1).scale == 10
    counts: Any = np.int64(3)
    for made in (Laplace(scale=1, answers=counts), SparseVector(epsilon=1, cutoff=counts)):
        assert type(declared(made)) is int
