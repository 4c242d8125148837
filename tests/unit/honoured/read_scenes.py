"""Options of reading: which state, which changes, what a stream waits for, what damage is passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import table_core as tc
from tests.unit.honoured.commit_scenes import HOUR_MS, error_of
from tests.unit.honoured.merge_scenes import live, put_kinds
from tests.unit.honoured.scenes import NOON, SetClock, files, made, put, shows

Options = Mapping[str, str]


def keys(table: Any) -> list[int]:
    """Those of the rows that a handle reads."""
    return sorted(table.read().to_arrow()["k"].to_pylist())


def handle(table: Any, options: Options) -> Any:
    """The table with the options of one handle."""
    return tc.Table(
        replace(table.access, schema=tc.open_table(table.uri, options=dict(options)).definition)
    )


def three(**more: str) -> Any:
    """A snapshot an hour from noon on, each of one key; tags of the first and the last."""
    clock = SetClock()
    table = made(more, keys=(), clock=clock)
    for key in (1, 2, 3):
        put(table, [key])
        clock.at_ms += HOUR_MS
    table.tags.create("2026-11-19", snapshot=1)
    table.tags.create("3", snapshot=2)
    return table


@shows("scan.snapshot-id", "2", [1, 2, 3], [1, 2])
def by_snapshot(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("scan.tag-name", "2026-11-19", [1, 2, 3], [1])
def by_tag(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("scan.version", "2", [1, 2, 3], [1, 2])
def by_version(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("scan.timestamp-millis", str(NOON + HOUR_MS), [1, 2, 3], [1, 2])
def by_time(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("scan.timestamp", "2026-11-20 13:00:00", [1, 2, 3], [1, 2])
def by_timestamp(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("scan.watermark", "20", [1, 2, 3], [1, 2])
def by_watermark(options: Options) -> Any:
    table = made(keys=())
    for key in (1, 2, 3):
        put(table, [key], commit=tc.CommitAs(watermark=key * 10))
    return keys(handle(table, options))


@shows("scan.mode", "from-snapshot", "OptionError", [1, 2])
def by_mode(options: Options) -> Any:
    return keys(handle(three(), {"scan.snapshot-id": "2", **options})) if options else "OptionError"


@shows("incremental-between", "1,3", [1, 2, 3], [2, 3])
def between(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("incremental-between-timestamp", f"{NOON},{NOON + HOUR_MS}", [1, 2, 3], [2])
def between_times(options: Options) -> Any:
    return keys(handle(three(), options))


@shows("incremental-between-tag-to-snapshot", "true", [], [2])
def between_numbers(options: Options) -> Any:
    """Two tags tell two states apart; with this they stand for the changes between their snapshots."""
    table = made({"write-only": "true"}, changelog_producer="input")
    put(table, [1])
    table.tags.create("before")
    put(table, [2])
    put_kinds(table, ("-D", 2, 2))
    table.tags.create("after")
    asked = {"incremental-between": "before,after", **options}
    return handle(table, asked).read().to_arrow()["v"].to_pylist()


@shows("incremental-between-scan-mode", "diff", [2], [])
def between_states(options: Options) -> Any:
    """A row that came and went is a change, and no difference."""
    table = made({"write-only": "true"}, changelog_producer="input")
    put(table, [1])
    put(table, [2])
    put_kinds(table, ("-D", 2, 2))
    return keys(handle(table, {"incremental-between": "1,3", **options}))


@shows("table-read.sequence-number.enabled", "true", False, True)
def numbers(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return "_SEQUENCE_NUMBER" in table.system("audit_log").schema.names


@shows("incremental-to-auto-tag", "2026-11-20", [1, 2, 3, 4], [2, 3])
def to_tag(options: Options) -> Any:
    table = three()
    table.tags.create("2026-11-20", snapshot=3)
    put(table, [4])
    return keys(handle(table, {"tag.automatic-creation": "process-time", **options}))


def _damaged(options: Options, damage: Any) -> Any:
    table = made(options, keys=())
    put(table, [1])
    put(table, [2])
    damage(table.access.storage, files(table, "/data-")[0])
    return error_of(lambda: keys(table)) or len(keys(table))


@shows("scan.ignore-lost-files", "true", "FilesExpiredError", 1)
def lost(options: Options) -> Any:
    return _damaged(options, lambda storage, path: storage.delete([path]))


@shows("scan.ignore-corrupt-files", "true", "CorruptFileError", 1)
def corrupt(options: Options) -> Any:
    return _damaged(options, lambda storage, path: storage.write(path, b"PAR1 no more"))


class _EnoughError(Exception):
    """The stream would wait."""


class _Stops(SetClock):
    def sleep_ms(self, duration_ms: int) -> None:
        raise _EnoughError(duration_ms)


def _followed(table: Any, options: Options) -> tuple[list[int], int]:
    """The keys that a stream gives, and how long it then would wait."""
    stream: Iterator[Any] = handle(
        tc.Table(replace(table.access, clock=_Stops())), options
    ).follow()
    found: list[int] = []
    try:
        for batch in stream:
            found += batch["k"].to_pylist()
    except _EnoughError as enough:
        return found, enough.args[0]
    return found, 0


@shows("streaming.read.snapshot.delay", "1 h", [1, 2], [1])
def delay(options: Options) -> Any:
    clock = SetClock()
    table = made(keys=(), clock=clock)
    clock.at_ms -= 2 * HOUR_MS
    put(table, [1])
    clock.at_ms += 2 * HOUR_MS
    put(table, [2])
    more = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
    return _followed(table, {**more, **options})[0]


@shows("continuous.discovery-interval", "7 s", 1_000, 7_000)
def discovery(options: Options) -> Any:
    table = made(keys=())
    put(table, [1])
    return _followed(table, options)[1]


def _consumed(options: Options) -> list[int]:
    table = three()
    table.access.storage.write("consumer/consumer-c", b'{"nextSnapshot": 3}')
    more = {"scan.mode": "from-snapshot", "scan.snapshot-id": "1"}
    return _followed(table, {**more, **options})[0]


@shows("consumer-id", "c", [1, 2, 3], [3])
def progress(options: Options) -> Any:
    return _consumed(options)


@shows("consumer.ignore-progress", "true", [3], [1, 2, 3])
def progress_ignored(options: Options) -> Any:
    return _consumed({"consumer-id": "c", **options})


@shows("consumer.changelog-only", "true", [1, 2, 3], [3])
def consumer(options: Options) -> Any:
    """Whether a consumer keeps snapshots, or their changelogs alone."""
    table = made({"write-only": "true", **options}, keys=())
    for key in (1, 2, 3):
        put(table, [key])
    table.access.storage.write("consumer/consumer-c", b'{"nextSnapshot": 1}')
    table.expire_snapshots(retain_max=1, retain_min=1)
    return [one.id for one in table.snapshots()]


@shows("compaction.small-file-ratio", "0.000001", 1, 3)
def small_files(options: Options) -> Any:
    """Only what is far below the target is packed."""
    table = made({"write-only": "true", "compaction.min.file-num": "2", **options}, keys=())
    for key in range(3):
        put(table, [key])
    table.compact(strategy="minor")
    return len(live(table))


@shows("num-sorted-run.stop-trigger", "3", 5, 3)
def stop_trigger(options: Options) -> Any:
    """From so many runs on a table is called urgent."""
    table = made({"write-only": "true", "num-sorted-run.compaction-trigger": "2", **options})
    for number in range(1, 12):
        put(table, [1])
        if table.health().to_document()["actions"]["compact"]["verdict"] == "urgent":
            return number
    return None


@shows("cross-partition-upsert.index-ttl", "1 h", [("b", 1)], [("a", 1), ("b", 1)])
def index_ttl(options: Options) -> Any:
    """Where a key lay is forgotten after that time: its old row stays."""
    clock = SetClock()
    table = made({"bucket": "-1", **options}, keys=("k",), by=("dt",), clock=clock)
    put(table, [1], dt="a")
    clock.at_ms += 3 * HOUR_MS
    put(table, [1], dt="b")
    found = table.read().to_arrow().to_pylist()
    return sorted((one["dt"], one["k"]) for one in found)
