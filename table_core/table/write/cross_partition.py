"""Buckets of a table whose key does not say the partition: a key is in one partition at a time.

Where a key turns up in another partition than it is in, ``deduplicate`` deletes it there and writes
it here, ``partial-update`` and ``aggregation`` write it there, ``first-row`` drops it.  Where keys
are is in no file: each buffer of rows looks its own keys up in the table, and in what this writer
wrote before.  Writers at the same time have keys and buckets of their own, by the hash of keys.

Source: ``org.apache.paimon.crosspartition.GlobalIndexAssigner``; format 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.bucketing.dynamic import Filling
from table_core.bucketing.hash import row_hash
from table_core.commit.basis import AsOf, Basis
from table_core.datatypes.row_kind import KIND_COLUMN
from table_core.merge.ordinal import comparable, single_chunk
from table_core.ondisk.binary_row import array_of, decode_row
from table_core.options import keys_identity, keys_merge
from table_core.table.read.split_reader import SplitReader
from table_core.table.read.state_plan import StatePlanner
from table_core.table.write.assigner import assigners_of, grouped, partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from table_core.ondisk.index_manifest import IndexEntry
    from table_core.scan.split import Split
    from table_core.table.files.data_files import FileFactory
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.write.assigner import Dealt

__all__ = ["CrossPartition"]

_PARTITION: Final = "_PARTITION"
_BUCKET: Final = "_BUCKET"
_GROUP: Final = "_GROUP"
_DELETE: Final = 3


@dataclass(slots=True)
class CrossPartition:
    """Deals rows out by where their keys are.  One writer at a time for each key."""

    access: TableAccess
    replaces: bool
    """What is in the table does not count."""
    _partitions: dict[bytes, int] = field(init=False, default_factory=dict)
    """Partition to its number here."""
    _counts: dict[int, dict[int, int]] = field(init=False, default_factory=dict)
    _written: pa.Table | None = field(init=False, default=None)
    """Keys that this writer wrote, with partition and bucket."""
    _seen: set[AsOf] = field(init=False, default_factory=set)
    _counted: bool = field(init=False, default=False)

    def deal(self, rows: pa.Table) -> Dealt:
        """See ``Assigner``."""
        keys = rows.select(list(self.access.schema.primary_keys))
        values = comparable([single_chunk(column) for column in keys.columns])
        _, first, group = np.unique(values, return_index=True, return_inverse=True)
        distinct = keys.take(pa.array(first))
        home = self._homes(distinct)
        owner = self._owners(rows.take(pa.array(first)))
        partitions, codes = partitions_of(self.access, rows)
        own = np.array([self._number(partition) for partition in partitions], np.int64)[codes]
        match self.access.options.get(keys_merge.MERGE_ENGINE):
            case "deduplicate":
                rows, at, settled = self._moved(rows, group, own, home, owner)
            case "first-row":
                settled = self._settled(group, own, home, owner)
                stays = own == settled.partition[group]
                rows = rows.filter(pa.array(stays))
                at = _Placements(settled.partition[group][stays], settled.bucket[group][stays])
            case _:
                settled = self._settled(group, own, home, owner)
                at = _Placements(settled.partition[group], settled.bucket[group])
                rows = self._put(rows, at.partition, at.partition != own)
        self._note(distinct, settled)
        names = list(self._partitions)
        return rows, list(grouped(names, at.partition, at.bucket))

    def index_changes(
        self, bucket: Bucket, factory: FileFactory
    ) -> tuple[tuple[IndexEntry, ...], tuple[IndexEntry, ...]]:
        """None: where keys are is in no file."""
        del bucket, factory
        return (), ()

    def basis(self) -> Basis:
        """The states of the table that were looked into, and whether keys may have another writer."""
        several = self.access.options.get(keys_identity.DYNAMIC_BUCKET_ASSIGNER_PARALLELISM) or 1
        alone = self._written is not None and several == 1
        return Basis(homes=frozenset(self._seen), dealers=int(alone))

    # ----------------------------------------------------------------------------- the engines
    def _settled(
        self,
        group: npt.NDArray[np.int64],
        own: npt.NDArray[np.int64],
        home: _Placements,
        owner: npt.NDArray[np.int64],
    ) -> _Placements:
        """Where each key is from now on, if it stays where it was first."""
        _, first = np.unique(group, return_index=True)
        new = np.flatnonzero(home.partition < 0)
        new = new[np.argsort(first[new], kind="stable")]
        placements = _Placements(home.partition.copy(), home.bucket.copy())
        placements.partition[new] = own[first[new]]
        placements.bucket[new] = self._room(placements.partition[new], owner[new])
        return placements

    def _moved(
        self,
        rows: pa.Table,
        group: npt.NDArray[np.int64],
        own: npt.NDArray[np.int64],
        home: _Placements,
        owner: npt.NDArray[np.int64],
    ) -> tuple[pa.Table, _Placements, _Placements]:
        """Rows where they say, after a ``-D`` where their key was before; and where keys end."""
        order = np.argsort(group, kind="stable")
        grouped_, here = group[order], own[order]
        starts = np.append(True, grouped_[1:] != grouped_[:-1])
        before = np.append(-1, here[:-1])
        before[starts] = home.partition[grouped_[starts]]
        enters = before != here
        bucket = np.full(len(order), -1, np.int64)
        arrivals = np.flatnonzero(enters)[np.argsort(order[enters], kind="stable")]
        bucket[arrivals] = self._room(here[arrivals], owner[grouped_[arrivals]])
        stays = starts & ~enters
        bucket[stays] = home.bucket[grouped_[stays]]
        known = np.maximum.accumulate(np.where(enters | starts, np.arange(len(order)), 0))
        bucket = bucket[known]
        old = np.append(-1, bucket[:-1])
        old[starts] = home.bucket[grouped_[starts]]
        ends = np.append(starts[1:], True)
        settled = _Placements(here[ends], bucket[ends])
        placements = _Placements(np.empty_like(here), np.empty_like(bucket))
        placements.partition[order], placements.bucket[order] = here, bucket
        leaves = np.flatnonzero(enters & (before >= 0))
        if not len(leaves):
            return rows, placements, settled
        gone = rows.take(pa.array(order[leaves]))
        kind = rows.schema.field(KIND_COLUMN)
        deletes = pa.repeat(pa.scalar(_DELETE, kind.type), len(leaves))
        gone = gone.set_column(rows.schema.get_field_index(KIND_COLUMN), kind, deletes)
        gone = self._put(gone, before[leaves], np.ones(len(leaves), np.bool_))
        turn = np.argsort(
            np.concatenate([2 * order[leaves], 2 * np.arange(rows.num_rows) + 1]), kind="stable"
        )
        placements = _Placements(
            np.concatenate([before[leaves], placements.partition])[turn],
            np.concatenate([old[leaves], placements.bucket])[turn],
        )
        return pa.concat_tables([gone, rows]).take(pa.array(turn)), placements, settled

    def _put(
        self, rows: pa.Table, partition: npt.NDArray[np.int64], which: npt.NDArray[np.bool_]
    ) -> pa.Table:
        """``rows`` with the columns of their ``partition`` where ``which`` says so."""
        if not which.any():
            return rows
        fields = self.access.schema.partition_fields
        types = [f.type for f in fields]
        values = [decode_row(types, row, path="partition") for row in self._partitions]
        for number, key in enumerate(fields):
            column = array_of([row[number] for row in values], key.type)
            there = column.take(pa.array(partition))
            at = rows.schema.get_field_index(key.name)
            mixed = pa.concat_arrays([single_chunk(rows[key.name]), there])
            chosen = np.arange(len(there)) + np.where(which, len(there), 0)
            rows = rows.set_column(at, rows.schema.field(at), mixed.take(pa.array(chosen)))
        return rows

    # ------------------------------------------------------------------------- where keys are
    def _homes(self, keys: pa.Table) -> _Placements:
        """Where each of ``keys`` is, -1 for nowhere."""
        homes = _Placements.nowhere(keys.num_rows)
        wanted = keys.append_column(_GROUP, pa.array(np.arange(keys.num_rows)))
        for known in (*self._stored(), self._written):
            if known is None or not known.num_rows:
                continue
            both = known.join(wanted, keys=keys.column_names, join_type="inner")
            at = both[_GROUP].to_numpy()
            homes.partition[at] = both[_PARTITION].to_numpy()
            homes.bucket[at] = both[_BUCKET].to_numpy()
        return homes

    def _stored(self) -> Iterator[pa.Table]:
        """The keys of the table, with partition and bucket."""
        if self.replaces:
            return
        access = self.access
        fields = access.schema.select(access.schema.primary_keys)
        reader = SplitReader(access=access, fields=fields)
        # Keys of level 0 count, where batch reads do not see them yet.
        planner = StatePlanner(access=access, streams=True)
        head = access.head()
        self._seen.add(AsOf.of(head))
        for split in planner.plan(head).splits:
            if not self._is_young(split):
                continue
            partition = self._number(split.partition)
            counts = self._counts.setdefault(partition, {})
            for rows in reader.read(split):
                if not self._counted:
                    counts[split.bucket] = counts.get(split.bucket, 0) + rows.num_rows
                yield _with_placement(
                    rows, _Placements.all_at(rows.num_rows, partition, split.bucket)
                )
        self._counted = True

    def _is_young(self, split: Split) -> bool:
        ttl_ms = self.access.options.get(keys_identity.CROSS_PARTITION_UPSERT_INDEX_TTL)
        if ttl_ms is None:
            return True
        newest = max(file.creation_time_ms or 0 for file in split.files)
        return self.access.clock.now_ms() <= self.access.wall_clock.moment(newest) + ttl_ms

    def _note(self, keys: pa.Table, settled: _Placements) -> None:
        new = _with_placement(keys, settled)
        old = self._written
        if old is not None:
            kept = old.join(keys, keys=keys.column_names, join_type="left anti")
            new = pa.concat_tables([kept.select(new.column_names), new])
        self._written = new.combine_chunks()

    def _number(self, partition: bytes) -> int:
        return self._partitions.setdefault(partition, len(self._partitions))

    def _owners(self, rows: pa.Table) -> npt.NDArray[np.int64]:
        """Who deals out the buckets of each key, by its hash, as where an index knows keys."""
        fields = self.access.schema.trimmed_key_fields
        hashes = row_hash([rows[f.name] for f in fields], [f.type for f in fields])
        owners: npt.NDArray[np.int64] = np.abs(hashes.astype(np.int64)) % assigners_of(
            self.access.options
        )
        return owners

    def _room(
        self, partitions: npt.NDArray[np.int64], owners: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """A bucket for each of the keys that are new in ``partitions``, of those of its owner."""
        options = self.access.options
        buckets = np.zeros(len(partitions), np.int64)
        placements = np.stack([partitions, owners])
        for number, owner in np.unique(placements, axis=1).T.tolist():
            mine = (partitions == number) & (owners == owner)
            filling = Filling(
                self._counts.setdefault(number, {}),
                options.get(keys_identity.DYNAMIC_BUCKET_TARGET_ROW_NUM),
                options.get(keys_identity.DYNAMIC_BUCKET_MAX_BUCKETS),
                owner,
                assigners_of(options),
            )
            buckets[mine] = filling.take(int(mine.sum()))
        return buckets


@dataclass(frozen=True, slots=True, eq=False)
class _Placements:
    """Numbers of partitions, and buckets in them."""

    partition: Any
    bucket: Any

    @classmethod
    def nowhere(cls, count: int) -> _Placements:
        return cls.all_at(count, -1, -1)

    @classmethod
    def all_at(cls, count: int, partition: int, bucket: int) -> _Placements:
        return cls(np.full(count, partition, np.int64), np.full(count, bucket, np.int64))


def _with_placement(keys: pa.Table, at: _Placements) -> pa.Table:
    arrays = [*keys.columns, pa.array(at.partition), pa.array(at.bucket)]
    return pa.table(arrays, names=[*keys.column_names, _PARTITION, _BUCKET])
