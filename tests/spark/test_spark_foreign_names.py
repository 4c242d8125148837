"""Goal: names that are not ASCII mean the same to Spark, by each of its doors.

Method: one table, called so from its database to its partitions; the handle is the judge.
"""

from __future__ import annotations

from typing import Any

import pytest

import table_core as tc
import table_core.spark as tcs
from tests.foreign_names import BRANCH, PLACE, PLACES, TABLE, TAG, VALUE, fill, plain, rows
from tests.spark.doors import Ask, by_format, by_handle, by_read, difference

ASKS = (
    Ask(),
    Ask(suffix=f"$branch_{BRANCH}"),
    Ask(suffix=f"$branch_{BRANCH}$files"),
    Ask(state={"tag": TAG}, columns=(PLACE, VALUE)),
    Ask(where=f"`{PLACE}` = '%C3%A9'"),
    Ask(where=f"`{PLACE}` IN ('é', '東京')", filtered_by_spark=True),
)


@pytest.mark.parametrize("keyed", [True, False])
def test_foreign_names_are_read_and_written_by_every_door(
    spark: Any, catalog: tc.Catalog, keyed: bool
) -> None:
    tcs.register(spark)
    table = fill(catalog, keyed=keyed)
    for ask in ASKS if keyed else ASKS[:1]:
        answer = by_handle(ask, catalog, TABLE)
        assert answer[0] == "rows"
        for door in (by_read, by_format):
            assert difference(answer, door(ask, catalog, TABLE, spark)) == "", (door, ask)
    before = len(PLACES)
    for number, value in enumerate(("format", "read"), start=1):
        frame = spark.createDataFrame(rows(value).to_pylist(), tcs.read(spark, table).schema)
        if value == "format":
            frame.write.format("paimon").mode("append").save(table.uri)
        else:
            tcs.write(frame, table)
        found = plain(table.read().to_arrow())
        assert len(found) == (before if keyed else before * (number + 1))
        assert set(plain(rows(value))) <= set(found)
