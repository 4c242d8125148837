"""How upkeep holds up on long histories and many files: ``python -m bench.upkeep [NAME …]``.

Each case builds a table from metadata (its data files are empty) and runs one verb in a fresh process.
Shown are wall-clock and CPU seconds, the peak of memory, and the limit that the project promises.

    expire    1,000 snapshots down to 10, 200,000 files
    plan      a dry run over 5,000 snapshots
    orphans   a dry run over 1,000,000 files, a tenth of them orphans
    health    100,000 files, from a cold process and again
    commit    a commit to 5,000 snapshots, beside one to 10
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

import table_core as tc
from table_core.datatypes.text import parse_type
from table_core.ondisk import layout
from table_core.ondisk.binary_row import encode_row
from table_core.ondisk.data_file import DataFile, EntryKind, FileSource, ManifestEntry, SimpleStats
from table_core.ondisk.manifest import encode_manifest
from table_core.ondisk.manifest_list import encode_manifest_list, summarize
from table_core.ondisk.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from table_core.storage.system import SystemClock

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "bench-upkeep"
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())])
STATS = SimpleStats(bytes(12), bytes(28), (0, 0))
BUCKETS = 16
EMPTY = bytes(12)
KEY = [parse_type("BIGINT NOT NULL")]
DAY_MS = 24 * 3_600_000


class Later(SystemClock):
    """Three days on, so that nothing is young."""

    def now_ms(self) -> int:
        return SystemClock.now_ms(self) + 3 * DAY_MS


def create(root: Path) -> Any:
    shutil.rmtree(root, ignore_errors=True)
    catalog = tc.open_catalog(str(root))
    catalog.create_database("d", if_not_exists=True)
    options = {"bucket": str(BUCKETS), "write-only": "true"}
    return catalog.create_table("d.t", SCHEMA, primary_key=("k",), options=options)


def opened(root: Path) -> Any:
    table = tc.open_catalog(str(root)).table("d.t")
    return tc.Table(replace(table.access, clock=Later()))


def new_files(count: int, *, bucket: int | None = None) -> list[ManifestEntry]:
    writer = uuid.uuid4()
    return [
        ManifestEntry(
            EntryKind.ADD,
            EMPTY,
            i % BUCKETS if bucket is None else bucket,
            BUCKETS,
            DataFile(
                file_name=f"data-{writer}-{i}.parquet",
                file_size=1_000_000 + i,
                row_count=1_000,
                min_key=encode_row(KEY, [i]),
                max_key=encode_row(KEY, [i]),
                key_stats=STATS,
                value_stats=STATS,
                min_sequence_number=i * 1000,
                max_sequence_number=i * 1000 + 999,
                schema_id=0,
                level=5,
                creation_time_ms=1_700_000_000_000,
                delete_row_count=0,
                file_source=FileSource.APPEND,
            ),
        )
        for i in range(count)
    ]


def touch(table: Any, entries: list[ManifestEntry], made: set[str]) -> None:
    root = table.access.storage.root
    for entry in entries:
        folder = f"{root}/bucket-{entry.bucket}"
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        os.close(os.open(f"{folder}/{entry.file.file_name}", os.O_CREAT | os.O_WRONLY))


class History:
    """Snapshots written one after another, without a commit protocol."""

    def __init__(self, table: Any) -> None:
        self.table, self.storage = table, table.access.storage
        self.writer, self.number, self.id = uuid.uuid4(), 0, 0
        self.live: list[Any] = []

    def add(self, entries: list[ManifestEntry], *, base: list[Any] | None = None) -> None:
        """One snapshot with ``entries``; ``base`` are the manifests before it."""
        base = self.live if base is None else base
        delta = [self.manifest(entries[i : i + 30_000]) for i in range(0, len(entries), 30_000)]
        self.id += 1
        snapshot = Snapshot(
            id=self.id,
            schema_id=0,
            base_manifest_list=self.listed(base),
            delta_manifest_list=self.listed(delta),
            commit_user="bench",
            commit_identifier=BATCH_IDENTIFIER,
            commit_kind=CommitKind.APPEND,
            time_millis=1_700_000_000_000 + self.id,
            total_record_count=0,
            delta_record_count=0,
            writer_version="table_core-0.2.0",
        )
        self.put(layout.snapshot_path(self.id), snapshot.to_json())
        self.live = [*base, *delta]

    def manifest(self, entries: list[ManifestEntry]) -> Any:
        name = self.name("manifest")
        body = encode_manifest(entries)
        self.put(layout.manifest_path(name), body)
        return summarize(entries, name, len(body), [])

    def listed(self, metas: list[Any]) -> str:
        name = self.name("manifest-list")
        self.put(layout.manifest_path(name), encode_manifest_list(metas))
        return name

    def name(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}-{self.writer}-{self.number}"

    def put(self, path: str, body: bytes) -> None:
        target = self.storage.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)

    def done(self) -> None:
        self.put("snapshot/LATEST", str(self.id).encode())
        self.put("snapshot/EARLIEST", b"1")


def make_history(root: Path, snapshots: int, files_each: int, *, on_disk: bool) -> None:
    """Each snapshot takes out what the one before brought in; manifests are merged every 50."""
    table = create(root)
    history = History(table)
    before: list[ManifestEntry] = []
    made: set[str] = set()
    for _ in range(snapshots):
        fresh = new_files(files_each)
        if on_disk:
            touch(table, fresh, made)
        base = None
        if len(history.live) > 50:
            base = [history.manifest(before)] if before else []
        history.add([*(entry.deleted() for entry in before), *fresh], base=base)
        before = fresh
    history.done()


def make_flat(root: Path, files: int, *, orphans: int = 0, on_disk: bool = False) -> None:
    """One snapshot with all files."""
    table = create(root)
    entries = new_files(files)
    if on_disk:
        made: set[str] = set()
        touch(table, entries, made)
        touch(table, new_files(orphans), made)
    history = History(table)
    history.add(entries)
    history.done()


# ------------------------------------------------------------------------------ in the worker
def run_expire(root: Path) -> dict[str, Any]:
    found = opened(root).expire_snapshots(retain_max=10, retain_min=10, max_deletes=100_000)
    return {"files": found.files_deleted, "snapshots": len(found.details["snapshots_expired"])}


def run_plan(root: Path) -> dict[str, Any]:
    table = opened(root)
    found = table.expire_snapshots(retain_max=10, max_deletes=100_000, dry_run=True)
    return {"files": found.files_deleted, "snapshots": len(found.details["snapshots_expired"])}


def run_orphans(root: Path) -> dict[str, Any]:
    found = opened(root).remove_orphan_files(dry_run=True)
    return {"files": found.files_before, "orphans": found.files_deleted}


def run_health(root: Path) -> dict[str, Any]:
    table = opened(root)
    started = time.process_time()
    first = table.health()
    middle = time.process_time()
    again = table.health()
    return {
        "files": first.measures.shape.files,
        "cold_s": round(middle - started, 3),
        "warm_s": round(time.process_time() - middle, 3),
        "verdict": again.verdict.value,
    }


OWN = {
    "write-only": "false",
    "num-sorted-run.compaction-trigger": "1000",
    "snapshot.num-retained.min": "100000",
}
"""Nothing to compact and nothing to expire: what is measured is the commit alone."""


def run_commit(root: Path) -> dict[str, Any]:
    table = tc.open_catalog(str(root)).table("d.t", options=OWN)
    best = float("inf")
    for key in range(15):
        started = time.process_time()
        with table.write() as writer:  # a bucket each, so that nothing is compacted
            writer.write(pa.table({"k": [key], "v": ["x"]}, schema=SCHEMA))
            writer.commit()
        best = min(best, time.process_time() - started)
    return {"commit_ms": round(best * 1000, 2)}


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    build: Any
    run: Any
    limit: str


CASES = (
    Case(
        "expire",
        "expire 1,000 snapshots to 10, 200,000 files",
        lambda root: make_history(root, 1_000, 200, on_disk=True),
        run_expire,
        "20 s",
    ),
    Case(
        "plan",
        "plan of expiry over 5,000 snapshots",
        lambda root: make_history(root, 5_000, 40, on_disk=False),
        run_plan,
        "256 MB",
    ),
    Case(
        "orphans",
        "orphan scan of 1,000,000 files",
        lambda root: make_flat(root, 900_000, orphans=100_000, on_disk=True),
        run_orphans,
        "60 s, 512 MB",
    ),
    Case(
        "health",
        "health of 100,000 files",
        lambda root: make_flat(root, 100_000),
        run_health,
        "3 s cold, 1 s warm",
    ),
    Case(
        "commit-10",
        "commit with 10 snapshots",
        lambda root: make_history(root, 10, 40, on_disk=False),
        run_commit,
        "",
    ),
    Case(
        "commit-5000",
        "commit with 5,000 snapshots",
        lambda root: make_history(root, 5_000, 40, on_disk=False),
        run_commit,
        "1.5 x of the one above",
    ),
)


def work(name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    wall, cpu = time.monotonic(), time.process_time()
    found = case.run(CACHE / name)
    found["seconds"] = round(time.monotonic() - wall, 2)
    found["cpu_s"] = round(time.process_time() - cpu, 2)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found))


def main(names: list[str]) -> int:
    if names[:1] == ["--work"]:
        work(names[1])
        return 0
    if names[:1] == ["--build"]:
        next(c for c in CASES if c.name == names[1]).build(CACHE / names[1])
        return 0
    out = Console(highlight=False, width=150 if not sys.stdout.isatty() else None)
    grid = Grid(title="upkeep", title_justify="left")
    for heading in ("case", "limit", "seconds", "cpu_s", "peak MB", "found"):
        grid.add_column(heading)
    for case in CASES:
        if names and not any(case.name.startswith(name) for name in names):
            continue
        root = CACHE / case.name
        command = [sys.executable, "-m", "bench.upkeep"]
        # Built elsewhere: a child begins with the peak of the process that starts it.
        subprocess.run([*command, "--build", case.name], check=True)
        measured = [*command, "--work", case.name]
        done = subprocess.run(measured, capture_output=True, text=True, check=False)
        if done.returncode:
            out.print(done.stderr)
            return 1
        found = json.loads(done.stdout.splitlines()[-1])
        cells = [str(found.pop(key)) for key in ("seconds", "cpu_s", "peak_mb")]
        grid.add_row(case.title, case.limit, *cells, str(found))
        shutil.rmtree(root, ignore_errors=True)
    out.print(grid)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
