"""Partition values as Paimon dates them, and which of them no pattern can date.

Source: ``org.apache.paimon.partition.PartitionTimeExtractor``, which is given the stored values as text; format
T60.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import Atomic, Root
from table_core.expire.partitions import PartitionExpiry, partition_time
from table_core.ondisk.binary_row import decode_row
from table_core.ondisk.partition_text import value_text
from table_core.options import keys_retention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from table_core.datatypes.kinds import DataType
    from table_core.schema.table_schema import TableSchema

__all__ = ["dated_texts", "never_dated", "readable_values", "useless_retention"]

_DAY: Final = 20_485
"""2 February 2026, since 1970."""
_NANOS_PER_DAY: Final = 86_400_000_000_000
_WAY_OUT: Final = f"set {keys_retention.PARTITION_EXPIRATION_STRATEGY.key} to update-time, which goes by the newest file"


def dated_texts(schema: TableSchema, row: bytes) -> dict[str, str | None]:
    """Partition column to the text that is dated: of the stored value, whatever the folder is called."""
    return _texts(schema, row, legacy=True)


def readable_values(schema: TableSchema, row: bytes) -> dict[str, str | None]:
    """Partition column to its value as SQL writes it: a DATE is ``2026-02-02``, not a number of days."""
    return _texts(schema, row, legacy=False)


def _texts(schema: TableSchema, row: bytes, *, legacy: bool) -> dict[str, str | None]:
    fields = schema.partition_fields
    values = decode_row([field.type for field in fields], row, path="_PARTITION")
    return {
        field.name: None
        if value is None
        else value_text(field.type, value, legacy=legacy and not isinstance(value, bytes))
        for field, value in zip(fields, values, strict=True)
    }


def useless_retention(schema: TableSchema) -> str | None:
    """Why ``partition.expiration-time`` of this table never drops anything, and what helps; None: it can."""
    options = schema.options
    if options.get(keys_retention.PARTITION_EXPIRATION_STRATEGY).lower() != "values-time":
        return None
    return never_dated(schema, PartitionExpiry.of(options))


def never_dated(schema: TableSchema, expiry: PartitionExpiry | None) -> str | None:
    """Why no partition of this table can ever expire, and what helps; None: some can.

    Texts are not judged: they may say anything.
    """
    if expiry is None or expiry.by_update or not schema.partition_keys:
        return None
    pattern = expiry.pattern
    names = [n for n in schema.partition_keys if pattern is None or f"${n}" in pattern]
    if pattern is None:
        names = names[:1]
    kinds = {name: schema.field(name).type for name in names}
    if not kinds or any(not _samples(type_) for type_ in kinds.values()):
        return None
    for at in range(3):
        texts: dict[str, str | None] = {
            name: _samples(type_)[at % len(_samples(type_))] for name, type_ in kinds.items()
        }
        if partition_time(texts, pattern=pattern, formatter=expiry.formatter) is not None:
            return None
    what = ", ".join(f"{name} ({_root(type_).value})" for name, type_ in kinds.items())
    if {_root(type_) for type_ in kinds.values()} <= {Root.TIMESTAMP, Root.TIMESTAMP_LTZ}:
        formatter = keys_retention.PARTITION_TIMESTAMP_FORMATTER.key
        return (
            f"no partition can expire by {what}: Paimon dates it as text such as 2026-02-02T07:00, which "
            f"{formatter} must read, as yyyy-MM-dd'T'HH:mm does for full minutes; or {_WAY_OUT}"
        )
    return (
        f"no partition can expire by {what}: Paimon dates it as {next(_shown(kinds))}; {_WAY_OUT}"
    )


def _root(type_: DataType) -> Root:
    assert isinstance(type_, Atomic)
    return type_.root


def _shown(kinds: dict[str, DataType]) -> Iterator[str]:
    for type_ in kinds.values():
        is_day = _root(type_) is Root.DATE
        yield f"{'days since 1970' if is_day else 'text'}, such as {_samples(type_)[0]}"


def _samples(type_: DataType) -> tuple[str, ...]:
    """Texts that values of ``type_`` may have where they are meant as a time; none of texts."""
    if not isinstance(type_, Atomic):
        return ()
    values: tuple[int | bool, ...]
    match type_.root:
        case Root.DATE:
            values = (_DAY,)
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            day = _DAY * _NANOS_PER_DAY
            values = (day, day + 7 * 3_600_000_000_000, day + 3_661_000_000_000)
        case Root.BOOLEAN:
            values = (True, False)
        case _:
            return ()
    return tuple(value_text(type_, value, legacy=True) for value in values)
