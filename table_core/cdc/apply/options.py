"""What a user may say to a sync beside its main arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.cdc.model.parallel_batches import RecordsBy

__all__ = ["DatabaseSyncOptions", "SyncOptions"]


class SyncOptions(TypedDict, total=False):
    """Keywords of ``sync_table``, and of ``sync_database`` for each of its tables."""

    options: Mapping[str, str] | None
    """Of tables to be created."""
    metadata_columns: Sequence[str]
    """Columns that say where a row is from: of ``database_name, schema_name, table_name, op_ts``."""
    on_truncate: str
    """What to do when the source table is emptied: ``apply`` (default), ``ignore`` or ``fail``."""
    on_drop: str
    """What to do when the source table is dropped: ``ignore`` (default), ``apply`` or ``fail``."""
    on_rewrite: str
    """If the source table changes in a way that its log does not tell: ``resync`` or ``fail``."""
    resync_rows: int
    """Source tables with more rows are not read again unasked (default 100 000 000)."""
    dead_letter: str | None
    """A table for events that cannot be applied; without it the first of them is an error."""
    fill_defaults: bool
    """Whether rows get the default of a column that the source adds (default: yes)."""
    commit_rows: int
    """Commit a table once so many rows wait (default 1 000 000): what a killed run does again."""
    max_columns: int
    """An event that would give a table more columns cannot be applied (default 4096)."""
    progress: Callable[..., None] | None
    """Told ``(stage, **facts)`` while it runs: ``snapshot``, ``events``, ``committed``."""
    map_pieces: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]] | None
    """Has pieces of first snapshots read by others: ``table_core.spark.sync`` gives Spark's tasks."""
    records_by: RecordsBy | None
    """Has records of topics read and decoded by others, where they are many: likewise."""
    interval: str
    """With ``until="forever"``: commit at most so often (default ``"1 s"``); without news nothing is committed."""
    max_duration: str | None
    """End after so long, e.g. ``"10 min"``."""
    max_rows: int | None
    """End after about this many events."""
    stops: Callable[[], bool] | None
    """Asked again and again: whether to end now, behind a commit of what was read."""


class DatabaseSyncOptions(SyncOptions, total=False):
    """Keywords of ``sync_database``."""

    table_suffix: str
    """A suffix for the name of each table."""
    table_mapping: Mapping[str, str] | None
    """Names of single tables: ``{"table" or "database.table": "name"}``."""
    primary_key: Sequence[str] | Mapping[str, Sequence[str]]
    """Of tables to be created, instead of that of the source; also by table name."""
    partition_by: Sequence[str] | Mapping[str, Sequence[str]]
    """Likewise; columns that a table does not have make no partition there."""
    computed_columns: Sequence[str] | Mapping[str, Sequence[str]]
    """See ``sync_table``; also by table name."""
    type_mapping: Sequence[str]
    """See ``sync_table``."""
    mode: str
    """``combined`` reads the source once; ``divided`` once for each table, one after the other."""
    eager_init: bool
    """Make every table before the first row arrives, where the source can list them."""
    ignore_incompatible: bool
    """Leave tables out whose key is not that of their source, instead of failing."""
