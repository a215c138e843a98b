"""The house itself: what every file of the repository must and must not hold."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import interlace

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
LONGEST_FILE, LONGEST_TEST = 300, 400  # lines, as CONTRIBUTING.md says

# Written in pieces, so that this file does not hold what it looks for.
HOSTS_AND_PLACES = re.compile(
    "|".join(
        [
            r"(?<!no-emit-)(?:extra-)?index" + r"-url",
            r"find" + r"-links",
            r"(?:https?|file):" + r"//[^/\s]*(?:py" + r"pi|pythonhosted|npmjs|debian|crates)",
            r"py" + r"pi\.org|files\.python" + r"hosted",
            r"(?<![\w.])/(?:work|root|opt|home/\w+|Users/\w+)" + r"/",
        ]
    )
)


def _text_files() -> dict[str, str]:
    found = {}
    for directory, folders, names in os.walk(ROOT):
        # What is made here (.venv, caches, build/) is not part of the repository.
        folders[:] = [
            name
            for name in folders
            if name == ".ci"
            or not (name.startswith(".") or name in {"__pycache__", "build", "dist"})
        ]
        for name in set(names) - {".git", ".coverage"}:
            path = Path(directory, name)
            try:
                found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a picture or a table in binary form
    return found


FILES = _text_files()
PYTHON = sorted(name for name in FILES if name.endswith(".py"))
MARKDOWN = sorted(name for name in FILES if name.endswith(".md"))


def _pins(name: str) -> dict[tuple[str, str], str]:
    """From (package, marker) to (everything else that the pin says)."""
    pins: dict[tuple[str, str], str] = {}
    for entry in FILES[f"requirements/{name}.txt"].replace("\\\n", " ").splitlines():
        line, *hashes = entry.split("--hash=")
        assert hashes, f"no hash for {line}"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64} *", value) for value in hashes), line
        requirement = Requirement(line)
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), line
        assert requirement.url is None, line
        key = canonicalize_name(requirement.name), str(requirement.marker)
        pins[key] = f"{requirement.specifier} {sorted(hashes)}"
    return pins


def test_no_file_names_a_package_index_or_a_place_on_some_machine() -> None:
    found = [
        f"{name}: {match.group()}"
        for name, text in FILES.items()
        for match in HOSTS_AND_PLACES.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "--extra-index" + "-url x",
        "https:/" + "/pypi.example/simple",
        "url = files.python" + "hosted.org",
        "open('/ro" + "ot/x')",
        "/ho" + "me/ann/data",
    ],
)
def test_the_search_for_hosts_and_places_finds_them(text: str) -> None:
    assert HOSTS_AND_PLACES.search(text)


@pytest.mark.parametrize("name", PYTHON)
def test_every_file_says_what_it_is_for(name: str) -> None:
    assert ast.get_docstring(ast.parse(FILES[name]))


@pytest.mark.parametrize("name", PYTHON)
def test_no_file_is_longer_than_one_can_hold_in_mind(name: str) -> None:
    allowed = LONGEST_TEST if name.startswith("tests/") else LONGEST_FILE
    assert len(FILES[name].splitlines()) <= allowed


def test_every_search_is_longer_in_the_soak() -> None:
    # A plain number would hold under every profile: `make soak` would search no longer.
    tests = {name: text for name, text in FILES.items() if name.startswith("tests/")}
    plain = re.compile(r"@settings\([^@]*?max_examples=(?!examples\()")
    assert [name for name, text in tests.items() if plain.search(text)] == []


def test_every_package_has_its_first_file() -> None:
    # Without it the import contracts and the type checker would pass the package by.
    folders = {Path(name).parent for name in PYTHON if name.startswith("src/interlace/")}
    assert [str(f) for f in sorted(folders) if f"{f.as_posix()}/__init__.py" not in FILES] == []


def test_no_example_is_skipped() -> None:
    asked = re.compile(r"doctest: *\+SK" + r"IP|^(?:<!--|%) *sk" + r"ip:", flags=re.MULTILINE)
    assert [name for name, text in FILES.items() if asked.search(text)] == []


@pytest.mark.parametrize("name", MARKDOWN)
def test_every_python_block_is_one_that_is_run(name: str) -> None:
    # Sybil runs ```python. A block under another name for Python would be passed by.
    languages = set(re.findall(r"^ *(?:```|~~~)([\w+-]+)", FILES[name], flags=re.MULTILINE))
    assert languages <= {"python", "sh", "console", "text", "toml", "sql", "json", "mermaid"}
    if "python" in languages:
        assert "/" not in name or name.startswith("docs/")


@pytest.mark.parametrize("name", ["base", "demo", "dev"])
def test_every_pin_is_exact_and_hashed(name: str) -> None:
    assert len(_pins(name)) >= len(PROJECT["dependencies"])


def test_what_is_tested_is_what_is_installed() -> None:
    base, demo, dev = _pins("base"), _pins("demo"), _pins("dev")
    assert base.items() <= demo.items() <= dev.items()


@pytest.mark.parametrize(("file", "extra"), [("base", None), ("demo", "demo"), ("dev", "dev")])
def test_the_pins_meet_what_is_declared(file: str, extra: str | None) -> None:
    declared = [*PROJECT["dependencies"], *PYPROJECT["build-system"]["requires"]]
    declared += PROJECT["optional-dependencies"][extra] if extra else []
    pins = _pins(file)
    for requirement in map(Requirement, declared):
        if requirement.name == "interlace":
            continue
        name = canonicalize_name(requirement.name)
        versions = [pin[2:].split()[0] for key, pin in pins.items() if key[0] == name]
        assert versions, f"{name} is not pinned in {file}.txt: run `make pins`"
        assert all(version in requirement.specifier for version in versions)


def test_the_build_backend_is_the_pinned_one() -> None:
    assert PYPROJECT["dependency-groups"]["build"] == PYPROJECT["build-system"]["requires"]


def test_the_version_is_told_in_one_place() -> None:
    # interlace.__version__ is that place; what is installed and the changelog follow it.
    assert PROJECT["dynamic"] == ["version"]
    assert metadata.version("interlace") == interlace.__version__
    heading = rf"^## \[?{re.escape(interlace.__version__)}\]?( |$)"
    assert re.search(heading, FILES["CHANGELOG.md"], flags=re.MULTILINE)


def test_ci_runs_what_a_developer_runs() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.search(r"^exec make test\b", FILES[".ci/run"], flags=re.MULTILINE)
