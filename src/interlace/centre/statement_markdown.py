"""A statement as Markdown. Lays out what it is handed; knows no ledger and computes no loss."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from interlace.centre import disclosures as words
from interlace.centre.described import (
    Noise,
    domain_of,
    keys_of,
    misfit_of,
    missing_of,
    noises,
    rows_of,
)
from interlace.centre.figures import lower, upper
from interlace.centre.records import titled
from interlace.core.composition import Composition
from interlace.core.composition.filters import Charge as Charged
from interlace.core.guarantees import TCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, is_notion

if TYPE_CHECKING:
    from interlace.centre.records import AccountRecord
    from interlace.centre.statement import Charge, Holder, Statement

#: What Markdown could read as markup, also in a cell of a table.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&@$])")


def markdown(statement: Statement) -> str:
    """The text of a statement. Losses are rounded up, noise scales down."""
    parts = [
        "# Statement of privacy",
        f"As of event {statement.head.seq} of ledger `{statement.ledger}`, head "
        f"`{statement.head}`. Losses are rounded up, scales of noise down; exact numbers are in "
        "the JSON form.",
        *([words.RESTORED] if statement.restored else []),
        "## Privacy unit and neighbours",
        words.UNIT,
        words.ONE_NUMBER,
        "## What all analysts together can learn at most",
        *_collusion(statement),
        "## Accounts",
        *_accounts(statement),
        *(part for domain in statement.domains for part in _domain(statement, domain)),
        "## How data and noise are handled",
        words.PREPROCESSING,
        words.SAMPLER,
        "## What is not covered",
        "\n".join(f"- **{name}**: {text}" for name, text in words.NOT_COVERED.items()),
    ]
    return "\n\n".join(parts) + "\n"


def budget_text(budget: Charged) -> str:
    """A guarantee, or several together, with their numbers rounded up.

    >>> budget_text(ApproxDP(Fraction(1, 3), Fraction(1, 10**6)))
    'epsilon 0.333333333334, delta 0.000001'
    """
    if isinstance(budget, Composition):
        parts = (f"{n} times {budget_text(part)}" for part, n in budget.parts if is_notion(part))
        return "; ".join(parts) or "nothing"
    if isinstance(budget, PureDP):
        return f"epsilon {upper(budget.epsilon0)}"
    if isinstance(budget, ApproxDP):
        return f"epsilon {upper(budget.epsilon0)}, delta {upper(budget.delta0)}"
    if isinstance(budget, GaussianDP):
        return f"mu {upper(budget.mu)} (GDP)"
    if isinstance(budget, RenyiDP):
        order = upper(budget.alpha)
        return f"epsilon {upper(budget.epsilon0)} at order {order} (Rényi DP)"
    if isinstance(budget, TCDP):
        return f"rho {upper(budget.rho)} up to order {lower(budget.omega)} (tCDP)"
    return f"rho {upper(budget.rho)} (zCDP)"


def _collusion(statement: Statement) -> Iterator[str]:
    yield words.COALITION
    if statement.cap is not None:
        cap, committed = map(budget_text, statement.cap)
        yield (
            f"The custodian fixed a cap on everything that all accounts will ever learn: {cap}. "
            f"The accounts so far committed {committed} of it."
        )
    if not statement.collusion:
        yield "There is no account yet."
        return
    rows = (
        (upper(Fraction(row["delta"])), row["epsilon_at_most"], row["rule"])
        for row in statement.collusion
    )
    yield _table(("delta", "epsilon at most", "by"), rows)


def _accounts(statement: Statement) -> Iterator[str]:
    head = ("account", "quota", "rule", "generation", "spent (odometer)", "ends")
    yield _table(head, (_account(holder) for holder in statement.holders))
    yield words.ODOMETER


def _account(holder: Holder) -> tuple[str, ...]:
    account = holder.account
    expires = "" if account.expires is None else f"on {account.expires.isoformat()}"
    return (
        account.name,
        budget_text(account.quota),
        f"{account.rule}: {words.RULES[account.rule]}{_set_aside(account)}",
        str(account.generation or "first"),
        budget_text(holder.spent),
        "switched off" if holder.off else expires or "when spent",
    )


def _set_aside(account: AccountRecord) -> str:
    if not account.structural:
        return ""
    part = lower(account.structural)
    return f"; {part} of delta is set aside for sessions with a delta of their own"


def _domain(statement: Statement, domain: str) -> Iterator[str]:
    datasets, charges = statement.of(domain)
    yield f"## Domain of units: {_escaped(domain)}"
    for record in datasets:
        dataset = record.dataset
        yield f"### Dataset {_escaped(record.title)}, by unit column {_escaped(dataset.unit)}"
        for table in dataset.tables:
            yield f"Table {_escaped(table.name)}: rows of one unit: {rows_of(table)}."
            if table.key_sets:
                yield f"By groups, one unit counts for at most {_escaped(keys_of(table))}."
            rows = (
                (name, domain_of(kind), missing_of(kind), misfit_of(kind))
                for name, kind in table.columns
            )
            yield _table(("column", "domain", "missing value", "value that does not fit"), rows)
        for public in dataset.public:
            yield (
                f"Table {_escaped(public.name)} is public, about no unit: its rows, by key "
                f"{_escaped(public.key)}, are not protected."
            )
    yield f"### Sessions on the domain {_escaped(domain)}, with their charges"
    if not charges:
        yield "None so far."
        return
    head = ("account", "dataset", "mechanisms", "noise", "charge", "times")
    yield _table(head, (_charge(charge, times) for charge, times in charges))


def _charge(charge: Charge, times: int) -> tuple[str, ...]:
    kinds = ", ".join(f"{count} × {type(member).__name__}" for member, count in charge.members)
    together = " (a plan, charged once)" if sum(n for _, n in charge.members) > 1 else ""
    noise = "; ".join(
        dict.fromkeys(_noise(noise) for m, _ in charge.members for noise in noises(m))
    )
    what = kinds + together
    place = titled(charge.dataset, charge.version)
    return charge.account, place, what, noise, budget_text(charge.charge), str(times)


def _noise(noise: Noise) -> str:
    scale = f"{noise.law} noise of scale {lower(noise.scale)} on {noise.added_to}"
    if noise.norm is None:
        return scale
    return f"{scale}, for {noise.norm} sensitivity {noise.sensitivity}, others in proportion"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head)]
    body = [[_escaped(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, *body])


def _escaped(text: str) -> str:
    """The text as it is, whatever a name holds."""
    return _MARKUP.sub(r"\\\1", text)
