"""The document of a new schema, once it is certain that files can be written under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.ondisk.index_builder import IndexBuilder
from table_core.schema.document import schema_to_json

if TYPE_CHECKING:
    from table_core.schema.table_schema import TableSchema

__all__ = ["new_schema"]


def new_schema(schema: TableSchema) -> bytes:
    """The bytes to store of ``schema``, which ``evolve`` found sound.

    Raises:
        OptionError: a file index of a column that does not exist.
        UnsupportedFeatureError: a file index that this release does not write.
    """
    IndexBuilder.of(schema.options.raw, schema.fields)
    return schema_to_json(schema)
