"""Which manifests and files a condition rules out, before any of them is opened.

    manifest   by the range of its partitions, its buckets and its levels
    entry      by its partition, its bucket (point lookups), its level
    file       by its keys, then by the statistics of its values, then by its file index

Keys rule out any file: all versions of a key lie in files whose range covers it.  Values do not: where
files overlap, the file ruled out might hold the newest version of a row, and an older one would
reappear.  So a section goes as a whole or not at all; with engines that build a row from several files
not even that.

Key 4 has v = 5 in file x (v from 1 to 9) and, newer, v = 50 in file y (v from 40 to 60).  Where v = 5, the
statistics of y say that it has no match.  Read without y, key 4 matches with a value that it no longer has.

Source: ``org.apache.paimon.operation.KeyValueFileStoreScan``; format 4.2, 4.5, 6.1, 7.6.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from table_core.errors import DataError, UnsupportedFeatureError
from table_core.lsm.overlap import sections
from table_core.ondisk.binary_columns import decode_columns
from table_core.ondisk.binary_row import decode_row
from table_core.ondisk.stats import covered_fields, decode_stats
from table_core.options import keys_identity, keys_merge, keys_write
from table_core.predicate.bound import AllOf, conjuncts
from table_core.predicate.by_stats import Range, may_match
from table_core.predicate.to_arrow import mask
from table_core.scan.by_bucket import ByBucket
from table_core.scan.by_index import IndexTest
from table_core.scan.split import by_bucket, hides_level0
from table_core.schema.projection import evolve_ranges
from table_core.schema.table_schema import TRACKING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.lsm.sorted_run import Bounds
    from table_core.ondisk.data_file import DataFile, ManifestEntry
    from table_core.ondisk.manifest import Head
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.options.table import TableOptions
    from table_core.predicate.bound import Bound
    from table_core.schema.table_schema import TableSchema

__all__ = ["Explain", "KeepHeads", "Pruner", "value_ranges"]

KeepHeads: TypeAlias = "Callable[[Sequence[Head]], Sequence[bool]]"
"""Which entries may matter, by what is first in them."""
_MANY: Final = 16

_WHOLE_ROWS: Final = frozenset({"deduplicate", "first-row"})
"""Engines whose result is one of the rows that were written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """What each step of planning looked at and ruled out."""

    manifests: int = 0
    manifests_pruned: int = 0
    entries: int = 0
    """Entries read, ADD and DELETE."""
    pruned_by_partition: int = 0
    pruned_by_bucket: int = 0
    pruned_by_level: int = 0
    """Level 0 that is invisible until compacted."""
    files: int = 0
    """Live files that came through."""
    pruned_by_key: int = 0
    pruned_by_value: int = 0
    pruned_by_index: int = 0
    """By a file index, in the manifest or beside the file."""
    files_read: int = 0


class Pruner:
    """Prunes for one scan, and counts.  ``where`` None prunes by visibility only."""

    def __init__(
        self,
        schema: TableSchema,
        options: TableOptions,
        where: Bound | None,
        *,
        schema_of: Callable[[int], TableSchema],
        batch: bool = True,
        keeps_partition: Callable[[bytes], bool] | None = None,
        index_of: Callable[[ManifestEntry], bytes | None] | None = None,
        streams: bool = False,
    ) -> None:
        """``batch`` is False for changes, which see every level and no statistics of values.

        ``keeps_partition`` is a further condition on partition rows; ``index_of`` gives the container
        of a file's indexes, None if it has none; what ``streams`` sees level 0 in any case.
        """
        self._schema, self._options, self._where = schema, options, where
        self._schema_of = schema_of
        self._hidden = batch and not streams and hides_level0(schema, options)
        self._batch = batch
        self._merges_waiting = (
            batch and not streams and options.get(keys_identity.POSTPONE_MERGE_ON_READ)
        )
        self._types = [f.type for f in schema.partition_fields]
        self._keeps = keeps_partition
        self._partitions: dict[bytes, bool] = {}
        self._by_bucket = ByBucket(schema, options, where, schema_of)
        self._bucket_by_head = False
        self._index_of = index_of
        self._index_test = None if where is None else IndexTest.of(where, schema)
        self._count: Counter[str] = Counter()

    def keep_manifest(self, meta: ManifestMeta) -> bool:
        """Whether entries of the manifest may matter."""
        self._count["manifests"] += 1
        kept = self._manifest_may_matter(meta)
        self._count["manifests_pruned"] += not kept
        return kept

    def keep_entry(self, entry: ManifestEntry) -> bool:
        """Whether the entry, ADD or DELETE, may matter: by partition, bucket and level alone."""
        self._count["entries"] += 1
        reason = self._entry_reason(entry)
        if reason is not None:
            self._count[reason] += 1
        return reason is None

    def decides_by_head(self, newest_schema: int) -> bool:
        """Whether partitions and buckets alone may rule entries out.

        ``newest_schema`` is the newest schema that the entries can have been written under.
        """
        self._bucket_by_head = self._by_bucket.holds_up_to(newest_schema)
        return self._bucket_by_head or (self._where is not None and bool(self._types))

    def keep_heads(self, heads: Sequence[Head]) -> list[bool]:
        """Which entries may matter; those that do not are counted.  ``keep_entry`` says more."""
        self.foresee(head[0] for head in heads)
        reasons = [
            self._partition_reason(partition) or self._bucket_reason(bucket, total)
            for partition, bucket, total in heads
        ]
        for reason in reasons:
            if reason is not None:
                self._count["entries"] += 1
                self._count[reason] += 1
        return [reason is None for reason in reasons]

    def foresee(self, partitions: Iterable[bytes]) -> None:
        """Decide about many partitions at once, which costs less than one by one.

        A partition row is a row of a table of partition columns, so the condition is computed as a filter.
        Parts of it on other columns are left to the files: then only a "no" is final.
        """
        if self._where is None or self._keeps is not None or not self._types:
            return
        fresh = list(set(partitions).difference(self._partitions))
        here = frozenset(self._schema.partition_keys)
        parts = conjuncts(self._where)
        own = tuple(part for part in parts if part.columns <= here)
        if len(fresh) < _MANY or not own:
            return
        columns = decode_columns(self._types, fresh, path="partition")
        rows = pa.RecordBatch.from_arrays(columns, list(self._schema.partition_keys))
        try:
            matches = mask(AllOf(own), rows).to_pylist()
        except DataError:  # a value that cannot be cast or divided: it may not even be asked for
            return
        for partition, match in zip(fresh, matches, strict=True):
            if not match or len(own) == len(parts):
                self._partitions[partition] = bool(match)

    def prune(self, entries: Iterable[ManifestEntry], bounds: Bounds) -> list[ManifestEntry]:
        """Live ``entries`` without files that cannot hold a match, in their order.

        Raises:
            UnsupportedFeatureError: ``postpone.merge-on-read``, and rows wait for a bucket.
        """
        live = list(entries)
        if self._merges_waiting and any(entry.bucket < 0 for entry in live):
            raise UnsupportedFeatureError(
                "rows wait for a bucket, and postpone.merge-on-read=true asks to merge them when they are read, "
                "which this release does not do: compact the table, or set the option to false to read without "
                "these rows",
                feature="postpone.merge-on-read",
            )
        self._count["files"] += len(live)
        kept = live if self._where is None else self._by_statistics(live, self._where, bounds)
        self._count["files_read"] += len(kept)
        return kept

    def explain(self) -> Explain:
        """What was done so far."""
        return Explain(**self._count)

    # ------------------------------------------------------------------- manifests and entries
    def _manifest_may_matter(self, meta: ManifestMeta) -> bool:
        if self._hidden and meta.max_level == 0:
            return False
        hides_waiting = self._batch and not self._merges_waiting
        if hides_waiting and meta.max_bucket is not None and meta.max_bucket < 0:
            return False
        if self._where is None or not self._types:
            return True
        rows = meta.num_added_files + meta.num_deleted_files
        stats = decode_stats(
            meta.partition_stats, self._schema.partition_fields, path=meta.file_name
        )
        ranges = {
            name: Range(low, high, nulls, rows)
            for name, (low, high, nulls) in stats.items()
            if low is not None or nulls == rows
        }
        return may_match(self._where, ranges)

    def _entry_reason(self, entry: ManifestEntry) -> str | None:
        """The counter of the step that rules ``entry`` out, None if it stays."""
        reason = self._partition_reason(entry.partition)
        if reason is not None:
            return reason
        if self._by_bucket.rules_out(
            entry.bucket, entry.total_buckets
        ) and self._by_bucket.holds_for(entry.file.schema_id):
            return "pruned_by_bucket"
        if self._hidden and entry.file.level == 0:
            return "pruned_by_level"
        return None

    def _partition_reason(self, partition: bytes) -> str | None:
        matches = self._partitions.get(partition)
        if matches is None:
            matches = self._partition_matches(partition)
            self._partitions[partition] = matches
        return None if matches else "pruned_by_partition"

    def _bucket_reason(self, bucket: int, total: int) -> str | None:
        ruled_out = self._bucket_by_head and self._by_bucket.rules_out(bucket, total)
        return "pruned_by_bucket" if ruled_out else None

    def _partition_matches(self, partition: bytes) -> bool:
        if self._keeps is not None and not self._keeps(partition):
            return False
        return self._where is None or may_match(self._where, self._partition_ranges(partition))

    def _partition_ranges(self, partition: bytes) -> dict[str, Range]:
        if not self._types:
            return {}
        values = decode_row(self._types, partition, path="partition")
        return {
            name: Range(value, value, 1 if value is None else 0, 1)
            for name, value in zip(self._schema.partition_keys, values, strict=True)
        }

    # ------------------------------------------------------------------------------- files
    def _by_statistics(
        self, live: Sequence[ManifestEntry], where: Bound, bounds: Bounds
    ) -> list[ManifestEntry]:
        if not self._batch or not self._schema.is_key_table:
            dropped = {id(e) for e in live if self._batch and not may_match(where, self._ranges(e))}
            self._count["pruned_by_value"] += len(dropped)
            return self._by_index([e for e in live if id(e) not in dropped], frozenset(), bounds)
        by_key = {id(e) for e in live if not may_match(where, self._ranges(e, values=False))}
        self._count["pruned_by_key"] += len(by_key)
        rest = [e for e in live if id(e) not in by_key]
        unlikely = frozenset(id(e) for e in rest if not may_match(where, self._ranges(e)))
        by_value = self._without_match(rest, unlikely, bounds)
        self._count["pruned_by_value"] += len(by_value)
        rest = [e for e in rest if id(e) not in by_value]
        return self._by_index(rest, unlikely, bounds)

    def _by_index(
        self, rest: list[ManifestEntry], unlikely: frozenset[int], bounds: Bounds
    ) -> list[ManifestEntry]:
        """``rest`` without files that their indexes rule out; values make ``unlikely`` so already."""
        test, index_of = self._index_test, self._index_of
        if not self._batch or test is None or index_of is None:
            return rest
        ruled_out = {
            id(e)
            for e in rest
            if id(e) not in unlikely
            and (body := index_of(e)) is not None
            and not test.may_match(body, self._schema_of(e.file.schema_id), e.file.row_count)
        }
        if not ruled_out:
            return rest
        if self._schema.is_key_table:
            ruled_out = self._without_match(rest, unlikely | ruled_out, bounds)
        self._count["pruned_by_index"] += len(ruled_out)
        return [e for e in rest if id(e) not in ruled_out]

    def _without_match(
        self, rest: Sequence[ManifestEntry], unlikely: frozenset[int], bounds: Bounds
    ) -> set[int]:
        """Of files of a key table that match ``unlikely`` those that may be left out."""
        if not unlikely:
            return set()
        return {
            id(e)
            for group in by_bucket(rest).values()
            for e in self._left_out(group, unlikely, bounds)
        }

    def _left_out(
        self, group: Sequence[ManifestEntry], unlikely: frozenset[int], bounds: Bounds
    ) -> Iterable[ManifestEntry]:
        by_name = {e.file.file_name: e for e in group if id(e) in unlikely}
        if not by_name:
            return []
        if self._is_disjoint():
            return list(by_name.values())
        left_out: list[ManifestEntry] = []
        for section in sections([e.file for e in group], bounds):
            names = [file.file_name for run in section for file in run.files]
            if len(section) == 1:  # every key occurs once
                left_out += [by_name[name] for name in names if name in by_name]
            elif self._rows_stay_whole() and all(name in by_name for name in names):
                left_out += [by_name[name] for name in names]
        return left_out

    def _is_disjoint(self) -> bool:
        """Whether deletion vectors have made every visible row final."""
        return self._hidden and self._options.get(keys_write.DELETION_VECTORS_ENABLED)

    def _rows_stay_whole(self) -> bool:
        return self._options.get(keys_merge.MERGE_ENGINE) in _WHOLE_ROWS

    def _ranges(self, entry: ManifestEntry, *, values: bool = True) -> dict[str, Range]:
        """What is known of the columns of one file, under the names of the read schema."""
        file = entry.file
        written = self._schema_of(file.schema_id)
        known = value_ranges(file, written) if values else {}
        known |= _key_ranges(file, written)
        ranges = (
            evolve_ranges(written, self._schema, known, file.row_count)
            if values
            else evolve_ranges(written, self._schema.trimmed_key_fields, known, file.row_count)
        )
        return ranges | self._partition_ranges(entry.partition)


def value_ranges(file: DataFile, written: TableSchema) -> dict[str, Range]:
    """What the statistics of ``file`` say of its columns, by their names in ``written``."""
    present: Sequence[Field] = written.fields
    if file.write_cols is not None:  # not all columns, or row ids beside them
        known = dict(written.by_name) | {f.name: f for f in TRACKING_FIELDS}
        present = [known[name] for name in file.write_cols if name in known]
    fields = covered_fields(present, file.value_stats_cols, path=file.file_name)
    stats = decode_stats(file.value_stats, fields, path=file.file_name)
    return {
        name: Range(low, high, nulls, file.row_count)
        for name, (low, high, nulls) in stats.items()
        if name in written.by_name
    }


def _key_ranges(file: DataFile, written: TableSchema) -> dict[str, Range]:
    """Key statistics; without them the first key column still has the bounds of the file."""
    fields = written.trimmed_key_fields
    if not fields:
        return {}
    stats = decode_stats(file.key_stats, fields, path=file.file_name)
    if stats:
        return {
            name: Range(low, high, nulls, file.row_count)
            for name, (low, high, nulls) in stats.items()
        }
    types = [f.type for f in fields]
    low = decode_row(types, file.min_key, path=file.file_name)[0]
    high = decode_row(types, file.max_key, path=file.file_name)[0]
    return {fields[0].name: Range(low, high, None, file.row_count)}
