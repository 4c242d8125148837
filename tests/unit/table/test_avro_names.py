"""Goal: no table is made or altered whose Avro files other readers could not open for the names of its columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.errors import OptionError, SchemaError, UnsupportedFeatureError
from table_core.storage.avro.types import avro_schema
from tests.tables import new_catalog, write_rows

ODD = ("a b", "target.x", "1", "a-b", "a`b", "prix_€", "x²", "𝒳")
FINE = ("id", "_x", "çé", "名", "a٣")
AVRO: tuple[dict[str, str], ...] = (
    {"file.format": "avro"},
    {"file.format.per.level": "0:avro"},
    {"changelog-file.format": "avro", "changelog-producer": "input"},
    {"bucket": "-2"},
)


def columns(name: str) -> pa.Schema:
    return pa.schema([pa.field("k", pa.int64(), nullable=False), (name, pa.int32())])


@pytest.mark.parametrize("options", AVRO, ids=str)
@pytest.mark.parametrize("name", ODD)
def test_a_table_is_not_made_with(name: str, options: dict[str, str]) -> None:
    catalog = new_catalog()
    more: dict[str, Any] = {"primary_key": ["k"], "options": {"bucket": "1", **options}}
    with pytest.raises(SchemaError, match="is no name in avro"):
        catalog.create_table("d.t", columns(name), **more)
    inside = pa.list_(pa.struct([(name, pa.int32())]))
    with pytest.raises(SchemaError, match=r"of column 'c' is no name in avro"):
        catalog.create_table("d.t", columns("c").set(1, pa.field("c", inside)), **more)
    table = catalog.create_table("d.t", columns(name), primary_key=["k"], options={"bucket": "1"})
    key, value = next(iter(options.items()))
    with pytest.raises(SchemaError, match="is no name in avro"):
        catalog.alter_table("d.t", [tc.SetOption(key, value)])
    with pytest.raises(OptionError):
        catalog.table("d.t", options={key: value})
    with pytest.raises(UnsupportedFeatureError, match="Avro files cannot hold a column"):
        avro_schema(table.definition.fields)


@pytest.mark.parametrize("name", FINE)
def test_rows_go_into_a_table_with(name: str) -> None:
    catalog = new_catalog()
    table = catalog.create_table("d.t", columns(name), options={"file.format": "avro"})
    rows = pa.table({"k": [1], name: [2]}, schema=columns(name))
    write_rows(table, rows)
    assert table.read().to_arrow().to_pylist() == rows.to_pylist()


def test_no_column_of_such_a_table_is_given_such_a_name() -> None:
    catalog = new_catalog()
    catalog.create_table("d.t", columns("c"), options={"file.format": "avro"})
    for change in (tc.AddColumn("a b", "INT"), tc.RenameColumn("c", "a b")):
        with pytest.raises(SchemaError, match="is no name in avro"):
            catalog.alter_table("d.t", [change])
