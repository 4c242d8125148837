"""The verb ``compact``: picks buckets, compacts them, commits once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from table_core.errors import ArgumentError
from table_core.lsm import universal
from table_core.lsm.levels import Levels
from table_core.lsm.triggers import number_of_levels
from table_core.merge.clustering import Clustering
from table_core.ondisk.layout import POSTPONE_BUCKET
from table_core.table.commit_io.committer import begin, commit_parts, compact_part
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.compact.compaction import (
    compact_append_files,
    compact_key_bucket,
    files_to_rewrite,
    rewritten_anyway,
    wants_full,
)
from table_core.table.compact.postponed import spread_postponed
from table_core.table.compact.sort_compaction import refuse_unsortable, sort_bucket
from table_core.table.files.data_files import FileFactory
from table_core.table.files.merging import BUCKETS_AT_ONCE
from table_core.table.metadata.describing import committed, foretold
from table_core.table.metadata.partition_spec import manifest_matcher, partition_matcher
from table_core.table.metadata.progress import tell
from table_core.table.metadata.results import CommitAs
from table_core.table.read.state_plan import deletions_of
from table_core.table.write.writer import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.ondisk.data_file import DataFile
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.ondisk.snapshot import Snapshot
    from table_core.predicate.expression import Expression
    from table_core.table.commit_io.prepared import CompactChange
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.metadata.results import Commit, ResultDocument

__all__ = [
    "Choice",
    "Selection",
    "choose",
    "clustering_of",
    "commit_compaction",
    "compact",
    "compact_bucket",
    "with_request",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The buckets that a compaction covers, as of one snapshot."""

    head: Snapshot | None
    full: bool
    buckets: Mapping[Bucket, tuple[DataFile, ...]]
    """Live files of each bucket with work to do."""
    totals: Mapping[Bucket, int]
    """Of how many buckets each is one: an old partition may have others than new ones."""


def compact(
    access: TableAccess,
    *,
    strategy: str,
    partitions: Sequence[Mapping[str, object]] | None,
    where: str | Expression | None,
    order_by: Sequence[str] | None,
    dry_run: bool,
    commit: CommitAs,
    rows: frozenset[bytes] | None = None,
) -> ResultDocument:
    """See ``Table.compact``.  ``rows``: serialized partitions, those alone."""
    started_ms = access.clock.now_ms()
    clustering = clustering_of(access, order_by, strategy)
    selection = Selection.of(
        access,
        strategy=strategy,
        partitions=partitions,
        where=where,
        rows=rows,
        everything=clustering is not None,
    )
    commit = with_request(commit, access, strategy, partitions, where, order_by)
    begun = begin(access, commit)
    choice, landed = choose(selection, begun.head), begun.landed
    changes: list[CompactChange] = []
    if dry_run:
        seen = [] if landed else _foreseen(access, choice, everything=clustering is not None)
        return _foretold(access, choice, seen, started_ms=started_ms)
    if landed is None:
        changes = _compact_buckets(access, choice, clustering)
    return commit_compaction(access, choice, changes, commit, landed, started_ms=started_ms)


def compact_rows(access: TableAccess, rows: frozenset[bytes] | None) -> None:
    """A minor compaction on nobody's order, of the serialized partitions ``rows``; None: of all."""
    compact(
        access,
        strategy="minor",
        partitions=None,
        where=None,
        order_by=None,
        dry_run=False,
        commit=CommitAs(),
        rows=rows,
    )


def with_request(
    commit: CommitAs,
    access: TableAccess,
    strategy: str,
    partitions: Sequence[Mapping[str, object]] | None,
    where: str | Expression | None,
    order_by: Sequence[str] | None,
) -> CommitAs:
    """``commit``, with this compaction as what it asks for."""
    return commit.with_request(
        "compact",
        access.branch,
        strategy=strategy,
        partitions=partitions,
        where=where,
        order_by=order_by,
    )


def _foreseen(access: TableAccess, choice: Choice, *, everything: bool) -> list[Sequence[DataFile]]:
    """For each bucket that would change, the files that would be written anew."""
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    rewritten: list[Sequence[DataFile]] = []
    for bucket, files in choice.buckets.items():
        if everything or bucket[1] == POSTPONE_BUCKET:
            rewritten.append(files)
            continue
        changes, anew = files_to_rewrite(access, factory, bucket, files, full=choice.full)
        if changes:
            rewritten.append(anew)
    return rewritten


def _foretold(
    access: TableAccess, choice: Choice, seen: Sequence[Sequence[DataFile]], *, started_ms: int
) -> ResultDocument:
    """What goes is known; what comes instead depends on the rows."""
    return foretold(
        access,
        "compact",
        choice.head,
        [file.file_size for files in seen for file in files],
        {"strategy": "full" if choice.full else "minor", "buckets": len(seen)},
        started_ms=started_ms,
        instead=True,
    )


def clustering_of(
    access: TableAccess, order_by: Sequence[str] | None, strategy: str
) -> Clustering | None:
    """The order in which rows are to be written, None for none.

    Raises:
        UnsupportedFeatureError: the order of rows is not free.
        ArgumentError: ``strategy`` does not write every file anew.
    """
    if not order_by:
        return None
    refuse_unsortable(access)
    if strategy != "full":
        raise ArgumentError(
            f"order_by rewrites every file, and strategy={strategy!r} does not; use 'full'",
            argument="strategy",
            value=strategy,
        )
    return Clustering.of(access.schema, order_by)


def _compact_buckets(
    access: TableAccess, choice: Choice, clustering: Clustering | None
) -> list[CompactChange]:
    changes: list[CompactChange] = []
    full = choice.full
    if any(bucket == POSTPONE_BUCKET for _, bucket in choice.buckets):  # what waits is written now
        full = full or wants_full(access)
        changes = spread_postponed(access, choice.buckets, choice.totals, full=full)
    spread = {(c.partition, c.bucket) for c in changes}
    factory = FileFactory(access.storage, access.schema, access.clock, access.ids)
    with undone_by(factory.discard):
        if clustering is not None:  # one after the other: each takes all the memory there is
            return [
                sort_bucket(access, factory, bucket, files, clustering)
                for bucket, files in _told(choice.buckets)
            ]
        wanted = {bucket: f for bucket, f in choice.buckets.items() if bucket not in spread}
        with ThreadPoolExecutor(BUCKETS_AT_ONCE) as pool:
            jobs = {
                bucket: pool.submit(compact_bucket, access, factory, bucket, f, full=full)
                for bucket, f in wanted.items()
            }
            try:
                return changes + [
                    change for bucket, _ in _told(wanted) for change in jobs[bucket].result()
                ]
            finally:  # where one fails, the others need not begin
                pool.shutdown(wait=False, cancel_futures=True)


def _told(
    buckets: Mapping[Bucket, Sequence[DataFile]],
) -> Iterator[tuple[Bucket, Sequence[DataFile]]]:
    """The buckets; who watches is told by their bytes how many are done."""
    total, done = sum(f.file_size for files in buckets.values() for f in files), 0
    for bucket, files in buckets.items():
        yield bucket, files
        done += sum(file.file_size for file in files)
        tell("compacting", done, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a compaction is asked for.  Tasks may share in it."""

    access: TableAccess
    full: bool
    everything: bool
    """Whether buckets count that have nothing to compact."""
    keep_partition: Callable[[bytes], bool] | None
    keep_manifest: Callable[[ManifestMeta], bool] | None

    @classmethod
    def of(
        cls,
        access: TableAccess,
        *,
        strategy: str,
        partitions: Sequence[Mapping[str, object]] | None = None,
        where: str | Expression | None = None,
        rows: frozenset[bytes] | None = None,
        everything: bool = False,
    ) -> Selection:
        """The selection of a verb.

        Raises:
            ArgumentError: no such strategy, partition column or value.
            UnsupportedFeatureError: this release does not write such tables.
        """
        refuse_unwritable(access)
        if strategy not in {"full", "minor"}:
            raise ArgumentError(
                f"strategy={strategy!r}: use 'full' or 'minor'", argument="strategy", value=strategy
            )
        selected = partition_matcher(access, partitions) if partitions else None
        chosen = _where_matcher(access, where)

        def wanted(row: bytes) -> bool:
            if rows is not None and row not in rows:
                return False
            return (selected is None or selected(row)) and (chosen is None or chosen(row))

        return cls(
            access=access,
            full=strategy == "full",
            everything=everything,
            keep_partition=wanted if rows is not None or selected or chosen else None,
            keep_manifest=_manifest_matcher(access, partitions, where),
        )

    def is_due(self, bucket: Bucket, files: Sequence[DataFile], masked: frozenset[str]) -> bool:
        """Whether ``bucket`` may have work to do; ``masked``: names of files with a deletion vector."""
        return (
            self.everything
            or bucket[1] == POSTPONE_BUCKET
            or not self.full
            or not _is_compact(self.access, files, masked)
        )


def choose(selection: Selection, head: Snapshot | None) -> Choice:
    """Which buckets of ``head`` have something to compact, or all that were chosen."""
    access = selection.access
    live = access.files_by_bucket(
        head, keep_manifest=selection.keep_manifest, keep_partition=selection.keep_partition
    )
    files = {bucket: tuple(e.file for e in entries) for bucket, entries in live.items()}
    masked = frozenset(deletions_of(access, head) or ()) if head else frozenset()
    return Choice(
        head=head,
        full=selection.full,
        buckets={
            bucket: those
            for bucket, those in files.items()
            if selection.is_due(bucket, those, masked)
        },
        totals={bucket: entries[0].total_buckets for bucket, entries in live.items()},
    )


def _where_matcher(
    access: TableAccess, where: str | Expression | None
) -> Callable[[bytes], bool] | None:
    if where is None:
        return None
    from table_core.table.read.partition_where import partition_where

    return partition_where(access, where)


def _manifest_matcher(
    access: TableAccess,
    partitions: Sequence[Mapping[str, object]] | None,
    where: str | Expression | None,
) -> Callable[[ManifestMeta], bool] | None:
    """Which manifests may name what is chosen; None: all."""
    if partitions:
        return manifest_matcher(access, partitions)
    if where is None:
        return None
    from table_core.table.read.partition_where import manifest_where

    return manifest_where(access, where)


def _is_compact(access: TableAccess, files: Sequence[DataFile], masked: frozenset[str]) -> bool:
    if not access.schema.is_key_table:
        return len(files) <= 1 and not any(f.file_name in masked for f in files)
    levels = Levels.of(files, access.bounds, number_of_levels(access.options))
    anyway = rewritten_anyway(access)
    return universal.full(levels, lambda f: f.file_name in masked or anyway(f)) is None


def compact_bucket(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Sequence[DataFile],
    *,
    full: bool,
) -> list[CompactChange]:
    """Compact one bucket of either kind of table."""
    if not access.schema.is_key_table:
        return compact_append_files(access, factory, bucket, files, full=full)
    change = compact_key_bucket(access, factory, bucket, files, full=full)
    return [] if change is None else [change]


def commit_compaction(
    access: TableAccess,
    choice: Choice,
    changes: Sequence[CompactChange],
    commit: CommitAs,
    landed: Commit | None,
    *,
    started_ms: int,
) -> ResultDocument:
    """Commit ``changes`` as one COMPACT snapshot and describe what was done.

    ``landed`` is what an earlier run of ``commit`` has made; without any changes, this one looks no more.
    """
    changes = [
        replace(c, total_buckets=choice.totals.get((c.partition, c.bucket), c.total_buckets))
        for c in changes
    ]
    part = compact_part(changes)
    done = landed if part is None else commit_parts(access, commit, compact=part)
    return committed(
        access,
        "compact",
        done,
        choice.head,
        {
            "strategy": "full" if choice.full else "minor",
            "buckets": len({(c.partition, c.bucket) for c in changes}),
            "changelog_rows": sum(f.row_count for c in changes for f in c.changelog),
        },
        started_ms=started_ms,
    )
