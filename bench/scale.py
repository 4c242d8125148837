"""What planning and committing cost as a table grows to ten million files: the figures of ``docs/scale.md``.

    python -m bench.scale [--files 1000,10000,100000,10000000] [--files-a-partition 100] [--folder DIR]

A table of so many files is made of metadata alone: manifests as Paimon writes them, in the order of their
partitions, and no data file.  Then each measure runs in a process of its own.  What needs all files is measured up
to 100,000 of them; beyond that, the line through the points says what it would take.  CPU seconds, so that what
else the machine does counts little.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cramjam
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table as Grid

import table_core as tc
from table_core.ondisk import layout
from table_core.ondisk.avro import container_head, open_container
from table_core.ondisk.avro_schemas import MANIFEST
from table_core.ondisk.binary_row import encode_row
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry, SimpleStats
from table_core.ondisk.manifest import encode_manifest
from table_core.ondisk.manifest_list import encode_manifest_list, summarize
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.table.compact.compact import Selection, choose

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.manifest_meta import ManifestMeta

NAME = "b.large"
SCHEMA = pa.schema(
    [pa.field("dt", pa.string(), nullable=False), pa.field("id", pa.int64(), nullable=False)]
)
A_MANIFEST = 30_000
"""Entries of a manifest of about 8 MB."""
A_BLOCK = 250
FILE_BYTES, FILE_ROWS = 1 << 30, 20_000_000
WHOLE_MAX = 100_000
"""Up to so many files, what needs all of them is measured."""
SYNC = bytes(range(16))


def partition(number: int) -> str:
    return f"p{number:06}"


def make(folder: Path, files: int, each: int) -> None:
    """A table of ``files`` files, ``each`` in a partition."""
    catalog = tc.open_catalog(folder.as_uri())
    catalog.create_database("b", if_not_exists=True)
    # simulated entries are alike and pack a hundredfold: what is full here is 8 MB in life
    options = {"bucket": "1", "write-only": "true", "manifest.target-file-size": "64 kb"}
    table = catalog.create_table(
        NAME, SCHEMA, primary_key=("dt", "id"), partition_by=("dt",), options=options
    )
    with table.write() as writer:
        writer.write(pa.table({"dt": [partition(0)], "id": [0]}, schema=SCHEMA))
        writer.commit()
    head = table.latest_snapshot()
    (entry,) = table.access.live_entries(head)
    storage, template = table.access.storage, _Template(table, entry.file)
    metas = []
    for first in range(0, files, A_MANIFEST):
        numbers = np.arange(first, min(first + A_MANIFEST, files))
        body = template.manifest(numbers, numbers // each)
        name = f"manifest-simulated-{first // A_MANIFEST}-0"
        storage.create(layout.manifest_path(name), body)
        metas.append(template.line(name, len(body), numbers, each))
    lists = {}
    for name, lines in (("base", metas), ("delta", [])):
        lists[name] = encode_manifest_list(lines)
        storage.create(layout.manifest_path(f"manifest-list-simulated-{name}"), lists[name])
    snapshot = replace(
        head,
        id=head.id + 1,
        base_manifest_list="manifest-list-simulated-base",
        base_manifest_list_size=len(lists["base"]),
        delta_manifest_list="manifest-list-simulated-delta",
        delta_manifest_list_size=len(lists["delta"]),
        commit_kind=CommitKind.APPEND,
        extra={},  # else it would say that it is of another line
        total_record_count=files * FILE_ROWS,
        delta_record_count=0,
    )
    assert isinstance(snapshot, Snapshot)
    storage.create(layout.snapshot_path(snapshot.id), snapshot.to_json())
    (Path(storage.uri.removeprefix("file://")) / "snapshot" / "LATEST").unlink()


@dataclass
class _Template:
    """One entry as bytes, in which the number of the file and of its partition are overwritten."""

    table: Any
    file: DataFile

    def __post_init__(self) -> None:
        types = [f.type for f in self.table.definition.partition_fields]
        self.row: Callable[[int], bytes] = lambda number: encode_row(types, [partition(number)])
        file = replace(
            self.file,
            file_name="data-0000000000-0.parquet",
            file_size=FILE_BYTES,
            row_count=FILE_ROWS,
        )
        entry = ManifestEntry(EntryKind.ADD, self.row(0), 0, 1, file)
        self.meta = summarize([entry], "", 0, types)
        self.one = open_container(encode_manifest([entry]), path="template").payload
        self.name_at = self.one.index(b"data-0000000000") + len("data-")
        self.partition_at = self.one.index(partition(0).encode()) + 1

    def manifest(self, numbers: np.ndarray, partitions: np.ndarray) -> bytes:
        """A manifest of the files ``numbers``."""
        rows = np.tile(np.frombuffer(self.one, np.uint8), (len(numbers), 1))
        rows[:, self.name_at : self.name_at + 10] = _digits(numbers, 10)
        rows[:, self.partition_at : self.partition_at + 6] = _digits(partitions, 6)
        parts = [container_head(MANIFEST, compression="zstd", sync=SYNC)]
        for first in range(0, len(rows), A_BLOCK):
            block = rows[first : first + A_BLOCK]
            packed = bytes(cramjam.zstd.compress(block.tobytes(), level=1))
            parts += [_long(len(block)), _long(len(packed)), packed, SYNC]
        return b"".join(parts)

    def line(self, name: str, size: int, numbers: np.ndarray, each: int) -> ManifestMeta:
        """What the manifest list says of it."""
        low, high = self.row(int(numbers[0]) // each), self.row(int(numbers[-1]) // each)
        return replace(
            self.meta,
            file_name=name,
            file_size=size,
            num_added_files=len(numbers),
            partition_stats=SimpleStats(low, high, (0,)),
        )


def _digits(numbers: np.ndarray, count: int) -> np.ndarray:
    powers = 10 ** np.arange(count - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def _long(value: int) -> bytes:
    """A number as Avro writes it."""
    value, found = value << 1, bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


# ----------------------------------------------------------------------------------- measures
def plan_one(table: Any, files: int, each: int) -> int:
    wanted = partition(files // each // 2)
    return sum(len(split.files) for split in table.read(where=f"dt = '{wanted}'").splits())


def compact_one(table: Any, files: int, each: int) -> int:
    wanted = partition(files // each // 2)
    choice = choose(Selection.of(table.access, strategy="full", partitions=[{"dt": wanted}]))
    return sum(map(len, choice.buckets.values()))


def commit_one(table: Any, files: int, each: int) -> int:
    wanted = partition(files // each // 2)
    with table.write() as writer:
        writer.write(pa.table({"dt": [wanted], "id": [1]}, schema=SCHEMA))
        return int(writer.commit().snapshot_id)


def count_all(table: Any, files: int, each: int) -> int:
    """The sizes of all files, as a result document and ``health`` count them."""
    del files, each
    return len(table.access.metadata.live_files(table.latest_snapshot()))


def plan_all(table: Any, files: int, each: int) -> int:
    del files, each
    return len(table.read().splits())


def plan_by_tasks(table: Any, files: int, each: int) -> int:
    """The plan of all, made and dealt out by Spark's tasks: what the driver's Python takes for it."""
    del files, each
    from table_core.spark.reading.planned import planned_in_tasks
    from table_core.spark.session.create import open_session

    memory = {"spark.driver.memory": "2g"}
    session = open_session({"spark.master": "local[2]", **memory})
    # files of 1 GB would get a task each to read them; what is measured is their plan
    options = {"scan.distributed-planning.min-manifests": "1", "scan.parallelism": "8"}
    shared = tc.open_table(table.uri, options=options)
    planned = planned_in_tasks(session, shared.read())
    assert planned is not None
    count = planned[0].count()
    session.stop()
    return int(count)


def health(table: Any, files: int, each: int) -> int:
    del files, each
    return len(table.health().to_document()["actions"])


MEASURES: dict[str, tuple[Any, bool]] = {
    "plan of one partition": (plan_one, False),
    "compaction of one partition: its choice": (compact_one, False),
    "commit of one file": (commit_one, False),
    "sizes of all files": (count_all, True),
    "plan of all": (plan_all, True),
    "plan of all by tasks: the driver": (plan_by_tasks, True),
    "health": (health, True),
}
"""And whether it needs all files."""


def measure(name: str, folder: str, files: int, each: int) -> None:
    """In a process of its own: CPU seconds and what the peak of memory rose by."""
    catalog = tc.open_catalog(folder)
    table = catalog.table(NAME)
    table.read()  # imports are no part of it
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    found = MEASURES[name][0](table, files, each)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = {"seconds": seconds, "above_mb": (peak - before) >> 10, "peak_mb": peak >> 10}
    print(json.dumps({**told, "found": found}))


def measured(name: str, folder: Path, files: int, each: int) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bench.scale",
            "--measure",
            name,
            "--folder",
            folder.as_uri(),
            "--files",
            str(files),
            "--files-a-partition",
            str(each),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(arguments: list[str]) -> int:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("--files", default="1000,10000,100000,10000000")
    parser.add_argument("--files-a-partition", type=int, default=100)
    parser.add_argument("--folder", default="")
    parser.add_argument("--measure", default="")
    wish = parser.parse_args(arguments)
    if wish.measure:
        measure(wish.measure, wish.folder, int(wish.files), wish.files_a_partition)
        return 0
    console = Console(highlight=False)
    grid = Grid("files", "measure", "CPU s", "MB above", "MB peak", "")
    points: dict[str, list[tuple[int, float]]] = {}
    folder = Path(wish.folder or tempfile.mkdtemp(prefix="paimon-scale-"))
    try:
        for files in map(int, wish.files.split(",")):
            place, start = folder / f"x{files}", time.process_time()
            make(place, files, wish.files_a_partition)
            console.print(f"{files:,} files made in {time.process_time() - start:.1f} CPU s")
            for name, (_, whole) in MEASURES.items():
                if whole and files > WHOLE_MAX:
                    if len(points.get(name, ())) < 2:
                        continue
                    seconds = _line_through(points[name], files)
                    grid.add_row(f"{files:,}", name, f"{seconds:.0f}", "", "", "by the line")
                    continue
                one = measured(name, place, files, wish.files_a_partition)
                points.setdefault(name, []).append((files, one["seconds"]))
                figures = f"{one['seconds']:.3f}", str(one["above_mb"]), str(one["peak_mb"])
                console.print(f"  {name}: {' '.join(figures)}", style="dim")
                grid.add_row(f"{files:,}", name, *figures, str(one["found"]))
            shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print(grid)
    return 0


def _line_through(points: list[tuple[int, float]], files: int) -> float:
    """What it takes for ``files``, by the last two points."""
    (few, short), (many, long) = points[-2:]
    return long + (long - short) / (many - few) * (files - many)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
