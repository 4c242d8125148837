"""Options that Apache Paimon refuses each time it opens a table are refused before there is one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError, SchemaError, TableError
from tests.tables import new_catalog

COLUMNS = pa.schema(
    [("id", pa.int64()), ("n", pa.int32()), ("b", pa.binary()), ("t", pa.timestamp("ns"))]
)
APPEND = [
    {"streaming-read-overwrite": "true"},
    {"table-read.sequence-number.enabled": "true"},
    {"primary-key.nullable": "true"},
    {"scan.mode": "from-timestamp"},
    {"scan.mode": "from-snapshot"},
    {"scan.mode": "from-snapshot-full"},
    {"scan.mode": "incremental"},
    {"scan.mode": "from-file-creation-time"},
    {"scan.mode": "full", "scan.snapshot-id": "1"},
    {"scan.mode": "latest", "scan.tag-name": "x"},
    {"scan.mode": "from-snapshot", "scan.snapshot-id": "1", "scan.tag-name": "x"},
    {"scan.snapshot-id": "1", "scan.timestamp-millis": "5"},
    {"scan.timestamp": "2026-01-01 00:00:00", "scan.timestamp-millis": "5"},
    {"scan.timestamp": "2026-01-01T00:00:00"},
    {"scan.timestamp": "2026-01-01 00:00:00Z"},
    {"scan.version": "1"},
    {"incremental-between": "1,2", "incremental-between-timestamp": "1,2"},
    {"incremental-between": "1,2", "scan.snapshot-id": "1"},
    {"vector-field": "n"},
    {"vector-field": "nope"},
    {"fields.n.map.storage-layout": "default"},
    {"blob-field": "b"},
    {"blob-descriptor-field": "b"},
    {"blob-view-field": "b"},
    {"manifest-sort.enabled": "true"},
    {"changelog.num-retained.min": "20", "snapshot.num-retained.max": "10"},
    {"variant.shredding.minFieldCardinalityRatio": "2"},
    {"variant.shredding.maxInferBufferRow": "0"},
]
KEYED = [
    {"merge-engine": "partial-update", "fields.id.sequence-group": "n"},
    {"merge-engine": "partial-update", "fields.default-aggregate-function": "sum"},
    {
        "merge-engine": "partial-update",
        "fields.n.sequence-group": "b",
        "partial-update.remove-record-on-sequence-group": "n",
        "ignore-delete": "true",
    },
    {"upsert-key": "id"},
    {"file.format.per.level": "0:avro"},
    {"file.format": "avro"},
]


@pytest.mark.parametrize("options", APPEND, ids=str)
def test_a_table_without_key_is_not_made_with(options: dict[str, str]) -> None:
    catalog = new_catalog()
    with pytest.raises(TableError):
        catalog.create_table("d.t", COLUMNS, options=options)
    assert catalog.tables("d") == []


@pytest.mark.parametrize("options", KEYED, ids=str)
def test_a_key_table_is_not_made_with(options: dict[str, str]) -> None:
    with pytest.raises(TableError):
        new_catalog().create_table("d.t", COLUMNS, primary_key=["id"], options=options)


@pytest.mark.parametrize("options", [o for o in APPEND if len(o) == 1], ids=str)
def test_nor_can_a_table_be_altered_to(options: dict[str, str]) -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", COLUMNS)
    ((key, value),) = options.items()
    with pytest.raises((SchemaError, OptionError)):
        catalog.alter_table("d.t", [tc.SetOption(key, value)])


@pytest.mark.parametrize(
    "options",
    [
        {"scan.mode": "full", "scan.snapshot-id": "1"},
        {"scan.snapshot-id": "1", "incremental-between": "1,2"},
        {"scan.mode": "from-timestamp"},
    ],
    ids=str,
)
def test_a_handle_takes_one_start(options: dict[str, str]) -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", COLUMNS)
    with pytest.raises(OptionError):
        catalog.table("d.t", options=options)


@pytest.mark.parametrize("zone", ["EST", "+8:00", "GMT-5:30", "localtime", "ROC", "posix/UTC"])
def test_a_zone_that_java_cannot_read_is_refused(zone: str) -> None:
    with pytest.raises(OptionError, match="Java"):
        new_catalog().create_table("d.t", COLUMNS, options={"sink.process-time-zone": zone})


@pytest.mark.parametrize("formatter", ["dd-MMM-yyyy", "yyyy-MM-dd'T'HH:mmXXX", "yyyy-MM-dd hh a"])
def test_a_formatter_that_cannot_be_run_is_refused(formatter: str) -> None:
    with pytest.raises(OptionError, match="partition"):
        new_catalog().create_table(
            "d.t", COLUMNS, partition_by=["n"], options={"partition.timestamp-formatter": formatter}
        )
