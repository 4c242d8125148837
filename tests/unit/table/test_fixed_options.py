"""What is fixed for a table is fixed for its handles too, and nothing is stored that cannot be used."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError, SchemaError, UnsupportedFeatureError
from table_core.options import codecs
from tests.tables import new_catalog, write_rows

SCHEMA = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), ("v", pa.int32()), ("dt", pa.string())]
)


@pytest.fixture
def catalog(tmp_path: Any) -> tc.Catalog:
    return new_catalog(tmp_path.as_uri())


def put(table: tc.Table, *keys: int) -> None:
    write_rows(table, pa.table({"k": keys, "v": keys, "dt": ["a"] * len(keys)}, schema=SCHEMA))


@pytest.mark.parametrize(
    "given",
    [
        {"bucket": "7"},
        {"bucket-key": "v"},
        {"bucket-function.type": "mod"},
        {"data-file.path-directory": "zz"},
        {"merge-engine": "first-row"},
        {"sequence.field": "v"},
        {"fields.v.aggregate-function": "sum"},
        {"fields.default-aggregate-function": "sum"},
        {"partition.default-name": "none"},
        {"partition.legacy-name": "false"},
        {"rowkind.field": "dt"},
        {"deletion-vectors.enabled": "true"},
        {"row-tracking.enabled": "true"},
        {"primary-key": "v"},
        {"partition": "v"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_a_handle_does_not_change_what_is_fixed_for_the_table(catalog, given) -> None:
    table = catalog.create_table(
        "d.t", SCHEMA, primary_key=("k", "dt"), partition_by=("dt",), options={"bucket": "2"}
    )
    put(table, 1, 2, 3)
    with pytest.raises(OptionError, match="on a handle"):
        catalog.table("d.t", options=given)
    with pytest.raises(OptionError, match="on a handle"):
        tc.open_table(table.uri, options=given)


def test_a_handle_may_repeat_what_the_table_says_and_read_in_another_way(catalog) -> None:
    table = catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "2"})
    put(table, 1, 2, 3)
    options = {
        "bucket": "2",
        "merge-engine": "deduplicate",
        "primary-key": "k",
        "scan.snapshot-id": "1",
        "write-only": "true",
        "read.batch-size": "10",
    }
    assert catalog.table("d.t", options=options).read().to_arrow().num_rows == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([tc.SetOption("partition.default-name", "none")], "folders of partitions"),
        ([tc.SetOption("partition.legacy-name", "false")], "folders of partitions"),
        ([tc.UpdateColumnDefault("v", "abc")], "default 'abc' of column 'v' is no INT"),
        ([tc.UpdateColumnDefault("v", "99999999999")], "is no INT"),
        ([tc.UpdateColumnType("s", "INT")], "default 'x' of column 's' is no INT"),
        ([tc.DropColumn("c")], "clustering.columns names it"),
        ([tc.DropColumn("c"), tc.AddColumn("c", "INT")], "clustering.columns names it"),
        ([tc.AddColumn("n", "INT", default="many")], "default 'many' of column 'n' is no INT"),
    ],
)
def test_a_change_that_would_break_later_use_is_refused(catalog, changes, words) -> None:
    schema = SCHEMA.append(pa.field("s", pa.string())).append(pa.field("c", pa.int32()))
    table = catalog.create_table(
        "d.t", schema, partition_by=("dt",), options={"clustering.columns": "c"}
    )
    catalog.alter_table("d.t", [tc.UpdateColumnDefault("s", "x")])
    write_rows(catalog.table("d.t"), pa.table({"k": pa.array([1], pa.int32()), "dt": [None]}))
    with pytest.raises((OptionError, SchemaError), match=words):
        catalog.alter_table("d.t", changes)
    assert catalog.table("d.t").read().to_arrow()["s"].to_pylist() == ["x"]
    assert table.definition.id == 0


@pytest.mark.parametrize(
    "options",
    [
        {"file.format": "csv"},
        {"file.format": "json"},
        {"file.format.per.level": "0:text"},
        {"changelog-file.format": "csv"},
        {"file-index.bloom-filter.columns": "d"},
        {"file-index.range-bitmap.columns": "k"},
    ],
    ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()),
)
def test_a_table_that_could_not_be_written_is_not_created(catalog, options) -> None:
    schema = SCHEMA.append(pa.field("d", pa.decimal128(10, 2)))
    with pytest.raises(UnsupportedFeatureError, match=next(iter(options)).split(".columns")[0]):
        catalog.create_table("d.t", schema, options=options)
    assert catalog.tables("d") == []
    catalog.create_table("d.t", schema)
    changes = [tc.SetOption(key, value) for key, value in options.items()]
    with pytest.raises(UnsupportedFeatureError):
        catalog.alter_table("d.t", changes)


def test_the_settings_of_a_file_index_follow_their_column(catalog) -> None:
    catalog.create_table(
        "d.t",
        SCHEMA,
        options={
            "file-index.bloom-filter.columns": "v",
            "file-index.bloom-filter.v.items": "10",
            "file-index.bloom-filter.v.fpp": "0.5",
        },
    )
    renamed = catalog.alter_table("d.t", [tc.RenameColumn("v", "w")]).options
    assert {k: v for k, v in renamed.items() if k.startswith("file-index")} == {
        "file-index.bloom-filter.columns": "w",
        "file-index.bloom-filter.w.items": "10",
        "file-index.bloom-filter.w.fpp": "0.5",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"file.compression": "lzo"},
        {"file.compression": "brotli", "file.format": "orc"},
        {"file.compression.per.level": "0:lzo"},
        {"file.format.per.level": "0:avro", "file.compression": "gzip"},
        {"changelog-file.compression": "nope"},
        {"manifest.compression": "gzip"},
        {"metadata.stats-mode": "most"},
        {"metadata.stats-mode": "truncate(0)"},
        {"metadata.stats-mode.per.level": "0:most"},
        {"changelog-file.stats-mode": "most"},
        {"fields.v.stats-mode": "truncate(-1)"},
        {"num-levels": "1"},
        {"num-sorted-run.compaction-trigger": "0"},
    ],
    ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()),
)
def test_an_option_that_would_stop_every_write_is_not_stored(catalog, options) -> None:
    made = {"primary_key": ("k",), "options": {"bucket": "1"}}
    with pytest.raises((SchemaError, OptionError)):
        catalog.create_table("d.t", SCHEMA, primary_key=("k",), options={"bucket": "1", **options})
    table = catalog.create_table("d.t", SCHEMA, **made)
    with pytest.raises((SchemaError, OptionError)):
        catalog.alter_table("d.t", [tc.SetOption(key, value) for key, value in options.items()])
    put(table, 1)


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_every_codec_that_may_be_stored_is_written(catalog, format) -> None:
    for number, codec in enumerate(codecs.CODECS[format]):
        given = codec.upper() if number % 2 else codec
        options = {"file.format": format, "file.compression": given, "bucket": "1"}
        table = catalog.create_table(f"d.t{number}", SCHEMA, primary_key=("k",), options=options)
        put(table, 1, 2)
        assert table.read().to_arrow().num_rows == 2
