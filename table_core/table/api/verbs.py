"""The verbs that keep a table in shape; ``Table`` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import ArgumentError
from table_core.table.metadata.results import CommitAs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.predicate.expression import Expression
    from table_core.table.commit_io.deliveries import CommitNote
    from table_core.table.maintenance.health import Health
    from table_core.table.maintenance.partition_state import PartitionState
    from table_core.table.maintenance.reader_positions import ReaderPositions
    from table_core.table.metadata.access import TableAccess
    from table_core.table.metadata.refs.consumers import Consumers
    from table_core.table.metadata.results import ResultDocument
    from table_core.table.metadata.timestamps import PointInTime

__all__ = ["Upkeep"]


class Upkeep:
    """Compaction, expiry and the other upkeep of a table."""

    def __init__(self, access: TableAccess) -> None:
        self.access = access

    def compact(
        self,
        strategy: str = "full",
        partitions: Sequence[Mapping[str, object]] | None = None,
        where: str | Expression | None = None,
        order_by: Sequence[str] | None = None,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Compact: ``full`` to one sorted run a bucket, ``minor`` as a writer would.

        ``where`` may name partition columns only.  A full compaction delivers the changes of a
        table with ``changelog-producer=full-compaction``.

        ``order_by`` sorts the rows of an append table with ``bucket=-1``, partition by partition:
        columns, along the curve that ``clustering.strategy`` names, or one text that names it
        too, such as ``["zorder(country, day)"]``.
        """
        from table_core.table.compact.compact import compact

        return compact(
            self.access,
            strategy=strategy,
            partitions=partitions,
            where=where,
            order_by=order_by,
            dry_run=dry_run,
            commit=commit or CommitAs(),
        )

    def rescale(
        self,
        buckets: int | None = None,
        partitions: Sequence[Mapping[str, object]] | None = None,
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Rewrite partitions whose number of buckets differs from the table's, in one commit.

        ``buckets`` first changes the option ``bucket``. A partition takes no rows until it is
        rescaled or overwritten.

        Raises:
            CommitConflictError: another writer changed one of the partitions meanwhile.
        """
        from table_core.table.compact.rescale import rescale

        return rescale(self.access, buckets, partitions, commit or CommitAs(), dry_run=dry_run)

    def expire_snapshots(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: PointInTime | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Delete old snapshots, and the files that only they need.

        If an argument is None, the table's option applies. Whatever tags, consumers, branches and
        the newest snapshot with a position need is kept.
        """
        from table_core.table.maintenance.expirer import expire_snapshots

        return expire_snapshots(
            self.access,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    def expire_partitions(
        self,
        expiration_time: str | None = None,
        dry_run: bool = False,
        commit: CommitAs | None = None,
    ) -> ResultDocument:
        """Drop partitions whose value is older than ``expiration_time`` (e.g. ``"7 d"``).

        Partitions whose value is not a time are kept and reported in ``details``.
        """
        from table_core.table.maintenance.expire_partitions import expire_partitions

        return expire_partitions(
            self.access, expiration_time, dry_run=dry_run, commit=commit or CommitAs()
        )

    def remove_orphan_files(
        self,
        older_than: PointInTime | None = None,
        dry_run: bool = False,
        allow_young: bool = False,
    ) -> ResultDocument:
        """Delete files that no snapshot, tag or kept changelog of any branch refers to.

        It deletes only files from before ``older_than`` (default: a day ago) whose names belong to
        the format, and only in the table's folder. Foreign files are kept and reported in
        ``details``. ``allow_young`` allows a time less than a day ago; no process may be writing
        then. ``files_before`` and ``files_after`` count every file in the folder.
        """
        from table_core.table.maintenance.orphan_remover import remove_orphan_files

        return remove_orphan_files(
            self.access, older_than=older_than, allow_young=allow_young, dry_run=dry_run
        )

    def expire_changelogs(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: PointInTime | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Delete changelogs that outlived their snapshots (options ``changelog.*``).

        The arguments are those of ``expire_snapshots``; counts go back from the newest snapshot.
        """
        from table_core.table.maintenance.expirer import expire_changelogs

        return expire_changelogs(
            self.access,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    def expire_tags(
        self, older_than: PointInTime | None = None, dry_run: bool = False
    ) -> ResultDocument:
        """Delete tags whose ``time_retained`` has ended.

        ``older_than`` also deletes tags with a ``time_retained`` that were created before that
        time. A tag without one stays for ever. Files that only deleted tags needed are deleted too.
        """
        from table_core.table.maintenance.expire_tags import expire_tags

        return expire_tags(self.access, older_than=older_than, dry_run=dry_run)

    def recover(self, dry_run: bool = True) -> ResultDocument:
        """Say what is broken in the table and its branches, and with ``dry_run=False`` save what can be saved.

        Snapshots, schemas, tags, consumers and hints are looked at, and the manifests and data files of what
        can be read. ``details["damage"]`` says of each what is wrong, what is done, and what is lost. Whatever
        is taken away is kept in the folder ``details["kept_in"]``. Let nobody write meanwhile.

        ``Catalog.recover_table`` does the same for a table that cannot be opened.

        Raises:
            CommitConflictError: somebody changed a document meanwhile, or rolls back, fast-forwards or recovers the table.
        """
        from table_core.table.maintenance.recover import recover

        access = self.access
        return recover(access.name, access.storage, access.clock, access.ids, dry_run=dry_run)

    def delete_tags(self, names: Sequence[str], dry_run: bool = False) -> ResultDocument:
        """Delete tags, and files that only they kept.

        Raises:
            NotFoundError: a tag does not exist; then nothing is deleted.
        """
        from table_core.table.maintenance.tag_deletion import delete_tags

        return delete_tags(self.access, names, action="delete-tags", dry_run=dry_run)

    def health(self, **thresholds: float) -> Health:
        """What needs compaction or expiry, judged by metadata alone. No data file is read.

        ``thresholds`` are the members of ``health.verdict.Thresholds``, e.g.
        ``sorted_runs_due=10``.
        """
        from table_core.table.maintenance.health import health

        return health(self.access, thresholds)

    def partition(
        self, partition: Mapping[str, object], *, with_done: bool = False
    ) -> PartitionState | None:
        """The state of a partition, e.g. ``{"dt": "2026-01-01"}``; None without live files.

        Some of the partition columns are enough, unless ``with_done`` asks for the mark that
        ``mark_done`` leaves.
        """
        from table_core.table.maintenance.partition_state import partition_state

        return partition_state(self.access, partition, with_done=with_done)

    def touched_partitions(
        self, snapshots: Sequence[int], limit: int = 100
    ) -> list[dict[str, str | None]] | None:
        """The partitions whose rows the commits of ``snapshots`` changed, spelled as in events.

        Values are texts as SQL casts them, such as ``2026-01-01`` for a DATE, and None for NULL.
        They come from the snapshots, or else from their manifests. None if there are more than
        ``limit``.
        """
        from table_core.table.maintenance.partition_state import touched_partitions

        return touched_partitions(self.access, snapshots, limit)

    def live_partitions(self) -> list[dict[str, str | None]]:
        """The values of every partition that has files, in the spelling of events."""
        from table_core.table.maintenance.partition_state import live_partitions

        return live_partitions(self.access)

    def rows_came_ms(self) -> int | None:
        """When rows last arrived, in epoch milliseconds; compactions and statistics do not count.

        If the commit that brought them has expired, the time comes from its files. None if it is
        unknown.
        """
        from table_core.table.read.last_rows import rows_came_ms

        return rows_came_ms(self.access)

    def delivers(self, snapshot: int) -> CommitNote:
        """What a snapshot delivers: kind, operation, rows added, updated and deleted, partitions.

        Raises:
            NotFoundError: the snapshot has expired, or never existed.
        """
        from table_core.table.commit_io.deliveries import note_of

        return note_of(self.access, self.access.metadata.snapshot(snapshot), read=True)

    def partition_values(self, partition: Mapping[str, object]) -> dict[str, str | None]:
        """The values that ``partition`` names, some or all of them, in the spelling of events.

        Raises:
            ArgumentError: a name is not a partition column, or a value does not fit its type.
        """
        from table_core.table.metadata.partition_spec import canonical_partition

        return canonical_partition(self.access, partition)

    def partition_key(self, partition: Mapping[str, object]) -> str:
        """The one key of a partition, ``dt=2026-01-01/hh=5``, escaped as folder names are.

        Raises:
            ArgumentError: a column is missing or unknown, or a value does not fit its type.
        """
        from table_core.ondisk.partition_key import partition_key
        from table_core.table.metadata.partition_spec import encoded_partition

        return partition_key(self.access.schema, encoded_partition(self.access, partition))

    def done_partitions(self, after_ms: int = 0) -> list[tuple[dict[str, str | None], int]]:
        """The partitions that were marked done after that time, oldest mark first, with the time.

        Reads one small file for each partition of the table.
        """
        from table_core.table.maintenance.partition_state import done_partitions

        return done_partitions(self.access, after_ms)

    def rewrite_manifests(
        self, dry_run: bool = False, commit: CommitAs | None = None
    ) -> ResultDocument:
        """Rewrite the manifests into as few as possible, without entries that cancel out.

        No data file is touched. A COMPACT snapshot without changes refers to the new manifests.
        """
        from table_core.table.maintenance.rewrite_manifests import rewrite_manifests

        return rewrite_manifests(self.access, dry_run=dry_run, commit=commit or CommitAs())

    @property
    def consumers(self) -> Consumers:
        """Readers that expiry waits for: ``list``, ``get``, ``reset``, ``delete``, ``expire``."""
        from table_core.table.metadata.refs.consumers import Consumers

        return Consumers(self.access)

    @property
    def positions(self) -> ReaderPositions:
        """Positions of flows and syncs into this table: ``list``, ``show``, ``set``, ``reset``.

        Consumers of this table are listed too.
        """
        from table_core.table.maintenance.reader_positions import ReaderPositions

        return ReaderPositions(self.access)

    def mark_done(
        self,
        partitions: Sequence[Mapping[str, object]] | None = None,
        idle_time: str | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Mark whole partitions as complete, e.g. ``[{"dt": "2026-01-01"}]``.

        Writes a ``_SUCCESS`` file into each partition; marking again only updates its modification
        time. ``idle_time``, e.g. ``"1 h"``, selects partitions that have not been written to for
        that long and were not marked since. A partition that does not exist is refused.
        """
        from table_core.table.maintenance.idle_partitions import idle_partitions
        from table_core.table.maintenance.mark_done import mark_done

        if (partitions is None) == (idle_time is None):
            raise ArgumentError(
                "name partitions or an idle_time, one of them", argument="idle_time"
            )
        chosen, searched = partitions or (), idle_time is not None
        if idle_time is not None:
            chosen = idle_partitions(self.access, idle_time)
        return mark_done(
            self.access, chosen, none_is_fine=searched, known=searched, dry_run=dry_run
        )

    def analyze(
        self,
        columns: Sequence[str] | None = None,
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Count rows, and for ``columns`` (default: all) distinct values, NULLs, bounds, lengths.

        Reads the newest snapshot once. Unless ``dry_run`` is set, it commits an ANALYZE snapshot
        that refers to the result.
        """
        from table_core.table.maintenance.analyze import analyze

        return analyze(self.access, columns, commit or CommitAs(), dry_run=dry_run)
