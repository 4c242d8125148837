"""UPDATE, DELETE and MERGE, each on a key table, on an append table, and on one with deletion vectors.

Facts from ``UpdateTableTestBase``, ``DeleteFromTableTestBase`` and ``MergeIntoTableTestBase`` of Spark's module, and from
``BatchUpdateWithPrimaryKeyITCase`` and ``MergeIntoActionITCase`` of Flink's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import table_core as tc
from tests.upstream.play import area, case, shape
from tests.upstream.shapes import APPARTED, PARTED
from tests.upstream.steps import alter, changes, do, gives, merge, put, refused, rows, snapshots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.upstream.play import Case, Shape

__all__ = ["CASES"]

N = None
VECTORS = {"deletion-vectors.enabled": "true"}
WIDE = "a INT, b INT, x INT, c STRING"
START: Mapping[int, tuple[Any, ...]] = {1: (10, 100, "c1"), 2: (20, 200, "c2"), 3: (N, 300, N)}
"""The rows before, by their key."""


def kinds(columns: str) -> dict[str, Shape]:
    """The tables that a statement is tried on; the key is ``a``."""
    return {
        "key table": shape(columns, key="a", bucket="1"),
        "append table": shape(columns),
        "append table with vectors": shape(columns).with_options(VECTORS),
    }


Values = dict[str, str]
UPDATES: tuple[tuple[str, Values, str | Any, Mapping[int, tuple[Any, ...]]], ...] = (
    # promise, what is set, where, the rows that are others then
    ("sets one column of one row", {"b": "99"}, "a = 1", {1: (99, 100, "c1")}),
    ("sets a column of every row", {"c": "'z'"}, "1 = 1", {1: (10, 100, "z"), 2: (20, 200, "z"), 3: (N, 300, "z")}),
    ("counts from the old value", {"b": "b + 1"}, "a = 2", {2: (21, 200, "c2")}),
    ("takes each value from the old row", {"b": "x", "x": "b"}, "a = 1", {1: (100, 10, "c1")}),
    ("leaves NULL when it counts", {"b": "b + 1"}, "a = 3", {}),
    ("sets NULL", {"c": "NULL"}, "a = 1", {1: (10, 100, N)}),
    ("passes rows over whose condition is NULL", {"x": "0"}, "b > 10", {2: (20, 0, "c2")}),
    ("finds NULL by IS NULL", {"b": "0"}, "b IS NULL", {3: (0, 300, N)}),
    ("finds rows in a list", {"c": "'in'"}, "a IN (1, 3)", {1: (10, 100, "in"), 3: (N, 300, "in")}),
    ("finds rows that are not in a list", {"c": "'out'"}, "b NOT IN (10)", {2: (20, 200, "out")}),
    ("finds rows by either condition", {"x": "1"}, "a = 1 OR c = 'c2'", {1: (10, 1, "c1"), 2: (20, 1, "c2")}),
    ("finds rows by an expression of Python", {"x": "1"}, tc.col("b") == 10, {1: (10, 1, "c1")}),
    ("finds rows by arithmetic", {"c": "'even'"}, "a % 2 = 0", {2: (20, 200, "even")}),
    ("chooses with CASE", {"c": "CASE WHEN a = 1 THEN 'one' ELSE c END"}, "a < 3", {1: (10, 100, "one")}),
    ("fills with COALESCE", {"b": "COALESCE(b, x)"}, "1 = 1", {3: (300, 300, N)}),
    ("makes a number a text", {"c": "CAST(x AS STRING)"}, "a = 1", {1: (10, 100, "100")}),
    ("makes a text a number", {"b": "CAST('7' AS INT)"}, "a = 1", {1: (7, 100, "c1")}),
    ("joins texts with concat", {"c": "concat(c, '2')"}, "a = 1", {1: (10, 100, "c12")}),
    ("joins texts with ||", {"c": "c || '2'"}, "a = 1", {1: (10, 100, "c12")}),
    ("takes a part of a text", {"c": "substring(c, 2, 1)"}, "a = 1", {1: (10, 100, "1")}),
    ("writes a text in capitals", {"c": "upper(c)"}, "a = 2", {2: (20, 200, "C2")}),
    ("counts the letters of a text", {"b": "length(c)"}, "a = 1", {1: (2, 100, "c1")}),
    ("takes the larger of two", {"b": "greatest(b, 15)"}, "a < 3", {1: (15, 100, "c1")}),
    ("turns a sign", {"b": "-b"}, "a = 1", {1: (-10, 100, "c1")}),
    ("finds nothing", {"b": "0"}, "a > 100", {}),
)  # fmt: skip
WRONG_UPDATES: tuple[tuple[str, Values, str, str], ...] = (
    ("a column that is not there", {"nope": "1"}, "a = 1", "nope"),
    ("a column that is not there in its condition", {"b": "1"}, "nope = 1", "nope"),
    ("a column that is not there in its value", {"b": "nope"}, "a = 1", "nope"),
    ("a value that does not fit", {"b": "3000000000"}, "a = 1", "b"),
    ("a text for a number", {"b": "'many'"}, "a = 1", "many"),
    ("a condition that is none", {"b": "1"}, "a =", "a ="),
    ("a function that is not there", {"b": "nothing(a)"}, "a = 1", "nothing"),
    ("no column", {}, "a = 1", "column"),
)  # fmt: skip
DELETES: tuple[tuple[str, str | Any, tuple[int, ...]], ...] = (
    # promise, where, the keys that are left
    ("takes one row", "a = 1", (2, 3)),
    ("takes every row", "1 = 1", ()),
    ("takes none", "1 = 0", (1, 2, 3)),
    ("leaves rows whose condition is NULL", "b <> 10", (1, 3)),
    ("leaves rows whose negated condition is NULL", "NOT (b = 10)", (1, 3)),
    ("takes rows with NULL by IS NULL", "b IS NULL", (1, 2)),
    ("takes rows in a list", "a IN (1, 3, 9)", (2,)),
    ("takes rows in a list with NULL", "c IN ('c1', NULL)", (2, 3)),
    ("takes nothing by NOT IN with NULL", "b NOT IN (10, NULL)", (1, 2, 3)),
    ("takes a range", "a > 1 AND a <= 3", (1,)),
    ("takes rows between two values", "x BETWEEN 150 AND 250", (1, 3)),
    ("takes rows by the beginning of a text", "c LIKE 'c%'", (3,)),
    ("takes rows by either condition", "b = 10 OR c IS NULL", (2,)),
    ("takes rows by arithmetic over two columns", "b + x > 150", (1, 3)),
    ("takes rows by a function", "length(c) = 2", (3,)),
    ("takes rows by an expression of Python", tc.col("a").isin([2, 3]), (1,)),
)  # fmt: skip


MISSING = ("concat", "||", "substring", "upper", "length", "greatest")


def _function(*texts: object) -> str:
    """The function of ``texts`` that this release does not know."""
    return next((name for name in MISSING if any(name in str(text) for text in texts)), "")


def _updates_and_deletes() -> Iterator[Case]:
    before = tuple((key, *values) for key, values in START.items())
    for kind, table in kinds(WIDE).items():
        for promise, values, where, others in UPDATES:
            after = ((key, *row) for key, row in (START | dict(others)).items())
            yield case(f"{kind}: UPDATE {promise}", table, put(*before), do("update", values, where), rows(*after), missing=_function(*values.values()))  # fmt: skip
        for promise, values, where, words in WRONG_UPDATES:
            yield case(f"{kind}: UPDATE refuses {promise}", table, put(*before), refused(do("update", values, where), words), rows(*before))  # fmt: skip
        for promise, where, left in DELETES:
            after = ((key, *START[key]) for key in left)
            yield case(f"{kind}: DELETE {promise}", table, put(*before), do("delete", where), rows(*after), missing=_function(where))  # fmt: skip
        for promise, where, words in (
            ("a column that is not there", "nope = 1", "nope"),
            ("a condition that is none", "a", "a"),
            ("a text that is no SQL", "((", "(("),
        ):
            yield case(f"{kind}: DELETE refuses {promise}", table, put(*before), refused(do("delete", where), words), rows(*before))  # fmt: skip


KEYED = shape("a INT, b INT, c STRING", key="a", bucket="1")
DOUBLY = shape("k INT, dt STRING, hr INT", partition="dt, hr")
NESTED = shape("k INT, s ROW<x INT, y STRING>, m MAP<STRING, INT>", key="k", bucket="1")
LOOKUP = {"changelog-producer": "lookup"}
OTHERS = (
    case("an UPDATE of the key is refused", KEYED, put((1, 1, "a")), refused(do("update", {"a": "9"}, "a = 1"), "a"), rows((1, 1, "a"))),
    case("an UPDATE of a key table adds rows", KEYED, put((1, 1, "a")), do("update", {"b": "2"}, "a = 1"), snapshots("APPEND APPEND")),
    case("an UPDATE that finds nothing makes no snapshot", KEYED, put((1, 1, "a")), do("update", {"b": "2"}, "a = 9"), snapshots("APPEND")),
    case("a DELETE that finds nothing makes no snapshot", KEYED, put((1, 1, "a")), do("delete", "a = 9"), snapshots("APPEND")),
    case("an UPDATE is in the changelog with its old half", KEYED, put((1, 1, "a")), do("update", {"b": "2"}, "a = 1"), changes((1, 1, "a"), ("-U", 1, 1, "a"), ("+U", 1, 2, "a"), mode="changelog"), options=LOOKUP),
    case("a DELETE is in the changelog with its row", KEYED, put((1, 1, "a")), do("delete", "a = 1"), changes((1, 1, "a"), ("-D", 1, 1, "a"), mode="changelog"), options=LOOKUP),
    case("a row that was deleted can come back", KEYED, put((1, 1, "a")), do("delete", "a = 1"), put((1, 2, "b")), rows((1, 2, "b"))),
    case("an UPDATE sees rows of several writes", KEYED, put((1, 1, "a")), put((1, 5, "b")), do("update", {"b": "b + 1"}, "a = 1"), rows((1, 6, "b"))),
    case("an UPDATE after a compaction", KEYED, put((1, 1, "a")), put((1, 5, "b")), do("compact"), do("update", {"b": "b + 1"}, "b = 5"), rows((1, 6, "b"))),
    case("an UPDATE with values from outside", KEYED, put((1, 1, "a")), do("update", {"c": "$text"}, "a = $key", parameters={"text": "it's", "key": 1}), rows((1, 1, "it's"))),
    case("an UPDATE of first-row is refused", KEYED, put((1, 1, "a")), refused(do("update", {"b": "2"}, "a = 1"), "first-row"), options={"merge-engine": "first-row", **LOOKUP}),
    case("a DELETE of first-row is refused", KEYED, put((1, 1, "a")), refused(do("delete", "a = 1"), "first-row"), options={"merge-engine": "first-row", **LOOKUP}),
    case("a DELETE of aggregation that removes records", KEYED, put((1, 1, "a"), (2, 2, "b")), do("delete", "a = 1"), rows((2, 2, "b")), options={"merge-engine": "aggregation", "aggregation.remove-record-on-delete": "true"}),
    case("a DELETE with rows in a later sequence", KEYED, put((1, 5, "a")), do("delete", "a = 1"), rows(), options={"sequence.field": "b"}),
    case("an UPDATE of the sequence field upwards", KEYED, put((1, 5, "a")), do("update", {"b": "6", "c": "'z'"}, "a = 1"), rows((1, 6, "z")), options={"sequence.field": "b"}),
    case("a DELETE by a whole partition", APPARTED, put((1, "a", "x"), (2, "b", "y")), do("delete", "p = 'x'"), rows((2, "b", "y"))),
    case("a DELETE by a partition and a value", APPARTED, put((1, "a", "x"), (2, "b", "x"), (1, "c", "y")), do("delete", "p = 'x' AND k = 1"), rows((2, "b", "x"), (1, "c", "y"))),
    case("a DELETE of the partition of NULL", APPARTED, put((1, "a", N), (2, "b", "y")), do("delete", "p IS NULL"), rows((2, "b", "y"))),
    case("a DELETE of the partition of NULL under another name", APPARTED, put((1, "a", N), (2, "b", "y")), do("delete", "p IS NULL"), rows((2, "b", "y")), options={"partition.default-name": "none"}),
    case("a DELETE that NULL in the partition does not match", APPARTED, put((1, "a", N), (2, "b", "y")), do("delete", "p <> 'x'"), rows((1, "a", N))),
    case("a DELETE by a function of the partition", APPARTED, put((1, "a", "x"), (2, "b", "long")), do("delete", "length(p) > 1"), rows((1, "a", "x")), missing="length"),
    case("a DELETE by the beginning of a partition", APPARTED, put((1, "a", "2024-01"), (2, "b", "2025-01")), do("delete", "p LIKE '2024%'"), rows((2, "b", "2025-01"))),
    case("a DELETE by one of two partition columns", DOUBLY, put((1, "a", 1), (2, "a", 2), (3, "b", 1)), do("delete", "hr = 1"), rows((2, "a", 2))),
    case("a DELETE by a range of partitions", DOUBLY, put((1, "a", 1), (2, "a", 2), (3, "b", 1)), do("delete", "hr >= 2 OR dt > 'a'"), rows((1, "a", 1))),
    case("a DELETE in a partitioned key table", PARTED, put((1, "a", "x"), (1, "b", "y")), do("delete", "p = 'x'"), rows((1, "b", "y"))),
    case("an UPDATE in one partition", APPARTED, put((1, "a", "x"), (1, "b", "y")), do("update", {"v": "'z'"}, "p = 'x'"), rows((1, "z", "x"), (1, "b", "y"))),
    case("an UPDATE of rows in several partitions", APPARTED, put((1, "a", "x"), (1, "b", "y")), do("update", {"v": "concat(v, p)"}, "k = 1"), rows((1, "ax", "x"), (1, "by", "y")), missing="concat"),
    case("an UPDATE moves a row to another partition", APPARTED, put((1, "a", "x"), (2, "b", "y")), do("update", {"p": "'z'"}, "k = 1"), rows((1, "a", "z"), (2, "b", "y"))),
    case("an UPDATE of a whole ROW", NESTED, put((1, {"x": 1, "y": "a"}, N)), do("update", {"m": "NULL"}, "s.x = 1"), rows((1, {"x": 1, "y": "a"}, N))),
    case("an UPDATE of a member of a ROW is known by name", NESTED, put((1, {"x": 1, "y": "a"}, N)), do("update", {"s.y": "'z'"}, "s.x = 1"), rows((1, {"x": 1, "y": "z"}, N)), missing="s.y"),
    case("an UPDATE with a longer text than VARCHAR holds is refused", shape("k INT, v VARCHAR(3)", key="k", bucket="1"), put((1, "abc")), refused(do("update", {"v": "'abcd'"}, "k = 1"), "abcd"), rows((1, "abc"))),
    case("an UPDATE with a longer text than CHAR holds is refused", shape("k INT, v CHAR(3)", key="k", bucket="1"), put((1, "abc")), refused(do("update", {"v": "'abcd'"}, "k = 1"), "abcd"), rows((1, "abc"))),
    case("an UPDATE to NULL of a column that is NOT NULL is refused", shape("k INT, v INT NOT NULL"), put((1, 1)), refused(do("update", {"v": "NULL"}, "k = 1"), "v"), rows((1, 1))),
    case("an UPDATE from another table is known by name", KEYED, put((1, 1, "a")), do("update", {"b": "2"}, "a IN (SELECT a FROM other)"), rows((1, 2, "a")), missing="select"),
    case("an UPDATE after a column was renamed", KEYED, put((1, 1, "a")), alter(tc.RenameColumn("b", "n")), do("update", {"n": "n + 1"}, "n = 1"), rows((1, 2, "a"))),
    case("an UPDATE of a new column of old rows", KEYED, put((1, 1, "a")), alter(tc.AddColumn("d", "INT")), do("update", {"d": "b"}, "d IS NULL"), rows((1, 1, "a", 1))),
    case("a DELETE says how many rows it took", KEYED, put((1, 1, "a"), (2, 2, "b")), do("delete", "a < 9"), gives("details.rows", 2), rows()),
)  # fmt: skip

UPSERT, INSERT, DELETE = tc.MatchedUpsert, tc.NotMatchedInsert, tc.MatchedDelete
TWO = ((1, 10, "c1"), (2, 20, "c2"))
FIVE = (*TWO, (3, 30, "c3"), (4, 40, "c4"), (5, 50, "c5"))
SOURCE = ((1, 100, "c11"), (3, 300, "c33"))
MANY = (*SOURCE, (5, 500, "c55"), (7, 700, "c77"), (9, 900, "c99"))
Clauses = tuple[Any, ...]
MERGES: tuple[tuple[str, Any, Any, Any, Clauses, Any], ...] = (
    # promise, target rows, source rows, on, clauses, rows after
    ("only updates", TWO, SOURCE, ["a"], (UPSERT(),), ((1, 100, "c11"), (2, 20, "c2"))),
    ("only deletes", TWO, SOURCE, ["a"], (DELETE(),), ((2, 20, "c2"),)),
    ("only inserts", TWO, SOURCE, ["a"], (INSERT(),), (*TWO, (3, 300, "c33"))),
    ("updates and inserts", TWO, SOURCE, ["a"], (UPSERT(), INSERT()), ((1, 100, "c11"), (2, 20, "c2"), (3, 300, "c33"))),
    ("deletes and inserts", TWO, SOURCE, ["a"], (DELETE(), INSERT()), ((2, 20, "c2"), (3, 300, "c33"))),
    ("updates by a condition", FIVE, MANY, ["a"], (UPSERT(condition="source.c > 'c2'"),), ((1, 10, "c1"), (2, 20, "c2"), (3, 300, "c33"), (4, 40, "c4"), (5, 500, "c55"))),
    ("inserts by a condition", TWO, MANY, ["a"], (INSERT(condition="source.b > 600"),), (*TWO, (7, 700, "c77"), (9, 900, "c99"))),
    ("deletes by a condition", FIVE, MANY, ["a"], (DELETE(condition="target.c <= 'c3'"),), ((2, 20, "c2"), (4, 40, "c4"), (5, 50, "c5"))),
    ("takes the first clause that fits", FIVE, MANY, ["a"], (UPSERT(values={"b": "source.b + target.b"}, condition="target.a = 5"), UPSERT(condition="source.c > 'c2'"), DELETE(), INSERT(values={"a": "source.a", "b": "source.b * 2", "c": "source.c"}, condition="source.c > 'c9'"), INSERT()), ((2, 20, "c2"), (3, 300, "c33"), (4, 40, "c4"), (5, 550, "c5"), (7, 700, "c77"), (9, 1800, "c99"))),
    ("inserts some columns, NULL in the others", TWO, SOURCE, ["a"], (INSERT(values={"a": "source.a"}),), (*TWO, (3, N, N))),
    ("updates some columns, and keeps the others", TWO, SOURCE, ["a"], (UPSERT(values={"c": "source.c"}), INSERT()), ((1, 10, "c11"), (2, 20, "c2"), (3, 300, "c33"))),
    ("takes values of both sides", TWO, SOURCE, ["a"], (UPSERT(values={"b": "source.b * 2 + target.b"}),), ((1, 210, "c1"), (2, 20, "c2"))),
    ("takes columns in any order", TWO, SOURCE, ["a"], (UPSERT(values={"c": "source.c", "b": "source.b"}), INSERT(values={"b": "source.b", "c": "source.c", "a": "source.a"})), ((1, 100, "c11"), (2, 20, "c2"), (3, 300, "c33"))),
    ("chooses with COALESCE over both sides", TWO, ((1, N, N),), ["a"], (UPSERT(values={"b": "COALESCE(source.b, target.b)", "c": "COALESCE(source.c, target.c)"}),), TWO),
    ("of an empty source changes nothing", TWO, (), ["a"], (UPSERT(), INSERT()), TWO),
    ("into an empty table inserts", (), SOURCE, ["a"], (UPSERT(), INSERT()), SOURCE),
    ("of nothing into nothing is nothing", (), (), ["a"], (UPSERT(), INSERT()), ()),
    ("deletes what the source lacks", FIVE, SOURCE, ["a"], (tc.NotMatchedBySourceDelete(),), ((1, 10, "c1"), (3, 30, "c3"))),
    ("deletes what the source lacks by a condition", FIVE, SOURCE, ["a"], (tc.NotMatchedBySourceDelete(condition="target.b > 30"),), ((1, 10, "c1"), (2, 20, "c2"), (3, 30, "c3"))),
    ("updates what the source lacks", TWO, SOURCE, ["a"], (tc.NotMatchedBySourceUpsert(values={"c": "'gone'"}),), ((1, 10, "c1"), (2, 20, "gone"))),
    ("matches by two columns", TWO, ((1, 10, "z"), (2, 99, "z")), ["a", "b"], (UPSERT(values={"c": "source.c"}),), ((1, 10, "z"), (2, 20, "c2"))),
    ("never matches NULL", ((1, N, "c1"),), ((1, N, "z"),), ["b"], (UPSERT(values={"c": "source.c"}),), ((1, N, "c1"),)),
)  # fmt: skip


def _merges() -> Iterator[Case]:
    for kind, table in kinds("a INT, b INT, c STRING").items():
        for promise, before, source, on, when, after in MERGES:
            yield case(f"{kind}: MERGE {promise}", table, put(*before), merge(*source, on=on, when=when), rows(*after))  # fmt: skip
        twice = merge((1, 1, "x"), (1, 2, "y"), on=["a"], when=[UPSERT()])
        yield case(f"{kind}: MERGE refuses two source rows for one target row", table, put(*TWO), refused(twice, "source"), rows(*TWO))  # fmt: skip
        for promise, when, words in (
            ("an unknown target column", [UPSERT(values={"nope": "1"})], "nope"),
            ("an unknown source column", [UPSERT(values={"b": "source.nope"})], "nope"),
            ("an unknown column in a condition", [UPSERT(condition="source.nope = 1")], "nope"),
            ("a target column where there is no target row", [INSERT(condition="target.b = 1")], "target"),
            ("no clause", [], "when"),
        ):  # fmt: skip
            yield case(f"{kind}: MERGE refuses {promise}", table, put(*TWO), refused(merge(*SOURCE, on=["a"], when=when), words), rows(*TWO))  # fmt: skip


STAR = "a INT, c STRING"
OF_MERGE = (
    case("a MERGE by columns of other names", KEYED, put(*TWO), merge((1, 7), on={"a": "id"}, when=[UPSERT(values={"b": "source.n"})], columns="id INT, n INT"), rows((1, 7, "c1"), (2, 20, "c2"))),
    case("a MERGE by a column that is not there is refused", KEYED, put(*TWO), refused(merge(*SOURCE, on=["nope"], when=[UPSERT()]), "nope"), rows(*TWO)),
    case("a MERGE leaves columns out that the table has not", KEYED, put(*TWO), merge((1, 1, "x", 5), on=["a"], when=[UPSERT()], columns="a INT, b INT, c STRING, d INT"), rows((1, 1, "x"), (2, 20, "c2"))),
    case("a MERGE does not change the key", KEYED, put(*TWO), refused(merge(*SOURCE, on=["a"], when=[UPSERT(values={"a": "source.a + 1"})]), "a"), rows(*TWO)),
    case("a MERGE fills defaults of columns that it does not name", shape("a INT, b INT, c STRING", key="a", bucket="1"), alter(tc.UpdateColumnDefault("b", "6")), put((1, 10, "c1")), merge((3, "z"), on=["a"], when=[INSERT(values={"a": "source.a", "c": "source.c"})], columns=STAR), rows((1, 10, "c1"), (3, 6, "z"))),
    case("a MERGE makes texts numbers", KEYED, put(*TWO), merge((1, "111"), (4, "400"), on=["a"], when=[UPSERT(values={"b": "CAST(source.s AS INT)"}), INSERT(values={"a": "source.a", "b": "CAST(source.s AS INT)"})], columns="a INT, s STRING"), rows((1, 111, "c1"), (2, 20, "c2"), (4, 400, N))),
    case("a MERGE into a partitioned table", APPARTED, put((1, "a", "x"), (2, "b", "y")), merge((1, "z", "x"), (3, "c", "w"), on=["k"], when=[UPSERT(), INSERT()]), rows((1, "z", "x"), (2, "b", "y"), (3, "c", "w"))),
    case("a MERGE into a table with data files in a folder of their own", KEYED, put(*TWO), merge(*SOURCE, on=["a"], when=[UPSERT(), INSERT()]), rows((1, 100, "c11"), (2, 20, "c2"), (3, 300, "c33")), options={"data-file.path-directory": "data"}),
    case("a MERGE is in the changelog", KEYED, put(*TWO), merge(*SOURCE, on=["a"], when=[UPSERT(), INSERT()]), changes(("-U", 1, 10, "c1"), ("+U", 1, 100, "c11"), (3, 300, "c33"), mode="changelog", after=2), options=LOOKUP),
    case("a MERGE of a key table is one APPEND", KEYED, put(*TWO), merge(*SOURCE, on=["a"], when=[DELETE(), INSERT()]), snapshots("APPEND APPEND")),
    case("a MERGE of an append table is one OVERWRITE", shape("a INT, b INT, c STRING"), put(*TWO), merge(*SOURCE, on=["a"], when=[UPSERT(), INSERT()]), snapshots("APPEND OVERWRITE")),
    case("a MERGE with a member of a ROW as condition", NESTED, put((1, {"x": 1, "y": "a"}, N), (2, {"x": 2, "y": "b"}, N)), merge((1, {"x": 9, "y": "z"}, N), (2, {"x": 9, "y": "z"}, N), on=["k"], when=[UPSERT(condition="target.s.x = 1")]), rows((1, {"x": 9, "y": "z"}, N), (2, {"x": 2, "y": "b"}, N))),
    case("a MERGE of a member of a ROW is known by name", NESTED, put((1, {"x": 1, "y": "a"}, N)), merge((1, {"x": 9, "y": "z"}, N), on=["k"], when=[UPSERT(values={"s.x": "source.s.x"})]), rows((1, {"x": 9, "y": "a"}, N)), missing="s.x"),
    case("two MERGEs one after the other", KEYED, put(*TWO), merge(*SOURCE, on=["a"], when=[UPSERT(), INSERT()]), merge((3, 1, "x"), on=["a"], when=[DELETE()]), rows((1, 100, "c11"), (2, 20, "c2"))),
)  # fmt: skip

CASES = (
    *area("UPDATE and DELETE", _updates_and_deletes(), OTHERS),
    *area("MERGE", _merges(), OF_MERGE),
)
