"""A condition on single values looks at its column first, and finds what reading all would find."""

from __future__ import annotations

import pyarrow as pa
import pytest

import table_core as tc
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.predicate.to_arrow import mask
from table_core.storage.columns.data_format import Probe, Wanted, WriterSettings
from table_core.storage.parquet.format import ParquetFormat
from table_core.storage.stores.memory import MemoryStorage
from tests.tables import new_catalog

ROWS = 20_000
SCHEMA = pa.schema(
    [pa.field("k", pa.int64(), nullable=False), ("s", pa.string()), ("v", pa.int64())]
)
WHERES = [
    "k = 12345", "k = 0", "k = 19999", "k IN (3, 7777, 19998)", "k = -1", "k = 5 AND v = 2",
    "k = 5 AND v = 1", "s = 'x77'", "s = 'x77' AND k > 19000", "v = 2 AND k = 18000", "s IS NULL",
    "k = 5 OR k = 6", "NOT k <> 9", "s = 'x1' AND v = 1", "k = 1 AND k = 2", "s IN ('x5', 'none')",
]  # fmt: skip


def rows(version: int, step: int) -> pa.Table:
    keys = list(range(0, ROWS, step))
    texts = [None if key % 1000 == 13 else f"x{key % 500}" for key in keys]
    return pa.table([keys, texts, [version] * len(keys)], schema=SCHEMA)


@pytest.fixture(scope="module", params=["merged", "compacted", "vectors", "append", "renamed"])
def table(tmp_path_factory, request) -> tc.Table:
    kind = request.param
    catalog = new_catalog(tmp_path_factory.mktemp("warehouse").as_uri())
    key = () if kind == "append" else ("k",)
    options = {"bucket": "1", "write-only": "true"} if key else {"bucket": "-1"}
    if kind == "vectors":
        options |= {"deletion-vectors.enabled": "true"}
    schema = SCHEMA if kind != "renamed" else SCHEMA.set(1, pa.field("t", pa.string()))
    catalog.create_table("d.t", schema, primary_key=key, options=options)
    for version, step in ((1, 1), (2, 5)):
        if version == 2 and kind == "renamed":
            catalog.alter_table("d.t", [tc.RenameColumn("t", "s")])
        with catalog.table("d.t").write() as writer:
            part = rows(version, step)
            writer.write(part.rename_columns(catalog.table("d.t").arrow_schema.names))
            writer.commit()
        if kind == "vectors" or (kind == "compacted" and version == 2):
            catalog.table("d.t").compact(strategy="full" if kind == "compacted" else "minor")
    return catalog.table("d.t")


@pytest.mark.parametrize("where", WHERES)
def test_finds_what_a_look_at_every_row_finds(table: tc.Table, where: str) -> None:
    everything = table.read().to_arrow()
    assert everything.num_rows >= ROWS
    kept = everything.filter(mask(bind(parse_where(where), table.definition.fields), everything))
    found = table.read(where=where, columns=["v", "k", "s"]).to_arrow()
    order = [("k", "ascending"), ("v", "ascending")]
    assert found.select(kept.column_names).sort_by(order) == kept.sort_by(order)


def test_reads_only_the_rows_from_the_first_match_to_the_last() -> None:
    storage = MemoryStorage()
    fields = tuple(
        Field(at, name, parse_type(text))
        for at, (name, text) in enumerate({"k": "BIGINT", "v": "STRING"}.items())
    )
    with_values = pa.table([range(ROWS), ["v"] * ROWS], names=["k", "v"])
    writer = ParquetFormat().open_writer(storage, "f", fields, WriterSettings())
    writer.write(with_values)
    writer.close()

    def read(where: str) -> list[int]:
        bound = bind(parse_where(where), fields)
        probe = Probe(fields[:1], lambda batch: mask(bound, batch))
        wanted = Wanted(probe=probe)
        batches = ParquetFormat().read(
            storage, "f", None, fields, batch_rows=1 << 16, wanted=wanted
        )
        return [key for batch in batches for key in batch.column(0).to_pylist()]

    assert read("k = 15000") == [15_000]
    assert read("k IN (100, 110)") == list(range(100, 111))
    assert read("k = -1") == []
    assert len(read("k > 0")) == ROWS, "where most match, all are read as they lie"
