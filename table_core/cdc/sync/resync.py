"""Reads tables of a server again that a sync feeds, because somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from table_core.cdc.apply.target import CLAIMS_PROPERTY
from table_core.cdc.sync.fed_by import feeding_syncs
from table_core.table.metadata.describing import summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from table_core.cdc.sync.readers import Source
    from table_core.table.api.catalog import Catalog
    from table_core.table.metadata.results import CommitAs, ResultDocument

__all__ = ["resync"]


def resync(
    catalog: Catalog,
    tables: Sequence[str],
    source: Source,
    *,
    commit: CommitAs | None = None,
    **more: Any,
) -> ResultDocument:
    """Read source tables again, and replace the rows of ``tables`` with theirs.

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
    syncs = feeding_syncs(catalog, tables, source, commit, more)
    for name in dict.fromkeys(tables):
        catalog.table(name).positions.reset(CLAIMS_PROPERTY)
    parts = [sync.run() for sync in syncs]
    by_table: dict[str, object] = {}
    for part in parts:
        of_part = part.details.get("tables", {part.table: part.details})
        assert isinstance(of_part, dict)
        by_table |= of_part
    details: dict[str, object] = {"tables": by_table}
    seconds = sum(part.seconds for part in parts)
    return summed("resync", ", ".join(tables), parts, details, seconds=seconds)
