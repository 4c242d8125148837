"""Reads tables of a server again that a sync feeds, because somebody asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.apply.target import CLAIMS_PROPERTY
from table_core.cdc.model.claims import Claim, Claims
from table_core.cdc.model.position import POSITION_PROPERTY
from table_core.cdc.mysql.source import MySqlSource
from table_core.cdc.postgres.source import PostgresSource
from table_core.cdc.sync.sync import sync_database, sync_table
from table_core.errors import ArgumentError
from table_core.position.source import MySqlId, PostgresId
from table_core.table.metadata.describing import summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.sync.readers import Source
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["resync"]

_IDS: Final = {MySqlSource: MySqlId, PostgresSource: PostgresId}


def resync(
    catalog: Catalog,
    tables: Sequence[str],
    source: Source,
    *,
    commit: CommitAs | None = None,
    **more: Any,
) -> ResultDocument:
    """Read source tables again and let their rows take the place of what is in ``tables``.

    The syncs that feed the tables are run, with the choice of tables that they were begun with: other
    tables of them come up to date too.  Each table is replaced in one commit.  A call that is killed
    leaves the rest to the next sync.

    Args:
        catalog: where the tables are.
        tables: as ``database.table``.
        source: the server that feeds them.
        commit: who commits.
        more: keywords of the syncs, e.g. ``metadata_columns``; see ``SyncOptions``.

    Returns: The result document of all tables; ``details["tables"]`` has each table.

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
    for name in dict.fromkeys(tables):
        catalog.table(name).positions.reset(CLAIMS_PROPERTY)
    parts = [
        _sync(catalog, names[0], route, source, commit, more)
        for (_, route), names in routes.items()
    ]
    by_table: dict[str, object] = {}
    for part in parts:
        of_part = part.details.get("tables", {part.table: part.details})
        assert isinstance(of_part, dict)
        by_table |= of_part
    details: dict[str, object] = {"tables": by_table}
    seconds = sum(part.seconds for part in parts)
    return summed("resync", ", ".join(tables), parts, details, seconds=seconds)


def _routes(catalog: Catalog, name: str, source: Source) -> list[str]:
    """The choices of tables of the syncs by which ``source`` feeds a table."""
    table = catalog.table(name)

    def old(_: str) -> Claim:
        raise ArgumentError(
            f"{name} was last synced by an earlier release: sync it once, and then again",
            argument="tables",
            value=name,
        )

    claims = Claims.parse(table.position(CLAIMS_PROPERTY), table.position(POSITION_PROPERTY), old)
    routes = [c.route for c in claims.held if isinstance(c.source, _IDS[type(source)])]
    if not routes:
        raise ArgumentError(
            f"no sync from a {type(source).__name__} feeds {name}: see table-core position list",
            argument="tables",
            value=name,
        )
    return routes


def _sync(
    catalog: Catalog,
    name: str,
    route: str,
    source: Source,
    commit: CommitAs | None,
    more: dict[str, Any],
) -> ResultDocument:
    """The sync of a choice of tables, as ``cdc.model.routing`` wrote it."""
    document = json.loads(route)
    if isinstance(document, dict):
        assert isinstance(source, MySqlSource | PostgresSource)
        chosen = replace(source, tables=document["tables"])
        return sync_table(catalog, name, chosen, commit=commit, **more)
    including, excluding, (prefix, suffix, merge_shards, *mapping) = document
    return sync_database(
        catalog,
        name.partition(".")[0],
        source,
        including=including,
        excluding=excluding,
        table_prefix=prefix,
        table_suffix=suffix,
        merge_shards=merge_shards,
        table_mapping=dict(mapping),
        commit=commit,
        **more,
    )
