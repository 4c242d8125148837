"""Looks at a source before it is read: rights, settings, tables; each with effect and remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.cdc.model.finding import Finding, Level
from table_core.cdc.model.routing import TableFilter
from table_core.cdc.model.table_pattern import TablePattern
from table_core.cdc.source.kafka.source import KafkaSource
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.source import PostgresSource
from table_core.errors import ArgumentError
from table_core.storage.system import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.sync.readers import Source

__all__ = ["source_doctor"]


def source_doctor(source: Source, including: str = ".*", excluding: str = "") -> list[Finding]:
    """Look for what would stop or slow a sync of a database or of topics. Nothing is changed.

    Args:
        source: a ``MySqlSource``, ``PostgresSource`` or ``KafkaSource``.
        including: regular expression for the source tables that are meant, as for ``sync_database``.
        excluding: likewise for those left out.

    Returns: The findings, errors first.

    Raises:
        ArgumentError: the source is none of these, or refuses the user.
        StorageUnavailableError: it cannot be reached.
    """
    if isinstance(source, MySqlSource):
        from table_core.cdc.source.mysql.doctor import findings as of_mysql

        wants = _wanted(source.databases, source.tables or including, excluding)
        mysql = source.connect()
        try:
            checked = list(of_mysql(mysql, source.user, wants))
        finally:
            mysql.close()
    elif isinstance(source, PostgresSource):
        from table_core.cdc.source.postgres.doctor import findings as of_postgres

        wants = _wanted(source.schemas, source.tables or including, excluding)
        postgres = source.connect()
        try:
            checked = list(of_postgres(postgres, source, wants))
        finally:
            postgres.close()
    elif isinstance(source, KafkaSource):
        from table_core.cdc.source.kafka.doctor import findings as of_topics
        from table_core.cdc.sync.readers import record_form

        wants = _wanted(".*", source.tables or including, excluding)
        checked = list(of_topics(source, record_form(source, SystemClock()), wants))
    else:
        raise ArgumentError(
            "only databases and topics can be looked at",
            argument="source",
            value=type(source).__name__,
        )
    return sorted(checked, key=lambda one: list(Level).index(one.level))


def _wanted(databases: str, including: str, excluding: str) -> Callable[[SourceTable], bool]:
    meant, chosen = TablePattern("databases", databases), TableFilter(including, excluding)

    def wants(table: SourceTable) -> bool:
        if not meant.matches(table.database):
            return False
        is_taken = chosen.takes(table)
        if not is_taken:
            chosen.refuse_unclear(table)
        return is_taken

    return wants
