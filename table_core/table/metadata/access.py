"""Everything that one table handle needs to reach its table."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from table_core.commit.basis import Opened
from table_core.datatypes.wall_clock import WallClock
from table_core.errors import ErrorKind, NotFoundError, OutcomeUnknownError, TableError
from table_core.ondisk.binary_row import decode_row, sort_key
from table_core.ondisk.layout import MAIN
from table_core.ondisk.manifest import fold_entries
from table_core.options import keys_merge
from table_core.scan.by_partition import PartitionTest, manifests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from table_core.lsm.sorted_run import Key
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.ondisk.highest import Highest
    from table_core.ondisk.manifest import Head
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ondisk.snapshot import Snapshot
    from table_core.options.table import TableOptions
    from table_core.ports import Clock, Ids, Storage
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.documents import Metadata

__all__ = ["AfterCommit", "Bucket", "Handle", "TableAccess"]

Bucket = tuple[bytes, int]
"""A partition row and a bucket number."""
AfterCommit: TypeAlias = "Callable[[TableAccess, int, frozenset[bytes]], None]"
"""Called with the table, the new snapshot and the partitions that got rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccess:
    """The store, the documents and the schema of one table handle."""

    name: str
    """``database.table``, or the last folder of the path."""
    storage: Storage
    metadata: Metadata
    schema: TableSchema
    """The newest schema, with the options of this handle on top of the stored ones."""
    clock: Clock
    ids: Ids
    after_commit: AfterCommit | None = None
    """What follows a commit; the handle gives it, and a table without a handle has none."""

    @property
    def options(self) -> TableOptions:
        """The options in force."""
        return self.schema.options

    @property
    def wall_clock(self) -> WallClock:
        """The clock that stamps files and tags (format T12)."""
        return WallClock(self.clock.local_offset_ms)

    @property
    def branch(self) -> str:
        """The branch that is read and written."""
        return self.metadata.branch

    def with_options(self, options: Mapping[str, str]) -> TableAccess:
        """The same table with ``options`` on top of its options."""
        raw = self.schema.options.with_overrides(options).raw
        return replace(self, schema=replace(self.schema, raw_options=raw))

    def with_schema(self, schema: TableSchema) -> TableAccess:
        """The same table as ``schema`` describes it, e.g. that of an old snapshot.

        Options stay those of this handle, as in Paimon.
        """
        return replace(self, schema=replace(schema, raw_options=self.schema.raw_options))

    def for_whole_rows(self) -> TableAccess:
        """The same table, for a writer of whole rows, e.g. of those that it holds.

        NULL stays NULL, and a row says itself of what kind it is: no default of a column, no
        ``rowkind.field``.
        """
        schema = self.schema
        fields = tuple(replace(field, default=None) for field in schema.fields)
        raw = {k: v for k, v in schema.raw_options.items() if k != keys_merge.ROWKIND_FIELD.key}
        return replace(self, schema=replace(schema, fields=fields, raw_options=raw))

    def is_gone(self) -> NotFoundError:
        """The error of a handle whose table, or branch, is not there any more."""
        what = self.name if self.branch == MAIN else f"branch {self.branch!r} of {self.name}"
        return NotFoundError(
            f"{what} is not at {self.storage.uri} any more: it was dropped or renamed since this "
            "handle was opened. Nothing was written; open the table by its name again",
            name=self.name,
            available=[],
        )

    def head(self) -> Snapshot | None:
        """The newest snapshot; None for a table that has none yet.

        Only then the store is asked for more: whether there is a table.

        Raises:
            NotFoundError: it was dropped or renamed.
        """
        snapshot = self.metadata.head()
        if snapshot is None:
            self.require_there()
        return snapshot

    def probable_head(self) -> Snapshot | None:
        """As ``head``, for what is prepared: the commit looks again, and does over what it prepared on another head.

        Raises:
            NotFoundError: as ``head``.
        """
        return self.metadata.head_after_seen() or self.head()

    def snapshot_ids(self) -> list[int]:
        """Ids of all snapshots up to the newest, ascending; asks like ``head`` where there are none.

        Raises:
            NotFoundError: the table was dropped or renamed.
        """
        ids = self.metadata.snapshot_ids()
        if not ids:
            self.require_there()
            return ids
        newest = self.metadata.head_id() or 0
        return [id for id in ids if id <= newest]  # what is above it is of another line

    def require_there(self) -> None:
        """Require that there is a table, before files are written that nobody could commit.

        Raises:
            NotFoundError: it was dropped or renamed.
        """
        if not self.metadata.schema_ids():
            raise self.is_gone()

    def require_same(self) -> list[TableSchema]:
        """Require that the table that was opened is there, and no other in its place; its schemas.

        Whoever deletes history asks this first: a commit finds it out by itself.

        Raises:
            NotFoundError: it was dropped or renamed, or another one is there.
        """
        schemas = self.metadata.schemas()
        if not schemas:
            raise self.is_gone()
        if Opened.of(self.schema) not in map(Opened.of, schemas):
            raise NotFoundError(
                f"{self.name}: the table that was opened is gone, and another one is in its place: it was "
                "dropped and recreated, or its schema was rolled back. Nothing was changed; open the table "
                "by its name again",
                name=self.name,
                available=[],
            )
        return schemas

    def require_stayed(self, what: str) -> None:
        """Require that the table is still here, now that ``what`` was done to a name in its folder.

        A rename takes along what was done before, and nothing of what comes after.

        Raises:
            OutcomeUnknownError: it was dropped or renamed meanwhile, or another one is in its place.
        """
        try:
            self.require_same()
        except NotFoundError as error:
            raise OutcomeUnknownError(
                f"{self.name}: the table or branch was dropped or renamed while {what}. If it was renamed, look "
                "there whether that was done",
                table=self.name,
            ) from error

    @contextmanager
    def staying(self, what: str) -> Iterator[None]:
        """Within, ``what`` is done: something is not found, and so is the table, if that went meanwhile.

        Raises:
            OutcomeUnknownError: as ``require_stayed``.
        """
        try:
            yield
        except TableError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                self.require_stayed(what)
            raise

    def as_new_as(self, files: Iterable[DataFile]) -> TableAccess:
        """The same table, in a schema at least as new as that of any of ``files``.

        Whoever writes their rows again needs it: a handle that was opened before a column was added would
        leave its values out.  What this handle was told on top of its stored options stays.
        """
        return self._in_schema(max((file.schema_id for file in files), default=0))

    def in_newest_schema(self) -> TableAccess:
        """The same table as it is now: for statements, which write whole rows anew."""
        return self._in_schema(max(self.metadata.schema_ids(), default=0))

    def _in_schema(self, newest: int) -> TableAccess:
        """In that schema, unless this handle knows a newer one."""
        if newest <= self.schema.id:
            return self
        known, schema = self.metadata.schema(self.schema.id), self.metadata.schema(newest)
        options = self.schema.raw_options
        over = {key: value for key, value in options.items() if known.raw_options.get(key) != value}
        return replace(self, schema=schema).with_options(over)

    def live_entries(
        self,
        snapshot: Snapshot | None,
        *,
        keep_manifest: Callable[[ManifestMeta], bool] | None = None,
        keep: Callable[[ManifestEntry], bool] | None = None,
        keep_partition: Callable[[bytes], bool] | None = None,
    ) -> list[ManifestEntry]:
        """The files of ``snapshot``, those that ``keep`` and ``keep_partition`` want, oldest first.

        ``keep`` must decide by partition, bucket or name alone: what it drops, it drops in ADD and
        DELETE entries alike.  What ``keep_partition`` drops is perhaps not even decoded, and a
        ``PartitionTest`` leaves out whole manifests.
        """
        if snapshot is None:
            return []
        entries = self.entries(snapshot, keep_manifest=keep_manifest, keep_partition=keep_partition)
        kept = filter(keep, entries) if keep else entries
        return list(fold_entries(kept).live.values())

    def entries(
        self,
        snapshot: Snapshot,
        *,
        keep_manifest: Callable[[ManifestMeta], bool] | None = None,
        keep_partition: Callable[[bytes], bool] | None = None,
    ) -> Iterator[ManifestEntry]:
        """What ``live_entries`` folds: files that came, and files that went."""
        if keep_manifest is None and isinstance(keep_partition, PartitionTest):
            keep_manifest = keep_partition.may_hold
        metas = self.metadata.data_manifests(snapshot)
        wanted = filter(keep_manifest, metas) if keep_manifest else metas
        if keep_partition is None:
            return self.metadata.entries(wanted)
        return self._of_partitions(wanted, keep_partition)

    def _of_partitions(
        self, metas: Iterable[ManifestMeta], keep: Callable[[bytes], bool]
    ) -> Iterator[ManifestEntry]:
        def keep_heads(heads: Sequence[Head]) -> list[bool]:
            return [keep(head[0]) for head in heads]

        for entries in self.metadata.manifests(metas, keep_heads):
            yield from (entry for entry in entries if keep(entry.partition))

    def files_by_bucket(
        self,
        snapshot: Snapshot | None,
        *,
        keep_manifest: Callable[[ManifestMeta], bool] | None = None,
        keep: Callable[[ManifestEntry], bool] | None = None,
        keep_partition: Callable[[bytes], bool] | None = None,
    ) -> dict[Bucket, list[ManifestEntry]]:
        """The live entries of ``snapshot``, grouped; see ``live_entries``."""
        by_bucket: dict[Bucket, list[ManifestEntry]] = defaultdict(list)
        for entry in self.live_entries(
            snapshot, keep_manifest=keep_manifest, keep=keep, keep_partition=keep_partition
        ):
            by_bucket[entry.partition, entry.bucket].append(entry)
        return dict(by_bucket)

    def files_of_partitions(
        self, snapshot: Snapshot | None, partitions: Collection[bytes]
    ) -> dict[Bucket, list[ManifestEntry]]:
        """The live entries of some ``partitions``, grouped; other manifests are not read."""
        wanted = frozenset(partitions)
        if not wanted:
            return {}
        if not self.schema.partition_keys:
            return self.files_by_bucket(snapshot)
        return self.files_by_bucket(
            snapshot,
            keep_manifest=manifests_of(self.schema.partition_fields, wanted),
            keep_partition=wanted.__contains__,
        )

    def highest_of_partitions(
        self, snapshot: Snapshot | None, partitions: Collection[bytes]
    ) -> dict[Bucket, Highest]:
        """The largest numbers that files of some ``partitions`` ever had, by bucket; other manifests are not read."""
        of_buckets: dict[Bucket, Highest] = {}
        if snapshot is None:
            return of_buckets
        metas: Iterable[ManifestMeta] = self.metadata.data_manifests(snapshot)
        wanted = partitions if self.schema.partition_keys else None
        if wanted is not None:
            metas = filter(manifests_of(self.schema.partition_fields, wanted), metas)
        for numbers in self.metadata.highest(metas, wanted):
            for row in partitions:
                for number, highest in numbers.get(row, {}).items():
                    known = of_buckets.get((row, number))
                    of_buckets[row, number] = highest if known is None else known.joined(highest)
        return of_buckets

    def bounds(self, file: DataFile) -> tuple[Key, Key]:
        """Smallest and largest key of ``file``, comparable."""
        types = [f.type for f in self.schema.trimmed_key_fields]
        low = decode_row(types, file.min_key, path=file.file_name)
        high = decode_row(types, file.max_key, path=file.file_name)
        return sort_key(types, low), sort_key(types, high)


class Handle(Protocol):
    """What leads to a table, such as the handle that users hold."""

    @property
    def access(self) -> TableAccess:
        """Everything that is needed to reach it."""
        ...
