"""What documents and docstrings show is run as tests, each in a directory that vanishes.

The Python blocks of one Markdown file share their names and their directory, as a reader
would type them one after the other. A docstring sees its own module. Nothing is skipped:
neither kind of example has a way to ask for that (tests/test_house.py).
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

_ELSEWHERE = "_elsewhere"
_STATE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Keys and heads of the tests' centres, also of processes that they start, lie in a
    directory that vanishes: nothing is written into the home of whoever runs the tests."""
    config.stash[_STATE] = tempfile.TemporaryDirectory(prefix="interlace-state-")
    os.environ["XDG_STATE_HOME"] = config.stash[_STATE].name
    os.environ.pop("INTERLACE_KEY", None)
    # A shell starts what runs in the background without Ctrl-C, which is tested here.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the directory away."""
    config.stash[_STATE].cleanup()


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        yield


def _enter(namespace: dict[str, object]) -> None:
    stack = contextlib.ExitStack()
    stack.enter_context(_elsewhere())
    namespace[_ELSEWHERE] = stack


def _leave(namespace: dict[str, object]) -> None:
    stack = namespace.pop(_ELSEWHERE)
    if isinstance(stack, contextlib.ExitStack):
        stack.close()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()],
    patterns=["*.md"],
    path=str(Path(__file__).parent),
    setup=_enter,
    teardown=_leave,
).pytest()


@pytest.fixture(autouse=True)
def _docstrings_run_elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    if isinstance(request.node, pytest.DoctestItem):
        with _elsewhere():
            yield
    else:
        yield
