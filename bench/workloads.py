"""The workloads: what is prepared, what is timed, and a number that all engines must agree on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from bench.engines import Engine
from bench.floor import compaction_floor
from bench.reads import group, group_files, scan, scan_files
from bench.rows import DAYS, KEYED, NARROW, SALES, Rows
from bench.stopwatch import Stopwatch

__all__ = ["WORKLOADS", "Workload"]

KEY_TABLE = {"bucket": "4", "write-only": "true", "file.compression": "zstd"}
COMMITS = 500
PARTITIONS = 2000
TIMES = 10
FAST = ("ours", "pypaimon+rust")


Run = Callable[[Engine, Rows, Stopwatch], str]


@dataclass(frozen=True)
class Workload:
    """``run`` returns a checksum, the same for every engine.  ``after``: must have run before.

    ``only``: the engines that are asked; all, if none is named.
    """

    name: str
    title: str
    run: Run
    after: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


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


def otherwise(key: str) -> tuple[Run, Run]:
    """Load and read of the table of W1 and W2 under another kind of key."""
    names = ["id", "line"] if key == "composite" else ["id"]

    def load(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
        parts = [rows.keyed_otherwise(part, key) for part in (rows.base(), *rows.upserts())]
        engine.create(key, parts[0].schema, names, KEY_TABLE)
        with watch():
            for part in parts:
                engine.write(key, part)
        return str(sum(part.num_rows for part in parts))

    def read(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
        return group(engine, rows, watch, key)

    return load, read


def lookup(engine: Engine, rows: Rows, watch: Stopwatch, name: str = "keyed") -> str:
    """The median of nine lookups of one key each, after three to warm up."""
    size = rows.base().num_rows
    keys = [size * number // 13 for number in range(1, 13)]
    for key in keys[:3]:
        engine.read(name, None, ("id", key))
    found, taken = 0, []
    for key in keys[3:]:
        one = Stopwatch(engine)
        with one():
            found += engine.read(name, None, ("id", key)).num_rows
        taken.append(one.seconds)
    watch.seconds = sorted(taken)[len(taken) // 2]
    return str(found)


def compaction(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        engine.compact("keyed")
    return ""


def _loaded(engine: Engine, rows: Rows, name: str, options: dict[str, str]) -> None:
    """A table that compacts on its own, with the base rows in one run a bucket."""
    plain = {"bucket": "4", "file.compression": "zstd"}
    engine.create(name, KEYED, ["id"], {**plain, **options})
    engine.write(name, rows.base())
    engine.compact(name)


def _commits(engine: Engine, rows: Rows, watch: Stopwatch, name: str) -> list[float]:
    """Seconds of each of twenty-five commits of a fifth of an upsert, compaction included."""
    _loaded(engine, rows, name, {})
    taken = []
    for part in rows.upserts():
        step = max(part.num_rows // 5, 1)
        for start in range(0, part.num_rows, step):
            one = Stopwatch(engine)
            with one():
                engine.write(name, part.slice(start, step))
            taken.append(one.seconds)
            watch.above_mb = max(watch.above_mb or 0, one.above_mb or 0)
    return sorted(taken)


def steady(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    taken = _commits(engine, rows, watch, "steady")
    watch.seconds = taken[len(taken) // 2]
    return str(len(taken))


def steady_worst(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    taken = _commits(engine, rows, watch, "worst")
    watch.seconds = taken[-1]
    return str(len(taken))


def lookup_changes(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    _loaded(engine, rows, "looked", {"changelog-producer": "lookup"})
    parts = rows.upserts()
    with watch():
        for part in parts:
            engine.write("looked", part)
    return str(sum(part.num_rows for part in parts))


def large_load(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    """Ten times what W1 and W2 write."""
    large = rows.times(TIMES)
    engine.create("large", KEYED, ["id"], KEY_TABLE)
    with watch():
        for part in (large.base(), *large.upserts()):
            engine.write("large", part)
    return str(large.base().num_rows)


def large_changes(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    """One of the upserts of W6, into ten times the rows."""
    _loaded(engine, rows.times(TIMES), "far", {"changelog-producer": "lookup"})
    part = rows.upserts()[0]
    with watch():
        engine.write("far", part)
    return str(part.num_rows)


def lookup_read(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        count = engine.changes("looked")
    return str(count)


def full_changes(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    options = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1000"}
    _loaded(engine, rows, "full", options)
    for part in rows.upserts()[:3]:
        engine.write("full", part)
    with watch():
        engine.compact("full")
    return ""


def full_read(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        count = engine.changes("full")
    return str(count)


def append(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    narrow = rows.narrow()
    engine.create("narrow", NARROW, [], {"bucket": "-1", "file.compression": "zstd"})
    with watch():
        engine.write("narrow", narrow)
    return str(narrow.num_rows)


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


def patch_write(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    parts = rows.patches()
    engine.create("patched", KEYED, ["id"], {**KEY_TABLE, "merge-engine": "partial-update"})
    with watch():
        for part in parts:
            engine.write("patched", part)
    return str(sum(part.num_rows for part in parts))


def patch_read(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        table = engine.read("patched", None)
    sums = [str(pc.sum(table[name])) for name in ("id", "country", "amount", "qty")]
    return f"{table.num_rows} {' '.join(sums)} {pc.count(table['note'])}"


def days_write(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    days = rows.days(PARTITIONS)
    engine.create("days", DAYS, [], {"bucket": "-1"}, ["day"])
    with watch():
        engine.write("days", days)
    return str(days.num_rows)


def days_point(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        table = engine.read("days", None, ("day", f"d{PARTITIONS // 2:05}"))
    return f"{table.num_rows} {pc.sum(table['id'])}"


def days_list(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        count = engine.plan("days")
    return str(count)


def huge_write(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    """One bucket, every row twice."""
    options = {**KEY_TABLE, "bucket": "1", "merge-engine": "partial-update"}
    engine.create("huge", NARROW, ["id"], options)
    count = 0
    for _ in range(2):
        for part in rows.huge():
            with watch():
                engine.write("huge", part)
            count += part.num_rows
    return str(count)


def huge_stream(engine: Engine, rows: Rows, watch: Stopwatch) -> str:
    del rows
    with watch():
        count = engine.stream("huge")
    return str(count)


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
    engine.write("many", _few(COMMITS))  # loads what a first commit loads
    with watch():
        engine.write("many", _few(COMMITS + 1))
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


load_string, read_string = otherwise("string")
load_composite, read_composite = otherwise("composite")
WORKLOADS = (
    Workload("W1", "bulk load 1 M rows, one commit", bulk_load),
    Workload("W2", "five upsert commits of 50 k", upserts, ("W1",)),
    Workload("W3", "merge on read, group by", group, ("W1", "W2")),
    Workload("W3k", "lookup by key, warm, in what W2 left", lookup, ("W1", "W2")),
    Workload("W4a", "Arrow alone: merge the files of each bucket", compaction_floor, ("W1", "W2")),
    Workload("W4", "full compaction", compaction, ("W1", "W2")),
    Workload("W4r", "group by after compaction", group, ("W1", "W2", "W4")),
    Workload("W4f", "pyarrow.dataset on its files", group_files, ("W1", "W2", "W4")),
    Workload("W4s", "scan after compaction", partial(scan, name="keyed"), ("W1", "W2", "W4")),
    Workload(
        "W4g",
        "pyarrow.dataset on its files",
        partial(scan_files, name="keyed", of=KEYED),
        ("W1", "W2", "W4"),
    ),
    Workload("W4k", "lookup by key, warm", lookup, ("W1", "W2", "W4")),
    Workload("W5", "10 k-row commits that compact, median", steady),
    Workload("W5x", "the worst of them", steady_worst),
    Workload("W6", "five upserts with lookup changelog", lookup_changes),
    Workload("W6r", "read the changes", lookup_read, ("W6",)),
    Workload("W7", "full compaction with changelog", full_changes),
    Workload("W7r", "read the changes", full_read, ("W7",)),
    Workload("S1", "text key: load and upserts", load_string),
    Workload("S3", "text key: merge on read", read_string, ("S1",)),
    Workload("C1", "composite key: load and upserts", load_composite),
    Workload("C3", "composite key: merge on read", read_composite, ("C1",)),
    Workload("L1", "10 M rows: load and upserts", large_load, only=FAST),
    Workload("L3", "10 M rows: merge on read", partial(group, name="large"), ("L1",), FAST),
    Workload("L3k", "10 M rows: lookup by key, warm", partial(lookup, name="large"), ("L1",), FAST),
    Workload("L6", "10 M rows: 50 k upserts with lookup changelog", large_changes, only=("ours",)),
    Workload("W8", "append 5 M narrow rows", append),
    Workload("W8r", "scan them", scan, ("W8",)),
    Workload("W8f", "pyarrow.dataset on its files", scan_files, ("W8",)),
    Workload("W9", "aggregation, 5 x 250 k: write", fold_write),
    Workload("W9r", "aggregation: read", fold_read, ("W9",)),
    Workload("W9u", "partial-update, 3 x 250 k: write", patch_write),
    Workload("W9v", "partial-update: read", patch_read, ("W9u",)),
    Workload("M", "100 M rows in one bucket, twice: write", huge_write),
    Workload("Mr", "stream them merged", huge_stream, ("M",)),
    Workload("W10", "500 commits of 10 rows", many_commits),
    Workload("W10r", "plan of 500 snapshots", many_plan, ("W10",)),
    Workload("W10c", "one more commit, warm", many_commit, ("W10",)),
    Workload("W10e", "expire to 10", many_expire, ("W10",)),
    Workload("W10w", "2,000 partitions: write", days_write),
    Workload("W10p", "2,000 partitions: point query", days_point, ("W10w",)),
    Workload("W10l", "2,000 partitions: plan of all", days_list, ("W10w",)),
)
