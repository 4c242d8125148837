"""How a user wants source types to differ from the usual mapping.

Source: ``org.apache.paimon.flink.action.cdc.TypeMapping``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from table_core.datatypes.kinds import MAX_LENGTH, STRING, Atomic, DataType, Root
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TypeMapping"]

_NAMES: Final = (
    "tinyint1-not-bool",
    "to-nullable",
    "to-string",
    "char-to-string",
    "longtext-to-bytes",
    "bigint-unsigned-to-bigint",
    "decimal-no-change",
    "no-change",
    "allow-non-string-to-string",
)


@dataclass(frozen=True, slots=True)
class TypeMapping:
    """One flag for each option."""

    tinyint1_not_bool: bool = False
    """TINYINT(1) is a number."""
    to_nullable: bool = False
    """NOT NULL of the source is not taken over (the primary key keeps it)."""
    to_string: bool = False
    """Every column is STRING."""
    char_to_string: bool = False
    """CHAR and VARCHAR are STRING."""
    longtext_to_bytes: bool = False
    """LONGTEXT is BYTES."""
    bigint_unsigned_to_bigint: bool = False
    """BIGINT UNSIGNED is BIGINT, and a value that does not fit is an error."""
    decimal_no_change: bool = False
    """A decimal of the table stays as it is when the source changes its precision or scale."""
    no_change: bool = False
    """No column of the table changes its type."""
    allow_non_string_to_string: bool = False
    """A column may become STRING when the source gives it a type that does not fit."""

    @classmethod
    def of(cls, names: Iterable[str]) -> TypeMapping:
        """Read the options by name.

        Raises:
            ArgumentError: there is no such option.
        """
        mapping = cls()
        for name in names:
            if name not in _NAMES:
                raise ArgumentError(
                    f"type_mapping {name!r} is none of {', '.join(_NAMES)}",
                    argument="type_mapping",
                    value=name,
                )
            mapping = replace(mapping, **{name.replace("-", "_"): True})
        return mapping

    def applied(self, type_: DataType) -> DataType:
        """``type_`` that an event declares, as the user wants it."""
        if self.to_string:
            return STRING
        if not isinstance(type_, Atomic):
            return type_
        if self.char_to_string and type_.root in {Root.CHAR, Root.VARCHAR}:
            return Atomic(Root.VARCHAR, nullable=type_.nullable, length=MAX_LENGTH)
        if (
            self.bigint_unsigned_to_bigint
            and type_.root is Root.DECIMAL
            and (type_.precision, type_.scale) == (20, 0)
        ):
            return Atomic(Root.BIGINT, nullable=type_.nullable)
        return type_
