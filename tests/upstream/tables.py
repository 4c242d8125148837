"""Deletion vectors, append tables, buckets, partitions, and overwrites.

Facts from ``AppendOnlySimpleTableTest``, ``DeletionVectorITCase``, ``DynamicBucketTableTest``, ``PostponeBucketTableITCase``,
``OverwriteTableTest``, ``PartitionExpireTest``, ``PartitionTimeExtractorTest``, ``PartitionPathUtilsTest`` and pypaimon's
``reader_append_only_test`` and ``overwrite_commit_conflict_test``.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import table_core as tc
from tests.upstream.play import area, case, shape
from tests.upstream.shapes import AP, APPARTED, KV, PARTED
from tests.upstream.steps import (
    after_ms,
    alter,
    changes,
    do,
    merge,
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
FIXED = shape("k INT, v STRING").with_options({"bucket": "3", "bucket-key": "k"})
DAY_MS = 86_400_000
VECTORS = {"deletion-vectors.enabled": "true"}

DELETION_VECTORS = (
    case("an update marks the old row as deleted", KV, put((1, "a"), (2, "b")), put((1, "c")), rows((1, "c"), (2, "b")), options=VECTORS),
    case("a delete marks the row", KV, put((1, "a"), (2, "b")), put(("-D", 1, N)), rows((2, "b")), options=VECTORS),
    case("a read waits for no merge: files of level 0 are not seen until compacted", KV, put((1, "a")), put((1, "b"), options={"write-only": "true"}), rows((1, "a")), do("compact"), rows((1, "b")), options=VECTORS),
    case("merge-on-read sees files of level 0", KV, put((1, "a")), put((1, "b"), options={"write-only": "true"}), rows((1, "b")), options={**VECTORS, "deletion-vectors.merge-on-read": "true"}),
    case("a full compaction leaves no vectors", KV, put((1, "a"), (2, "b")), put((1, "c")), do("compact"), rows((1, "c"), (2, "b")), options=VECTORS),
    case("vectors of 64 bits hold as well", KV, put((1, "a"), (2, "b")), put((1, "c")), rows((1, "c"), (2, "b")), options={**VECTORS, "deletion-vectors.bitmap64": "true"}),
    case("vectors with aggregation", shape("k INT, v INT", key="k", bucket="1"), put((1, 5), (2, 1)), put((1, 3)), rows((1, 8), (2, 1)), options={**VECTORS, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    case("vectors with partial-update", shape("k INT, a INT, b INT", key="k", bucket="1"), put((1, 5, N)), put((1, N, 3)), rows((1, 5, 3)), options={**VECTORS, "merge-engine": "partial-update"}),
    case("vectors with a sequence field", shape("k INT, s INT, v STRING", key="k", bucket="1"), put((1, 5, "a")), put((1, 3, "b")), rows((1, 5, "a")), options={**VECTORS, "sequence.field": "s"}),
    case("vectors in several buckets", KV, put(*((k, "a") for k in range(9))), put((3, "b"), ("-D", 4, N)), rows(*((k, "b" if k == 3 else "a") for k in range(9) if k != 4)), options={**VECTORS, "bucket": "4"}),
    case("vectors in partitions", PARTED, put((1, "a", "x"), (1, "b", "y")), put((1, "c", "x")), rows((1, "c", "x"), (1, "b", "y")), options=VECTORS),
    case("a state before the vectors is read as it was", KV, put((1, "a"), (2, "b")), put((1, "c")), rows((1, "a"), (2, "b"), snapshot=2), rows((1, "c"), (2, "b")), options=VECTORS),
    case("rows are looked up by a condition", KV, put((1, "a"), (2, "b")), put((1, "c")), rows((1, "c"), where="k = 1"), rows(where="v = 'a'"), options=VECTORS),
    case("append: DELETE marks rows", AP, put((1, "a"), (2, "b")), do("delete", "k = 1"), rows((2, "b")), options=VECTORS),
    case("append: UPDATE marks rows and adds new ones", AP, put((1, "a"), (2, "b")), do("update", {"v": "'z'"}, "k = 1"), rows((1, "z"), (2, "b")), options=VECTORS),
    case("append: a compaction drops marked rows", AP, put((1, "a"), (2, "b"), (3, "c")), do("delete", "k = 1"), put((4, "d")), do("compact"), rows((2, "b"), (3, "c"), (4, "d")), options=VECTORS),
    case("append: deletes one after the other add up", AP, put((1, "a"), (2, "b"), (3, "c")), do("delete", "k = 1"), do("delete", "k = 3"), rows((2, "b")), options=VECTORS),
    case("append: MERGE marks and adds", AP, put((1, "a"), (2, "b")), merge((1, "z"), (3, "c"), on=["k"], when=[tc.MatchedUpsert(), tc.NotMatchedInsert()]), rows((1, "z"), (2, "b"), (3, "c")), options=VECTORS),
    case("append with buckets: DELETE marks rows", FIXED, put((1, "a"), (2, "b")), do("delete", "k = 1"), rows((2, "b")), options=VECTORS),
    case("vectors that are switched on later hold from then on", AP, put((1, "a"), (2, "b")), alter(tc.SetOption("deletion-vectors.enabled", "true")), do("delete", "k = 1"), rows((2, "b")), options={"deletion-vectors.modifiable": "true"}),
    case("vectors are not switched on later, unless allowed", KV, put((1, "a")), refused(alter(tc.SetOption("deletion-vectors.enabled", "true")), "deletion-vectors")),
    case("two index files may be one", KV, put(*((k, "a") for k in range(20))), put(*((k, "b") for k in range(0, 20, 2))), rows(*((k, "a" if k % 2 else "b") for k in range(20))), options={**VECTORS, "bucket": "2", "deletion-vector.index-file.target-size": "1 kb"}),
)  # fmt: skip

APPEND = (
    case("equal rows are all kept", AP, put((1, "a"), (1, "a")), put((1, "a")), rows((1, "a"), (1, "a"), (1, "a"))),
    case("NULL is kept in any column", AP, put((N, N)), rows((N, N))),
    case("an empty write makes no snapshot", AP, put(), snapshots("")),
    case("a row that is a delete is refused", AP, put((1, "a")), refused(put(("-D", 1, "a")), "-D")),
    case("a row that is an old half is refused", AP, refused(put(("-U", 1, "a")), "-U")),
    case("small files are compacted into one", AP, put((1, "a")), put((2, "b")), put((3, "c")), do("compact"), snapshots("APPEND APPEND APPEND COMPACT"), system("files", "record_count", (3,)), rows((1, "a"), (2, "b"), (3, "c"))),
    case("DELETE rewrites files", AP, put((1, "a"), (2, "b")), do("delete", "k = 1"), snapshots("APPEND OVERWRITE"), rows((2, "b"))),
    case("DELETE of nothing makes no snapshot", AP, put((1, "a")), do("delete", "k = 7"), snapshots("APPEND")),
    case("UPDATE rewrites files", AP, put((1, "a"), (2, "b")), do("update", {"v": "'z'"}, "k = 1"), rows((1, "z"), (2, "b"))),
    case("UPDATE may use the old row", shape("k INT, v INT"), put((1, 5), (2, 7)), do("update", {"v": "v + k"}, "v > 5"), rows((1, 5), (2, 9))),
    case("MERGE updates, inserts and deletes", AP, put((1, "a"), (2, "b"), (3, "c")), merge((1, "z"), (4, "d"), on=["k"], when=[tc.MatchedUpsert(), tc.NotMatchedInsert(), tc.NotMatchedBySourceDelete(condition="target.k = 3")]), rows((1, "z"), (2, "b"), (4, "d"))),
    case("MERGE by a condition chooses its clause", AP, put((1, "a"), (2, "b")), merge((1, "x"), (2, "y"), on=["k"], when=[tc.MatchedDelete(condition="source.v = 'x'"), tc.MatchedUpsert()]), rows((2, "y"))),
    case("MERGE refuses two source rows for one target", AP, put((1, "a")), refused(merge((1, "x"), (1, "y"), on=["k"], when=[tc.MatchedUpsert()]), "k")),
    case("rows are in the order of the write", AP, put((3, "c"), (1, "a")), put((2, "b")), rows((3, "c"), (1, "a"), (2, "b"))),
    case("a LIMIT stops early", AP, put((1, "a"), (2, "b")), put((3, "c")), rows((1, "a"), (2, "b"), limit=2)),
    case("with fixed buckets equal keys are in one bucket", FIXED, put((1, "a"), (2, "b")), put((1, "c")), rows((1, "a"), (2, "b"), (1, "c"))),
    case("with fixed buckets a condition on the key finds rows", FIXED, put(*((k, "a") for k in range(20))), rows((7, "a"), where="k = 7")),
    case("with fixed buckets a compaction keeps the order", FIXED, put((1, "a"), (1, "b")), put((1, "c")), do("compact"), rows((1, "a"), (1, "b"), (1, "c"))),
    case("an append table is truncated", AP, put((1, "a")), do("truncate"), rows(), snapshots("APPEND OVERWRITE")),
    case("row tracking numbers rows", AP, put((1, "a"), (2, "b")), put((3, "c")), system("row_tracking", "k, _ROW_ID, _SEQUENCE_NUMBER", (1, 0, 1), (2, 1, 1), (3, 2, 2)), options={"row-tracking.enabled": "true"}),
    case("row tracking: DELETE is known by name", AP, put((1, "a"), (2, "b")), do("delete", "k = 1"), rows((2, "b")), options={"row-tracking.enabled": "true"}, missing="row-tracking"),
    case("row tracking: UPDATE is known by name", AP, put((1, "a"), (2, "b")), do("update", {"v": "'z'"}, "k = 1"), rows((1, "z"), (2, "b")), options={"row-tracking.enabled": "true"}, missing="row-tracking"),
    case("row tracking: a compaction is known by name", AP, put((1, "a")), put((2, "b")), put((3, "c")), do("compact"), system("files", "record_count", (3,)), options={"row-tracking.enabled": "true"}, missing="row-tracking"),
    case("data evolution is known by name", AP, put((1, "a")), rows((1, "a")), options={"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, missing="data-evolution"),
    case("a BLOB column is known by name", shape("k INT, b BLOB"), put((1, b"x")), rows((1, b"x")), options={"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, missing="data-evolution"),
    case("incremental clustering is known by name", AP, put((1, "a")), rows((1, "a")), options={"clustering.incremental": "true", "clustering.columns": "k"}, missing="clustering.incremental"),
    case("rows are sorted by columns", AP, put((3, "c"), (1, "a")), put((2, "b")), do("compact", order_by=["k"]), rows((1, "a"), (2, "b"), (3, "c"))),
    case("rows are sorted along a z-order", AP, put((3, "c"), (1, "a")), put((2, "b")), do("compact", order_by=["zorder(k, v)"]), rows((1, "a"), (2, "b"), (3, "c"))),
    case("rows are sorted along a Hilbert curve", AP, put((3, "c"), (1, "a")), put((2, "b")), do("compact", order_by=["hilbert(k, v)"]), rows((1, "a"), (2, "b"), (3, "c"))),
)  # fmt: skip

BUCKETS = (
    case("fixed: rows are spread over the buckets", KV, put(*((k, "a") for k in range(20))), rows(*((k, "a") for k in range(20))), options={"bucket": "4"}),
    case("fixed: another number of buckets is refused until rescaled", PARTED, put((1, "a", "x")), alter(tc.SetOption("bucket", "2")), refused(put((2, "b", "x")), "bucket")),
    case("fixed: a new partition takes the new number", PARTED, put((1, "a", "x")), alter(tc.SetOption("bucket", "2")), put((2, "b", "y")), rows((1, "a", "x"), (2, "b", "y"))),
    case("fixed: an overwrite takes the new number", PARTED, put((1, "a", "x")), alter(tc.SetOption("bucket", "2")), put((1, "b", "x"), over="partitions"), put((3, "c", "x")), rows((1, "b", "x"), (3, "c", "x"))),
    case("fixed: a rescale rewrites", PARTED, put((1, "a", "x"), (2, "b", "x")), do("rescale", 3), put((1, "c", "x")), rows((1, "c", "x"), (2, "b", "x"))),
    case("fixed: rows are found after a rescale", KV, put(*((k, "a") for k in range(9))), do("rescale", 4), rows((5, "a"), where="k = 5")),
    case("fixed: the bucket key may be a part of the key", shape("k INT, j INT, v INT", key="k, j"), put((1, 1, 1), (1, 2, 2)), put((1, 1, 9)), rows((1, 1, 9), (1, 2, 2)), options={"bucket": "3", "bucket-key": "j"}),
    case("fixed: buckets by mod", KV, put((1, "a"), (4, "b"), (-1, "c")), put((4, "d")), rows((1, "a"), (4, "d"), (-1, "c")), options={"bucket": "3", "bucket-function.type": "mod"}),
    case("dynamic: a key stays in its bucket", shape("k INT, v STRING", key="k"), put((1, "a"), (2, "b")), put((1, "c"), (3, "d")), rows((1, "c"), (2, "b"), (3, "d"))),
    case("dynamic: a bucket takes so many rows", shape("k INT, v STRING", key="k"), put(*((k, "a") for k in range(10))), put(*((k, "b") for k in range(0, 10, 3))), rows(*((k, "a" if k % 3 else "b") for k in range(10))), options={"dynamic-bucket.target-row-num": "3"}),
    case("dynamic: no more buckets than allowed", shape("k INT, v STRING", key="k"), put(*((k, "a") for k in range(10))), rows(*((k, "a") for k in range(10))), options={"dynamic-bucket.target-row-num": "3", "dynamic-bucket.max-buckets": "2"}),
    case("dynamic: partitions count apart", shape("k INT, v STRING, p STRING", key="k, p", partition="p"), put((1, "a", "x"), (1, "b", "y")), put((1, "c", "x")), rows((1, "c", "x"), (1, "b", "y"))),
    case("cross-partition: a key moves to its new partition", shape("k INT, v STRING, p STRING", key="k", partition="p"), put((1, "a", "x")), put((1, "b", "y")), rows((1, "b", "y"))),
    case("cross-partition: partial-update stays where it was", shape("k INT, v STRING, w INT, p STRING", key="k", partition="p"), put((1, "a", N, "x")), put((1, N, 5, "y")), rows((1, "a", 5, "x")), options={"merge-engine": "partial-update"}),
    case("cross-partition: aggregation stays where it was", shape("k INT, v INT, p STRING", key="k", partition="p"), put((1, 2, "x")), put((1, 3, "y")), rows((1, 5, "x")), options={"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.p.aggregate-function": "first_value"}),
    case("cross-partition: first-row keeps the first", shape("k INT, v STRING, p STRING", key="k", partition="p"), put((1, "a", "x")), put((1, "b", "y")), rows((1, "a", "x")), options={"merge-engine": "first-row"}),
    case("postpone: rows are not seen until compacted", KV, put((1, "a")), rows(), do("compact"), rows((1, "a")), options={"bucket": "-2"}),
    case("postpone: later rows win", KV, put((1, "a")), put((1, "b")), do("compact"), rows((1, "b")), options={"bucket": "-2"}),
    case("postpone: rows beside compacted ones wait too", KV, put((1, "a")), do("compact"), put((1, "b")), rows((1, "a")), do("compact"), rows((1, "b")), options={"bucket": "-2"}),
    case("postpone: a delete deletes after compaction", KV, put((1, "a"), (2, "b")), do("compact"), put(("-D", 1, N)), do("compact"), rows((2, "b")), options={"bucket": "-2"}),
    case("postpone: the number of buckets of a new partition", PARTED, put((1, "a", "x"), (2, "b", "x")), do("compact"), rows((1, "a", "x"), (2, "b", "x")), options={"bucket": "-2", "postpone.default-bucket-num": "3"}),
    case("postpone: waiting rows are seen by merge-on-read", KV, put((1, "a")), do("compact"), put((1, "b"), (2, "c")), rows((1, "b"), (2, "c")), options={"bucket": "-2", "postpone.merge-on-read": "true"}, missing="postpone.merge-on-read"),
    case("postpone: the lookup changelog comes with the compaction", KV, put((1, "a")), do("compact"), put((1, "b")), do("compact"), changes((1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), mode="changelog"), options={"bucket": "-2", "changelog-producer": "lookup"}),
    case("postpone: a rescale of one partition", PARTED, put((1, "a", "x"), (2, "b", "x")), do("compact"), do("rescale", 2, partitions=[{"p": "x"}]), rows((1, "a", "x"), (2, "b", "x")), options={"bucket": "-2"}, missing="fixed number of buckets"),
)  # fmt: skip


def _partition_values() -> Iterator[Case]:
    """Values of partition columns, and how they come back."""
    day = dt.date(2024, 2, 29)
    for type_, values in (
        ("STRING", ("x", "", "a=b", "a/b", "a%b", "ü", " ", "x:y", N)),
        ("INT", (1, -1, 0, N)),
        ("BIGINT", (2**62, N)),
        ("TINYINT", (-128, 127)),
        ("SMALLINT", (-(2**15),)),
        ("BOOLEAN", (True, False, N)),
        ("DATE", (day, dt.date(1969, 12, 31), N)),
        ("TIMESTAMP(3)", (dt.datetime(2024, 2, 29, 1, 2, 3), N)),
        ("DECIMAL(5, 2)", (Decimal("1.50"), Decimal("-0.01"))),
        ("FLOAT", (1.5, -0.5)),
        ("DOUBLE", (1.5, 1e300)),
        ("CHAR(3)", ("abc",)),
        ("VARCHAR(5)", ("abc", N)),
    ):
        table = shape(f"k INT, p {type_}", partition="p")
        expected = tuple((number, value) for number, value in enumerate(values))
        yield case(f"partition values of {type_} come back", table, put(*expected), rows(*expected))
        keyed = shape(f"k INT, p {type_}", key="k, p", partition="p", bucket="1")
        plain = tuple(row for row in expected if row[1] is not N)
        yield case(f"partition values of {type_} come back from a key table", keyed, put(*plain), put(*plain), rows(*plain))  # fmt: skip


OLD, NEW = "2023-10-01", "2023-11-14"
EXPIRY = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyy-MM-dd"}
HOURS = shape("k INT, dt STRING, hr STRING", partition="dt, hr")
PARTITIONS = (
    case("NULL and a blank text are in the default partition", APPARTED, put((1, "a", N)), rows((1, "a", N))),
    case("the default partition can have another name", APPARTED, put((1, "a", N)), rows((1, "a", N)), options={"partition.default-name": "nothing"}),
    case("a condition on the partition reads that one", APPARTED, put((1, "a", "x"), (2, "b", "y")), rows((1, "a", "x"), where="p = 'x'")),
    case("a condition on NULL reads the default partition", APPARTED, put((1, "a", N), (2, "b", "y")), rows((1, "a", N), where="p IS NULL")),
    case("a partition is dropped", APPARTED, put((1, "a", "x"), (2, "b", "y")), do("drop_partitions", [{"p": "x"}]), rows((2, "b", "y"))),
    case("the default partition is dropped", APPARTED, put((1, "a", N), (2, "b", "y")), do("drop_partitions", [{"p": None}]), rows((2, "b", "y"))),
    case("some of the columns name several partitions", HOURS, put((1, "a", "1"), (2, "a", "2"), (3, "b", "1")), do("drop_partitions", [{"dt": "a"}]), rows((3, "b", "1"))),
    case("a partition column that is not there is refused", APPARTED, put((1, "a", "x")), refused(do("drop_partitions", [{"q": "x"}]), "q")),
    case("a partition that is not there is dropped without a trace", APPARTED, put((1, "a", "x")), do("drop_partitions", [{"p": "z"}]), rows((1, "a", "x"))),
    case("expiry drops partitions older than its time", APPARTED, put((1, "a", OLD), (2, "b", NEW)), do("expire_partitions"), rows((2, "b", NEW)), options=EXPIRY),
    case("expiry keeps a partition that is exactly as old", APPARTED, put((1, "a", "2023-11-08")), do("expire_partitions"), rows((1, "a", "2023-11-08")), options=EXPIRY),
    case("expiry keeps what is no time", APPARTED, put((1, "a", "soon"), (2, "b", OLD)), do("expire_partitions"), rows((1, "a", "soon")), options=EXPIRY),
    case("expiry keeps the default partition", APPARTED, put((1, "a", N), (2, "b", OLD)), do("expire_partitions"), rows((1, "a", N)), options=EXPIRY),
    case("a pattern makes a time of several columns", HOURS, put((1, "20231001", "05"), (2, "20231114", "20")), do("expire_partitions"), rows((2, "20231114", "20")), options={"partition.expiration-time": "1 d", "partition.timestamp-pattern": "$dt $hr:00:00", "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss"}),
    case("without a formatter, dates and times are understood", APPARTED, put((1, "a", OLD), (2, "b", NEW)), do("expire_partitions"), rows((2, "b", NEW)), options={"partition.expiration-time": "7 d"}),
    case("expiry by update time looks at the files", APPARTED, put((1, "a", "x")), after_ms(10 * DAY_MS), put((2, "b", "y")), do("expire_partitions"), rows((2, "b", "y")), options={"partition.expiration-time": "7 d", "partition.expiration-strategy": "update-time"}),
    case("expiry takes so many at once", APPARTED, put((1, "a", "2023-10-01"), (2, "b", "2023-10-02"), (3, "c", "2023-10-03")), do("expire_partitions"), rows((3, "c", "2023-10-03")), options={**EXPIRY, "partition.expiration-max-num": "2"}),
    case("expiry is an overwrite", APPARTED, put((1, "a", OLD)), do("expire_partitions"), snapshots("APPEND OVERWRITE"), options=EXPIRY),
    case("expiry needs a time", APPARTED, put((1, "a", OLD)), refused(do("expire_partitions"), "partition.expiration-time")),
    case("expiry needs partitions", AP, put((1, "a")), refused(do("expire_partitions", "7 d"), "partition")),
    case("expiry of a key table", PARTED, put((1, "a", OLD), (2, "b", NEW)), do("expire_partitions"), rows((2, "b", NEW)), options=EXPIRY),
    case("a DATE partition is dated by a count of days, and stays", shape("k INT, p DATE", partition="p"), put((1, dt.date(2023, 10, 1)), (2, dt.date(2023, 11, 14))), do("expire_partitions"), rows((1, dt.date(2023, 10, 1)), (2, dt.date(2023, 11, 14))), options={"partition.expiration-time": "7 d", "partition.legacy-name": "false"}),
    case("a partition is marked done", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), rows((1, "a", "x"))),
    case("a partition that is not there is not marked", APPARTED, put((1, "a", "x")), refused(do("mark_done", [{"p": "z"}]), "z")),
    case("marked done by a child partition", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), rows((1, "a", "x")), options={"partition.mark-done-action": "done-partition"}),
    case("marked done by http is known by name", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), rows((1, "a", "x")), options={"partition.mark-done-action": "http-report"}, missing="http-report"),
    case("marked done by a class is known by name", APPARTED, put((1, "a", "x")), do("mark_done", [{"p": "x"}]), rows((1, "a", "x")), options={"partition.mark-done-action": "custom"}, missing="custom"),
)  # fmt: skip
OVERWRITES = (
    case("an overwrite replaces the partitions of its rows", APPARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), over="partitions"), rows((3, "c", "x"), (2, "b", "y")), snapshots("APPEND OVERWRITE")),
    case("an overwrite replaces the table", APPARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), over="table"), rows((3, "c", "x"))),
    case("an overwrite replaces one partition", APPARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), over={"p": "x"}), rows((3, "c", "x"), (2, "b", "y"))),
    case("an overwrite of one partition takes no rows of others", APPARTED, put((1, "a", "x")), refused(put((3, "c", "y"), over={"p": "x"}), "y")),
    case("an overwrite without rows empties the partition", APPARTED, put((1, "a", "x"), (2, "b", "y")), put(over={"p": "x"}), rows((2, "b", "y"))),
    case("an overwrite of partitions without rows changes nothing", APPARTED, put((1, "a", "x")), put(over="partitions"), rows((1, "a", "x"))),
    case("an overwrite of the table without rows empties it", APPARTED, put((1, "a", "x")), put(over="table"), rows()),
    case("an overwrite of a key table replaces, and merges its own rows", PARTED, put((1, "a", "x"), (2, "b", "y")), put((3, "c", "x"), (3, "d", "x"), over="partitions"), rows((3, "d", "x"), (2, "b", "y"))),
    case("an overwrite of a table without partitions replaces all", AP, put((1, "a")), put((2, "b"), over="table"), rows((2, "b"))),
    case("an overwrite of some columns of the partition", HOURS, put((1, "a", "1"), (2, "a", "2"), (3, "b", "1")), put((9, "a", "1"), over={"dt": "a"}), rows((9, "a", "1"), (3, "b", "1"))),
    case("an overwrite of the default partition", APPARTED, put((1, "a", N), (2, "b", "y")), put((3, "c", N), over="partitions"), rows((3, "c", N), (2, "b", "y"))),
    case("an overwrite of dynamic buckets begins anew", shape("k INT, v STRING", key="k"), put(*((k, "a") for k in range(5))), put((7, "z"), over="table"), put((7, "y"), (1, "x")), rows((7, "y"), (1, "x"))),
    case("an overwrite with deletion vectors leaves none", AP, put((1, "a"), (2, "b")), do("delete", "k = 1"), put((5, "e"), over="table"), rows((5, "e")), options=VECTORS),
    case("an older state is there after an overwrite", APPARTED, put((1, "a", "x")), put((3, "c", "x"), over="partitions"), rows((1, "a", "x"), snapshot=1)),
)  # fmt: skip

CASES = (
    *area("Deletion vectors", DELETION_VECTORS),
    *area("Append tables", APPEND),
    *area("Bucket modes", BUCKETS),
    *area("Partitions", _partition_values(), PARTITIONS),
    *area("Overwrites", OVERWRITES),
)
