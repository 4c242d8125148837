"""The syncs by which a server feeds tables, with the choice of tables that each was begun with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.apply.target import CLAIMS_PROPERTY
from table_core.cdc.model.claims import Claims
from table_core.cdc.source.mysql.source import MySqlSource
from table_core.cdc.source.postgres.source import PostgresSource
from table_core.cdc.sync.sync import database_context, sync_database, sync_table, table_context
from table_core.errors import ArgumentError
from table_core.position.source import MySqlId, PostgresId

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.apply.context import SyncContext
    from table_core.cdc.sync.readers import Source
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["FeedingSync", "feeding_syncs"]

_IDS: Final = {MySqlSource: MySqlId, PostgresSource: PostgresId}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedingSync:
    """One sync, and those of the tables in question that it feeds."""

    catalog: Catalog
    source: Source
    names: tuple[str, ...]
    """As ``database.table``."""
    route: str
    """The choice of tables, as ``cdc.model.routing`` writes it."""
    commit: CommitAs | None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of the sync."""

    @property
    def table(self) -> str | None:
        """The table, of a sync of one."""
        return self.names[0] if self.route.startswith("{") else None

    @property
    def database(self) -> str:
        """Where its tables are."""
        return self.names[0].partition(".")[0]

    @property
    def chosen(self) -> Source:
        """The source with the choice of its tables."""
        if self.table is None:
            return self.source
        assert isinstance(self.source, MySqlSource | PostgresSource)
        return replace(self.source, tables=json.loads(self.route)["tables"])

    def run(self) -> ResultDocument:
        """Sync."""
        keywords = {**self._choice, "commit": self.commit, **self.more}
        if self.table is not None:
            return sync_table(self.catalog, self.table, self.chosen, **keywords)
        return sync_database(self.catalog, self.database, self.source, **keywords)

    def context(self, commit: CommitAs) -> SyncContext:
        """What a run of it is told."""
        keywords = {**self._choice, "commit": commit, **self.more}
        if self.table is not None:
            return table_context(self.catalog, self.table, self.chosen, **keywords)
        return database_context(self.catalog, self.database, self.source, **keywords)

    @property
    def _choice(self) -> dict[str, Any]:
        if self.table is not None:
            return {}
        including, excluding, (prefix, suffix, merge_shards, *mapping) = json.loads(self.route)
        return {
            "including": including,
            "excluding": excluding,
            "table_prefix": prefix,
            "table_suffix": suffix,
            "merge_shards": merge_shards,
            "table_mapping": dict(mapping),
        }


def feeding_syncs(
    catalog: Catalog,
    tables: Sequence[str],
    source: Source,
    commit: CommitAs | None,
    more: Mapping[str, Any],
) -> list[FeedingSync]:
    """The syncs by which ``source`` feeds ``tables``.

    Raises:
        ArgumentError: the source is no database, or has not fed one of the tables.
    """
    if type(source) not in _IDS:
        raise ArgumentError(
            "only the tables of a database can be read again: set the position of topics and files "
            "with table-core position set",
            argument="source",
            value=type(source).__name__,
        )
    routes: dict[tuple[str, str], list[str]] = {}
    for name in dict.fromkeys(tables):
        for route in _routes(catalog, name, source):
            routes.setdefault((name if route.startswith("{") else "", route), []).append(name)
    return [
        FeedingSync(
            catalog=catalog,
            source=source,
            names=tuple(names),
            route=route,
            commit=commit,
            more=more,
        )
        for (_, route), names in routes.items()
    ]


def _routes(catalog: Catalog, name: str, source: Source) -> list[str]:
    """The choices of tables of the syncs by which ``source`` feeds a table."""
    claims = Claims.parse(catalog.table(name).position(CLAIMS_PROPERTY))
    routes = [c.route for c in claims.held if isinstance(c.source, _IDS[type(source)])]
    if not routes:
        raise ArgumentError(
            f"no sync from a {type(source).__name__} feeds {name}: see table-core position list",
            argument="tables",
            value=name,
        )
    return routes
