"""Time travel, tags, branches, rollback, expiry, orphan files, statistics and system tables.

Facts from ``TimeTravelUtilsTest``, ``WatermarkTimeTravelTest``, ``TagManagerTest``, ``TagAutoManagerTest``, ``FileSystemBranchManagerTest``,
``BranchSqlITCase``, ``ExpireSnapshotsTest``, ``LocalOrphanFilesCleanTest``, ``StatsTableTest`` and the tests of system tables.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import table_core as tc
from tests.upstream import shapes
from tests.upstream.play import START_MS, Play, area, case, shape
from tests.upstream.shapes import AP, PARTED
from tests.upstream.steps import (
    after_ms,
    alter,
    changes,
    do,
    gives,
    names,
    put,
    refused,
    rows,
    snapshots,
    system,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case

__all__ = ["CASES"]

N = None
KV = shapes.KV.with_options({"write-only": "true"})
DAY_MS = 86_400_000
THREE = (put((1, "a"), watermark=100), put((1, "b"), watermark=200), put((2, "c"), watermark=300))
BACK = (put((1, "a")), put((1, "b")), put((2, "c")))


class At:
    """A read of the newest state at the start of the case plus so many milliseconds, as an option says it."""

    def __init__(self, key: str, make: Any, *expected: tuple[Any, ...]) -> None:
        self.key, self.make, self.expected = key, make, expected

    def run(self, play: Play) -> None:
        """Look the moment of snapshot 2 up, and read by it."""
        moment = play.table().snapshot(2).time_millis
        rows(*self.expected, options={self.key: self.make(moment)}).run(play)


def text_of(ms: int) -> str:
    """A moment as Paimon's options take it, in UTC."""
    return dt.datetime.fromtimestamp(ms / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


TRAVEL = (
    case("a state by the id of its snapshot", KV, *THREE, rows((1, "a"), snapshot=1), rows((1, "b"), snapshot=2), rows((1, "b"), (2, "c"), snapshot=3)),
    case("a state by scan.snapshot-id", KV, *THREE, rows((1, "a"), options={"scan.snapshot-id": "1"})),
    case("a snapshot that is not there is an error with those that are", KV, *THREE, refused(rows(snapshot=9), "3")),
    case("snapshot 0 is an error", KV, *THREE, refused(rows(snapshot=0), "1")),
    case("a state by a moment, in milliseconds", KV, *THREE, At("scan.timestamp-millis", str, (1, "b"))),
    case("a state by a moment, as text", KV, *THREE, At("scan.timestamp", text_of, (1, "b"))),
    case("a moment before all snapshots is an error", KV, *THREE, refused(rows(timestamp=1), "1")),
    case("a moment after all is the newest state", KV, *THREE, rows((1, "b"), (2, "c"), timestamp=START_MS * 2)),
    case("a state by a tag", KV, *THREE, do("tags.create", "x", snapshot=2), rows((1, "b"), tag="x")),
    case("a state by scan.tag-name", KV, *THREE, do("tags.create", "x", snapshot=1), rows((1, "a"), options={"scan.tag-name": "x"})),
    case("a tag that is not there is an error with those that are", KV, *THREE, do("tags.create", "x"), refused(rows(tag="y"), "x")),
    case("a state by a version that is an id", KV, *THREE, rows((1, "a"), options={"scan.version": "1"})),
    case("a state by a version that is a tag", KV, *THREE, do("tags.create", "x", snapshot=2), rows((1, "b"), options={"scan.version": "x"})),
    case("a version of digits is a tag first", KV, *THREE, do("tags.create", "3", snapshot=1), rows((1, "a"), options={"scan.version": "3"})),
    case("a version of neither is an error", KV, *THREE, refused(rows(options={"scan.version": "nope"}), "nope")),
    case("a state by a watermark is the first that has it", KV, *THREE, rows((1, "b"), options={"scan.watermark": "150"})),
    case("a state by exactly that watermark", KV, *THREE, rows((1, "a"), options={"scan.watermark": "100"})),
    case("a watermark after all is an error", KV, *THREE, refused(rows(options={"scan.watermark": "999"}), "999")),
    case("a state by the time of creation of its files", AP, *BACK, rows((1, "a"), (1, "b"), (2, "c"), options={"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1"})),
    case("the newest compacted state", KV, put((1, "a")), do("compact"), put((1, "b")), rows((1, "a"), options={"scan.mode": "compacted-full"})),
    case("a condition and a projection of an older state", KV, *THREE, rows(("b",), columns=["v"], where="k = 1", snapshot=2)),
    case("two starts at once are refused", KV, *THREE, refused(rows(options={"scan.snapshot-id": "1", "scan.timestamp-millis": "1"}), "scan.")),
    case("a snapshot and a tag at once are refused", KV, *THREE, do("tags.create", "x"), refused(rows(snapshot=1, tag="x"), "tag")),
    case("an empty table has no state, and no rows", KV, rows()),
    case("a tag of a compacted state", KV, put((1, "a")), put((1, "b")), do("compact"), do("tags.create", "x"), put((1, "c")), rows((1, "b"), tag="x")),
)  # fmt: skip

TAGS = (
    case("a tag is of the newest snapshot by default", KV, *BACK, do("tags.create", "x"), gives("snapshot.id", 3)),
    case("a tag is of a snapshot", KV, *BACK, do("tags.create", "x", snapshot=1), gives("snapshot.id", 1)),
    case("tags are listed by name", KV, *BACK, do("tags.create", "b"), do("tags.create", "a"), names("tags.list()", "a", "b")),
    case("a tag's name is taken once", KV, *BACK, do("tags.create", "x"), refused(do("tags.create", "x"), "x")),
    case("a tag that may be there already", KV, *BACK, do("tags.create", "x", snapshot=1), do("tags.create", "x", snapshot=2, if_not_exists=True), gives("snapshot.id", 1)),
    case("a tag needs a snapshot", KV, refused(do("tags.create", "x"), "snapshot")),
    case("a tag of a snapshot that is not there is refused", KV, *BACK, refused(do("tags.create", "x", snapshot=9), "9")),
    case("a blank name is refused", KV, *BACK, refused(do("tags.create", " "), "name")),
    case("a tag is deleted", KV, *BACK, do("tags.create", "x"), do("tags.delete", "x"), names("tags.list()")),
    case("a tag that is not there is not deleted", KV, *BACK, refused(do("tags.delete", "x"), "x")),
    case("a tag is renamed", KV, *BACK, do("tags.create", "x", snapshot=1), do("tags.rename", "x", "y"), rows((1, "a"), tag="y"), names("tags.list()", "y")),
    case("a tag is not renamed to one that is there", KV, *BACK, do("tags.create", "x"), do("tags.create", "y"), refused(do("tags.rename", "x", "y"), "y")),
    case("a tag is replaced", KV, *BACK, do("tags.create", "x", snapshot=1), do("tags.replace", "x", snapshot=2), rows((1, "b"), tag="x")),
    case("a tag keeps its state from expiry", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), rows((1, "a"), tag="x"), snapshots("APPEND")),
    case("a deleted tag's files go, those in use stay", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), do("tags.delete", "x"), rows((1, "b"), (2, "c"))),
    case("a tag with a time goes after it", KV, *BACK, do("tags.create", "x", time_retained="1 d"), after_ms(2 * DAY_MS), do("expire_tags"), names("tags.list()")),
    case("a tag with a time stays until then", KV, *BACK, do("tags.create", "x", time_retained="3 d"), after_ms(2 * DAY_MS), do("expire_tags"), names("tags.list()", "x")),
    case("a tag without a time stays", KV, *BACK, do("tags.create", "x"), after_ms(999 * DAY_MS), do("expire_tags"), names("tags.list()", "x")),
    case("a table can have a time for its tags", KV, *BACK, do("tags.create", "x"), after_ms(2 * DAY_MS), do("expire_tags"), names("tags.list()"), options={"tag.default-time-retained": "1 d"}),
    case("a tag of a snapshot that only a tag keeps is made from that tag", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), do("tags.create", "y", snapshot=1), rows((1, "a"), tag="y")),
    case("a daily tag is made of the first commit after midnight", KV, put((1, "a")), after_ms(DAY_MS), put((1, "b")), names("tags.list()", "2023-11-13", "2023-11-14"), options={"write-only": "false", "tag.automatic-creation": "process-time", "tag.creation-period": "daily"}),
    case("an hourly tag is named by its hour", KV, put((1, "a")), after_ms(3_600_000), put((1, "b")), names("tags.list()", "2023-11-14 21", "2023-11-14 22"), options={"write-only": "false", "tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}),
    case("a tag's name can have no dashes", KV, put((1, "a")), names("tags.list()", "20231113"), options={"write-only": "false", "tag.automatic-creation": "process-time", "tag.creation-period": "daily", "tag.period-formatter": "without_dashes"}),
    case("a tag waits for late rows", KV, put((1, "a")), after_ms(3_600_000), put((1, "b")), names("tags.list()", "2023-11-14 21"), after_ms(1_800_000), put((1, "c")), names("tags.list()", "2023-11-14 21", "2023-11-14 22"), options={"write-only": "false", "tag.automatic-creation": "process-time", "tag.creation-period": "hourly", "tag.creation-delay": "30 min"}),
    case("tags by watermark follow the watermark", KV, put((1, "a"), watermark=START_MS), put((1, "b"), watermark=START_MS + DAY_MS), names("tags.list()", "2023-11-13", "2023-11-14"), options={"write-only": "false", "tag.automatic-creation": "watermark", "tag.creation-period": "daily"}),
    case("only so many automatic tags stay", KV, put((1, "a")), after_ms(DAY_MS), put((1, "b")), after_ms(DAY_MS), put((1, "c")), names("tags.list()", "2023-11-14", "2023-11-15"), options={"write-only": "false", "tag.automatic-creation": "process-time", "tag.creation-period": "daily", "tag.num-retained-max": "2"}),
)  # fmt: skip

BRANCHES = (
    case("a branch from a tag has its state", KV, *BACK, do("tags.create", "x", snapshot=2), do("branches.create", "b", tag="x"), rows((1, "b"), branch="b")),
    case("a branch goes on by itself", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), rows((1, "a")), rows((1, "a"), (2, "z"), branch="b")),
    case("main goes on by itself", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((1, "m")), rows((1, "m")), rows((1, "a"), branch="b")),
    case("an empty branch has no rows", KV, put((1, "a")), do("branches.create", "b"), rows(branch="b"), put((5, "e"), branch="b"), rows((5, "e"), branch="b")),
    case("branches are listed", KV, put((1, "a")), do("branches.create", "b"), do("branches.create", "a"), names("branches.list()", "a", "b")),
    case("a branch's name is taken once", KV, put((1, "a")), do("branches.create", "b"), refused(do("branches.create", "b"), "b")),
    case("a branch is not called main", KV, put((1, "a")), refused(do("branches.create", "main"), "main")),
    case("a branch is not called by a number", KV, put((1, "a")), refused(do("branches.create", "10"), "10")),
    case("a branch has no blank name", KV, put((1, "a")), refused(do("branches.create", ""), "name")),
    case("a branch from a tag that is not there is refused", KV, put((1, "a")), refused(do("branches.create", "b", tag="x"), "x")),
    case("a branch that is not there is an error", KV, put((1, "a")), refused(rows(branch="b"), "b")),
    case("a branch is deleted", KV, put((1, "a")), do("branches.create", "b"), do("branches.delete", "b"), names("branches.list()")),
    case("a branch that is not there is not deleted", KV, put((1, "a")), refused(do("branches.delete", "b"), "b")),
    case("a branch is renamed", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), do("branches.rename", "b", "c"), rows((1, "a"), branch="c"), names("branches.list()", "c")),
    case("main takes a branch over", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), do("branches.fast_forward", "b"), rows((1, "a"), (2, "z"))),
    case("a fast-forward takes main's later snapshots back", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((3, "m")), put((2, "z"), branch="b"), do("branches.fast_forward", "b"), rows((1, "a"), (2, "z"))),
    case("main is not taken over by main", KV, put((1, "a")), refused(do("branches.fast_forward", "main"), "main")),
    case("main is not taken over by an empty branch", KV, put((1, "a")), do("branches.create", "b"), refused(do("branches.fast_forward", "b"), "b")),
    case("a branch has tags of its own", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), do("tags.create", "y", branch="b"), rows((1, "a"), (2, "z"), branch="b", tag="y"), names("tags.list()", "x")),
    case("a fallback branch has partitions that main lacks", PARTED, put((1, "a", "x")), do("branches.create", "b"), put((9, "z", "x"), branch="b"), put((2, "b", "y"), branch="b"), alter(tc.SetOption("scan.fallback-branch", "b")), rows((1, "a", "x"), (2, "b", "y"))),
    case("main's partition hides the fallback's", PARTED, do("branches.create", "b"), put((2, "b", "y"), branch="b"), alter(tc.SetOption("scan.fallback-branch", "b")), put((3, "c", "y")), rows((3, "c", "y"))),
    case("a fallback branch must exist", PARTED, put((1, "a", "x")), refused(alter(tc.SetOption("scan.fallback-branch", "b")), "b")),
    case("a branch is compacted by itself", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((1, "z"), branch="b"), do("compact", branch="b"), rows((1, "z"), branch="b"), rows((1, "a"))),
    case("a branch keeps what main's expiry would take", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((1, "b")), put((1, "c")), do("compact", options={"write-only": "false"}), do("expire_snapshots", retain_max=1, retain_min=1), rows((1, "a"), branch="b")),
)  # fmt: skip

ROLLBACK = (
    case("back to a snapshot", KV, *BACK, do("rollback_to", snapshot=1), rows((1, "a")), snapshots("APPEND")),
    case("back to a tag", KV, *BACK, do("tags.create", "x", snapshot=2), do("rollback_to", tag="x"), rows((1, "b"))),
    case("back to a moment", KV, *BACK, do("rollback_to", timestamp=START_MS * 2), rows((1, "b"), (2, "c"))),
    case("back, and on again", KV, *BACK, do("rollback_to", snapshot=1), put((5, "e")), rows((1, "a"), (5, "e")), snapshots("APPEND APPEND")),
    case("back takes later tags along", KV, *BACK, do("tags.create", "x", snapshot=1), do("tags.create", "y", snapshot=3), do("rollback_to", snapshot=2), names("tags.list()", "x")),
    case("back to a tag whose snapshot has expired", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), do("rollback_to", tag="x"), rows((1, "a"))),
    case("back to a snapshot that only a tag keeps", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), do("rollback_to", snapshot=1), rows((1, "a"))),
    case("back to a snapshot that is not there is refused", KV, *BACK, refused(do("rollback_to", snapshot=9), "9")),
    case("back to a tag that is not there is refused", KV, *BACK, refused(do("rollback_to", tag="x"), "x")),
    case("back needs to know where to", KV, *BACK, refused(do("rollback_to"), "snapshot")),
    case("back over a compaction", KV, put((1, "a")), put((1, "b")), do("compact"), do("rollback_to", snapshot=1), rows((1, "a"))),
    case("back over an overwrite", AP, put((1, "a")), put((2, "b"), over="table"), do("rollback_to", snapshot=1), rows((1, "a"))),
    case("back over a delete of partitions", PARTED, put((1, "a", "x")), do("drop_partitions", [{"p": "x"}]), do("rollback_to", snapshot=1), rows((1, "a", "x"))),
)  # fmt: skip

EXPIRY = (
    case("no more than the most stay", KV, *BACK, do("expire_snapshots", retain_max=2, retain_min=1), snapshots("APPEND APPEND"), rows((1, "b"), (2, "c"))),
    case("the least stay, however old", KV, *BACK, do("expire_snapshots", retain_min=2, older_than=START_MS * 2), snapshots("APPEND APPEND")),
    case("younger ones stay", KV, *BACK, do("expire_snapshots", retain_min=1), snapshots("APPEND APPEND APPEND")),
    case("older ones go", KV, *BACK, after_ms(2 * 3_600_000), do("expire_snapshots", retain_min=1), snapshots("APPEND")),
    case("a table says how long they stay", KV, *BACK, after_ms(60_000), do("expire_snapshots", retain_min=1), snapshots("APPEND"), options={"snapshot.time-retained": "10 s"}),
    case("a table says how many stay", KV, *BACK, do("expire_snapshots"), snapshots("APPEND APPEND"), options={"snapshot.num-retained.max": "2", "snapshot.num-retained.min": "1"}),
    case("so many go at once", KV, *BACK, do("expire_snapshots", retain_max=1, retain_min=1, max_deletes=1), snapshots("APPEND APPEND")),
    case("the newest stays", KV, put((1, "a")), do("expire_snapshots", retain_max=1, retain_min=1), snapshots("APPEND"), rows((1, "a"))),
    case("an empty table has nothing to expire", KV, do("expire_snapshots", retain_max=1, retain_min=1), snapshots("")),
    case("less than one is refused", KV, *BACK, refused(do("expire_snapshots", retain_max=0), "retain_max")),
    case("rows of an expired state are an error", KV, *BACK, do("expire_snapshots", retain_max=1, retain_min=1), refused(rows(snapshot=1), "3")),
    case("a compacted table is read after expiry", KV, *BACK, do("compact", options={"write-only": "false"}), do("expire_snapshots", retain_max=1, retain_min=1), rows((1, "b"), (2, "c")), snapshots("COMPACT")),
    case("changelogs can outlive snapshots", KV, put((1, "a")), put((1, "b")), do("expire_snapshots", retain_max=1, retain_min=1), changes((1, "a"), (1, "b"), mode="changelog", after=0), options={"changelog-producer": "input", "changelog.num-retained.max": "10", "changelog.num-retained.min": "5", "snapshot.num-retained.max": "1", "snapshot.num-retained.min": "1"}),
    case("changelogs expire by themselves", KV, put((1, "a")), put((1, "b")), do("expire_snapshots", retain_max=1, retain_min=1), do("expire_changelogs", retain_max=1, retain_min=1), changes((1, "b"), mode="changelog", after=1), options={"changelog-producer": "input", "changelog.num-retained.max": "10", "changelog.num-retained.min": "5", "snapshot.num-retained.max": "1", "snapshot.num-retained.min": "1"}),
    case("a dry run tells and deletes nothing", KV, *BACK, do("expire_snapshots", retain_max=1, retain_min=1, dry_run=True), snapshots("APPEND APPEND APPEND")),
    case("files of no snapshot are orphans after a day", KV, *BACK, do("rollback_to", snapshot=1), after_ms(3 * DAY_MS), do("remove_orphan_files"), rows((1, "a"))),
    case("young orphans stay", KV, *BACK, do("rollback_to", snapshot=1), do("remove_orphan_files"), rows((1, "a"))),
    case("orphans younger than a day are deleted only if told to", KV, *BACK, refused(do("remove_orphan_files", older_than=START_MS + 1), "day")),
    case("files that a tag needs are no orphans", KV, *BACK, do("tags.create", "x", snapshot=1), do("expire_snapshots", retain_max=1, retain_min=1), after_ms(3 * DAY_MS), do("remove_orphan_files"), rows((1, "a"), tag="x")),
    case("files that a branch needs are no orphans", KV, put((1, "a")), do("tags.create", "x"), do("branches.create", "b", tag="x"), put((2, "z"), branch="b"), after_ms(3 * DAY_MS), do("remove_orphan_files"), rows((1, "a"), (2, "z"), branch="b")),
    case("manifests are rewritten into few", KV, *BACK, do("rewrite_manifests"), rows((1, "b"), (2, "c"))),
    case("rows expire by their own time", shape("k INT, t INT", key="k", bucket="1"), put((1, 1_600_000_000), (2, 1_699_999_999)), do("compact"), rows((2, 1_699_999_999)), options={"record-level.expire-time": "1 d", "record-level.time-field": "t"}),
    case("rows expire by milliseconds", shape("k INT, t BIGINT", key="k", bucket="1"), put((1, 1_600_000_000_000), (2, START_MS - 5)), do("compact"), rows((2, START_MS - 5)), options={"record-level.expire-time": "1 d", "record-level.time-field": "t"}),
    case("rows expire by TIMESTAMP", shape("k INT, t TIMESTAMP(3)", key="k", bucket="1"), put((1, dt.datetime(2020, 1, 1)), (2, dt.datetime(2023, 11, 14, 22))), do("compact"), rows((2, dt.datetime(2023, 11, 14, 22))), options={"record-level.expire-time": "1 d", "record-level.time-field": "t"}),
    case("rows without a time do not expire", shape("k INT, t INT", key="k", bucket="1"), put((1, N), (2, 1)), do("compact"), rows((1, N)), options={"record-level.expire-time": "1 d", "record-level.time-field": "t"}),
)  # fmt: skip


def _systems() -> Iterator[Case]:
    two = (put((1, "a"), (2, "b")), put((1, "c")))
    for promise, name, columns_, expected in (
        ("snapshots: ids, kinds and counts", "snapshots", "snapshot_id, schema_id, commit_kind, total_record_count, delta_record_count", ((1, 0, "APPEND", 2, 2), (2, 0, "APPEND", 3, 1))),
        ("schemas: ids and keys", "schemas", "schema_id, partition_keys, primary_keys", ((0, "[]", '["k"]'),)),
        ("files: levels and counts", "files", "bucket, file_format, schema_id, level, record_count, min_key, max_key", ((0, "parquet", 0, 0, 2, "[1]", "[2]"), (0, "parquet", 0, 0, 1, "[1]", "[1]"))),
        ("partitions: counts", "partitions", "record_count, file_count", ((3, 2),)),
        ("buckets: counts", "buckets", "bucket, record_count, file_count", ((0, 3, 2),)),
        ("manifests: counts", "manifests", "num_added_files, num_deleted_files, schema_id", ((1, 0, 0), (1, 0, 0))),
        ("tags: none", "tags", "tag_name", ()),
        ("branches: none", "branches", "branch_name", ()),
        ("consumers: none", "consumers", "consumer_id", ()),
        ("aggregation_fields: the columns", "aggregation_fields", "field_name, function", (("k", "[]"), ("v", "[]"))),
        ("audit_log: rows with their kinds", "audit_log", "rowkind, k, v", (("+I", 1, "c"), ("+I", 2, "b"))),
        ("ro: only compacted rows", "ro", "k, v", ()),
    ):  # fmt: skip
        yield case(f"{promise}", KV, *two, system(name, columns_, *expected))
    yield case("options: those of the table", AP, system("options", "key, value", ("file.format", "orc")), options={"file.format": "orc"})  # fmt: skip
    yield case("tags: names, snapshots, counts", KV, *two, do("tags.create", "x", snapshot=1), system("tags", "tag_name, snapshot_id, schema_id, record_count", ("x", 1, 0, 2)))  # fmt: skip
    yield case("branches: names", KV, *two, do("branches.create", "b"), system("branches", "branch_name", ("b",)))  # fmt: skip
    yield case("consumers: names and positions", KV, *two, do("consumers.reset", "c", 2), system("consumers", "consumer_id, next_snapshot_id", ("c", 2)))  # fmt: skip
    yield case("ro: compacted rows, not those after", KV, put((1, "a")), do("compact", options={"write-only": "false"}), put((1, "b")), system("ro", "k, v", (1, "a")))  # fmt: skip
    yield case("audit_log: deletes are rows", KV, put((1, "a")), put(("-D", 1, "a")), system("audit_log", "rowkind, k, v", ("-D", 1, "a")))  # fmt: skip
    yield case("audit_log: a range of it", KV, put((1, "a")), put((1, "b")), put(("-D", 1, "b")), system("audit_log", "rowkind, k", ("-D", 1), options={"incremental-between": "2,3"}))  # fmt: skip
    yield case("binlog: an update is one row of arrays", KV.with_options({"write-only": "false"}), put((1, "a")), put((1, "b")), system("binlog", "rowkind, k, v", ("+U", [1, 1], ["a", "b"]), options={"incremental-between": "2,4"}), options={"changelog-producer": "lookup"})  # fmt: skip
    yield case("partitions: names and counts", PARTED, put((1, "a", "x"), (2, "b", "y"), (3, "c", "y")), system("partitions", "partition, record_count", ("p=x", 1), ("p=y", 2)))  # fmt: skip
    yield case("files: of an older snapshot", KV, *two, system("files", "record_count", (2,), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("files: of a tag", KV, *two, do("tags.create", "x", snapshot=1), system("files", "record_count", (2,), options={"scan.tag-name": "x"}))  # fmt: skip
    yield case("manifests: of an older snapshot", KV, *two, system("manifests", "num_added_files", (1,), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("partitions: of an older snapshot", KV, *two, system("partitions", "record_count", (2,), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("buckets: of an older snapshot", KV, *two, system("buckets", "record_count", (2,), options={"scan.snapshot-id": "1"}))  # fmt: skip
    yield case("statistics: none before ANALYZE", KV, *two, system("statistics", "mergedRecordCount"))  # fmt: skip
    yield case("statistics: rows after the merge", KV, *two, do("analyze"), system("statistics", "snapshot_id, mergedRecordCount", (2, 2)))  # fmt: skip
    yield case("statistics: ANALYZE is a snapshot", KV, *two, do("analyze"), snapshots("APPEND APPEND ANALYZE"))  # fmt: skip
    yield case("statistics: of some columns", KV, *two, do("analyze", ["k"]), system("statistics", "mergedRecordCount", (2,)))  # fmt: skip
    yield case("statistics: a column that is not there is refused", KV, *two, refused(do("analyze", ["x"]), "x"))  # fmt: skip
    yield case("statistics: of a later state they are still shown", KV, *two, do("analyze"), put((9, "z")), system("statistics", "snapshot_id", (2,)))  # fmt: skip
    yield case("a system table that is not there is an error with those that are", KV, *two, refused(system("nothing", "k"), "snapshots"))  # fmt: skip
    yield case("sequence numbers can be read", KV, *two, system("audit_log", "rowkind, _SEQUENCE_NUMBER, k", ("+I", 2, 1), ("+I", 1, 2)), options={"table-read.sequence-number.enabled": "true"})  # fmt: skip


CASES = (
    *area("Time travel", TRAVEL),
    *area("Tags", TAGS),
    *area("Branches", BRANCHES),
    *area("Rollback", ROLLBACK),
    *area("Expiry and orphan files", EXPIRY),
    *area("System tables and statistics", _systems()),
)
