"""What public bug reports of Iceberg, Delta, Hudi, Paimon and their Python clients tell of, by kind, tried on our tables.

Each case is the situation of a report, and what its reporter could expect: several writers at once, NULL and what looks like
it, types as other programs hand them over, time zones, statistics and filters, files that change their form.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyarrow as pa

import table_core as tc
from tests.upstream.catalog_steps import calls, creates
from tests.upstream.open_steps import (
    begin,
    end,
    handle_reads,
    handle_writes,
    hands,
    keeps,
)
from tests.upstream.play import NAME, area, case, shape
from tests.upstream.shapes import AP, APPARTED, KV, PARTED
from tests.upstream.steps import (
    alter,
    changes,
    do,
    merge,
    put,
    refused,
    rows,
    snapshots,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case

__all__ = ["CASES"]

N, D, UTC = None, Decimal, dt.UTC
DYNAMIC = shape("k INT, v STRING", key="k")
CROSS = shape("k INT, v STRING, p STRING", key="k", partition="p")
FORMATS = ("parquet", "orc", "avro")
ONCE = tc.CommitAs(user="job", identifier=7)

AT_ONCE = (
    case("two writers of an append table both land", AP, begin("a", (1, "a")), begin("b", (2, "b")), end("b"), end("a"), rows((1, "a"), (2, "b")), snapshots("APPEND APPEND")),
    case("two writers of one bucket both land", KV, begin("a", (1, "a")), begin("b", (2, "b")), end("a"), end("b"), rows((1, "a"), (2, "b"))),
    case("of two writers of one key, that stays which committed last", KV, begin("a", (1, "a")), begin("b", (1, "b")), end("a"), end("b"), rows((1, "b"))),
    case("two writers of new keys in dynamic buckets both land", DYNAMIC, begin("a", (1, "a"), (2, "a")), begin("b", (1, "b"), (3, "b")), end("a"), end("b"), rows((1, "b"), (2, "a"), (3, "b"))),
    case("a writer lands beside a compaction", KV, put((1, "a")), put((2, "b")), begin("a", (3, "c")), do("compact"), end("a"), rows((1, "a"), (2, "b"), (3, "c"))),
    case("a writer lands beside a compaction of an append table", AP, put((1, "a")), put((2, "b")), put((3, "c")), begin("a", (4, "d")), do("compact"), end("a"), rows((1, "a"), (2, "b"), (3, "c"), (4, "d"))),
    case("a writer lands beside a DELETE", AP, put((1, "a"), (2, "b")), begin("a", (3, "c")), do("delete", "k = 1"), end("a"), rows((2, "b"), (3, "c"))),
    case("a writer lands after a truncate", KV, put((1, "a")), begin("a", (2, "b")), do("truncate"), end("a"), rows((2, "b"))),
    case("a writer lands after a partition was dropped", APPARTED, put((1, "a", "x")), begin("a", (2, "b", "x")), do("drop_partitions", [{"p": "x"}]), end("a"), rows((2, "b", "x"))),
    case("a writer lands beside an overwrite of another partition", APPARTED, put((1, "a", "x"), (2, "b", "y")), begin("a", (3, "c", "x")), put((9, "z", "y"), over={"p": "y"}), end("a"), rows((1, "a", "x"), (3, "c", "x"), (9, "z", "y"))),
    case("overwrites of two partitions both land", APPARTED, put((1, "a", "x"), (2, "b", "y")), begin("a", (3, "c", "x"), over={"p": "x"}), begin("b", (4, "d", "y"), over={"p": "y"}), end("a"), end("b"), rows((3, "c", "x"), (4, "d", "y"))),
    case("the same commit made twice is one", AP, begin("a", (1, "a"), commit=ONCE), end("a"), begin("b", (1, "a"), commit=ONCE), end("b"), rows((1, "a")), snapshots("APPEND")),
    case("another identifier is another commit", AP, begin("a", (1, "a"), commit=ONCE), end("a"), begin("b", (1, "a"), commit=tc.CommitAs(user="job", identifier=8)), end("b"), rows((1, "a"), (1, "a"))),
    case("a writer lands beside a new column", KV, begin("a", (1, "a")), alter(tc.AddColumn("n", "INT")), end("a"), rows((1, "a", N))),
    case("a writer lands beside a renamed column", AP, begin("a", (1, "a")), alter(tc.RenameColumn("v", "w")), end("a"), rows((1, "a"), columns=["k", "w"])),
    case("a writer lands beside a dropped column", AP, begin("a", (1, "a")), alter(tc.DropColumn("v")), end("a"), rows((1,))),
    case("a writer lands beside a widened column", AP, begin("a", (1, "a")), alter(tc.UpdateColumnType("k", "BIGINT")), end("a"), put((2**40, "b")), rows((1, "a"), (2**40, "b"))),
    case("a writer of a table that was dropped does not land", AP, begin("a", (1, "a")), calls("drop_table", NAME), refused(end("a"), "")),
    case("a writer does not land in a table that was made anew", AP, put((5, "x")), begin("a", (1, "a")), calls("drop_table", NAME), creates(NAME, AP), refused(end("a"), ""), rows()),
    case("an older handle reads what others committed", KV, keeps("old"), put((1, "a")), handle_reads("old", (1, "a")), put((1, "b")), handle_reads("old", (1, "b"))),
    case("an older handle writes on", KV, keeps("old"), put((1, "a")), handle_writes("old", (2, "b")), rows((1, "a"), (2, "b"))),
    case("an older handle writes its columns after one was added", AP, keeps("old"), alter(tc.AddColumn("n", "INT")), handle_writes("old", (1, "a")), rows((1, "a", N))),
    case("an older handle reads its columns after one was added", AP, put((1, "a")), keeps("old"), alter(tc.AddColumn("n", "INT")), handle_reads("old", (1, "a"))),
    case("a DELETE after a compaction of others takes its row", AP, put((1, "a")), put((2, "b")), keeps("old"), do("compact"), do("delete", "k = 1"), rows((2, "b"))),
    case("an expiry under a tag leaves its state", KV, put((1, "a")), do("tags.create", "t"), put((1, "b")), put((1, "c")), do("expire_snapshots", retain_max=1, retain_min=1), rows((1, "a"), tag="t"), rows((1, "c"))),
    case("a state that has expired is an error that says what is there", KV, put((1, "a")), put((1, "b")), do("expire_snapshots", retain_max=1, retain_min=1), refused(rows(snapshot=1), "2")),
    case("a writer that began before a rollback lands on what is there", AP, put((1, "a")), put((2, "b")), do("rollback_to", snapshot=1), put((3, "c")), rows((1, "a"), (3, "c"))),
    case("a write without rows beside a writer changes nothing", AP, begin("a", (1, "a")), put(), end("a"), rows((1, "a")), snapshots("APPEND")),
    case("a hundred small commits are read and compacted", AP, *(put((number, "x")) for number in range(40)), do("compact"), rows(*((number, "x") for number in range(40)))),
    case("one key in two partitions at once is one row", CROSS, put((1, "a", "x")), put((1, "b", "y"), (2, "c", "x")), put((2, "d", "y")), rows((1, "b", "y"), (2, "d", "y"))),
    case("a key that comes back to its first partition", CROSS, put((1, "a", "x")), put((1, "b", "y")), put((1, "c", "x")), rows((1, "c", "x"))),
    case("a key that is deleted in its new partition is gone", CROSS, put((1, "a", "x")), put((1, "b", "y")), put(("-D", 1, "b", "y")), rows()),
)  # fmt: skip

DEFAULT = "__DEFAULT_PARTITION__"


def _nulls() -> Iterator[Case]:
    nested = shape("k INT, l ARRAY<INT>, m MAP<STRING, INT>, r ROW<a INT, b STRING>")
    values: tuple[tuple[Any, ...], ...] = (
        (1, N, N, N),
        (2, [], [], {"a": N, "b": N}),
        (3, [N], [("x", N)], {"a": 1, "b": N}),
        (4, [1, N, 2], [("x", 1), ("y", N)], {"a": N, "b": ""}),
    )
    every = shape("k INT, a INT, b STRING, c DOUBLE, d DATE, e DECIMAL(5, 2), f BOOLEAN")
    empty = (1, N, N, N, N, N, N)
    for format_ in FORMATS:
        how = {"file.format": format_}
        yield case(f"{format_}: NULL, empty, and filled with NULL stay apart", nested, put(*values), rows(*values), options=how)  # fmt: skip
        yield case(f"{format_}: NULL, empty, and filled with NULL stay apart through a compaction", nested, *(put(row) for row in values), do("compact"), rows(*values), options=how)  # fmt: skip
        yield case(f"{format_}: a ROW that is NULL is found by IS NULL", nested, put(*values), rows((1,), where="r IS NULL", columns=["k"]), rows((1,), (2,), (4,), where="r.a IS NULL", columns=["k"]), options=how)  # fmt: skip
        yield case(f"{format_}: a file with nothing but NULL is found", every, put(empty), put((2, 1, "x", 1.0, dt.date(2024, 1, 1), D("1.00"), True)), rows((1,), where="a IS NULL", columns=["k"]), rows((2,), where="a IS NOT NULL", columns=["k"]), rows((2,), where="b = 'x' AND c > 0 AND d > DATE '2000-01-01' AND e = 1 AND f", columns=["k"]), options=how)  # fmt: skip
        yield case(f"{format_}: NaN is not NULL", shape("k INT, v DOUBLE"), put((1, float("nan")), (2, N)), rows((2,), where="v IS NULL", columns=["k"]), rows((1,), where="v IS NOT NULL", columns=["k"]), options=how)  # fmt: skip
    yield case("a key of two columns takes NULL in neither", shape("a INT, b INT, v INT", key="a, b", bucket="1"), refused(put((1, N, 1)), "b"), refused(put((N, 1, 1)), "a"))  # fmt: skip
    yield case("one NULL in a column that is NOT NULL stops the whole write", shape("k INT NOT NULL, v INT"), refused(put((1, 1), (N, 2)), "k"), rows(), snapshots(""))  # fmt: skip
    yield case("NULL, a blank text and the text null are three partitions", APPARTED, put((1, "a", N), (2, "b", ""), (3, "c", "null")), rows((1, "a", N), (2, "b", ""), (3, "c", "null")), rows((1, "a", N), where="p IS NULL"), rows((3, "c", "null"), where="p = 'null'"))  # fmt: skip
    yield case("the name of the partition of NULL can be a value", APPARTED, put((1, "a", N), (2, "b", DEFAULT)), rows((1, "a", N), (2, "b", DEFAULT)), rows((1, "a", N), where="p IS NULL"), do("compact"), rows((1, "a", N), (2, "b", DEFAULT)))  # fmt: skip
    yield case("an old value is replaced by NULL, not kept", KV, put((1, "a")), put((1, N)), do("compact"), rows((1, N)), rows((1, N), where="v IS NULL"), rows(where="v = 'a'"))  # fmt: skip
    yield case("a column of Arrow's null type is NULL", AP, hands(k=pa.array([1], pa.int32()), v=pa.nulls(1)), rows((1, N)))  # fmt: skip
    yield case("a column that is not handed over is NULL", AP, hands(k=pa.array([1], pa.int32())), rows((1, N)))  # fmt: skip
    yield case("a column that is NOT NULL must be handed over", shape("k INT, v INT NOT NULL"), refused(hands(k=pa.array([1], pa.int32())), "v"))  # fmt: skip
    yield case("a MERGE on a NULL key inserts, and matches nothing", AP, put((N, "a")), merge((N, "b"), on=["k"], when=[tc.MatchedUpsert(), tc.NotMatchedInsert()]), rows((N, "a"), (N, "b")))  # fmt: skip
    yield case("deletes with NULL in the other columns delete by the key", KV, put((1, "a"), (2, "b")), put(("-D", 1, N)), do("compact"), rows((2, "b")))  # fmt: skip
    yield case("NULL is less than any value in no condition", shape("k INT, v INT"), put((1, N), (2, 0)), rows((2,), where="v < 5", columns=["k"]), rows(where="v < 0", columns=["k"]), rows((2,), where="v >= 0", columns=["k"]))  # fmt: skip
    yield case("NULL in a list of a condition hides no match", shape("k INT, v INT"), put((1, N), (2, 0), (3, 1)), rows((2,), where="v IN (0, NULL)", columns=["k"]), rows(where="v NOT IN (0, NULL)", columns=["k"]), rows(where="v = NULL", columns=["k"]))  # fmt: skip


TEXTS = pa.array(["a", "b"])
HANDED: tuple[tuple[str, str, pa.Array, tuple[Any, ...]], ...] = (
    # as what, type of the column, values as they are handed over, values as they are read
    ("large texts", "STRING", TEXTS.cast(pa.large_string()), ("a", "b")),
    ("text views", "STRING", TEXTS.cast(pa.string_view()), ("a", "b")),
    ("a dictionary of texts", "STRING", TEXTS.dictionary_encode(), ("a", "b")),
    ("a dictionary of numbers", "INT", pa.array([7, 8], pa.int32()).dictionary_encode(), (7, 8)),
    ("a dictionary with NULL", "STRING", pa.array(["a", N]).dictionary_encode(), ("a", N)),
    ("large bytes", "BYTES", pa.array([b"a", b"b"], pa.large_binary()), (b"a", b"b")),
    ("views of bytes", "BYTES", pa.array([b"a", b"b"], pa.binary_view()), (b"a", b"b")),
    ("bytes of one length", "BYTES", pa.array([b"ab", b"cd"], pa.binary(2)), (b"ab", b"cd")),
    ("small numbers", "INT", pa.array([1, 2], pa.int8()), (1, 2)),
    ("small numbers without a sign", "INT", pa.array([1, 255], pa.uint8()), (1, 255)),
    ("numbers without a sign", "BIGINT", pa.array([1, 2**32 - 1], pa.uint32()), (1, 2**32 - 1)),
    ("large numbers without a sign that fit", "BIGINT", pa.array([1, 2], pa.uint64()), (1, 2)),
    ("floats", "DOUBLE", pa.array([1.5, -0.5], pa.float32()), (1.5, -0.5)),
    ("half floats", "DOUBLE", pa.array([1.5, -0.5], pa.float16()), (1.5, -0.5)),
    ("narrower decimals", "DECIMAL(10, 2)", pa.array([D("1.50"), D("-2.00")], pa.decimal128(5, 2)), (D("1.50"), D("-2.00"))),
    ("wider decimals that fit", "DECIMAL(5, 2)", pa.array([D("1.50"), D("-2.00")], pa.decimal256(50, 2)), (D("1.50"), D("-2.00"))),
    ("decimals of fewer places", "DECIMAL(10, 3)", pa.array([D("1.5"), D("2.0")], pa.decimal128(5, 1)), (D("1.500"), D("2.000"))),
    ("days in milliseconds", "DATE", pa.array([dt.date(2024, 2, 29), N], pa.date64()), (dt.date(2024, 2, 29), N)),
    ("seconds", "TIMESTAMP(3)", pa.array([dt.datetime(2024, 2, 29, 1), N], pa.timestamp("s")), (dt.datetime(2024, 2, 29, 1), N)),
    ("nanoseconds that are whole milliseconds", "TIMESTAMP(3)", pa.array([1_000_000, N], pa.timestamp("ns")), (dt.datetime(1970, 1, 1, 0, 0, 0, 1000), N)),
    ("times in seconds", "TIME(3)", pa.array([dt.time(1, 2, 3), N], pa.time32("s")), (dt.time(1, 2, 3), N)),
    ("times in microseconds that are whole milliseconds", "TIME(3)", pa.array([dt.time(1, 2, 3, 4000), N], pa.time64("us")), (dt.time(1, 2, 3, 4000), N)),
    ("large lists", "ARRAY<INT>", pa.array([[1], N], pa.large_list(pa.int32())), ([1], N)),
    ("lists of one length", "ARRAY<INT>", pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), ([1, 2], [3, 4])),
    ("lists of dictionaries", "ARRAY<STRING>", pa.array([["a"], ["b"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))), (["a"], ["b"])),
    ("structs with members in another order", "ROW<a INT, b STRING>", pa.array([{"b": "x", "a": 1}, N], pa.struct([("b", pa.string()), ("a", pa.int32())])), ({"a": 1, "b": "x"}, N)),
    ("sorted maps", "MAP<STRING, INT>", pa.array([[("a", 1)], N], pa.map_(pa.string(), pa.int32(), keys_sorted=True)), ([["a", 1]], N)),
)  # fmt: skip
UNFIT: tuple[tuple[str, str, pa.Array, str], ...] = (
    ("numbers that are too large", "INT", pa.array([2**31], pa.int64()), "v"),
    ("numbers that are too small", "TINYINT", pa.array([-129], pa.int32()), "v"),
    ("numbers without a sign that are too large", "BIGINT", pa.array([2**63], pa.uint64()), "v"),
    ("decimals that do not fit", "DECIMAL(5, 2)", pa.array([D("1000.00")], pa.decimal128(10, 2)), "v"),
    ("decimals that would be rounded", "DECIMAL(5, 2)", pa.array([D("1.234")], pa.decimal128(10, 3)), "v"),
    ("texts for numbers", "INT", pa.array(["1"]), "v"),
    ("numbers for texts", "STRING", pa.array([1]), "v"),
    ("numbers for truth", "BOOLEAN", pa.array([1]), "v"),
    ("floats for numbers", "INT", pa.array([1.5]), "v"),
    ("texts that are too long", "VARCHAR(3)", pa.array(["abcd"]), "v"),
    ("bytes that are too long", "VARBINARY(2)", pa.array([b"abc"]), "v"),
    ("nanoseconds that would be cut", "TIMESTAMP(3)", pa.array([1], pa.timestamp("ns")), "v"),
    ("a list for a number", "INT", pa.array([[1]]), "v"),
    ("structs with a member too many", "ROW<a INT>", pa.array([{"a": 1, "z": 2}]), "v"),
)  # fmt: skip


def _types() -> Iterator[Case]:
    for promise, type_, array, values in HANDED:
        keys = pa.array(range(len(array)), pa.int32())
        table = shape(f"k INT, v {type_}")
        yield case(f"{type_} takes {promise}", table, hands(k=keys, v=array), rows(*enumerate(values)))  # fmt: skip
        if not type_.startswith(("ARRAY", "ROW", "MAP")):
            keyed = shape(f"k INT, v {type_}", key="k", bucket="1")
            yield case(f"{type_} of a key table takes {promise}", keyed, hands(k=keys, v=array), hands(k=keys, v=array), do("compact"), rows(*enumerate(values)))  # fmt: skip
    for promise, type_, array, words in UNFIT:
        yield case(f"{type_} does not take {promise}", shape(f"k INT, v {type_}"), refused(hands(k=pa.array([1], pa.int32()), v=array), words), rows(), snapshots(""))  # fmt: skip
    one = pa.array([1], pa.int32())
    yield case("columns come in any order", AP, hands(v=pa.array(["a"]), k=one), rows((1, "a")))
    yield case("a column that the table has not is refused", AP, refused(hands(k=one, v=pa.array(["a"]), x=one), "x"), snapshots(""))  # fmt: skip
    yield case("many chunks are one table", AP, hands(k=pa.chunked_array([[1], [], [2, 3]], pa.int32()), v=pa.chunked_array([["a", "b"], ["c"]])), rows((1, "a"), (2, "b"), (3, "c")))  # fmt: skip
    yield case("an array that begins elsewhere is taken from there", AP, hands(k=pa.array(range(10), pa.int32())[3:5], v=pa.array(list("abcdefghij"))[3:5]), rows((3, "d"), (4, "e")))  # fmt: skip
    yield case("texts of a megabyte come back", AP, put((1, "x" * 2**20)), rows((1, "x" * 2**20)))  # fmt: skip
    for format_ in FORMATS:
        yield case(f"{format_}: DECIMAL of 38 digits sums up over two writes", shape("k INT, v DECIMAL(38, 0)", key="k", bucket="1"), put((1, D(10**37))), put((1, D(1))), rows((1, D(10**37 + 1))), options={"file.format": format_, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"})  # fmt: skip
        yield case(f"{format_}: a MAP with keys that are numbers", shape("k INT, m MAP<INT, STRING>"), put((1, [(1, "a"), (-1, N)])), rows((1, [[1, "a"], [-1, N]])), options={"file.format": format_})  # fmt: skip
        yield case(f"{format_}: lists in lists in rows", shape("k INT, r ROW<l ARRAY<ARRAY<ROW<a INT>>>>"), put((1, {"l": [[{"a": 1}, N], [], N]}), (2, {"l": N})), rows((1, {"l": [[{"a": 1}, N], [], N]}), (2, {"l": N})), options={"file.format": format_})  # fmt: skip


BERLIN = ZoneInfo("Europe/Berlin")
EARLY = dt.datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
LATE = dt.datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
"""In Berlin both are 02:30, as the clocks go back between them."""
LTZ = shape("k INT, at TIMESTAMP_LTZ(3)")
NTZ = shape("k INT, at TIMESTAMP(3)")
EDGES = (
    dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.datetime(1582, 10, 10, tzinfo=UTC),
    dt.datetime(1900, 1, 1, tzinfo=UTC),
    dt.datetime(1970, 1, 1, tzinfo=UTC),
    dt.datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
)


def _zones() -> Iterator[Case]:
    stamps = pa.array([EARLY, LATE], pa.timestamp("ms", "Europe/Berlin"))
    keys = pa.array([1, 2], pa.int32())
    for format_ in FORMATS:
        how = {"file.format": format_}
        yield case(f"{format_}: moments of another zone are the same moments", LTZ, hands(k=keys, at=stamps), rows((1, EARLY), (2, LATE)), options=how)  # fmt: skip
        yield case(f"{format_}: both hours of a change stay apart as keys", shape("at TIMESTAMP_LTZ(3), v INT", key="at", bucket="1"), put((EARLY, 1), (LATE, 2)), put((LATE, 3)), rows((EARLY, 1), (LATE, 3)), options=how)  # fmt: skip
        yield case(f"{format_}: moments of old and far days come back", LTZ, put(*enumerate(EDGES)), rows(*enumerate(EDGES)), options=how)  # fmt: skip
        plain = tuple((number, edge.replace(tzinfo=None)) for number, edge in enumerate(EDGES))
        yield case(f"{format_}: wall clocks of old and far days come back", NTZ, put(*plain), rows(*plain), options=how)  # fmt: skip
        yield case(f"{format_}: a wall clock that no zone has stays", NTZ, put((1, dt.datetime(2024, 3, 31, 2, 30))), rows((1, dt.datetime(2024, 3, 31, 2, 30))), options=how)  # fmt: skip
        yield case(f"{format_}: days of the years 1 and 9999 come back", shape("k INT, d DATE"), put((1, dt.date(1, 1, 1)), (2, dt.date(9999, 12, 31)), (3, dt.date(1582, 10, 10))), rows((1, dt.date(1, 1, 1)), (2, dt.date(9999, 12, 31)), (3, dt.date(1582, 10, 10))), options=how)  # fmt: skip
        yield case(f"{format_}: moments are found by a condition", LTZ, put((1, EARLY), (2, LATE)), rows((1,), where=tc.col("at") == EARLY, columns=["k"]), rows((2,), where=tc.col("at") > EARLY.astimezone(BERLIN), columns=["k"]), options=how)  # fmt: skip
    yield case("a wall clock is no moment", LTZ, refused(hands(k=keys, at=pa.array([EARLY.replace(tzinfo=None)] * 2, pa.timestamp("ms"))), "at"))  # fmt: skip
    yield case("a moment is no wall clock", NTZ, refused(hands(k=keys, at=stamps), "at"))
    yield case("both hours of a change are two partitions", shape("k INT, at TIMESTAMP_LTZ(3)", partition="at"), put((1, EARLY), (2, LATE)), rows((1, EARLY), (2, LATE)), do("delete", tc.col("at") == EARLY), rows((2, LATE)))  # fmt: skip
    yield case("microseconds stay in TIMESTAMP(6)", shape("k INT, at TIMESTAMP(6)"), put((1, dt.datetime(2024, 1, 1, 0, 0, 0, 1))), rows((1, dt.datetime(2024, 1, 1, 0, 0, 0, 1))), rows((1,), where="at > TIMESTAMP '2024-01-01 00:00:00'", columns=["k"]))  # fmt: skip
    nano = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    yield case("nanoseconds stay in TIMESTAMP(9)", shape("k INT, at TIMESTAMP(9)"), hands(k=pa.array([1], pa.int32()), at=nano), rows((1,), where="at > TIMESTAMP '2023-11-14 22:13:20.123456'", columns=["k"]))  # fmt: skip
    yield case("a sequence of moments orders rows across a change of the clock", shape("k INT, at TIMESTAMP_LTZ(3), v INT", key="k", bucket="1"), put((1, LATE, 2)), put((1, EARLY, 1)), rows((1, LATE, 2)), options={"sequence.field": "at"})  # fmt: skip


LONG = "https://example.org/"
STATS: tuple[tuple[str, str, tuple[Any, ...], str, tuple[int, ...]], ...] = (
    # promise, type, values of rows 0, 1, 2 …, condition, rows that match
    ("texts with one long beginning", "STRING", (LONG + "a", LONG + "b", LONG + "c"), f"v = '{LONG}b'", (1,)),
    ("a text behind the cut of its statistics", "STRING", ("a" * 16 + "z", "a" * 15), f"v > '{'a' * 16}'", (0,)),
    ("an emoji at the cut of its statistics", "STRING", ("a" * 15 + "\U0001f600" + "b", "b"), f"v > '{'a' * 15}b'", (0, 1)),
    ("the last letter of all at the cut", "STRING", ("\U0010ffff" * 20, "b"), "v > 'z'", (0,)),
    ("texts by their bytes, not by a language", "STRING", ("a", "B", "ä", "z"), "v < 'a'", (1,)),
    ("an empty text", "STRING", ("", "a", N), "v = ''", (0,)),
    ("a percent sign in LIKE", "STRING", ("50%", "500", "5"), "v LIKE '50\\%'", (0,)),
    ("an apostrophe", "STRING", ("it's", "its"), "v = 'it''s'", (0,)),
    ("NaN beside numbers", "DOUBLE", (float("nan"), 1.0, -1.0), "v < 0", (2,)),
    ("a zero with a sign", "DOUBLE", (-0.0, 0.0, 1.0), "v = 0", (0, 1)),
    ("infinity", "DOUBLE", (float("inf"), float("-inf"), 0.0), "v > 1e300", (0,)),
    ("a decimal by its value", "DECIMAL(10, 2)", (D("1.50"), D("-1.50"), D("10.00")), "v > 1.499 AND v < 2", (0,)),
    ("negative decimals", "DECIMAL(20, 2)", (D("-1.50"), D("-2.50")), "v < -2", (1,)),
    ("the smallest and the largest number", "BIGINT", (-(2**63), 2**63 - 1, 0), "v > 9223372036854775806", (1,)),
    ("a number beyond its type", "TINYINT", (127, -128), "v < 1000", (0, 1)),
    ("truth", "BOOLEAN", (True, False, N), "NOT v", (1,)),
    ("a day before 1970", "DATE", (dt.date(1969, 12, 31), dt.date(1970, 1, 2)), "v < DATE '1970-01-01'", (0,)),
    ("a moment before 1970", "TIMESTAMP(3)", (dt.datetime(1969, 12, 31, 23), dt.datetime(1970, 1, 2)), "v < TIMESTAMP '1970-01-01 00:00:00'", (0,)),
)  # fmt: skip


def _filters() -> Iterator[Case]:
    for promise, type_, values, where, match in STATS:
        written = tuple(enumerate(values))
        expected = tuple((number,) for number in match)
        for format_ in FORMATS:
            table = shape(f"k INT, v {type_}").with_options({"file.format": format_})
            yield case(f"{format_}: a condition finds {promise}", table, *(put(row) for row in written), rows(*expected, where=where, columns=["k"]), do("compact"), rows(*expected, where=where, columns=["k"]))  # fmt: skip
    yield case("a condition on a value does not bring an old version back", KV, put((1, "old"), (2, "b")), put((1, "new")), rows(where="v = 'old'"), do("compact"), rows(where="v = 'old'"))  # fmt: skip
    yield case("a condition on a value does not bring a deleted row back", KV, put((1, "a"), (2, "b")), put(("-D", 1, "x")), rows(where="v = 'a'"), rows(where="k = 1"))  # fmt: skip
    yield case("a condition on a key and a value finds the newest", KV, put((1, "a")), put((1, "b")), rows((1, "b"), where="k = 1 AND v = 'b'"), rows(where="k = 1 AND v = 'a'"))  # fmt: skip
    yield case("the limit counts rows that are left", AP, put((1, "a"), (2, "b"), (3, "c")), do("delete", "k = 1"), rows((2, "b"), (3, "c"), limit=2), options={"deletion-vectors.enabled": "true"})  # fmt: skip
    yield case("the limit counts rows that match", AP, put((1, "a"), (2, "b")), put((3, "b"), (4, "b")), rows((2, "b"), (3, "b"), (4, "b"), limit=3, where="v = 'b'"))  # fmt: skip
    yield case("the limit counts merged rows", KV, put((1, "a")), put((1, "b")), put((2, "c")), rows((1, "b"), (2, "c"), limit=2))  # fmt: skip
    yield case("a limit of 0 has no rows", AP, put((1, "a")), rows(limit=0))
    yield case("partition columns alone are read", APPARTED, put((1, "a", "x"), (2, "b", "x"), (3, "c", "y")), rows(("x",), ("x",), ("y",), columns=["p"]))  # fmt: skip
    yield case("columns come as they are asked for", AP, put((1, "a")), rows(("a", 1), columns=["v", "k"]))  # fmt: skip
    yield case("a column that is not there is refused", AP, put((1, "a")), refused(rows(columns=["x"]), "x"))  # fmt: skip
    yield case("a condition on a column that is not read", KV, put((1, "a"), (2, "b")), rows((2,), columns=["k"], where="v = 'b'"))  # fmt: skip


def _forms() -> Iterator[Case]:
    for old in FORMATS:
        for new in FORMATS:
            if old != new:
                yield case(f"a table goes on from {old} to {new}", KV, put((1, "a"), (2, "b")), alter(tc.SetOption("file.format", new)), put((1, "c"), (3, "d")), rows((1, "c"), (2, "b"), (3, "d")), do("compact"), rows((1, "c"), (2, "b"), (3, "d")), options={"file.format": old})  # fmt: skip
    for promise, changes_ in (
        ("a compression", tc.SetOption("file.compression", "lz4")),
        ("a prefix of files", tc.SetOption("data-file.prefix", "other-")),
        ("a size of files", tc.SetOption("target-file-size", "1 kb")),
        ("statistics", tc.SetOption("metadata.stats-mode", "none")),
        ("an index", tc.SetOption("file-index.bloom-filter.columns", "v")),
    ):
        yield case(f"a table goes on with another of {promise}", KV, put((1, "a"), (2, "b")), alter(changes_), put((1, "c"), (3, "d")), rows((1, "c"), (2, "b"), (3, "d")), rows((1, "c"), where="v = 'c'"), do("compact"), rows((1, "c"), (2, "b"), (3, "d")))  # fmt: skip
    many = tuple((number, "x" * 50) for number in range(200))
    yield case("many rows fill many files, and none is lost", KV, put(*many), put(*many[:50]), do("compact"), rows(*many), options={"target-file-size": "1 kb", "bucket": "2"})  # fmt: skip
    yield case("a producer that is set later tells what comes later", KV, put((1, "a")), alter(tc.SetOption("changelog-producer", "lookup")), put((1, "b")), changes((1, "b"), mode="changelog", after=1), put((1, "c")), changes(("-U", 1, "b"), ("+U", 1, "c"), mode="changelog", after=3))  # fmt: skip
    for value in (
        "a/b",
        "a=b",
        "a%2Fb",
        "a b",
        "ü",
        "a:b",
        "a?b",
        "a#b",
        "..",
        ".",
        "a\\b",
        "a'b",
        'a"b',
        "2024-01-01 00:00:00",
        "%",
        "A",
        "a",
    ):
        yield case(f"the partition {value!r} is written, found, overwritten and dropped", APPARTED, put((1, "a", value), (2, "b", "other")), rows((1, "a", value), where=tc.col("p") == value), put((3, "c", value), over={"p": value}), rows((3, "c", value), (2, "b", "other")), do("drop_partitions", [{"p": value}]), rows((2, "b", "other")))  # fmt: skip
    yield case("partitions that differ by case alone are two", APPARTED, put((1, "a", "X"), (2, "b", "x")), do("drop_partitions", [{"p": "X"}]), rows((2, "b", "x")))  # fmt: skip
    yield case("partitions that look like a path are two", PARTED, put((1, "a", "x/y"), (1, "b", "x%2Fy")), put((1, "c", "x/y")), rows((1, "c", "x/y"), (1, "b", "x%2Fy")))  # fmt: skip


CASES = (
    *area("Public reports: several at once", AT_ONCE),
    *area("Public reports: NULL", _nulls()),
    *area("Public reports: types of other programs", _types()),
    *area("Public reports: time zones", _zones()),
    *area("Public reports: statistics and filters", _filters()),
    *area("Public reports: forms of files and partitions", _forms()),
)
