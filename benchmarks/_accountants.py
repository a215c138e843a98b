"""One accountant at one plan, in a process of its own: `python _accountants.py NAME < plan.json`.

Peers are imported by name, so that this file runs in their environment, without Interlace. It
prints the epsilon, the interval where there is one, the seconds, and the growth of the process.
"""

from __future__ import annotations

import importlib
import json
import math
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Part = tuple[str, list[float], int]
"""A word, its numbers, and a count."""
Found = list[float]
"""[epsilon], or [lower, epsilon, upper]."""


def interlace() -> Callable[[list[Part], float], Found]:
    il = importlib.import_module("interlace")
    importlib.import_module("numpy")
    makes = {
        "pure": il.PureDP,
        "approximate": il.ApproxDP,
        "gaussian": il.GaussianDP,
        "laplace": lambda scale, shift: il.losses.DiscreteLaplace(scale, int(shift)),
    }

    def run(parts: list[Part], delta: float) -> Found:
        singles = [numbers[0] for word, numbers, n in parts if word == "pure" and n == 1]
        rest = [p for p in parts if not (p[0] == "pure" and p[2] == 1)]
        items = [il.Batch(singles)] if singles else []
        items += [(makes[word](*numbers), n) for word, numbers, n in rest]
        lower, upper = il.compose(items).epsilon_interval(delta)
        return [lower, upper, upper]

    return run


def interlace_additions() -> Callable[[list[Part], float], Found]:
    il = importlib.import_module("interlace")
    importlib.import_module("numpy")

    def run(parts: list[Part], delta: float) -> Found:
        plan = il.Assembly()
        lower = upper = 0.0
        for _, numbers, _ in parts:
            plan.add(il.PureDP(numbers[0]))
            lower, upper = plan.epsilon_interval(delta)
        return [lower, upper, upper]

    return run


def _losses(parts: list[Part]) -> list[Any]:
    pld = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    common = importlib.import_module("dp_accounting.pld.common")

    def one(word: str, numbers: list[float]) -> Any:
        if word == "gaussian":
            return pld.from_gaussian_mechanism(1 / numbers[0])
        if word == "laplace":
            return pld.from_discrete_laplace_mechanism(1 / numbers[0], int(numbers[1]))
        given = common.DifferentialPrivacyParameters(*numbers)
        return pld.from_privacy_parameters(given)

    return [one(w, x).self_compose(n) if n > 1 else one(w, x) for w, x, n in parts]


def dp_accounting() -> Callable[[list[Part], float], Found]:
    importlib.import_module("dp_accounting")

    def run(parts: list[Part], delta: float) -> Found:
        first, *rest = _losses(parts)
        for loss in rest:
            first = first.compose(loss)
        return [float(first.get_epsilon_for_delta(delta))]

    return run


def dp_accounting_tree() -> Callable[[list[Part], float], Found]:
    importlib.import_module("dp_accounting")

    def run(parts: list[Part], delta: float) -> Found:
        level = _losses(parts)
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [a.compose(b) for a, b in pairs] + level[len(level) & ~1 :]
        return [float(level[0].get_epsilon_for_delta(delta))]

    return run


def dp_accounting_additions() -> Callable[[list[Part], float], Found]:
    importlib.import_module("dp_accounting")

    def run(parts: list[Part], delta: float) -> Found:
        losses = _losses(parts)
        first, epsilon = losses[0], 0.0
        for loss in losses[1:]:
            first = first.compose(loss)
            epsilon = float(first.get_epsilon_for_delta(delta))
        return [epsilon]

    return run


def prv_accountant() -> Callable[[list[Part], float], Found]:
    prv = importlib.import_module("prv_accountant")

    def run(parts: list[Part], delta: float) -> Found:
        makes = {
            "pure": prv.PureDPMechanism,
            "approximate": prv.ApproximateDPMechanism,
            "gaussian": lambda mu: prv.GaussianMechanism(noise_multiplier=1 / mu),
        }
        counts = [n for _, _, n in parts]
        accountant = prv.PRVAccountant(
            [makes[word](*numbers) for word, numbers, _ in parts],
            max_self_compositions=counts,
            eps_error=0.01,
            delta_error=delta / 1000,
        )
        return [float(x) for x in accountant.compute_epsilon(delta, counts)]

    return run


def opendp() -> Callable[[list[Part], float], Found]:
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")

    def run(parts: list[Part], delta: float) -> Found:
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        every = []
        for word, numbers, n in parts:
            if word == "pure":
                one = dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, scale=1 / numbers[0]))
            elif word == "gaussian":
                one = dp.m.make_gaussian(*space, scale=1 / numbers[0])
            else:
                raise KeyError(word)
            every += [one] * n
        whole = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(every))
        return [float(whole.map(1.0).epsilon(delta))]

    return run


def autodp() -> Callable[[list[Part], float], Found]:
    zoo = importlib.import_module("autodp.mechanism_zoo")
    transformers = importlib.import_module("autodp.transformer_zoo")

    def run(parts: list[Part], delta: float) -> Found:
        makes = {
            "pure": zoo.PureDP_Mechanism,
            "gaussian": lambda mu: zoo.ExactGaussianMechanism(sigma=1 / mu),
        }
        mechanisms = [makes[word](*numbers) for word, numbers, _ in parts]
        composed = transformers.Composition()(mechanisms, [n for _, _, n in parts])
        return [float(composed.get_approxDP(delta))]

    return run


RUNS = {
    "interlace": interlace,
    "interlace, 1,000 additions": interlace_additions,
    "dp-accounting": dp_accounting,
    "dp-accounting, tree": dp_accounting_tree,
    "dp-accounting, 1,000 additions": dp_accounting_additions,
    "prv-accountant": prv_accountant,
    "opendp (zCDP)": opendp,
    "autodp (Rényi)": autodp,
}


def main() -> None:
    """Run the accountant that is named, and print what it found as JSON."""
    warnings.simplefilter("ignore")
    plan = json.loads(sys.stdin.read())
    try:
        run = RUNS[sys.argv[1]]()
    except ImportError as error:
        print(json.dumps({"missing": str(error)}))
        return
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    try:
        found = [x if math.isfinite(x) else str(x) for x in run(plan["parts"], plan["delta"])]
    except KeyError as error:
        print(json.dumps({"unsupported": str(error)}))
        return
    except Exception as error:  # noqa: BLE001  what a peer raises is a result
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"[:60]}))
        return
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"found": found, "seconds": seconds, "megabytes": grown}))


if __name__ == "__main__":
    main()
