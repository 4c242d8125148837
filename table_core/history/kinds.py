"""The documents that are kept of a table, and the columns of the table that keeps them.

A document has a kind, the URI of the table that it is about, and a part: of what is long, such as the
snapshots, there are several.  The table is partitioned by kind, so that who wants the lines of all tables
reads nothing else.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final
from urllib.parse import quote

__all__ = ["COLUMNS", "KEY", "OPTIONS", "PARTITION_BY", "VERSION", "Kind", "table_uri", "uris_of"]

VERSION: Final = 1
"""Member ``version`` of each document."""


class Kind(StrEnum):
    """What a document tells of its table."""

    STATE = "state"
    """How far the collector has come."""
    LINE = "line"
    """What a list of tables shows."""
    DETAIL = "detail"
    """Columns, keys, options."""
    OPEN = "open"
    """The newest snapshots: the chunk that is not full yet."""
    SNAPSHOTS = "snapshots"
    """A full chunk of snapshots; its part is the id of the first."""
    LEVELS = "levels"
    PARTITIONS = "partitions"
    SCHEMAS = "schemas"
    REFS = "refs"
    """Tags, branches and consumers."""


COLUMNS: Final = {
    "kind": "STRING NOT NULL",
    "uri": "STRING NOT NULL",
    "part": "STRING NOT NULL",
    "collected_at": "TIMESTAMP_LTZ(3)",
    "document": "STRING",
}
KEY: Final = ("kind", "uri", "part")
PARTITION_BY: Final = ("kind",)
OPTIONS: Final = {
    "bucket": "1",
    "snapshot.num-retained.min": "20",
    "snapshot.num-retained.max": "2000",
    "snapshot.time-retained": "6 h",
}
"""Readers of the changes find them for six hours; then they read the whole table once."""


def table_uri(catalog: str, table: str) -> str:
    """The URI of ``database.table``, spelled as its asset in Airflow is: lower case, percent codes in capitals."""
    database, _, name = table.partition(".")
    return f"{uris_of(catalog, database)}{_quoted(name)}"


def uris_of(catalog: str, database: str) -> str:
    """What the URIs of all tables of a database begin with."""
    return f"paimon://{_quoted(catalog)}/{_quoted(database)}/"


def _quoted(part: str) -> str:
    return quote(part.lower(), safe="-_.~$", errors="surrogateescape")
