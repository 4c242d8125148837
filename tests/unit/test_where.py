"""Conditions as SQL text and as expressions: what they keep, and what is refused.

Method: one small table with a column of every kind; a condition keeps the ``id`` values listed.  The
answers are Spark SQL's.
"""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from table_core.datatypes.kinds import Field, Row
from table_core.datatypes.text import parse_type
from table_core.errors import DataError, PredicateError
from table_core.predicate.bind import bind, bind_term
from table_core.predicate.bound import conjuncts
from table_core.predicate.by_stats import Range, equal_values, may_match
from table_core.predicate.expression import col, lit
from table_core.predicate.sql import parse_value, parse_where
from table_core.predicate.to_arrow import evaluate, mask, rows_that_meet

NAN, INF = float("nan"), float("inf")
INNER = Row((Field(0, "x", parse_type("INT")), Field(0, "y", parse_type("STRING"))))
TYPES = {
    "id": "INT",
    "big": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "p": "DECIMAL(5, 2)",
    "s": "STRING",
    "b": "BOOLEAN",
    "raw": "BYTES",
    "day": "DATE",
    "ts": "TIMESTAMP(6)",
    "lz": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "tm": "TIME(3)",
    "a b": "INT",
}
FIELDS = (
    *(Field(0, name, parse_type(text)) for name, text in TYPES.items()),
    Field(0, "r", INNER),
)
D = dt.date
T = dt.datetime
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int32()),
        "big": pa.array([2**62, -1, 0, None], pa.int64()),
        "f": pa.array([1.5, NAN, -0.0, None], pa.float32()),
        "d": pa.array([0.1, INF, NAN, None], pa.float64()),
        "p": pa.array([Decimal("1.25"), Decimal("-0.50"), Decimal("999.99"), None], pa.decimal128(5, 2)),
        "s": ["abc", "a%c", "z\nz", None],
        "b": [True, False, True, None],
        "raw": pa.array([b"\x00", b"", b"ab", None], pa.binary()),
        "day": [D(1969, 12, 31), D(2024, 2, 29), D(2024, 3, 1), None],
        "ts": pa.array([T(1969, 12, 31, 23, 59), T(2024, 2, 29, 1, 2, 3, 4), T(2024, 3, 1), None], pa.timestamp("us")),
        "lz": pa.array([T(1969, 12, 31), T(2024, 2, 29), T(2024, 3, 1), None], pa.timestamp("ms", "UTC")),
        "tm": pa.array([dt.time(1), dt.time(2), dt.time(3), None], pa.time32("ms")),
        "a b": pa.array([1, 2, 3, None], pa.int32()),
        "r": pa.array([{"x": 1, "y": "p"}, {"x": 2, "y": None}, None, {"x": None, "y": "q"}], pa.struct([("x", pa.int32()), ("y", pa.string())])),
    }
)  # fmt: skip


def kept(where) -> list[int]:
    condition = parse_where(where) if isinstance(where, str) else where
    found = mask(bind(condition, FIELDS), ROWS)
    assert found.null_count == 0
    return [i + 1 for i, keep in enumerate(found.to_pylist()) if keep]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("id = 1", [1]),
        ("1 < id", [2, 3, 4]),
        ("id <> 1 AND id != 2", [3, 4]),
        ("id = '3'", [3]),
        ("id < 2.5", [1, 2]),
        ("id >= 2.5", [3, 4]),
        ("id = 2.5", []),
        ("NOT id = 2.5", [1, 2, 3, 4]),
        ("id < 99999999999", [1, 2, 3, 4]),
        ("id > -99999999999.5", [1, 2, 3, 4]),
        ("id IN (1, 2.5, 3, 99999999999)", [1, 3]),
        ("id IN (1, 2e0)", [1, 2]),
        ("id NOT IN (1, 2)", [3, 4]),
        ("id NOT IN (1, NULL)", []),
        ("id IN (1, NULL)", [1]),
        ("big NOT IN (0)", [1, 2]),
        ("id BETWEEN 2 AND 3", [2, 3]),
        ("id NOT BETWEEN 2 AND 3", [1, 4]),
        ("big = 4611686018427387904", [1]),
        ("big > 4.6e18", [1]),
        ("f > 0", [1, 2]),
        ("f = 0", [3]),
        ("f < 'NaN'", [1, 3]),
        ("f >= 'NaN'", [2]),
        ("f <= 1.5", [1, 3]),
        ("d = 0.1", [1]),
        ("d = 0.1F", []),
        ("d < 0.1F AND d > CAST('0.09' AS FLOAT)", [1]),
        ("d > 'Infinity'", [3]),
        ("d = 'NaN'", [3]),
        ("d <> 'NaN'", [1, 2]),
        ("d IN ('NaN', 0.1)", [1, 3]),
        ("f IN (0)", [3]),
        ("f NOT IN (-0.0)", [1, 2]),
        ("p > 1.249", [1, 3]),
        ("p < 1.251", [1, 2]),
        ("p = 1.250", [1]),
        ("p <= 1000", [1, 2, 3]),
        ("p > -0.5", [1, 3]),
        ("p = 1.25e0", [1]),
        ("p IN (1.25, -0.5000, 7)", [1, 2]),
        ("s = 'abc'", [1]),
        ("s <> 'abc'", [2, 3]),
        ("s > 'a'", [1, 2, 3]),
        ("s LIKE 'a%'", [1, 2]),
        (r"s LIKE 'a\%c'", [2]),
        ("s LIKE 'a!%c' ESCAPE '!'", [2]),
        ("s LIKE 'z_z'", [3]),
        ("s LIKE '%'", [1, 2, 3]),
        ("s NOT LIKE '%c'", [3]),
        ("s ILIKE 'AB_'", [1]),
        ("s LIKE 'a.c'", []),
        ("day LIKE '2024-0_-%'", [2, 3]),
        ("id LIKE '_' AND b NOT LIKE 'f%'", [1, 3]),
        ("startswith(s, 'a%')", [2]),
        ("NOT contains(s, '%')", [1, 3]),
        ("endswith(s, 'c') OR contains(s, 'z')", [1, 2, 3]),
        ("isnull(s) OR NOT isnotnull(p)", [4]),
        ("id IS DISTINCT FROM 2 AND big IS DISTINCT FROM NULL", [1, 3]),
        ("s IS NOT DISTINCT FROM NULL", [4]),
        ("s IS NULL", [4]),
        ("s IS NOT NULL", [1, 2, 3]),
        ("s <=> NULL", [4]),
        ("s <=> 'abc'", [1]),
        ("NOT (s <=> 'abc')", [2, 3, 4]),
        ("id <=> 2.5", []),
        ("coalesce(p, 7) > 6", [3, 4]),
        ("coalesce(big, id) = 4", [4]),
        ("coalesce(s, 'none') LIKE 'no%'", [4]),
        ("coalesce(NULL, NULL, day) IS NULL", [4]),
        ("CASE WHEN b THEN id WHEN big < 0 THEN big END IN (1, -1)", [1, 2]),
        ("CASE id WHEN 1 THEN 'x' WHEN 2 THEN 'y' ELSE s END >= 'y'", [2, 3]),
        ("CASE WHEN big <> 0 THEN 10 % big ELSE 5 END = 5", [3, 4]),
        ("IF(d > 1, p, 0.5) = 0.5", [1, 4]),
        ("CASE WHEN id > 1 THEN NULL END IS NULL", [1, 2, 3, 4]),
        ("b", [1, 3]),
        ("NOT b", [2]),
        ("b = false", [2]),
        ("b IS TRUE", [1, 3]),
        ("b IS NOT TRUE", [2, 4]),
        ("s = 'abc' OR b", [1, 3]),
        ("raw = X'00'", [1]),
        ("raw = X''", [2]),
        ("raw = 'ab'", [3]),
        ("day = DATE '2024-02-29'", [2]),
        ("day > '1970-01-01'", [2, 3]),
        ("day > TIMESTAMP '2024-02-29 00:00:01'", [3]),
        ("day >= TIMESTAMP '2024-02-29 00:00:00'", [2, 3]),
        ("day < TIMESTAMP '1969-12-31 00:00:01'", [1]),
        ("day BETWEEN DATE '1900-01-01' AND DATE '1970-01-01'", [1]),
        ("ts < TIMESTAMP_NTZ '1970-01-01 00:00:00'", [1]),
        ("ts = '2024-02-29 01:02:03.000004'", [2]),
        ("ts > '2024-02-29 01:02:03.0000035'", [2, 3]),
        ("ts >= DATE '2024-03-01'", [3]),
        ("lz < TIMESTAMP '2024-02-29 01:00:00+01:00'", [1]),
        ("lz = '2024-02-29T00:00:00Z'", [2]),
        ("tm > '01:30'", [2, 3]),
        ("`a b` = 2", [2]),
        ("r.x = 1", [1]),
        ("r.y IS NOT NULL", [1, 4]),
        ("r IS NULL", [3]),
        ("r.x IS NULL", [3, 4]),
        ("id = `a b`", [1, 2, 3]),
        ("id < big", [1]),
        ("id > d", [1]),
        ("id <= f", [1, 2]),
        ("p < id", [2]),
        ("day < ts", [1, 2]),
        ("ts = lz", [3]),
        ("id + 1 = 3", [2]),
        ("id * 2 - 1 > 4", [3, 4]),
        ("id % 2 = 0", [2, 4]),
        ("id / 2 = 0.5", [1]),
        ("p + id > 2", [1, 3]),
        ("p * 2 = 2.5", [1]),
        ("-id = -2", [2]),
        ("CAST(id AS STRING) = '2'", [2]),
        ("CAST(ts AS DATE) = DATE '2024-02-29'", [2]),
        ("CAST('2' AS INT) = id", [2]),
        ("5L > big", [2, 3]),
        ("id = 1 AND NULL", []),
        ("id = NULL", []),
        ("NOT (id = NULL)", []),
        ("1 = 1", [1, 2, 3, 4]),
        ("NULL <=> NULL", [1, 2, 3, 4]),
        ("(id > 1) = b", [3]),
        ("(id > 2) <=> b", [2, 3]),
        ("(id > big) IS NULL", [4]),
        ("(id > 1 AND b) IS NOT NULL", [1, 2, 3]),
        ("id IS NOT NULL IS TRUE", [1, 2, 3, 4]),
        ("NOT (b OR id = 3) = b", []),
        ("CASE WHEN id > 2 THEN true ELSE b END", [1, 3, 4]),
        ("IF(b, id > 1, id = 4)", [3, 4]),
        ("coalesce(b, true)", [1, 3, 4]),
        ("nullif(id, 2) IS NULL", [2]),
        ("ts = '2024-03-01 00:00:00+00:00'", [3]),
        ("nullif(s, 'abc') = 'a%c'", [2]),
        ("id = 1 OR (id > 2 AND NOT id = 4)", [1, 3]),
    ],
)
def test_sql_keeps_what_spark_keeps(where, ids) -> None:
    assert kept(where) == ids


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (col("id") > 2, [3, 4]),
        ((col("id") > 1) & (col("s") != "a%c") | col("id").isin([4]), [3, 4]),
        (~col("s").is_null(), [1, 2, 3]),
        (col("id").between(2, 3), [2, 3]),
        (col("s").like("a_c"), [1, 2]),
        (col("s").equals_or_both_null(None), [4]),
        (col("r.x") == 2, [2]),
        (col("r").field("x") == 2, [2]),
        (col("b") & (col("id") > 1), [3]),
        (~col("b"), [2]),
        (col("day") == dt.date(2024, 2, 29), [2]),
        (col("day") < dt.datetime(2024, 2, 29, 1), [1, 2]),
        (col("ts") == dt.datetime(2024, 2, 29, 1, 2, 3, 4), [2]),
        (col("lz") == dt.datetime(2024, 2, 29, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), [2]),
        (col("tm") == dt.time(2), [2]),
        (col("p") == Decimal("1.25"), [1]),
        (col("raw") == b"ab", [3]),
        (col("d") == NAN, [3]),
        (lit(1) + col("id") == 3, [2]),
        (col("id").cast("STRING") == "2", [2]),
        (col("id") / 2 > 1, [3, 4]),
    ],
)
def test_expressions_keep_the_same(condition, ids) -> None:
    assert kept(condition) == ids
    assert kept(pickle.loads(pickle.dumps(condition))) == ids


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nope = 1", "no column 'nope'"),
        ("ID = 1", "no column 'ID'"),
        ("r.z = 1", "no column 'z' in 'r'"),
        ("s = 1", "write '1' in quotes"),
        ('"Order Id" = 1', "`Order Id`"),
        ("s > DATE '2024-01-01'", "cannot compare"),
        ("id = 'x'", "no number"),
        ("day = 'yesterday'", "expected a date"),
        ("day = '2023-02-29'", "no such day"),
        ("b = 1", "cannot compare"),
        ("r = 1", "cannot be compared"),
        ("r = r", "cannot compare"),
        ("s = id", "CAST one of them"),
        ("ts LIKE 'a'", "LIKE needs text"),
        ("s LIKE id", "text literal"),
        (r"s LIKE 'a\\b'", "in a pattern"),
        ("id = (SELECT 1)", "not supported"),
        ("id IN (SELECT 1)", "sub-queries"),
        ("upper(s) = 'A'", "not supported"),
        ("id = 1 AND", "something is missing at 'AND' (line 1, column 10)"),
        ("id = 'abc", "' is not closed (line 1, column 5)"),
        ("id = 1)", "at ')' (line 1, column 7)"),
        ("id = 1\nAND b ORDER BY b", "at 'ORDER BY' (line 2, column 14)"),
        ("id = 1 /* for", "too early"),
        ("ts = '2024-02-29 01:00:00+01:00'", "has no offset"),
        ("id.x = 1", "'id' is INT, which has no 'x'"),
        ("'abc'", "expected a condition"),
        ("5", "expected a condition"),
        ("", "cannot read"),
        ("id = 1; DROP TABLE x", "not supported"),
        ("id + 1", "expected a condition"),
        ("id BETWEEN SYMMETRIC 3 AND 1", "write BETWEEN"),
        ("contains(s, s)", "text literal"),
        ("isnull(s, p)", "not supported"),
        ("TRY_CAST(s AS INT) = 1", "write CAST"),
        ("CAST(day AS INT) = 1", "no cast"),
        ("p / 2 = 1", "CAST one side"),
        ("s + 1 = 2", "cannot compute"),
    ],
)
def test_what_cannot_be_meant_is_refused(where, words) -> None:
    with pytest.raises(PredicateError, match=r"\S") as caught:
        kept(where)
    assert words in str(caught.value)


def test_python_and_or_are_refused() -> None:
    with pytest.raises(PredicateError, match="each in parentheses"):
        bool(col("id") == 1)


def test_computing_faults_are_data_errors() -> None:
    for where in ("id / (id - 1) = 1", "big * big > 0", "CAST(s AS INT) = 1"):
        with pytest.raises(DataError):
            kept(where)


def test_rows_that_all_meet_a_condition_are_not_copied() -> None:
    every = bind(parse_where("id IS NOT NULL"), FIELDS)
    assert rows_that_meet(every, ROWS) is ROWS
    first = bind(parse_where("id = 1"), FIELDS)
    assert rows_that_meet(first, ROWS)["id"].to_pylist() == [1]


def test_values_are_computed() -> None:
    term = bind_term(parse_value("id + 1"), FIELDS)
    assert evaluate(term, ROWS).to_pylist() == [2, 3, 4, 5]
    assert evaluate(bind_term(parse_value("'it''s'"), FIELDS), ROWS).to_pylist() == ["it's"] * 4


def test_long_chains_and_empty_batches() -> None:
    where = " OR ".join(f"id = {n}" for n in range(300))
    assert kept(where) == [1, 2, 3, 4]
    bound = bind(parse_where("s LIKE 'a%' AND d > 1 AND r.x IN (1)"), FIELDS)
    assert len(mask(bound, ROWS.slice(0, 0))) == 0


def test_bound_conditions_say_what_they_read() -> None:
    bound = bind(parse_where("id = 1 AND (s = 'a' OR r.x > CAST(p AS INT))"), FIELDS)
    assert bound.columns == {"id", "s", "r", "p"}
    assert len(conjuncts(bound)) == 2
    assert parse_where("a.b = 1 AND c IS NULL").columns() == {"a", "c"}


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("id = 1", {(1,)}),
        ("id IN (1, 2) AND s = 'x'", {(1,), (2,)}),
        ("id IN (1, 2) AND id = 2", {(2,)}),
        ("id = 1 OR id = 7.5 OR id = 3", {(1,), (3,)}),
        ("id = 1 OR s = 'x'", None),
        ("id > 1", None),
        ("NOT id = 1", None),
        ("id IS NULL", {(None,)}),
        ("id = 1 AND id = 2", set()),
    ],
)
def test_point_lookups_are_enumerated(where, keys) -> None:
    bound = bind(parse_where(where.replace("OR id = 7.5 ", "")), FIELDS)
    assert equal_values(bound, ["id"]) == keys


def test_float_keys_are_never_enumerated() -> None:
    assert equal_values(bind(parse_where("f = 0"), FIELDS), ["f"]) is None


def test_several_key_columns_are_combined() -> None:
    bound = bind(parse_where("id IN (1, 2) AND s = 'a'"), FIELDS)
    assert equal_values(bound, ["s", "id"]) == {("a", 1), ("a", 2)}


@pytest.mark.parametrize(
    ("where", "ranges", "may"),
    [
        ("id = 5", {"id": Range(1, 4, 0, 9)}, False),
        ("id = 5", {"id": Range(1, None, 0, 9)}, True),
        ("id = 5", {}, True),
        ("id < 1.5", {"id": Range(2, 4, 0, 9)}, False),
        ("NOT id = 5", {"id": Range(5, 5, 0, 9)}, False),
        ("NOT id = 5", {"id": Range(5, 5, 1, 9)}, False),
        ("id IS NULL", {"id": Range(5, 5, 0, 9)}, False),
        ("id IS NULL", {"id": Range(5, 5, None, 9)}, True),
        ("id IS NOT NULL", {"id": Range(None, None, 9, 9)}, False),
        ("id = 5", {"id": Range(None, None, 9, 9)}, False),
        ("f > 100", {"f": Range(0.0, 1.0, 0, 9)}, True),  # a NaN may hide
        ("f < -1", {"f": Range(0.0, 1.0, 0, 9)}, False),
        ("f < -1", {"f": Range(0.0, INF, 0, 9)}, True),
        ("f = 'NaN'", {"f": Range(0.0, 1.0, 0, 9)}, True),
        ("id > 4.5e0", {"id": Range(1, 4, 0, 9)}, True),  # as double, where NaN could hide
        ("s LIKE 'b%'", {"s": Range("ca", "cz", 0, 9)}, False),
        ("s LIKE 'b%'", {"s": Range("a", "b", 0, 9)}, True),
        ("s LIKE 'b%'", {"s": Range("a", "az", 0, 9)}, False),
        ("s LIKE 'b%'", {"s": Range("b~", "c", 0, 9)}, True),
        ("s IN ('a', 'z')", {"s": Range("b", "c", 0, 9)}, False),
        ("id = 1 AND s = 'q'", {"s": Range("b", "c", 0, 9)}, False),
        ("id = 1 OR s = 'q'", {"s": Range("b", "c", 0, 9)}, True),
        ("r.x = 1", {"r": Range(None, None, 0, 9)}, True),
        ("p * 2 = 1", {"p": Range(Decimal(5), Decimal(6), 0, 9)}, True),
    ],
)
def test_bounds_rule_files_out(where, ranges, may) -> None:
    assert may_match(bind(parse_where(where), FIELDS), ranges) is may


def test_a_negative_literal_keeps_all_its_digits():
    digits = "31683683462913415785.5852158580"
    assert parse_value(f"-{digits}").value == Decimal(f"-{digits}")
