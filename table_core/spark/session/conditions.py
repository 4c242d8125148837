"""A bound condition as a Spark column, so that Spark's own scan filters and prunes by it.

Types have met before (``predicate.bind``), so nothing here depends on how Spark would make them meet:
every literal has its type.  What has no certain counterpart has none here.
"""

from __future__ import annotations

import datetime as dt
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from table_core.datatypes.castable import EXACT_INTEGERS
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import UnsupportedFeatureError
from table_core.predicate.bound import (
    AllOf,
    AnyOf,
    Cmp,
    Const,
    Conv,
    Known,
    Member,
    Negation,
    NullTest,
    Ref,
    UnlessNull,
)
from table_core.spark.session.schema_bridge import spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column

    from table_core.datatypes.kinds import DataType
    from table_core.predicate.bound import Bound, BoundTerm

__all__ = ["named", "quoted", "spark_condition"]

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # its text gets a zone where it needs one
_MICROS_OF: Final = 1_000
_NANOS_OF_DAY: Final = 86_400_000_000_000
_NO_JULIAN_DAYS: Final = range(-141_438, -141_426)
"""1582-10-05 to 14 and a day on either side for zones: where Spark's scan asks Parquet for another day."""
_PLAIN: Final = frozenset(
    {
        *EXACT_INTEGERS,
        *(Root.BOOLEAN, Root.FLOAT, Root.DOUBLE, Root.DECIMAL),
        *(Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY),
    }
)


_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})


def named(name: str) -> Column:
    """The column ``name``, whatever characters it has."""
    return f.col(quoted(name))


def quoted(name: str) -> str:
    """``name`` as an identifier of Spark's SQL, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def spark_condition(bound: Bound, columns: Mapping[str, Column]) -> Column | None:
    """``bound`` over ``columns``; None where Spark might see it differently."""
    try:
        return _condition(bound, columns)
    except UnsupportedFeatureError:
        return None


def _condition(bound: Bound, columns: Mapping[str, Column]) -> Column:
    def term(node: BoundTerm) -> Column:
        return _term(node, columns)

    match bound:
        case Known(answer):
            return f.lit(answer).cast("boolean")
        case AllOf(parts):
            return reduce(lambda a, b: a & b, (_condition(part, columns) for part in parts))
        case AnyOf(parts):
            return reduce(lambda a, b: a | b, (_condition(part, columns) for part in parts))
        case Negation(part):
            return ~_condition(part, columns)
        case Cmp(op, left, right):
            return _compared(op, term(left), term(right))
        case NullTest(operand):
            return term(operand).isNull()
        case UnlessNull(operand, answer):
            return f.when(term(operand).isNotNull(), f.lit(answer))
        case Member(operand, values, null) if values and isinstance(operand.type, Atomic):
            type_ = operand.type
            literals = [_literal(Const(value, type_)) for value in values]
            return term(operand).isin([*literals, *([f.lit(None)] if null else [])])
    raise _no_counterpart(bound)


def _compared(op: str, left: Column, right: Column) -> Column:
    match op:
        case "=":
            return left == right
        case "<>":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case _:
            return left.eqNullSafe(right)


def _term(node: BoundTerm, columns: Mapping[str, Column]) -> Column:
    match node:
        case Ref(path, type_):
            column = reduce(lambda part, name: part.getField(name), path[1:], columns[path[0]])
            return _unpruned(column, type_)
        case Const():
            return _literal(node)
        case Conv(operand, type_) if _widens(operand, type_):
            return _term(operand, columns).cast(spark_type(type_))
    raise _no_counterpart(node)


def _unpruned(column: Column, type_: DataType) -> Column:
    """``column``; of floats what Spark computes for each row, and does not ask of a file's statistics.

    Those leave NaN out, which is larger than every number, and tell -0.0 from 0.0, which are equal.
    """
    if not isinstance(type_, Atomic) or type_.root not in _FLOATS:
        return column
    return column + f.lit(0.0).cast(spark_type(type_))


def _widens(operand: BoundTerm, type_: Atomic) -> bool:
    """Whether an integer becomes a wider number: no value of it can fail."""
    old = operand.type.root if isinstance(operand.type, Atomic) else None
    if old not in EXACT_INTEGERS:
        return False
    if type_.root in EXACT_INTEGERS:
        return EXACT_INTEGERS.index(old) <= EXACT_INTEGERS.index(type_.root)
    return type_.root is Root.DECIMAL and type_.precision - type_.scale >= 19


def _literal(const: Const) -> Column:
    """The value with its type, whatever the session's time zone is.

    Raises:
        UnsupportedFeatureError: Spark cannot hold it.
    """
    value: Any = const.value
    root = const.type.root
    if value is None:
        return f.lit(None).cast(spark_type(const.type))
    if root in _FLOATS:
        value += 0.0  # no -0.0: a set of many values would not find 0.0 in itself
    if root in _PLAIN:
        return f.lit(value).cast(spark_type(const.type))
    if root is Root.DATE and value in _NO_JULIAN_DAYS:
        raise _no_counterpart(const)
    if root is Root.DATE:
        return f.date_from_unix_date(f.lit(value))
    if root not in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ} or value % _MICROS_OF:
        raise _no_counterpart(const)
    if value // _NANOS_OF_DAY in _NO_JULIAN_DAYS:
        raise _no_counterpart(const)
    try:
        text = (_EPOCH + dt.timedelta(microseconds=value // _MICROS_OF)).isoformat(sep=" ")
    except OverflowError as error:
        raise _no_counterpart(const) from error
    zoned = root is Root.TIMESTAMP_LTZ
    return f.expr(f"TIMESTAMP '{text}Z'" if zoned else f"TIMESTAMP_NTZ '{text}'")


def _no_counterpart(node: object) -> UnsupportedFeatureError:
    what = type(node).__name__
    return UnsupportedFeatureError(f"Spark has no equal of {what}", feature=f"{what} in Spark")
