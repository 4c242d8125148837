"""Paths of a table: the folder names must come out as Paimon's, or files cannot be found."""

from __future__ import annotations

from decimal import Decimal

import pytest

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.errors import UnsupportedFeatureError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import encode_row
from table_core.ondisk.data_file import EMPTY_ROW, DataFile
from table_core.schema.table_schema import TableSchema

_TS = 1_704_103_200_000_000_000
FILE = DataFile(
    file_name="data-x-0.parquet",
    file_size=1,
    row_count=1,
    min_sequence_number=0,
    max_sequence_number=0,
    schema_id=0,
    extra_files=("data-x-0.parquet.index",),
)


def schema_of(columns: dict[str, str], partition_by=None, **options: str) -> TableSchema:
    fields = tuple(Field(i, n, parse_type(t)) for i, (n, t) in enumerate(columns.items()))
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=tuple(columns) if partition_by is None else partition_by,
        raw_options={k.replace("__", "-"): v for k, v in options.items()},
    )


def partition_of(schema: TableSchema, *values: object) -> bytes:
    return encode_row([f.type for f in schema.partition_fields], values)


def test_metadata_of_a_branch_lies_under_the_branch_and_manifests_do_not() -> None:
    assert layout.schema_path(0) == "schema/schema-0"
    assert layout.snapshot_path(7, "dev") == "branch/branch-dev/snapshot/snapshot-7"
    assert layout.changelog_path(7) == "changelog/changelog-7"
    assert layout.hint_path("snapshot", "LATEST", "dev") == "branch/branch-dev/snapshot/LATEST"
    assert layout.tag_path("v1") == "tag/tag-v1"
    assert layout.consumer_path("c") == "consumer/consumer-c"
    assert layout.manifest_path("manifest-1") == "manifest/manifest-1"
    assert layout.index_path("index-1") == "index/index-1"
    assert layout.statistics_path("stat-1") == "statistics/stat-1"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("snapshot-12", 12),
        ("snapshot-", None),
        ("snapshot-07", None),
        ("snapshot-1²", None),
        ("snapshot--1", None),
        ("LATEST", None),
        (".snapshot-7.0f.tmp", None),
        ("snapshot-" + "9" * 5000, None),
    ],
)
def test_only_plain_numbers_count_as_files_of_a_kind(name: str, number: int | None) -> None:
    assert layout.numbered(name, "snapshot-") == number


def test_partition_folders_use_javas_texts_by_default() -> None:
    schema = schema_of(
        {
            "d": "DATE",
            "ts": "TIMESTAMP(3)",
            "s": "STRING",
            "b": "BOOLEAN",
            "dc": "DECIMAL(10, 2)",
            "i": "INT",
        }
    )
    partition = partition_of(
        schema, 19723, _TS + 123_000_000, "a/b=c:d %x", True, Decimal("1.50"), 1
    )
    assert layout.partition_path(schema, partition) == (
        "d=19723/ts=2024-01-01T10%3A00%3A00.123/s=a%2Fb%3Dc%3Ad %25x/b=true/dc=1.50/i=1"
    )


def test_partition_folders_use_sql_texts_when_told() -> None:
    schema = schema_of(
        {"d": "DATE", "ts": "TIMESTAMP(3)", "t": "TIME(3)", "old": "DATE"},
        **{"partition.legacy-name": "false"},
    )
    partition = partition_of(schema, 19723, _TS + 120_000_000, 36_000_123, -719_529)
    assert layout.partition_text(schema, partition) == {
        "d": "2024-01-01",
        "ts": "2024-01-01 10:00:00.120",
        "t": "10:00:00.123",
        "old": "-0001-12-31",
    }


@pytest.mark.parametrize(
    ("type_text", "value", "text"),
    [
        ("TIMESTAMP(6)", _TS, "2024-01-01T10:00"),
        ("TIMESTAMP(6)", _TS + 5_000_000_000, "2024-01-01T10:00:05"),
        ("TIMESTAMP(6)", _TS + 1000, "2024-01-01T10:00:00.000001"),
        ("TIMESTAMP(9)", _TS + 1, "2024-01-01T10:00:00.000000001"),
        ("TIMESTAMP(6)", -1000, "1969-12-31T23:59:59.999999"),
        ("DOUBLE", 1e7, "1.0E7"),
        ("DOUBLE", 1234567.0, "1234567.0"),
        ("DOUBLE", 1.5e-5, "1.5E-5"),
        ("DOUBLE", 0.001, "0.001"),
        ("DOUBLE", -0.0, "-0.0"),
        ("DOUBLE", float("nan"), "NaN"),
        ("DOUBLE", float("-inf"), "-Infinity"),
        ("FLOAT", 0.10000000149011612, "0.1"),
        ("BIGINT", -5, "-5"),
        ("STRING", "  \t", "__DEFAULT_PARTITION__"),
        ("STRING", "", "__DEFAULT_PARTITION__"),
        ("STRING", "\xa0", "\xa0"),
        ("STRING", "\u2003", "__DEFAULT_PARTITION__"),
        ("STRING", None, "__DEFAULT_PARTITION__"),
        ("STRING", "日本 x", "日本 x"),
    ],
)
def test_partition_text(type_text: str, value: object, text: str) -> None:
    schema = schema_of({"p": type_text})
    assert layout.partition_text(schema, partition_of(schema, value)) == {"p": text}


def test_binary_partitions_have_no_legacy_name() -> None:
    schema = schema_of({"p": "BYTES"})
    with pytest.raises(UnsupportedFeatureError):
        layout.partition_path(schema, partition_of(schema, b"x"))


def test_data_files_lie_in_their_bucket_unless_they_say_otherwise() -> None:
    plain = schema_of({"k": "INT"}, ())
    assert layout.data_file_path(plain, EMPTY_ROW, 0, FILE) == "bucket-0/data-x-0.parquet"
    assert layout.bucket_path(plain, EMPTY_ROW, -2) == "bucket-postpone"
    parted = schema_of({"k": "INT", "p": "INT"}, ("p",), **{"data-file.path-directory": "data"})
    folder = "data/p=4/bucket-1"
    assert layout.extra_file_paths(parted, partition_of(parted, 4), 1, FILE) == (
        f"{folder}/data-x-0.parquet.index",
    )
    beside = schema_of({"k": "INT"}, (), **{"index-file-in-data-file-dir": "true"})
    assert layout.index_file_path(beside, EMPTY_ROW, 3, "index-1") == "bucket-3/index-1"
    assert layout.index_file_path(plain, EMPTY_ROW, 3, "index-1") == "index/index-1"
