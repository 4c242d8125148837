"""The workloads: what is prepared, what is timed, and a number that all engines must agree on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from bench.engines import Engine
from bench.rows import KEYED, NARROW, SALES, Rows

__all__ = ["WORKLOADS", "Stopwatch", "Workload"]

KEY_TABLE = {"bucket": "4", "write-only": "true", "file.compression": "zstd"}
COMMITS = 500


@dataclass
class Stopwatch:
    """Seconds between the ``with`` lines of a workload."""

    seconds: float = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started


Run = Callable[[Engine, Rows, Stopwatch], str]


@dataclass(frozen=True)
class Workload:
    """``run`` returns a checksum, the same for every engine.  ``after``: must have run before."""

    name: str
    title: str
    run: Run
    after: tuple[str, ...] = ()


def bulk_load(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    base = rows.base()
    engine.create("keyed", KEYED, ["id"], KEY_TABLE)
    with watch():
        engine.write("keyed", base)
    return str(base.num_rows)


def upserts(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    parts = rows.upserts()
    with watch():
        for part in parts:
            engine.write("keyed", part)
    return str(sum(part.num_rows for part in parts))


def group(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        table = engine.read("keyed", ["country", "amount"])
        sums = table.group_by("country").aggregate([("amount", "sum"), ("amount", "count")])
    return _sums(sums)


def compaction(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        engine.compact("keyed")
    return ""


def append(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    narrow = rows.narrow()
    engine.create("narrow", NARROW, [], {"bucket": "-1", "file.compression": "zstd"})
    with watch():
        engine.write("narrow", narrow)
    return str(narrow.num_rows)


def scan(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        table = engine.read("narrow", None)
    return f"{table.num_rows} {pc.sum(table['id'])} {pc.sum(table['kind'])}"


def fold_write(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    parts = rows.folds()
    folds = {"revenue": "sum", "orders": "sum", "last": "max"}
    options = {f"fields.{k}.aggregate-function": v for k, v in folds.items()}
    engine.create("sales", SALES, ["id"], {**KEY_TABLE, "merge-engine": "aggregation", **options})
    with watch():
        for part in parts:
            engine.write("sales", part)
    return str(sum(part.num_rows for part in parts))


def fold_read(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        table = engine.read("sales", None)
    sums = [str(pc.sum(table[name])) for name in ("id", "revenue", "orders")]
    return f"{table.num_rows} {' '.join(sums)} {pc.max(table['last'])}"


def many_commits(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    engine.create("many", NARROW, [], {"bucket": "-1"})
    with watch():
        for number in range(COMMITS):
            engine.write("many", _few(number))
    return str(COMMITS)


def many_plan(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        engine.plan("many")
    return ""


def many_commit(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        engine.write("many", _few(COMMITS))
    return ""


def many_expire(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        engine.expire("many", 10)
    return ""


def _few(number: int) -> pa.Table:
    ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
    kinds, values = pa.array([number] * 10, pa.int32()), pa.array([0.5] * 10)
    return pa.table([ids, kinds, values], schema=NARROW)


def _sums(table: pa.Table) -> str:
    rows = sorted(
        zip(*(table[name].to_pylist() for name in table.column_names), strict=True), key=str
    )
    return f"{len(rows)} {sum(hash(row) for row in rows)}" if rows else "0"


WORKLOADS = (
    Workload("W1", "bulk load 1 M rows, one commit", bulk_load),
    Workload("W2", "five upsert commits of 50 k", upserts, ("W1",)),
    Workload("W3", "merge on read, group by", group, ("W1", "W2")),
    Workload("W4", "full compaction", compaction, ("W1", "W2")),
    Workload("W4r", "group by after compaction", group, ("W1", "W2", "W4")),
    Workload("W8", "append 5 M narrow rows", append),
    Workload("W8r", "scan them", scan, ("W8",)),
    Workload("W9", "aggregation, 5 x 250 k: write", fold_write),
    Workload("W9r", "aggregation: read", fold_read, ("W9",)),
    Workload("W10", "500 commits of 10 rows", many_commits),
    Workload("W10p", "plan of 500 snapshots", many_plan, ("W10",)),
    Workload("W10c", "one more commit", many_commit, ("W10",)),
    Workload("W10e", "expire to 10", many_expire, ("W10",)),
)
