"""An event with nothing but NULLs tells no types: a table cannot be made of it, and no other event waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import table_core as tc
from tests.tables import new_catalog

NULLS = '{"type": "insert", "database": "s", "table": "t", "ts": 5, "data": {"a": null}}'
GOOD = '{"type": "insert", "database": "s", "table": "t", "ts": 5, "data": {"a": 7}}'


def source(folder: Path, *lines: str) -> tc.FilesSource:
    (folder / "1.jsonl").write_text("\n".join(lines))
    return tc.FilesSource(f"{folder}/*.jsonl", format="maxwell-json")


def test_it_is_a_dead_letter_and_ends_no_sync(tmp_path: Path) -> None:
    catalog = new_catalog()
    done = tc.sync_database(catalog, "lake", source(tmp_path, NULLS), dead_letter="lake.dead")
    assert done.details["dead_letters"] == 1
    assert catalog.tables("lake") == ["dead"]


def test_without_dead_letters_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(tc.errors.EventError, match=r"1\.jsonl.*no column of the event has a value"):
        tc.sync_database(new_catalog(), "lake", source(tmp_path, NULLS))


def test_beside_an_event_with_values_it_is_a_row(tmp_path: Path) -> None:
    catalog = new_catalog()
    tc.sync_database(catalog, "lake", source(tmp_path, NULLS, GOOD))
    assert sorted(map(str, catalog.table("lake.t").read().to_arrow()["a"].to_pylist())) == [
        "7",
        "None",
    ]
