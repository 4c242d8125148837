"""Goal: a stream on Spark begins where ``scan.mode`` says, and gives what comes later once.

Method: one history, a query for each mode, started twice on its checkpoint; what each must have read
is written down here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import table_core as tc
from table_core.spark import register
from tests.spark.stream_tables import NAME, changes, keyed, run, sink, write
from tests.tables import rows_of

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO, NEW = ("+I", 1, "a"), ("+I", 2, "b"), ("+U", 1, "z")
STATE = (("+I", 1, "z"), TWO)
MODES: dict[str, tuple[dict[str, str], tuple[tuple[str, int, str], ...]]] = {
    "default": ({}, STATE),
    "full": ({}, STATE),
    "latest-full": ({}, STATE),
    "compacted-full": ({}, (ONE, TWO, NEW)),
    "from-snapshot": ({"scan.snapshot-id": "2"}, (TWO, NEW)),
    "from-snapshot-full": ({"scan.snapshot-id": "2"}, (ONE, TWO, NEW)),
    "from-timestamp": ({"scan.timestamp-millis": "1"}, (ONE, TWO, NEW)),
    "from-creation-timestamp": ({"scan.creation-time-millis": "1"}, STATE),  # none is older
    "from-file-creation-time": ({"scan.file-creation-time-millis": "1"}, STATE),
}
KIND, GONE = "kind", ("-D", 2, "b")
READ = pa.schema([(KIND, pa.string()), ("id", pa.int64()), ("v", pa.string())])


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    register(spark, NAME)
    return spark


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_begins_where_it_says(
    source: Any, catalog: tc.Catalog, tmp_path: Path, mode: str
) -> None:
    more, expected = MODES[mode]
    options = {"changelog-producer": "input", "write-only": "true", "bucket": "1"}
    orders = keyed(catalog, "orders", **options)
    write(orders, ONE)
    write(orders, TWO)
    orders.compact()
    write(orders, NEW)
    copy = catalog.create_table("d.copy", READ)

    def go_on() -> None:
        rows = changes(source, orders, **{"scan.mode": mode, **more})
        run(sink(rows.withColumnRenamed("_ROW_KIND", KIND), copy, tmp_path / "checkpoint"))

    go_on()
    assert rows_of(copy) == sorted(expected)
    write(orders, GONE)
    go_on()
    assert rows_of(copy) == sorted([*expected, GONE])


def test_latest_begins_with_what_comes_next(
    source: Any, catalog: tc.Catalog, tmp_path: Path
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    copy = catalog.create_table("d.copy", READ)
    write(orders, ONE)
    rows = changes(source, orders, **{"scan.mode": "latest"}).withColumnRenamed("_ROW_KIND", KIND)
    query = sink(rows, copy, tmp_path / "checkpoint").start()
    query.processAllAvailable()
    write(orders, TWO)
    query.processAllAvailable()
    query.stop()
    assert rows_of(copy) == [TWO]
    write(orders, NEW)
    run(sink(rows, copy, tmp_path / "checkpoint"))
    assert rows_of(copy) == [TWO, NEW]


@pytest.mark.parametrize("mode", ["incremental", "latest-delta"])
def test_what_reads_once_is_no_stream(
    source: Any, catalog: tc.Catalog, tmp_path: Path, mode: str
) -> None:
    orders = keyed(catalog, "orders", **{"changelog-producer": "input"})
    write(orders, ONE)
    frame = changes(source, orders, **{"scan.mode": mode, "incremental-between": "0,1"})
    with pytest.raises(Exception, match="reads once"):
        run(sink(frame, keyed(catalog, "copy"), tmp_path / "checkpoint"))
