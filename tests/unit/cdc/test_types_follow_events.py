"""What a type becomes depends on the events, never on the files and runs that they come in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import table_core as tc
from table_core.errors import DataError
from tests.golden import streams
from tests.unit.cdc.lake import Lake
from tests.unit.cdc.records import record


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def types(lake: Lake, table: str) -> dict[str, str]:
    return {f.name: str(f.type.root) for f in lake.catalog.table(f"lake.{table}").definition.fields}


def put(lake: Lake, values: list[Any], size: int, **more: Any) -> None:
    events = [record("s.a", "c", {"id": n, "v": v}) for n, v in enumerate(values)]
    for n in range(0, len(events), size):
        lake.put(f"{n:02}.jsonl", *events[n : n + size])
        lake.sync(**more)


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize(
    ("values", "root", "kept"),
    [
        ([1, 2, 2.5, 3], "DOUBLE", [1.0, 2.0, 2.5, 3.0]),
        ([None, 1, None, 0.5], "DOUBLE", [None, 1.0, None, 0.5]),
        ([1.5, 2, 3], "DOUBLE", [1.5, 2.0, 3.0]),
        ([1, 2**60 + 1, 0.5, 3], "BIGINT", [1, 2**60 + 1, 3]),
        ([1, "x", 2, "3"], "BIGINT", [1, 2, 3]),
        (["x", 1, 1.5, True], "VARCHAR", ["x", "1", "1.5", "true"]),
        ([True, "x", False], "BOOLEAN", [True, False]),
        ([1, {"a": 1}, [2], 3], "BIGINT", [1, 3]),
    ],
)
def test_an_inferred_type_is_that_of_the_events(
    lake: Lake, size: int, values: list[Any], root: str, kept: list[Any]
) -> None:
    put(lake, values, size, dead_letter="lake.bad")
    assert types(lake, "a")["v"] == root
    assert [row["v"] for row in lake.rows("a")] == kept
    bad = lake.rows("bad") if "bad" in lake.catalog.tables("lake") else []
    assert len(bad) == len(values) - len(kept)


@pytest.mark.parametrize("size", [1, 9])
def test_a_type_that_cannot_widen_is_an_error_with_its_place(lake: Lake, size: int) -> None:
    with pytest.raises(DataError, match=r"line \d: column 'v' cannot take x"):
        put(lake, [1, "x"], size)


def test_a_type_that_a_user_gave_stays(lake: Lake) -> None:
    import pyarrow as pa

    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
    lake.catalog.create_database("lake")
    lake.catalog.create_table("lake.a", schema, primary_key=("id",))
    put(lake, [1, 1.5], 1, dead_letter="lake.bad")
    assert types(lake, "a")["v"] == "BIGINT"
    assert len(lake.rows("bad")) == 1


@pytest.mark.parametrize(
    ("flavour", "form"),
    [("default", "plain"), ("text-numbers", "plain"), ("text-numbers", "schema")],
)
def test_a_recorded_stream_makes_the_same_tables_in_one_file_and_in_many(
    tmp_path: Path, flavour: str, form: str
) -> None:
    found = []
    recorded = streams.lines("mariadb", flavour, form)[:400]
    for size in (len(recorded), 45):
        folder = tmp_path / str(size)
        (folder / "events").mkdir(parents=True)
        catalog = tc.open_catalog(f"file://{folder}/wh")
        source = tc.FilesSource(f"file://{folder}/events/*.jsonl.gz")
        for n in range(0, len(recorded), size):
            body = gzip.compress(b"".join(recorded[n : n + size]), 1)
            (folder / "events" / f"{n:05}.jsonl.gz").write_bytes(body)
            tc.sync_database(catalog, "lake", source)
        tables = {name: catalog.table(f"lake.{name}") for name in catalog.tables("lake")}
        found.append(
            {
                name: (
                    [(f.name, f.type) for f in table.definition.fields],
                    sorted(map(repr, table.read().to_arrow().to_pylist())),
                )
                for name, table in tables.items()
            }
        )
    assert found[0] == found[1]
