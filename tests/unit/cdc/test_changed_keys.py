"""An update of the primary key deletes the row of the old key, however the two keys are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from tests.tables import new_catalog

SOURCE = {"db": "s", "table": "t"}
NULLS = (
    '{"type": "INSERT", "database": "s", "table": "a", "isDdl": false, "old": null, "pkNames": ["id"], '
    '"mysqlType": {"id": "bigint(20)", "n": "int"}, "data": [{"id": null, "n": "5"}]}'
)


def scaled(unscaled: str) -> dict[str, Any]:
    return {"scale": 0, "value": unscaled}


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 2), (1, 2.5), (1.5, 2), ("a", 5), (scaled("AQ=="), scaled("Ag=="))],
)
def test_the_old_row_is_gone(tmp_path: Path, before: Any, after: Any) -> None:
    events = [
        {"op": "c", "before": None, "after": {"id": before, "n": 1}, "source": SOURCE},
        {
            "op": "u",
            "before": {"id": before, "n": 1},
            "after": {"id": after, "n": 2},
            "source": SOURCE,
        },
    ]
    (tmp_path / "1.jsonl").write_text("\n".join(map(json.dumps, events)))
    catalog = new_catalog()
    tc.sync_table(catalog, "d.t", tc.FilesSource(f"{tmp_path}/*.jsonl"), primary_key=("id",))
    assert catalog.table("d.t").read().to_arrow()["n"].to_pylist() == [2]


def test_a_key_that_is_null_in_every_event_is_a_dead_letter(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(NULLS)
    source = tc.FilesSource(f"{tmp_path}/*.jsonl", format="canal-json")
    done = tc.sync_database(new_catalog(), "lake", source, dead_letter="lake.dead")
    assert done.details["dead_letters"] == 1
