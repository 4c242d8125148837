"""Goal: streams that write one table at the same time bring every row once, whichever way they write.

Method: two queries of two sources, started together again and again on their own checkpoints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import table_core as tc
import table_core.spark as tcs
from tests.spark.stream_tables import NAME, PATIENCE_S, keyed, sink, write
from tests.tables import rows_of

ROUNDS = 3
WHEN = [tc.MatchedUpsert(), tc.NotMatchedInsert()]


@pytest.mark.parametrize("second", ["sink", "write", "merge"])
@pytest.mark.parametrize("compaction", ["1", "5"])
def test_two_streams_into_one_table_bring_each_row_once(
    spark: Any, catalog: tc.Catalog, tmp_path: Path, second: str, compaction: str
) -> None:
    tcs.register(spark, NAME)
    sources = [keyed(catalog, f"s{n}", **{"changelog-producer": "input"}) for n in (0, 1)]
    copy = keyed(catalog, "copy", **{"num-sorted-run.compaction-trigger": compaction})

    def merged(rows: Any, batch: int) -> None:
        tcs.merge_batch(rows, copy, batch, "second", ["id"], WHEN)

    def written(rows: Any, batch: int) -> None:
        tcs.write_batch(rows, copy, batch, "second")

    def query(number: int) -> Any:
        frame = spark.readStream.format(NAME).load(sources[number].uri)
        checkpoint = tmp_path / f"checkpoint{number}"
        if number == 0 or second == "sink":
            return sink(frame, copy, checkpoint)
        to = frame.writeStream.foreachBatch(merged if second == "merge" else written)
        return to.option("checkpointLocation", str(checkpoint))

    expected = []
    for turn in range(ROUNDS):
        for number, source in enumerate(sources):
            rows = [(10 * (2 * turn + number) + n, f"{number}-{turn}") for n in range(10)]
            write(source, *(("+I", *row) for row in rows))
            expected += rows
        running = [query(number).trigger(availableNow=True).start() for number in (0, 1)]
        for each in running:
            assert each.awaitTermination(PATIENCE_S)
        assert rows_of(copy) == sorted(expected)
    users = {s.commit_user for s in copy.snapshots() if s.commit_kind == "APPEND"}
    assert len(users) == 2
