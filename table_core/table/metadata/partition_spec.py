"""Partitions as users name them, ``{"dt": "2026-01-01"}``, to the rows that manifests hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import time
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from table_core.commit.overwrite import matcher
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import ArgumentError
from table_core.ondisk.binary_row import decode_row, encode_row, sort_key, values_of
from table_core.ondisk.partition_text import value_text
from table_core.scan.by_partition import PartitionTest, manifests_of_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.ondisk.binary_row import Value
    from table_core.ondisk.manifest_meta import ManifestMeta
    from table_core.table.metadata.access import TableAccess

__all__ = [
    "canonical_partition",
    "encoded_partition",
    "manifest_matcher",
    "partition_matcher",
    "partition_row",
]

_ZONE: Final = re.compile(r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)$")
_DAY: Final = re.compile(r"[+-]?\d{1,7}")
_NUMBERS: Final = frozenset(
    {Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.DECIMAL, Root.FLOAT, Root.DOUBLE}
)


def partition_matcher(access: TableAccess, specs: Sequence[Mapping[str, object]]) -> PartitionTest:
    """Whether a serialized partition agrees with at least one of ``specs``; {} is all.

    Values are compared as partitions are told apart, by Java's order: NaN is itself, and -0.0 is another
    partition than 0.0.

    Raises:
        ArgumentError: a name is no partition column, or a value does not fit its type.
    """
    schema = access.schema
    types = [field.type for field in schema.partition_fields]
    typed = [
        {
            name: sort_key([schema.field(name).type], [value])[0]
            for name, value in _typed(access, spec).items()
        }
        for spec in _listed(specs)
    ]

    def keys(row: bytes) -> tuple[object, ...]:
        return sort_key(types, decode_row(types, row, path="part"))

    return PartitionTest(
        matcher(schema.partition_keys, keys, typed), manifest_matcher(access, specs)
    )


def manifest_matcher(
    access: TableAccess, specs: Sequence[Mapping[str, object]]
) -> Callable[[ManifestMeta], bool]:
    """Whether a manifest may have entries that ``partition_matcher`` wants.

    Raises:
        ArgumentError: as there.
    """
    typed = [_typed(access, spec) for spec in _listed(specs)]
    return manifests_of_rows(access.schema.partition_fields, typed)


def partition_row(access: TableAccess, partition: bytes) -> dict[str, Any]:
    """The values of a serialized partition by column."""
    types = [field.type for field in access.schema.partition_fields]
    values = decode_row(types, partition, path="partition") if types else ()
    return dict(zip(access.schema.partition_keys, values, strict=True))


def canonical_partition(access: TableAccess, spec: Mapping[str, object]) -> dict[str, str | None]:
    """The values that ``spec`` names, some or all, in the spelling of ``ondisk.partition_key``.

    Raises:
        ArgumentError: a name is no partition column, or a value does not fit its type.
    """
    schema, canonical = access.schema, {}
    typed = _typed(access, spec)
    for name in schema.partition_keys:
        if name in typed:
            value = typed[name]
            type_ = schema.field(name).type
            canonical[name] = None if value is None else value_text(type_, value, legacy=False)
    return canonical


def encoded_partition(access: TableAccess, spec: Mapping[str, object]) -> bytes:
    """The serialized partition that ``spec`` names whole.

    Raises:
        ArgumentError: a partition column is missing, or unknown, or its value does not fit.
    """
    schema = access.schema
    values = _typed(access, spec)
    missing = [name for name in schema.partition_keys if name not in values]
    if missing or not values:
        raise ArgumentError(
            f"{dict(spec)} names no single partition of {access.name}; it needs "
            f"{list(schema.partition_keys)}",
            argument="partition",
            value=dict(spec),
        )
    types = [field.type for field in schema.partition_fields]
    return encode_row(types, [values[name] for name in schema.partition_keys])


def _listed(specs: Sequence[Mapping[str, object]]) -> Sequence[Mapping[str, object]]:
    if isinstance(specs, str | Mapping):
        raise ArgumentError(
            f"partitions={specs!r} is no list of partitions: write [{{'dt': '2026-01-01'}}]",
            argument="partitions",
            value=str(specs),
        )
    return specs


def _typed(access: TableAccess, spec: Mapping[str, object]) -> dict[str, Value]:
    if not isinstance(spec, Mapping):
        raise ArgumentError(
            f"partition={spec!r} names no column: write {{'dt': '2026-01-01'}}",
            argument="partition",
            value=str(spec),
        )
    return {name: _value(access, name, value) for name, value in spec.items()}


def _value(access: TableAccess, name: str, value: object) -> Value:
    if name not in access.schema.partition_keys:
        raise ArgumentError(
            f"{name!r} is no partition column of {access.name}; those are "
            f"{list(access.schema.partition_keys)}",
            argument="partition",
            value=name,
        )
    type_ = access.schema.field(name).type
    if value is None:
        return None
    root = type_.root if isinstance(type_, Atomic) else None
    try:
        if isinstance(value, bool) and root in _NUMBERS:
            raise pa.ArrowInvalid("true and false are no numbers")
        column = pa.array([_parsed(value, root)]).cast(arrow_type(type_))
    except (
        ValueError,  # Arrow's are of this kind too
        pa.ArrowNotImplementedError,
        pa.ArrowTypeError,
        OverflowError,
    ) as error:
        raise ArgumentError(
            f"partition {name}={value!r} does not fit {arrow_type(type_)}",
            argument="partition",
            value=str(value),
        ) from error
    return values_of(column, type_)[0]


def _parsed(value: object, root: Root | None) -> object:
    """What Arrow would not read, as something that it casts: times of day, and moments without a zone.

    Raises:
        ValueError: text that is none.
    """
    if root is Root.DATE:
        return _day(value)
    if root is Root.TIME and isinstance(value, str):
        return time.fromisoformat(value)
    if root is Root.TIMESTAMP_LTZ and isinstance(value, str) and not _ZONE.search(value):
        return f"{value}Z"  # as it is spelled here
    return value


def _day(value: object) -> object:
    """A DATE as the number of its day too: folders are named so, and events of old."""
    number = isinstance(value, int) or (isinstance(value, str) and _DAY.fullmatch(value))
    return pa.scalar(int(str(value)), pa.int32()).cast(pa.date32()).as_py() if number else value
