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
    from table_core.cdc.source.files.source import FilesSource
    from table_core.cdc.source.kafka.source import KafkaSource
    from table_core.cdc.source.mysql.source import MySqlSource
    from table_core.cdc.source.postgres.source import PostgresSource
    from table_core.cdc.sync.audit import source_audit
    from table_core.cdc.sync.doctor import source_doctor
    from table_core.cdc.sync.replay import replay
    from table_core.cdc.sync.resync import resync
    from table_core.cdc.sync.sync import sync_database, sync_table
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
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.lookup_join import lookup_join
    from table_core.table.api.opening import open_catalog, open_table
    from table_core.table.api.table import Table
    from table_core.table.dml.merge_into import (
        MatchedDelete,
        MatchedUpsert,
        NotMatchedBySourceDelete,
        NotMatchedBySourceUpsert,
        NotMatchedInsert,
    )
    from table_core.table.metadata.results import Commit, CommitAs, ResultDocument
    from table_core.table.read.scan import Scan

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
    "replay",
    "resync",
    "source_audit",
    "source_doctor",
    "sync_database",
    "sync_table",
]

_HOMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("col", "lit"), "predicate.expression"),
    "Catalog": "table.api.catalog",
    **dict.fromkeys(("open_catalog", "open_table"), "table.api.opening"),
    **dict.fromkeys(("Commit", "CommitAs", "ResultDocument"), "table.metadata.results"),
    "Scan": "table.read.scan",
    "Table": "table.api.table",
    "lookup_join": "table.api.lookup_join",
    "KafkaSource": "cdc.source.kafka.source",
    "MySqlSource": "cdc.source.mysql.source",
    "PostgresSource": "cdc.source.postgres.source",
    "FilesSource": "cdc.source.files.source",
    "replay": "cdc.sync.replay",
    "resync": "cdc.sync.resync",
    "source_audit": "cdc.sync.audit",
    "source_doctor": "cdc.sync.doctor",
    "sync_database": "cdc.sync.sync",
    "sync_table": "cdc.sync.sync",
    **dict.fromkeys(
        (
            "MatchedDelete",
            "MatchedUpsert",
            "NotMatchedBySourceDelete",
            "NotMatchedBySourceUpsert",
            "NotMatchedInsert",
        ),
        "table.dml.merge_into",
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
