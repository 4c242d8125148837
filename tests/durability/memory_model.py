"""A table of one shape, and one verb on it: how much memory the verb took at most.

python tests/durability/memory_model.py build FOLDER SHAPE
python tests/durability/memory_model.py run FOLDER SHAPE VERB LIMIT_MB

``run`` prints one line: ``added MB``, or ``refused`` and the message.  Both run in processes of their own:
the peak is that of the process, above what it had before the verb.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

import table_core as tc
from table_core.errors import TableError
from table_core.jobs.embedded import EmbeddedEngine
from table_core.jobs.flow import View
from tests.tables import new_catalog, write_rows

_POOL = np.random.default_rng(7).integers(97, 123, 1 << 22, dtype=np.uint8).tobytes()
_KEY = pa.field("k", pa.int64(), nullable=False)


def texts(keys: np.ndarray, width: int) -> pa.Array:
    """A text of ``width`` bytes for each key, that does not compress."""
    most = len(_POOL) - 64
    body = bytearray()
    for key in keys:
        left, at = width, int(key) * 7919 % (most // 2)
        while left > 0:
            part = _POOL[at : at + min(left, most // 2)]
            body += part
            left -= len(part)
    offsets = np.arange(len(keys) + 1, dtype=np.int64) * width
    large = pa.Array.from_buffers(
        pa.large_string(), len(keys), [None, pa.py_buffer(offsets), pa.py_buffer(bytes(body))]
    )
    return large.cast(pa.string())


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Rows of a table, and how they came."""

    rows: int
    """Of each run."""
    width: int
    """Bytes of a row."""
    runs: int = 1
    kind: str = "text"
    partitions: int = 1
    options: dict[str, str] = field(default_factory=dict)
    keyed: bool = True

    @property
    def schema(self) -> pa.Schema:
        match self.kind:
            case "columns":
                own = [pa.field(f"c{n}", pa.int64()) for n in range(self.width // 8)]
            case "nested":
                own = [pa.field("v", pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])))]
            case _:
                own = [pa.field("v", pa.string())]
        part = [pa.field("p", pa.int32(), nullable=False)] if self.partitions > 1 else []
        return pa.schema([_KEY, *part, *own])

    def batches(self, run: int) -> Iterator[pa.Table]:
        """The rows of run ``run``, about 4 MB at a time; half of its keys are those of the others."""
        step = max(1, (4 << 20) // self.width)
        for start in range(0, self.rows, step):
            numbers = np.arange(start, min(start + step, self.rows))
            keys = np.where(numbers % 2 == 0, numbers, numbers + run * self.rows * 2)
            yield pa.table(self._columns(keys, run), schema=self.schema)

    def _columns(self, keys: np.ndarray, run: int) -> list[pa.Array]:
        match self.kind:
            case "columns":
                own = [pa.array(keys + n) for n in range(self.width // 8)]
            case "nested":
                each = max(1, self.width // 48)
                values = texts(np.arange(len(keys) * each) + run, 36)
                numbers = pa.array(np.arange(len(keys) * each))
                members = pa.StructArray.from_arrays([numbers, values], names=["a", "b"])
                offsets = pa.array(np.arange(len(keys) + 1, dtype=np.int32) * each)
                own = [pa.ListArray.from_arrays(offsets, members)]
            case "repeats":
                own = [texts(np.arange(4), self.width).take(pa.array(keys % 4))]
            case "skewed":
                values = texts(keys + run, self.width)
                [widest] = texts(keys[:1] + run, 50 << 20).to_pylist()
                half = len(keys) // 4 * 2  # an even one: a key of every run
                own = [pa.concat_arrays([values[:half], pa.array([widest]), values[half + 1 :]])]
            case _:
                own = [texts(keys + run, self.width)]
        part = [pa.array((keys % self.partitions).astype(np.int32))] if self.partitions > 1 else []
        return [pa.array(keys), *part, *own]


SHAPES = {
    "narrow": Shape(rows=400_000, width=40, runs=5),
    "document": Shape(rows=2_000, width=20_000, runs=8),
    "wide": Shape(rows=300, width=200_000, runs=6),
    "huge": Shape(rows=5, width=10 << 20, runs=3),
    "large": Shape(rows=2, width=30 << 20, runs=2),
    "enormous": Shape(rows=2, width=50 << 20, runs=2),
    "runs": Shape(rows=2_000, width=1_000, runs=150),
    "wide runs": Shape(rows=40, width=100_000, runs=60),
    "many runs": Shape(rows=50, width=40, runs=500),
    "skewed": Shape(rows=20_000, width=10, runs=4, kind="skewed"),
    "skewed orc": Shape(
        rows=20_000, width=10, runs=2, kind="skewed", options={"file.format": "orc"}
    ),
    "nested": Shape(rows=1_500, width=40_000, runs=4, kind="nested"),
    "repeats": Shape(rows=30_000, width=10_000, runs=3, kind="repeats"),
    "columns": Shape(rows=300, width=40_000, runs=4, kind="columns"),
    "partitions": Shape(rows=10_000, width=100, runs=2, partitions=1_000),
    "marked": Shape(rows=2_000, width=20_000, runs=4, options={"deletion-vectors.enabled": "true"}),
    "append": Shape(rows=2_000, width=20_000, runs=6, keyed=False),
    "append wide": Shape(rows=300, width=200_000, runs=6, keyed=False),
    "append skewed": Shape(rows=20_000, width=10, runs=6, kind="skewed", keyed=False),
    "orc": Shape(rows=2_000, width=20_000, runs=3, options={"file.format": "orc"}),
    "avro": Shape(rows=1_000, width=20_000, runs=3, options={"file.format": "avro"}),
    "summed": Shape(rows=2_000, width=20_000, runs=6, options={"merge-engine": "partial-update"}),
}


def build(folder: str, shape: Shape) -> None:
    """The table of ``shape``."""
    catalog = new_catalog(folder)
    options = {"write-only": "true", **shape.options}
    options |= {"bucket": "1"} if shape.keyed else {}
    catalog.create_table(
        "d.t",
        shape.schema,
        primary_key=("k", *(("p",) if shape.partitions > 1 else ())) if shape.keyed else (),
        partition_by=("p",) if shape.partitions > 1 else (),
        options=options,
    )
    for run in range(shape.runs):
        # what is measured comes later: here a row may take what it takes
        write_rows(catalog.table("d.t", options={"write-buffer-size": "4 gb"}), shape.batches(run))


# --------------------------------------------------------------------------------------- verbs
def _read(table: tc.Table, _: Shape) -> None:
    for batch in table.read().to_batches():
        del batch


def _scan(table: tc.Table, _: Shape) -> None:
    for batch in table.read(where="k >= 3").to_batches():
        del batch


def _write(table: tc.Table, shape: Shape) -> None:
    with table.write() as writer:
        for run in range(max(2, min(shape.runs, 8))):
            for rows in shape.batches(run):
                writer.write(rows)
        writer.commit()


def _full(table: tc.Table, _: Shape) -> None:
    table.compact(strategy="full")


def _minor(table: tc.Table, _: Shape) -> None:
    table.compact(strategy="minor")


def _sorted(table: tc.Table, _: Shape) -> None:
    table.compact(strategy="full", order_by=["k"])


def _changelog(table: tc.Table, shape: Shape) -> None:
    _full(table, shape)


def _update(table: tc.Table, _: Shape) -> None:
    table.update({"v": "'x'"}, where="k < 100")


def _delete(table: tc.Table, _: Shape) -> None:
    table.delete(where="k < 100")


def _merge(table: tc.Table, shape: Shape) -> None:
    """Some rows are brought, and all others go, where the engine lets them."""
    rows = next(shape.batches(0))
    clauses = [tc.MatchedUpsert(), tc.NotMatchedInsert()]
    if "merge-engine" not in shape.options:
        clauses.append(tc.NotMatchedBySourceDelete())
    table.merge_into(rows, on=["k"], when=clauses)


def _sql(table: tc.Table, _: Shape) -> None:
    head = table.latest_snapshot()
    assert head is not None
    view = View(table=table, snapshot=head.id)
    EmbeddedEngine().query("SELECT max(length(v)) FROM t", {"t": view})


def _cdc(table: tc.Table, shape: Shape) -> None:
    catalog = tc.open_catalog(table.uri.rpartition("/d.db")[0])
    limits = {name: table.options[name] for name in ("write-buffer-size", "read.memory-limit")}
    options = {"bucket": "1", "write-only": "true", **limits}
    source = tc.FilesSource(f"{table.uri}-events/*.jsonl")
    tc.sync_table(catalog, "d.synced", source, primary_key=["k"], options=options)


def events(folder: Path, shape: Shape) -> None:
    """The rows of ``shape`` as change events."""
    folder.mkdir()
    about = {"db": "d", "table": "t", "connector": "mysql"}
    with (folder / "events.jsonl").open("w") as lines:
        for run in range(min(shape.runs, 8)):
            for rows in shape.batches(run):
                for row in rows.to_pylist():
                    event = {"op": "u", "before": None, "after": row, "source": about}
                    lines.write(json.dumps(event) + "\n")


def _task(table: tc.Table, shape: Shape) -> None:
    """What a task of Spark does that reads splits, and one that writes rows."""
    from table_core.spark.writing.in_tasks import prepared_by_share

    scan = table.read()
    for split in scan.splits():
        for batch in scan.read_split(split):
            del batch
    batches = (rows for run in range(min(shape.runs, 8)) for rows in shape.batches(run))
    prepared_by_share(table.access, batches, 2)


def _expire(table: tc.Table, _: Shape) -> None:
    table.expire_snapshots(retain_max=1, retain_min=1)


def _orphans(table: tc.Table, _: Shape) -> None:
    table.remove_orphan_files(older_than=datetime.now(UTC), allow_young=True)


VERBS: dict[str, tuple[Callable[[tc.Table, Shape], None], dict[str, str]]] = {
    "read": (_read, {}),
    "scan": (_scan, {}),
    "write": (_write, {}),
    "full": (_full, {}),
    "minor": (_minor, {"num-sorted-run.compaction-trigger": "2"}),
    "sorted": (_sorted, {}),
    "lookup": (_minor, {"changelog-producer": "lookup"}),
    "changelog": (_changelog, {"changelog-producer": "full-compaction"}),
    "update": (_update, {}),
    "delete": (_delete, {}),
    "merge": (_merge, {}),
    "sql": (_sql, {}),
    "cdc": (_cdc, {}),
    "task": (_task, {}),
    "expire": (_expire, {}),
    "orphans": (_orphans, {}),
}


LIMITS_MB = (32, 64, 256)
BUGS = {"spill": ("write", "wide", 64), "batch": ("read", "document", 64)}
"""Deliberate ones, and where they show."""


def fits(verb: str, shape: Shape) -> bool:
    """Whether tables of ``shape`` know ``verb``, and it is another one than for others."""
    only_append, only_keyed = {"sorted"}, {"lookup", "changelog", "minor"}
    if verb in (only_keyed if not shape.keyed else only_append):
        return False
    if verb in {"sql", "cdc"} and shape.kind in {"nested", "columns"}:
        return False
    if verb == "cdc" and (shape.options or not shape.keyed or shape.runs > 100):
        return False
    if (
        verb in {"update", "delete"} and shape.width > 1 << 20
    ):  # they hold the rows that they change
        return False
    if verb == "update" and shape.kind not in {"text", "repeats"}:
        return False
    return not (verb in {"changelog", "lookup"} and shape.options.get("merge-engine"))


def unbounded(bug: str) -> None:
    """Make the mistake ``bug``."""
    if bug == "spill":
        from table_core.storage import spill

        spill.pieces = lambda rows, most: iter([rows])
    else:
        from table_core.table.files.merging import MergeLimits

        MergeLimits.batch_bytes = lambda self, at_once: 1 << 40


def resident_mb(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) >> 10


def run(folder: str, shape: Shape, verb: str, limit_mb: int) -> str:
    """Do ``verb``; what it added to the memory of this process, or the error that names an option."""
    act, options = VERBS[verb]
    catalog = tc.open_catalog(folder)
    if verb == "cdc":
        events(Path(folder, "d.db", "t-events"), shape)
    if options:
        catalog.alter_table("d.t", [tc.SetOption(*option) for option in options.items()])
    table, limit = catalog.table("d.t"), f"{limit_mb} mb"
    own = {"read.memory-limit": limit, "write-buffer-size": limit}
    table = tc.open_table(table.uri, options=own)
    next(iter(table.read(columns=["k"], where="k = 0").to_batches()), None)
    gc.collect()
    pa.default_memory_pool().release_unused()
    before = resident_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    try:
        act(table, shape)
    except TableError as error:
        return f"refused {resident_mb('VmHWM') - before} {error}"
    return f"added {resident_mb('VmHWM') - before}"


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(sys.argv[2], SHAPES[sys.argv[3]])
    else:
        for bug in sys.argv[6:]:
            unbounded(bug)
        print(run(sys.argv[2], SHAPES[sys.argv[3]], sys.argv[4], int(sys.argv[5])), flush=True)
