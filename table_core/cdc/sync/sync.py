"""Change events into tables: schema changes, rows and the source position, exactly once.

A bounded run is one commit a table.  It becomes several where the table changes on the way (a new
column, a default that rows get), because rows before and after cannot share a writer, and where
very many rows wait.  The last one says that the run is complete; a retry finds the commits that
landed, returns their result if they were all, and goes on behind them if they were not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

from table_core.cdc.apply.context import Limits, SyncContext
from table_core.cdc.apply.dead_letters import DeadLetters
from table_core.cdc.apply.progress import SyncProgress, quiet
from table_core.cdc.apply.settings import NewTable, apply_settings, length_ms, one_of
from table_core.cdc.apply.tables import SyncTables
from table_core.cdc.model.computed import computed_columns
from table_core.cdc.model.routing import DatabaseRoute, TableFilter, database_route, table_route
from table_core.cdc.sync.ended_run import ended_run
from table_core.cdc.sync.readers import open_reader, plain_of, source_from_spec
from table_core.errors import ArgumentError
from table_core.table.metadata.describing import committed, summed
from table_core.table.metadata.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.apply.options import DatabaseSyncOptions, SyncOptions
    from table_core.cdc.apply.settings import ApplySettings
    from table_core.cdc.apply.target import SyncTarget
    from table_core.cdc.model.record import SourceTable
    from table_core.cdc.sync.readers import Source
    from table_core.ondisk.snapshot import Snapshot
    from table_core.table.api.catalog import Catalog

__all__ = [
    "database_context",
    "database_result",
    "sync_database",
    "sync_from_spec",
    "sync_table",
    "table_context",
    "table_result",
]

_UNTIL: Final = ("now", "forever")
_MODES: Final = ("combined", "divided")
_INTERVAL: Final = "1 s"


def sync_table(  # noqa: PLR0913 - the public signature
    catalog: Catalog,
    name: str,
    source: Source,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    computed_columns: Sequence[str] = (),
    type_mapping: Sequence[str] = (),
    until: str = "now",
    commit: CommitAs | None = None,
    **more: Unpack[SyncOptions],
) -> ResultDocument:
    """Apply the events of ``source`` that the table ``name`` has not seen yet.

    A missing table is created from the first events, with ``primary_key``, ``partition_by`` and
    ``options``. Columns that the table lacks are added, and columns that the source widens are
    widened.

    Args:
        catalog: where the table is.
        name: ``database.table``.
        source: the events.
        primary_key: key of a new table; default: that of the source. For an existing table it must
            be the same.
        partition_by: likewise.
        computed_columns: e.g. ``"dt=date_format(created_at, yyyy-MM-dd)"``.
        type_mapping: e.g. ``"tinyint1-not-bool"``.
        until: ``now``: what exists when the call starts; ``forever``: until it is stopped.
        commit: who commits.
        more: see ``SyncOptions``.

    Returns:
        The result document; ``details`` has the ``position`` reached and counts of what was done.

    Raises:
        EventError: an event cannot be read; the error says where. Nothing of its batch is visible.
        DataError: a value does not fit its column; the error names column, value and place.
        CommitConflictError: another run has read from the same position.
    """
    context = table_context(
        catalog,
        name,
        source,
        primary_key,
        partition_by,
        computed_columns,
        type_mapping,
        until,
        commit,
        **more,
    )
    return table_result(context, source, name, until)


def table_context(  # noqa: PLR0913 - as sync_table
    catalog: Catalog,
    name: str,
    source: Source,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    computed_columns: Sequence[str] = (),
    type_mapping: Sequence[str] = (),
    until: str = "now",
    commit: CommitAs | None = None,
    **more: Unpack[SyncOptions],
) -> SyncContext:
    """What a run of ``sync_table`` is told."""
    tables = getattr(source, "tables", None)
    chosen = TableFilter(tables) if tables is not None else None
    new = NewTable(
        primary_key=tuple(primary_key) or None,
        partition_by=tuple(partition_by),
        options=dict(more.get("options") or {}),
    )
    context = _context(
        catalog,
        source,
        commit,
        until,
        more,
        route=lambda table: name if chosen is None or chosen.takes(table) else None,
        settings=apply_settings(computed=computed_columns, type_mapping=type_mapping, more=more),
        new_table=lambda _: new,
    )
    one_source = name if chosen is None else None
    return replace(context, route_text=table_route(tables), one_source=one_source)


def table_result(context: SyncContext, source: Source, name: str, until: str) -> ResultDocument:
    """One run for one table."""
    started_ms = context.clock.now_ms()
    tables = SyncTables(context)
    feed = tables.open(name)
    target = feed.target
    before = target.state.table.latest_snapshot() if target.state.table else None
    elsewhere, of_reader = 0, dict[str, object]()
    if not target.state.finished:
        run = ended_run(context, tables, [name], source, until)
        feed, target = run.tables.feeds[name], run.tables.feeds[name].target
        elsewhere, of_reader = run.events_elsewhere, dict(run.checkpoint.reader.details)
    details = {**_details(target), **feed.state.counts, **_of_run(context, elsewhere), **of_reader}
    return _result(target, name, before, details, started_ms, context.clock.now_ms())


def _result(
    target: SyncTarget,
    name: str,
    before: Snapshot | None,
    details: dict[str, object],
    started_ms: int,
    now_ms: int,
) -> ResultDocument:
    """What was committed to the table of ``target``; it had ``before``, if nothing was."""
    if target.state.table is None:  # no event has told what its columns are
        seconds = (now_ms - started_ms) / 1000
        return ResultDocument(action="sync-table", table=name, seconds=seconds, details=details)
    access, done = target.state.table.access, target.state.done
    return committed(access, "sync-table", done, before, details, started_ms=started_ms)


def sync_database(  # noqa: PLR0913 - the public signature
    catalog: Catalog,
    database: str,
    source: Source,
    including: str = ".*",
    excluding: str = "",
    table_prefix: str = "",
    merge_shards: bool = True,
    until: str = "now",
    commit: CommitAs | None = None,
    **more: Unpack[DatabaseSyncOptions],
) -> ResultDocument:
    """Apply the events of every table of ``source`` to the tables of ``database``.

    Missing tables are created from their first events, also those that appear later. Each keeps its
    own position, so a killed run loses and repeats nothing.

    Args:
        catalog: where the tables are.
        database: where the tables go; created if it does not exist.
        source: the events.
        including: regular expression for source tables, matched whole against ``table`` and
            ``database.table``.
        excluding: likewise for those left out.
        table_prefix: a prefix for the name of each table.
        merge_shards: tables with the same name in several source databases go into one table;
            otherwise the table's name starts with the database.
        until: see ``sync_table``.
        commit: who commits, in each table.
        more: see ``DatabaseSyncOptions``.

    Returns: The result document of all tables; ``details["tables"]`` has each table.

    Raises:
        EventError: an event cannot be read.
        DataError: a value does not fit its column.
        CommitConflictError: another run has read from the same position.
    """
    mode = more.get("mode", "combined")
    one_of("mode", mode, _MODES)
    context = database_context(
        catalog,
        database,
        source,
        including,
        excluding,
        table_prefix,
        merge_shards,
        until,
        commit,
        **more,
    )
    catalog.create_database(database, if_not_exists=True)
    if mode == "divided":
        return _divided(context, source, database, until)
    return database_result(context, source, database, until)


def database_context(  # noqa: PLR0913 - as sync_database
    catalog: Catalog,
    database: str,
    source: Source,
    including: str = ".*",
    excluding: str = "",
    table_prefix: str = "",
    merge_shards: bool = True,
    until: str = "now",
    commit: CommitAs | None = None,
    **more: Unpack[DatabaseSyncOptions],
) -> SyncContext:
    """What a run of ``sync_database`` is told."""
    suffix, mapping = more.get("table_suffix", ""), dict(more.get("table_mapping") or {})
    chosen = TableFilter(including, excluding)
    route = DatabaseRoute(chosen, table_prefix, suffix, merge_shards, mapping)

    def target(table: SourceTable) -> str | None:
        name = route.target(table)
        if name is None:
            chosen.refuse_unclear(table)
        return None if name is None else f"{database}.{name}"

    settings = apply_settings(type_mapping=more.get("type_mapping", ()), more=more)
    new_table = partial(_new_table, more)
    context = _context(
        catalog, source, commit, until, more, route=target, settings=settings, new_table=new_table
    )
    text = database_route(route)
    return replace(context, route_text=text, whole_database=text, is_alone=route.is_alone)


def _new_table(more: DatabaseSyncOptions, name: str) -> NewTable:
    short = name.partition(".")[2]
    return NewTable(
        primary_key=tuple(_of(more.get("primary_key", ()), short)) or None,
        partition_by=tuple(_of(more.get("partition_by", ()), short)),
        optional=True,
        computed=computed_columns(_of(more.get("computed_columns", ()), short)),
        options=dict(more.get("options") or {}),
    )


def _context(
    catalog: Catalog,
    source: Source,
    commit: CommitAs | None,
    until: str,
    more: SyncOptions,
    *,
    route: Callable[[SourceTable], str | None],
    settings: ApplySettings,
    new_table: Callable[[str], NewTable],
) -> SyncContext:
    dead_letter = settings.dead_letter
    return SyncContext(
        catalog=catalog,
        commit=(commit or CommitAs()).with_request("sync", source=type(source).__name__),
        route=route,
        settings=settings,
        plain=plain_of(source),
        new_table=new_table,
        limits=_limits(catalog, until, more),
        eager=bool(more.get("eager_init", False)),
        map_pieces=more.get("map_pieces"),
        records_by=more.get("records_by"),
        progress=SyncProgress(more.get("progress") or quiet, catalog.clock),
        dead_letters=(
            None if dead_letter is None else DeadLetters(catalog=catalog, name=dead_letter)
        ),
    )


def _divided(context: SyncContext, source: Source, database: str, until: str) -> ResultDocument:
    """One pass for each table that the source has now."""
    if until == "forever":
        raise ArgumentError(
            "mode='divided' reads table by table and needs an end: until='now'",
            argument="mode",
            value="divided",
        )
    listing = open_reader(source, context, SyncTables(context), until)
    names = dict.fromkeys(n for t in listing.tables() if (n := context.route(t)) is not None)
    parts = []
    for name in names:
        alone = f"{context.whole_database} {name}"
        one = replace(context, whole_database=alone, route=_only(context.route, name))
        parts.append(database_result(one, source, database, until))
    tables: dict[str, object] = {}
    for part in parts:
        part_tables = part.details["tables"]
        assert isinstance(part_tables, dict)
        tables |= part_tables
    seconds = sum(part.seconds for part in parts)
    return summed("sync-database", database, parts, {"tables": tables}, seconds=seconds)


def _only(
    route: Callable[[SourceTable], str | None], wanted: str
) -> Callable[[SourceTable], str | None]:
    return lambda table: wanted if route(table) == wanted else None


def database_result(
    context: SyncContext, source: Source, database: str, until: str
) -> ResultDocument:
    """One run for all tables of a database."""
    started_ms = context.clock.now_ms()
    tables = SyncTables(context)
    run = ended_run(context, tables, tables.fed_names(database), source, until)
    tables = run.tables
    now_ms = context.clock.now_ms()
    parts = {
        name.partition(".")[2]: _result(
            feed.target,
            name,
            feed.state.table.latest_snapshot(),
            {**_details(feed.target), **feed.state.counts},
            started_ms,
            now_ms,
        )
        for name, feed in sorted(tables.feeds.items())
        if feed.state.table is not None
    }
    details = {
        "tables": {name: _of_table(part) for name, part in parts.items()},
        "position": run.checkpoint.shown,
        "events": run.events,
        "skipped": sorted(tables.skipped),
        **_of_run(context, run.events_elsewhere),
        **run.checkpoint.reader.details,
    }
    seconds = (now_ms - started_ms) / 1000
    return summed("sync-database", database, parts.values(), details, seconds=seconds)


def _of_table(part: ResultDocument) -> dict[str, object]:
    """One table of many, as a part of their details."""
    said = part.to_document()
    for name in ("action", "table", "seconds", "dry_run", "details"):
        del said[name]
    return {**part.details, **said}


def _of(columns: Any, table: str) -> Sequence[str]:
    """What was given for all tables, or for this one."""
    return tuple(columns.get(table, ()) if hasattr(columns, "get") else columns)


def sync_from_spec(
    verb: Callable[..., ResultDocument],
    catalog: Catalog,
    name: str,
    args: Mapping[str, Any],
    commit: CommitAs,
    **engine: Any,
) -> ResultDocument:
    """``sync_table`` or ``sync_database`` as a job spec tells it.

    ``source`` is ``{"kind": "files", "uri": …, …}``; ``engine``: ``progress``, ``each`` and
    ``records_by``.
    """
    arguments = dict(args)
    source = source_from_spec(arguments.pop("source"))
    return verb(catalog, name, source, commit=commit, **engine, **arguments)


def _limits(catalog: Catalog, until: str, more: SyncOptions) -> Limits:
    one_of("until", until, _UNTIL)
    max_duration, interval = more.get("max_duration"), more.get("interval")
    if interval is not None and until != "forever":
        raise ArgumentError(
            f"interval={interval!r} is for until='forever': a run that ends commits at its end",
            argument="interval",
            value=interval,
        )
    length = None if max_duration is None else length_ms("max_duration", max_duration)
    every = length_ms("interval", interval or _INTERVAL)
    return Limits(
        max_rows=more.get("max_rows"),
        stop_at_ms=None if length is None else catalog.clock.now_ms() + length,
        commit_every_ms=every if until == "forever" else None,
        stops=more.get("stops"),
    )


def _details(target: SyncTarget) -> dict[str, object]:
    return {
        "position": target.state.shown,
        "commits": len(target.state.done),
        "replayed": any(commit.replayed for commit in target.state.done),
        "event_time_ms": target.state.time_ms,
    }


def _of_run(context: SyncContext, events_elsewhere: int) -> dict[str, object]:
    counts: dict[str, object] = {}
    if events_elsewhere:
        counts["events_by_tasks"] = events_elsewhere
    if context.dead_letters is not None:
        counts["dead_letters"] = context.dead_letters.count
    return counts
