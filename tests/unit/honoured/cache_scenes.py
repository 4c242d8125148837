"""Options of threads, spilled runs and lookups: what works beside the rows."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from table_core.options.table import TableOptions
from table_core.table.compact.lookup_cache import CACHE
from table_core.table.maintenance.file_deletion import delete_files
from table_core.table.write.buffering import SpilledRuns
from tests.tables import write_rows
from tests.unit.honoured.scenes import SCHEMA, SetClock, made, put, rows, shows

Options = Mapping[str, str]
MINUTE_MS = 60_000


@shows("changelog-file.stats-mode", "none", 1, 0)
def statistics_of_changelog(options: Options) -> Any:
    table = made(options, changelog_producer="input")
    put(table, [1])
    splits = table.changes(after=0).splits()
    return sum(bool(file.value_stats.null_counts) for split in splits for file in split.files)


@shows("file-operation.thread-num", "1", 2, 1)
def threads_that_delete(options: Options) -> Any:
    table = made(options)
    both, names = threading.Barrier(2), set()

    class Storage:
        def delete(self, paths: Any) -> int:
            names.add(threading.current_thread().name)
            if "file-operation.thread-num" not in options:
                both.wait(timeout=30)  # neither ends before the other has begun
            return len(paths)

    class Access:
        storage = Storage()
        options = table.access.options

    assert delete_files(Access(), [f"file-{n}" for n in range(1_000)]) == 1_000
    return len(names)


@shows("spill-compression.zstd-level", "19", False, True)
def spilled(options: Options) -> Any:
    def size(more: Options) -> int:
        runs = SpilledRuns(TableOptions.parse({"spill-compression": "zstd", **more}))
        runs.put((b"", 0), rows([n * n % 7919 for n in range(20_000)]))
        return runs._spill.size

    return size(options) < size({})


@shows("lookup-compact.max-interval", "2", [0, 0, 0], [0, 2, 2])
def gentle(options: Options) -> Any:
    table = made(options, changelog_producer="lookup", lookup_compact="gentle")
    found = []
    for key in (1, 2, 3):
        put(table, [key])
        found.append(table.changes(after=0).to_arrow().num_rows)
    return found


def _looked_into(options: Options, clock: SetClock) -> Any:
    """A table whose large file has been looked into, and what is cached of it."""
    CACHE.clear()
    table = made(options, changelog_producer="lookup", clock=clock)
    values = np.random.default_rng(5).integers(0, 2**60, 60_000)  # a large file stays where it is
    write_rows(table, rows(range(60_000)).set_column(1, SCHEMA.field(1), pa.array(values)))
    for key in range(4):
        put(table, [key])
    return table, list(CACHE._files.values())


@shows("lookup.cache-file-retention", "10 min", True, False)
def kept(options: Options) -> Any:
    clock = SetClock()
    table, before = _looked_into(options, clock)
    clock.at_ms += 30 * MINUTE_MS
    put(table, [9])
    return before[0] in CACHE._files.values()


@shows("lookup.cache.bloom.filter.fpp", "0.0001", False, True)
def filters(options: Options) -> Any:
    return _looked_into(options, SetClock())[1][0].filter.size > 600_000


@shows("lookup.cache.bloom.filter.enabled", "false", True, False)
def has_filter(options: Options) -> Any:
    return _looked_into(options, SetClock())[1][0].filter is not None


@shows("lookup.cache-spill-compression", "zstd", False, True)
def packed(options: Options) -> Any:
    plain = _looked_into({}, SetClock())[1][0].disk_bytes
    return _looked_into(options, SetClock())[1][0].disk_bytes < plain
