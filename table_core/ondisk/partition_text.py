"""The text of partition values, as folder names and system tables show them.

Folder names are never parsed when a table is read; they only have to come out the same way each
time, or files cannot be found.  Two dialects exist (``partition.legacy-name``): Java's
``toString()`` of the stored value, and the SQL cast to STRING.

Source: ``org.apache.paimon.utils.InternalRowPartitionComputer``; format 1.4.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from table_core.datatypes.cast_text import java_float_text
from table_core.datatypes.kinds import Atomic, Root
from table_core.datatypes.temporal_text import time_text
from table_core.errors import UnsupportedFeatureError
from table_core.ondisk.binary_row import decode_row
from table_core.options import keys_files

if TYPE_CHECKING:
    from table_core.datatypes.kinds import DataType
    from table_core.ondisk.binary_row import Value
    from table_core.schema.table_schema import TableSchema

__all__ = ["partition_text", "value_text"]

_NANOS_PER_SECOND: Final = 1_000_000_000
_JAVA_BLANKS: Final = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
"""What Java's ``Character.isWhitespace`` takes, as far as ASCII goes."""


def partition_text(schema: TableSchema, partition: bytes) -> dict[str, str]:
    """Partition column to text, not escaped; NULL and blank are ``partition.default-name``.

    Raises:
        CorruptFileError: ``partition`` is no row of the partition columns.
    """
    fields = schema.partition_fields
    values = decode_row([f.type for f in fields], partition, path="_PARTITION")
    legacy = schema.options.get(keys_files.PARTITION_LEGACY_NAME)
    default = schema.options.get(keys_files.PARTITION_DEFAULT_NAME)
    texts = {}
    for field, value in zip(fields, values, strict=True):
        text = "" if value is None else value_text(field.type, value, legacy=legacy)
        texts[field.name] = default if _is_blank(text) else text
    return texts


def _is_blank(text: str) -> bool:
    # Beyond ASCII, Java and Python agree but for no-break spaces, which Java does not take.
    return all(
        c in _JAVA_BLANKS or (c > "\x85" and c not in "\xa0\u2007\u202f" and c.isspace())
        for c in text
    )


def value_text(type_: DataType, value: Value, *, legacy: bool) -> str:
    """The text of one value that is not NULL.

    Raises:
        UnsupportedFeatureError: a type whose text Java takes from an object's address.
    """
    root = type_.root if isinstance(type_, Atomic) else None
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case Decimal():
            return f"{value:f}"
        case float():
            return java_float_text(value, single=root is Root.FLOAT)
        case int() if root in {Root.TIMESTAMP, Root.TIMESTAMP_LTZ} and isinstance(type_, Atomic):
            return _legacy_timestamp(value) if legacy else _timestamp(value, type_.precision)
        case int() if root is Root.DATE and not legacy:
            return _date(value)
        case int() if root is Root.TIME and not legacy and isinstance(type_, Atomic):
            return time_text(value, type_.precision)
        case int():
            return str(value)
        case bytes() if not legacy:
            return value.decode("utf-8", errors="replace")
        case _:
            raise UnsupportedFeatureError(
                f"a partition column of type {type_} has no folder name",
                feature=f"partition column of type {root or type(type_).__name__}",
            )


def _date(days: int) -> str:
    """ISO text of an epoch day, for any year (Java's ``LocalDate.toString``)."""
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = year_of_era + era * 400 + (month <= 2)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def _clock(nanos_of_day: int, precision: int) -> str:
    seconds, nanos = divmod(nanos_of_day, _NANOS_PER_SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{nanos:09d}"[: 9 + precision] if precision else text


def _timestamp(nanos: int, precision: int) -> str:
    days, of_day = divmod(nanos, 86_400 * _NANOS_PER_SECOND)
    return f"{_date(days)} {_clock(of_day, precision)}"


def _legacy_timestamp(nanos: int) -> str:
    """Java's ``LocalDateTime.toString``: zero seconds and zero fractions are left out."""
    days, of_day = divmod(nanos, 86_400 * _NANOS_PER_SECOND)
    fraction = of_day % _NANOS_PER_SECOND
    if fraction == 0:
        precision = 0
    else:
        precision = 3 if fraction % 1_000_000 == 0 else 6 if fraction % 1000 == 0 else 9
    clock = _clock(of_day, precision)
    return f"{_date(days)}T{clock.removesuffix(':00') if len(clock) == 8 else clock}"
