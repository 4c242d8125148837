"""Rows by one of Spark's ways in, and the same rows by the handle to a twin of the table."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from judge import KIND, Judge, judged
from random_names import ODD_NAMES
from random_tables import RandomTable
from sameness import NANOS, assert_same

import table_core as tc
import table_core.spark as tcs
from table_core.datatypes.arrow import fields_from_arrow
from table_core.spark.reading.frames import frame_of_arrow
from table_core.spark.session.failures import SPARK_ERRORS, explained
from table_core.spark.session.schema_bridge import holds
from tests.tables import write_rows

__all__ = ["NAME", "Taken", "same", "shown"]

NAME, TWIN = "default.t", "default.twin"
WHEN = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
PATIENCE_S = 120
NEW_TYPES = (pa.int64(), pa.string(), pa.date32(), pa.decimal128(18, 4), pa.timestamp("us"))


class Taken:
    """Rows, given by one of the ways in, and to a twin by the handle."""

    def __init__(self, spark: Any, catalog: tc.Catalog, chance: random.Random) -> None:
        self.spark, self.catalog, self.chance = spark, catalog, chance

    def alike(self, made: RandomTable, paimon: Judge, folder: Path) -> str:
        """Take rows; the way that they came by."""
        table = self.catalog.table(NAME)
        rows = self.rows(made, table)
        if rows is None:
            return "none"
        self.catalog.clone_table(NAME, TWIN)
        way = self.chance.choice(self.ways(table, rows))
        refusal = refused(lambda: getattr(self, f"by_{way}")(table, rows, folder))
        of_twin = refused(lambda: self.twin(way, rows))
        assert type(refusal) is type(of_twin), (way, refusal, of_twin)
        if refusal is not None:
            return f"{way}, refused: {refusal}"
        one, other = (self.catalog.table(name).read().to_arrow() for name in (NAME, TWIN))
        same(one, other, (way, rows.schema.names))
        assert_same(one, paimon.table(folder, NAME).read(), ("jar", way))
        return way

    def ways(self, table: tc.Table, rows: pa.Table) -> list[str]:
        """Those that can bring ``rows`` at all."""
        found = ["write", "format", "overwrite", "batch"]
        if KIND not in rows.column_names:
            found += ["stream", "columns"]
        if table.partition_by:
            found.append("partitions")
        if table.primary_key and KIND not in rows.column_names:
            found += ["merge", "merge_batch"]
        return found

    def rows(self, made: RandomTable, table: tc.Table) -> pa.Table | None:
        """One row for each key, in the columns that Spark can hold; None where it cannot hold a key."""
        rows = made.batch(table.arrow_schema)
        named = [
            *shown(table.arrow_schema),
            *(name for name in (KIND,) if name in rows.column_names),
        ]
        needed = {*table.primary_key, *made.partitions}
        if not needed <= set(named):
            return None
        keys = [str([row[name] for name in table.primary_key]) for row in rows.to_pylist()]
        if table.primary_key:
            last = {key: at for at, key in enumerate(keys)}
            rows = rows.take(sorted(last.values()))
        return rows.select([name for name in rows.column_names if name in named])

    def frame(self, rows: pa.Table) -> Any:
        parts = self.chance.choice([1, 3])
        return frame_of_arrow(self.spark, rows).repartition(parts)

    # -------------------------------------------------------------------------------------- by Spark
    def by_write(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        tcs.write(self.frame(rows), table)

    def by_overwrite(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        tcs.write(self.frame(rows), table, mode="overwrite")

    def by_partitions(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        tcs.write(self.frame(rows), table, mode="overwrite-partitions")

    def by_format(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        self.frame(rows).write.format("paimon").mode("append").save(table.uri)

    def by_batch(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        frame = self.frame(rows).coalesce(1)
        for _ in range(2):
            tcs.write_batch(frame, table, 0, "settings")

    def by_columns(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        tcs.write(self.frame(self.wider(rows)), table, merge_schema=True)

    def by_merge(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        tcs.merge_into(self.spark, table, self.frame(rows), table.primary_key, WHEN)

    def by_merge_batch(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        frame = self.frame(rows)
        tcs.merge_batch(frame, table, 0, "settings", table.primary_key, WHEN)

    def by_stream(self, table: tc.Table, rows: pa.Table, folder: Path) -> None:
        feed = self.catalog.create_table("default.feed", rows.schema)
        write_rows(feed, rows)
        stream = self.spark.readStream.format("paimon").load(feed.uri).writeStream
        stream = stream.format("paimon").option("checkpointLocation", str(folder / "checkpoint"))
        query = stream.trigger(availableNow=True).start(table.uri)
        assert query.awaitTermination(PATIENCE_S)

    # ------------------------------------------------------------------------------------ by the handle
    def twin(self, way: str, rows: pa.Table) -> None:
        """The same without Spark."""
        table = self.catalog.table(TWIN)
        if way in ("merge", "merge_batch"):
            table.merge_into(rows, table.primary_key, WHEN)
            return
        if way == "columns":
            rows = self.wider(rows)
            fresh = [field for field in rows.schema if field.name not in table.arrow_schema.names]
            changes = [tc.AddColumn(quoted(field.name), field.type) for field in fresh]
            table = self.catalog.alter_table(TWIN, changes)
        whole = {"overwrite": "table", "partitions": "partitions"}.get(way)
        write_rows(table, rows, overwrite=whole)

    def wider(self, rows: pa.Table) -> pa.Table:
        """``rows`` with columns that the table has not, called oddly; the same at each call."""
        chance = random.Random(rows.num_rows)
        lower = {name.lower() for name in rows.column_names}
        free = [name for name in ODD_NAMES[:-1] if name.lower() not in lower]
        for name in chance.sample(free, 2):
            type_ = chance.choice(NEW_TYPES)
            cells = pa.array([chance.choice([None, n]) for n in range(rows.num_rows)], pa.int32())
            rows = rows.append_column(name, cast_numbers(cells, type_))
        return rows


def refused(work: Callable[[], Any]) -> tc.errors.TableError | None:
    """Why ``work`` was refused; None where it was not."""
    try:
        work()
    except tc.errors.TableError as error:
        return error
    except SPARK_ERRORS as error:
        return explained(error)
    return None


def cast_numbers(numbers: pa.Array, type_: pa.DataType) -> pa.Array:
    """Whole numbers as values of ``type_``."""
    if pa.types.is_date(type_):
        return numbers.cast(type_)
    return numbers.cast(pa.int64()).cast(type_)


def quoted(name: str) -> str:
    """A column as the step of a path."""
    return f"`{name.replace('`', '``')}`"


def shown(schema: pa.Schema) -> list[str]:
    """The columns that Spark can hold, without loss."""
    return [
        field.name
        for field in schema
        if holds(fields_from_arrow(pa.schema([field]))) and field.type not in NANOS
    ]


def same(rows: pa.Table, wanted: pa.Table, question: Any) -> None:
    """The same rows, in the handle's types."""
    plain = pa.schema([field.with_nullable(True) for field in wanted.schema])
    assert_same(rows.cast(plain), judged(wanted), question)
