"""Paimon tables in Python on Arrow: the public names.

Names are loaded when they are first used, so importing this package costs next to nothing: no
pyarrow, no pyspark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from table_core import errors
    from table_core.predicate.expression import col, lit
    from table_core.schema.change import (
        AddColumn,
        DropColumn,
        DropPrimaryKey,
        RemoveOption,
        RenameColumn,
        SetOption,
        UpdateColumnComment,
        UpdateColumnDefault,
        UpdateColumnNullability,
        UpdateColumnPosition,
        UpdateColumnType,
        UpdateComment,
    )
    from table_core.sources.files import FilesSource
    from table_core.sources.kafka import KafkaSource
    from table_core.sources.mysql import MySqlSource
    from table_core.sources.postgres import PostgresSource
    from table_core.table.catalog import Catalog
    from table_core.table.cdc.sync import sync_database, sync_table
    from table_core.table.changing.merge_into import (
        MatchedDelete,
        MatchedUpsert,
        NotMatchedBySourceDelete,
        NotMatchedBySourceUpsert,
        NotMatchedInsert,
    )
    from table_core.table.opening import open_catalog, open_table
    from table_core.table.reading.lookup_join import lookup_join
    from table_core.table.reading.scan import Scan
    from table_core.table.results import Commit, CommitAs, ResultDocument
    from table_core.table.table import Table

__all__ = [
    "AddColumn",
    "Catalog",
    "Commit",
    "CommitAs",
    "DropColumn",
    "DropPrimaryKey",
    "FilesSource",
    "KafkaSource",
    "MatchedDelete",
    "MatchedUpsert",
    "MySqlSource",
    "NotMatchedBySourceDelete",
    "NotMatchedBySourceUpsert",
    "NotMatchedInsert",
    "PostgresSource",
    "RemoveOption",
    "RenameColumn",
    "ResultDocument",
    "Scan",
    "SetOption",
    "Table",
    "UpdateColumnComment",
    "UpdateColumnDefault",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "col",
    "errors",
    "lit",
    "lookup_join",
    "open_catalog",
    "open_table",
    "sync_database",
    "sync_table",
]

_HOMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("col", "lit"), "predicate.expression"),
    "Catalog": "table.catalog",
    **dict.fromkeys(("open_catalog", "open_table"), "table.opening"),
    **dict.fromkeys(("Commit", "CommitAs", "ResultDocument"), "table.results"),
    "Scan": "table.reading.scan",
    "Table": "table.table",
    "lookup_join": "table.reading.lookup_join",
    "KafkaSource": "sources.kafka",
    "MySqlSource": "sources.mysql",
    "PostgresSource": "sources.postgres",
    "FilesSource": "sources.files",
    "sync_database": "table.cdc.sync",
    "sync_table": "table.cdc.sync",
    **dict.fromkeys(
        (
            "MatchedDelete",
            "MatchedUpsert",
            "NotMatchedBySourceDelete",
            "NotMatchedBySourceUpsert",
            "NotMatchedInsert",
        ),
        "table.changing.merge_into",
    ),
    **dict.fromkeys(
        (
            "AddColumn",
            "DropColumn",
            "DropPrimaryKey",
            "RemoveOption",
            "RenameColumn",
            "SetOption",
            "UpdateColumnComment",
            "UpdateColumnDefault",
            "UpdateColumnNullability",
            "UpdateColumnPosition",
            "UpdateColumnType",
            "UpdateComment",
        ),
        "schema.change",
    ),
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("table_core.errors")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"table_core.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
