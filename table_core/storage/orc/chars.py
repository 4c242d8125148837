"""CHAR in ORC: files pad its values with blanks to full length, readers take blanks off the end.

Source: ``org.apache.orc.impl.TreeReaderFactory.CharTreeReader``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Array, Atomic, DataType, Map, Multiset, Root, Row

__all__ = ["has_chars", "trimmed"]


def has_chars(type_: DataType) -> bool:
    """Whether a value of ``type_`` is or holds a CHAR."""
    match type_:
        case Atomic(root):
            return root is Root.CHAR
        case Array(element) | Multiset(element):
            return has_chars(element)
        case Map(key, value):
            return has_chars(key) or has_chars(value)
        case Row(fields):
            return any(has_chars(field.type) for field in fields)
        case _:
            return False


def trimmed(array: Any, type_: DataType) -> Any:
    """``array``, a column of ``type_`` as Arrow decodes it, without blanks at the end of CHARs.

    Shape: any array that begins at its buffers' beginning; the same type.
    """
    if not has_chars(type_):
        return array
    match type_:
        case Array(element):
            values = trimmed(array.values, element)
            return pa.ListArray.from_arrays(array.offsets, values, array.type, mask=array.is_null())
        case Map(key, value):
            return _map(array, trimmed(array.keys, key), trimmed(array.items, value))
        case Multiset(element):
            return _map(array, trimmed(array.keys, element), array.items)
        case Row(fields):
            by_name = {field.name: field.type for field in fields}
            parts = [
                trimmed(array.field(i), by_name[member.name])
                if member.name in by_name
                else array.field(i)
                for i, member in enumerate(array.type)
            ]
            return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=array.is_null())
        case _:
            return pc.utf8_rtrim(array, characters=" ")


def _map(array: Any, keys: Any, items: Any) -> Any:
    return pa.MapArray.from_arrays(array.offsets, keys, items, array.type, mask=array.is_null())
