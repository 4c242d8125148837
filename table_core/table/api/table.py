"""The handle that users hold on a table: every verb, each delegated to the module that does it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from table_core.errors import ArgumentError
from table_core.ondisk import layout
from table_core.table.api.frames import Frames
from table_core.table.api.shown import Shown
from table_core.table.api.verbs import Upkeep
from table_core.table.metadata.access import TableAccess
from table_core.table.metadata.documents import Metadata
from table_core.table.metadata.results import CommitAs
from table_core.table.read.batch_scan import batch_scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from table_core.ondisk.snapshot import Snapshot
    from table_core.ports import Clock, Ids, Storage
    from table_core.predicate.expression import Expression
    from table_core.schema.table_schema import TableSchema
    from table_core.table.commit_io.prepared import WriteResult
    from table_core.table.dml.merge_into import MergeClause
    from table_core.table.maintenance.branches import Branches
    from table_core.table.maintenance.tags import Tags
    from table_core.table.metadata.results import Commit, ResultDocument
    from table_core.table.metadata.timestamps import PointInTime
    from table_core.table.read.scan import Scan
    from table_core.table.write.writer import TableWriter

__all__ = ["Table", "open_handle"]


def open_handle(
    name: str,
    storage: Storage,
    clock: Clock,
    ids: Ids,
    *,
    branch: str | None,
    options: Mapping[str, str] | None,
    schema: TableSchema | None = None,
    metadata: Metadata | None = None,
) -> Table:
    """A handle on the table whose root is ``storage``; with ``schema``, if that is known, nothing is read.

    ``metadata`` is what has read ``schema``.

    Raises:
        NotFoundError: there is no table or no such branch.
        OptionError: ``options`` has an unknown one, or one that is fixed for the table.
    """
    from table_core.options.argument_kinds import require_mapping, require_name
    from table_core.options.user_options import refuse_wrong
    from table_core.schema.evolve_options import options_of_handle

    require_mapping("options", options, "{'scan.tag-name': 'v1'}")
    require_name("branch", branch or "", "dev")
    metadata = metadata or Metadata(storage)
    access = TableAccess(
        name=name,
        storage=storage,
        metadata=metadata,
        schema=schema or metadata.latest_schema(),
        clock=clock,
        ids=ids,
        after_commit=_after_commit,
    )
    if branch not in {None, layout.MAIN}:
        from table_core.table.metadata.refs.branches import branch_access

        access = branch_access(access, branch)
    if options:
        refuse_wrong(options)
        texts = {key: str(value) for key, value in options.items()}
        access = replace(access, schema=options_of_handle(access.schema, texts))
    return Table(access)


def _after_commit(access: TableAccess, newest: int, written: frozenset[bytes]) -> None:
    from table_core.table.maintenance.after_commit import (
        run_maintenance,  # slower to load than a small commit
    )

    run_maintenance(access, newest, written)


class Table(Frames, Shown, Upkeep):
    """A handle on a Paimon table: cheap to create, with the schema that was newest then."""

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {self.access.storage.uri!r})"

    # ------------------------------------------------------------------------------ describing
    @property
    def name(self) -> str:
        """``database.table``."""
        return self.access.name

    @property
    def uri(self) -> str:
        """The location of the table, without secrets."""
        return self.access.storage.uri

    @property
    def definition(self) -> TableSchema:
        """The schema document: fields with their ids, keys, options, comment."""
        return self.access.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow sees them."""
        from table_core.datatypes.arrow import arrow_schema

        return arrow_schema(self.access.schema.fields)

    @property
    def options(self) -> Mapping[str, str]:
        """The options in force, as text."""
        return dict(self.access.options.raw)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Primary-key columns."""
        return self.access.schema.primary_keys

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Partition columns."""
        return self.access.schema.partition_keys

    @property
    def birth(self) -> str:
        """The identity of the table that is here now. It is read each time.

        A different text means that the table was dropped and recreated, or that another table was
        moved or copied here. A branch has the birth of the table that it was created in.
        """
        return self.access.metadata.birth()

    # ------------------------------------------------------------------------------- snapshots
    def snapshots(self) -> list[Snapshot]:
        """Every existing snapshot, oldest first."""
        metadata = self.access.metadata
        return [metadata.snapshot(id) for id in self.access.snapshot_ids()]

    def snapshot(self, id: int) -> Snapshot:
        """One snapshot; ``NotFoundError`` lists the existing ones."""
        return self.access.metadata.snapshot(id)

    def latest_snapshot(self) -> Snapshot | None:
        """The newest snapshot, None for a table without any."""
        return self.access.head()

    @property
    def tags(self) -> Tags:
        """The tags of this branch: ``list``, ``get``, ``create``, ``rename``, ``delete``."""
        from table_core.table.maintenance.tags import Tags

        return Tags(self.access)

    @property
    def branches(self) -> Branches:
        """The branches: ``list``, ``create``, ``rename``, ``delete``, ``fast_forward``."""
        from table_core.table.maintenance.branches import Branches

        return Branches(self.access)

    def rollback_to(
        self,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: PointInTime | None = None,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Roll back to an older state. Later snapshots and tags are deleted for good.

        Their data files stay until ``remove_orphan_files``. A second call under the user and
        identifier of ``commit`` does not undo anything that was committed since.
        """
        from table_core.table.maintenance.rollback import rollback_to

        return rollback_to(
            self.access,
            snapshot=snapshot,
            tag=tag,
            timestamp=timestamp,
            dry_run=dry_run,
            commit=commit,
        )

    def filter_committed(self, user: str, identifiers: Iterable[int]) -> list[int]:
        """The ``identifiers`` of ``user`` that are not committed yet, ascending. They must grow.

        For a stream that restarts and does not know which of its commits have landed.
        """
        from table_core.table.commit_io.committer import filter_committed

        return filter_committed(self.access, user, identifiers)

    def position(self, name: str) -> str | None:
        """The newest value of a ``tc.`` property, looked up backwards past foreign commits.

        Raises:
            ArgumentError: commits do not carry a property ``name`` on.
            OutcomeUnknownError: a position existed, and the snapshot that held it is gone.
        """
        from table_core.table.metadata.carried import position

        return position(self.access, name)

    # --------------------------------------------------------------------------------- reading
    def read(
        self,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: PointInTime | None = None,
        watermark: int | None = None,
        limit: int | None = None,
    ) -> Scan:
        """The rows of one state of the table; by default the newest.

        Time travel reads under the schema of that snapshot.  ``columns`` are names, also of members of
        a ROW, such as ``s.a``; the column of the result has that name.  ``where`` is SQL text or
        ``tc.col("amount") > 10``.
        """
        return batch_scan(
            self.access,
            columns=columns,
            where=where,
            limit=limit,
            snapshot=snapshot,
            tag=tag,
            timestamp=timestamp,
            watermark=watermark,
        )

    def changes(
        self,
        after: int | None = None,
        to: int | None = None,
        columns: Sequence[str] | None = None,
        where: str | Expression | None = None,
        mode: str = "auto",
        consumer: str | None = None,
    ) -> Scan:
        """The changes of the snapshots in (``after``, ``to``], with a ``_ROW_KIND`` column.

        ``mode``: ``changelog`` (rows of changelog files), ``delta`` (rows of APPEND snapshots),
        ``diff`` (state at ``to`` against state at ``after``), or ``auto``: changelog if the table
        has a producer, else delta.
        """
        from table_core.table.read.changes import changes_scan

        return changes_scan(
            self.access,
            after=after,
            to=to,
            columns=columns,
            where=where,
            mode=mode,
            consumer=consumer,
        )

    def follow(
        self,
        after: int | None = None,
        consumer: str | None = None,
        poll_seconds: float | None = None,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """Batches of changes, without end, from where ``scan.mode`` says (default: a full state).

        A batch counts as read when the next one is requested; then ``consumer`` moves on.
        ``poll_seconds`` is the pause between polls; by default ``continuous.discovery-interval``, or one
        second.  ``columns`` as in ``read``.
        """
        from table_core.table.read.following import follow

        return follow(
            self.access, after=after, consumer=consumer, poll_seconds=poll_seconds, columns=columns
        )

    def system(self, name: str) -> Scan:
        """A system table, e.g. ``snapshots``, ``files``, ``options``."""
        from table_core.table.system_tables.listing import system_scan

        return system_scan(self.access, name)

    # --------------------------------------------------------------------------------- writing
    def write(
        self,
        commit: CommitAs | None = None,
        overwrite: str | Mapping[str, object] | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> TableWriter:
        """A writer; use it as a context manager and call ``commit``.

        ``overwrite``: None, ``"partitions"`` (those that occur in the rows), ``{"dt": "…"}``, or
        ``"table"``.
        """
        from table_core.table.dml.overwrite import open_writer

        return open_writer(
            self.access, _commit_as(commit, commit_user, commit_identifier), overwrite
        )

    def commit(
        self,
        results: Sequence[WriteResult],
        commit: CommitAs | None = None,
        overwrite: str | Mapping[str, object] | None = None,
    ) -> Commit:
        """Commit what writers in other processes prepared, as one change."""
        from table_core.table.dml.overwrite import commit_results

        return commit_results(self.access, tuple(results), commit or CommitAs(), overwrite)

    def merge_into(
        self,
        source: Any,
        on: Sequence[str] | Mapping[str, str],
        when: Sequence[MergeClause],
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Merge ``source`` (anything Arrow, or a table handle) into this table, clause by clause.

        ``on`` names the columns to match: names that both sides share, or ``{"target": "source"}``.
        ``dry_run`` only counts the rows of each clause.
        """
        from table_core.table.dml.merge_clauses import clauses_of
        from table_core.table.dml.merge_into import foreseen, merge_into

        if dry_run:
            return foreseen(self.access, source, on, clauses_of(when))
        return merge_into(self.access, source, on, clauses_of(when), commit or CommitAs())

    def delete(
        self,
        where: str | Expression,
        commit: CommitAs | None = None,
        dry_run: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> ResultDocument:
        """Delete the rows that match ``where``, in one commit.

        ``parameters`` are the values of ``$name`` in it.

        A key table gets ``-D`` rows. In a table without a key, files are rewritten (OVERWRITE).
        ``dry_run`` only counts the rows.

        Raises:
            UnsupportedFeatureError: the merge engine does not delete.
            CommitConflictError: another writer changed the same files.
        """
        from table_core.predicate.parameters import bind_condition
        from table_core.table.dml.statements import delete

        return delete(
            self.access, bind_condition(where, parameters), commit or CommitAs(), dry_run=dry_run
        )

    def update(
        self,
        values: Mapping[str, str],
        where: str | Expression,
        commit: CommitAs | None = None,
        dry_run: bool = False,
        parameters: Mapping[str, object] | None = None,
    ) -> ResultDocument:
        """Set columns, each to SQL over the old row: ``{"qty": "qty + 1"}``.

        ``dry_run`` only counts the rows.  ``parameters`` are the values of ``$name`` in the SQL.

        Raises:
            ArgumentError: a key column would change.
            DataError: a value does not fit.
            CommitConflictError: another writer changed the same files.
        """
        from table_core.predicate.parameters import bind_condition, bind_values
        from table_core.table.dml.statements import update

        return update(
            self.access,
            bind_values(values, parameters),
            bind_condition(where, parameters),
            commit or CommitAs(),
            dry_run=dry_run,
        )

    def truncate(self, commit: CommitAs | None = None, dry_run: bool = False) -> ResultDocument:
        """Delete every row, in one OVERWRITE commit."""
        from table_core.table.dml.overwrite import truncate

        return truncate(self.access, commit or CommitAs(), dry_run=dry_run)

    def drop_partitions(
        self,
        partitions: Sequence[Mapping[str, object]],
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Drop whole partitions, e.g. ``[{"dt": "2026-01-01"}]``, in one OVERWRITE commit."""
        from table_core.table.dml.overwrite import drop_partitions

        return drop_partitions(self.access, partitions, commit or CommitAs(), dry_run=dry_run)


def _commit_as(commit: CommitAs | None, user: str | None, identifier: int | None) -> CommitAs:
    if commit is not None and not isinstance(commit, CommitAs):
        raise ArgumentError(
            f"write() opens a writer and takes no rows, such as this {type(commit).__name__}: write\n"
            "with table.write() as writer:\n    writer.write(rows)\n    writer.commit()",
            argument="commit",
            value=type(commit).__name__,
        )
    if commit is not None:
        return commit
    return CommitAs(user=user, identifier=identifier)
