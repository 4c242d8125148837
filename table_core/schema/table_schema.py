"""The schema of a table at one version, and what follows from it.

Source: ``org.apache.paimon.schema.TableSchema``; format 2 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, Field, Root
from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import NotFoundError
from table_core.options import keys_identity
from table_core.options.table import TableOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "KEY_ID_OFFSET",
    "KEY_PREFIX",
    "KIND_FIELD",
    "ROW_ID_FIELD",
    "SEQUENCE_FIELD",
    "SYSTEM_NAMES",
    "TRACKING_FIELDS",
    "TableSchema",
]

KEY_PREFIX: Final = "_KEY_"
KEY_ID_OFFSET: Final = 1073741823
SEQUENCE_FIELD: Final = Field(2147483646, SEQUENCE_COLUMN, Atomic(Root.BIGINT, nullable=False))
KIND_FIELD: Final = Field(2147483645, KIND_COLUMN, Atomic(Root.TINYINT, nullable=False))
ROW_ID_FIELD: Final = Field(2147483642, "_ROW_ID", Atomic(Root.BIGINT, nullable=False))
TRACKING_FIELDS: Final = (ROW_ID_FIELD, SEQUENCE_FIELD)
"""What rows of append tables have with ``row-tracking.enabled`` (format 10.6)."""
SYSTEM_NAMES: Final = frozenset(
    {SEQUENCE_COLUMN, KIND_COLUMN, "_LEVEL", "rowkind", ROW_ID_FIELD.name}
)


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """One version of a table's schema.  Equal to one ``schema/schema-<id>`` file."""

    id: int
    fields: tuple[Field, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    raw_options: Mapping[str, str] = field(default_factory=dict)
    """As stored, unknown ones included."""
    comment: str | None = None
    time_millis: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)
    """Members of the document that this release does not know."""

    @cached_property
    def options(self) -> TableOptions:
        """The stored options, parsed."""
        return TableOptions.parse(self.raw_options)

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """Top-level fields by name."""
        return {f.name: f for f in self.fields}

    def field(self, name: str) -> Field:
        """The top-level field ``name``.

        Raises:
            NotFoundError: there is none; facts list those there are.
        """
        field = self.by_name.get(name)
        if field is None:
            names = [f.name for f in self.fields]
            raise NotFoundError(
                f"no column {name!r}; there are {names}", name=name, available=names
            )
        return field

    def select(self, names: Iterable[str]) -> tuple[Field, ...]:
        """The fields called ``names``, in that order."""
        return tuple(self.field(name) for name in names)

    @property
    def is_key_table(self) -> bool:
        """Whether the table has a primary key."""
        return bool(self.primary_keys)

    @cached_property
    def partition_fields(self) -> tuple[Field, ...]:
        """Partition columns, in partition-key order."""
        return self.select(self.partition_keys)

    @cached_property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """Primary-key columns that are no partition columns, in primary-key order."""
        return tuple(k for k in self.primary_keys if k not in self.partition_keys)

    @cached_property
    def trimmed_key_fields(self) -> tuple[Field, ...]:
        """The value columns that make up the key inside one partition."""
        return self.select(self.trimmed_primary_keys)

    @cached_property
    def stored_key_fields(self) -> tuple[Field, ...]:
        """The ``_KEY_`` columns of data files (format 5.1)."""
        return tuple(
            Field(KEY_ID_OFFSET + f.id, KEY_PREFIX + f.name, f.type)
            for f in self.trimmed_key_fields
        )

    @property
    def bucket(self) -> int:
        """The ``bucket`` option: N fixed, -1 dynamic or unaware, -2 postpone."""
        return self.options.get(keys_identity.BUCKET)

    @cached_property
    def bucket_keys(self) -> tuple[str, ...]:
        """Columns that are hashed: ``bucket-key``, else the trimmed primary key."""
        return self.options.get(keys_identity.BUCKET_KEY) or self.trimmed_primary_keys
