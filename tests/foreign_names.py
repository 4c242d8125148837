"""A table all of whose names are not ASCII, and that has partitions called so."""

from __future__ import annotations

import pyarrow as pa

import table_core as tc

DATABASE = "größe"
TABLE = f"{DATABASE}.注文 Ørsted"
KEY, PLACE, VALUE = "ключ", "straße", "prix_€"
PLACES = (
    "Köln",
    "東京",
    "a b",
    "100%",
    "é",
    "e\N{COMBINING ACUTE ACCENT}",
    "😀",
    "x=y/z",
    "%C3%A9",
    "#1?",
)
"""Among them one letter as one code point and as two, and the percent codes of that letter."""
BRANCH, TAG = "ветка", "märz"
SCHEMA = pa.schema(
    [
        pa.field(KEY, pa.int64(), nullable=False),
        pa.field(PLACE, pa.string(), nullable=False),
        pa.field(VALUE, pa.string()),
    ]
)


def rows(value: str = "ñ") -> pa.Table:
    """A row for each place."""
    columns = [range(len(PLACES)), list(PLACES), [f"{value} {place}" for place in PLACES]]
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)


def fill(catalog: tc.Catalog, *, keyed: bool = True) -> tc.Table:
    """The table with two commits, a tag and a branch."""
    catalog.create_database(DATABASE)
    table = catalog.create_table(
        TABLE,
        SCHEMA,
        primary_key=(KEY, PLACE) if keyed else (),
        partition_by=(PLACE,),
        options={"bucket": "1"} if keyed else {},
    )
    for value in ("old", "ñ") if keyed else ("ñ",):
        with table.write() as writer:
            writer.write(rows(value))
            writer.commit()
    table.tags.create(TAG)
    table.branches.create(BRANCH, tag=TAG)
    return table


def plain(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of ``table``, in the order of their keys."""
    return sorted(map(tuple, (row.values() for row in table.select(SCHEMA.names).to_pylist())))
