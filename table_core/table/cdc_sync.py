"""Change events into a table: schema changes, rows and the source position, exactly once.

The position that was read is stored in the snapshot that makes the rows visible, and the position
it continues is *expected* of the table: of two runs that start from one position, one commits and
the other gets kind ``conflict``.

A bounded run is one commit.  It becomes several where the table changes on the way (a new column,
a truncate), because rows before and after cannot share a writer.  The last one says that the run is
complete; a retry finds the commits that landed, returns their result if they were all, and goes on
behind them if they were not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.debezium import DebeziumDecoder
from table_core.cdc.infer import missing_columns, table_fields, with_columns
from table_core.cdc.position import POSITION_PROPERTY, FilesPosition
from table_core.cdc.record import LineBlock
from table_core.cdc.routing import TableFilter
from table_core.cdc.rows import Target, event_batch
from table_core.cdc.truncates import cuts, first_truncate, within
from table_core.cdc.wire import PlainSettings
from table_core.commit.request import CommitPart
from table_core.datatypes.arrow import arrow_schema
from table_core.errors import ArgumentError, EventError, NotFoundError, UnsupportedFeatureError
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_merge, keys_scan
from table_core.sources.files import FilesSource
from table_core.storage.locate import open_storage
from table_core.table.committer import commit_parts, find_commit, identifier_of
from table_core.table.results import CommitAs, ResultDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from table_core.cdc.changes import Changes
    from table_core.cdc.record import EventBatch, SourceTable
    from table_core.datatypes.kinds import Field
    from table_core.schema.change import AddColumn
    from table_core.schema.table_schema import TableSchema
    from table_core.sources.files import TextBlock
    from table_core.table.catalog import Catalog
    from table_core.table.results import Commit
    from table_core.table.table import Table
    from table_core.table.writer import TableWriter

__all__ = ["sync_table", "sync_table_from_spec"]

_COMPLETE: Final = "tc.source.complete"
"""Property of the commits of a run: ``true`` for its last one."""
_NEW_TABLE_OPTIONS: Final = {"bucket": "1"}


def sync_table(  # noqa: PLR0913 - the public signature
    catalog: Catalog,
    name: str,
    source: FilesSource,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    computed_columns: Sequence[str] = (),
    type_mapping: Sequence[str] = (),
    until: str = "now",
    commit: CommitAs | None = None,
    *,
    options: Mapping[str, str] | None = None,
    on_truncate: str = "fail",
) -> ResultDocument:
    """Apply the events of ``source`` that the table ``name`` has not seen yet.

    A table that is not there is created from the first events, with ``primary_key``,
    ``partition_by`` and ``options``.  Columns that events have and the table lacks are added.

    Args:
        catalog: where the table is.
        name: ``database.table``.
        source: the events.
        primary_key: of a table to be created; of one that is there it must be the same.
        partition_by: likewise.
        computed_columns: none yet.
        type_mapping: none yet.
        until: ``now``: what is there when the call begins.
        commit: who commits.
        options: of a table to be created.
        on_truncate: what to do when the source table is emptied: ``fail``, ``ignore`` or ``apply``.

    Returns:
        The result document; ``details`` has the ``position`` reached and counts of what was done.

    Raises:
        EventError: a line cannot be read; file and line are told, nothing of its block is visible.
        DataError: a value does not fit its column; column, value, file and line are told.
        CommitConflictError: another run has read from the same position.
    """
    _refuse_later("computed_columns", computed_columns)
    _refuse_later("type_mapping", type_mapping)
    _one_of("until", until, ("now",))
    _one_of("on_truncate", on_truncate, ("fail", "ignore", "apply"))
    run = _Run(
        catalog=catalog,
        name=name,
        source=source,
        commit=commit or CommitAs(),
        primary_key=tuple(primary_key),
        partition_by=tuple(partition_by),
        options=dict(options or {}),
        on_truncate=on_truncate,
    )
    return run.result()


def sync_table_from_spec(
    catalog: Catalog, name: str, args: Mapping[str, Any], commit: CommitAs
) -> ResultDocument:
    """``sync_table`` as a job spec tells it: ``source`` is ``{"kind": "files", "uri": …, …}``."""
    given = dict(args)
    described = dict(given.pop("source"))
    kind = described.pop("kind", "files")
    if kind != "files":
        raise UnsupportedFeatureError(
            f"sources of kind {kind!r} are not supported yet, only 'files'",
            feature=f"source {kind}",
        )
    try:
        source = FilesSource(**described)
    except TypeError as error:
        raise ArgumentError(
            f"source {described!r}: {error}", argument="source", value=sorted(described)
        ) from error
    return sync_table(catalog, name, source, commit=commit, **given)


def _refuse_later(argument: str, value: Sequence[str]) -> None:
    if value:
        raise UnsupportedFeatureError(f"{argument} are not supported yet", feature=argument)


def _one_of(argument: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ArgumentError(
            f"{argument}={value!r} is none of {', '.join(allowed)}", argument=argument, value=value
        )


@dataclass(slots=True, kw_only=True)
class _Run:
    """One call of ``sync_table``."""

    catalog: Catalog
    name: str
    source: FilesSource
    commit: CommitAs
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    options: Mapping[str, str]
    on_truncate: str
    table: Table | None = None
    writer: TableWriter | None = None
    stored: str | None = None
    """The position that the table's newest snapshot says."""
    reached: FilesPosition = field(default_factory=FilesPosition)
    seen: int = 0
    """Events since the last commit."""
    time_ms: int | None = None
    commits: list[Commit] = field(default_factory=list)
    sources: set[SourceTable] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)

    def result(self) -> ResultDocument:
        started_ms = self.catalog.clock.now_ms()
        self.table = self._existing()
        before = self.table.latest_snapshot() if self.table else None
        if not self._landed():
            self._read()
        head = self.table.latest_snapshot() if self.table else None
        done = [commit for commit in self.commits if commit.snapshot_id is not None]
        return ResultDocument(
            action="sync-table",
            table=self.name,
            snapshot_before=before.id if before else None,
            snapshot_after=done[-1].snapshot_id if done else head.id if head else None,
            rows_written=sum(commit.rows_added for commit in done),
            seconds=(self.catalog.clock.now_ms() - started_ms) / 1000,
            details={
                "position": self.stored,
                "commits": len(done),
                "replayed": any(commit.replayed for commit in done),
                "event_time_ms": self.time_ms,
                **self.counts,
            },
        )

    def _existing(self) -> Table | None:
        try:
            table = self.catalog.table(self.name)
        except NotFoundError:
            return None
        for argument, wanted, there in (
            ("primary_key", self.primary_key, table.primary_key),
            ("partition_by", self.partition_by, table.partition_by),
        ):
            if wanted and wanted != there:
                raise ArgumentError(
                    f"{self.name} has {argument}={there}, not {wanted}",
                    argument=argument,
                    value=wanted,
                )
        self.stored = table.position(POSITION_PROPERTY)
        return table

    def _landed(self) -> bool:
        """Whether an earlier attempt of this very run got to its end; counts what it committed."""
        if self.table is None:
            return False
        while (found := find_commit(self.table.access, self._nth(len(self.commits)))) is not None:
            self.commits.append(found)
        if not self.commits or (last := self.commits[-1].snapshot_id) is None:
            return False
        return (self.table.snapshot(last).properties or {}).get(_COMPLETE) == "true"

    def _nth(self, n: int) -> CommitAs:
        """Who makes the ``n``-th commit of this run.

        Numbers that the caller did not give may be in use for other verbs of the same user.
        """
        if n == 0 or self.commit.user is None:
            return self.commit
        if self.commit.identifier is None:
            return replace(self.commit, identifier=identifier_of(self.commit) + n)
        user = f"{self.commit.user}-{self.commit.identifier}"
        return replace(self.commit, user=user, identifier=n)

    # ------------------------------------------------------------------------------- reading
    def _read(self) -> None:
        self.reached = FilesPosition.parse(self.stored)
        decoder = DebeziumDecoder(self._fields_of, self._wants, self._settings())
        try:
            for name, block in self._blocks():
                whole = f"{self.source.folder.rstrip('/')}/{name}"
                found = decoder.decode(LineBlock(whole, block.first_line, block.body))
                self._refuse_several(found)
                for cut in cuts(found):
                    self._apply(within(found, 0, cut))
                    self.reached = self.reached.after(name, *block.consumed_before(cut))
                    found = within(found, cut, block.lines + 1)
                self._apply(found)
                self.reached = self.reached.after(name, block.lines, block.offset)
            self._flush(complete=True)
        finally:
            if self.writer is not None:
                self.writer.abort()

    def _blocks(self) -> Iterator[tuple[str, TextBlock]]:
        storage = open_storage(self.source.folder, self.source.storage_options)
        for piece in self.reached.ahead(self.source.listing(storage)):
            for block in self.source.blocks(
                storage, piece.name, size=piece.size, lines=piece.lines, offset=piece.offset
            ):
                yield piece.name, block

    def _settings(self) -> PlainSettings:
        source = self.source
        return PlainSettings(source.decimals, source.timestamps, source.times)

    def _wants(self, table: SourceTable) -> bool:
        return self.source.tables is None or TableFilter(self.source.tables).takes(table)

    def _fields_of(self, _: SourceTable) -> Sequence[Field] | None:
        return None if self.table is None else self.table.definition.fields

    def _refuse_several(self, found: Sequence[Changes]) -> None:
        """Without ``tables`` the source must hold one table: rows of two would be mixed up."""
        if self.source.tables is not None:
            return
        for changes in found:
            self.sources.add(changes.table)
            if len(self.sources) > 1:
                names = " and ".join(sorted(map(str, self.sources)))
                line = int(changes.lines[0])
                raise EventError(
                    f"{changes.file}, line {line}: the source has events of {names}; say which "
                    f"ones go into {self.name} with tables='…', a regular expression",
                    file=changes.file,
                    line=line,
                )

    # ------------------------------------------------------------------------------ applying
    def _apply(self, found: Sequence[Changes]) -> None:
        """Convert everything first, then change the table: a bad value leaves it as it was."""
        if not (events := sum(len(changes.ops) for changes in found)):
            return
        added: tuple[AddColumn, ...] = ()
        if self.table is None:
            fields = table_fields(found, self.primary_key)
            key, keep_before = self.primary_key, True
        else:
            definition = self.table.definition
            added = missing_columns(found, definition.fields)
            fields = with_columns(definition.fields, added)
            key, keep_before = definition.primary_keys, _keeps_before(definition)
        target = Target(fields=fields, key=key, keep_before=keep_before)
        self._refuse_truncate(found)
        batch = event_batch(found, target, self._settings(), added)
        if self.table is None:
            self.table = self.catalog.create_table(
                self.name,
                arrow_schema(fields),
                primary_key=self.primary_key,
                partition_by=self.partition_by,
                options={**_NEW_TABLE_OPTIONS, **self.options},
            )
            self.counts["tables_created"] = 1
        self._apply_batch(self.table, batch)
        self.seen += events

    def _apply_batch(self, table: Table, batch: EventBatch) -> None:
        if batch.schema_changes:
            self._flush(complete=False)
            table = self.table = self.catalog.alter_table(self.name, batch.schema_changes)
            self._count("columns_added", len(batch.schema_changes))
        if batch.truncate and self.on_truncate == "apply":
            self._flush(complete=False)
            table.truncate()
            self._count("truncates", 1)
        if batch.rows.num_rows:
            if self.writer is None:
                self.writer = table.write()
            self.writer.write(batch.rows)
        if batch.event_time_ms is not None:
            self.time_ms = max(batch.event_time_ms, self.time_ms or batch.event_time_ms)

    def _refuse_truncate(self, found: Sequence[Changes]) -> None:
        line = first_truncate(found)
        if line is None or self.on_truncate != "fail":
            return
        file = found[0].file
        raise EventError(
            f"{file}, line {line}: the source table was truncated; say what {self.name} is to do "
            "with on_truncate='ignore' or 'apply'",
            file=file,
            line=line,
        )

    def _flush(self, *, complete: bool) -> None:
        """Commit what was written with the position before the block at hand, or at the end."""
        table, writer = self.table, self.writer
        seen = self.seen if complete else 0
        if table is None or (writer is None and not seen):
            return
        # From here on the writer's files may be in a commit whose fate is unknown: never abort it.
        self.writer, self.seen = None, 0
        position = self.reached.text
        given = self._nth(len(self.commits))
        commit = replace(
            given,
            properties={
                **given.properties,
                POSITION_PROPERTY: position,
                _COMPLETE: str(complete).lower(),
            },
            expect={POSITION_PROPERTY: self.stored, **given.expect},
        )
        if writer is None:  # events that left no row, e.g. an ignored truncate
            nothing = CommitPart(kind=CommitKind.APPEND)
            done = commit_parts(table.access, commit, append=nothing, force=True)
        else:
            done = table.commit([writer.prepare()], commit)
        self.commits.append(done)
        self.stored = position

    def _count(self, what: str, n: int) -> None:
        self.counts[what] = self.counts.get(what, 0) + n


def _keeps_before(definition: TableSchema) -> bool:
    """Whether old rows of updates matter: handed on as changes, or taken back by an aggregate."""
    options = definition.options
    return (
        not definition.primary_keys
        or options.get(keys_scan.CHANGELOG_PRODUCER) == "input"
        or options.get(keys_merge.MERGE_ENGINE) in {"aggregation", "partial-update"}
    )
