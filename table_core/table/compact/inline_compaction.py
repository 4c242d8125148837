"""The compaction that goes along with a write (architecture: "When a write compacts")."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.errors import FilesExpiredError
from table_core.lsm.sorted_run import overlap
from table_core.options import keys_commit
from table_core.table.files.merging import BUCKETS_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.data_file import DataFile
    from table_core.table.commit_io.prepared import BucketChange, CompactChange
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = ["InlineCompaction"]

_log = logging.getLogger(__name__)
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class InlineCompaction:
    """Compacts the buckets that a writer touched, unless the table is ``write-only``.

    With ``full-compaction.delta-commits`` every bucket that is not fully compacted is, whether it
    was touched or not: the changes of all are delivered together.
    """

    access: TableAccess
    factory: FileFactory
    replaces: bool = False
    """The write overwrites: there is nothing beside its own files, and those that do not overlap
    go to the top level with the commit."""
    full: bool | None = None
    """Whether to compact the buckets that were touched fully, and no others. None: as the options ask."""

    def run(self, changes: Sequence[BucketChange]) -> tuple[CompactChange, ...]:
        """Compact what ``changes`` bring together with what is there; see ``begun_again``."""

        def compact_all() -> tuple[CompactChange, ...]:
            with self.factory.aside() as factory:
                return self._compacted(factory, changes)

        return self.begun_again(compact_all)

    def begun_again(
        self, compact: Callable[[], tuple[CompactChange, ...]]
    ) -> tuple[CompactChange, ...]:
        """What ``compact`` gives, which looks at the table anew each time.

        Another compaction may take files out, and an expiry delete them, while they are read.  That is no reason for
        the rows of a write not to be committed: after some times they wait for the next compaction.

        Raises:
            FilesExpiredError: the table has not changed meanwhile, so it lacks a file; or it is the verb ``compact``.
        """
        seen: str | None = None
        for left in reversed(range(_TRIES)):
            try:
                return compact()
            except FilesExpiredError:
                head = self.access.head()
                is_asked_for = self.full is not None
                if head is None or head.state == seen or (is_asked_for and not left):
                    raise
                seen = head.state
        _log.warning(
            "%s: rows wait for the next compaction: %d times others took files that this one read",
            self.access.name,
            _TRIES,
        )
        return ()

    def _compacted(
        self, factory: FileFactory, changes: Sequence[BucketChange]
    ) -> tuple[CompactChange, ...]:
        buckets, full = self.due(changes)
        if not buckets:
            return ()
        from table_core.table.compact.compaction import compact_key_bucket

        totals = {(c.partition, c.bucket): c.total_buckets for c in changes}

        def compact(bucket: Bucket) -> CompactChange | None:
            done = compact_key_bucket(self.access, factory, bucket, buckets[bucket], full=full)
            if done is None or bucket not in totals:
                return done
            return replace(done, total_buckets=totals[bucket])

        with ThreadPoolExecutor(BUCKETS_AT_ONCE) as pool:
            done = list(pool.map(compact, buckets))
        return tuple(change for change in done if change is not None)

    def due(self, changes: Sequence[BucketChange]) -> tuple[dict[Bucket, list[DataFile]], bool]:
        """The buckets to look at, each with all its files, and whether to compact them fully."""
        access = self.access
        if not access.schema.is_key_table or access.options.get(keys_commit.WRITE_ONLY):
            return {}, False
        touched: dict[Bucket, list[DataFile]] = {}
        for change in changes:
            if change.bucket >= 0:  # others wait for the verb ``compact``
                touched.setdefault((change.partition, change.bucket), []).extend(change.added)
        if not touched:
            return {}, False
        if self.replaces:
            return {
                bucket: own for bucket, own in touched.items() if overlap(own, access.bounds)
            }, False
        from table_core.table.compact.compaction import wants_full

        full = wants_full(access) if self.full is None else self.full
        head = access.head()
        if full and self.full is None:
            live = access.files_by_bucket(head)
        else:
            own = access.files_of_partitions(head, {partition for partition, _ in touched})
            live = {bucket: entries for bucket, entries in own.items() if bucket in touched}
        for bucket, entries in live.items():
            touched.setdefault(bucket, []).extend(entry.file for entry in entries)
        return touched, full
