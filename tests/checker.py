"""An independent judge of a centre's folder: it shares no code with the ledger or the centre.

It reads the database by itself and recomputes everything from the bare rows: the chain of
hashes, what each account was charged, each session's rounds. As a script:
``checker.py FOLDER [ACKNOWLEDGED]``, where each line of the second file is a JSON object with
the session, round, key, sql and value (as text) of an answer that somebody has received.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath

#: The rules that keep a value function; all others subtract.
_VALUED = ("reach", "residue")
#: Digits of what is recomputed, and how far a step may miss by them.
_DIGITS, _MISS = 80, mpmath.mpf(10) ** -60


@dataclass
class _Account:
    """What is left, by the names of the state that the ledger keeps."""

    quota: dict[str, Any]
    left: dict[str, Fraction | None]
    rule: str = ""
    structural: Fraction = Fraction(0)


@dataclass
class _Session:
    account: str
    dataset: str
    mechanism: dict[str, Any]
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    verdicts: int = 0
    void: bool = False


class Checker:
    """Goes through the events in order and notes whatever does not hold."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.datasets: Counter[str] = Counter()  # by name, how many versions there are
        self.accounts: dict[str, _Account] = {}
        self.unopened: dict[int, tuple[str, Counter[str]]] = {}  # by charge: of whom, for what
        self.sessions: dict[str, _Session] = {}
        self.off: set[str] = set()  # accounts and sessions that answer nothing any more
        self.cap: _Account | None = None  # the custodian's, which generations spend
        self.generations: dict[int, list[list[Any]]] = {0: []}

    def check(self, folder: Path, acknowledged: Path | None = None) -> list[str]:
        """All problems of the folder, in the order of its events; none if it holds."""
        place = (folder / "ledger.sqlite3").absolute().as_uri()
        with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as database:
            [(ledger,)] = database.execute("SELECT ledger FROM meta").fetchall()
            rows = database.execute(
                "SELECT seq, kind, dataset, account, session, round, key, body, secret, hash "
                "FROM events ORDER BY seq"
            ).fetchall()
        self._chain(ledger, rows)
        for row in rows:
            self._event(row)
        if acknowledged is not None and acknowledged.exists():
            for line in acknowledged.read_text(encoding="utf-8").splitlines():
                self._acknowledged(json.loads(line))
        return self.problems

    def _note(self, condition: bool, seq: object, problem: str) -> None:
        if not condition:
            self.problems.append(f"event {seq}: {problem}")

    def _chain(self, ledger: str, rows: list[tuple[Any, ...]]) -> None:
        previous = hashlib.sha256(b"interlace ledger 1\n" + ledger.encode()).digest()
        for expected, (*columns, stored) in enumerate(rows, 1):
            self._note(columns[0] == expected, expected, "the numbers have a gap")
            text = previous + b"".join(map(_netstring, columns))
            self._note(hashlib.sha256(text).hexdigest() == stored, columns[0], "wrong hash")
            previous = bytes.fromhex(stored)

    def _event(self, row: tuple[Any, ...]) -> None:
        seq, kind, dataset, account, session, round_, key, text, *_ = row
        body = json.loads(text)
        if kind == "dataset":
            self.datasets[dataset] += 1
            following = (round_ or 1) == self.datasets[dataset]
            self._note(following, seq, "registers another version than the next")
        elif kind == "account":
            self._account(seq, account, body)
        elif kind == "charge":
            self._charge(seq, account, body)
        elif kind == "session":
            self._opening(seq, dataset, account, session, body)
        elif kind == "answer":
            self._answer(seq, dataset, account, session, round_, key, body)
        else:
            self._custody(seq, kind, account, session, body)

    def _custody(
        self, seq: int, kind: str, account: str, session: str, body: dict[str, Any]
    ) -> None:
        if kind == "cap":
            self._note(self.cap is None and not self.accounts, seq, "fixes a cap too late")
            self.cap = _Account(body["cap"], _limits(body["cap"]))
        elif kind == "generation":
            self._spend(seq, self.cap, body)
            self.generations[seq] = body["quotas"]
        elif kind == "off":
            self.off.add(account)
        elif kind == "closed":
            self.off.add(session)
        elif kind == "restored":
            self._restored()

    def _account(self, seq: int, account: str, body: dict[str, Any]) -> None:
        self._note(account not in self.accounts, seq, "creates an account again")
        generation = body["generation"]
        if self.cap is None:
            answered = any(known.answers for known in self.sessions.values())
            self._note(not answered, seq, "creates an account after an answer")
        else:
            paid = [account, body["quota"]] in self.generations.get(generation, [])
            self._note(paid, seq, "creates an account that the cap does not pay for")
        quota, rule, state = body["quota"], body["rule"], _read(body["state"])
        known = _Account(quota, state, rule, Fraction(body["structural"]))
        if rule in _VALUED:
            self._note(_starts(known), seq, "starts with more than its quota gives")
        elif rule != "advanced":
            self._note(state == _limits(quota), seq, "starts with another quota")
        self.accounts[account] = known

    def _restored(self) -> None:
        """An older copy was put back: what was spent since is not known, so all of it is."""
        for known in self.accounts.values():
            known.left = dict.fromkeys(known.left, Fraction(0))
        for session in self.sessions.values():
            session.void = True

    def _spend(self, seq: int, known: _Account | None, body: dict[str, Any]) -> None:
        if known is None:
            self._note(False, seq, "charges an account or a cap that is not there")
            return
        after = _read(body["state"])
        if known.rule in _VALUED:
            problem = _walked(known, body["charge"], after, body["steps"])
            self._note(not problem, seq, problem)
        else:
            same = {part["notion"] for part in _parts(body["charge"])} <= {known.quota["notion"]}
            self._note(
                same or known.rule == "advanced", seq, "charges in another notion than its quota"
            )
            for name, left in known.left.items():
                amount = sum((_amount(part, name) for part in _parts(body["charge"])), Fraction(0))
                exact = (left or 0) - amount
                self._note(amount >= 0, seq, f"charges a negative {name}")
                self._note(after.get(name) == exact, seq, f"records a wrong {name}")
                self._note(exact >= 0, seq, f"overspends {name}")
        known.left = after

    def _charge(self, seq: int, account: str, body: dict[str, Any]) -> None:
        self._note(account not in self.off, seq, "charges what was switched off")
        self._spend(seq, self.accounts.get(account), body)
        if len(body["members"]) == 1 and body["delta"] is None:
            self._note(
                _covers(body["charge"], body["members"][0]), seq, "charges less than it costs"
            )
        self.unopened[seq] = account, Counter(map(_text, body["members"]))

    def _opening(
        self, seq: int, dataset: str, account: str, session: str, body: dict[str, Any]
    ) -> None:
        mechanism = body["mechanism"]
        self._note(session not in self.sessions, seq, "opens a session again")
        self._note(account in self.accounts, seq, "opens a session of no account")
        latest = body.get("version", 1) == self.datasets[dataset]
        self._note(latest, seq, "opens a session on another version than the latest")
        payer, left = self.unopened.get(body["charged"], (None, Counter[str]()))
        paid = payer == account and left[_text(mechanism)] > 0
        self._note(paid, seq, "opens a session that was not charged for")
        left[_text(mechanism)] -= 1
        self.sessions[session] = _Session(account, dataset, mechanism)

    def _answer(
        self,
        seq: int,
        dataset: str,
        account: str,
        session: str,
        round_: int,
        key: str | None,
        body: dict[str, Any],
    ) -> None:
        known = self.sessions.get(session)
        if known is None:
            self._note(False, seq, "answers a session that is not there")
            return
        same = (known.account, known.dataset) == (account, dataset)
        self._note(same, seq, "answers under another account or dataset")
        on = self.off.isdisjoint((account, session))
        self._note(on, seq, "answers what was closed or switched off")
        self._note(not known.void, seq, "answers a session that a restored copy held")
        self._note(round_ not in known.answers, seq, "answers a round twice")
        self._note(round_ == len(known.answers) + 1, seq, "answers a round out of turn")
        self._note(key is None or key not in known.keys, seq, "answers a key twice")
        cutoff = known.mechanism.get("cutoff")
        if cutoff is None:
            self._note(round_ <= known.mechanism["answers"], seq, "answers more than declared")
        else:
            self._note(known.verdicts < cutoff, seq, "answers after the last pass")
            known.verdicts += body["answer"]["verdict"] is True
        known.answers[round_] = {**body, "key": key}
        if key is not None:
            known.keys[key] = round_

    def _acknowledged(self, received: dict[str, Any]) -> None:
        name = f"acknowledged {received['session']} round {received['round']}"
        known = self.sessions.get(received["session"])
        stored = None if known is None else known.answers.get(received["round"])
        if stored is None:
            self.problems.append(f"{name}: is lost")
            return
        value, digits = stored["answer"]["value"], stored["plan"]["digits"]
        same = (
            str(value) == received["value"]
            if isinstance(value, bool)
            else Fraction(value, 10**digits) == Fraction(received["value"])
        )
        what = (stored["question"]["sql"], stored["key"]) == (received["sql"], received["key"])
        if not (same and what):
            self.problems.append(f"{name}: is another answer in the ledger")


def _read(state: dict[str, Any]) -> dict[str, Fraction | None]:
    return {name: None if text is None else Fraction(text) for name, text in state.items()}


def _limits(quota: dict[str, Any]) -> dict[str, Fraction | None]:
    """What a rule that subtracts starts with."""
    match quota["notion"]:
        case "pure" | "approximate":
            delta = Fraction(quota.get("delta", 0))
            return {"epsilon": Fraction(quota["epsilon"]), "delta": delta}
        case "gaussian":
            return {"mu_squared": Fraction(quota["mu"]) ** 2}
        case "renyi":
            return {"epsilon": Fraction(quota["epsilon"])}
        case _:
            return {"rho": Fraction(quota["rho"])}


def _parts(charge: dict[str, Any]) -> list[dict[str, Any]]:
    return charge["parts"] if charge["notion"] == "several" else [charge]


def _amount(part: dict[str, Any], name: str) -> Fraction:
    count = int(part.get("count", 1))
    if name == "mu_squared":
        return count * Fraction(part["mu"]) ** 2
    return count * Fraction(part.get(name, 0))


def _starts(known: _Account) -> bool:
    quota, w = known.quota, known.left["w"]
    if known.left["good"] != 1 or known.left["sum_epsilon"] not in (0, None) or w is None:
        return False
    if quota["notion"] == "gaussian":
        return w == Fraction(quota["mu"]) ** 2
    whole = 1 - Fraction(quota.get("delta", 0))
    with mpmath.workdps(_DIGITS):
        delta = 1 - _real(whole / (1 - known.structural))
        return bool(_value(-_real(Fraction(quota["epsilon"])), _real(w)) <= delta + _MISS)


def _walked(
    known: _Account,
    charge: dict[str, Any],
    after: dict[str, Fraction | None],
    steps: list[dict[str, str]],
) -> str:
    """Why the steps do not lead from what was left to what is; empty if they do."""
    w, good, total = known.left["w"], known.left["good"], known.left["sum_epsilon"]
    assert w is not None
    assert good is not None
    parts = _parts(charge)
    for name in ("epsilon", "delta", "mu_squared"):
        kept = [part for part in parts if ("mu" in part) == (name == "mu_squared")]
        owed = sum((_amount(part, name) for part in kept), Fraction(0))
        if sum(Fraction(step.get(name, 0)) for step in steps) < owed:
            return f"charges a {name} that no step takes"
    limit = Fraction(known.quota.get("epsilon", 0))
    for step in steps:
        following = Fraction(step["after"])
        if step["kind"] == "gaussian":
            if following > w - Fraction(step["mu_squared"]):
                return "takes too little of w"
            total = None
        else:
            epsilon = Fraction(step["epsilon"])
            y0 = Fraction(0) if total is None else max(limit - total, Fraction(0))
            if Fraction(step["y0"]) > y0 or not _narrows(y0, epsilon, w, following):
                return "takes a step that is not proved"
            good *= 1 - Fraction(step["delta"])
            total = None if total is None else total + epsilon
        w = following
    sums = after["sum_epsilon"]
    if after["w"] != w or (sums is not None and (total is None or sums < total)):
        return "records a wrong state"
    left = after["good"]
    return "" if left is not None and 1 - known.structural <= left <= good else "overspends delta"


def _narrows(y0: Fraction, epsilon: Fraction, w: Fraction, after: Fraction) -> bool:
    """The inequality of a step (FORMULAS 6.12), to as many digits."""
    if after > w or (epsilon and after == w and w):
        return False
    with mpmath.workdps(_DIGITS):
        y, e = _real(y0), _real(epsilon)
        p = 1 / (1 + mpmath.exp(-e))
        right = p * _value(e - y, _real(after)) + (1 - p) * _value(-e - y, _real(after))
        return bool(right <= _value(-y, _real(w)) + _MISS)


def _value(y: Any, w: Any) -> Any:
    """The profile of a Gaussian pair at epsilon = -y."""
    if w == 0:
        return max(1 - mpmath.exp(-y), mpmath.mpf(0))
    root = mpmath.sqrt(w)
    return mpmath.ncdf(y / root + root / 2) - mpmath.exp(-y) * mpmath.ncdf(y / root - root / 2)


def _real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def _netstring(column: str | int | bytes | None) -> bytes:
    if column is None:
        return b"n0:"
    tag, data = {int: b"i", str: b"t", bytes: b"b"}[type(column)], column
    raw = data if isinstance(data, bytes) else str(data).encode()
    return tag + str(len(raw)).encode() + b":" + raw


def _covers(charge: dict[str, Any], mechanism: dict[str, Any]) -> bool:
    """Whether a charge is at least the textbook's cost, where that is a rational number."""
    if mechanism["kind"] == "Laplace" and charge["notion"] in ("pure", "approximate"):
        cost = Fraction(mechanism["sensitivity"]) / Fraction(mechanism["scale"])
        return Fraction(charge["epsilon"]) >= int(mechanism["answers"]) * cost
    if mechanism["kind"] == "Gaussian" and "rho" in charge:
        ratio = Fraction(mechanism["sensitivity"]) / Fraction(mechanism["sigma"])
        return Fraction(charge["rho"]) >= int(mechanism["answers"]) * ratio**2 / 2
    return True


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def check(folder: Path, acknowledged: Path | None = None) -> list[str]:
    """All problems of a centre's folder; see the file's head."""
    return Checker().check(folder, acknowledged)


def main() -> int:
    """Print the problems; 0 if there is none."""
    found = check(*map(Path, sys.argv[1:3]))
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
