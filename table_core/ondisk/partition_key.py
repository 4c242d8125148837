"""One spelling for one partition, whatever the table's folders are called.

A *value* is the text that SQL's cast to STRING gives, None for NULL: a DATE is ``2026-01-01`` also where
folders are named by its number.  A *key* is ``dt=2026-01-01/hh=5``: the columns in the table's order, names
and values escaped as in Paimon's folder names.  NULL is ``partition.default-name``, not escaped; a text that
equals that name has its first character escaped, and a blank text stays blank, so no two partitions share a
key, as they may share a folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from table_core.ondisk.binary_row import decode_row
from table_core.ondisk.layout import escape
from table_core.ondisk.partition_text import value_text
from table_core.options import keys_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core.schema.table_schema import TableSchema

__all__ = ["DEFAULT_NAME", "key_of_values", "partition_key", "partition_values", "values_of_key"]

DEFAULT_NAME: Final = keys_files.PARTITION_DEFAULT_NAME.default
_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")


def partition_values(schema: TableSchema, partition: bytes) -> dict[str, str | None]:
    """Partition column to its text, None for NULL.

    Raises:
        CorruptFileError: ``partition`` is no row of the partition columns.
    """
    fields = schema.partition_fields
    values = decode_row([f.type for f in fields], partition, path="_PARTITION")
    return {
        field.name: None if value is None else value_text(field.type, value, legacy=False)
        for field, value in zip(fields, values, strict=True)
    }


def partition_key(schema: TableSchema, partition: bytes) -> str:
    """The key of a serialized partition; '' for an unpartitioned table."""
    default = schema.options.get(keys_files.PARTITION_DEFAULT_NAME)
    return key_of_values(partition_values(schema, partition), default)


def key_of_values(values: Mapping[str, str | None], default: str = DEFAULT_NAME) -> str:
    """The key of ``values``, which are in the table's order."""
    return "/".join(f"{escape(name)}={_escaped(text, default)}" for name, text in values.items())


def values_of_key(key: str, default: str = DEFAULT_NAME) -> dict[str, str | None]:
    """The values that ``key`` was made of."""
    pairs = (part.partition("=") for part in key.split("/") if part)
    return {
        _unescaped(name): None if text == default else _unescaped(text) for name, _, text in pairs
    }


def _escaped(text: str | None, default: str) -> str:
    if text is None:
        return default
    if text == default:
        return f"%{ord(text[0]):02X}{escape(text[1:])}"
    return escape(text)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
