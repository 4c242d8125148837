"""A wrong value of an honoured option is refused wherever a user can give it, and nothing changes.

Method: twenty and more wrong values of each option (``tests/option_values.py``, by hand) are given when a
table is made, when it is altered and to a handle.  ``tests/interop/test_option_keys.py`` asks Apache
Paimon's own parser about them.  Mutants: an option without its range; a door that does not ask; a type
read more loosely than Java reads it.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import ErrorKind, OptionError, SchemaError, TableError
from table_core.options.classes import OptionClass, class_of
from table_core.options.table import OPTIONS
from table_core.options.user_options import refuse_wrong
from tests.option_keys import LINES
from tests.option_values import OF_COLUMNS_AND_FORMATS, TYPES, WORDS, WRONG, wrong_values
from tests.tables import new_catalog, write_rows

HONOURED = sorted(
    key
    for key in {*(line.split("\t")[0] for line in LINES), *OPTIONS}
    if class_of(key) is OptionClass.HONOURED
)
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("dt", pa.string(), nullable=False),
        ("v", pa.int64()),
    ]
)
KEYS: dict[str, Any] = {"primary_key": ("k", "dt"), "partition_by": ("dt",)}


@pytest.fixture(scope="module")
def catalog() -> Any:
    found = new_catalog()
    table = found.create_table("d.t", SCHEMA, **KEYS, options={"bucket": "1"})
    write_rows(table, pa.table({"k": [1], "dt": ["2026-01-01"], "v": [1]}, schema=SCHEMA))
    return found


def content(table: Any) -> dict[str, bytes]:
    storage = table.access.storage
    return {info.path: storage.read(info.path) for info in storage.walk("")}


@pytest.mark.parametrize("key", [*HONOURED, *OF_COLUMNS_AND_FORMATS])
def test_twenty_wrong_values_are_refused_by_every_door(catalog: Any, key: str) -> None:
    values = wrong_values(key)
    assert len(set(values)) >= 20
    before = content(catalog.table("d.t"))
    options = {} if key == "bucket" else {"bucket": "1"}
    doors = {
        "create": lambda o: catalog.create_table("d.new", SCHEMA, **KEYS, options=options | o),
        "alter": lambda o: catalog.alter_table("d.t", [tc.SetOption(*o.popitem())]),
        "handle": lambda o: catalog.table("d.t", options=o),
    }
    for value in values:
        for name, door in doors.items():
            with pytest.raises(TableError) as told:
                door({key: value})
            assert told.value.kind is ErrorKind.INVALID, (name, value)
            assert isinstance(told.value, OptionError | SchemaError), (name, value)
            assert key in str(told.value), (name, value)
    assert catalog.tables("d") == ["t"]
    assert content(catalog.table("d.t")) == before


RIGHT = {
    "Boolean": ("true", "TRUE", "False"),
    "Integer": ("3", "+3", "2147483647"),
    "Long": ("3", "+3", "9223372036854775807"),
    "Double": ("0.5", "5e-1", ".5", "0.5d", "0.5F", " 0.5 "),
    "Duration": ("3 min", "3min", " 3 MINUTES ", "1 h", "2d", "500", "1 µs", "7 days"),
    "MemorySize": ("3 mb", "3MB", "3 m", "1024", "2 gibibytes", " 4 Kb "),
}


@pytest.mark.parametrize("key", [k for k in HONOURED if TYPES[k] in RIGHT or WORDS.get(k)])
def test_every_spelling_of_apache_paimon_is_taken(key: str) -> None:
    words = WORDS.get(key, []) if TYPES[key] not in WRONG else []
    small = {"compaction.offpeak.start.hour", "compaction.offpeak.end.hour"} | {
        k for k in HONOURED if k.endswith("zstd-level")
    }
    right = RIGHT.get(TYPES[key]) or (*words, *(w.upper() for w in words))
    if key == "continuous.discovery-interval" or key == "tag.creation-period-duration":
        right = tuple(value for value in right if value != "1 µs")
    for value in right:
        if not (key in small and value == "2147483647"):
            refuse_wrong({key: value})


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("merge-engine", "deduplicat", "'deduplicate'"),
        ("changelog-producer", "lookpu", "'lookup'"),
        ("file.format", "prquet", "'parquet'"),
        ("file.compression", "zstdd", "'zstd'"),
        ("partition.expiration-strategy", "value-time", "'values-time'"),
        ("clustering.strategy", "z-order", "'zorder'"),
        ("partition.mark-done-action", "success-file,mark-evnt", "'mark-event'"),
        ("tag.period-formatter", "with-dashes", "'with_dashes'"),
        ("merge-engine", "partial_update", "'partial-update'"),
        ("metadata.stats-mode", "ful", "'full'"),
    ],
)
def test_the_nearest_spelling_is_told(key: str, value: str, meant: str) -> None:
    with pytest.raises(OptionError, match=meant) as told:
        refuse_wrong({key: value})
    assert told.value.facts["option"] == key
    assert told.value.facts["value"] == value


def test_what_others_stored_is_read_as_before(catalog: Any) -> None:
    """A value that no user may give does not make rows unreadable."""
    table = catalog.create_table("d.old", SCHEMA, **KEYS, options={"bucket": "1"})
    storage = table.access.storage
    document = json.loads(storage.read("schema/schema-0"))
    odd = {
        "merge-engine": "partial_update",
        "read.batch-size": "0",
        "clustering.strategy": "spiral",
    }
    document["options"] |= odd
    storage.write("schema/schema-0", json.dumps(document).encode())
    try:
        assert catalog.table("d.old").options["merge-engine"] == "partial_update"
    finally:
        catalog.drop_table("d.old")


def test_a_handle_refuses_what_only_together_is_wrong(catalog: Any) -> None:
    for wrong in (
        {"snapshot.num-retained.max": "3"},
        {"file.format": "avro", "file.compression": "brotli"},
        {"full-compaction.delta-commits": "3", "changelog-producer": "lookup"},
    ):
        with pytest.raises(OptionError, match="on a handle"):
            catalog.table("d.t", options=wrong)
    catalog.table("d.t", options={"snapshot.num-retained.max": "30"})
