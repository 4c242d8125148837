"""Ages of partitions and buckets that change: how a partition is dated, what expires, and what a rescale leaves.

Facts from ``PartitionTimeExtractorTest``, ``PartitionValuesTimeExpireStrategyTest``, ``PartitionExpireTest``, ``ExpirePartitionsProcedureTest``
and ``RescaleBucketITCase``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import table_core as tc
from tests.upstream import shapes
from tests.upstream.play import area, case, shape
from tests.upstream.shapes import PARTED
from tests.upstream.steps import after_ms, alter, do, put, refused, rows, snapshots, system

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case

__all__ = ["CASES"]

WEEK = {"partition.expiration-time": "7 d"}
DAY_MS = 86_400_000
DATED: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    # promise, pattern, formatter, an old partition, a new one; it is 2023-11-14 22:13 UTC
    ("a day", "", "", ("2023-10-01",), ("2023-11-14",)),
    ("a day without zeros in front", "", "", ("2023-9-1",), ("2023-11-14",)),
    ("a day and a time", "", "", ("2023-10-01 20:08:08",), ("2023-11-14 20:08:08",)),
    ("a day and a time without zeros in front", "", "", ("2023-9-1 2:8:8",), ("2023-11-14 2:8:8",)),
    ("a day of eight digits", "", "yyyyMMdd", ("20231001",), ("20231114",)),
    ("a day with slashes", "", "yyyy/MM/dd", ("2023/10/01",), ("2023/11/14",)),
    ("a day in another order", "", "dd.MM.yyyy", ("01.10.2023",), ("14.11.2023",)),
    ("a day and an hour in one", "", "yyyyMMddHH", ("2023100105",), ("2023111405",)),
    ("year, month and day in three columns", "$a-$b-$c", "", ("2023", "10", "01"), ("2023", "11", "14")),
    ("the same, with a time of its own", "$a-$b-$c 00:00:00", "", ("2023", "10", "01"), ("2023", "11", "14")),
    ("a day and an hour in two columns", "$a $b:00:00", "", ("2023-10-01", "05"), ("2023-11-14", "05")),
    ("a day of eight digits and an hour", "$a $b:00:00", "yyyyMMdd HH:mm:ss", ("20231001", "05"), ("20231114", "05")),
    ("the second of two columns", "$b", "", ("x", "2023-10-01"), ("x", "2023-11-14")),
    ("the first of two columns, without a pattern", "", "", ("2023-10-01", "x"), ("2023-11-14", "x")),
    ("columns in the other order", "$b-$a-14", "", ("10", "2023"), ("11", "2023")),
)  # fmt: skip


def _dated() -> Iterator[Case]:
    for promise, pattern, formatter, old, new in DATED:
        names = "abc"[: len(old)]
        parts = ", ".join(f"{name} STRING" for name in names)
        table = shape(f"k INT, {parts}", partition=", ".join(names)).with_options(
            {
                **WEEK,
                **({"partition.timestamp-pattern": pattern} if pattern else {}),
                **({"partition.timestamp-formatter": formatter} if formatter else {}),
            }
        )
        yield case(f"a partition is dated by {promise}", table, put((1, *old), (2, *new)), do("expire_partitions"), rows((2, *new)))  # fmt: skip


DT = shape("k INT, dt STRING", partition="dt").with_options(WEEK)
UPDATED = {"partition.expiration-strategy": "update-time"}
AGES = (
    case("seven days and a second are too old", DT, put((1, "2023-11-07 22:13:00"), (2, "2023-11-07 22:14:00")), do("expire_partitions"), rows((2, "2023-11-07 22:14:00"))),
    case("a partition in the future stays", DT, put((1, "2999-01-01")), do("expire_partitions"), rows((1, "2999-01-01"))),
    case("what is no date stays, and the others go", DT, put((1, "latest"), (2, "2023-01-01")), do("expire_partitions"), rows((1, "latest"))),
    case("a day that no calendar has is counted on", DT, put((1, "2023-02-30"), (2, "2023-11-40")), do("expire_partitions"), rows((2, "2023-11-40"))),
    case("nothing that is old enough makes no snapshot", DT, put((1, "2023-11-14")), do("expire_partitions"), snapshots("APPEND")),
    case("an age by hand goes before the option", DT, put((1, "2023-11-10"), (2, "2023-11-14")), do("expire_partitions", "3 d"), rows((2, "2023-11-14"))),
    case("an age of the table is needed, or one by hand", shape("k INT, dt STRING", partition="dt"), put((1, "2023-01-01")), refused(do("expire_partitions"), "partition.expiration-time"), do("expire_partitions", "7 d"), rows()),
    case("an age below zero is refused", DT, put((1, "2023-01-01")), refused(do("expire_partitions", "-1 d"), "-1 d"), rows((1, "2023-01-01"))),
    case("an age without a unit is refused", DT, put((1, "2023-01-01")), refused(do("expire_partitions", "7"), "7"), rows((1, "2023-01-01"))),
    case("a dry run drops nothing", DT, put((1, "2023-01-01")), do("expire_partitions", dry_run=True), rows((1, "2023-01-01")), snapshots("APPEND")),
    case("an expired partition is there in an older state", DT, put((1, "2023-01-01"), (2, "2023-11-14")), do("expire_partitions"), rows((2, "2023-11-14")), rows((1, "2023-01-01"), (2, "2023-11-14"), snapshot=1)),
    case("an expired partition that is written again is there again", DT, put((1, "2023-01-01")), do("expire_partitions"), put((2, "2023-01-01")), rows((2, "2023-01-01"))),
    case("by update time, a partition that was written to stays", DT, put((1, "x"), (2, "y")), after_ms(10 * DAY_MS), put((3, "x")), do("expire_partitions"), rows((1, "x"), (3, "x")), options=UPDATED),
    case("by update time, names are no dates", DT, put((1, "2000-01-01")), do("expire_partitions"), rows((1, "2000-01-01")), options=UPDATED),
    case("an unknown strategy is refused", DT, put((1, "x")), refused(alter(tc.SetOption("partition.expiration-strategy", "by-mood")), "by-mood")),
    case("only whole partitions expire, of two columns too", shape("k INT, dt STRING, hr INT", partition="dt, hr").with_options({**WEEK, "partition.timestamp-pattern": "$dt"}), put((1, "2023-01-01", 1), (2, "2023-01-01", 2), (3, "2023-11-14", 1)), do("expire_partitions"), rows((3, "2023-11-14", 1))),
)  # fmt: skip

KV = shapes.KV.with_options({"bucket": "2"})
MANY = tuple((number, "a") for number in range(12))
RESCALES = (
    case("more buckets: every row is there once", KV, put(*MANY), do("rescale", 5), rows(*MANY), put((3, "b")), rows(*((k, "b" if k == 3 else v) for k, v in MANY))),
    case("fewer buckets: every row is there once", KV, put(*MANY), do("rescale", 1), rows(*MANY), system("buckets", "bucket", (0,))),
    case("back to as many: every row is there once", KV, put(*MANY), do("rescale", 4), do("rescale", 2), rows(*MANY)),
    case("rescaled rows are merged first", KV, put(*MANY), put((3, "b")), put(("-D", 4, "a")), do("rescale", 3), rows(*((k, "b" if k == 3 else v) for k, v in MANY if k != 4))),
    case("a rescale of one partition leaves the others", PARTED, put((1, "a", "x"), (1, "b", "y")), do("rescale", 3, partitions=[{"p": "x"}]), rows((1, "a", "x"), (1, "b", "y"))),
    case("a state before a rescale is read as it was", KV, put(*MANY), do("rescale", 3), put((0, "z")), rows(*MANY, snapshot=1)),
    case("a rescale is an OVERWRITE", KV, put(*MANY), do("rescale", 3), snapshots("APPEND OVERWRITE")),
    case("a rescale to as many as there are changes no row", KV, put(*MANY), do("rescale", 2), rows(*MANY)),
    case("a rescale to none is refused", KV, put(*MANY), refused(do("rescale", 0), "0"), rows(*MANY)),
    case("a rescale to fewer than none is refused", KV, put(*MANY), refused(do("rescale", -1), "-1"), rows(*MANY)),
    case("dynamic buckets are not rescaled", shape("k INT, v STRING", key="k"), put(*MANY), refused(do("rescale", 3), "bucket"), rows(*MANY)),
    case("a table without buckets is not rescaled", shape("k INT, v STRING"), put(*MANY), refused(do("rescale", 3), "bucket"), rows(*MANY)),
    case("an append table with buckets is rescaled", shape("k INT, v STRING").with_options({"bucket": "2", "bucket-key": "k"}), put(*MANY), put(*MANY), do("rescale", 3), rows(*MANY, *MANY)),
    case("a rescale with deletion vectors", KV, put(*MANY), put((3, "b")), do("rescale", 3), rows(*((k, "b" if k == 3 else v) for k, v in MANY)), options={"deletion-vectors.enabled": "true"}),
    case("a rescale of aggregation adds once", shape("k INT, v INT", key="k", bucket="1"), put((1, 1), (2, 2)), put((1, 4)), do("rescale", 3), rows((1, 5), (2, 2)), put((1, 1)), rows((1, 6), (2, 2)), options={"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
)  # fmt: skip

CASES = (
    *area("Ages of partitions", _dated(), AGES),
    *area("Buckets that change", RESCALES),
)
