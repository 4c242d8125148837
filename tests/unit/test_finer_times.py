"""A TIME in a condition that is finer than its column is compared as it is, in every format."""

from __future__ import annotations

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from tests.tables import new_catalog, write_rows

NOON = 12 * 3_600_000 + 123
ROWS = pa.table({"t": pa.array([NOON], pa.int32()).cast(pa.time32("ms"))})
"""12:00:00.123"""


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("t = '12:00:00.123456'", False),
        ("t <> '12:00:00.123456'", True),
        ("t IN ('12:00:00.123456', '11:00:00')", False),
        ("t < '12:00:00.123456'", True),
        ("t <= '12:00:00.123456'", True),
        ("t >= '12:00:00.123456'", False),
        ("t > '12:00:00.1229999'", True),
        ("t >= '12:00:00.1231'", False),
        ("t BETWEEN '12:00:00.1229' AND '12:00:00.1231'", True),
        ("t BETWEEN '12:00:00.1231' AND '12:00:00.1239'", False),
        ("t = '12:00:00.123'", True),
        ("t = TIME '12:00:00.123'", True),
        ("t < TIME '12:00:00.1231'", True),
        ("t = CAST('12:00:00.123' AS TIME)", True),
        ("t = CAST('12:00:00' AS TIME)", False),
    ],
)
def test_nothing_of_a_time_is_cut(where: str, holds: bool) -> None:
    """By the rows, and by what files tell of them."""
    catalog = new_catalog()
    for format_ in ("parquet", "orc", "avro"):
        name = f"d.{format_}"
        fields = [Field(0, "t", parse_type("TIME(3)"))]
        table = catalog.create_table(name, fields, options={"file.format": format_})
        write_rows(table, ROWS)
        assert table.read(where=where).to_arrow().num_rows == holds
