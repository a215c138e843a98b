"""The accountant beside its peers on the same plans: epsilon, its error, seconds and megabytes.

Every number comes from a process of its own, at its first question. Peers live in an environment of
their own (benchmarks/peers.txt), whose interpreter is named by `--peers PYTHON` or the variable
INTERLACE_BENCH_PEERS; without it this measures our own numbers. Run by `make bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._accountants import RUNS, Part

Case = tuple[str, list[Part], float]
OURS = "interlace"
PEERS = [name for name in RUNS if not name.startswith(OURS) and not name.endswith("additions")]
ADDITIONS = [name for name in RUNS if name.endswith("additions")]
_SCRIPT = Path(__file__).with_name("_accountants.py")


def uniform(count: int, digits: int | None = None) -> list[Part]:
    """Pure epsilons from [0.01, 0.2], the same in every run; equal ones are counted."""
    draw = random.Random(count)  # noqa: S311  the same lists in every run
    drawn = (draw.uniform(0.01, 0.2) for _ in range(count))
    counted = Counter(e if digits is None else round(e, digits) for e in drawn)
    return [("pure", [e], n) for e, n in sorted(counted.items())]


def mixture() -> list[Part]:
    """50 Gaussian, 200 pure and 20 discrete Laplace mechanisms, all different."""
    draw = random.Random(270)  # noqa: S311  the same lists in every run
    return [
        *(("gaussian", [draw.uniform(0.02, 0.2)], 1) for _ in range(50)),
        *(("pure", [draw.uniform(0.01, 0.2)], 1) for _ in range(200)),
        *(("laplace", [10.0 + k, 2.0], 1) for k in range(20)),
    ]


def cases() -> list[Case]:
    found: list[Case] = [
        ("100 × (0.1, 1e-8)", [("approximate", [0.1, 1e-8], 100)], 1e-5),
        ("10,000 × (0.01, 1e-10)", [("approximate", [0.01, 1e-10], 10_000)], 1e-5),
        ("1,000,000 × 0.001", [("pure", [0.001], 1_000_000)], 1e-6),
    ]
    for digits, told in ((None, "real"), (4, "4 decimals"), (2, "2 decimals")):
        found += [
            (f"{count:,} × U[.01,.2], {told}", uniform(count, digits), 1e-6)
            for count in (1_000, 10_000, 100_000)
        ]
    found.append(("50 Gaussian, 200 pure, 20 Laplace", mixture(), 1e-6))
    found += [("100 × 0.1", [("pure", [0.1], 100)], delta) for delta in (1e-15, 1e-50)]
    found += [("1,000 × U[.01,.2], real", uniform(1_000), delta) for delta in (1e-15, 1e-50)]
    return found


def run(python: str, name: str, case: Case, limit: float) -> dict[str, Any]:
    """What one accountant says to one plan; ``limit`` is in seconds."""
    plan = json.dumps({"parts": case[1], "delta": case[2]})
    try:
        done = subprocess.run(
            [python, str(_SCRIPT), name],
            input=plan,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {limit:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": f"ended with status {done.returncode}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def verdict(found: dict[str, Any], lower: float, upper: float) -> tuple[str, str]:
    """The number and how it lies to the certified interval."""
    if "found" not in found:
        return "-", str(found.get("failed") or f"not asked: has {found.get('unsupported')}")
    values = [float(x) for x in found["found"]]
    # Of three numbers the last is the one that is promised.
    promised = values[-1]
    told = f"{promised - upper:+.2g}"
    if promised < lower:
        told = f"WRONG: {promised - lower:.2g} below the least possible"
    elif len(values) == 3 and values[0] > upper:
        told = f"WRONG: its lower end is {values[0] - upper:.2g} too high"
    elif not promised >= lower:
        told = "WRONG: not a number"
    return f"{promised:.10g}", told


def row(table: Table, case: str, name: str, found: dict[str, Any], told: tuple[str, str]) -> None:
    cost = ("-", "-")
    if "seconds" in found:
        cost = f"{found['seconds']:.3g}", f"{found['megabytes']:.0f}"
    table.add_row(case, name, *told, *cost)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=os.environ.get("INTERLACE_BENCH_PEERS"))
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for one answer")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    asked = parser.parse_args()
    table = Table("plan", "by", "epsilon", "above the certified upper end", "s", "MB")
    missing: set[str] = set() if asked.peers else set(PEERS)
    chosen = [case for case in cases() if asked.only in case[0]]
    for case in track(chosen, "composing", console=Console(stderr=True)):
        title, own = f"{case[0]}, δ={case[2]:g}", run(sys.executable, OURS, case, asked.limit)
        lower, _, upper = (float(x) for x in own["found"])
        row(table, title, OURS, own, (f"{upper:.10g}", f"interval {upper - lower:.1e} wide"))
        for name in [peer for peer in PEERS if peer not in missing]:
            found = run(asked.peers, name, case, asked.limit)
            if "missing" in found:
                missing.add(name)
            else:
                row(table, "", name, found, verdict(found, lower, upper))
    thousand: Case = ("epsilon after each of 1,000 additions", uniform(1_000), 1e-6)
    for name in ADDITIONS if asked.only in thousand[0] else []:
        python = sys.executable if name.startswith(OURS) else asked.peers
        found = run(python, name, thousand, asked.limit) if python else {"missing": name}
        if "missing" not in found:
            value = f"{float(found['found'][-1]):.10g}" if "found" in found else "-"
            row(table, thousand[0], name, found, (value, str(found.get("failed", ""))))
    Console(width=140).print(table)
    if missing:
        print(f"not measured, since not installed: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main()
