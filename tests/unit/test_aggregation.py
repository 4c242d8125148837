"""Aggregation: what Paimon does, example by example."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from table_core.errors import DataError, OptionError
from table_core.merge.engines.engine import engine_for
from tests.merge_rows import kv, plain, schema_of, with_options


def merged(type_: str, function: str, *rows: tuple[Any, ...], **options: str) -> list[Any]:
    """Rows ``(kind, value)`` of one key, merged."""
    given = {"merge-engine": "aggregation", "fields.v.aggregate-function": function}
    extra = {name.replace("__", "."): text for name, text in options.items()}
    schema = with_options(schema_of({"k": "INT NOT NULL", "v": type_}), {**given, **extra})
    table = kv(schema, [(kind, 1, value) for kind, value in rows])
    return [(kind, value) for kind, _, value in plain(engine_for(schema).merge(table))]


@pytest.mark.parametrize(
    ("function", "type_", "rows", "result"),
    [
        ("sum", "INT", [("+I", 7), ("-D", 5)], 2),
        ("sum", "INT", [("-D", 7), ("-D", 5)], -12),
        ("sum", "INT", [("+I", None), ("+I", 5), ("-U", None)], 5),
        ("sum", "INT", [("+I", None), ("+I", None)], None),
        ("sum", "TINYINT", [("+I", 100), ("+I", 27)], 127),
        ("sum", "BIGINT", [("+I", 2**63 - 1), ("+I", -(2**63)), ("+I", 5)], 4),
        ("sum", "DOUBLE", [("+I", 0.1), ("+I", 0.2), ("-D", 0.3)], 0.1 + 0.2 - 0.3),
        ("sum", "DECIMAL(19, 2)", [("+I", Decimal(10) ** 17 - 1), ("+I", Decimal(1))], None),
        (
            "sum",
            "DECIMAL(5, 2)",
            [("+I", Decimal("999.99")), ("+I", Decimal("0.01")), ("+I", Decimal("-5.00"))],
            Decimal("995.00"),
        ),
        (
            "sum",
            "DECIMAL(38, 2)",
            [("+I", Decimal(10) ** 35), ("-D", Decimal("0.01"))],
            Decimal("9" * 35 + ".99"),
        ),
        ("max", "INT", [("+I", 3), ("+I", None), ("+I", 9), ("+I", 4)], 9),
        ("max", "STRING", [("+I", "é"), ("+I", "z")], "é"),
        ("min", "DATE", [("+I", None), ("+I", None)], None),
        ("min", "DOUBLE", [("+I", float("nan")), ("+I", 1.0)], 1.0),
        ("last_value", "INT", [("+I", 3), ("+I", None)], None),
        ("last_value", "INT", [("+I", 3), ("-U", 3)], None),
        ("last_non_null_value", "INT", [("+I", 3), ("+I", None)], 3),
        ("last_non_null_value", "INT", [("+I", 3), ("-U", 3)], None),
        ("last_non_null_value", "INT", [("+I", 3), ("-U", None)], 3),
        ("first_value", "INT", [("+I", None), ("+I", 3)], None),
        ("first_non_null_value", "INT", [("+I", None), ("+I", 3), ("+I", 4)], 3),
        ("first_not_null_value", "INT", [("+I", None), ("+I", 3), ("+I", 4)], 3),
        ("bool_and", "BOOLEAN", [("+I", True), ("+I", None), ("+I", False)], False),
        ("bool_and", "BOOLEAN", [("+I", True), ("+I", None)], True),
        ("bool_or", "BOOLEAN", [("+I", False), ("+I", None), ("+I", True)], True),
        ("bool_or", "BOOLEAN", [("+I", None), ("+I", None)], None),
    ],
)
def test_functions(function: str, type_: str, rows: list[tuple[str, Any]], result: Any) -> None:
    assert merged(type_, function, *rows) == [("+I", result)]


def test_a_single_record_passes_through_whatever_its_kind() -> None:
    assert merged("INT", "sum", ("-D", 5)) == [("-D", 5)]
    assert merged("INT", "max", ("-U", 5)) == [("-U", 5)]


@pytest.mark.parametrize("function", ["max", "min", "first_value", "first_non_null_value"])
def test_a_value_that_cannot_be_taken_back_is_refused_unless_ignored(function: str) -> None:
    rows = [("+I", 3), ("-D", 3)]
    with pytest.raises(DataError, match=r"fields\.v\.ignore-retract"):
        merged("INT", function, *rows)
    ignoring = {"fields__v__ignore-retract": "true"}
    assert merged("INT", function, *rows, **ignoring) == [("+I", 3)]
    assert merged("INT", function, ("-D", 3), ("-D", 3), **ignoring) == [("+I", None)]


@pytest.mark.parametrize(
    ("type_", "rows"),
    [
        ("TINYINT", [("+I", 100), ("+I", 28)]),
        ("INT", [("-D", -(2**31)), ("-D", None)]),
        ("BIGINT", [("+I", 2**63 - 1), ("+I", 1)]),
        ("BIGINT", [("+I", -(2**63)), ("-D", 1)]),
        ("DECIMAL(5, 2)", [("+I", Decimal("999.99")), ("+I", Decimal("0.01"))]),
        ("DECIMAL(18, 0)", [("+I", Decimal(10) ** 18 - 1), ("+I", Decimal(1))]),
        ("DECIMAL(18, 0)", [("+I", Decimal(1) - 10**18), ("-D", Decimal(1))]),
    ],
)
def test_a_sum_never_wraps(type_: str, rows: list[tuple[str, Any]]) -> None:
    with pytest.raises(DataError, match="does not fit"):
        merged(type_, "sum", *rows)


REMOVE = {"aggregation__remove-record-on-delete": "true"}


def test_a_delete_can_remove_the_whole_record() -> None:
    assert merged("INT", "sum", ("+I", 7), ("-D", 5), **REMOVE) == [("-D", 5)]
    assert merged("INT", "sum", ("+I", 7), ("-U", 5), **REMOVE) == [("+I", 2)]


def test_what_follows_a_removal_starts_from_the_removed_row() -> None:
    assert merged("INT", "sum", ("+I", 7), ("-D", 5), ("+I", 3), **REMOVE) == [("+I", 8)]
    assert merged("INT", "first_value", ("-D", 5), ("+I", 3), **REMOVE) == [("+I", 3)]
    rows = [("+I", 7), ("-D", 5), ("+I", 3)]
    assert merged("INT", "first_value", *rows, **REMOVE) == [("+I", 5)]


def test_columns_without_a_function_keep_the_last_value_that_is_not_null() -> None:
    schema = schema_of(
        {"k": "INT NOT NULL", "s": "INT", "a": "INT", "b": "INT"},
        **{
            "merge-engine": "aggregation",
            "sequence__field": "s",
            "fields__b__aggregate-function": "sum",
        },
    )
    rows = kv(schema, [("+I", 1, 1, 5, 1), ("+I", 1, None, None, 2)])
    assert plain(engine_for(schema).merge(rows)) == [("+I", 1, None, 5, 3)]
    default = with_options(schema, {"fields.default-aggregate-function": "max"})
    rows = kv(default, [("+I", 1, 1, 5, 1), ("+I", 1, 1, 2, 2)])
    assert plain(engine_for(default).merge(rows)) == [("+I", 1, 1, 5, 3)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"fields.v.aggregate-function": "summ"}, "fields.v.aggregate-function"),
        ({"fields.v.aggregate-function": "sum"}, "fields.v.aggregate-function"),
        ({"fields.v.aggregate-function": "bool_or"}, "fields.v.aggregate-function"),
        ({"sequence.field": "gone"}, "sequence.field"),
        ({"sequence.field": "v", "fields.v.aggregate-function": "max"}, "fields.v.agg"),
        ({"fields.v.ignore-retract": "maybe"}, "fields.v.ignore-retract"),
        (
            {"fields.v.ignore-retract": "true", "aggregation.remove-record-on-delete": "true"},
            "aggregation.remove-record-on-delete",
        ),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, str], named: str) -> None:
    schema = schema_of({"k": "INT NOT NULL", "v": "STRING"}, **{"merge-engine": "aggregation"})
    with pytest.raises(OptionError, match=named):
        engine_for(with_options(schema, options))
