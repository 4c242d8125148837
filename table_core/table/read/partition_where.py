"""A condition over partition columns, as a test of serialized partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import PredicateError
from table_core.ondisk.binary_row import array_of, decode_row
from table_core.predicate.to_arrow import mask
from table_core.scan.prune import Pruner
from table_core.table.read.scan import bound_where

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.predicate.expression import Expression
    from table_core.table.metadata.access import TableAccess

__all__ = ["manifest_where", "partition_where"]


def partition_where(access: TableAccess, where: str | Expression) -> Callable[[bytes], bool]:
    """Whether ``where`` is true of a partition.

    Raises:
        PredicateError: it names other columns, or does not parse.
    """
    schema = access.schema
    bound = bound_where(schema, where)
    assert bound is not None
    others = sorted(bound.columns - set(schema.partition_keys))
    if others:
        raise PredicateError(
            f"where names {others}, but only partition columns can choose files: "
            f"{list(schema.partition_keys)}",
            where=str(where),
        )
    fields = schema.partition_fields
    types = [field.type for field in fields]
    verdicts: dict[bytes, bool] = {}

    def matches(partition: bytes) -> bool:
        known = verdicts.get(partition)
        if known is None:
            values = decode_row(types, partition, path="partition")
            columns = [array_of([v], t) for v, t in zip(values, types, strict=True)]
            row = pa.table(columns, schema=arrow_schema(fields))
            known = mask(bound, row)[0].as_py() is True
            verdicts[partition] = known
        return known

    return matches


def manifest_where(access: TableAccess, where: str | Expression) -> Callable[[ManifestMeta], bool]:
    """Whether a manifest may have entries of partitions for which ``where`` is true."""
    schema = access.schema
    bound = bound_where(schema, where)
    pruner = Pruner(schema, access.options, bound, schema_of=access.metadata.schema, batch=False)
    return pruner.keep_manifest
