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
    """Compaction, expiry and what else a table needs from time to time."""

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
        """Compact: ``full`` to one sorted run a bucket, ``minor`` what a writer would pick.

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

    def expire_snapshots(
        self,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: PointInTime | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Forget old snapshots and the files that only they need.

        Options of the table apply where an argument is None.  Tags, consumers, branches and the
        newest snapshot that holds a position keep what they need.
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

        Partitions whose value is no time are reported in ``details`` and stay.
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
        """Delete files that no snapshot, tag or kept changelog of any branch names.

        Only files from before ``older_than`` (default: a day ago) whose names the format makes, and
        only inside the table's folder; foreign files are reported in ``details`` and stay.
        ``allow_young`` permits a time less than a day ago: nobody may be writing then.
        ``files_before`` and ``files_after`` count every file in the folder.
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
        """Forget changelogs that were kept when their snapshots expired (options ``changelog.*``).

        Arguments are as in ``expire_snapshots``; counts are back from the newest snapshot.
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
        """Delete tags whose ``time_retained`` is over.

        With ``older_than`` also those with a ``time_retained`` that were made before; one without
        stays for ever.  Files that only they needed are deleted.
        """
        from table_core.table.maintenance.expire_tags import expire_tags

        return expire_tags(self.access, older_than=older_than, dry_run=dry_run)

    def delete_tags(self, names: Sequence[str], dry_run: bool = False) -> ResultDocument:
        """Delete tags, and files that only they kept.

        Raises:
            NotFoundError: one is not there; nothing is deleted then.
        """
        from table_core.table.maintenance.tag_deletion import delete_tags

        return delete_tags(self.access, names, action="delete-tags", dry_run=dry_run)

    def health(self, **thresholds: float) -> Health:
        """What needs compacting or expiring, from metadata alone: no data file is touched.

        ``thresholds`` are the members of ``health.verdict.Thresholds``, e.g.
        ``sorted_runs_due=10``.
        """
        from table_core.table.maintenance.health import health

        return health(self.access, thresholds)

    def partition(
        self, partition: Mapping[str, object], *, with_done: bool = False
    ) -> PartitionState | None:
        """What there is of a partition, e.g. ``{"dt": "2026-01-01"}``; None without live files.

        Some of the partition columns are enough, unless ``with_done`` asks for the mark that
        ``mark_done`` leaves.
        """
        from table_core.table.maintenance.partition_state import partition_state

        return partition_state(self.access, partition, with_done=with_done)

    def touched_partitions(
        self, snapshots: Sequence[int], limit: int = 100
    ) -> list[dict[str, str | None]] | None:
        """The partitions whose rows the commits of ``snapshots`` changed, in one spelling.

        Values are texts as SQL casts them, a DATE ``2026-01-01``, None for NULL.  As the snapshots say,
        else from their manifests.  None where there are more than ``limit``.
        """
        from table_core.table.maintenance.partition_state import touched_partitions

        return touched_partitions(self.access, snapshots, limit)

    def live_partitions(self) -> list[dict[str, str | None]]:
        """The values of every partition that has files, in the spelling of events."""
        from table_core.table.maintenance.partition_state import live_partitions

        return live_partitions(self.access)

    def rows_came_ms(self) -> int | None:
        """When rows last came, in epoch milliseconds; compactions and statistics bring none.

        Where the commit that brought them has expired, its files tell.  None where nothing does.
        """
        from table_core.table.read.last_rows import rows_came_ms

        return rows_came_ms(self.access)

    def delivers(self, snapshot: int) -> CommitNote:
        """What a snapshot delivers: kind, operation, rows by what happened to them, partitions.

        Raises:
            NotFoundError: it is expired, or there never was one.
        """
        from table_core.table.commit_io.deliveries import note_of

        return note_of(self.access, self.access.metadata.snapshot(snapshot), read=True)

    def partition_values(self, partition: Mapping[str, object]) -> dict[str, str | None]:
        """The values that ``partition`` names, some or all of them, in the spelling of events.

        Raises:
            ArgumentError: a name is no partition column, or a value does not fit its type.
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
        """Write the manifests anew, as few as may be and without what cancels out.

        No data file is touched; a COMPACT snapshot without changes names the new manifests.
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
        """How far what feeds this table has come, and its consumers: ``list``, ``show``, ``set``, ``reset``."""
        from table_core.table.maintenance.reader_positions import ReaderPositions

        return ReaderPositions(self.access)

    def mark_done(
        self,
        partitions: Sequence[Mapping[str, object]] | None = None,
        idle_time: str | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Say that whole partitions are complete, e.g. ``[{"dt": "2026-01-01"}]``.

        Writes a ``_SUCCESS`` file into each; marking again only moves its modification time.  With
        ``idle_time``, e.g. ``"1 h"``, those that nobody has written to for so long, and that were not
        marked since.  A partition that is not there is refused.
        """
        from table_core.table.maintenance.idle_partitions import idle_partitions
        from table_core.table.maintenance.mark_done import mark_done

        if (partitions is None) == (idle_time is None):
            raise ArgumentError(
                "name partitions or an idle_time, one of them", argument="idle_time"
            )
        given, found = partitions or (), idle_time is not None
        if idle_time is not None:
            given = idle_partitions(self.access, idle_time)
        return mark_done(self.access, given, none_is_fine=found, known=found, dry_run=dry_run)

    def analyze(
        self,
        columns: Sequence[str] | None = None,
        commit: CommitAs | None = None,
        dry_run: bool = False,
    ) -> ResultDocument:
        """Count rows, and for ``columns`` (default: all) distinct values, NULLs, bounds, lengths.

        Reads the newest snapshot once and, unless ``dry_run``, commits an ANALYZE snapshot that names
        the result.
        """
        from table_core.table.maintenance.analyze import analyze

        return analyze(self.access, columns, commit or CommitAs(), dry_run=dry_run)
