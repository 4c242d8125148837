"""Which bucket each row goes to, whatever the bucket mode of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.bucketing.dynamic import HashIndex, decode_hashes, encode_hashes
from table_core.bucketing.fixed import bucket_ids
from table_core.bucketing.hash import row_hash
from table_core.commit.basis import AsOf, Basis, Hashed
from table_core.errors import CorruptFileError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import encode_rows
from table_core.ondisk.data_file import EMPTY_ROW, EntryKind
from table_core.ondisk.index_manifest import HASH, IndexEntry
from table_core.options import keys_identity
from table_core.table.read.state_plan import index_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.options.table import TableOptions
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess

__all__ = [
    "Assigner",
    "Dealt",
    "DynamicBuckets",
    "FixedBuckets",
    "KnownBucket",
    "assigners_of",
    "grouped",
    "partitions_of",
]

_RADIX_MAX: Final = 1 << 15
Dealt: TypeAlias = "tuple[pa.Table, list[tuple[Bucket, pa.Array | None]]]"
"""Rows, and of each bucket their positions in arrival order; None stands for all of them."""


class Assigner(Protocol):
    """Deals rows out to buckets."""

    def deal(self, rows: pa.Table) -> Dealt:
        """What to write for ``rows``, and the rows of each bucket."""
        ...

    def index_changes(
        self, bucket: Bucket, factory: FileFactory
    ) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """Index files that come and go with the new rows of ``bucket``; ``factory`` forgets them too."""
        ...

    def basis(self) -> Basis:
        """What must still be so when the rows are committed."""
        ...


class FixedBuckets:
    """By hash of the bucket key; also everything in one bucket: unaware and postponed rows."""

    def __init__(self, access: TableAccess) -> None:
        self._access = access

    def deal(self, rows: pa.Table) -> Dealt:
        """See ``Assigner``."""
        access, schema = self._access, self._access.schema
        buckets = np.zeros(rows.num_rows, dtype=np.int64)
        if schema.bucket > 1:
            columns = [rows[name] for name in schema.bucket_keys]
            types = [f.type for f in schema.select(schema.bucket_keys)]
            function = access.options.get(keys_identity.BUCKET_FUNCTION_TYPE)
            buckets = bucket_ids(columns, types, schema.bucket, function).astype(np.int64)
        partitions, codes = partitions_of(access, rows)
        first = layout.POSTPONE_BUCKET if schema.bucket == layout.POSTPONE_BUCKET else 0
        return rows, [
            ((partition, bucket + first), positions)
            for (partition, bucket), positions in grouped(partitions, codes, buckets)
        ]

    def index_changes(
        self, bucket: Bucket, factory: FileFactory
    ) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """None."""
        del bucket, factory
        return (), ()

    def basis(self) -> Basis:
        """Nothing: a hash is a hash."""
        return Basis()


class KnownBucket:
    """All in one bucket, where they are already: new versions of rows that were read from it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def deal(self, rows: pa.Table) -> Dealt:
        """See ``Assigner``."""
        return rows, [(self._bucket, None)]

    def index_changes(
        self, bucket: Bucket, factory: FileFactory
    ) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """None."""
        del bucket, factory
        return (), ()

    def basis(self) -> Basis:
        """Nothing."""
        return Basis()


class DynamicBuckets:
    """By a hash index, which the writer keeps up to date.  One writer at a time."""

    def __init__(self, access: TableAccess, *, replaces: bool) -> None:
        self._access = access
        self._entries: dict[Bucket, IndexEntry] | None = {} if replaces else None
        self._indexes: dict[bytes, HashIndex] = {}
        self._as_of: AsOf | None = None
        """Where the index was read; None: it was not."""

    def deal(self, rows: pa.Table) -> Dealt:
        """See ``Assigner``."""
        fields = self._access.schema.trimmed_key_fields
        hashes = row_hash([rows[f.name] for f in fields], [f.type for f in fields])
        partitions, codes = partitions_of(self._access, rows)
        buckets = np.zeros(rows.num_rows, dtype=np.int64)
        for code, partition in enumerate(partitions):
            mine = np.flatnonzero(codes == code)
            buckets[mine] = self._index(partition).assign(hashes[mine])
        return rows, list(grouped(partitions, codes, buckets))

    def index_changes(
        self, bucket: Bucket, factory: FileFactory
    ) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """The whole index of ``bucket``, written anew if it grew."""
        access = self._access
        index = self._index(bucket[0])
        if bucket[1] not in index.touched:
            return (), ()
        hashes = index.hashes_of(bucket[1])
        body, name = encode_hashes(hashes), f"index-{access.ids.uuid()}-0"
        path = layout.index_file_path(access.schema, *bucket, name)
        factory.begin(path)
        access.storage.write(path, body)
        added = IndexEntry(
            kind=EntryKind.ADD,
            partition=bucket[0],
            bucket=bucket[1],
            index_type=HASH,
            file_name=name,
            file_size=len(body),
            row_count=len(hashes),
        )
        old = (self._entries or {}).get(bucket)
        return (added,), () if old is None else (old,)

    def basis(self) -> Basis:
        """The index of each partition that has new rows."""
        if self._as_of is None:
            return Basis()
        files: dict[bytes, dict[int, str]] = {partition: {} for partition in self._indexes}
        for (partition, bucket), entry in (self._entries or {}).items():
            if partition in files:
                files[partition][bucket] = entry.file_name
        return Basis(
            hashed=tuple(
                Hashed(partition=partition, as_of=self._as_of, files=known)
                for partition, known in files.items()
            )
        )

    def _index(self, partition: bytes) -> HashIndex:
        index = self._indexes.get(partition)
        if index is None:
            if self._entries is None:
                self._entries = self._stored()
            options = self._access.options
            index = HashIndex.of(
                {
                    bucket[1]: self._hashes(entry)
                    for bucket, entry in self._entries.items()
                    if bucket[0] == partition
                },
                options.get(keys_identity.DYNAMIC_BUCKET_TARGET_ROW_NUM),
                options.get(keys_identity.DYNAMIC_BUCKET_MAX_BUCKETS),
                assigners_of(options),
            )
            self._indexes[partition] = index
        return index

    def _stored(self) -> dict[Bucket, IndexEntry]:
        head = self._access.head()
        self._as_of = AsOf.of(head)
        entries = [] if head is None else index_entries(self._access, head)
        return {(e.partition, e.bucket): e for e in entries if e.index_type == HASH}

    def _hashes(self, entry: IndexEntry) -> Any:
        path = layout.index_file_path(
            self._access.schema,
            entry.partition,
            entry.bucket,
            entry.file_name,
            entry.external_path,
        )
        body = self._access.storage.read(path)
        if len(body) != 4 * entry.row_count:
            what = f"{len(body)} bytes for {entry.row_count} hashes"
            raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
        return decode_hashes(body)


def assigners_of(options: TableOptions) -> int:
    """How many assigners deal out dynamic buckets; as in Paimon not more than initial buckets."""
    counts = (
        options.get(keys_identity.DYNAMIC_BUCKET_ASSIGNER_PARALLELISM),
        options.get(keys_identity.DYNAMIC_BUCKET_INITIAL_BUCKETS),
    )
    return max(min((count for count in counts if count is not None), default=1), 1)


def partitions_of(access: TableAccess, rows: pa.Table) -> tuple[list[bytes], Any]:
    """The distinct partitions of ``rows``, and the number of each row's partition."""
    fields = access.schema.partition_fields
    if not fields:
        return [EMPTY_ROW], np.zeros(rows.num_rows, dtype=np.int64)
    columns = rows.select([f.name for f in fields])
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for column in columns.columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        own = np.asarray(encoded.indices, dtype=np.int64)
        _, codes = np.unique(codes * len(encoded.dictionary) + own, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    chosen = columns.take(pa.array(first))
    return encode_rows(chosen.columns, [f.type for f in fields]), codes


def grouped(
    partitions: list[bytes], codes: Any, buckets: Any
) -> Iterator[tuple[Bucket, pa.Array | None]]:
    """The rows of each partition and bucket that ``codes`` and ``buckets`` number."""
    if not len(buckets):
        return
    width = int(buckets.max()) + 1
    groups = codes * width + buckets
    if len(partitions) * width <= _RADIX_MAX:
        groups = groups.astype(np.int16)  # few groups: numpy sorts them digit by digit
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
    if len(starts) == 1:
        code, bucket = divmod(int(ordered[0]), width)
        yield (partitions[code], bucket), None
        return
    for group, positions in zip(ordered[starts], np.split(order, starts[1:]), strict=True):
        code, bucket = divmod(int(group), width)
        yield (partitions[code], bucket), pa.array(positions)
