"""One table that a sync feeds: its schema follows, its rows arrive, its position is kept.

The position that was read is stored in the snapshot that makes the rows visible, and the position
it continues is *expected* of the table: of two runs that start from one position, one commits and
the other gets kind ``conflict``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from table_core.cdc.model.claims import POSITION_PROPERTY, Claims
from table_core.cdc.model.routing import takes
from table_core.commit.request import CommitPart
from table_core.errors import ArgumentError, NotFoundError
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_merge, keys_scan
from table_core.schema.change import AddColumn
from table_core.schema.nested import path_text
from table_core.table.commit_io.committer import commit_parts, find_commit
from table_core.table.metadata.alter import alter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa

    from table_core.cdc.model.batch import Position
    from table_core.cdc.model.claims import Who
    from table_core.cdc.model.record import SourceTable
    from table_core.schema.change import SchemaChange
    from table_core.schema.table_schema import TableSchema
    from table_core.table.api.catalog import Catalog
    from table_core.table.api.table import Table
    from table_core.table.metadata.results import Commit, CommitAs
    from table_core.table.write.writer import TableWriter

__all__ = [
    "BACKFILLED_PROPERTY",
    "CLAIMS_PROPERTY",
    "COMPLETE",
    "SOURCE_SCHEMA_PROPERTY",
    "SyncTarget",
    "keeps_before",
]

COMPLETE: Final = "tc.source.complete"
"""Property of the commits of a run: ``true`` for its last one."""
BACKFILLED_PROPERTY: Final = "tc.source.filled"
"""Property: columns whose default the rows have that were there before, as a JSON list."""
CLAIMS_PROPERTY: Final = "tc.source.positions"
"""Property: of each source and choice of tables up to where the table has it."""
SOURCE_SCHEMA_PROPERTY: Final = "tc.source.told"
"""Property: columns of source tables as their schema changes told them."""


@dataclass(slots=True, kw_only=True)
class SyncTarget:
    """One table during one run.

    ``position`` is what is known to be in the table, ``reached`` what will be with the next
    commit.
    """

    catalog: Catalog
    name: str
    commit: CommitAs
    handle_options: Mapping[str, str] = field(default_factory=dict)
    table: Table | None = None
    by_hand: str | None = None
    """Where somebody has set the table to; '' once that was taken over."""
    held: str | None = None
    """The claims that it says, as text."""
    claims: Claims = field(default_factory=Claims)
    who: Who | None = None
    fed: Callable[[], Iterable[SourceTable]] = tuple
    """The source tables that gave it rows."""
    position: Position | None = None
    """Up to here it has all that is read; beside what its claims say."""
    reached: Position | None = None
    remembered: Callable[[], str | None] = lambda: None
    """What a run that goes on at ``reached`` has to know."""
    told: Callable[[], Mapping[str, str]] = dict
    """Further properties of each commit."""
    source_schemas: str | None = None
    """What the table's newest snapshot says of it."""
    writer: TableWriter | None = None
    replaces: bool = False
    """Whether the rows of the writer take the place of all that is there."""
    waiting: int = 0
    """Rows given to the writer."""
    seen: int = 0
    """Events since the last commit."""
    commits: list[Commit] = field(default_factory=list)
    finished: bool = False
    """An earlier attempt of this very run got to its end."""
    properties: dict[str, str] = field(default_factory=dict)
    """Further ones for the next commit."""
    expect: dict[str, str | None] = field(default_factory=dict)
    time_ms: int | None = None

    # --------------------------------------------------------------------------------- opening
    def open(self) -> None:
        """Look whether the table is there, and what an earlier attempt of this run did."""
        try:
            self.table = self._handle()
        except NotFoundError:
            return
        self.by_hand = self.table.position(POSITION_PROPERTY)
        self.source_schemas = self.table.position(SOURCE_SCHEMA_PROPERTY)
        self.held = self.table.position(CLAIMS_PROPERTY)
        self._find_landed(self.table)

    def require(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse keys that are not those of the table.

        Raises:
            ArgumentError: the table has others.
        """
        if self.table is None or not wanted:
            return
        there = self.table.primary_key if argument == "primary_key" else self.table.partition_by
        if tuple(wanted) != there:
            raise ArgumentError(
                f"{self.name} has {argument}={there}, not {tuple(wanted)}",
                argument=argument,
                value=tuple(wanted),
            )

    def _handle(self) -> Table:
        return self.catalog.table(self.name, options=self.handle_options)

    def _find_landed(self, table: Table) -> None:
        before = len(self.commits)
        while (commit := find_commit(table.access, self.commit.nth(len(self.commits)))) is not None:
            self.commits.append(commit)
        if len(self.commits) > before and (last := self.commits[-1].snapshot_id) is not None:
            self.finished = (table.snapshot(last).properties or {}).get(COMPLETE) == "true"

    def at(self, reached: Position | None, remembered: Callable[[], str | None]) -> None:
        """What is committed from here on reaches so far, or as far as the table is by itself."""
        known = self.position
        if known is not None and reached is not None and not reached.covers(known):
            reached = known.joined(reached)
        self.reached, self.remembered = reached, remembered

    # --------------------------------------------------------------------------------- schema
    def create(
        self,
        fields: Any,
        primary_key: Sequence[str],
        partition_by: Sequence[str],
        options: Mapping[str, str],
    ) -> Table:
        """Make the table; one that another run made in between is taken."""
        self.catalog.create_table(
            self.name,
            fields,
            primary_key=primary_key,
            partition_by=partition_by,
            options=options,
            if_not_exists=True,
        )
        self.table = self._handle()
        self.by_hand = self.table.position(POSITION_PROPERTY)
        self.held = self.table.position(CLAIMS_PROPERTY)
        return self.table

    def alter(self, changes: Sequence[SchemaChange]) -> Table:
        """Change the schema; rows taken before are committed first, under the old one.

        New columns are called as the source calls them: to a source a dot leads nowhere.
        """
        begins = self.replaces and not self.waiting
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
        self.table = self._handle()
        return self.table

    # ----------------------------------------------------------------------------------- rows
    def write(self, rows: pa.Table) -> None:
        """Take rows with ``_ROW_KIND``."""
        assert self.table is not None
        if not rows.num_rows:
            return
        if self.writer is None:
            self.writer = self.table.write()
        self.writer.write(rows)
        self.waiting += rows.num_rows

    def start_over(self) -> None:
        """Forget the rows taken; those to come replace all that is in the table."""
        assert self.table is not None
        self.abort()
        self.writer, self.replaces, self.waiting = self.table.write(overwrite="table"), True, 0

    def abort(self) -> None:
        """Take away what was written and not committed."""
        if self.writer is not None:
            self.writer.abort()
        self.writer, self.replaces = None, False

    def flush(self, *, complete: bool, asked: bool = False) -> None:
        """Commit what was written, with the position reached.

        A position that came with nothing to write waits for the end of the run, unless it is ``asked`` for.
        """
        table, writer = self.table, self.writer
        seen = self.seen if complete or asked else 0
        if table is None or self.reached is None or (writer is None and not seen):
            return
        # From here on the writer's files may be in a commit whose fate is unknown: never abort it.
        replaces, self.writer, self.replaces, self.seen, self.waiting = (
            self.replaces, None, False, 0, 0,
        )  # fmt: skip
        assert self.who is not None
        claims = self.claims.moved(self.who, self.reached, self.fed(), self.takes)
        held = claims.text
        commit = self._commit_as(held, complete=complete)
        done = None
        if writer is not None:
            over = "table" if replaces else None
            done = table.commit([writer.prepare()], commit, overwrite=over)
        if done is None or done.snapshot_id is None:
            # Events that left no row: an ignored truncate, or one of what was never committed.
            nothing = CommitPart(kind=CommitKind.APPEND)
            done = commit_parts(table.access, commit, append=nothing, force=True)
        self.commits.append(done)
        self.by_hand, self.held, self.claims = self.by_hand and "", held, claims
        self.position = self.reached
        self.properties.clear()
        self.expect.clear()

    def takes(self, route: str, table: SourceTable) -> bool:
        """Whether a route brings a source table here."""
        return takes(route, table, self.name.partition(".")[2])

    def _commit_as(self, held: str, *, complete: bool) -> CommitAs:
        commit = self.commit.nth(len(self.commits))
        standing = {CLAIMS_PROPERTY: held, COMPLETE: str(complete).lower()}
        if self.by_hand:
            standing[POSITION_PROPERTY] = ""
        if (known := self.remembered()) is not None:
            self.source_schemas = standing[SOURCE_SCHEMA_PROPERTY] = known
        return replace(
            commit,
            properties={**commit.properties, **self.told(), **standing, **self.properties},
            expect={
                POSITION_PROPERTY: self.by_hand,
                CLAIMS_PROPERTY: self.held,
                **self.expect,
                **commit.expect,
            },
            watermark=self.time_ms if commit.watermark is None else commit.watermark,
        )

    # ------------------------------------------------------------------------------- counting
    @property
    def has_changes(self) -> bool:
        """Whether there is something to commit: rows, events, or what was told of the sources."""
        if self.remembered() not in {None, self.source_schemas}:
            self.seen += 1
        return self.writer is not None or self.seen > 0

    @property
    def shown(self) -> str | None:
        """Up to where the table's newest snapshot says that it has its source, as people read it."""
        if self.by_hand:
            return self.by_hand
        held = Claims.parse(self.held).held
        return held[-1].shown if held else None

    @property
    def done(self) -> list[Commit]:
        """Commits that made a snapshot."""
        return [commit for commit in self.commits if commit.snapshot_id is not None]

    def note_time(self, time_ms: int | None) -> None:
        """Remember when the latest change was committed in the source."""
        if time_ms is not None:
            self.time_ms = max(time_ms, self.time_ms or time_ms)

    def covered(
        self, batch: Any, numbers: np.ndarray[Any, Any], table: SourceTable
    ) -> np.ndarray[Any, Any]:
        """Which of the events with ``numbers`` of a source table the table has already."""
        assert self.who is not None
        covered = self.claims.covered(self.who, batch, numbers, table, self.takes)
        if self.position is not None:
            covered |= batch.consumed(self.position, numbers)
        return covered


def keeps_before(definition: TableSchema) -> bool:
    """Whether old rows of updates matter: handed on as changes, or taken back by an aggregate."""
    options = definition.options
    return (
        not definition.primary_keys
        or options.get(keys_scan.CHANGELOG_PRODUCER) == "input"
        or options.get(keys_merge.MERGE_ENGINE) in {"aggregation", "partial-update"}
    )
