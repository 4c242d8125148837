"""Which assigner a table needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.table.write.assigner import DynamicBuckets, FixedBuckets, KnownBucket
from table_core.table.write.cross_partition import CrossPartition

if TYPE_CHECKING:
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import Bucket, TableAccess
    from table_core.table.write.assigner import Assigner

__all__ = ["assigner_for", "crosses_partitions"]


def crosses_partitions(schema: TableSchema) -> bool:
    """Whether a key may move from one partition to another (format 6.3)."""
    inside = set(schema.partition_keys).issubset(schema.primary_keys)
    return schema.is_key_table and schema.bucket == -1 and not inside


def assigner_for(access: TableAccess, *, replaces: bool, bucket: Bucket | None = None) -> Assigner:
    """What the bucket mode of the table asks for; ``replaces``: what is there does not count.

    ``bucket``: where all rows are known to belong.
    """
    if bucket is not None:
        return KnownBucket(bucket)
    if crosses_partitions(access.schema):
        return CrossPartition(access, replaces=replaces)
    if access.schema.is_key_table and access.schema.bucket == -1:
        return DynamicBuckets(access, replaces=replaces)
    return FixedBuckets(access)
