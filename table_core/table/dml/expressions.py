"""SQL over pairs of rows: ``source.x``, ``target.x``, arithmetic and casts, as Arrow columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import from_arrow
from table_core.datatypes.kinds import Field
from table_core.predicate import to_arrow
from table_core.predicate.bind import bind, bind_term

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["evaluate", "holds"]


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
