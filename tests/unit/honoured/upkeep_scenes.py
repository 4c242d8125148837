"""Options of upkeep: when files are compacted, what expiry looks at, how manifests and vectors are packed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from table_core.ondisk.data_file import EntryKind
from table_core.options.table import TableOptions
from table_core.table.write.buffering import SpilledRuns
from tests.unit.honoured.commit_scenes import HOUR_MS
from tests.unit.honoured.merge_scenes import live
from tests.unit.honoured.scenes import SetClock, files, made, put, rows, shows

Options = Mapping[str, str]


def _files_of_two_commits(options: Options) -> int:
    table = made(options)
    put(table, [1])
    put(table, [1])
    return len(live(table))


@shows("compaction.incremental-size-threshold", "1 b", 2, 1)
def much_that_is_new(options: Options) -> Any:
    return _files_of_two_commits(options)


@shows("compaction.optimization-interval", "1 h", 2, 1)
def long_not_compacted(options: Options) -> Any:
    return _files_of_two_commits(options)


@shows("deletion-vector.index-file.target-size", "1 b", 1, 2)
def vectors(options: Options) -> Any:
    table = made({"deletion-vectors.enabled": "true", "write-only": "true", **options}, keys=())
    for first in (0, 10):
        put(table, range(first, first + 5))
    table.delete("k IN (1, 11)")
    return len(files(table, "index/index-"))


EXPIRES = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyy-MM-dd"}


def _expired(options: Options, *days: str) -> tuple[list[str], int]:
    """The partitions that are left when those of long ago are dropped, and the commits of that."""
    table = made({"write-only": "true", **options}, keys=(), by=("dt",), clock=SetClock())
    for day in days:
        put(table, [1], dt=day)
    before = table.latest_snapshot().id
    if "partition.expiration-time" in options:
        table.expire_partitions()
    return sorted(
        set(table.read().to_arrow()["dt"].to_pylist())
    ), table.latest_snapshot().id - before


@shows("partition.expiration-batch-size", "1", 1, 2)
def batches(options: Options) -> Any:
    return _expired({**EXPIRES, **options}, "2026-01-01", "2026-01-02", "2026-11-19")[1]


@shows("partition.timestamp-formatter", "yyyyMMdd", ["20260101", "20261119"], ["20261119"])
def formatter(options: Options) -> Any:
    return _expired({"partition.expiration-time": "7 d", **options}, "20260101", "20261119")[0]


@shows("partition.timestamp-pattern", "$dt-01", ["2026-01", "2026-12"], ["2026-12"])
def pattern(options: Options) -> Any:
    return _expired({**EXPIRES, **options}, "2026-01", "2026-12")[0]


@shows("partition.expiration-check-interval", "0 s", ["2026-01-01", "2026-11-19"], ["2026-11-19"])
def looked_at(options: Options) -> Any:
    """A commit looks at partitions where that is due."""
    table = made({**EXPIRES, **options}, keys=(), by=("dt",), clock=SetClock())
    put(table, [1], dt="2026-01-01")
    put(table, [1], dt="2026-11-19")
    return sorted(table.read().to_arrow()["dt"].to_pylist())


def _changelogs(options: Options, **more: str) -> int:
    """How many changelogs are kept of five commits, of which one snapshot is."""
    base = {
        "changelog-producer": "input",
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "1",
    }
    clock = SetClock()
    table = made({**base, "snapshot.time-retained": "1 ms", **more, **options}, clock=clock)
    for key in range(5):
        put(table, [key])
        clock.at_ms += HOUR_MS
    return len(files(table, "changelog/changelog-"))


@shows("changelog.num-retained.max", "3", 1, 2)
def most_changelogs(options: Options) -> Any:
    return _changelogs(options, **{"changelog.time-retained": "100 d"})


@shows("changelog.num-retained.min", "3", 1, 2)
def fewest_changelogs(options: Options) -> Any:
    return _changelogs(options, **{"changelog.num-retained.max": "10"})


@shows("manifest.full-compaction-threshold-size", "1 b", False, True)
def manifests(options: Options) -> Any:
    """Whether the manifests of several commits are rewritten as one."""
    table = made({"write-only": "true", **options}, keys=())
    for key in range(4):
        put(table, [key])
    return table.system("manifests").to_arrow().num_rows < 4


@shows("manifest.delete-file-drop-stats", "true", True, False)
def statistics_of_deleted(options: Options) -> Any:
    table = made({"write-only": "true", **options})
    put(table, [1])
    put(table, [1])
    table.compact()
    entries = table.access.metadata.delta(table.latest_snapshot())
    return any(e.file.value_stats.null_counts for e in entries if e.kind is EntryKind.DELETE)


def _spilled(options: Options) -> SpilledRuns:
    runs = SpilledRuns(TableOptions.parse(options))
    for _ in range(5):
        runs.put((b"", 0), rows(range(5_000)))
    return runs


@shows("sort-spill-threshold", "3", False, True)
def runs_at_once(options: Options) -> Any:
    return _spilled(options).at_once((b"", 0), 1 << 40) == 3


@shows("spill-compression", "zstd", False, True)
def spilled(options: Options) -> Any:
    return _spilled(options)._spill.size < _spilled({})._spill.size


@shows("read.batch-size", "100000", 65_536, 100_000)
def rows_of_a_batch(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(100_000))
    return next(table.read().to_batches()).num_rows


def _splits(options: Options) -> int:
    table = made({"write-only": "true", **options}, keys=())
    for key in range(4):
        put(table, [key])
    return len(table.read().splits())


@shows("source.split.target-size", "4 mb", 1, 4)
def size_of_splits(options: Options) -> Any:
    return _splits(options)


@shows("source.split.open-file-cost", "128 mb", 1, 4)
def cost_of_files(options: Options) -> Any:
    return _splits(options)
