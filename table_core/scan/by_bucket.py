"""Which buckets a condition rules out: a row lies where its bucket key hashes to.

What a key hashes to depends on the ids and types of the bucket key's columns.  A file that was written
under another schema may have its rows elsewhere: 7 as INT and 7 as STRING are in two buckets.  So a
bucket rules out only files whose own schema hashes as the schema that is read under.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.bucketing.fixed import bucket_ids
from table_core.datatypes.kinds import with_nullability
from table_core.errors import NotFoundError
from table_core.ondisk.binary_row import array_of
from table_core.options import keys_identity
from table_core.predicate.by_stats import equal_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.datatypes.kinds import DataType
    from table_core.options.table import TableOptions
    from table_core.predicate.bound import Bound
    from table_core.schema.table_schema import TableSchema

__all__ = ["ByBucket"]

_SCHEMAS_MAX: Final = 16
"""A history of more schemas than this is not read for what it would save."""


class ByBucket:
    """The buckets in which rows that meet a condition may lie."""

    def __init__(
        self,
        schema: TableSchema,
        options: TableOptions,
        where: Bound | None,
        schema_of: Callable[[int], TableSchema],
    ) -> None:
        self._schema, self._schema_of = schema, schema_of
        self._function = options.get(keys_identity.BUCKET_FUNCTION_TYPE)
        self._keys: frozenset[tuple[object, ...]] | None = None
        if where is not None and schema.bucket > 0 and schema.bucket_keys:
            self._keys = equal_values(where, schema.bucket_keys)
        self._allowed: dict[int, frozenset[int]] = {}
        self._same_hash: dict[int, bool] = {schema.id: True}

    def rules_out(self, bucket: int, total: int) -> bool:
        """Whether no row of ``bucket``, one of ``total``, can match; never of a bucket below 0."""
        if self._keys is None or total <= 0 or bucket < 0:
            return False
        allowed = self._allowed.get(total)
        if allowed is None:
            allowed = self._allowed[total] = self._buckets_of(self._keys, total)
        return bucket not in allowed

    def holds_for(self, schema_id: int) -> bool:
        """Whether ``rules_out`` is right for files that were written under ``schema_id``."""
        if self._keys is None:
            return False
        same_hash = self._same_hash.get(schema_id)
        if same_hash is None:
            try:
                same_hash = _hashed(self._schema_of(schema_id)) == _hashed(self._schema)
            except NotFoundError:  # a file of it says more of that than a shortcut should
                same_hash = False
            self._same_hash[schema_id] = same_hash
        return same_hash

    def holds_up_to(self, newest: int) -> bool:
        """Whether ``rules_out`` is right for every file of schemas 0 to ``newest``."""
        newest = max(newest, self._schema.id)
        if self._keys is None or newest > _SCHEMAS_MAX:
            return False
        return all(self.holds_for(id_) for id_ in range(newest + 1))

    def _buckets_of(self, keys: frozenset[tuple[object, ...]], total: int) -> frozenset[int]:
        if not keys:
            return frozenset()
        types = [f.type for f in self._schema.select(self._schema.bucket_keys)]
        columns = [
            array_of(list(values), type_)
            for values, type_ in zip(zip(*keys, strict=True), types, strict=True)
        ]
        return frozenset(bucket_ids(columns, types, total, self._function).tolist())


def _hashed(schema: TableSchema) -> tuple[object, ...]:
    """What decides where ``schema`` puts a row, but for the number of buckets."""
    columns = [_column(schema, name) for name in schema.bucket_keys]
    return (*columns, schema.options.get(keys_identity.BUCKET_FUNCTION_TYPE))


def _column(schema: TableSchema, name: str) -> tuple[int, DataType] | None:
    field = schema.by_name.get(name)
    return None if field is None else (field.id, with_nullability(field.type, nullable=True))
