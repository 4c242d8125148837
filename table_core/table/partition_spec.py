"""Partitions as users name them, ``{"dt": "2026-01-01"}``, to the rows that manifests hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from table_core.commit.overwrite import matcher
from table_core.datatypes.arrow import arrow_type
from table_core.errors import ArgumentError
from table_core.ondisk.binary_row import decode_row, encode_row, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.ondisk.binary_row import Value
    from table_core.table.access import TableAccess

__all__ = ["encoded_partition", "partition_matcher", "partition_row"]


def partition_matcher(
    access: TableAccess, specs: Sequence[Mapping[str, object]]
) -> Callable[[bytes], bool]:
    """Whether a serialized partition agrees with at least one of ``specs``; {} is all.

    Raises:
        ArgumentError: a name is no partition column, or a value does not fit its type.
    """
    schema = access.schema
    types = [field.type for field in schema.partition_fields]
    typed = [{name: _value(access, name, value) for name, value in s.items()} for s in specs]
    return matcher(schema.partition_keys, lambda row: decode_row(types, row, path="part"), typed)


def partition_row(access: TableAccess, partition: bytes) -> dict[str, Any]:
    """The values of a serialized partition by column."""
    types = [field.type for field in access.schema.partition_fields]
    values = decode_row(types, partition, path="partition") if types else ()
    return dict(zip(access.schema.partition_keys, values, strict=True))


def encoded_partition(access: TableAccess, spec: Mapping[str, object]) -> bytes:
    """The serialized partition that ``spec`` names whole.

    Raises:
        ArgumentError: a partition column is missing, or unknown, or its value does not fit.
    """
    schema = access.schema
    values = {name: _value(access, name, value) for name, value in spec.items()}
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
    try:
        column = pa.array([value]).cast(arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise ArgumentError(
            f"partition {name}={value!r} does not fit {arrow_type(type_)}",
            argument="partition",
            value=str(value),
        ) from error
    return values_of(column, type_)[0]
