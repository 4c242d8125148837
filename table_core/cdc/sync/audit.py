"""Compares tables with the source tables that feed them, as both were at one place of the source's log.

The sync goes up to the place where a snapshot of the server stands, so a table that is busy with writes
has no false difference.  What the server computes of its snapshot is beside what we compute of the
snapshot of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.cdc.apply.context import Limits
from table_core.cdc.apply.run import SourceAwayError, SyncRun, start_run
from table_core.cdc.apply.tables import SyncTables
from table_core.cdc.audit.dialect import MARIADB, POSTGRES
from table_core.cdc.audit.differences import pairs_of
from table_core.cdc.audit.table_audit import TableAudit, shared_columns
from table_core.cdc.model.record import SourceTable
from table_core.cdc.source.log_reader import LogReader
from table_core.cdc.source.postgres.source import REWRITTEN
from table_core.cdc.sync.fed_by import feeding_syncs
from table_core.cdc.sync.readers import open_reader
from table_core.cdc.sync.resync import resync
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import EventError, GaveUpError
from table_core.options import keys_merge
from table_core.table.metadata.describing import committed, summed
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.apply.table_feed import TableFeed
    from table_core.cdc.apply.target import SyncTarget
    from table_core.cdc.audit.differences import Difference
    from table_core.cdc.audit.table_audit import Part
    from table_core.cdc.model.source_table import CatalogTable
    from table_core.cdc.source.server import ServerConnection
    from table_core.cdc.sync.fed_by import FeedingSync
    from table_core.cdc.sync.readers import Source
    from table_core.ondisk.snapshot import Snapshot
    from table_core.position.log import LogPlace
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import ResultDocument

__all__ = ["source_audit"]

_ATTEMPTS: Final = 3
_ALTERED: Final = frozenset({1412, 1054, 1146, "42P01", "42703", REWRITTEN})
"""The table was altered or dropped under the snapshot."""
_MOST: Final = 1000
_ROWS_MAX: Final = 200_000
"""Rows of one table that are read because a part of them differs."""


def source_audit(
    catalog: Catalog,
    tables: Sequence[str],
    source: Source,
    *,
    repair: bool = False,
    most: int = _MOST,
    commit: CommitAs | None = None,
    **more: Any,
) -> ResultDocument:
    """Compare ``tables`` with the source tables that feed them, row by row and column by column.

    The syncs that feed the tables are run first, with the choice of tables that they were begun with, up to
    the place where a snapshot of the server stands.  The server computes counts and checksums of its
    rows; only parts that differ are read.  No locks are taken, and memory does not grow with the tables.

    Args:
        catalog: where the tables are.
        tables: as ``database.table``.
        source: the server that feeds them: a ``MySqlSource`` of a MariaDB, or a ``PostgresSource``.
        repair: write the rows of the source over those that differ, and delete those that it has not; a
            table where that cannot be done row by row is read again.
        most: differences that are told one by one; all are counted and repaired.
        commit: who commits what the syncs bring, and repairs.
        more: keywords of the syncs, e.g. ``metadata_columns``; see ``SyncOptions``.

    Returns:
        The result document.  ``details`` has ``differences`` (their number), ``rows`` (the first of them),
        ``repaired`` (tables), and ``tables`` with what each table has of it: ``not_compared`` are columns
        that the checksum leaves out, ``skipped`` why the table was not compared.

    Raises:
        ArgumentError: the source is no database, or has not fed one of the tables.
        GaveUpError: the source tables were altered again and again meanwhile.
        MissingPackageError: DuckDB is not installed.
        UnsupportedFeatureError: the server does not tell where in its log a snapshot stands.
    """
    started_ms = catalog.clock.now_ms()
    syncs = feeding_syncs(catalog, tables, source, commit, more)
    parts = [sync.run() for sync in syncs]
    names = [name for sync in syncs for name in sync.names]
    several = {name for name in names if names.count(name) > 1}
    audits: dict[str, _Audited] = {
        name: _Audited(skipped="several syncs feed it") for name in several
    }
    for sync in syncs:
        alone = replace(sync, names=tuple(n for n in sync.names if n not in several))
        if alone.names:
            results, repairs = _audit(alone, repair=repair, most=most)
            audits |= results
            parts += repairs
    if anew := [name for name, one in audits.items() if repair and one.needs_resync]:
        parts.append(resync(catalog, anew, source, commit=_unnamed(commit), **more))
        for name in anew:
            audits[name].repaired = True
    seconds = (catalog.clock.now_ms() - started_ms) / 1000
    details = _details(audits, most)
    return summed("source-audit", ", ".join(tables), parts, details, seconds=seconds)


@dataclass(slots=True)
class _Audited:
    """What was learned of one table."""

    count: int = 0
    first: list[Difference] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    skipped: str | None = None
    parts: int = 0
    """Parts of the table whose checksums differ."""
    is_cut: bool = False
    """Whether parts that differ were not read, because they have too many rows."""
    repaired: bool = False
    needs_resync: bool = False

    def to_record(self) -> dict[str, object]:
        """As a result has it."""
        return {
            "differences": self.count,
            "has_more": self.is_cut,
            "parts": self.parts,
            "not_compared": self.not_compared,
            "skipped": self.skipped,
            "repaired": self.repaired,
        }


def _details(audits: Mapping[str, _Audited], most: int) -> dict[str, object]:
    first = list(chain.from_iterable(one.first for one in audits.values()))[:most]
    return {
        "differences": sum(one.count for one in audits.values()),
        "rows": [one.to_record() for one in first],
        "repaired": sorted(name for name, one in audits.items() if one.repaired),
        "left": sorted(n for n, o in audits.items() if (o.count or o.is_cut) and not o.repaired),
        "tables": {name: audits[name].to_record() for name in sorted(audits)},
    }


def _unnamed(commit: CommitAs | None) -> CommitAs:
    """Who commits, for what is not the same when it is tried again."""
    return replace(commit or CommitAs(), identifier=None, asked=None)


def _audit(
    sync: FeedingSync, *, repair: bool, most: int
) -> tuple[dict[str, _Audited], list[ResultDocument]]:
    """The tables of one sync."""
    for _ in range(_ATTEMPTS):
        with_snapshot = _AtSnapshot.begin(sync)
        try:
            if with_snapshot.is_level():
                return with_snapshot.audit(repair=repair, most=most)
        except EventError as error:
            if error.facts.get("code") not in _ALTERED:
                raise
        finally:
            with_snapshot.close()
    raise GaveUpError(
        f"the tables that feed {', '.join(sync.names)} were altered during each of {_ATTEMPTS} attempts: "
        "run the audit again",
        tables=list(sync.names),
    )


@dataclass(slots=True, kw_only=True)
class _AtSnapshot:
    """A sync that stands where a snapshot of its server does."""

    sync: FeedingSync
    run: SyncRun[Any]
    reader: LogReader
    before: Mapping[str, Snapshot | None]
    """The newest snapshots of the tables, when the run began."""
    connection: ServerConnection
    position: LogPlace

    @classmethod
    def begin(cls, sync: FeedingSync) -> _AtSnapshot:
        """Take the snapshot, and sync up to it."""
        context = replace(sync.context(_unnamed(sync.commit)), limits=Limits())
        tables = SyncTables(context)
        reader = open_reader(sync.chosen, context, tables, "now")
        assert isinstance(reader, LogReader)
        names = tables.fed_names(sync.database) if sync.table is None else [sync.table]
        run = start_run(context, tables, reader, names)
        targets = {feed.target.name: feed.state.table for feed in tables.there}
        before = {name: t.latest_snapshot() for name, t in targets.items() if t is not None}
        connection, position = reader.at_snapshot()
        begun = cls(
            sync=sync,
            run=run,
            reader=reader,
            before=before,
            connection=connection,
            position=position,
        )
        try:
            run.run(position)
        except SourceAwayError as away:
            begun.close()
            raise away.error from None
        except BaseException:
            begun.close()
            raise
        return begun

    def close(self) -> None:
        """Give the snapshot of the server back."""
        self.run.tables.abort()
        self.connection.close()

    def is_level(self) -> bool:
        """Whether all tables stand there: none was read anew meanwhile."""
        ahead = self.reader.ahead_of(self.position)
        feeds = self.run.tables.feeds
        return all(n in feeds and not (feeds[n].state.sources & ahead) for n in self.sync.names)

    def audit(self, *, repair: bool, most: int) -> tuple[dict[str, _Audited], list[ResultDocument]]:
        """Compare the tables, and write what differs if it is to be repaired."""
        started_ms = self.sync.catalog.clock.now_ms()
        infos = {SourceTable(i.database, i.name): i for i in self.connection.tables()}
        audits = {}
        for name in self.sync.names:
            feed = self.run.tables.feeds[name]
            there = {t: infos.get(t) for t in sorted(feed.state.sources)}
            gone = [str(t) for t, info in there.items() if info is None]
            audits[name] = (
                _Audited(skipped=f"{', '.join(gone)}: its source tables are gone")
                if gone
                else self._table(
                    feed, [i for i in there.values() if i is not None], repair=repair, most=most
                )
            )
        return audits, self._committed([n for n, one in audits.items() if one.repaired], started_ms)

    def _committed(self, names: Sequence[str], started_ms: int) -> list[ResultDocument]:
        """Commit what was written into tables; nothing where there are none."""
        if not names:
            return []
        heads: list[tuple[SyncTarget, Table, Snapshot | None, int]] = []
        for name in names:
            target = self.run.tables.feeds[name].target
            assert target.state.table is not None
            heads.append(
                (
                    target,
                    target.state.table,
                    target.state.table.latest_snapshot(),
                    len(target.state.done),
                )
            )
        self.run.flush(complete=True)
        return [
            committed(
                table.access, "source-audit", target.state.done[n:], head, {}, started_ms=started_ms
            )
            for target, table, head, n in heads
        ]

    def _table(
        self, feed: TableFeed, sources: Sequence[CatalogTable], *, repair: bool, most: int
    ) -> _Audited:
        table, audited = feed.state.table, _Audited()
        assert table is not None
        dialect = MARIADB if self.reader.kind == "mysql" else POSTGRES
        of_both = shared_columns(dialect, table, sources)
        columns, shared = of_both.texts, [*of_both.texts, *of_both.without]
        audited.not_compared = [*of_both.without, *of_both.of_some]
        key = tuple(name for name in table.primary_key if name in shared)
        audited.skipped = _unfit(feed, sources, columns, key)
        if audited.skipped is not None:
            return audited
        done = feed.state.done
        before = self.before.get(feed.target.name)
        audit = TableAudit(
            connection=self.connection,
            sources=sources,
            table=table,
            snapshot=done[-1].snapshot_id if done else before.id if before else None,
            dialect=dialect,
            columns=columns,
            key=key,
        )
        by_row = bool(key) and not _orders_itself(table.options)
        repairs = _Repairs(self, feed, shared, is_on=repair and by_row)
        rows = 0
        for part in audit.parts():
            audited.parts += len(part.slots)
            rows += part.rows
            if rows > _ROWS_MAX:
                audited.is_cut = True
                break
            for differences in repairs.compare(audit, part):
                audited.count += len(differences)
                audited.first += differences[: most - len(audited.first)]
        differs = audited.count > 0 or audited.is_cut
        audited.needs_resync = differs and (audited.is_cut or not by_row)
        audited.repaired = repair and differs and not audited.needs_resync
        if audited.needs_resync:
            feed.target.abort()
        return audited


def _unfit(
    feed: TableFeed, sources: Sequence[CatalogTable], columns: Mapping[str, Any], key: Sequence[str]
) -> str | None:
    """Why a table cannot be compared; None if it can."""
    table = feed.state.table
    assert table is not None
    engine = table.options.get(keys_merge.MERGE_ENGINE.key, "deduplicate")
    if table.primary_key and engine != "deduplicate":
        return f"its merge engine is {engine}, so it is not to equal its source"
    if table.definition.options.get(keys_merge.IGNORE_DELETE):
        return "it ignores deletes, so it is not to equal its source"
    if not sources:
        return "its source tables are gone"
    if fleeting := [f"{i.database}.{i.name}" for i in sources if not i.is_transactional]:
        return f"{', '.join(fleeting)}: a table of this engine is in no snapshot of the server"
    if len(feed.state.claims.held) > 1:
        return "several syncs feed it"
    if table.primary_key and not key:
        return "its key is not of the source"
    if lacking := [name for name in key if name not in columns]:
        return f"the key's {', '.join(lacking)} has no text that is the same on both sides"
    return None if columns else "no column has a text that is the same on both sides"


def _orders_itself(options: Mapping[str, str]) -> bool:
    """Whether a row that is written last need not be the one that counts."""
    return keys_merge.SEQUENCE_FIELD.key in options


@dataclass(slots=True)
class _Repairs:
    """Reads rows of parts on both sides, and writes those that differ."""

    at: _AtSnapshot
    feed: TableFeed
    columns: Sequence[str]
    is_on: bool

    def compare(self, audit: TableAudit, part: Part) -> Iterator[list[Difference]]:
        """The rows of a part that differ, some at a time."""
        for here, there in audit.pieces(part):
            yield self._compared(audit, pa.Table.from_batches(here, self._schema), there)

    def _compared(
        self,
        audit: TableAudit,
        here: pa.Table,
        rows: Sequence[tuple[CatalogTable, tuple[Any, ...]]],
    ) -> list[Difference]:
        there = self._typed(rows)
        name = self.feed.target.name
        pairs = pairs_of(name, audit.key, self.columns, there, here.select(self.columns))
        if self.is_on and pairs.differences:
            self._write(
                [rows[n] for n in pairs.source], here.take(pa.array(pairs.here, pa.int64()))
            )
        return list(pairs.differences)

    @property
    def _schema(self) -> pa.Schema:
        assert self.feed.state.table is not None
        return self.feed.state.table.arrow_schema

    def _typed(self, rows: Sequence[tuple[CatalogTable, tuple[Any, ...]]]) -> pa.Table:
        """Rows of the source as the table would take them, in their order."""
        parts = [
            self.feed.rows_of(batch.changes).rows.select(self.columns)
            for batch in self._batches(rows)
            if batch.changes
        ]
        schema = pa.schema([self._schema.field(name) for name in self.columns])
        return pa.concat_tables([schema.empty_table(), *parts], promote_options="permissive")

    def _batches(self, rows: Sequence[tuple[CatalogTable, tuple[Any, ...]]]) -> Iterator[Any]:
        infos = list({info.database + "." + info.name: info for info, _ in rows}.values())
        for info in infos:
            yield self.at.reader.batch_of(info, [row for one, row in rows if one is info])

    def _write(self, rows: Sequence[tuple[CatalogTable, tuple[Any, ...]]], gone: pa.Table) -> None:
        """Rows of the table go, those of the source take their place."""
        kinds = pa.array(["-D"] * gone.num_rows, pa.string())
        self.feed.target.write(gone.append_column(ROW_KIND_COLUMN, kinds))
        for batch in self._batches(rows):
            self.feed.apply(batch, batch.changes)
