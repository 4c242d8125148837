"""Goal: a table whose ORC files hold zoned times says that they are moments, however it came to that.

Method: tables that are made so and tables that become so; one that somebody made without the option keeps what it has.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import table_core as tc
from table_core.schema.change import SchemaChange
from table_core.schema.evolve import create, evolve
from table_core.schema.table_schema import TableSchema
from tests.tables import write_rows

KEY = "orc.timestamp-ltz.legacy.type"
ZONED = pa.timestamp("ms", "UTC")


def made(type_: pa.DataType, **options: str) -> TableSchema:
    named = {key.replace("_", "."): value for key, value in options.items()}
    return create(pa.schema([("id", pa.int64()), ("at", type_)]), options=named, now_ms=0)


def changed(schema: TableSchema, *changes: SchemaChange) -> TableSchema:
    return evolve(schema, changes, has_snapshots=True, now_ms=1)


@pytest.mark.parametrize("type_", [ZONED, pa.list_(pa.struct([("at", ZONED)]))])
def test_a_table_of_orc_files_is_made_with_moments(type_: pa.DataType) -> None:
    assert made(type_, file_format="orc").raw_options[KEY] == "false"
    assert KEY not in made(type_, file_format="parquet").raw_options
    assert KEY not in made(pa.timestamp("ms"), file_format="orc").raw_options


def test_a_table_that_comes_to_orc_or_to_zoned_times_later_has_moments_from_then() -> None:
    parquet = made(ZONED, file_format="parquet")
    assert changed(parquet, tc.SetOption("file.format", "orc")).raw_options[KEY] == "false"
    orc = made(pa.int32(), file_format="orc")
    added = changed(orc, tc.AddColumn("zoned", "TIMESTAMP(6) WITH LOCAL TIME ZONE"))
    assert added.raw_options[KEY] == "false"


def test_a_table_that_may_hold_files_without_the_option_is_left_alone() -> None:
    mine = made(ZONED, file_format="orc")
    theirs = replace(mine, raw_options={k: v for k, v in mine.raw_options.items() if k != KEY})
    assert KEY not in changed(theirs, tc.UpdateComment("x")).raw_options
    assert KEY not in changed(mine, tc.RemoveOption(KEY)).raw_options
    assert (
        made(ZONED, file_format="orc", **{KEY.replace(".", "_"): "true"}).raw_options[KEY] == "true"
    )


@pytest.mark.parametrize(("legacy", "lines"), [("true", 1), ("false", 0), (None, 0)])
def test_whoever_reads_or_writes_times_that_java_shifts_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, legacy: str | None, lines: int
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    options = {"file.format": "orc", "bucket": "-1"} | ({KEY: legacy} if legacy else {})
    table = catalog.create_table("d.t", pa.schema([("at", ZONED)]), options=options)
    write_rows(table, pa.table({"at": pa.array([0], ZONED)}))
    assert table.read().to_arrow().num_rows == 1
    told = [line for line in caplog.messages if KEY in line]
    assert len(told) == lines
    assert all("d.t" in line and "user.timezone=UTC" in line for line in told)
