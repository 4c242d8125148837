"""What to compact, bucket by bucket: the automatic pick of a writer, and the verb ``compact``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.lsm import universal
from table_core.lsm.append import PackingRules, pick_bucket, pick_unaware
from table_core.lsm.levels import Levels
from table_core.lsm.rewrite import Rewrite, Rules, lookup_must_rewrite, plan
from table_core.lsm.triggers import full_by_commits, needs_lookup, number_of_levels
from table_core.merge.record_expiry import RecordExpiry
from table_core.ondisk.binary_row import array_of
from table_core.ondisk.data_file import EntryKind, FileSource
from table_core.ondisk.snapshot import CommitKind
from table_core.options import keys_identity, keys_merge, keys_write
from table_core.storage.columns.data_format import format_name
from table_core.table.commit_io.prepared import CompactChange
from table_core.table.compact.bucket_vectors import BucketVectors
from table_core.table.compact.compactor import BucketCompactor
from table_core.table.compact.older_rows import column_range, must_meet
from table_core.table.files.file_reader import FileReader
from table_core.table.files.merging import MergeLimits
from table_core.table.write.append_vectors import AppendVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.lsm.rewrite import Step
    from table_core.lsm.universal import Pick
    from table_core.ondisk.data_file import DataFile
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = [
    "compact_append_files",
    "compact_key_bucket",
    "files_to_rewrite",
    "pack_files",
    "packs_of",
    "rewritten_anyway",
    "wants_full",
    "with_index",
    "without_rows",
]

_HOUR_MS = 3_600_000


def compact_key_bucket(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Iterable[DataFile],
    *,
    full: bool,
) -> CompactChange | None:
    """Compact one bucket of a key table, or None if its levels are in shape.

    ``files`` are all live files of the bucket, level 0 included.
    """
    files = tuple(files)
    access = access.as_new_as(files)
    factory = factory.in_schema(access.schema)
    planned = _planned(access, factory, bucket, files, full=full)
    if not planned.steps:
        return None
    compactor = _compactor(access, factory, bucket, planned)
    return compactor.run(planned.steps, planned.output_level)


def without_rows(
    access: TableAccess,
    factory: FileFactory,
    buckets: Mapping[Bucket, Sequence[DataFile]],
    *,
    full: bool,
) -> tuple[list[CompactChange], dict[Bucket, Sequence[DataFile]]]:
    """Of buckets of a key table: what becomes of those whose entries suffice, and those to be read.

    A bucket whose levels are in shape is in neither; where files only rise, no row is looked at.
    """
    done: list[CompactChange] = []
    rest: dict[Bucket, Sequence[DataFile]] = {}
    for bucket, files in buckets.items():
        newest = access.as_new_as(tuple(files))
        own = factory.in_schema(newest.schema)
        planned = _planned(newest, own, bucket, files, full=full)
        compactor = _compactor(newest, own, bucket, planned)
        if compactor.reads(planned.steps, planned.output_level):
            rest[bucket] = files
        elif planned.steps:
            done.append(compactor.run(planned.steps, planned.output_level))
    return done, rest


def _compactor(
    access: TableAccess, factory: FileFactory, bucket: Bucket, planned: _Planned
) -> BucketCompactor:
    return BucketCompactor(
        access=access,
        factory=factory,
        partition=bucket[0],
        bucket=bucket[1],
        total_buckets=access.options.get(keys_identity.BUCKET),
        levels=planned.levels,
        vectors=planned.vectors,
    )


def files_to_rewrite(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Sequence[DataFile],
    *,
    full: bool,
) -> tuple[bool, tuple[DataFile, ...]]:
    """(whether compacting the bucket would change it, the files that would be written anew)."""
    if not access.schema.is_key_table:
        vectors = AppendVectors(access, access.head())
        packs = packs_of(access, bucket, files, vectors, full=full)
        return bool(packs), tuple(file for pack in packs for file in pack)
    steps = _planned(access, factory, bucket, files, full=full).steps
    anew = tuple(file for step in steps if isinstance(step, Rewrite) for file in step.files)
    return bool(steps), anew


@dataclass(frozen=True, slots=True)
class _Planned:
    """What to do in one bucket of a key table."""

    levels: Levels
    vectors: BucketVectors | None
    steps: Sequence[Step]
    output_level: int


def _planned(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Iterable[DataFile],
    *,
    full: bool,
) -> _Planned:
    levels = Levels.of(files, access.bounds, number_of_levels(access.options))
    pick = None if full else _automatic(access, levels)
    older = None if pick is None else must_meet(access)
    if pick is not None and older is not None:
        pick = universal.with_older(levels, pick, access.bounds, older)
    if pick is None and not full:
        return _Planned(levels, None, (), 0)  # most commits end here, and need not ask for vectors
    vectors = BucketVectors.load(access, bucket)
    rules = _rules(access, factory, levels, vectors)
    if full:
        pick = universal.full(
            levels, lambda f: rules.must_rewrite(f) or rules.has_deletion_vector(f)
        )
    if pick is None:
        return _Planned(levels, vectors, (), 0)
    return _Planned(levels, vectors, plan(pick, levels, access.bounds, rules), pick.output_level)


def _rules(
    access: TableAccess, factory: FileFactory, levels: Levels, vectors: BucketVectors | None
) -> Rules:
    options = access.options
    ratio = options.get(keys_write.COMPACTION_SMALL_FILE_RATIO)
    looks_up = needs_lookup(options)
    writes_vectors = options.get(keys_write.DELETION_VECTORS_ENABLED)
    newest_wins = options.get(keys_merge.MERGE_ENGINE) == "deduplicate" and not options.get(
        keys_merge.SEQUENCE_FIELD
    )

    def must_rewrite_to(file: DataFile, level: int) -> bool:
        if file.format != format_name(options, level=level):
            return True
        return looks_up and lookup_must_rewrite(
            file,
            level,
            levels.max_level,
            deletion_vectors=writes_vectors,
            newest_row_wins=newest_wins,
        )

    return Rules(
        small_file_size=int(factory.target_size() * ratio),
        must_rewrite=rewritten_anyway(access),
        must_rewrite_to=must_rewrite_to,
        has_deletion_vector=lambda f: vectors is not None and vectors.of(f.file_name) is not None,
        deletion_vectors=writes_vectors,
    )


def rewritten_anyway(access: TableAccess) -> Callable[[DataFile], bool]:
    """Whether a file is rewritten wherever it goes: by option, or because rows in it expired."""
    if access.options.get(keys_write.COMPACTION_FORCE_REWRITE_ALL_FILES):
        return lambda _: True
    expiry, now_ms = RecordExpiry.of(access.schema), access.clock.now_ms()
    if expiry is None:
        return lambda _: False
    column = access.schema.field(expiry.field)

    def holds_expired(file: DataFile) -> bool:
        known = column_range(access, file, column)
        if known is None:
            return False
        type_, values = known
        return expiry.holds_expired(array_of([values.min], type_)[0], now_ms)

    return holds_expired


def _automatic(access: TableAccess, levels: Levels) -> Pick | None:
    now_ms = access.clock.now_ms()
    local_ms = access.wall_clock.shown(now_ms)
    hour = datetime.fromtimestamp(local_ms / 1000, UTC).hour
    waiting = len(levels.level_zero) - 1  # every write leaves one there
    settings = universal.Settings.of(access.options, hour=hour, attempts=waiting)
    return universal.pick(levels, settings, since_full_ms=_since_full_ms(access, levels))


def _since_full_ms(access: TableAccess, levels: Levels) -> int | None:
    """How long ago the newest file of the top level was made; None if there is none.

    Source: ``MergeTreeCompactManagerFactory#estimateLastFullCompactionTime``.
    """
    top = number_of_levels(access.options) - 1
    made = [f.creation_time_ms for f in levels.files if f.level == top]
    newest = max((ms for ms in made if ms is not None), default=None)
    if newest is None:
        return None
    return access.clock.now_ms() - access.wall_clock.moment(newest)


def wants_full(access: TableAccess) -> bool:
    """Whether the options ask for a full compaction with this commit."""
    options = access.options
    if not full_by_commits(options, 2**31):
        return False
    appends, at_ms = _last_full(access)
    since_ms = None if at_ms is None else access.clock.now_ms() - at_ms
    return full_by_commits(options, appends + 1, since_ms)


def _last_full(access: TableAccess) -> tuple[int, int | None]:
    """APPEND snapshots after the newest full compaction, and when that was, if it is known.

    A full compaction is a COMPACT snapshot that adds files to the top level only.
    """
    earliest, id = access.metadata.earliest_id(), access.metadata.head_id()
    top = number_of_levels(access.options) - 1
    count = 0
    while id is not None and earliest is not None and id >= earliest:
        snapshot = access.metadata.snapshot(id)
        if snapshot.commit_kind is CommitKind.APPEND:
            count += 1
        elif snapshot.commit_kind is CommitKind.COMPACT:
            added = [e for e in access.metadata.delta(snapshot) if e.kind is EntryKind.ADD]
            if added and all(e.file.level >= top for e in added):
                return count, snapshot.time_millis
        id -= 1
    return count, None


def compact_append_files(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    files: Sequence[DataFile],
    *,
    full: bool,
) -> list[CompactChange]:
    """Pack small files of an append table; none if there are too few of them.

    Deletion vectors of what is packed are applied.  A full compaction leaves none behind.
    """
    vectors = AppendVectors(access, access.head())
    packs = packs_of(access, bucket, files, vectors, full=full)
    done = [pack_files(access, factory, bucket, pack, vectors) for pack in packs]
    return with_index(done, vectors)


def with_index(done: Sequence[CompactChange], vectors: AppendVectors) -> list[CompactChange]:
    """``done``; the first says what becomes of the index files."""
    if not done:
        return []
    added, deleted = vectors.store()
    return [replace(done[0], index_added=added, index_deleted=deleted), *done[1:]]


def packs_of(
    access: TableAccess,
    bucket: Bucket,
    files: Sequence[DataFile],
    vectors: AppendVectors,
    *,
    full: bool,
) -> list[tuple[DataFile, ...]]:
    """Which files of an append table's bucket are to become one."""
    rules = PackingRules.of(access.options)
    writes_vectors = {f.file_name: vectors.index_file(bucket, f.file_name) for f in files}
    marked = {f.file_name for f in files if writes_vectors[f.file_name] is not None}
    if access.schema.bucket > 0:
        uses = access.options.get(keys_write.DELETION_VECTORS_ENABLED)
        pack = pick_bucket(
            files,
            rules,
            everything=full,
            has_deletion_vector=(lambda f: f.file_name in marked) if uses else None,
        )
        return [pack] if pack else []

    def deleted_rows(file: DataFile) -> int:
        positions = vectors.of(bucket, file.file_name)
        return 0 if positions is None else len(positions)

    packs = pick_unaware(
        files, rules, deleted_rows=deleted_rows, index_file_of=lambda f: writes_vectors[f.file_name]
    )
    taken = {f.file_name for pack in packs for f in pack}
    rest = tuple(
        f
        for f in files
        if f.file_name not in taken
        and (f.file_size < rules.small_file_size or f.file_name in marked)
    )
    owed = any(f.file_name in marked for f in rest)
    if full and (owed or (len(rest) > 1 and not packs)):
        packs.append(rest)
    return packs


def pack_files(
    access: TableAccess,
    factory: FileFactory,
    bucket: Bucket,
    pack: Sequence[DataFile],
    vectors: AppendVectors,
) -> CompactChange:
    """Write the rows of ``pack`` together; what becomes of index files, ``vectors`` know then."""
    access = access.as_new_as(pack)
    factory = factory.in_schema(access.schema)
    ordered = sorted(pack, key=lambda f: (f.min_sequence_number, f.creation_time_ms or 0))
    limits = MergeLimits.of_compaction(access.options)
    reader = FileReader(
        access=access,
        partition=bucket[0],
        bucket=bucket[1],
        fields=access.schema.fields,
        deletions=vectors.within(bucket),
        refuse_wide=limits.refuse_wide,
    )
    writer = factory.rolling(
        *bucket, source=FileSource.COMPACT, first_sequence=ordered[0].min_sequence_number
    )
    with writer:
        for file in ordered:
            for batch in limits.fitting(reader.read(file)):
                writer.write(pa.Table.from_batches([batch]))
            vectors.forget(bucket, file.file_name)
        after = writer.close()
    return CompactChange(
        partition=bucket[0],
        bucket=bucket[1],
        total_buckets=access.options.get(keys_identity.BUCKET),
        before=tuple(ordered),
        after=tuple(after),
    )
