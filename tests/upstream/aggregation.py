"""The aggregate functions, and what each makes of a row that is taken back.

Facts from ``FieldAggregatorTest``, ``FieldAggregatorRetractNullTest``, ``AggregateMergeFunctionTest`` and the
aggregation tests of Flink's module, one a function.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.upstream.play import area, case, shape
from tests.upstream.steps import changes, do, follows, put, refused, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.upstream.play import Case, Step

__all__ = ["CASES"]

N = None
D = Decimal
ENGINE = {"merge-engine": "aggregation"}
NESTED = "ARRAY<ROW<k0 INT, k1 INT, v STRING>>"
TIMED = "ARRAY<ROW<k0 INT, k1 INT, v STRING, s INT>>"
BY_KEY = {"nested-key": "k0,k1"}
BY_TIME = {**BY_KEY, "nested-sequence-field": "s"}


def nested(*members: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Rows of the column, as Arrow shows them."""
    return [dict(zip(("k0", "k1", "v", "s"), row, strict=False)) for row in members]


Values = tuple[Any, ...]
"""What is written one after the other; a tuple is a kind and its value."""
VALUES: tuple[tuple[str, str, str, Values, Any, dict[str, str]], ...] = (
    # promise, function, type, values, result, options of the column
    ("a sum adds", "sum", "INT", (1, 10), 11, {}),
    ("a sum passes NULL over", "sum", "INT", (N, 10, N), 10, {}),
    ("a sum of NULLs is NULL", "sum", "INT", (N, N), N, {}),
    ("a sum takes back", "sum", "INT", (10, ("-D", 5)), 5, {}),
    ("a sum of nothing takes back below zero", "sum", "INT", (N, ("-U", 5)), -5, {}),
    ("NULL that is taken back changes no sum", "sum", "INT", (10, ("-D", N)), 10, {}),
    ("TINYINT is summed", "sum", "TINYINT", (1, 10, ("-D", 5)), 6, {}),
    ("SMALLINT is summed", "sum", "SMALLINT", (1, 10, ("-D", 5)), 6, {}),
    ("BIGINT is summed", "sum", "BIGINT", (1, 2**40, ("-D", 5)), 2**40 - 4, {}),
    ("FLOAT is summed", "sum", "FLOAT", (1.0, 10.0, ("-D", 5.0)), 6.0, {}),
    ("DOUBLE is summed", "sum", "DOUBLE", (1.0, 10.5, ("-D", 5.0)), 6.5, {}),
    ("DECIMAL is summed", "sum", "DECIMAL(12, 2)", (D("1.01"), D("10.00"), ("-D", D("5.00"))), D("6.01"), {}),
    ("a DECIMAL sum that comes back into its range is whole", "sum", "DECIMAL(4, 2)", (D("99.99"), D("0.01"), ("-D", D("5.00"))), D("95.00"), {}),
    ("a wide DECIMAL sum that does not fit is NULL", "sum", "DECIMAL(20, 2)", (D("999999999999999999.99"), D("0.01")), N, {}),
    ("a product multiplies", "product", "INT", (2, 10), 20, {}),
    ("a product passes NULL over", "product", "INT", (N, 10), 10, {}),
    ("a product takes back by division", "product", "INT", (10, ("-D", 5)), 2, {}),
    ("a product of nothing stays NULL when something is taken back", "product", "INT", (N, ("-D", 5)), N, {}),
    ("TINYINT is multiplied", "product", "TINYINT", (2, 10, ("-D", 5)), 4, {}),
    ("SMALLINT is multiplied", "product", "SMALLINT", (2, 10, ("-D", 5)), 4, {}),
    ("BIGINT is multiplied", "product", "BIGINT", (2, 2**40), 2**41, {}),
    ("FLOAT is multiplied", "product", "FLOAT", (2.0, 10.0, ("-D", 5.0)), 4.0, {}),
    ("DOUBLE is multiplied", "product", "DOUBLE", (0.5, 10.0), 5.0, {}),
    ("DECIMAL is multiplied", "product", "DECIMAL(10, 0)", (D(2), D(10), ("-D", D(5))), D(4), {}),
    ("the largest stays", "max", "INT", (1, 10, 3), 10, {}),
    ("the largest passes NULL over", "max", "INT", (1, N), 1, {}),
    ("the largest text stays", "max", "STRING", ("a", "b", "B"), "b", {}),
    ("the largest DATE stays", "max", "DATE", (dt.date(2020, 1, 1), dt.date(2022, 1, 2), dt.date(2021, 5, 5)), dt.date(2022, 1, 2), {}),
    ("the largest DECIMAL stays", "max", "DECIMAL(5, 2)", (D("1.50"), D("-2.00")), D("1.50"), {}),
    ("the smallest stays", "min", "INT", (1, 10, -3), -3, {}),
    ("the smallest passes NULL over", "min", "INT", (N, 10), 10, {}),
    ("the smallest text stays", "min", "STRING", ("b", "a", "c"), "a", {}),
    ("the smallest TIMESTAMP stays", "min", "TIMESTAMP(3)", (dt.datetime(2020, 1, 1, 1), dt.datetime(2019, 1, 1)), dt.datetime(2019, 1, 1), {}),
    ("max ignores what is taken back, if told to", "max", "INT", (3, ("-D", 3)), 3, {"ignore-retract": "true"}),
    ("min ignores what is taken back, if told to", "min", "INT", (3, ("-U", 3), 5), 3, {"ignore-retract": "true"}),
    ("the last value stays", "last_value", "INT", (1, 2), 2, {}),
    ("the last value may be NULL", "last_value", "INT", (1, N), N, {}),
    ("a last value that is taken back is NULL", "last_value", "INT", (1, ("-D", 1)), N, {}),
    ("the last value that is not NULL stays", "last_non_null_value", "INT", (1, N), 1, {}),
    ("the last of DATEs stays", "last_non_null_value", "DATE", (dt.date(2020, 1, 1), dt.date(2020, 1, 2), N), dt.date(2020, 1, 2), {}),
    ("a last value that is not NULL is taken back", "last_non_null_value", "INT", (1, ("-D", 1)), N, {}),
    ("NULL takes no last value back", "last_non_null_value", "INT", (1, ("-D", N)), 1, {}),
    ("the first value stays", "first_value", "INT", (1, 2), 1, {}),
    ("the first value may be NULL", "first_value", "INT", (N, 2), N, {}),
    ("the first value that is not NULL stays", "first_non_null_value", "INT", (N, 1, 2), 1, {}),
    ("first_not_null_value is its old name", "first_not_null_value", "INT", (N, 1, 2), 1, {}),
    ("the first value ignores what is taken back, if told to", "first_value", "INT", (1, ("-D", 1)), 1, {"ignore-retract": "true"}),
    ("bool_and: all are true", "bool_and", "BOOLEAN", (True, N, True), True, {}),
    ("bool_and: one is false", "bool_and", "BOOLEAN", (True, N, False), False, {}),
    ("bool_or: one is true", "bool_or", "BOOLEAN", (True, N, False), True, {}),
    ("bool_or: none is true", "bool_or", "BOOLEAN", (False, N, False), False, {}),
    ("listagg joins with a comma", "listagg", "STRING", ("first line", N, "second line"), "first line,second line", {}),
    ("listagg of NULLs is NULL", "listagg", "STRING", (N, N), N, {}),
    ("listagg joins with another text", "listagg", "STRING", ("user1", "user2"), "user1-user2", {"list-agg-delimiter": "-"}),
    ("listagg can have each once", "listagg", "STRING", ("user1", "user2", "user1", "user3"), "user1,user2,user3", {"distinct": "true"}),
    ("listagg takes new parts apart to have each once", "listagg", "STRING", ("user1", "user2", "user1,user3"), "user1,user2,user3", {"distinct": "true"}),
    ("an empty text is no part", "listagg", "STRING", ("", "user2", "user1,user3"), "user2,user1,user3", {"distinct": "true"}),
    ("parts are split at the text that joins them", "listagg", "STRING", ("k1=v1;k2=v2", "k1=v1;k3=v3", ""), "k1=v1;k2=v2;k3=v3", {"distinct": "true", "list-agg-delimiter": ";"}),
    ("parts are split at blanks", "listagg", "STRING", ("k1=v1 k2=v2", " k1=v1 k3=v3", " "), "k1=v1 k2=v2 k3=v3", {"distinct": "true", "list-agg-delimiter": " "}),
    ("a part is no piece of a longer part", "listagg", "STRING", ("abc,def,asd", "ab,xy"), "abc,def,asd,ab,xy", {"distinct": "true"}),
    ("a part is no piece of a longer part, with another text", "listagg", "STRING", ("abc;def;asd", "ab;xy;def"), "abc;def;asd;ab;xy", {"distinct": "true", "list-agg-delimiter": ";"}),
    ("equal parts of one key differ by value", "listagg", "STRING", ("k1=v1,k2=v2", "k1=v1,k2=v3", ""), "k1=v1,k2=v2,k2=v3", {"distinct": "true"}),
    ("blank texts are passed over", "listagg", "STRING", ("user1", "", " ", "\t", "\n", "\r\n", "　", "user2", " "), "user1,user2", {}),
    ("blank texts are passed over where each is there once", "listagg", "STRING", ("user1", " ", "user2", "user1", "\t\n"), "user1,user2", {"distinct": "true"}),
    ("a blank first text leaves no comma", "listagg", "STRING", (" ", "first line"), "first line", {}),
    ("empty texts alone are NULL", "listagg", "STRING", ("", ""), N, {"distinct": "true", "list-agg-delimiter": ";"}),
    ("collect appends", "collect", "ARRAY<INT>", ([1, 1, 2], [2, 3]), [1, 1, 2, 2, 3], {}),
    ("collect passes NULL over", "collect", "ARRAY<STRING>", (N, ["paimon", "paimon"], N), ["paimon", "paimon"], {}),
    ("collect can have each once", "collect", "ARRAY<INT>", ([1, 1, 2], [2, 3]), [1, 2, 3], {"distinct": "true"}),
    ("collect has each ROW once", "collect", "ARRAY<ROW<a INT, b STRING>>", ([{"a": 1, "b": "A"}, {"a": 1, "b": "B"}], [{"a": 1, "b": "A"}, {"a": 2, "b": "A"}]), [{"a": 1, "b": "A"}, {"a": 1, "b": "B"}, {"a": 2, "b": "A"}], {"distinct": "true"}),
    ("collect has each ARRAY once", "collect", "ARRAY<ARRAY<INT>>", ([[1, 1], [1, 2]], [[1, 1], [1, 2], [2, 1]]), [[1, 1], [1, 2], [2, 1]], {"distinct": "true"}),
    ("collect has each MAP once", "collect", "ARRAY<MAP<INT, STRING>>", ([[(1, "A")]], [[(1, "A")], [(2, "B")]]), [[[1, "A"]], [[2, "B"]]], {"distinct": "true"}),
    ("collect takes elements back", "collect", "ARRAY<STRING>", (["A", "B"], ["C", "D"], ("-D", ["C", "D"])), ["A", "B"], {}),
    ("collect takes one of equal elements back", "collect", "ARRAY<INT>", ([1, 2, 1], ("-D", [1])), [2, 1], {}),
    ("collect takes nothing back that is not there", "collect", "ARRAY<INT>", ([1, 2], ("-D", [3])), [1, 2], {}),
    ("collect: NULL takes nothing back", "collect", "ARRAY<INT>", ([1], ("-D", N)), [1], {}),
    ("merge_map joins maps", "merge_map", "MAP<INT, STRING>", ([(1, "A")], [(2, "B")]), [[1, "A"], [2, "B"]], {}),
    ("merge_map: later values win", "merge_map", "MAP<INT, STRING>", ([(1, "A"), (2, "B")], [(1, "a"), (2, "b"), (3, "c")]), [[1, "a"], [2, "b"], [3, "c"]], {}),
    ("merge_map passes NULL over", "merge_map", "MAP<INT, STRING>", (N, [(1, "A")], N), [[1, "A"]], {}),
    ("merge_map takes keys back", "merge_map", "MAP<INT, STRING>", ([(1, "A"), (2, "B")], ("-D", [(1, "A")])), [[2, "B"]], {}),
    ("merge_map takes a key back whatever its value", "merge_map", "MAP<INT, STRING>", ([(1, "A"), (2, "B")], ("-D", [(1, "x")])), [[2, "B"]], {}),
    ("nested_update without a key appends", "nested_update", NESTED, (nested((0, 1, "B")), nested((0, 1, "b"))), nested((0, 1, "B"), (0, 1, "b")), {}),
    ("nested_update without a key takes an equal row back", "nested_update", NESTED, (nested((0, 1, "B")), nested((0, 1, "b")), ("-D", nested((0, 1, "b")))), nested((0, 1, "B")), {}),
    ("nested_update replaces by key", "nested_update", NESTED, (nested((0, 0, "A")), nested((0, 1, "B")), nested((0, 1, "b"))), nested((0, 0, "A"), (0, 1, "b")), BY_KEY),
    ("nested_update takes back by key", "nested_update", NESTED, (nested((0, 0, "A")), nested((0, 1, "b")), ("-D", nested((0, 1, "b")))), nested((0, 0, "A")), BY_KEY),
    ("nested_update has no more rows than its limit", "nested_update", NESTED, (nested((0, 1, "B")), nested((0, 1, "b")), nested((0, 1, "C"))), nested((0, 1, "B"), (0, 1, "b")), {"count-limit": "2"}),
    ("nested_update replaces a key at its limit", "nested_update", NESTED, (nested((0, 1, "B")), nested((1, 2, "C")), nested((0, 1, "x")), nested((2, 3, "D"))), nested((0, 1, "x"), (1, 2, "C")), {**BY_KEY, "count-limit": "2"}),
    ("nested_update lets the larger sequence win", "nested_update", TIMED, (nested((0, 1, "B", 2)), nested((0, 1, "b", 3)), nested((0, 1, "late", 2))), nested((0, 1, "b", 3)), BY_TIME),
    ("nested_update lets a later row of equal sequence win", "nested_update", TIMED, (nested((0, 1, "B", 2)), nested((0, 1, "b", 2))), nested((0, 1, "b", 2)), BY_TIME),
    ("nested_update orders by two members", "nested_update", "ARRAY<ROW<k0 INT, k1 INT, v STRING, s INT>>", (nested((0, 1, "B", 2)), nested((0, 1, "A", 1))), nested((0, 1, "B", 2)), {**BY_KEY, "nested-sequence-field": "s,v"}),
    ("nested_update counts keys, not rows", "nested_update", TIMED, (nested((0, 1, "A", 1)), nested((0, 2, "B", 2)), nested((0, 3, "C", 3)), nested((0, 1, "a", 4)), nested((0, 2, "late", 1))), nested((0, 1, "a", 4), (0, 2, "B", 2)), {**BY_TIME, "count-limit": "2"}),
    ("nested_update takes NULL in a key for a value", "nested_update", NESTED, (nested((0, N, "A")), nested((0, N, "B"))), nested((0, N, "B")), {**BY_KEY, "nested-key-null-strategy": "merge"}),
    ("nested_update can ignore rows with NULL in the key", "nested_update", NESTED, (nested((0, 0, "A")), nested((0, N, "B"), (N, N, "C"))), nested((0, 0, "A")), {**BY_KEY, "nested-key-null-strategy": "ignore"}),
    ("nested_partial_update fills rows by key", "nested_partial_update", NESTED, (nested((0, 1, "B"), (1, 1, "x")), nested((0, 1, N))), nested((0, 1, "B"), (1, 1, "x")), BY_KEY),
    ("merge_map_with_keytime: a later time wins", "merge_map_with_keytime", "MAP<STRING, ROW<v INT, ts STRING>>", ([("a", {"v": 1, "ts": "5"})], [("a", {"v": 2, "ts": "4"}), ("b", {"v": 3, "ts": "1"})]), [["a", {"v": 1, "ts": "5"}], ["b", {"v": 3, "ts": "1"}]], {}),
)  # fmt: skip
REFUSED: tuple[tuple[str, str, str, Values, str, dict[str, str]], ...] = (
    ("a sum of TINYINT does not wrap", "sum", "TINYINT", (127, 1), "v", {}),
    ("a sum of SMALLINT does not wrap", "sum", "SMALLINT", (-(2**15), -1), "v", {}),
    ("a sum of INT does not wrap", "sum", "INT", (2**31 - 1, 1), "v", {}),
    ("a sum of BIGINT does not wrap", "sum", "BIGINT", (2**63 - 1, 1), "v", {}),
    ("taking back does not wrap TINYINT", "sum", "TINYINT", (-128, ("-D", 1)), "v", {}),
    ("taking back does not wrap SMALLINT", "sum", "SMALLINT", (2**15 - 1, ("-D", -1)), "v", {}),
    ("taking back does not wrap INT", "sum", "INT", (-(2**31), ("-D", 1)), "v", {}),
    ("taking back does not wrap BIGINT", "sum", "BIGINT", (-(2**63), ("-D", 1)), "v", {}),
    ("a sum of DECIMAL does not wrap", "sum", "DECIMAL(4, 2)", (D("99.99"), D("0.01")), "v", {}),
    ("a product of TINYINT does not wrap", "product", "TINYINT", (64, 2), "v", {}),
    ("a product of SMALLINT does not wrap", "product", "SMALLINT", (1000, 100), "v", {}),
    ("a product of INT does not wrap", "product", "INT", (100_000, 100_000), "v", {}),
    ("a product of BIGINT does not wrap", "product", "BIGINT", (2**63 - 1, 2), "v", {}),
    ("a division does not wrap INT", "product", "INT", (-(2**31), ("-D", -1)), "v", {}),
    ("nested_update can refuse NULL in a key", "nested_update", NESTED, (nested((0, 0, "A")), nested((0, N, "B"))), "null", {**BY_KEY, "nested-key-null-strategy": "error"}),
)  # fmt: skip
NO_RETRACT: tuple[tuple[str, str, Any, dict[str, str]], ...] = (
    ("max", "INT", 3, {}),
    ("min", "INT", 3, {}),
    ("first_value", "INT", 3, {}),
    ("first_non_null_value", "INT", 3, {}),
    ("bool_and", "BOOLEAN", True, {}),
    ("bool_or", "BOOLEAN", True, {}),
    ("listagg", "STRING", "a", {}),
    ("nested_partial_update", NESTED, nested((0, 1, "a")), BY_KEY),
)


def _table(function: str, type_: str, options: dict[str, str]) -> dict[str, Any]:
    table = shape(f"k INT, v {type_}", key="k", bucket="1")
    own = {f"fields.v.{key}": value for key, value in options.items()}
    return {"table": table, "options": {**ENGINE, "fields.v.aggregate-function": function, **own}}


def _puts(values: Values) -> list[Step]:
    return [put((value[0], 1, value[1]) if isinstance(value, tuple) else (1, value)) for value in values]  # fmt: skip


def _made() -> Iterator[Case]:
    for promise, function, type_, values, result, options in VALUES:
        how = _table(function, type_, options)
        expected = rows((1, result))
        yield case(
            promise, how["table"], *_puts(values), expected, do("compact"), expected, options=how["options"]
        )  # fmt: skip
    for promise, function, type_, values, words, options in REFUSED:
        how = _table(function, type_, options)
        yield case(
            promise, how["table"], *_puts(values), refused(rows(), words), options=how["options"]
        )
    for function, type_, value, options in NO_RETRACT:
        how = _table(function, type_, options)
        yield case(
            f"{function} refuses what it cannot take back",
            how["table"],
            put((1, value)),
            refused(put(("-D", 1, value)), "ignore-retract"),
            rows((1, value)),
            options=how["options"],
        )


KAB = shape("k INT, a INT, b INT", key="k", bucket="1")
OTHERS = (
    case("without a function, the last value that is not NULL stays", KAB, put((1, 1, 1)), put((1, N, 2)), rows((1, 1, 2)), options=ENGINE),
    case("a default function is for columns without their own", KAB, put((1, 1, 1)), put((1, 2, 5)), rows((1, 3, 5)), options={**ENGINE, "fields.default-aggregate-function": "sum", "fields.b.aggregate-function": "max"}),
    case("two columns have two functions", KAB, put((1, 5, 5)), put((1, 3, 3)), rows((1, 5, 3)), options={**ENGINE, "fields.a.aggregate-function": "max", "fields.b.aggregate-function": "min"}),
    case("rows of one write are aggregated", KAB, put((1, 1, 1), (1, 2, 2), (2, 9, 9)), rows((1, 3, 2), (2, 9, 9)), options={**ENGINE, "fields.a.aggregate-function": "sum"}),
    case("a projection is of the aggregate", KAB, put((1, 1, 1)), put((1, 2, 2)), rows((3,), columns=["a"]), options={**ENGINE, "fields.a.aggregate-function": "sum"}),
    case("a condition is over the aggregate", KAB, put((1, 1, 1), (2, 1, 1)), put((1, 2, 2)), rows((1, 3, 2), where="a = 3"), options={**ENGINE, "fields.a.aggregate-function": "sum"}),
    case("a delete can remove the record", KAB, put((1, 5, 1)), put(("-D", 1, 2, 1)), rows(), options={**ENGINE, "fields.a.aggregate-function": "sum", "aggregation.remove-record-on-delete": "true"}),
    case("deletes can be ignored by the engine", KAB, put((1, 5, 1)), put(("-D", 1, 2, 1)), rows((1, 5, 1)), options={**ENGINE, "fields.a.aggregate-function": "sum", "ignore-delete": "true"}),
    case("partitions are aggregated apart", shape("k INT, p STRING, a INT", key="k, p", partition="p", bucket="1"), put((1, "x", 1), (1, "y", 2)), put((1, "x", 3)), rows((1, "x", 4), (1, "y", 2)), options={**ENGINE, "fields.a.aggregate-function": "sum"}),
    case("a stream without a producer is refused", KAB, put((1, 1, 1)), refused(follows(), "changelog-producer"), options=ENGINE),
    case("the lookup changelog has the aggregate before and after", KAB, put((1, 1, 1)), put((1, 2, 2)), changes((1, 1, 1), ("-U", 1, 1, 1), ("+U", 1, 3, 2), mode="changelog"), options={**ENGINE, "fields.a.aggregate-function": "sum", "changelog-producer": "lookup"}),
    case("the full-compaction changelog has the aggregate before and after", shape("k INT, b DECIMAL(12, 2)", key="k", bucket="1"), put((1, D("1.00")), (2, D("2.00"))), do("compact"), put((1, D("2.00"))), do("compact"), changes((1, D("1.00")), (2, D("2.00")), ("-U", 1, D("1.00")), ("+U", 1, D("3.00")), mode="changelog"), options={**ENGINE, "fields.b.aggregate-function": "sum", "changelog-producer": "full-compaction"}),
    case("an update's old half is taken back and its new half added", KAB, put((1, 5, 1)), put(("-U", 1, 5, 1), ("+U", 1, 7, 1)), rows((1, 7, 1)), options={**ENGINE, "fields.a.aggregate-function": "sum", "fields.b.ignore-retract": "true"}),
    case("a sum of what was never there is below zero", KAB, put(("-D", 1, 5, 1)), put((1, 2, 1)), rows((1, -3, 1)), options={**ENGINE, "fields.a.aggregate-function": "sum", "fields.b.ignore-retract": "true"}),
    case("NULL and no retract: NULL is kept by sum", KAB, put((1, N, 1)), put((1, N, 1)), do("compact"), rows((1, N, 1)), options={**ENGINE, "fields.a.aggregate-function": "sum"}),
    case("DELETE by statement is refused where functions cannot take back", KAB, put((1, 1, 1)), refused(do("delete", "k = 1"), "aggregation"), options={**ENGINE, "fields.a.aggregate-function": "max"}),
)  # fmt: skip

CASES = area("Aggregation", _made(), OTHERS)
