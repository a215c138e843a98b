"""Every rule and formula that the source cites stands in docs/formulas.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "formulas.md").read_text()
LISTED = set(re.findall(r"^- \*\*(R?[0-9][0-9.]*)\*\*", PAGE, re.MULTILINE))


def cited() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        for group in re.findall(
            r"FORMULAS ((?:[0-9][0-9.]*[0-9]|[0-9])(?:[,;] [0-9.]*[0-9])*)", text
        ):
            found |= dict.fromkeys(re.split(r"[,;] ", group), path.name)
        for group in re.findall(r"\bR(?:10|[1-9])\b", text):
            found[group] = path.name
    return found


def test_the_page_lists_what_the_source_cites() -> None:
    citations = cited()
    assert len(citations) > 20
    assert {number: place for number, place in citations.items() if number not in LISTED} == {}


def test_every_number_is_listed_once() -> None:
    numbers = re.findall(r"^- \*\*(R?[0-9][0-9.]*)\*\*", PAGE, re.MULTILINE)
    assert len(numbers) == len(set(numbers))
    assert {f"R{i}" for i in range(1, 11)} <= LISTED
