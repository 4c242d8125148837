"""Tables that streams read and write, and a stream that runs until it has taken what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.tables import write_rows

NAME = "paimon"
PATIENCE_S = 300


def keyed(catalog: tc.Catalog, name: str, **options: str) -> tc.Table:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())])
    return catalog.create_table(
        f"d.{name}", schema, primary_key=("id",), options={"bucket": "2", **options}
    )


def write(table: tc.Table, *rows: tuple[str, int, str]) -> None:
    kinds, ids, values = zip(*rows, strict=True)
    write_rows(table, pa.table({"id": ids, "v": values, "_ROW_KIND": kinds}))


def run(query: Any) -> None:
    """Let ``query`` take what is there; raises what it ended with."""
    started = query.trigger(availableNow=True).start()
    ended = started.awaitTermination(PATIENCE_S)
    assert ended, started.lastProgress


def changes(spark: Any, table: tc.Table, **options: str) -> Any:
    reader = spark.readStream.format(NAME).option("read.changelog", "true").options(**options)
    return reader.load(table.uri)


def sink(frame: Any, target: tc.Table | str, checkpoint: Path) -> Any:
    path = target if isinstance(target, str) else target.uri
    return frame.writeStream.format(NAME).options(path=path, checkpointLocation=str(checkpoint))
