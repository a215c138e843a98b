"""``interlace ledger``: what a folder's ledger says, read from disk."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interlace.centre import Centre, restore
from interlace.centre.faults import reach
from interlace.centre.heads import read_head
from interlace.centre.records import DatasetRecord, titled
from interlace.centre.sealing import rotate
from interlace.centre.state import state_directory
from interlace.cli.expression import read_number
from interlace.ledger import DATASET, SQLiteLedger


def show_ledger(folder: Path, console: Console) -> None:
    """Print datasets with the domains of their units, accounts with their budgets, and sessions,
    if the chain holds."""
    with Centre(folder, create=False) as centre:
        centre.ledger.verify()
        for event in centre.ledger.events(DATASET):
            record = DatasetRecord.read(event)
            dataset, domain = record.dataset, record.domain
            tables = ", ".join(table.name for table in dataset.tables)
            line = f"dataset {record.title}: unit {dataset.unit} of domain {domain}; {tables}"
            console.print(line, markup=False)
        budgets = _table("Accounts", "account", "rule", "quota", "spent", "remaining")
        sessions = _table(
            "Sessions", "account", "session", "mechanism", "charge", "answers", "left"
        )
        for account in centre.accounts():
            row = (account.name, account.rule, account.quota, account.spent, account.remaining)
            budgets.add_row(*(escape(str(cell)) for cell in row))
            for session in account.sessions():
                place = titled(session.dataset, session.version)
                kind = f"{type(session.mechanism).__name__} on {place}"
                given, left = session.replay(), session.left
                shared = f" for {session.members} together" if session.members > 1 else ""
                cells = (account.name, session.id, kind, f"{session.charge}{shared}", given, left)
                sessions.add_row(*(escape(str(cell)) for cell in cells))
        console.print(budgets, sessions)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "session")
    return table


def verify_ledger(folder: Path, head: str | None, console: Console) -> None:
    """Audit the folder and print its head, to be kept elsewhere for the next time."""
    expected = None if head is None else read_head(head, "--head")
    with Centre(folder, create=False) as centre:
        found = centre.audit(expected)
    console.print(
        f"[bold green]holds[/]: {found.head.seq} events, {found.accounts} accounts, "
        f"{found.sessions} sessions, {found.answers} answers folded again from nothing"
    )
    console.print(f"head {found.head}", highlight=False, soft_wrap=True)
    if expected is None:
        console.print("Keep this head elsewhere: with --head, verify also sees what was cut off.")


def statement_text(folder: Path, deltas: Sequence[str], *, as_json: bool) -> str:
    """The statement for the regulator, if the chain holds. Raises ParameterError for a delta."""
    with Centre(folder, create=False) as centre:
        found = centre.statement([read_number(delta, "--delta") for delta in deltas] or None)
    if not as_json:
        return found.markdown()
    return json.dumps(found.json(), indent=2, ensure_ascii=False) + "\n"


def export(text: str, file: Path) -> None:
    """Write a text into a file: whole, or what was there stays. A device or a pipe is written
    to as it is. Raises OSError."""
    if Path("/dev") in file.absolute().parents or (file.exists() and not file.is_file()):
        file.write_text(text, encoding="utf-8")
        return
    place = file.resolve()  # of a link, what it points to
    made = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    reach("export.before-write")
    try:
        with made.open("x", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        if place.exists():
            shutil.copymode(place, made)
        reach("export.before-rename")
        made.replace(place)
    finally:
        made.unlink(missing_ok=True)
    reach("export.after-rename")


def rotate_keys(folder: Path, console: Console) -> None:
    """Put a new key in front of the file's, and say what that changes and what not."""
    with SQLiteLedger(folder, create=False) as ledger, ledger.acquire("keys"):
        file = rotate(ledger.id, state_directory(folder))
    console.print(f"a new key seals from now on; it is the first in {file}", soft_wrap=True)
    console.print(
        "What was sealed before stays as it is, for the ledger is append-only: whoever has an "
        "older key and a copy of the folder can still read it. Keep the older keys in the file, "
        "or live sessions that they sealed cannot go on; and keep a copy of the file elsewhere."
    )


def restore_folder(folder: Path, console: Console) -> None:
    """Void sessions and spend accounts of a folder that is an older copy; print its new head."""
    head = restore(folder)
    console.print("restored: earlier sessions are void, accounts have spent their quotas")
    console.print(f"head {head}", highlight=False, soft_wrap=True)
