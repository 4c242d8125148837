"""The type that holds what a column has and what comes: never narrower.

Source: ``org.apache.paimon.flink.sink.cdc.UpdatedDataFieldsProcessFunctionBase``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import MAX_LENGTH, Atomic, DataType, Root

if TYPE_CHECKING:
    from table_core.schema.type_mapping import TypeMapping

__all__ = ["wider"]

_INTEGERS: Final = (Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)
_DIGITS: Final = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}
_FLOATS: Final = (Root.FLOAT, Root.DOUBLE)
_TEXTS: Final = (Root.CHAR, Root.VARCHAR)
_BYTES: Final = (Root.BINARY, Root.VARBINARY)
_TIMES: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ, Root.TIME})
_DECIMAL_DIGITS_MAX: Final = 38


def wider(table: DataType, source: DataType, mapping: TypeMapping) -> Atomic | None:
    """The type that the column of the table should get; None if it can stay as it is."""
    if not isinstance(table, Atomic) or not isinstance(source, Atomic):
        return None
    if table.root is source.root:
        return _longer(table, source, mapping)
    for family in (_INTEGERS, _FLOATS):
        if table.root in family and source.root in family:
            return source if family.index(source.root) > family.index(table.root) else None
    if table.root in _INTEGERS and source.root in _FLOATS:
        return Atomic(Root.DOUBLE)
    if table.root is Root.DATE and source.root is Root.TIMESTAMP:
        return source
    if table.root in _TEXTS and source.root in _TEXTS:
        longest = max(table.length, source.length)
        return (
            None
            if table.root is Root.VARCHAR and longest == table.length
            else Atomic(Root.VARCHAR, length=longest)
        )
    if table.root in _BYTES and source.root in _BYTES:
        longest = max(table.length, source.length)
        return (
            None
            if table.root is Root.VARBINARY and longest == table.length
            else Atomic(Root.VARBINARY, length=longest)
        )
    if table.root in _INTEGERS and source.root is Root.DECIMAL and not mapping.decimal_no_change:
        return _decimal(_DIGITS[table.root], 0, source)
    if mapping.allow_non_string_to_string and source.root in _TEXTS:
        return Atomic(Root.VARCHAR, length=MAX_LENGTH)
    return None


def _longer(table: Atomic, source: Atomic, mapping: TypeMapping) -> Atomic | None:
    if table.root in _TEXTS or table.root in _BYTES:
        return source if source.length > table.length else None
    if table.root is Root.DECIMAL and not mapping.decimal_no_change:
        return _decimal(table.precision - table.scale, table.scale, source, table)
    if table.root in _TIMES:
        return source if source.precision > table.precision else None
    return None


def _decimal(whole: int, scale: int, source: Atomic, table: Atomic | None = None) -> Atomic | None:
    """Room for the digits of both, if there is so much."""
    digits = max(whole, source.precision - source.scale)
    scale = max(scale, source.scale)
    if digits + scale > _DECIMAL_DIGITS_MAX:
        return None
    wanted = Atomic(Root.DECIMAL, precision=digits + scale, scale=scale)
    same = table is not None and (table.precision, table.scale) == (wanted.precision, scale)
    return None if same else wanted
