"""Which manifests may name files of some partitions, by the ranges that a manifest list tells.

A table of a hundred thousand partitions has hundreds of manifests.  Whoever writes to one partition, or compacts
it, needs those of which the range covers it, and no other.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.ondisk.binary_row import decode_row, sort_key
from table_core.ondisk.stats import decode_stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from table_core.datatypes.kinds import DataType, Field
    from table_core.lsm.sorted_run import Key
    from table_core.ondisk.binary_row import Value
    from table_core.ondisk.manifest_meta import ManifestMeta

__all__ = ["PartitionTest", "manifests_of", "manifests_of_rows"]


@dataclass(frozen=True, slots=True)
class PartitionTest:
    """Whether a serialized partition is wanted; it also tells of a manifest, so that most are not read."""

    wants: Callable[[bytes], bool]
    may_hold: Callable[[ManifestMeta], bool]

    def __call__(self, partition: bytes) -> bool:
        """Whether ``partition`` is wanted."""
        return self.wants(partition)


def manifests_of(
    fields: Sequence[Field], partitions: Iterable[bytes]
) -> Callable[[ManifestMeta], bool]:
    """Whether a manifest may have entries of one of ``partitions``, serialized rows of ``fields``."""
    types = [field.type for field in fields]
    rows = [decode_row(types, row, path="partition") for row in partitions]
    names = [field.name for field in fields]
    return manifests_of_rows(fields, [dict(zip(names, row, strict=True)) for row in rows])


def manifests_of_rows(
    fields: Sequence[Field], rows: Sequence[Mapping[str, Value]]
) -> Callable[[ManifestMeta], bool]:
    """Whether a manifest may have entries that agree with one of ``rows``, which name some columns.

    Each column is looked at alone: what is kept may hold none, what is left out holds none.
    """
    wanted: dict[str, list[Key]] = {
        field.name: sorted({sort_key([field.type], [row[field.name]]) for row in rows})
        for field in fields
        if rows and all(field.name in row for row in rows)
    }
    types = {field.name: field.type for field in fields}

    def may_hold(meta: ManifestMeta) -> bool:
        stats = decode_stats(meta.partition_stats, fields, path=meta.file_name)
        return all(
            name not in stats or _meets(keys, *_bounds(types[name], *stats[name]))
            for name, keys in wanted.items()
        )

    return may_hold


_NULL: Key = ((0,),)


def _bounds(
    type_: DataType, low: Value, high: Value, nulls: int | None
) -> tuple[Key | None, Key | None, bool]:
    """The range of the values that are not NULL, and whether NULL may be among them."""
    if low is None or high is None:  # all are NULL, or nobody knows
        return None, None, True
    return sort_key([type_], [low]), sort_key([type_], [high]), nulls != 0


def _meets(keys: Sequence[Key], low: Key | None, high: Key | None, has_null: bool) -> bool:
    """Whether one of the sorted ``keys`` lies in a range."""
    if low is None or high is None:
        return True
    if has_null and keys and keys[0] == _NULL:
        return True
    at = bisect_left(keys, low)
    return at < len(keys) and keys[at] <= high
