"""The kinds of sources of change events, by the names that job specs and declarations give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.source.files.source import FilesSource
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.source import PostgresSource

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SOURCE_KINDS"]

SOURCE_KINDS: Final[Mapping[str, type[Any]]] = {
    "files": FilesSource,
    "kafka": KafkaSource,
    "mysql": MySqlSource,
    "postgres": PostgresSource,
}
