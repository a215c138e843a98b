"""The state directory: small files that a centre keeps outside its folder, for its user alone.

What lies here does not travel with a copy of the folder: the keys that seal it, and the
head that shows an older copy for what it is. Knows nothing of either.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from interlace.centre.faults import reach
from interlace.core.errors import LedgerError

_WHERE = "XDG_STATE_HOME (by default ~/.local/state) must name a directory of this user's own"


def state_directory(folder: Path) -> Path:
    """Where the files of the centre in ``folder`` are kept; made if it is not there.

    ``$XDG_STATE_HOME/interlace``, or ``~/.local/state/interlace`` where that is not set to an
    absolute path. Raises LedgerError if it cannot be made or lies in the folder itself.
    """
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
        path = base.resolve() / "interlace"
        if path.is_relative_to(folder.resolve()):
            raise LedgerError(f"{path} lies inside the centre's own folder: {_WHERE}, outside it")
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        raise LedgerError(f"this user's state directory cannot be made: {_WHERE}") from None
    return path


def state_file(directory: Path, ledger: str, what: str) -> Path:
    """The path of one file of the ledger of that id. Raises LedgerError for an id that is none:
    it comes from the folder, and must not lead elsewhere."""
    if re.fullmatch("[0-9A-Za-z-]{1,64}", ledger) is None:
        raise LedgerError("the ledger's id is not one that Interlace gave it")
    return directory / f"{ledger}.{what}"


def read_private(path: Path) -> str | None:
    """The text of a file, or None where there is none.

    Raises LedgerError for a file that another user owns or can read.
    """
    with _named(path):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
                raise LedgerError(
                    f"{path} can be read or changed by others than this user: make it this "
                    "user's own (chmod 600), and if it was readable to others, rotate the key"
                )
            return file.read()


def create_private(path: Path, text: str) -> None:
    """Make a file of this user's alone, unless there is one. One caller at a time."""
    with _named(path), _written(path, text) as made, contextlib.suppress(FileExistsError):
        os.link(made, path)


def replace_private(path: Path, text: str) -> None:
    """Put a file of this user's alone in the place of the one there, whole or not at all. One
    caller at a time."""
    with _named(path), _written(path, text) as made:
        made.replace(path)


def overwrite_private(path: Path, text: str) -> None:
    """Write over a file that holds a text of the same length, in one write within one sector,
    not flushed: whole for everybody but a reader at that moment, and cheap. A failing power
    supply may leave the older text."""
    with _named(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            reach("file.before-overwrite")
            os.pwrite(descriptor, text.encode("ascii"), 0)
            reach("file.after-overwrite")
        finally:
            os.close(descriptor)


def is_unfinished(path: Path) -> bool:
    """Whether a process is putting a file here just now, or died while it did."""
    return os.access(_unfinished(path), os.F_OK)


def clear_unfinished(path: Path) -> None:
    """Take away what a process that died left of a file that it was about to put here."""
    with _named(path):
        _unfinished(path).unlink(missing_ok=True)


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


@contextlib.contextmanager
def _written(path: Path, text: str) -> Iterator[Path]:
    """A new file beside ``path``, on the disk, and gone afterwards if it is still there."""
    made = _unfinished(path)
    made.unlink(missing_ok=True)
    reach("file.before-write")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        reach("file.before-rename")
        yield made
        reach("file.after-rename")
        _sync(path.parent)
    finally:
        made.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LedgerError(f"{path} cannot be used: {error.strerror}") from None
