"""Spark's pushed filters as conditions of ours.

They only prune: Spark applies every filter again, so one that has no counterpart is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import datasource as spark

from table_core.errors import PredicateError
from table_core.predicate.bind import bind
from table_core.predicate.expression import And, Column, Compare, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.predicate.expression import Condition

__all__ = ["condition_of"]

_COMPARISONS: Final[Mapping[type[spark.Filter], str]] = {
    spark.EqualTo: "=",
    spark.EqualNullSafe: "<=>",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
}


def condition_of(filters: Iterable[spark.Filter], fields: tuple[Field, ...]) -> Condition | None:
    """What rows must fulfil at least; None if nothing is known of them."""
    parts = []
    for pushed in filters:
        condition = _condition(pushed)
        if condition is None:
            continue
        try:
            bind(condition, fields)
        except PredicateError:
            continue  # a value that we would not compare as Spark does: Spark filters alone
        parts.append(condition)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _condition(pushed: spark.Filter) -> Condition | None:
    match pushed:
        case spark.Not(child):
            inner = _condition(child)
            return None if inner is None else ~inner
        case spark.IsNull(path):
            return Column(path).is_null()
        case spark.IsNotNull(path):
            return ~Column(path).is_null()
        case spark.In(path, values):
            return Column(path).isin(values)
        case spark.StringStartsWith(path, value):
            return Column(path).like(f"{_literal(value)}%")
        case spark.StringEndsWith(path, value):
            return Column(path).like(f"%{_literal(value)}")
        case spark.StringContains(path, value):
            return Column(path).like(f"%{_literal(value)}%")
    op = _COMPARISONS.get(type(pushed))
    if op is None:
        return None
    return Compare(op, Column(pushed.attribute), Literal(pushed.value))  # type: ignore[attr-defined]  # every comparison has both


def _literal(value: str) -> str:
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
