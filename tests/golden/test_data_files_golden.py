"""Data files written by Java Paimon hold the rows that Java reads from them, in every format."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from table_core.schema.document import schema_from_json
from table_core.storage.formats import format_for
from table_core.storage.stores.local import LocalStorage

HERE = Path(__file__).parent / "data_files"


def fields_of(name):
    return schema_from_json((HERE / name).read_bytes(), path=name).fields


def rows_of(table):
    return sorted(repr(list(row.values())) for row in table.to_pylist())


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_scalars_of_every_type_and_year(name):
    """Years 1600 to 9999, both zones (format T34 in Avro), every decimal width, NULLs."""
    fields = fields_of("schema-0")
    storage = LocalStorage(HERE)
    batches = [
        batch
        for path in sorted(HERE.glob(f"java-scalar-*.{name}"))
        for batch in format_for(name).read(storage, path.name, None, fields, batch_rows=5)
    ]
    found = pa.Table.from_batches(batches)
    expected = pq.read_table(HERE / "expected.parquet")
    # Spark pads CHAR on reading; the files hold what was written.
    padded = pc.utf8_rpad(found["c_char"], expected_width(expected))
    found = found.set_column(found.schema.get_field_index("c_char"), "c_char", padded)
    assert rows_of(found) == rows_of(expected.cast(found.schema))


def expected_width(expected):
    return pc.max(pc.utf8_length(expected["c_char"])).as_py()


def test_int96_before_1970_has_a_negative_time_of_day():
    fields = [f for f in fields_of("timestamps-schema-0") if f.name in {"t9", "l9", "tm"}]
    storage = LocalStorage(HERE)
    found = pa.Table.from_batches(
        format_for("parquet").read(storage, "java-timestamps.parquet", None, fields, batch_rows=100)
    )
    nanos = found["t9"].cast(pa.int64())
    assert pc.min(nanos).as_py() == -2_208_988_799_999_999_995  # 1900-01-01 00:00:00.000000005
    assert pc.max(nanos).as_py() == 4_102_444_799_999_999_999  # 2099-12-31 23:59:59.999999999
    assert found.schema.field("l9").type == pa.timestamp("ns", "UTC")
    assert dt.time(0, 0) <= pc.min(found["tm"]).as_py()
