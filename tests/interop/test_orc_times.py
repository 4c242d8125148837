"""Goal: instants of any year in ORC files are the same to Apache Paimon and to us, whoever wrote them.

Method: keys, values and nested values on both sides of every edge; read whole and by key.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from judge import Judge, agree

import table_core as tc
from tests.tables import write_rows

pytestmark = pytest.mark.interop

SECOND = 10**6
MOMENTS = (
    *(0, 1, 999_999, -SECOND, -SECOND + 999, -SECOND - 1, -2 * SECOND + 500, -2 * SECOND + 1000),
    *(-2 * SECOND + 999_998, -3 * SECOND - 999_001, -(10**15) - 1, -(2**51) + 7, 2**50),
)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_moments_before_1970_are_read_alike(
    compression: str, paimon: Judge, tmp_path: Path
) -> None:
    catalog = tc.open_catalog(tmp_path.as_uri())
    catalog.create_database("d")
    moment = pa.timestamp("us")
    schema = pa.schema(
        [
            pa.field("k", moment, nullable=False),
            ("text", pa.string()),
            ("zoned", pa.timestamp("us", "UTC")),
            ("many", pa.list_(pa.struct([("at", moment)]))),
        ]
    )
    options = {"bucket": "1", "file.format": "orc", "file.compression": compression}
    table = catalog.create_table("d.t", schema, primary_key=("k",), options=options)
    array = pa.array(MOMENTS, moment)
    many = [[{"at": m}, {"at": None}, None] for m in MOMENTS]
    rows = pa.table(
        [array, pa.array(map(str, MOMENTS)), array.cast(schema.field(2).type), many], schema=schema
    )
    write_rows(table, rows)
    theirs = paimon.table(tmp_path, "d.t")
    agree(rows, theirs.read())
    agree(table.read().to_arrow(), theirs.read())
    theirs.compact()
    agree(table.read().to_arrow(), theirs.read())
    for cells in theirs.read():
        asked = theirs.read(where={"op": "equal", "column": "k", "values": [cells[1]]})
        assert cells in asked


ENDS = ["0001-01-01T00:00:00", "1582-10-10T12:00:00.000001", "1969-12-30T23:59:59.5", None]
ENDS += ["1677-09-21T00:12:43", "2262-04-11T23:47:17", "9999-12-31T23:59:59.999999"]


@pytest.mark.parametrize(
    "type_", ["TIMESTAMP(6)", "TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"]
)
def test_years_that_nanoseconds_cannot_hold_are_read_alike_at_every_nesting(
    type_: str, paimon: Judge, tmp_path: Path
) -> None:
    theirs, catalog = paimon.table(tmp_path, "default.t"), tc.open_catalog(tmp_path.as_uri())
    if "(3)" in type_:
        ends = [end and end.replace(".999999", ".999").replace(".000001", ".001") for end in ENDS]
    else:
        ends = list(ENDS)
    row = {"type": "ROW", "fields": [column("at", type_, 10), column("n", "INT", 11)]}
    columns = [
        ("k", "INT"),
        ("r", row),
        ("a", {"type": "ARRAY", "element": type_}),
        ("m", {"type": "MAP", "key": "INT", "value": {"type": "ARRAY", "element": type_}}),
    ]
    theirs.create(columns, primary_key=["k"], bucket="1", **{"file.format": "orc"})
    rows = [["+I", i, [end, i], [end, None], [[i, [end]]]] for i, end in enumerate(ends)]
    theirs.write(rows)
    table = catalog.table("default.t")
    agree(table.read().to_arrow(), theirs.read())
    write_rows(table, table.read().to_arrow())
    agree(table.read().to_arrow(), theirs.read())
    table.compact()
    agree(table.read().to_arrow(), theirs.read())


def column(name: str, type_: str, number: int) -> dict[str, object]:
    return {"id": number, "name": name, "type": type_}
