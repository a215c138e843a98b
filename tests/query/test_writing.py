"""A declaration that is written as TOML reads back as the same declaration."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.query.declarations.reading import parse_declaration
from interlace.query.declarations.writing import declaration_text
from interlace.query.schema import Dataset
from tests.effort import examples
from tests.query.declarations import NAMES, datasets


@settings(max_examples=examples(150))
@given(datasets(), st.none() | st.sampled_from(NAMES), st.booleans())
def test_it_reads_back_as_it_was(dataset: Dataset, domain: str | None, with_sources: bool) -> None:
    names = [*(t.name for t in dataset.tables), *(t.name for t in dataset.public)]
    sources = {name: f"{name}.parquet" for name in names} if with_sources else {}
    found = parse_declaration(declaration_text(dataset, sources, domain))
    assert (found.dataset, found.domain) == (dataset, domain)
    assert found.sources == {name: Path(path) for name, path in sources.items()}
    assert found.dataset.to_json() == dataset.to_json()
