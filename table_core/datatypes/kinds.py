"""The Paimon type tree: what a value is.

Source: ``org.apache.paimon.types.DataType`` and its subclasses; format 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

__all__ = [
    "MAX_LENGTH",
    "STRING",
    "Array",
    "Atomic",
    "DataType",
    "Field",
    "Map",
    "Multiset",
    "Root",
    "Row",
    "Vector",
    "not_null",
    "with_nullability",
]

MAX_LENGTH: Final = 2**31 - 1


class Root(StrEnum):
    """The family of an atomic type."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    VARIANT = "VARIANT"
    BLOB = "BLOB"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A type without parts.

    ``length`` is set for CHAR, VARCHAR, BINARY and VARBINARY (``MAX_LENGTH`` is STRING or BYTES);
    ``precision`` for DECIMAL, TIME and timestamps; ``scale`` for DECIMAL.
    """

    root: Root
    nullable: bool = True
    length: int = 0
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Array:
    """A list of ``element``."""

    element: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Vector:
    """A list of exactly ``length`` elements."""

    element: DataType
    length: int
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Multiset:
    """A bag of ``element``, kept as element to count."""

    element: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping."""

    key: DataType
    value: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A nested row.  Its fields have ids of their own."""

    fields: tuple[Field, ...]
    nullable: bool = True


DataType: TypeAlias = Atomic | Array | Vector | Multiset | Map | Row


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a member of a ROW.  ``id`` never changes and is never used again."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None
    """Text of the value that a writer puts in place of NULL."""


STRING: Final = Atomic(Root.VARCHAR, length=MAX_LENGTH)


def with_nullability(type_: DataType, *, nullable: bool) -> DataType:
    """``type_`` with the outermost nullability replaced."""
    return type_ if type_.nullable == nullable else replace(type_, nullable=nullable)


def not_null(type_: DataType) -> DataType:
    """``type_`` without null."""
    return with_nullability(type_, nullable=False)
