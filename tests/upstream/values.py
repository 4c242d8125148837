"""Predicates and literals, types and their edge values in each format, compressions, file indexes and lookups.

Facts from ``PredicateTest``, ``PredicateBuilderTest``, ``LikeChainCheckerTest``, ``FormatReadWriteTest``, ``FileFormatTest``,
``TableFormatReadWriteTest``, ``BloomFilterFileIndexTest``, ``BitmapFileIndexTest``, ``BitSliceIndexBitmapFileIndexTest``, ``LookupJoinITCase``
and pypaimon's ``predicates_test`` and ``reader_predicate_test``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import table_core as tc
from tests.upstream.play import area, case, shape
from tests.upstream.shapes import KV
from tests.upstream.steps import do, put, refused, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case, Play

__all__ = ["CASES"]

N, D, UTC = None, Decimal, dt.UTC
NAN, INF = float("nan"), float("inf")
PEOPLE = shape(
    "id INT, name STRING, score DOUBLE, born DATE, ok BOOLEAN, price DECIMAL(10, 2), at TIMESTAMP(3), r ROW<a INT, b STRING>"
)
ROWS: tuple[tuple[Any, ...], ...] = (
    (1, "abc", 1.5, dt.date(2000, 1, 1), True, D("1.50"), dt.datetime(2024, 1, 1, 12), {"a": 1, "b": "x"}),
    (2, "abd", -2.0, dt.date(1969, 12, 31), False, D("-2.00"), dt.datetime(2024, 1, 2), {"a": 2, "b": N}),
    (3, "xyz", NAN, dt.date(2024, 2, 29), N, D("0.00"), dt.datetime(1969, 1, 1), N),
    (4, N, N, N, True, N, N, {"a": N, "b": "y"}),
    (5, "50%_a", 0.0, dt.date(2000, 1, 2), False, D("99.99"), dt.datetime(2024, 1, 1, 12, 0, 0, 1000), {"a": 5, "b": "x"}),
)  # fmt: skip
CONDITIONS: tuple[tuple[str, str | Any, tuple[int, ...]], ...] = (
    ("equality", "id = 2", (2,)),
    ("inequality passes NULL over", "name <> 'abc'", (2, 3, 5)),
    ("less", "id < 3", (1, 2)),
    ("less or equal", "id <= 3", (1, 2, 3)),
    ("greater", "id > 4", (5,)),
    ("greater or equal", "id >= 4", (4, 5)),
    ("IS NULL", "name IS NULL", (4,)),
    ("IS NOT NULL", "name IS NOT NULL", (1, 2, 3, 5)),
    ("IN", "id IN (1, 4, 9)", (1, 4)),
    ("IN with NULL finds what is there", "id IN (1, NULL)", (1,)),
    ("NOT IN", "id NOT IN (1, 2)", (3, 4, 5)),
    ("NOT IN with NULL finds nothing", "id NOT IN (1, NULL)", ()),
    ("NOT IN passes NULL over", "name NOT IN ('abc')", (2, 3, 5)),
    ("IN of many", f"id IN ({', '.join(map(str, range(2, 40)))})", (2, 3, 4, 5)),
    ("BETWEEN", "id BETWEEN 2 AND 3", (2, 3)),
    ("NOT BETWEEN", "id NOT BETWEEN 2 AND 3", (1, 4, 5)),
    ("BETWEEN with the larger first finds nothing", "id BETWEEN 3 AND 2", ()),
    ("AND", "id > 1 AND ok", (4,)),
    ("OR", "id = 1 OR name = 'xyz'", (1, 3)),
    ("NOT", "NOT (id > 2)", (1, 2)),
    ("NOT of NULL is no match", "NOT (name = 'abc')", (2, 3, 5)),
    ("OR with NULL on one side", "name = 'abc' OR id = 4", (1, 4)),
    ("equality with NULL finds nothing", "name = NULL", ()),
    ("equality with NULL on both sides", "name <=> NULL", (4,)),
    ("IS DISTINCT FROM", "name IS DISTINCT FROM 'abc'", (2, 3, 4, 5)),
    ("LIKE with a beginning", "name LIKE 'ab%'", (1, 2)),
    ("LIKE with an end", "name LIKE '%z'", (3,)),
    ("LIKE with a middle", "name LIKE '%b%'", (1, 2)),
    ("LIKE with one sign", "name LIKE 'ab_'", (1, 2)),
    ("LIKE without signs is equality", "name LIKE 'abc'", (1,)),
    ("LIKE with an escaped sign", r"name LIKE '50\\%%'", (5,)),
    ("LIKE with both ends", "name LIKE 'a%c'", (1,)),
    ("LIKE of everything passes NULL over", "name LIKE '%'", (1, 2, 3, 5)),
    ("NOT LIKE", "name NOT LIKE 'ab%'", (3, 5)),
    ("startswith", "startswith(name, 'ab')", (1, 2)),
    ("endswith", "endswith(name, 'c')", (1,)),
    ("contains", "contains(name, 'y')", (3,)),
    ("a BOOLEAN by itself", "ok", (1, 4)),
    ("NOT of a BOOLEAN", "NOT ok", (2, 5)),
    ("a BOOLEAN is TRUE", "ok = TRUE", (1, 4)),
    ("a number of another type", "score = 1.5", (1,)),
    ("a whole number beside DOUBLE", "score < 0", (2,)),
    ("NaN is greater than all", "score > 1000", (3,)),
    ("NaN equals itself", "score = CAST('NaN' AS DOUBLE)", (3,)),
    ("zero equals minus zero", "score = -0.0", (5,)),
    ("a DECIMAL", "price = 1.5", (1,)),
    ("a DECIMAL with more digits", "price > 1.499", (1, 5)),
    ("a DECIMAL beside a number that it cannot be", "price = 1.505", ()),
    ("a DATE", "born = DATE '2000-01-01'", (1,)),
    ("a DATE before 1970", "born < DATE '1970-01-01'", (2,)),
    ("a DATE as text", "born = '2024-02-29'", (3,)),
    ("a TIMESTAMP", "at = TIMESTAMP '2024-01-01 12:00:00'", (1,)),
    ("a TIMESTAMP with milliseconds", "at > TIMESTAMP '2024-01-01 12:00:00'", (2, 5)),
    ("a TIMESTAMP before 1970", "at < TIMESTAMP '1970-01-01 00:00:00'", (3,)),
    ("a TIMESTAMP beside a DATE", "at >= DATE '2024-01-02'", (2,)),
    ("a literal that no INT can be", "id < 3000000000", (1, 2, 3, 4, 5)),
    ("a literal that no INT can be, from below", "id > -3000000000", (1, 2, 3, 4, 5)),
    ("a literal between two whole numbers", "id > 2.5", (3, 4, 5)),
    ("a text beside a number", "id = '2'", (2,)),
    ("a member of a ROW", "r.a = 2", (2,)),
    ("a member of a NULL ROW is NULL", "r.b IS NULL", (2, 3)),
    ("two columns", "id < score + 1", (1, 3)),
    ("arithmetic", "id * 2 = 6", (3,)),
    ("the rest of a division", "id % 2 = 0", (2, 4)),
    ("a CAST", "CAST(id AS STRING) = '3'", (3,)),
    ("CASE", "CASE WHEN id > 3 THEN ok ELSE name = 'abc' END", (1, 4)),
    ("COALESCE", "COALESCE(name, 'none') = 'none'", (4,)),
    ("always true", "1 = 1", (1, 2, 3, 4, 5)),
    ("never true", "1 = 0", ()),
    ("an expression of Python", tc.col("id") > 3, (4, 5)),
    ("an expression with isin", tc.col("name").isin(["abc", "xyz"]), (1, 3)),
    ("an expression with between", tc.col("id").between(2, 3), (2, 3)),
    ("an expression with is_null", tc.col("name").is_null(), (4,)),
    ("an expression with like", tc.col("name").like("ab%"), (1, 2)),
    ("an expression that combines", (tc.col("id") > 1) & ~(tc.col("id") == 3) | (tc.col("name") == "abc"), (1, 2, 4, 5)),
)  # fmt: skip
WRONG: tuple[tuple[str, str, str], ...] = (
    ("a column that is not there is refused", "x = 1", "x"),
    ("a text that is no condition is refused", "id =", "id ="),
    ("a literal that is no DATE is refused", "born = DATE '2024-02-30'", "2024-02-30"),
    ("a function that is not there is refused", "nothing(id) = 1", "nothing"),
    ("a member that is not there is refused", "r.c = 1", "c"),
    ("a number is no condition", "id", "id"),
)


def _conditions() -> Iterator[Case]:
    by_id = {row[0]: row for row in ROWS}
    for promise, where, ids in CONDITIONS:
        expected = tuple((number,) for number in ids)
        yield case(f"{promise}: rows of one file", PEOPLE, put(*ROWS), rows(*expected, where=where, columns=["id"]))  # fmt: skip
        assert set(ids) <= by_id.keys()
    for promise, where, words in WRONG:
        yield case(promise, PEOPLE, put(*ROWS), refused(rows(where=where), words))
    spread = shape("k INT, p STRING, v INT", key="k, p", partition="p").with_options(
        {"bucket": "3"}
    )
    many = tuple((k, "xy"[k % 2], k * 10) for k in range(12))
    for promise, where, ks in (
        ("a partition and a key are both looked at", "p = 'x' AND k = 4", (4,)),
        ("either of two partitions", "p = 'x' OR k = 3", (0, 2, 3, 4, 6, 8, 10)),
        ("a range of keys over buckets", "k BETWEEN 3 AND 5", (3, 4, 5)),
        ("keys in a list over buckets", "k IN (1, 6, 11, 99)", (1, 6, 11)),
        ("a partition that is not there", "p = 'z'", ()),
        ("partitions in a list", "p IN ('x', 'z')", (0, 2, 4, 6, 8, 10)),
        ("a beginning of a partition", "p LIKE 'y%'", (1, 3, 5, 7, 9, 11)),
        ("a value that is no key", "v = 50", (5,)),
        ("not this partition", "p <> 'x' AND k < 4", (1, 3)),
    ):
        yield case(f"{promise}, over buckets and partitions", spread, put(*many), rows(*((k,) for k in ks), where=where, columns=["k"]))  # fmt: skip


TYPES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("BOOLEAN", (True, False, N)),
    ("TINYINT", (-128, 127, 0, N)),
    ("SMALLINT", (-(2**15), 2**15 - 1, N)),
    ("INT", (-(2**31), 2**31 - 1, N)),
    ("BIGINT", (-(2**63), 2**63 - 1, N)),
    ("FLOAT", (1.5, -0.0, INF, -INF, NAN, N)),
    ("DOUBLE", (1e308, 5e-324, -0.0, INF, NAN, N)),
    ("DECIMAL(5, 2)", (D("999.99"), D("-999.99"), D("0.00"), N)),
    ("DECIMAL(18, 6)", (D("123456789012.345678"), N)),
    ("DECIMAL(38, 18)", (D("12345678901234567890.123456789012345678"), D("-1.000000000000000000"), N)),
    ("CHAR(5)", ("abcde", N)),
    ("VARCHAR(3)", ("abc", "", "äöü", N)),
    ("STRING", ("", "a\nb", "日本語", "\U0001f600", " ", N)),
    ("BINARY(3)", (b"abc", N)),
    ("BYTES", (b"", b"\0\xff", N)),
    ("DATE", (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), N)),
    ("TIME(3)", (dt.time(0), dt.time(23, 59, 59, 999000), N)),
    ("TIMESTAMP(0)", (dt.datetime(2024, 2, 29, 1, 2, 3), N)),
    ("TIMESTAMP(3)", (dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(2024, 1, 1), N)),
    ("TIMESTAMP(6)", (dt.datetime(2024, 2, 29, 1, 2, 3, 123456), dt.datetime(1, 1, 1), N)),
    ("TIMESTAMP_LTZ(3)", (dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), N)),
    ("TIMESTAMP_LTZ(6)", (dt.datetime(1950, 2, 28, 1, 2, 3, 123456, tzinfo=UTC), N)),
    ("ARRAY<INT>", ([1, N, 3], [], N)),
    ("ARRAY<ARRAY<STRING>>", ([["a"], [], N], N)),
    ("MAP<STRING, INT>", ([("a", 1), ("b", N)], [], N)),
    ("MAP<INT, ARRAY<STRING>>", ([(1, ["x", N])], N)),
    ("ROW<a INT, b STRING>", ({"a": 1, "b": "x"}, {"a": N, "b": N}, N)),
    ("ROW<a ROW<b ARRAY<INT>>>", ({"a": {"b": [1, 2]}}, {"a": N}, N)),
    ("ARRAY<ROW<a INT, m MAP<STRING, DOUBLE>>>", ([{"a": 1, "m": [("k", 1.5)]}, N], [], N)),
)  # fmt: skip
UNKEPT = {("TIMESTAMP(3)", "orc"): "last second before 1970"}
"""What a format cannot keep, by the words of the refusal."""


def _types() -> Iterator[Case]:
    for type_, values in TYPES:
        table = shape(f"k INT, v {type_}")
        keyed = shape(f"k INT, v {type_}", key="k", bucket="1")
        written = tuple(enumerate(values))
        for format_ in ("parquet", "orc", "avro"):
            yield case(f"edge values of {type_} come back from {format_}", table, put(*written), rows(*written), options={"file.format": format_}, missing=UNKEPT.get((type_, format_), ""))  # fmt: skip
        yield case(f"edge values of {type_} come through a merge and a compaction", keyed, put(*written), put(*written[:1]), do("compact"), rows(*written))  # fmt: skip


def _compressions() -> Iterator[Case]:
    table = shape("k INT, v STRING", key="k", bucket="1")
    many = tuple((k, "text" * (k % 7)) for k in range(50))
    for format_, names in (
        ("parquet", ("none", "snappy", "gzip", "zstd", "lz4")),
        ("orc", ("none", "snappy", "zlib", "zstd", "lz4")),
        ("avro", ("none", "snappy", "zstd", "deflate")),
    ):
        for name in names:
            yield case(f"{format_} files are compressed with {name}", table, put(*many), rows(*many), options={"file.format": format_, "file.compression": name})  # fmt: skip
    for promise, options in (
        ("each level can have its own compression", {"file.compression.per.level": "0:lz4,5:zstd"}),
        ("each level can have its own format", {"file.format.per.level": "0:avro,5:orc"}),
        ("zstd can have its level", {"file.compression.zstd-level": "9"}),
        ("manifests can have their own compression", {"manifest.compression": "none"}),
        ("files can have a prefix", {"data-file.prefix": "part-"}),
        ("names of files can tell the compression", {"file.suffix.include.compression": "true"}),
        ("files can be thin", {"data-file.thin-mode": "true"}),
        ("data files can have a folder of their own", {"data-file.path-directory": "data"}),
        ("files are rolled at a size", {"target-file-size": "1 kb"}),
        ("parquet can have small row groups", {"parquet.block.size": "1024"}),
        ("parquet can be without dictionaries", {"parquet.enable.dictionary": "false"}),
        ("orc can have small stripes", {"file.format": "orc", "orc.stripe.size": "1024"}),
        ("statistics can be of no column", {"metadata.stats-mode": "none"}),
        ("statistics can be counts", {"metadata.stats-mode": "counts"}),
        ("statistics can be whole", {"metadata.stats-mode": "full"}),
        ("statistics can be of one column", {"fields.v.stats-mode": "none"}),
        ("statistics can be dense", {"metadata.stats-dense-store": "true"}),
    ):
        yield case(promise, table, put(*many), put(*many[:5]), do("compact"), rows(*many), rows((3, many[3][1]), where="k = 3"), options=options)  # fmt: skip
    yield case("mosaic files are known by name", table, put(*many), rows(*many), options={"file.format": "mosaic"}, missing="mosaic")  # fmt: skip
    yield case("lance files are known by name", table, put(*many), rows(*many), options={"file.format": "lance"}, missing="lance")  # fmt: skip
    yield case("csv tables are known by name", shape("k INT, v STRING"), put((1, "a")), rows((1, "a")), options={"type": "format-table", "file.format": "csv"}, missing="type")  # fmt: skip
    yield case("a VECTOR comes back", shape("k INT, v VECTOR<FLOAT, 3>"), put((1, [1.0, 2.0, 3.0])), rows((1, [1.0, 2.0, 3.0])))  # fmt: skip


def _indexes() -> Iterator[Case]:
    """Whatever an index rules out, no row is lost."""
    table = shape("k INT, s STRING, d DATE, b BIGINT, m MAP<STRING, STRING>")
    many = tuple(
        (
            k,
            f"s{k % 5}",
            dt.date(2024, 1, 1 + k % 20),
            k * 1000 if k % 3 else N,
            [("a", f"v{k % 4}")],
        )
        for k in range(40)
    )
    for kind, column, where, fits in (
        ("bloom-filter", "s", "s = 's3'", lambda row: row[1] == "s3"),
        ("bloom-filter", "s", "s = 'none'", lambda row: row[1] == "none"),
        ("bloom-filter", "d", "d = DATE '2024-01-05'", lambda row: row[2] == dt.date(2024, 1, 5)),
        ("bloom-filter", "b", "b IN (1000, 7)", lambda row: row[3] == 1000),
        ("bloom-filter", "k", "k = 7", lambda row: row[0] == 7),
        ("bitmap", "s", "s = 's3'", lambda row: row[1] == "s3"),
        ("bitmap", "s", "s <> 's3'", lambda row: row[1] != "s3"),
        ("bitmap", "s", "s IN ('s1', 's2')", lambda row: row[1] in {"s1", "s2"}),
        ("bitmap", "s", "s NOT IN ('s1', 's2')", lambda row: row[1] not in {"s1", "s2"}),
        ("bitmap", "b", "b IS NULL", lambda row: row[3] is N),
        ("bitmap", "b", "b IS NOT NULL", lambda row: row[3] is not N),
        ("bitmap", "d", "d = DATE '2024-01-05'", lambda row: row[2] == dt.date(2024, 1, 5)),
        ("bsi", "k", "k > 30", lambda row: row[0] > 30),
        ("bsi", "k", "k <= 3", lambda row: row[0] <= 3),
        ("bsi", "b", "b BETWEEN 1000 AND 5000", lambda row: row[3] is not N and 1000 <= row[3] <= 5000),
        ("bsi", "b", "b IS NULL", lambda row: row[3] is N),
        ("bsi", "d", "d >= DATE '2024-01-15'", lambda row: row[2] >= dt.date(2024, 1, 15)),
        ("range-bitmap", "k", "k > 30", lambda row: row[0] > 30),
        ("range-bitmap", "s", "s = 's3'", lambda row: row[1] == "s3"),
        ("range-bitmap", "b", "b IS NULL", lambda row: row[3] is N),
    ):  # fmt: skip
        expected = tuple((row[0],) for row in many if fits(row))
        yield case(f"{kind} of {column}: {where}", table, put(*many[:20]), put(*many[20:]), rows(*expected, where=where, columns=["k"]), options={f"file-index.{kind}.columns": column}, missing="range-bitmap" if kind == "range-bitmap" else "")  # fmt: skip
    yield case("an index in the manifest holds too", table, put(*many), rows((3,), (8,), (13,), (18,), (23,), (28,), (33,), (38,), where="s = 's3'", columns=["k"]), options={"file-index.bitmap.columns": "s", "file-index.in-manifest-threshold": "1 mb"})  # fmt: skip
    yield case("an index can be left unread", table, put(*many), rows((7,), where="k = 7", columns=["k"]), options={"file-index.bsi.columns": "k", "file-index.read.enabled": "false"})  # fmt: skip
    yield case("an index of a member of a MAP holds", table, put(*many), rows(*((row[0],) for row in many if row[1] == "s1"), where="s = 's1'", columns=["k"]), options={"file-index.bloom-filter.columns": "m[a]"}, missing="m[a]")  # fmt: skip
    yield case("an index of a key table rules no newer row out", shape("k INT, v STRING", key="k", bucket="1"), put((1, "a"), (2, "b")), put((1, "b")), rows((1, "b"), (2, "b"), where="v = 'b'"), rows(where="v = 'a'"), options={"file-index.bitmap.columns": "v"})  # fmt: skip


@dataclass(frozen=True)
class Joined:
    """A lookup join of rows with one column ``k``."""

    keys: tuple[int, ...]
    expected: tuple[Any, ...]
    how: tuple[tuple[str, Any], ...] = ()

    def run(self, play: Play) -> None:
        """Join, and compare the column ``v``."""
        source = pa.table({"k": pa.array(self.keys, pa.int32())})
        joined = tc.lookup_join(source, play.table(), on=["k"], **dict(self.how))
        values = tuple(joined.column("v").to_pylist())
        assert values == self.expected, f"{values}, not {self.expected}"


LOOKUPS = (
    case("each row gets the row of its key", KV, put((1, "a"), (2, "b")), Joined((2, 1, 2), ("b", "a", "b"))),
    case("a key that is not there gets NULL", KV, put((1, "a")), Joined((1, 9), ("a", N))),
    case("the newest row of a key is looked up", KV, put((1, "a")), Joined((1,), ("a",)), put((1, "z")), Joined((1,), ("z",))),
    case("a deleted key gets NULL", KV, put((1, "a")), put(("-D", 1, "a")), Joined((1,), (N,))),
    case("an older state can be looked up", KV, put((1, "a")), put((1, "b")), Joined((1,), ("a",), (("as_of", 1),))),
    case("a tag can be looked up", KV, put((1, "a")), do("tags.create", "x"), put((1, "b")), Joined((1,), ("a",), (("as_of", "x"),))),
    case("a missing key can be an error", KV, put((1, "a")), refused(Joined((1, 9), (), (("missing", "fail"),)), "9")),
    case("an aggregate is looked up", shape("k INT, v INT", key="k", bucket="1"), put((1, 5)), put((1, 3)), Joined((1,), (8,)), options={"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    case("a partial update is looked up", shape("k INT, v STRING, w INT", key="k", bucket="1"), put((1, "a", N)), put((1, N, 5)), Joined((1,), ("a",)), options={"merge-engine": "partial-update"}),
    case("a table with deletion vectors is looked up", KV, put((1, "a"), (2, "b")), put((1, "c")), Joined((1, 2), ("c", "b")), options={"deletion-vectors.enabled": "true"}),
    case("the newest partition alone is looked up", shape("k INT, v STRING, p STRING", key="k, p", partition="p", bucket="1"), put((1, "a", "x")), put((1, "b", "y")), rows((1, "b", "y"), options={"scan.partitions": "max_pt()"})),
    case("rows of the named partitions alone are read", shape("k INT, v STRING, p STRING", partition="p"), put((1, "a", "x"), (1, "b", "y")), rows((1, "a", "x"), options={"scan.partitions": "p=x"})),
)  # fmt: skip

CASES = (
    *area("Predicates and literals", _conditions()),
    *area("Types and formats", _types(), _compressions()),
    *area("File indexes", _indexes()),
    *area("Lookups", LOOKUPS),
)
