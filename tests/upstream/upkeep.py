"""Compaction by strategy, partition, order and trigger; marks of partitions; analyses; what upkeep leaves alone.

Facts from ``CompactProcedureTestBase``, ``CompactActionITCase``, ``UniversalCompactionTest``, ``AppendCompactCoordinatorTest``,
``PartitionMarkDoneTest``, ``SuccessFileMarkDoneActionTest`` and ``AnalyzeTableTestBase``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import table_core as tc
from tests.upstream import shapes
from tests.upstream.play import START_MS, area, case, shape
from tests.upstream.shapes import AP, APPARTED, KV
from tests.upstream.steps import (
    after_ms,
    alter,
    changes,
    do,
    gives,
    put,
    refused,
    rows,
    snapshots,
    system,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case, Play, Step

__all__ = ["CASES"]

N = None
LAZY = KV.with_options({"write-only": "true"})
PARTED = shapes.PARTED.with_options({"write-only": "true"})
DOUBLY = shape("k INT, dt STRING, hr INT", partition="dt, hr")
FIXED = shape("k INT, v STRING").with_options({"bucket": "2", "bucket-key": "k"})
EAGER = {"write-only": "false"}
VECTORS = {"deletion-vectors.enabled": "true"}
THREE = (put((1, "a")), put((1, "b"), (2, "x")), put((3, "c")))
AFTER = rows((1, "b"), (2, "x"), (3, "c"))
DAY_MS = 86_400_000


def compact(strategy: str = "full", **how: Any) -> Step:
    """A compaction by hand, also of a table whose writers leave it to others."""
    return do("compact", strategy, options=EAGER, **how)


KEYED = (
    case("a full compaction makes one run on the top level", LAZY, *THREE, compact(), system("files", "level", (5,)), AFTER, snapshots("APPEND APPEND APPEND COMPACT")),
    case("a full compaction of what is compacted changes nothing", LAZY, *THREE, compact(), compact(), snapshots("APPEND APPEND APPEND COMPACT"), AFTER),
    case("a compaction of an empty table changes nothing", LAZY, compact(), snapshots(""), rows()),
    case("a minor compaction of few runs changes nothing", LAZY, *THREE, compact("minor"), snapshots("APPEND APPEND APPEND"), AFTER),
    case("a minor compaction of many runs makes fewer", LAZY, *(put((number, "x")) for number in range(6)), compact("minor"), rows(*((number, "x") for number in range(6))), snapshots("APPEND APPEND APPEND APPEND APPEND APPEND COMPACT")),
    case("an unknown strategy is refused", LAZY, put((1, "a")), refused(compact("some"), "some")),
    case("a compaction of one partition leaves the others", PARTED, put((1, "a", "x"), (1, "a", "y")), put((1, "b", "x"), (1, "b", "y")), compact(partitions=[{"p": "x"}]), system("files", "partition, level", ("{x}", 5), ("{y}", 0), ("{y}", 0)), rows((1, "b", "x"), (1, "b", "y"))),
    case("a compaction by a condition on the partition", PARTED, put((1, "a", "x"), (1, "a", "y")), put((1, "b", "x"), (1, "b", "y")), compact(where="p = 'y'"), system("files", "partition, level", ("{y}", 5), ("{x}", 0), ("{x}", 0)), rows((1, "b", "x"), (1, "b", "y"))),
    case("a compaction by a condition on another column is refused", PARTED, put((1, "a", "x")), refused(compact(where="k = 1"), "k")),
    case("a compaction of a partition column that is not there is refused", PARTED, put((1, "a", "x")), refused(compact(partitions=[{"q": "x"}]), "q")),
    case("a compaction of a partition that is not there changes nothing", PARTED, put((1, "a", "x")), compact(partitions=[{"p": "z"}]), snapshots("APPEND")),
    case("a compaction of a table without partitions by partition is refused", LAZY, put((1, "a")), refused(compact(partitions=[{"p": "x"}]), "p")),
    case("an order is refused for a key table", LAZY, put((1, "a")), refused(compact(order_by=["v"]), "order")),
    case("a compaction drops deletes", LAZY, put((1, "a"), (2, "b")), put(("-D", 1, N)), compact(), system("files", "record_count", (1,)), rows((2, "b"))),
    case("a compaction of nothing but deletes leaves no file", LAZY, put((1, "a")), put(("-D", 1, N)), compact(), system("files", "record_count"), rows()),
    case("a compaction of every bucket", LAZY, put(*((number, "a") for number in range(10))), put(*((number, "b") for number in range(10))), compact(), rows(*((number, "b") for number in range(10))), system("files", "level", (5,), (5,), (5,)), options={"bucket": "3"}),
    case("a state before a compaction is read as it was", LAZY, *THREE, compact(), rows((1, "a"), snapshot=1), rows((1, "b"), (2, "x"), snapshot=2)),
    case("writes after a compaction are on top", LAZY, *THREE, compact(), put((1, "z")), rows((1, "z"), (2, "x"), (3, "c")), compact(), rows((1, "z"), (2, "x"), (3, "c"))),
    case("a writer compacts when there are many runs", KV, *(put((number, "x")) for number in range(6)), rows(*((number, "x") for number in range(6))), snapshots("APPEND APPEND APPEND APPEND APPEND COMPACT APPEND"), options={"num-sorted-run.compaction-trigger": "5"}),
    case("a writer compacts after each commit, if two runs are many", KV, put((1, "a")), put((1, "b")), rows((1, "b")), snapshots("APPEND APPEND COMPACT"), options={"num-sorted-run.compaction-trigger": "2"}),
    case("a compaction after a new column", LAZY, put((1, "a")), alter(tc.AddColumn("n", "INT")), put((2, "b", 5)), compact(), rows((1, "a", N), (2, "b", 5)), system("files", "schema_id", (1,))),
    case("a compaction after a widened column", shape("k INT, v INT", key="k", bucket="1").with_options({"write-only": "true"}), put((1, 1)), alter(tc.UpdateColumnType("v", "BIGINT")), put((2, 2**40)), compact(), rows((1, 1), (2, 2**40))),
    case("a compaction is no change for a stream", LAZY, put((1, "a")), put((2, "b")), compact(), changes((1, "a"), (2, "b"), after=0)),
    case("the newest compaction can be left to a read", LAZY, put((1, "a")), compact(), put((1, "b")), rows((1, "a"), options={"scan.mode": "compacted-full"}), rows((1, "b"))),
    case("a dry run changes nothing", LAZY, *THREE, compact(dry_run=True), snapshots("APPEND APPEND APPEND")),
    case("records expire when they are compacted", shape("k INT, at INT, v STRING", key="k", bucket="1").with_options({"write-only": "true"}), put((1, START_MS // 1000 - 10 * 86_400, "old"), (2, START_MS // 1000, "new")), compact(), rows((2, START_MS // 1000, "new")), options={"record-level.expire-time": "7 d", "record-level.time-field": "at"}),
    case("a compaction of first-row keeps the first", LAZY, put((1, "a")), put((1, "b")), compact(), rows((1, "a")), options={"merge-engine": "first-row"}),
    case("a compaction of aggregation adds once", shape("k INT, v INT", key="k", bucket="1").with_options({"write-only": "true"}), put((1, 1)), put((1, 2)), compact(), put((1, 4)), compact(), compact(), rows((1, 7)), options={"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    case("a compaction of partial-update fills once", shape("k INT, a INT, b INT", key="k", bucket="1").with_options({"write-only": "true"}), put((1, 1, N)), put((1, N, 2)), compact(), put((1, 3, N)), rows((1, 3, 2)), options={"merge-engine": "partial-update"}),
)  # fmt: skip

APPEND = (
    case("few small files are left by a minor compaction", AP, put((1, "a")), put((2, "b")), do("compact", "minor"), snapshots("APPEND APPEND"), rows((1, "a"), (2, "b"))),
    case("a full compaction makes one file", AP, put((1, "a")), put((2, "b")), put((3, "c")), do("compact"), system("files", "record_count", (3,)), rows((1, "a"), (2, "b"), (3, "c"))),
    case("one file stays as it is", AP, put((1, "a")), do("compact"), snapshots("APPEND")),
    case("equal rows stay", AP, put((1, "a")), put((1, "a")), put((1, "a")), do("compact"), rows((1, "a"), (1, "a"), (1, "a"))),
    case("partitions stay apart", APPARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), (4, "d", "y")), put((5, "e", "x")), do("compact"), rows((1, "a", "x"), (2, "b", "y"), (3, "c", "x"), (4, "d", "y"), (5, "e", "x")), system("partitions", "partition, record_count, file_count", ("p=x", 3, 1), ("p=y", 2, 1))),
    case("one partition is compacted", APPARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), (4, "d", "y")), put((5, "e", "x"), (6, "f", "y")), do("compact", partitions=[{"p": "x"}]), system("partitions", "partition, file_count", ("p=x", 1), ("p=y", 3))),
    case("some partition columns name several", DOUBLY, *(put((number, "a", 1), (number, "a", 2), (number, "b", 1)) for number in range(3)), do("compact", partitions=[{"dt": "a"}]), system("partitions", "partition, file_count", ("dt=a/hr=1", 1), ("dt=a/hr=2", 1), ("dt=b/hr=1", 3))),
    case("fixed buckets are compacted one by one", FIXED, *(put(*((number, str(turn)) for number in range(6))) for turn in range(3)), do("compact"), system("buckets", "file_count", (1,), (1,)), rows(*((number, str(turn)) for number in range(6) for turn in range(3)))),
    case("rows that were marked deleted are dropped", AP, put((1, "a"), (2, "b")), put((3, "c")), do("delete", "k = 1"), do("compact"), rows((2, "b"), (3, "c")), system("files", "record_count", (1,), (1,)), options=VECTORS),
    case("the order of rows goes by one column", AP, put((3, "c"), (1, "a")), put((2, "b")), put((0, "z")), do("compact", order_by=["k"]), rows((0, "z"), (1, "a"), (2, "b"), (3, "c"))),
    case("the order of rows takes NULL", AP, put((3, "c"), (N, "a")), put((2, N)), put((N, N)), do("compact", order_by=["v", "k"]), rows((3, "c"), (N, "a"), (2, N), (N, N))),
    case("an order by a column that is not there is refused", AP, put((1, "a")), refused(do("compact", order_by=["x"]), "x")),
    case("an order of a partitioned table stays in its partitions", APPARTED, put((3, "c", "x"), (1, "a", "y")), put((2, "b", "x")), do("compact", order_by=["k"]), rows((2, "b", "x"), (3, "c", "x"), (1, "a", "y"))),
    case("a writer leaves small files, if it only writes", AP, *(put((number, "x")) for number in range(8)), snapshots(" ".join(["APPEND"] * 8)), options={"write-only": "true"}),
    case("a compaction is one OVERWRITE or COMPACT, never an APPEND", AP, put((1, "a")), put((2, "b")), put((3, "c")), do("compact"), snapshots("APPEND APPEND APPEND COMPACT")),
)  # fmt: skip


@dataclass(frozen=True)
class Marked:
    """The file that marks a partition, by its folder; its two times must be as many milliseconds after the start of the case."""

    folder: str
    is_there: bool = True

    def run(self, play: Play) -> None:
        """Look the file up."""
        path = f"d.db/t/{self.folder}/_SUCCESS"
        files = {info.path for info in play.catalog.storage.walk("d.db/t")}
        assert (path in files) == self.is_there, f"{path}: {sorted(files)}"
        if self.is_there:
            times = json.loads(play.catalog.storage.read(path))
            assert set(times) == {"creationTime", "modificationTime"}, times
            assert START_MS <= times["creationTime"] <= times["modificationTime"] <= play.clock.ms


MARKS = (
    case("a mark is a file in the folder of the partition", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), Marked("p=x"), rows((1, "a", "x"))),
    case("a mark is not in other partitions", APPARTED, put((1, "a", "x"), (2, "b", "y")), do("mark_done", [{"p": "x"}]), Marked("p=y", is_there=False)),
    case("a mark that is made again stays", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), after_ms(5000), do("mark_done", [{"p": "x"}]), Marked("p=x")),
    case("a partition of two columns is marked in its folder", DOUBLY, put((1, "a", 1)), do("mark_done", [{"dt": "a", "hr": 1}]), Marked("dt=a/hr=1")),
    case("a part of the columns marks no partition", DOUBLY, put((1, "a", 1)), refused(do("mark_done", [{"dt": "a"}]), "hr")),
    case("several partitions are marked at once", APPARTED, put((1, "a", "x"), (2, "b", "y")), do("mark_done", [{"p": "x"}, {"p": "y"}]), Marked("p=x"), Marked("p=y")),
    case("if one of them is not there, none is marked", APPARTED, put((1, "a", "x")), refused(do("mark_done", [{"p": "x"}, {"p": "z"}]), "z"), Marked("p=x", is_there=False)),
    case("a table without partitions has nothing to mark", AP, put((1, "a")), refused(do("mark_done", [{"p": "x"}]), "p")),
    case("idle partitions are marked", APPARTED, put((1, "a", "x")), after_ms(2 * DAY_MS), put((2, "b", "y")), do("mark_done", idle_time="1 d"), Marked("p=x"), Marked("p=y", is_there=False)),
    case("a marked partition that was written to is idle again later", APPARTED, put((1, "a", "x")), after_ms(2 * DAY_MS), do("mark_done", idle_time="1 d"), put((2, "b", "x")), after_ms(2 * DAY_MS), do("mark_done", idle_time="1 d"), Marked("p=x"), rows((1, "a", "x"), (2, "b", "x"))),
    case("marks survive the removal of orphans", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), after_ms(9 * DAY_MS), do("remove_orphan_files"), Marked("p=x")),
    case("a mark of a blank in a name", APPARTED, put((1, "a", "x y")), do("mark_done", [{"p": "x y"}]), Marked("p=x y")),
    case("an event is no file: the result has it", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), gives("details.events", ({"p": "x"},)), Marked("p=x", is_there=False), options={"partition.mark-done-action": "mark-event"}),
    case("a dry run marks nothing", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}], dry_run=True), Marked("p=x", is_there=False)),
)  # fmt: skip
ANALYSES = (
    case("an analysis counts rows", AP, put((1, "a"), (2, "b")), do("analyze"), system("statistics", "mergedRecordCount", (2,))),
    case("an analysis makes a snapshot of its own", AP, put((1, "a")), do("analyze"), snapshots("APPEND ANALYZE"), rows((1, "a"))),
    case("an analysis of columns", AP, put((1, "a"), (2, N)), do("analyze", columns=["k"]), rows((1, "a"), (2, N))),
    case("an analysis of a column that is not there is refused", AP, put((1, "a")), refused(do("analyze", columns=["x"]), "x")),
    case("an analysis counts merged rows", KV, put((1, "a")), put((1, "b")), do("analyze"), system("statistics", "mergedRecordCount", (1,))),
    case("without an analysis there are no statistics", AP, put((1, "a")), system("statistics", "mergedRecordCount")),
    case("a result says what a compaction left", LAZY, *THREE, compact(), gives("files_after", 1)),
)  # fmt: skip


def _triggers() -> Iterator[Case]:
    """Whatever a writer compacts and when, the rows are the same."""
    for promise, options in (
        ("when files grow twice as large", {"compaction.max-size-amplification-percent": "10"}),
        ("by the ratio of sizes", {"compaction.size-ratio": "50"}),
        ("as soon as two runs are there", {"num-sorted-run.compaction-trigger": "1"}),
        ("only up to so many levels", {"num-levels": "3"}),
        ("fully after a time", {"compaction.optimization-interval": "1 ms"}),
        ("fully after so many commits", {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"}),
        ("for lookups", {"changelog-producer": "lookup"}),
        ("for lookups, gently", {"changelog-producer": "lookup", "lookup-compact": "gentle"}),
        ("with deletion vectors", VECTORS),
        ("with levels of their own format", {"file.format.per.level": "0:avro,5:orc"}),
        ("with small files", {"target-file-size": "1 kb"}),
        ("with two buckets", {"bucket": "2"}),
        ("not at all", {"write-only": "true"}),
    ):  # fmt: skip
        steps = [put((number % 4, f"v{number}"), (number + 10, "x")) for number in range(8)]
        newest = tuple((key, f"v{key + 4}") for key in range(4))
        expected = (*newest, *((number + 10, "x") for number in range(8)))
        yield case(f"writers compact {promise}", KV, *steps, rows(*expected), do("compact", options=EAGER), rows(*expected), options=options)  # fmt: skip


CASES = (
    *area("Compaction of key tables", KEYED, _triggers()),
    *area("Compaction of append tables", APPEND),
    *area("Marks of partitions", MARKS),
    *area("Analyses and results", ANALYSES),
)
