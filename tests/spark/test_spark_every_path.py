"""Goal: by whichever path rows are written, with Spark or without, a plain model agrees.

Method: random steps on tables of random options: data source, verbs by tasks, jobs, a stream, and the local
handle between them; columns come and go by another name, the table is renamed, dropped and made anew.  A
step that is refused changes nothing.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import table_core as tc
import table_core.spark as tcs
from table_core.errors import TableError
from table_core.jobs.job_spec import JobSpec
from table_core.jobs.run import run_embedded, run_job
from table_core.spark.engine import SparkEngine
from tests.lanes import sampled
from tests.tables import write_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])
KINDS: tuple[dict[str, str], ...] = (
    {"bucket": "2", "changelog-producer": "lookup"},
    {"bucket": "-1", "file.format": "orc", "num-sorted-run.compaction-trigger": "3"},
    {"bucket": "1", "deletion-vectors.enabled": "true", "write-buffer-size": "1 mb"},
    {"bucket": "2", "changelog-producer": "input", "write-only": "true", "file.format": "avro"},
)
STEPS = 8


class Walk:
    """A table, and what it must hold: the values by key, and the columns behind it."""

    def __init__(self, spark: Any, catalog: tc.Catalog, folder: Path, seed: int) -> None:
        self.spark, self.catalog, self.folder = spark, catalog, folder
        self.chance = random.Random(seed)
        self.name, self.number = "d.t", 0
        self.options = KINDS[seed % len(KINDS)]
        self.create()

    def create(self) -> None:
        self.catalog.create_table(self.name, SCHEMA, primary_key=("k",), options=self.options)
        self.rows: dict[int, tuple[Any, ...]] = {}

    @property
    def table(self) -> tc.Table:
        return self.catalog.table(self.name)

    def drawn(self) -> pa.Table:
        """A few rows in the columns that the table has now."""
        keys = self.chance.sample(range(9), self.chance.randint(1, 4))
        columns = {"k": keys}
        for name in self.table.arrow_schema.names[1:]:
            columns[name] = [self.chance.randint(0, 99) for _ in keys]
        return pa.table(columns, schema=self.table.arrow_schema)

    def frame(self, rows: pa.Table) -> Any:
        return self.spark.createDataFrame(rows)

    def put(self, rows: pa.Table, *, whole: bool = False) -> None:
        """The model of a write."""
        new = {one["k"]: tuple(one.values()) for one in rows.to_pylist()}
        self.rows = new if whole else {**self.rows, **new}

    # ------------------------------------------------------------------------------- paths of rows
    def by_source(self) -> None:
        rows = self.drawn()
        self.frame(rows).write.format("paimon").mode("append").save(self.table.uri)
        self.put(rows)

    def by_write(self) -> None:
        rows = self.drawn()
        tcs.write(self.frame(rows), self.table)
        self.put(rows)

    def by_overwrite(self) -> None:
        rows = self.drawn()
        tcs.write(self.frame(rows), self.table, mode="overwrite")
        self.put(rows, whole=True)

    def by_handle(self) -> None:
        rows = self.drawn()
        write_rows(self.table, rows)
        self.put(rows)

    def by_job(self) -> None:
        rows = self.drawn()
        told = [
            ", ".join(f"CAST({v} AS BIGINT) AS {n}" for n, v in r.items()) for r in rows.to_pylist()
        ]
        sql = " UNION ALL ".join(f"SELECT {one}" for one in told)
        self.job("write", sql=sql)
        self.put(rows)

    def by_stream(self) -> None:
        rows = self.drawn()
        self.number += 1
        source = self.catalog.create_table(
            f"d.in{self.number}", rows.schema, options={"bucket": "-1"}
        )
        write_rows(source, rows)
        query = self.spark.readStream.format("paimon").load(source.uri).writeStream.format("paimon")
        query = query.option("checkpointLocation", str(self.folder / f"at{self.number}"))
        query.trigger(availableNow=True).start(self.table.uri).awaitTermination()
        self.put(rows)

    # ---------------------------------------------------------------------------------- statements
    def delete(self) -> None:
        key = self.chance.randint(0, 8)
        tcs.delete(self.spark, self.table, f"k = {key}")
        self.rows.pop(key, None)

    def update(self) -> None:
        second = self.table.arrow_schema.names[1]
        tcs.update(self.spark, self.table, {second: f"{second} + 1"}, "k < 5")
        self.rows = {
            k: (k, r[1] + 1, *r[2:]) if k < 5 and r[1] is not None else r
            for k, r in self.rows.items()
        }

    def merge(self) -> None:
        rows = self.drawn()
        when = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
        tcs.merge_into(self.spark, self.table, self.frame(rows), ["k"], when)
        self.put(rows)

    def refused(self) -> None:
        head = self.table.latest_snapshot()
        with pytest.raises(TableError):
            tcs.update(self.spark, self.table, {"nowhere": "1"}, "k >= 0")
        assert self.table.latest_snapshot() == head

    # -------------------------------------------------------------------------- tables and upkeep
    def compact(self) -> None:
        self.job("compact", strategy="full")

    def add_column(self) -> None:
        self.number += 1
        self.catalog.alter_table(self.name, [tc.AddColumn(f"n{self.number}", "BIGINT")])
        self.rows = {key: (*row, None) for key, row in self.rows.items()}

    def rename_column(self) -> None:
        self.number += 1
        second = self.table.arrow_schema.names[1]
        self.catalog.alter_table(self.name, [tc.RenameColumn(second, f"r{self.number}")])

    def rename(self) -> None:
        self.number += 1
        to = f"d.t{self.number}"
        self.catalog.rename_table(self.name, to)
        self.name = to

    def drop_and_create(self) -> None:
        self.catalog.drop_table(self.name)
        self.create()

    def job(self, action: str, **args: Any) -> None:
        """By tasks or embedded."""
        spec = JobSpec(action=action, warehouse=self.catalog.warehouse, table=self.name, args=args)
        if self.chance.random() < 0.7:
            run_job(spec, SparkEngine(self.spark))
        else:
            run_embedded(spec)

    def agrees(self) -> None:
        found = sorted(tuple(one.values()) for one in self.table.read().to_arrow().to_pylist())
        assert found == sorted(self.rows.values())


PATHS = ("source", "write", "overwrite", "handle", "job", "stream")
OTHERS = (
    *("delete", "update", "merge", "refused", "compact", "add_column", "rename_column", "rename"),
    "drop_and_create",
)


@pytest.mark.parametrize("seed", sampled(range(len(KINDS)), 2))
def test_every_path_of_spark_agrees_with_a_model(
    spark: Any, catalog: tc.Catalog, tmp_path: Path, seed: int
) -> None:
    tcs.register(spark)
    walk = Walk(spark, catalog, tmp_path, seed)
    paths, others = list(PATHS), list(OTHERS)
    walk.chance.shuffle(paths)
    walk.chance.shuffle(others)
    for number in range(STEPS):
        names = paths if number % 2 == 0 else others
        name = names[number // 2 % len(names)]
        getattr(walk, f"by_{name}" if name in PATHS else name)()
        walk.agrees()
    walk.compact()
    walk.agrees()
