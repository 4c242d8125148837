"""One table that a sync feeds: its schema follows, its rows arrive, its position is kept.

The position that was read is stored in the snapshot that makes the rows visible, and the position
it continues is *expected* of the table: of two runs that start from one position, one commits and
the other gets kind ``conflict``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.apply.table_state import Stored, TableState
from table_core.cdc.model.claims import POSITION_PROPERTY
from table_core.cdc.model.delivered import DELIVERED_PROPERTY, Delivered
from table_core.cdc.model.record import SourceTable
from table_core.cdc.model.routing import takes
from table_core.commit.request import CommitPart
from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_merge, keys_scan
from table_core.schema.change import AddColumn
from table_core.schema.nested import path_text
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.metadata.alter import alter
from table_core.validation_errors import stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa

    from table_core.cdc.apply.table_state import Remembered
    from table_core.cdc.model.batch import Position
    from table_core.cdc.model.claims import Claims, Who
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit, CommitAs

__all__ = [
    "BACKFILLED_PROPERTY",
    "CLAIMS_PROPERTY",
    "COMPLETE",
    "SOURCES_PROPERTY",
    "SOURCE_SCHEMA_PROPERTY",
    "SyncTarget",
    "keeps_before",
    "sources_of",
]

COMPLETE: Final = "tc.source.complete"
"""Property of the commits of a run: ``true`` for its last one."""
BACKFILLED_PROPERTY: Final = "tc.source.filled"
"""Property: columns whose default the rows have that were there before, as a JSON list."""
CLAIMS_PROPERTY: Final = "tc.source.positions"
"""Property: of each source and choice of tables up to where the table has it."""
SOURCES_PROPERTY: Final = "tc.source.tables"
"""Property: the source tables that ever fed a table, as pairs of database and name."""
SOURCE_SCHEMA_PROPERTY: Final = "tc.source.told"
"""Property: columns of source tables as their schema changes told them."""


@dataclass(slots=True, kw_only=True)
class SyncTarget:
    """One table that a run writes: which it is, and its state, which is replaced here alone."""

    catalog: Catalog
    name: str
    commit: CommitAs
    handle_options: Mapping[str, str] = field(default_factory=dict)
    more_properties: Callable[[Iterable[SourceTable]], Mapping[str, str]] = lambda _: {}
    """What a reader keeps with the tables that source tables feed: properties of each commit."""
    state: TableState = field(default_factory=TableState)

    # --------------------------------------------------------------------------------- opening
    def open(self) -> None:
        """Look whether the table is there, and what an earlier attempt of this run did."""
        try:
            table = self._handle()
        except NotFoundError:
            return
        delivered = self.state.delivered
        if not table.primary_key:
            delivered = Delivered.parse(table.position(DELIVERED_PROPERTY))
        state = replace(
            self.state,
            table=table,
            stored=Stored(
                by_hand=table.position(POSITION_PROPERTY),
                claims=table.position(CLAIMS_PROPERTY),
                source_schemas=table.position(SOURCE_SCHEMA_PROPERTY),
            ),
            sources=frozenset(sources_of(table)),
            delivered=delivered,
        )
        self.state = self._with_landed(state, table)

    def require(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse keys that are not those of the table.

        Raises:
            ArgumentError: the table has others.
        """
        table = self.state.table
        if table is None or not wanted:
            return
        there = table.primary_key if argument == "primary_key" else table.partition_by
        if tuple(wanted) != there:
            raise ArgumentError(
                f"{self.name} has {argument}={there}, not {tuple(wanted)}",
                argument=argument,
                value=tuple(wanted),
            )

    def _handle(self) -> Table:
        return self.catalog.table(self.name, options=self.handle_options)

    def _with_landed(self, state: TableState, table: Table) -> TableState:
        commits = state.commits
        while (commit := find_commit(table.access, self.commit.nth(len(commits)))) is not None:
            commits = (*commits, commit)
        finished = state.finished
        if len(commits) > len(state.commits) and (last := commits[-1].snapshot_id) is not None:
            finished = (table.snapshot(last).properties or {}).get(COMPLETE) == "true"
        return replace(state, commits=commits, finished=finished)

    # -------------------------------------------------------------------------------- progress
    def begin(self, who: Who, claims: Claims, position: Position | None) -> None:
        """A run of ``who`` begins; the table says that it has this."""
        self.state = replace(self.state, who=who, claims=claims, position=position)

    def at(self, reached: Position | None, remembered: Remembered) -> None:
        """What is committed from here on reaches so far, or as far as the table is by itself."""
        self.state = self.state.at(reached, remembered)

    def wait(
        self,
        *,
        events: int = 0,
        properties: Mapping[str, str] | None = None,
        expect: Mapping[str, str | None] | None = None,
    ) -> None:
        """The next commit has this too."""
        self.state = self.state.waiting(events=events, properties=properties, expect=expect)

    def feed_from(self, sources: Iterable[SourceTable]) -> None:
        """These source tables feed the table from now on; the next commit says so."""
        sources = frozenset(sources)
        if sources != self.state.sources:
            names = json.dumps(sorted([s.database, s.name] for s in sources))
            self.state = replace(self.state, sources=sources)
            self.wait(properties={SOURCES_PROPERTY: names})

    def deliver(self, delivered: Delivered) -> None:
        """These events are in the table, with what is pending."""
        self.state = replace(self.state, delivered=delivered)

    def count(self, name: str, n: int) -> None:
        """Add to what the result tells."""
        self.state = self.state.counted(name, n)

    def note_time(self, time_ms: int | None) -> None:
        """Remember when the latest change was committed in the source."""
        self.state = self.state.timed(time_ms)

    # --------------------------------------------------------------------------------- schema
    def create(
        self,
        fields: Any,
        primary_key: Sequence[str],
        partition_by: Sequence[str],
        options: Mapping[str, str],
    ) -> None:
        """Make the table; one that another run made in between is taken."""
        self.catalog.create_table(
            self.name,
            fields,
            primary_key=primary_key,
            partition_by=partition_by,
            options=options,
            if_not_exists=True,
        )
        table = self._handle()
        newest = replace(
            self.state.stored,
            by_hand=table.position(POSITION_PROPERTY),
            claims=table.position(CLAIMS_PROPERTY),
        )
        self.state = replace(self.state, table=table, stored=newest)

    def alter(self, changes: Sequence[SchemaChange]) -> Table:
        """Change the schema; rows taken before are committed first, under the old one.

        New columns are called as the source calls them: to a source a dot leads nowhere.
        """
        begins = self.state.pending.replaces and not self.state.pending.rows
        if begins:  # nothing was taken that the old schema is about
            self.abort()
        self.flush(complete=False)
        named = tuple(
            replace(change, name=path_text([change.name]))
            if isinstance(change, AddColumn)
            else change
            for change in changes
        )
        alter(self._handle().access, named)  # what a source does to its types is done
        table = self.reload()
        if begins:
            self.start_over()
        return table

    def reload(self) -> Table:
        """Take the schema as it is now."""
        table = self._handle()
        self.state = replace(self.state, table=table)
        return table

    # ----------------------------------------------------------------------------------- rows
    def write(self, rows: pa.Table) -> None:
        """Take rows with ``_ROW_KIND``."""
        table, writer = self.state.table, self.state.pending.writer
        assert table is not None
        if not rows.num_rows:
            return
        writer = table.write() if writer is None else writer
        # A writer that fails has files: it is known before its first row, so that they are taken away.
        self.state = self.state.written(writer, 0)
        writer.write(rows)
        self.state = self.state.written(writer, rows.num_rows)

    def start_over(self) -> None:
        """Forget the rows taken; those to come replace all that is in the table."""
        assert self.state.table is not None
        self.abort()
        self.state = self.state.rewritten(self.state.table.write(overwrite="table"))

    def abort(self) -> None:
        """Take away what was written and not committed."""
        if self.state.pending.writer is not None:
            self.state.pending.writer.abort()
        self.state = self.state.without_rows()

    def flush(self, *, complete: bool, asked: bool = False) -> Commit | None:
        """Commit what was written, with the position reached; None where nothing is to be committed yet.

        A position that came with nothing to write waits for the end of the run, unless it is ``asked`` for.
        """
        state, pending = self.state, self.state.pending
        table, writer = state.table, pending.writer
        has_news = (complete or asked) and state.has_news
        if table is None or state.reached is None or (writer is None and not has_news):
            return None
        # From here on the writer's files may be in a commit whose fate is unknown: never abort it.
        self.state = state.without_rows()
        assert state.who is not None
        claims = state.claims.moved(state.who, state.reached, state.sources, self.takes)
        known = state.remembered(state.sources)
        newest = Stored(
            by_hand=state.stored.by_hand and "",
            claims=claims.text,
            source_schemas=state.stored.source_schemas if known is None else known,
        )
        commit = self._commit_as(state, claims, known, complete=complete)
        done = None
        if writer is not None:
            over = "table" if pending.replaces else None
            done = table.commit([writer.prepare()], commit, overwrite=over)
        if done is None or done.snapshot_id is None:
            # Events that left no row: an ignored truncate, or one of what was never committed.
            nothing = CommitPart(kind=CommitKind.APPEND)
            done = commit_parts(table.access, commit, append=nothing, force=True)
        self.state = self.state.committed(done, newest, claims)
        return done

    def takes(self, route: str, table: SourceTable) -> bool:
        """Whether a route brings a source table here."""
        return takes(route, table, self.name.partition(".")[2])

    def _commit_as(
        self, state: TableState, claims: Claims, source_schemas: str | None, *, complete: bool
    ) -> CommitAs:
        commit = self.commit.nth(len(state.commits))
        properties = {**commit.properties, **self.more_properties(state.sources)}
        if (delivered := state.delivered.text) is not None:
            properties[DELIVERED_PROPERTY] = delivered
        properties |= {CLAIMS_PROPERTY: claims.text, COMPLETE: str(complete).lower()}
        if state.stored.by_hand:
            properties[POSITION_PROPERTY] = ""
        if source_schemas is not None:
            properties[SOURCE_SCHEMA_PROPERTY] = source_schemas
        return replace(
            commit,
            properties={**properties, **state.pending.properties},
            expect={
                POSITION_PROPERTY: state.stored.by_hand,
                CLAIMS_PROPERTY: state.stored.claims,
                **state.pending.expect,
                **commit.expect,
            },
            watermark=state.time_ms if commit.watermark is None else commit.watermark,
        )

    # -------------------------------------------------------------------------------- reading
    def covered(
        self, batch: Any, numbers: np.ndarray[Any, Any], table: SourceTable
    ) -> np.ndarray[Any, Any]:
        """Which of the events with ``numbers`` of a source table the table has already."""
        state = self.state
        assert state.who is not None
        covered = state.claims.covered(state.who, batch, numbers, table, self.takes)
        if state.position is not None:
            covered |= batch.consumed(state.position, numbers)
        return covered


def sources_of(table: Table) -> set[SourceTable]:
    """The source tables that ever fed a table, as its newest snapshot says."""
    text = table.position(SOURCES_PROPERTY)
    with stored("source tables", text):
        names = [[str(part) for part in one] for one in json.loads(text or "[]")]
    return {SourceTable(*one[:2]) for one in names}


def keeps_before(definition: TableSchema) -> bool:
    """Whether old rows of updates matter: handed on as changes, or taken back by an aggregate."""
    options = definition.options
    return (
        not definition.primary_keys
        or options.get(keys_scan.CHANGELOG_PRODUCER) == "input"
        or options.get(keys_merge.MERGE_ENGINE) in {"aggregation", "partial-update"}
    )
