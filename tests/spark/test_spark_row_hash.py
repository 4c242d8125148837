"""Goal: Spark gives a row to the task that has its bucket, and computes that without Python.

Method: the table's own hash, which Paimon's vectors judge, on the same random and extreme values.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest

from table_core.bucketing.hash import row_hash
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Field
from table_core.datatypes.text import parse_type
from table_core.spark.writing.row_hash import hashed

ROWS = 400
KEYS: dict[str, tuple[str, ...]] = {
    "one": ("BIGINT NOT NULL",),
    "each whole number": ("TINYINT", "SMALLINT NOT NULL", "INT", "BIGINT"),
    "days": ("DATE", "DATE NOT NULL"),
    "text": ("STRING NOT NULL",),
    "text among numbers": ("STRING", "INT NOT NULL", "VARCHAR(40)", "BIGINT", "STRING NOT NULL"),
}
CHOICE = random.Random(8)


def whole(bits: int) -> int:
    most = 1 << (bits - 1)
    return CHOICE.choice([0, -1, most - 1, -most, CHOICE.randrange(-most, most)])


def value(type_: str) -> Any:
    if "NOT NULL" not in type_ and CHOICE.random() < 0.2:
        return None
    for name, bits in {"TINYINT": 8, "SMALLINT": 16, "BIGINT": 64, "INT": 32}.items():
        if type_.startswith(name):
            return whole(bits)
    if type_.startswith("DATE"):
        return dt.date(1970, 1, 1) + dt.timedelta(days=CHOICE.randrange(-700_000, 2_900_000))
    return "".join(CHOICE.choices("aZ0\0é漢🙂", k=CHOICE.randrange(20)))


def rows_of(types: tuple[str, ...]) -> tuple[list[Field], pa.Table]:
    fields = [Field(at, f"c{at}", parse_type(text)) for at, text in enumerate(types)]
    columns = {
        each.name: pa.array([value(text) for _ in range(ROWS)], arrow_type(each.type))
        for each, text in zip(fields, types, strict=True)
    }
    return fields, pa.table(columns)


@pytest.mark.parametrize("key", KEYS)
def test_the_hash_is_that_of_the_table(spark: Any, key: str) -> None:
    fields, rows = rows_of(KEYS[key])
    frame = spark.createDataFrame(rows)
    found = hashed(fields, frame.schema)
    assert found is not None
    for ansi in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        try:
            got = frame.select(found.alias("h")).toArrow()["h"].to_pylist()
        finally:
            spark.conf.unset("spark.sql.ansi.enabled")
        assert got == row_hash(rows.columns, [each.type for each in fields]).tolist()


def test_smaller_whole_numbers_are_widened_and_what_needs_a_check_is_left_to_python(
    spark: Any,
) -> None:
    wide = Field(0, "n", parse_type("BIGINT NOT NULL"))
    small = spark.sql("SELECT CAST(-3 AS TINYINT) n")
    found = hashed([wide], small.schema)
    assert found is not None
    expected = row_hash([pa.array([-3], pa.int64())], [wide.type])[0]
    assert small.select(found).first()[0] == expected
    for text, sql in (("INT", "1L"), ("BIGINT", "'1'"), ("DATE", "1"), ("INT", "DATE'2026-01-01'")):
        given = spark.sql(f"SELECT {sql} n").schema
        assert hashed([Field(0, "n", parse_type(text))], given) is None
    amount = spark.sql("SELECT 1.5BD n").schema
    assert hashed([Field(0, "n", parse_type("DECIMAL(2, 1)"))], amount) is None
