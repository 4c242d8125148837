"""Attack: values that nobody thought of.  Goal: an error that is none of ours, or a writer without end."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.cdc.source.kafka.registry import SchemaRegistry
from table_core.errors import ArgumentError, CorruptFileError, OptionError, TableError
from table_core.ondisk.index_manifest import (
    IndexEntry,
    decode_index_manifest,
    encode_index_manifest,
)
from table_core.storage.stores.jdbc import JdbcDatabase
from table_core.storage.stores.local import LocalStorage
from table_core.table.system_tables.documents import rows_table
from tests.tables import write_rows

SECRET = "hunter2-hunter2"
ROWS = pa.table({"id": [1]})


def fill(table: tc.Table) -> None:
    write_rows(table, ROWS)


@pytest.mark.parametrize(
    ("format", "option"),
    [("parquet", "parquet.block.size"), ("parquet", "parquet.page.size"), ("parquet", "parquet.dictionary.page.size"),
     ("orc", "orc.stripe.size"), ("orc", "orc.row.index.stride")],
)  # fmt: skip
@pytest.mark.parametrize("size", ["0", "-1", "x"])
def test_a_size_of_nothing_is_refused_by_its_name(
    tmp_path: Path, format: str, option: str, size: str
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    options = {"bucket": "-1", "file.format": format, option: size}
    with pytest.raises(TableError, match=option):
        fill(catalog.create_table("d.t", ROWS.schema, options=options))


def test_a_nul_in_a_path_or_a_prefix_is_refused(tmp_path: Path) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    table = catalog.create_table("d.t", ROWS.schema, options={"bucket": "-1"})
    schema = tmp_path / "d.db/t/schema/schema-0"
    schema.write_text(
        schema.read_text().replace('"bucket"', '"data-file.prefix": "a\\u0000b", "bucket"')
    )
    with pytest.raises(OptionError, match=r"data-file\.prefix"):
        catalog.create_table("d.u", ROWS.schema, options={"data-file.prefix": "a\0b"})
    table = tc.open_catalog(tmp_path.as_uri()).table("d.t")
    with pytest.raises(TableError, match="NUL"):
        fill(table)
    for act in (
        lambda p: LocalStorage(tmp_path).read(p),
        lambda p: LocalStorage(tmp_path).delete([p]),
    ):
        with pytest.raises(ArgumentError, match="NUL"):
            act("a\0b")


@pytest.mark.parametrize(
    "options",
    [
        {"no_such_option": "x"},
        {"client_kwargs": {"nonsense": 1}},
        {"config_kwargs": {"nonsense": 1}},
        {"client_kwargs": "x"},
        {"endpoint_url": "nonsense"},
    ],
)
def test_an_option_that_no_store_knows_is_refused_when_it_is_opened(
    options: dict[str, Any],
) -> None:
    with pytest.raises(OptionError, match="storage_options"):
        tc.open_catalog("s3://bucket/wh", {"key": "a", "secret": "hush", **options})


@pytest.mark.parametrize(
    "ask",
    [
        lambda: JdbcDatabase(f"jdbc:mysql://ada:{SECRET}/x", {}).rows("SELECT 1"),
        lambda: JdbcDatabase(f"jdbc:postgresql://ada:{SECRET}@[::1/x", {}).rows("SELECT 1"),
        lambda: JdbcDatabase(f"jdbc:mysql://ada:{SECRET}@h:99999999/x", {}).rows("SELECT 1"),
        lambda: SchemaRegistry(f"http://h/?token={SECRET}"),
        lambda: SchemaRegistry(f"http://{SECRET}@h"),
        lambda: SchemaRegistry(f"http://{SECRET}:@[::1"),
        lambda: tc.KafkaSource("h:9092", "t", options={f"sasl.password={SECRET}": "x"}),
        lambda: tc.KafkaSource(
            "h:9092", "t", options={"no.such": "x", "sasl.password": SECRET}
        ).open(),
    ],
)
def test_an_address_or_an_option_that_is_none_is_refused_and_not_repeated(
    ask: Callable[[], Any],
) -> None:
    with pytest.raises(TableError) as caught:
        ask()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert SECRET not in str(caught.value.facts)


def test_a_bucket_that_is_no_number_of_one_is_told_by_its_file() -> None:
    entry = IndexEntry(
        partition=b"",
        bucket=2**40,
        index_type="HASH",
        file_name="index-x",
        file_size=1,
        row_count=1,
    )
    with pytest.raises(CorruptFileError, match="index-manifest-1: _BUCKET"):
        decode_index_manifest(encode_index_manifest([entry]), path="index-manifest-1")


@pytest.mark.parametrize("number", [2**40, 2**70])
def test_a_number_in_the_metadata_that_fits_no_column_is_told(number: int) -> None:
    with pytest.raises(CorruptFileError, match="level: a value in the table's metadata"):
        rows_table([("level", pa.int32(), False)], [[1], [number]])
