"""SQL over pairs of rows: ``source.x``, ``target.x``, arithmetic and casts, as Arrow columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_type, from_arrow
from table_core.datatypes.kinds import Field
from table_core.errors import ArgumentError, DataError, PredicateError
from table_core.predicate import to_arrow
from table_core.predicate.bind import bind, bind_term
from table_core.table.write.fitting import keeps_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.schema.table_schema import TableSchema

__all__ = ["evaluate", "holds", "refuse_wrong_condition", "refuse_wrong_values"]


def evaluate(sql: str, rows: Mapping[str, pa.Table]) -> pa.Array:
    """The value of ``sql`` for each row; ``rows`` are tables of one length by their prefix.

    Raises:
        PredicateError: it does not parse, or names what is not there.
    """
    from table_core.predicate.sql import parse_value  # brings an SQL parser along

    table = _nested(rows)
    return to_arrow.evaluate(bind_term(parse_value(sql), _fields(table)), table)


def holds(sql: str, rows: Mapping[str, pa.Table]) -> Any:
    """Positions of the rows for which the condition ``sql`` is true."""
    from table_core.predicate.sql import parse_where  # brings an SQL parser along

    table = _nested(rows)
    true = to_arrow.mask(bind(parse_where(sql), _fields(table)), table)
    return np.flatnonzero(true.fill_null(False).to_numpy(zero_copy_only=False))


def refuse_wrong_values(
    schema: TableSchema, values: Mapping[str, str], sides: Mapping[str, pa.Schema]
) -> None:
    """Look at what columns are set to before any row is read: an empty table has the same columns.

    ``sides``: the columns that the expressions may name, by their prefix, as for ``evaluate``.

    Raises:
        PredicateError: one does not parse, names what is not there, or has a type that the column cannot take.
    """
    rows = {prefix: side.empty_table() for prefix, side in sides.items()}
    for name, sql in values.items():
        field = schema.field(name)
        if not isinstance(sql, str):
            raise ArgumentError(
                f"the new value of column {name!r} is SQL text, such as 'qty + 1' or \"'text'\", not "
                f"{sql!r}: write {_as_sql(sql)}",
                argument="values",
                value=repr(sql),
            )
        try:
            column = evaluate(sql, rows)
        except PredicateError as error:
            raise PredicateError(
                f"the new value of column {name!r}: {error}",
                argument="values",
                column=name,
                value=sql,
            ) from error
        want = arrow_type(field.type)
        if not keeps_values(column.type, want) and not _is_null(sql, sides):
            raise DataError(
                f"the new value of column {name!r} is of type {column.type}, and does not fit {want}; "
                "convert it, as in CAST(… AS …)",
                column=name,
                row=None,
                value=sql,
            )


def _is_null(sql: str, sides: Mapping[str, pa.Schema]) -> bool:
    """Whether ``sql`` is NULL where all columns are; NULL by itself has no type."""
    rows = {
        prefix: pa.table({field.name: pa.nulls(1, field.type) for field in side})
        for prefix, side in sides.items()
    }
    column = evaluate(sql, rows)
    return bool(pa.types.is_boolean(column.type)) and column.null_count == 1


def refuse_wrong_condition(what: str, sql: str | None, sides: Mapping[str, pa.Schema]) -> None:
    """Look at the condition of ``what``, such as a clause, before any row is read.

    Raises:
        PredicateError: it does not parse, names what is not there, or compares what cannot be compared.
    """
    if sql is None:
        return
    try:
        holds(sql, {prefix: side.empty_table() for prefix, side in sides.items()})
    except PredicateError as error:
        raise PredicateError(f"the condition of {what}: {error}", where=sql) from error


def _as_sql(value: object) -> str:
    """``value`` as SQL writes it, in quotes for Python."""
    if value is None or isinstance(value, bool):
        return repr(str(value).upper() if value is None else str(value).lower()).replace(
            "NONE", "NULL"
        )
    return repr(str(value))


def _nested(rows: Mapping[str, pa.Table]) -> pa.Table:
    """Each table as one struct column, so that ``source.x`` is a nested field; and its columns.

    A table with the prefix ``""`` gives its columns as they are; one of them that is called like a prefix is
    meant by that name.
    """
    columns: dict[str, Any] = {}
    for prefix, table in rows.items():
        if prefix:
            flat = [column.combine_chunks() for column in table.columns]
            columns[prefix] = pa.StructArray.from_arrays(flat, fields=list(table.schema))
    plain = rows.get("")
    if plain is not None:
        columns.update(zip(plain.column_names, plain.columns, strict=True))
    return pa.table(columns)


def _fields(table: pa.Table) -> list[Field]:
    return [
        Field(at, column.name, from_arrow(column.type)) for at, column in enumerate(table.schema)
    ]
