"""A Paimon table as the metastore shows it, and what a table of the metastore is.

The schema files of the table are what holds; the metastore has a copy for Hive, Trino and their like, and the place
of the files.  Source: ``org.apache.paimon.hive.HiveCatalog``, ``HiveTableUtils`` of 2.0.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from table_core.hive.objects import EXTERNAL, MANAGED, VIEWS, HiveColumn, HiveTable
from table_core.hive.types import hive_type
from table_core.options import keys_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.schema.table_schema import TableSchema

__all__ = ["is_external", "is_paimon", "registered", "shown", "unknown_parameters", "what_it_is"]

_INPUT_FORMAT: Final = "org.apache.paimon.hive.mapred.PaimonInputFormat"
_OUTPUT_FORMAT: Final = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
_SERDE: Final = "org.apache.paimon.hive.PaimonSerDe"
_STORAGE_HANDLER: Final = "org.apache.paimon.hive.PaimonStorageHandler"
_COMMENT: Final = "comment"
_COMMENT_MAX: Final = 255
"""Characters of the comment of a column; the metastore's column for it has 256."""
_CUT: Final = "..."
_KEYS: Final = (
    keys_identity.PRIMARY_KEY.key,
    keys_identity.PARTITION.key,
    keys_identity.BUCKET_KEY.key,
)
_FIXED: Final = {"table_type": "PAIMON", "storage_handler": _STORAGE_HANDLER}
_PARTITIONED: Final = "metastore.partitioned-table"
_TAG_COLUMN: Final = "metastore.tag-to-partition"


def registered(
    schema: TableSchema,
    *,
    database: str,
    name: str,
    location: str,
    owner: str,
    now_s: int,
    external: bool = False,
) -> HiveTable:
    """The table of that ``schema`` as Paimon's HiveCatalog registers it; ``now_s``: seconds since 1970."""
    table = HiveTable(
        database=database,
        name=name,
        location=location,
        input_format=_INPUT_FORMAT,
        output_format=_OUTPUT_FORMAT,
        serde=_SERDE,
        parameters=_FIXED | ({"EXTERNAL": "TRUE"} if external else {}),
        table_type=EXTERNAL if external else MANAGED,
        owner=owner,
        created_s=now_s,
    )
    return shown(table, schema)


def shown(table: HiveTable, schema: TableSchema, removed: Iterable[str] = ()) -> HiveTable:
    """``table`` with the columns, options and comment of ``schema``, and without the options ``removed``."""
    parameters = {**table.parameters, **schema.raw_options, **_keys(schema)}
    for key in removed:
        parameters.pop(key, None)
    if schema.comment is not None:
        parameters[_COMMENT] = schema.comment
    fields, keys = schema.fields, tuple[HiveColumn, ...]()
    if schema.partition_keys and schema.raw_options.get(_PARTITIONED, "").lower() == "true":
        keys = tuple(_partition_key(schema.field(name)) for name in schema.partition_keys)
        fields = tuple(f for f in fields if f.name not in schema.partition_keys)
    elif (column := schema.raw_options.get(_TAG_COLUMN)) is not None:
        keys = (HiveColumn(column, "string"),)
    return replace(
        table,
        columns=tuple(map(_column, fields)),
        partition_keys=keys or table.partition_keys,
        parameters=parameters,
    )


def unknown_parameters(table: HiveTable, schema: TableSchema) -> frozenset[str]:
    """Names of parameters that ``schema`` does not give: the metastore's own, and options that were removed."""
    return (
        frozenset(table.parameters) - schema.raw_options.keys() - _FIXED.keys() - {*_KEYS, _COMMENT}
    )


def is_paimon(table: HiveTable) -> bool:
    """Whether it is a table of Paimon's."""
    return (table.input_format, table.output_format) == (_INPUT_FORMAT, _OUTPUT_FORMAT)


def is_external(table: HiveTable) -> bool:
    """Whether its files stay when it is dropped."""
    return table.table_type == EXTERNAL


def what_it_is(table: HiveTable) -> str:
    """In words: ``a Parquet table of Hive``, ``a view``; ``a table of Paimon``."""
    if is_paimon(table):
        return "a table of Paimon"
    if table.table_type in VIEWS:
        return "a view"
    serde = table.serde.lower()
    for word in ("iceberg", "hudi", "delta", "parquet", "orc", "avro", "json"):
        if word in serde or word in table.parameters.get("table_type", "").lower():
            return f"a table of {word.title() if word in _PROPER else word.upper()} files"
    if "Text" in table.input_format:
        return "a table of text files"
    return f"a table of {table.serde or 'an unknown format'}"


_PROPER: Final = frozenset({"parquet", "iceberg", "hudi", "delta", "avro"})


def _keys(schema: TableSchema) -> Mapping[str, str]:
    values = (schema.primary_keys, schema.partition_keys, schema.bucket_keys)
    return {key: ",".join(names) for key, names in zip(_KEYS, values, strict=True) if names}


def _column(field: Field) -> HiveColumn:
    comment = field.description
    if comment is not None:
        comment = comment.replace("\n", " ").replace("\r", " ")
        if len(comment) > _COMMENT_MAX:
            comment = comment[: _COMMENT_MAX - len(_CUT)] + _CUT
    return HiveColumn(field.name, hive_type(field.type), comment)


def _partition_key(field: Field) -> HiveColumn:
    return HiveColumn(field.name, hive_type(field.type), field.description)
