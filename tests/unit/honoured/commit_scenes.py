"""Options of commits, and of what goes along with them: retries, tags, expiry, partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import table_core as tc
from table_core.errors import GaveUpError, TableError
from tests.unit.honoured.scenes import NOON, SetClock, files, made, put, rows, shows

Options = Mapping[str, str]
HOUR_MS = 3_600_000


def error_of(act: Any) -> str | None:
    """The class of what ``act`` raises."""
    try:
        act()
    except TableError as error:
        return type(error).__name__
    return None


class _Losing:
    """A store on which somebody else always has the next snapshot."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.storage, name)

    def create(self, path: str, body: bytes) -> Any:
        if path.startswith("snapshot/snapshot-"):
            self.lost += 1
            other = json.loads(self.storage.read("snapshot/snapshot-1"))
            other["id"] = int(path.rsplit("-", 1)[1])
            self.storage.write(path, json.dumps(other).encode())
        return self.storage.create(path, body)


def losing(options: Options) -> tuple[Any, _Losing, SetClock]:
    """A table whose commits never win, once it has one snapshot."""
    clock = SetClock()
    table = made({"commit.max-retries": "6", "commit.max-retry-wait": "300", **options}, keys=())
    put(table, [1])
    store = _Losing(table.access.storage)
    return tc.Table(replace(table.access, storage=store, clock=clock)), store, clock


@shows("commit.max-retries", "2", 7, 3)
def retries(options: Options) -> Any:
    table, store, _ = losing(options)
    with pytest.raises(GaveUpError):
        put(table, [2])
    return store.lost


@shows("commit.min-retry-wait", "200 ms", True, False)
def shortest_wait(options: Options) -> Any:
    table, _, clock = losing(options)
    with pytest.raises(GaveUpError):
        put(table, [2])
    return min(clock.waits) < 100


@shows("commit.max-retry-wait", "20 ms", True, False)
def longest_wait(options: Options) -> Any:
    table, _, clock = losing(options)
    with pytest.raises(GaveUpError):
        put(table, [2])
    return max(clock.waits) > 30


@shows("commit.timeout", "1 ms", 7, "fewer")
def timeout(options: Options) -> Any:
    table, store, _ = losing(options)
    with pytest.raises(GaveUpError):
        put(table, [2])
    return store.lost if store.lost == 7 else "fewer"


@shows("commit.user-prefix", "ours", False, True)
def user_prefix(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return table.latest_snapshot().commit_user.startswith("ours")


@shows("commit.force-create-snapshot", "true", None, 1)
def forced_snapshot(options: Options) -> Any:
    table = made(options)
    with table.write() as writer:
        writer.commit()
    head = table.latest_snapshot()
    return head and head.id


@shows("snapshot.ignore-empty-commit", "false", None, 1)
def empty_commit(options: Options) -> Any:
    table = made(options)
    with table.write() as writer:
        writer.commit()
    head = table.latest_snapshot()
    return head and head.id


@shows("commit.strict-mode.last-safe-snapshot", "0", None, "CommitConflictError")
def strict_mode(options: Options) -> Any:
    """What others appended to its buckets since then stops whoever replaces rows."""
    table = made({"write-only": "true", **options})
    put(table, [1], commit_user="another", commit_identifier=1)
    again = {"commit_user": "ours", "commit_identifier": 1, "overwrite": "table"}
    return error_of(lambda: put(table, [7], **again))


@shows("write-only", "true", 1, 6)
def write_only(options: Options) -> Any:
    table = made({"num-sorted-run.compaction-trigger": "3", **options})
    for _ in range(6):
        put(table, [1])
    found = len(set(table.system("files").to_arrow()["file_path"].to_pylist()))
    return found if options else min(found, 1)


def _ids(table: Any) -> list[int]:
    return [snapshot.id for snapshot in table.snapshots()]


@shows("snapshot.num-retained.max", "2", [1, 2, 3, 4], [3, 4])
def most_snapshots(options: Options) -> Any:
    table = made({"snapshot.num-retained.min": "1", **options}, keys=())
    for key in range(4):
        put(table, [key])
    return _ids(table)


@shows("snapshot.num-retained.min", "3", [5], [3, 4, 5])
def fewest_snapshots(options: Options) -> Any:
    clock = SetClock()
    base = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 ms"}
    table = made({**base, **options}, keys=(), clock=clock)
    for key in range(5):
        put(table, [key])
        clock.at_ms += HOUR_MS
    table.expire_snapshots()
    return _ids(table)


@shows("snapshot.time-retained", "1 min", [1, 2, 3], [3])
def age_of_snapshots(options: Options) -> Any:
    clock = SetClock()
    table = made({"snapshot.num-retained.min": "1", **options}, keys=(), clock=clock)
    for key in range(3):
        clock.at_ms += HOUR_MS // 4
        put(table, [key])
    clock.at_ms += HOUR_MS // 8
    table.expire_snapshots()
    return _ids(table)


@shows("snapshot.expire.limit", "1", [4], [2, 3, 4])
def expiry_limit(options: Options) -> Any:
    table = made({"snapshot.num-retained.min": "1", "write-only": "true", **options}, keys=())
    for key in range(4):
        put(table, [key])
    table.expire_snapshots(retain_max=1, retain_min=1)
    return _ids(table)


@shows("snapshot.clean-empty-directories", "true", True, False)
def empty_directories(options: Options) -> Any:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        catalog = tc.open_catalog(Path(folder).as_uri())
        catalog.create_database("d")
        base = {"bucket": "-1", "write-only": "true"}
        table = catalog.create_table(
            "d.t", rows([1]).schema, partition_by=("dt",), options={**base, **options}
        )
        put(table, [1])
        table.drop_partitions([{"dt": "a"}])
        put(table, [1], dt="b")
        table.expire_snapshots(retain_max=1, retain_min=1)
        return Path(folder, "d.db", "t", "dt=a").exists()


@shows("partition.expiration-time", "7 d", 2, 1)
def expired_partitions(options: Options) -> Any:
    return _partitions_left({"partition.timestamp-formatter": "yyyy-MM-dd", **options})


@shows("partition.expiration-max-num", "1", 1, 3)
def expired_at_once(options: Options) -> Any:
    """So many partitions go in one run."""
    base = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyy-MM-dd"}
    return _partitions_left({**base, **options}, more=("2026-01-02", "2026-01-03"))


def _partitions_left(options: Options, more: tuple[str, ...] = ()) -> int:
    table = made({"write-only": "true", **options}, keys=(), by=("dt",), clock=SetClock())
    for day in ("2026-11-19", "2026-01-01", *more):
        put(table, [1], dt=day)
    if "partition.expiration-time" in options:
        table.expire_partitions()
    return len(set(table.read().to_arrow()["dt"].to_pylist()))


@shows("partition.end-input-to-done", "true", 0, 1)
def end_input_to_done(options: Options) -> Any:
    table = made(options, keys=(), by=("dt",))
    put(table, [1])
    return len(files(table, "_SUCCESS"))


@shows("partition.mark-done-action", "done-partition", ["dt=a/_SUCCESS"], ["dt=a.done/_SUCCESS"])
def how_marked(options: Options) -> Any:
    table = made(options, keys=(), by=("dt",))
    put(table, [1])
    table.mark_done([{"dt": "a"}])
    return files(table, "_SUCCESS")


TAGGED = {"tag.automatic-creation": "process-time"}


def _tags(options: Options, *hours: float) -> list[str]:
    clock = SetClock()
    table = made(options, keys=(), clock=clock)
    for number, hour in enumerate(hours):
        clock.at_ms = NOON + int(hour * HOUR_MS)
        put(table, [number])
    return sorted(table.tags.list())


@shows("tag.automatic-creation", "process-time", [], ["2026-11-19"])
def tags_made(options: Options) -> Any:
    return _tags(options, 0)


@shows("tag.creation-period", "hourly", ["2026-11-19"], ["2026-11-20 11"])
def tag_period(options: Options) -> Any:
    return _tags({**TAGGED, **options}, 0)


@shows("tag.creation-period-duration", "1 h", ["2026-11-19"], 1)
def tag_period_duration(options: Options) -> Any:
    found = _tags({**TAGGED, **options}, 0)
    return found if found == ["2026-11-19"] else len(found)


@shows("tag.period-formatter", "without_dashes", ["2026-11-19"], ["20261119"])
def tag_names(options: Options) -> Any:
    return _tags({**TAGGED, **options}, 0)


@shows("tag.creation-delay", "13 h", 2, 1)
def tag_delay(options: Options) -> Any:
    """At noon of the next day its day before is over for twelve hours only."""
    return len(_tags({**TAGGED, **options}, 0, 24))


@shows("tag.automatic-completion", "true", "2026-11-20 14", "2026-11-20 12")
def tag_completion(options: Options) -> Any:
    """Hours in which nobody wrote have a tag too: the next commit makes that of the first one."""
    return _tags({**TAGGED, "tag.creation-period": "hourly", **options}, 0, 3)[-1]


@shows("tag.batch.customized-name", "nightly", False, True)
def tag_of_batch(options: Options) -> Any:
    return "nightly" in _tags({"tag.automatic-creation": "batch", **options}, 0)


@shows("tag.num-retained-max", "1", 3, 1)
def most_tags(options: Options) -> Any:
    return len(_tags({**TAGGED, "tag.creation-period": "hourly", **options}, 0, 1, 2))


@shows("tag.create-success-file", "true", 0, 1)
def tag_success(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    table.tags.create("one")
    return len([path for path in files(table, "tag") if "success" in path.lower()])


@shows("tag.default-time-retained", "1 h", None, HOUR_MS * 10**6)
def tag_retention(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    table.tags.create("one")
    return table.tags.get("one").retained_ns
