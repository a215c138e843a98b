"""Named places in the centre at which a test makes it die, its disk fail or its user press
Ctrl-C, and the one form that a failing disk has outside.

Without the environment variable ``INTERLACE_FAULT`` nothing happens here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Iterator
from typing import Literal, get_args

from interlace.core.errors import LedgerError, ParameterError

Point = Literal[
    "register.before-snapshot",
    "register.after-snapshot",
    "register.before-commit",
    "register.after-commit",
    "cap.before-append",
    "cap.before-commit",
    "cap.after-commit",
    "account.after-generation",
    "account.before-append",
    "account.before-commit",
    "account.after-commit",
    "open.before-admission",
    "open.after-charge",
    "open.before-commit",
    "open.after-commit",
    "ask.after-acquire",
    "ask.after-read",
    "ask.after-draw",
    "ask.before-commit",
    "ask.after-commit",
    "close.before-commit",
    "close.after-commit",
    "restore.before-append",
    "restore.before-commit",
    "restore.after-commit",
    "rotate.before-write",
    "rotate.after-write",
    "export.before-write",
    "export.before-rename",
    "export.after-rename",
    "file.before-write",
    "file.before-rename",
    "file.after-rename",
    "file.before-overwrite",
    "file.after-overwrite",
]
"""Where the centre can be made to fail: between two of the steps that must be one. What starts
with ``file`` is passed by the keys and the head, which lie outside the folder."""

POINTS: tuple[Point, ...] = get_args(Point)

_VARIABLE = "INTERLACE_FAULT"
#: What may follow the name.
_KILL, _ERROR, _INTERRUPT = ("", ""), (":", "error"), (":", "interrupt")


def reach(point: Point) -> None:
    """Pass a point, unless ``INTERLACE_FAULT`` names it: by ``point`` the process kills itself
    with SIGKILL, by ``point:error`` an OSError says that the disk is full, by
    ``point:interrupt`` it gets the SIGINT that Ctrl-C sends, once.

    Raises ParameterError for a variable that names no point or another form.

    >>> reach("ask.after-draw")
    """
    wanted = os.environ.get(_VARIABLE)
    if wanted is not None:
        _fail(point, *wanted.partition(":"))


def _fail(point: Point, wanted: str, *form: str) -> None:
    if wanted not in POINTS or form not in (_KILL, _ERROR, _INTERRUPT):
        raise ParameterError(
            _VARIABLE, f"must be one of {', '.join(POINTS)}, or that and :error or :interrupt"
        )
    if wanted != point:
        return
    if form == _KILL:
        os.kill(os.getpid(), signal.SIGKILL)
    if form == _INTERRUPT:
        del os.environ[_VARIABLE]
        os.kill(os.getpid(), signal.SIGINT)
        return
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Whatever the operating system refuses in this block is a LedgerError.

    >>> with disk_errors():
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    interlace.core.errors.LedgerError: the disk failed (No space left on device): ...
    """
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"the disk failed ({error.strerror}): check its space and the folder's permissions"
        ) from error
