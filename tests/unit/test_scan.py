"""Scans without files: splits, pruning of manifests, time travel, ranges and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from table_core.datatypes.text import parse_type
from table_core.errors import (
    ArgumentError,
    NotFoundError,
    OptionError,
    UnsupportedFeatureError,
)
from table_core.ondisk.binary_row import decode_row, encode_row, sort_key
from table_core.ondisk.data_file import DataFile, EntryKind, ManifestEntry, SimpleStats
from table_core.ondisk.deletion_vector import DeletionRange
from table_core.ondisk.index_manifest import IndexEntry
from table_core.ondisk.manifest_meta import ManifestMeta
from table_core.ondisk.snapshot import CommitKind, Snapshot
from table_core.options.table import TableOptions
from table_core.predicate.bind import bind
from table_core.predicate.sql import parse_where
from table_core.scan.follow import Deliver, Ended, Follower, Levels, Skip, Start, Wait, start
from table_core.scan.incremental import (
    ChangeMode,
    ChangeRange,
    change_mode,
    changed_buckets,
    delivers_changes,
    reads_of,
    requested_range,
)
from table_core.scan.plan import limited, live_entries
from table_core.scan.prune import Explain, Pruner
from table_core.scan.split import batch_splits, change_splits, deletion_refs
from table_core.scan.time_travel import resolve
from table_core.schema.evolve import create

INT = parse_type("INT")
COLUMNS = pa.schema([("p", pa.int32()), ("k", pa.int32())])
APPEND = create(COLUMNS, partition_by=("p",), now_ms=0)
MB = 1 << 20


def keyed(**options: str):
    return create(COLUMNS, primary_key=("k",), options={"bucket": "1"} | options, now_ms=0)


def file(name: str, low: int = 0, high: int = 9, level: int = 0, **more) -> DataFile:
    return DataFile(
        **{
            "file_name": name,
            "file_size": 10 * MB,
            "row_count": 10,
            "min_key": encode_row([INT], [low]),
            "max_key": encode_row([INT], [high]),
            "min_sequence_number": 0,
            "max_sequence_number": 9,
            "schema_id": 0,
            "level": level,
            "delete_row_count": 0,
        }
        | more
    )


def entry(f: DataFile, partition: int | None = None, bucket: int = 0, kind=EntryKind.ADD):
    row = bytes(12) if partition is None else encode_row([INT], [partition])
    return ManifestEntry(kind, row, bucket, -1, f)


def bounds(f: DataFile):
    return tuple(sort_key([INT], decode_row([INT], key)) for key in (f.min_key, f.max_key))


def splits(schema, *files: DataFile, **more):
    entries = [f if isinstance(f, ManifestEntry) else entry(f) for f in files]
    found = batch_splits(schema, schema.options, entries, snapshot_id=1, bounds=bounds, **more)
    return [("".join(f.file_name for f in s.files), s.raw_convertible) for s in found]


def test_append_files_come_oldest_first_and_are_packed_in_order() -> None:
    files = [file(n, file_size=60 * MB, min_sequence_number=s) for n, s in [("c", 2), ("a", 0), ("b", 1)]]  # fmt: skip
    assert splits(create(COLUMNS, now_ms=0), *files) == [("ab", True), ("c", True)]


def test_small_files_weigh_as_much_as_opening_them() -> None:
    files = [file(str(n % 10), file_size=1) for n in range(40)]
    assert [len(names) for names, _ in splits(create(COLUMNS, now_ms=0), *files)] == [32, 8]


def test_one_level_above_zero_is_raw() -> None:
    files = [file("a", 0, 1, 5), file("b", 2, 3, 5)]
    assert splits(keyed(), *files) == [("ab", True)]
    assert splits(keyed(), *files, file("c", 2, 9, 4)) == [("abc", False)]
    assert splits(keyed(), file("a", 0, 1, 5, delete_row_count=1), file("b", 2, 3, 5)) == [
        ("ab", False)
    ]
    assert splits(keyed(), file("a", 0, 1, 5, delete_row_count=None)) == [("a", False)]


def test_a_single_level_zero_file_is_raw_unless_it_deletes() -> None:
    assert splits(keyed(), file("a")) == [("a", True)]
    assert splits(keyed(), file("a", delete_row_count=1)) == [("a", False)]
    assert splits(keyed(), file("a", 0, 1), file("b", 2, 3)) == [("ab", False)]


def test_sections_are_packed_whole() -> None:
    big = 100 * MB
    files = [file("a", 0, 2, 5, file_size=big), file("b", 1, 3, file_size=big), file("c", 4, 5, 5, file_size=big)]  # fmt: skip
    assert splits(keyed(), *files) == [("ab", False), ("c", True)]


@pytest.mark.parametrize(
    "options", [{"merge-engine": "first-row"}, {"deletion-vectors.enabled": "true"}]
)
def test_level_zero_is_invisible_where_compaction_makes_rows_final(options) -> None:
    files = [file("a", 0, 3, 5), file("b", 1, 2, 4), file("c")]

    def seen(options, **more) -> str:
        schema = keyed(**options)
        pruner = Pruner(schema, schema.options, None, schema_of=lambda _: schema, **more)
        return "".join(f.file_name for f in files if pruner.keep_entry(entry(f)))

    assert seen(options) == "ab"
    assert seen(options, streams=True) == seen(options, batch=False) == "abc"
    assert splits(keyed(**options), *files[:2]) == [("ab", True)]
    both = {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}
    assert seen(both) == "abc"
    assert splits(keyed(**both), *files) == [("acb", False)]


def test_deletion_vectors_travel_with_their_files() -> None:
    index = [
        IndexEntry(partition=bytes(12), bucket=0, index_type="DELETION_VECTORS", file_name="i", file_size=9, row_count=1, ranges=(DeletionRange("a", 1, 24),)),
        IndexEntry(partition=bytes(12), bucket=0, index_type="HASH", file_name="h", file_size=9, row_count=1),
    ]  # fmt: skip
    refs = deletion_refs(index)
    assert refs == {"a": ("i", 1, 24, None)}
    schema = keyed(**{"deletion-vectors.enabled": "true"})
    found = batch_splits(schema, schema.options, [entry(file("a", 0, 1, 5)), entry(file("b", 2, 3, 5))], snapshot_id=1, bounds=bounds, deletions=refs)  # fmt: skip
    assert [dict(s.deletions) for s in found] == [refs]
    assert [len(limited(found, n)) for n in (0, 1)] == [0, 1]


def test_partitions_come_by_creation_or_by_value() -> None:
    entries = [entry(file(n), p) for n, p in [("x", 2), ("y", 1), ("z", 2)]]
    assert splits(APPEND, *entries) == [("xz", True), ("y", True)]
    by_value = replace(APPEND, raw_options={"scan.plan-sort-partition": "true"})
    assert splits(by_value, *entries) == [("y", True), ("xz", True)]


def test_postponed_files_are_invisible() -> None:
    assert splits(keyed(bucket="-2"), entry(file("a"), bucket=-2)) == []


def test_limit_stops_at_enough_rows() -> None:
    schema = create(COLUMNS, options={"source.split.target-size": "1 mb"}, now_ms=0)
    found = batch_splits(schema, schema.options, [entry(file(n)) for n in "abcd"], snapshot_id=1, bounds=bounds)  # fmt: skip
    assert [len(limited(found, n)) for n in (1, 10, 11, 99)] == [1, 1, 2, 4]


def test_manifests_outside_the_partitions_are_never_opened() -> None:
    def meta(name: str, low: int | None, high: int | None, nulls: int = 0) -> ManifestMeta:
        stats = SimpleStats(encode_row([INT], [low]), encode_row([INT], [high]), (nulls,))
        return ManifestMeta(file_name=name, file_size=1, num_added_files=2, num_deleted_files=0, partition_stats=stats, schema_id=0)  # fmt: skip

    opened = []

    def read(metas: Iterable[ManifestMeta], keep: object) -> Iterator[list[ManifestEntry]]:
        for m in metas:
            opened.append(m.file_name)
            yield [entry(file("f" + m.file_name), 2), entry(file("g" + m.file_name), 1)]

    bound = bind(parse_where("p = 2"), APPEND.fields)
    pruner = Pruner(APPEND, APPEND.options, bound, schema_of=lambda _: APPEND)
    metas = [meta("a", 1, 1), meta("b", 1, 3), meta("c", None, None, 2), meta("d", None, None)]
    live = live_entries(pruner, metas, read)
    assert opened == ["b", "d"]
    assert [e.file.file_name for e in live] == ["fb", "fd"]
    explain = pruner.explain()
    assert explain == Explain(manifests=4, manifests_pruned=2, entries=4, pruned_by_partition=2)


# ------------------------------------------------------------------------------------ timelines
def snapshot(id: int, kind: str = "APPEND", **more) -> Snapshot:
    return Snapshot(
        **{
            "id": id,
            "schema_id": 0,
            "base_manifest_list": "b",
            "delta_manifest_list": f"d{id}",
            "commit_user": "u",
            "commit_identifier": id,
            "commit_kind": CommitKind(kind),
            "time_millis": id * 100,
            "total_record_count": 5,
            "delta_record_count": 1,
        }
        | more
    )


class Snapshots:
    def __init__(self, *found: Snapshot, **tags: Snapshot) -> None:
        self.found, self.tags = {s.id: s for s in found}, tags

    def ids(self) -> list[int]:
        return sorted(self.found)

    def head(self) -> Snapshot | None:
        return self.found[max(self.found)] if self.found else None

    def snapshot(self, id: int) -> Snapshot:
        if id not in self.found:
            raise NotFoundError(f"no snapshot {id}", name=str(id), available=self.ids())
        return self.found[id]

    def tag(self, name: str) -> Snapshot:
        if name not in self.tags:
            raise NotFoundError(f"no tag {name}", name=name, available=list(self.tags))
        return self.tags[name]

    def has_tag(self, name: str) -> bool:
        return name in self.tags


LINE = Snapshots(
    snapshot(3, watermark=30),
    snapshot(4, "COMPACT", watermark=40),
    snapshot(5, watermark=40),
    t=snapshot(1),
)


def options(**given: str) -> TableOptions:
    """``scan__mode`` is ``scan.mode``."""
    return TableOptions.parse({k.replace("__", ".").replace("_", "-"): v for k, v in given.items()})


@pytest.mark.parametrize(
    ("arguments", "given", "id"),
    [
        ({}, {}, 5),
        ({"snapshot": 3}, {}, 3),
        ({"tag": "t"}, {}, 1),
        ({"timestamp_ms": 499}, {}, 4),
        ({"timestamp_ms": 300}, {}, 3),
        ({"watermark": 31}, {}, 4),
        ({}, {"scan__snapshot-id": "4"}, 4),
        ({"snapshot": 3}, {"scan__snapshot-id": "4"}, 3),
        ({}, {"scan__version": "t"}, 1),
        ({}, {"scan__version": "3"}, 3),
        ({}, {"scan__timestamp": "1970-01-01 00:00:00.450"}, 4),
        ({}, {"scan__mode": "compacted-full"}, 4),
        ({}, {"scan__mode": "compacted-full", "full-compaction__delta-commits": "3"}, 5),
        ({}, {"scan__mode": "latest-full"}, 5),
    ],
)
def test_time_travel_finds_the_state(arguments, given, id) -> None:
    found = resolve(options(**given), LINE, **arguments)
    assert found.snapshot is not None
    assert found.snapshot.id == id
    assert found.explicit == bool(
        arguments or set(given) - {"scan__mode", "full-compaction__delta-commits"}
    )


def test_time_travel_refuses_what_is_not_there_or_not_one_state() -> None:
    for arguments in ({"timestamp_ms": 299}, {"watermark": 41}, {"tag": "x"}, {"snapshot": 9}):
        with pytest.raises(NotFoundError):
            resolve(options(), LINE, **arguments)
    with pytest.raises(ArgumentError):
        resolve(options(), LINE, snapshot=3, tag="t")
    with pytest.raises(OptionError):
        resolve(options(scan__mode="from-snapshot"), LINE)
    assert resolve(options(), Snapshots()).snapshot is None
    assert resolve(options(scan__mode="latest-delta"), LINE).delta_only


options_of = {
    "none": options(),
    "lookup": options(changelog_producer="lookup"),
    "full-compaction": options(changelog_producer="full-compaction"),
}


def test_which_snapshots_deliver_changes() -> None:
    changes = {"changelog_manifest_list": "c", "changelog_record_count": 2}
    assert delivers_changes(snapshot(1, "COMPACT", **changes), "lookup")
    assert not delivers_changes(snapshot(1), "lookup")
    assert delivers_changes(snapshot(1), "none")
    assert not delivers_changes(snapshot(1, delta_record_count=0), "none")
    assert delivers_changes(snapshot(1, "OVERWRITE", delta_record_count=0), "none")
    assert not delivers_changes(snapshot(1, "COMPACT"), "none")
    assert not delivers_changes(snapshot(1, "ANALYZE"), "none")


def test_where_changes_are_read_from() -> None:
    with_log = snapshot(2, "COMPACT", changelog_manifest_list="c")
    assert reads_of(with_log, ChangeMode.CHANGELOG)[0] == "c"
    assert (
        reads_of(replace(with_log, commit_kind=CommitKind.OVERWRITE), ChangeMode.CHANGELOG)[0]
        is None
    )
    assert [reads_of(snapshot(2, k), ChangeMode.DELTA)[0] for k in ("APPEND", "COMPACT", "OVERWRITE")] == ["d2", None, None]  # fmt: skip
    assert change_mode("auto", options_of["none"]) is ChangeMode.DELTA
    assert change_mode("auto", options_of["lookup"]) is ChangeMode.CHANGELOG
    with pytest.raises(ArgumentError):
        change_mode("both", options_of["none"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"incremental_between": "3,5"}, ChangeRange(3, 5, ChangeMode.DELTA)),
        ({"incremental_between": "t,t"}, ChangeRange(1, 1, ChangeMode.DIFF)),
        ({"incremental_between_timestamp": "350,450"}, ChangeRange(3, 4, ChangeMode.DELTA)),
        ({"incremental_between_timestamp": "0,450"}, ChangeRange(2, 4, ChangeMode.DELTA)),
        ({}, None),
    ],
)
def test_ranges_of_options(given, expected) -> None:
    found = requested_range(options(**given), LINE)
    states = None if found is None else found.states
    assert found == (expected and replace(expected, states=states))
    assert (states is not None) == (given.get("incremental_between") == "t,t")


@pytest.mark.parametrize("text", ["5,3", "3", "3,", "a", "t, 4"])
def test_bad_ranges_are_refused(text) -> None:
    with pytest.raises(OptionError):
        requested_range(options(incremental_between=text), LINE)


def test_diff_reads_the_files_that_only_one_state_has() -> None:
    a, b, c = (entry(file(n), 1) for n in "abc")
    other = entry(file("o"), 2)
    (found,) = changed_buckets([a, b, other], [a, c, other])
    assert (found.before, found.after) == ((b,), (c,))
    lifted = entry(file("a", level=5), 1)
    (found,) = changed_buckets([a, b], [lifted, b])
    assert (found.before, found.after) == ((a,), (lifted,))
    assert changed_buckets([a, b], [b, a]) == []


def test_diff_across_a_rescale_is_refused() -> None:
    was, now = entry(file("a"), 1), entry(file("b"), 1)
    with pytest.raises(UnsupportedFeatureError, match=r"had 4 buckets .* has 8"):
        changed_buckets([replace(was, total_buckets=4)], [replace(now, total_buckets=8)])


def test_change_splits_keep_the_order_of_the_files() -> None:
    entries = [entry(file("b"), 1), entry(file("gone"), 1, kind=EntryKind.DELETE), entry(file("a"), 1)]  # fmt: skip
    assert [[f.file_name for f in s.files] for s in change_splits(entries, snapshot_id=1)] == [
        ["b", "a"]
    ]
    both = change_splits(entries, snapshot_id=1, with_deleted=True)
    assert [(s.retracts, s.files[0].file_name) for s in both] == [(True, "gone"), (False, "b")]


# -------------------------------------------------------------------------------------- streams
@pytest.mark.parametrize(
    ("given", "next_id", "full"),
    [
        ({}, 6, 5),
        ({"scan__mode": "latest"}, 6, None),
        ({"scan__mode": "compacted-full"}, 5, 4),
        ({"scan__mode": "from-snapshot", "scan__snapshot-id": "4"}, 4, None),
        ({"scan__snapshot-id": "1"}, 3, None),
        ({"scan__snapshot-id": "9"}, 9, None),
        ({"scan__mode": "from-snapshot-full", "scan__snapshot-id": "4"}, 5, 4),
        ({"scan__timestamp-millis": "400"}, 4, None),
        ({"scan__timestamp-millis": "401"}, 5, None),
        ({"scan__timestamp-millis": "1"}, 3, None),
        ({"scan__timestamp": "1970-01-01 00:00:00.401"}, 5, None),
        ({"scan__file-creation-time-millis": "7"}, 6, 5),
        ({"scan__tag-name": "t"}, 3, None),
    ],
)
def test_streams_start_where_the_mode_says(given, next_id, full) -> None:
    found = start(options(**given), LINE)
    assert (found.next_id, found.full.id if found.full else None) == (next_id, full)


def test_consumers_and_positions_come_before_the_mode() -> None:
    assert start(options(), LINE, consumer_next=4) == Start(next_id=4)
    assert start(options(), LINE, after=3) == Start(next_id=4)
    assert start(options(consumer__ignore_progress="true"), LINE, consumer_next=4).next_id == 6
    assert start(options(), Snapshots()) == Start(next_id=1)
    assert start(options(scan__mode="latest"), Snapshots()) == Start(next_id=1)
    for mode in ("latest-delta", "incremental", "from-timestamp", "from-snapshot"):
        with pytest.raises(OptionError):
            start(options(scan__mode=mode), LINE)


def test_the_full_read_leaves_out_levels_whose_changes_are_still_to_come() -> None:
    found = [start(options_of[p], LINE).levels for p in ("none", "lookup", "full-compaction")]
    assert found == [Levels.ALL, Levels.ABOVE_ZERO, Levels.TOP]


def step(given: TableOptions, found: Snapshot | None, key: bool = True, **more):
    arguments = {"earliest": 1, "now_ms": 10_000} | more
    return Follower(given, key).step(found.id if found else 6, found, **arguments)


def test_each_next_snapshot_is_delivered_skipped_or_awaited() -> None:
    none, lookup = options_of["none"], options_of["lookup"]
    assert step(none, snapshot(6)) == Deliver("d6")
    assert step(none, snapshot(6, "COMPACT")) == Skip()
    assert step(none, snapshot(6, "OVERWRITE")) == Skip()
    emits = options(streaming_read_overwrite="true", streaming_read_append_overwrite="true")
    assert step(emits, snapshot(6, "OVERWRITE")) == Deliver("d6", with_deleted=True)
    assert step(emits, snapshot(6, "OVERWRITE"), key=False) == Deliver("d6")
    assert step(lookup, snapshot(6)) == Skip()
    assert step(lookup, snapshot(6, "COMPACT", changelog_manifest_list="c")) == Deliver("c")
    assert step(none, None) == Wait(10_000)
    delayed = options(streaming__read__snapshot__delay="1 s")
    assert step(delayed, snapshot(6), now_ms=700) == Wait(900)
    assert step(delayed, snapshot(6), now_ms=1600) == Deliver("d6")


def test_a_stream_that_lost_its_place_says_so() -> None:
    with pytest.raises(NotFoundError, match="has expired"):
        step(options(), None, earliest=7)


def test_bounded_streams_end_before_the_first_snapshot_past_the_bound() -> None:
    bounded = options(scan__bounded__watermark="40")
    assert step(bounded, snapshot(6, watermark=40)) == Deliver("d6")
    assert step(bounded, snapshot(6, watermark=41)) == Ended()
    assert not Follower(bounded, True).ends_after_full(start(bounded, LINE))
    low = options(scan__bounded__watermark="39")
    assert Follower(low, True).ends_after_full(start(low, LINE))
