"""How a value becomes text: the same bytes on the server and here, and other bytes for other values.

Each type of a server has an expression of its SQL, and an Arrow kernel for what the table holds.  A pair
that is not here has no such text: its values are compared where rows are, and not by checksum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.mysql_types import is_bytes, mysql_column, mysql_type
from table_core.cdc.source.postgres.types import postgres_type
from table_core.datatypes.kinds import STRING, Array, Atomic, Root
from table_core.schema.type_mapping import TypeMapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from table_core.cdc.model.mysql_types import MySqlColumn
    from table_core.datatypes.kinds import DataType

    Form: TypeAlias = Callable[[pa.Array], pa.Array]

__all__ = ["Canonical", "mysql_canonical", "postgres_canonical"]

_WHOLE: Final = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT})
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})
_BYTES: Final = frozenset({Root.BINARY, Root.VARBINARY})
_MOMENT: Final = frozenset({Root.TIMESTAMP, Root.TIMESTAMP_LTZ})
_SECONDS: Final = len("2024-01-02 03:04:05")
_AS_IS: Final = TypeMapping()


@dataclass(frozen=True, slots=True)
class Canonical:
    """The text of the values of one column."""

    server: str
    """An expression of the server's SQL; ``{}`` stands for the column."""
    form: Form
    """What makes it of the column here."""
    is_sized: bool = False
    """Whether it may have any letter, so that its length has to stand before it."""


# ------------------------------------------------------------------------------------- here
def _plain(values: pa.Array) -> pa.Array:
    return values.cast(pa.string())


def _decimal(values: pa.Array) -> pa.Array:
    """All digits: small numbers would have an exponent."""
    scale = values.type.scale
    if not scale:
        return _plain(values)
    digits = pa.Array.from_buffers(
        pa.decimal128(values.type.precision, 0), len(values), values.buffers(), offset=values.offset
    )
    text = pc.utf8_lpad(pc.abs(digits).cast(pa.string()), scale + 1, "0")
    whole, fraction = (
        pc.utf8_slice_codeunits(text, 0, -scale),
        pc.utf8_slice_codeunits(text, -scale),
    )
    sign = pc.if_else(pc.less(digits, pa.scalar(0, digits.type)), "-", "")
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), fraction, ".")


def _flag(values: pa.Array) -> pa.Array:
    return values.cast(pa.int8()).cast(pa.string())


def _bits(values: pa.Array) -> pa.Array:
    """A number as that of its bits: minus zero is not zero, and NaN is one value however it was made."""
    whole = pa.int32() if pa.types.is_float32(values.type) else pa.int64()
    return pc.if_else(pc.is_nan(values), "NaN", values.view(whole).cast(pa.string()))


_HEX: Final = np.frombuffer("".join(f"{n:02x}" for n in range(256)).encode(), np.uint16)


def _hex(values: pa.Array) -> pa.Array:
    if not len(values):
        return pa.array([], pa.string())
    values = values.cast(pa.binary())
    _, ends, data = values.buffers()
    offsets = np.frombuffer(ends, np.int32)[values.offset : values.offset + len(values) + 1]
    bytes_ = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    wide = ((offsets - offsets[0]) * 2).astype(np.int32)
    text = pa.StringArray.from_buffers(
        len(values), pa.py_buffer(wide), pa.py_buffer(_HEX[bytes_].tobytes())
    )
    return pc.if_else(values.is_valid(), text, None) if values.null_count else text


@cache
def _moment(digits: int | None) -> Form:
    """With so many digits of a second, or more if it has more; None: as many as there are."""

    def form(values: pa.Array) -> pa.Array:
        text = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.timestamp("us"))
        text = text.cast(pa.string())
        if digits is None:
            return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")
        length = _SECONDS + (digits and digits + 1)
        rest = pc.utf8_trim(pc.utf8_slice_codeunits(text, length), ".0")
        return pc.if_else(pc.equal(rest, ""), pc.utf8_slice_codeunits(text, 0, length), text)

    return form


def _joined(values: pa.Array) -> pa.Array:
    return pc.binary_join(values, ",")


# ---------------------------------------------------------------------------------- MariaDB
_VALID: Final = (
    "IF({} >= '0001-01-01' AND DAYOFMONTH({}) BETWEEN 1 AND DAYOFMONTH(LAST_DAY({})), {}, NULL)"
)
"""A date that is none is null here."""
_LETTERS: Final = "CONVERT({} USING utf8mb4)"
_HEXADECIMAL: Final = "IF({} IS NULL, NULL, COALESCE(LOWER(HEX({})), '?'))"
"""Text of more than max_allowed_packet is null there, which the value is not."""
_NUMBERS: Final = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "integer", "bigint", "serial", "year"}
)
_ADDRESSES: Final = frozenset({"uuid", "inet4", "inet6"})


def mysql_canonical(type_: str, here: DataType) -> Canonical | None:
    """The text of a column of MariaDB, by its type there and here; None for none."""
    column = mysql_column(type_)
    if column.name == "set" and isinstance(here, Array):
        return Canonical(_LETTERS, _joined, is_sized=True)
    if not isinstance(here, Atomic):
        return None
    if column.name in _NUMBERS:
        return _mysql_number(here)
    if column.name == "longtext" and here.root in _BYTES:
        return Canonical(_HEXADECIMAL.replace("{}", _LETTERS), _hex)
    if here.root in _TEXT and not is_bytes(column):
        return _mysql_text(column)
    there = mysql_type(column, _AS_IS)
    if not isinstance(there, Atomic) or _apart(there, here):
        return None
    return _mysql_other(column, here)


def _apart(there: Atomic, here: Atomic) -> bool:
    """Whether values of the same number, date or bytes look otherwise there and here."""
    return there.root is not here.root or there.scale != here.scale


def _mysql_number(here: Atomic) -> Canonical | None:
    if here.root is Root.BOOLEAN:
        return Canonical("{} + 0", _flag)
    is_whole = here.root in _WHOLE or (here.root is Root.DECIMAL and not here.scale)
    return Canonical("{} + 0", _plain) if is_whole else None


def _mysql_text(column: MySqlColumn) -> Canonical | None:
    if column.name == "decimal":
        return Canonical("{}", _plain)
    if column.name == "time":
        trimmed = "TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {}))"
        return Canonical(trimmed if column.number(0, 0) else "{}", _plain)
    if column.name in _ADDRESSES:
        return Canonical("CAST({} AS CHAR)", _plain)
    is_text = mysql_type(column, _AS_IS) == STRING or column.name in {"char", "varchar"}
    if not is_text or column.name in _GEOMETRIES:
        return None
    return Canonical(_LETTERS, _plain, is_sized=True)


_GEOMETRIES: Final = frozenset(
    {
        *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"),
        *("multipolygon", "geometrycollection", "geomcollection", "xmltype"),
    }
)


def _mysql_other(column: MySqlColumn, here: Atomic) -> Canonical | None:
    if here.root is Root.DECIMAL:
        return Canonical("{} + 0", _decimal)
    if here.root is Root.BOOLEAN:
        return Canonical("{} + 0", _flag)
    if column.name == "bit":
        digits = (column.number(0, 1) + 7) // 8 * 2
        return Canonical(f"LPAD(LOWER(HEX({{}} + 0)), {digits}, '0')", _hex)
    if here.root in _BYTES:
        return Canonical(_HEXADECIMAL, _hex)
    if here.root is Root.DATE:
        return Canonical(_VALID, _plain)
    if here.root in _MOMENT:
        return Canonical(_VALID, _moment(column.number(0, 0)))
    return None  # FLOAT and DOUBLE: the server has no exact text of them


# ------------------------------------------------------------------------------- PostgreSQL
_PRINTED: Final = "CASE WHEN num_nulls({}) = 0 THEN concat({}) END"
"""What the server prints.  A cast to text takes the spaces from a CHAR(n), and gives an INET a mask."""
_NUMBER: Final = "CASE WHEN {} = 'NaN' THEN 'NaN' ELSE (%s)::text END"


def postgres_canonical(type_: str, here: DataType) -> Canonical | None:
    """The text of a column of PostgreSQL, by its type there and here; None for none."""
    if not isinstance(here, Atomic):
        return None
    if here.root in _TEXT:
        is_text = type_ == "text" or type_.startswith("character varying")
        return Canonical("{}::text" if is_text else _PRINTED, _plain, is_sized=True)
    there = postgres_type(type_, _AS_IS)
    if not isinstance(there, Atomic):
        return None
    if here.root in _WHOLE and there.root in _WHOLE:
        return Canonical("{}::text", _plain)
    if _apart(there, here):
        return None
    return _POSTGRES.get(here.root)


_POSTGRES: Final[dict[Any, Canonical]] = {
    Root.BOOLEAN: Canonical("({}::int)::text", _flag),
    Root.FLOAT: Canonical(_NUMBER % "('x' || encode(float4send({}), 'hex'))::bit(32)::int", _bits),
    Root.DOUBLE: Canonical(
        _NUMBER % "('x' || encode(float8send({}), 'hex'))::bit(64)::bigint", _bits
    ),
    Root.DECIMAL: Canonical("{}::text", _decimal),
    Root.VARBINARY: Canonical("encode({}, 'hex')", _hex),
    Root.DATE: Canonical("{}::text", _plain),
    Root.TIMESTAMP: Canonical("{}::text", _moment(None)),
    Root.TIMESTAMP_LTZ: Canonical("({} AT TIME ZONE 'UTC')::text", _moment(None)),
}
