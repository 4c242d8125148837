"""Schema evolution: columns that are added, renamed, moved, dropped and retyped, also inside of others.

Facts from ``SchemaManagerTest``, ``SchemaEvolutionTest``, ``CastExecutorTest``, ``SchemaChangeITCase`` and pypaimon's
``schema_evolution_read_test`` and ``schema_evolution_nested_read_test``.  What a retype does to old rows is read from
files that were written before it.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import table_core as tc
from tests.upstream.play import area, case, shape
from tests.upstream.steps import alter, alter_elsewhere, columns, do, put, refused, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case

__all__ = ["CASES"]

N = None
D = Decimal
AP = shape("a INT, b STRING, c DOUBLE")
KEYED = shape("k INT, v INT, w STRING", key="k", bucket="1")
PARTED = shape("k INT, v INT, p STRING", key="k, p", partition="p", bucket="1")
NESTED = shape("k INT, v ROW<f1 INT, f2 ROW<f1 STRING, f2 INT>>", key="k", bucket="1")
LISTS = shape("k INT, l ARRAY<ROW<a INT, b INT>>, m MAP<STRING, ROW<a INT, b INT>>")

COLUMNS = (
    case("a new column is last, and NULL in old rows", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "BIGINT")), put((2, "y", N, 7)), columns("a INT, b STRING, c DOUBLE, d BIGINT"), rows((1, "x", 1.5, N), (2, "y", N, 7))),
    case("a new column can be first", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "INT", first=True)), rows((N, 1, "x", 1.5))),
    case("a new column can be after another", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "INT", after="a")), rows((1, N, "x", 1.5))),
    case("a new column is not NOT NULL", AP, put((1, "x", 1.5)), refused(alter(tc.AddColumn("d", "INT NOT NULL")), "d")),
    case("a new column has a new name", AP, refused(alter(tc.AddColumn("b", "INT")), "'b'")),
    case("a new column has an old type's rules: no reserved name", AP, refused(alter(tc.AddColumn("_KEY_a", "INT")), "_KEY_a")),
    case("a column can have a default for later rows", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "INT", default="9")), put((2, "y", 1.0), columns="a, b, c"), rows((1, "x", 1.5, N), (2, "y", 1.0, 9))),
    case("a default replaces NULL", AP, alter(tc.UpdateColumnDefault("b", "none")), put((1, N, 1.0)), rows((1, "none", 1.0))),
    case("a default that is no value of its type is refused", AP, refused(alter(tc.UpdateColumnDefault("a", "many")), "a")),
    case("a renamed column keeps its values", AP, put((1, "x", 1.5)), alter(tc.RenameColumn("b", "bb")), put((2, "y", N)), columns("a INT, bb STRING, c DOUBLE"), rows((1, "x"), (2, "y"), columns=["a", "bb"])),
    case("a column is not renamed to a name that is taken", AP, refused(alter(tc.RenameColumn("b", "c")), "'c'")),
    case("a column that is not there is not renamed", AP, refused(alter(tc.RenameColumn("x", "y")), "'x'")),
    case("a name that is free again is a new column", AP, put((1, "x", 1.5)), alter(tc.DropColumn("b")), alter(tc.AddColumn("b", "STRING")), rows((1, 1.5, N))),
    case("names can be swapped by a detour", AP, put((1, "x", 1.5)), alter(tc.RenameColumn("b", "t"), tc.RenameColumn("c", "b"), tc.RenameColumn("t", "c")), rows((1, "x", 1.5)), columns("a INT, c STRING, b DOUBLE")),
    case("a dropped column is gone from old rows", AP, put((1, "x", 1.5)), alter(tc.DropColumn("b")), rows((1, 1.5))),
    case("the last column is not dropped", shape("a INT"), refused(alter(tc.DropColumn("a")), "column")),
    case("a column that is not there is not dropped", AP, refused(alter(tc.DropColumn("x")), "'x'")),
    case("a key column is not dropped", KEYED, refused(alter(tc.DropColumn("k")), "k")),
    case("a key column can be renamed", KEYED, put((1, 2, "x")), alter(tc.RenameColumn("k", "id")), put((1, 3, "y")), rows((1, 3, "y")), columns("id INT NOT NULL, v INT, w STRING")),
    case("a key column is not made nullable", KEYED, refused(alter(tc.UpdateColumnNullability("k", nullable=True)), "k")),
    case("a partition column is not dropped", PARTED, refused(alter(tc.DropColumn("p")), "p")),
    case("a partition column is not renamed", PARTED, refused(alter(tc.RenameColumn("p", "q")), "p")),
    case("a partition column is not retyped", PARTED, put((1, 1, "x")), refused(alter(tc.UpdateColumnType("p", "INT")), "p")),
    case("a sequence field is not dropped", KEYED, refused(alter(tc.DropColumn("v")), "v"), options={"sequence.field": "v"}),
    case("a renamed sequence field is renamed in its option", KEYED, put((1, 5, "a")), alter(tc.RenameColumn("v", "s")), put((1, 3, "b")), rows((1, 5, "a")), options={"sequence.field": "v"}),
    case("a renamed summed column is summed on", KEYED, put((1, 5, "a")), alter(tc.RenameColumn("v", "s")), put((1, 3, "b")), rows((1, 8, "b")), options={"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}),
    case("a renamed column of a group stays in it", shape("k INT, a INT, g INT", key="k", bucket="1"), put((1, 5, 5)), alter(tc.RenameColumn("a", "x"), tc.RenameColumn("g", "h")), put((1, 3, 3)), rows((1, 5, 5)), options={"merge-engine": "partial-update", "fields.g.sequence-group": "a"}),
    case("a renamed bucket key keeps its buckets", shape("a INT, b INT"), put((1, 2), (3, 4)), alter(tc.RenameColumn("a", "x")), put((1, 9)), rows((1, 2), (3, 4), (1, 9)), options={"bucket": "3", "bucket-key": "a"}),
    case("a column is moved to the front", AP, put((1, "x", 1.5)), alter(tc.UpdateColumnPosition("c", first=True)), rows((1.5, 1, "x"))),
    case("a column is moved behind another", AP, put((1, "x", 1.5)), alter(tc.UpdateColumnPosition("a", after="b")), rows(("x", 1, 1.5))),
    case("a column is moved before another", AP, put((1, "x", 1.5)), alter(tc.UpdateColumnPosition("c", before="b")), rows((1, 1.5, "x"))),
    case("a column is moved to the end", AP, put((1, "x", 1.5)), alter(tc.UpdateColumnPosition("a", last=True)), rows(("x", 1.5, 1))),
    case("a column is not moved behind itself", AP, refused(alter(tc.UpdateColumnPosition("a", after="a")), "a")),
    case("a column is not moved behind one that is not there", AP, refused(alter(tc.UpdateColumnPosition("a", after="x")), "'x'")),
    case("a column is made NOT NULL no more", shape("a INT NOT NULL, b INT"), put((1, 1)), alter(tc.UpdateColumnNullability("a", nullable=True)), put((N, 2)), rows((1, 1), (N, 2))),
    case("a column is not made NOT NULL by default", AP, refused(alter(tc.UpdateColumnNullability("a", nullable=False)), "null")),
    case("a comment is set", AP, alter(tc.UpdateColumnComment("a", "the key"), tc.UpdateComment("a table")), columns("a INT, b STRING, c DOUBLE")),
    case("a change that is refused leaves the others undone", AP, refused(alter(tc.AddColumn("d", "INT"), tc.DropColumn("x")), "'x'"), columns("a INT, b STRING, c DOUBLE")),
    case("the primary key of an empty table can go", shape("k INT, v INT, w STRING", key="k"), alter(tc.DropPrimaryKey()), put((1, 2, "x")), put((1, 3, "y")), rows((1, 2, "x"), (1, 3, "y"))),
    case("the primary key of a table with rows stays", KEYED, put((1, 2, "x")), refused(alter(tc.DropPrimaryKey()), "snapshot")),
    case("an old state is read with its own columns", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "INT"), tc.DropColumn("b")), put((2, 2.5, 9)), rows((1, "x", 1.5), snapshot=1), rows((1, 1.5, N), (2, 2.5, 9))),
    case("a condition on a new column sees NULL in old rows", AP, put((1, "x", 1.5)), alter(tc.AddColumn("d", "INT")), put((2, "y", N, 7)), rows((1, "x", 1.5, N), where="d IS NULL"), rows((2, "y", N, 7), where="d = 7")),
    case("a condition on a renamed column is applied to old rows", AP, put((1, "x", 1.5), (2, "y", N)), alter(tc.RenameColumn("b", "bb")), rows((2, "y", N), where="bb = 'y'")),
    case("old and new rows of one key merge", KEYED, put((1, 1, "a"), (2, 2, "b")), alter(tc.AddColumn("x", "INT")), put((1, 9, "c", 5)), rows((1, 9, "c", 5), (2, 2, "b", N))),
    case("a compaction after changes gives the same rows", KEYED, put((1, 1, "a"), (2, 2, "b")), alter(tc.AddColumn("x", "INT"), tc.RenameColumn("v", "n"), tc.DropColumn("w")), put((1, 9, 5)), do("compact"), rows((1, 9, 5), (2, 2, N))),
    case("several changes over several files are read together", AP, put((1, "x", 1.5)), alter(tc.UpdateColumnType("a", "BIGINT")), put((2**40, "y", 2.5)), alter(tc.RenameColumn("a", "z")), put((3, "z", 3.5)), rows((1, "x", 1.5), (2**40, "y", 2.5), (3, "z", 3.5))),
)  # fmt: skip

MEMBERS = (
    case("members are added to a ROW, and are NULL in old rows", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.AddColumn("v.f3", "STRING")), rows((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}, "f3": N}))),
    case("members are added to a ROW in a ROW", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.AddColumn("v.f2.f3", "BIGINT", after="f1")), rows((1, {"f1": 10, "f2": {"f1": "a", "f3": N, "f2": 100}}))),
    case("a member has a new name", NESTED, refused(alter(tc.AddColumn("v.f2.f1", "INT")), "f1")),
    case("a member's parent must exist", NESTED, refused(alter(tc.AddColumn("v.x.f1", "INT")), "x")),
    case("a member's parent must be a ROW", NESTED, refused(alter(tc.AddColumn("v.f1.a", "INT")), "f1")),
    case("members are dropped", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.DropColumn("v.f2.f1")), rows((1, {"f1": 10, "f2": {"f2": 100}}))),
    case("a dropped member that is added again is NULL", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.DropColumn("v.f2.f1")), alter(tc.AddColumn("v.f2.f1", "STRING")), rows((1, {"f1": 10, "f2": {"f2": 100, "f1": N}}))),
    case("a member that is not there is not dropped", NESTED, refused(alter(tc.DropColumn("v.f2.x")), "x")),
    case("the last member is not dropped", shape("k INT, v ROW<a INT>"), refused(alter(tc.DropColumn("v.a")), "a")),
    case("members are renamed", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.RenameColumn("v.f2.f1", "g")), rows((1, {"f1": 10, "f2": {"g": "a", "f2": 100}}))),
    case("a member is not renamed to a name that is taken", NESTED, refused(alter(tc.RenameColumn("v.f2.f1", "f2")), "f2")),
    case("members are retyped", NESTED, put((1, {"f1": 10, "f2": {"f1": "a", "f2": 100}})), alter(tc.UpdateColumnType("v.f1", "BIGINT"), tc.UpdateColumnType("v.f2.f2", "DOUBLE")), rows((1, {"f1": 10, "f2": {"f1": "a", "f2": 100.0}}))),
    case("a ROW is not made a number", NESTED, refused(alter(tc.UpdateColumnType("v", "INT")), "v")),
    case("members inside an ARRAY are added", LISTS, put((1, [{"a": 1, "b": 2}], N)), alter(tc.AddColumn("l.element.c", "INT")), rows((1, [{"a": 1, "b": 2, "c": N}], N))),
    case("members inside an ARRAY are retyped", LISTS, put((1, [{"a": 1, "b": 2}], N)), alter(tc.UpdateColumnType("l.element.a", "BIGINT")), put((2, [{"a": 2**40, "b": 2}], N)), rows((1, [{"a": 1, "b": 2}], N), (2, [{"a": 2**40, "b": 2}], N))),
    case("members inside a MAP are added", LISTS, put((1, N, [("x", {"a": 1, "b": 2})])), alter(tc.AddColumn("m.value.c", "INT")), rows((1, N, [["x", {"a": 1, "b": 2, "c": N}]]))),
    case("members inside a MAP are renamed", LISTS, put((1, N, [("x", {"a": 1, "b": 2})])), alter(tc.RenameColumn("m.value.a", "z")), rows((1, N, [["x", {"z": 1, "b": 2}]]))),
    case("the elements of an ARRAY are retyped", shape("k INT, l ARRAY<INT>"), put((1, [1, N])), alter(tc.UpdateColumnType("l.element", "BIGINT")), put((2, [2**40])), rows((1, [1, N]), (2, [2**40]))),
    case("the values of a MAP are retyped", shape("k INT, m MAP<STRING, INT>"), put((1, [("a", 1)])), alter(tc.UpdateColumnType("m.value", "BIGINT")), rows((1, [["a", 1]]))),
    case("the keys of a MAP are not", shape("k INT, m MAP<INT, INT>"), refused(alter(tc.UpdateColumnType("m.key", "BIGINT")), "key")),
    case("a NULL ROW stays NULL when members come", NESTED, put((1, N)), alter(tc.AddColumn("v.f3", "INT")), rows((1, N))),
)  # fmt: skip

TS, DAY = dt.datetime(2023, 6, 6, 10, 1, 55, 615000), dt.date(2023, 6, 6)
UTC = dt.UTC
RETYPES: tuple[tuple[str, str, Any, Any], ...] = (
    # ------------------------------------------------------------------------- numbers
    ("TINYINT", "SMALLINT", 1, 1),
    ("TINYINT", "INT", -1, -1),
    ("TINYINT", "BIGINT", 1, 1),
    ("TINYINT", "FLOAT", 1, 1.0),
    ("TINYINT", "DOUBLE", 1, 1.0),
    ("TINYINT", "DECIMAL(10, 2)", 1, D("1.00")),
    ("SMALLINT", "TINYINT", 123, 123),
    ("SMALLINT", "TINYINT", 300, 44),
    ("SMALLINT", "INT", 1, 1),
    ("SMALLINT", "BIGINT", 1, 1),
    ("SMALLINT", "FLOAT", 1, 1.0),
    ("SMALLINT", "DOUBLE", 1, 1.0),
    ("SMALLINT", "DECIMAL(10, 2)", 1, D("1.00")),
    ("INT", "TINYINT", 300, 44),
    ("INT", "SMALLINT", 70000, 4464),
    ("INT", "BIGINT", 1, 1),
    ("INT", "FLOAT", 1, 1.0),
    ("INT", "DOUBLE", 1, 1.0),
    ("INT", "DECIMAL(10, 2)", 1, D("1.00")),
    ("INT", "DECIMAL(3, 2)", 10, N),
    ("BIGINT", "INT", 2**40 + 5, 5),
    ("BIGINT", "FLOAT", 1, 1.0),
    ("BIGINT", "DOUBLE", 2**53 + 1, float(2**53)),
    ("BIGINT", "DECIMAL(10, 2)", 1, D("1.00")),
    ("FLOAT", "INT", 1.5, 1),
    ("FLOAT", "DOUBLE", 1.5, 1.5),
    ("FLOAT", "DECIMAL(10, 2)", 1.5, D("1.50")),
    ("DOUBLE", "INT", -1.9, -1),
    ("DOUBLE", "BIGINT", 1e30, 2**63 - 1),
    ("DOUBLE", "FLOAT", 1e300, float("inf")),
    ("DOUBLE", "DECIMAL(10, 2)", 1.23456, D("1.23")),
    ("DECIMAL(10, 4)", "DECIMAL(10, 2)", D("1.2346"), D("1.23")),
    ("DECIMAL(10, 2)", "DECIMAL(10, 4)", D("1.23"), D("1.2300")),
    ("DECIMAL(5, 2)", "DECIMAL(3, 2)", D("123.45"), N),
    ("DECIMAL(10, 4)", "FLOAT", D("1.5000"), 1.5),
    ("DECIMAL(10, 2)", "DOUBLE", D("1.23"), 1.23),
    ("DECIMAL(5, 2)", "INT", D("-1.99"), -1),
    ("DECIMAL(5, 2)", "BIGINT", D("1.99"), 1),
    # ------------------------------------------------------------------------- BOOLEAN
    ("BOOLEAN", "TINYINT", True, 1),
    ("BOOLEAN", "SMALLINT", True, 1),
    ("BOOLEAN", "INT", False, 0),
    ("BOOLEAN", "BIGINT", True, 1),
    ("BOOLEAN", "FLOAT", True, 1.0),
    ("BOOLEAN", "DOUBLE", True, 1.0),
    ("BOOLEAN", "DECIMAL(1, 0)", True, D(1)),
    ("BOOLEAN", "STRING", True, "true"),
    ("BOOLEAN", "CHAR(5)", True, "true "),
    ("TINYINT", "BOOLEAN", 1, True),
    ("SMALLINT", "BOOLEAN", 1, True),
    ("INT", "BOOLEAN", 0, False),
    ("BIGINT", "BOOLEAN", 12, True),
    # ------------------------------------------------------------------------- to text
    ("TINYINT", "STRING", 1, "1"),
    ("SMALLINT", "STRING", -1, "-1"),
    ("INT", "VARCHAR(5)", 1, "1"),
    ("BIGINT", "STRING", 2**40, str(2**40)),
    ("FLOAT", "STRING", 1.5, "1.5"),
    ("DOUBLE", "VARCHAR(10)", 1.23456, "1.23456"),
    ("DOUBLE", "STRING", 1e10, "1.0E10"),
    ("DECIMAL(10, 5)", "VARCHAR(20)", D("1.23456"), "1.23456"),
    ("DATE", "STRING", DAY, "2023-06-06"),
    ("TIME(3)", "STRING", dt.time(10, 1, 55, 615000), "10:01:55.615"),
    ("TIMESTAMP(3)", "STRING", TS, "2023-06-06 10:01:55.615"),
    ("TIMESTAMP_LTZ(3)", "STRING", TS.replace(tzinfo=UTC), "2023-06-06 10:01:55.615"),
    ("VARCHAR(10)", "VARCHAR(5)", "1234567890", "12345"),
    ("VARCHAR(10)", "VARCHAR(20)", "1234567890", "1234567890"),
    ("VARCHAR(10)", "CHAR(5)", "1234567890", "12345"),
    ("VARCHAR(10)", "CHAR(12)", "1234567890", "1234567890  "),
    ("CHAR(10)", "VARCHAR(5)", "1234567890", "12345"),
    ("VARBINARY(5)", "STRING", b"12345", "12345"),
    ("ARRAY<INT>", "STRING", [1, N, 2], "[1, null, 2]"),
    ("MAP<INT, STRING>", "STRING", [(1, "i"), (2, N)], "{1 -> i, 2 -> null}"),
    ("ROW<a INT, b DATE>", "STRING", {"a": 1, "b": dt.date(2025, 1, 6)}, "{1, 2025-01-06}"),
    # ------------------------------------------------------------------------- from text
    ("STRING", "BOOLEAN", "t", True),
    ("STRING", "BOOLEAN", "TRUE", True),
    ("STRING", "BOOLEAN", "y", True),
    ("STRING", "BOOLEAN", "yes", True),
    ("STRING", "BOOLEAN", "1", True),
    ("STRING", "BOOLEAN", "f", False),
    ("STRING", "BOOLEAN", "no", False),
    ("STRING", "BOOLEAN", "0", False),
    ("STRING", "TINYINT", "1", 1),
    ("STRING", "SMALLINT", "1", 1),
    ("STRING", "INT", "-1", -1),
    ("STRING", "BIGINT", "1", 1),
    ("STRING", "FLOAT", "1.5", 1.5),
    ("STRING", "DOUBLE", "1.23456", 1.23456),
    ("STRING", "DECIMAL(5, 2)", "1.233", D("1.23")),
    ("STRING", "DATE", "2023-06-06", DAY),
    ("STRING", "TIME(3)", "09:30:00.0", dt.time(9, 30)),
    ("STRING", "TIMESTAMP(3)", "2017-12-12 09:30:00.0", dt.datetime(2017, 12, 12, 9, 30)),
    ("STRING", "TIMESTAMP_LTZ(3)", "2017-12-12 09:30:00.0", dt.datetime(2017, 12, 12, 9, 30, tzinfo=UTC)),
    ("STRING", "VARBINARY(5)", "12345678", b"12345"),
    # ------------------------------------------------------------------------- bytes
    ("BINARY(10)", "BINARY(5)", b"1234567890", b"12345"),
    ("BINARY(4)", "BINARY(6)", b"1234", b"1234\0\0"),
    ("BINARY(10)", "VARBINARY(5)", b"1234567890", b"12345"),
    ("VARBINARY(10)", "VARBINARY(20)", b"12345678", b"12345678"),
    # ------------------------------------------------------------------------- times
    ("TIMESTAMP(5)", "TIMESTAMP(2)", TS, dt.datetime(2023, 6, 6, 10, 1, 55, 610000)),
    ("TIMESTAMP(3)", "DATE", TS, DAY),
    ("TIMESTAMP(3)", "TIME(3)", TS, dt.time(10, 1, 55, 615000)),
    ("TIMESTAMP(3)", "TIME(3)", dt.datetime(1969, 12, 31, 23), dt.time(23)),
    ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", TS, TS.replace(tzinfo=UTC)),
    ("TIMESTAMP_LTZ(5)", "TIMESTAMP(2)", TS.replace(tzinfo=UTC), dt.datetime(2023, 6, 6, 10, 1, 55, 610000)),
    ("TIMESTAMP_LTZ(3)", "DATE", TS.replace(tzinfo=UTC), DAY),
    ("TIMESTAMP(3)", "BIGINT", dt.datetime(2024, 7, 25, 9, 12, 28), 1721898748),
    ("TIMESTAMP(3)", "INT", dt.datetime(2024, 7, 25, 9, 12, 28), 1721898748),
    ("BIGINT", "TIMESTAMP(3)", 1721898748, dt.datetime(2024, 7, 25, 9, 12, 28)),
    ("INT", "TIMESTAMP(3)", 1721898748, dt.datetime(2024, 7, 25, 9, 12, 28)),
    ("BIGINT", "TIMESTAMP_LTZ(3)", 1721898748, dt.datetime(2024, 7, 25, 9, 12, 28, tzinfo=UTC)),
    ("DATE", "TIMESTAMP(5)", DAY, dt.datetime(2023, 6, 6)),
    ("DATE", "TIMESTAMP_LTZ(5)", DAY, dt.datetime(2023, 6, 6, tzinfo=UTC)),
    ("TIME(3)", "TIMESTAMP(3)", dt.time(12, 0, 0, 123000), dt.datetime(1970, 1, 1, 12, 0, 0, 123000)),
)  # fmt: skip
REFUSED: tuple[tuple[str, str], ...] = (
    ("INT", "DATE"),
    ("INT", "BYTES"),
    ("INT", "ARRAY<INT>"),
    ("INT", "ROW<a INT>"),
    ("BOOLEAN", "DATE"),
    ("BOOLEAN", "TIMESTAMP(3)"),
    ("DATE", "INT"),
    ("DATE", "BOOLEAN"),
    ("TIME(3)", "INT"),
    ("TIMESTAMP(3)", "BOOLEAN"),
    ("TIMESTAMP(3)", "DOUBLE"),
    ("BYTES", "INT"),
    ("BYTES", "DATE"),
    ("MAP<INT, INT>", "ARRAY<INT>"),
    ("ARRAY<INT>", "INT"),
    ("ARRAY<INT>", "MAP<INT, INT>"),
    ("ROW<a INT>", "INT"),
    ("INT", "INT NOT NULL EVER"),
)


def _retypes() -> Iterator[Case]:
    for number, (source, target, value, expected) in enumerate(RETYPES):
        table = shape(f"k INT, v {source}")
        yield case(
            f"{source} becomes {target} ({number})",
            table,
            put((1, value), (2, N)),
            alter_elsewhere(tc.UpdateColumnType("v", target)),
            rows((1, expected), (2, N)),
        )
    for source, target in REFUSED:
        yield case(
            f"{source} does not become {target}",
            shape(f"k INT, v {source}"),
            refused(alter(tc.UpdateColumnType("v", target)), ""),
        )


AFTER = (
    case("a text that is no number is an error, not NULL", shape("k INT, v STRING"), put((1, "many")), alter_elsewhere(tc.UpdateColumnType("v", "INT")), refused(rows(), "many")),
    case("a text that is no BOOLEAN is an error", shape("k INT, v STRING"), put((1, "11")), alter_elsewhere(tc.UpdateColumnType("v", "BOOLEAN")), refused(rows(), "11")),
    case("retypes that change values can be forbidden", shape("k INT, v BIGINT"), refused(alter(tc.UpdateColumnType("v", "INT")), "v"), options={"alter-column-null-to-not-null.disabled": "true", "disable-explicit-type-casting": "true"}),
    case("forbidden, a widening is still taken", shape("k INT, v INT"), put((1, 5)), alter(tc.UpdateColumnType("v", "BIGINT")), rows((1, 5)), options={"disable-explicit-type-casting": "true"}),
    case("a key column keeps its type", KEYED, put((1, 1, "a")), refused(alter(tc.UpdateColumnType("k", "BIGINT")), "k"), rows((1, 1, "a"))),
    case("a condition on a retyped column is applied to old rows", shape("k INT, v INT"), put((1, 5), (2, 6)), alter(tc.UpdateColumnType("v", "STRING")), put((3, "5")), rows((1, "5"), (3, "5"), where="v = '5'")),
    case("a condition on a widened column prunes no old file away", shape("k INT, v INT"), put((1, 5)), alter(tc.UpdateColumnType("v", "BIGINT")), rows((1, 5), where="v < 2000000000000"), rows(where="v > 2000000000000")),
    case("two retypes one after the other are one", shape("k INT, v INT"), put((1, 300)), alter(tc.UpdateColumnType("v", "BIGINT")), alter(tc.UpdateColumnType("v", "STRING")), rows((1, "300"))),
)  # fmt: skip

CASES = (
    *area("Columns that change", COLUMNS),
    *area("Members that change", MEMBERS),
    *area("Types that change", _retypes(), AFTER),
)
