"""Which of two types holds every value of the other, unchanged: what may be done unasked.

A type is *wider* where each value of the other one is a value of it and means the same.  What only
looks alike does not count: a longer CHAR pads its values, a DOUBLE rounds large numbers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from table_core.datatypes.kinds import MAX_LENGTH, Atomic, DataType, Root, with_nullability
from table_core.datatypes.text import type_text

__all__ = ["Width", "holds_all", "keeps_all", "union", "width"]

_DIGITS: Final = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 19}
_INTEGERS: Final = tuple(_DIGITS)
_EXACT_IN: Final = {
    Root.FLOAT: (Root.TINYINT, Root.SMALLINT),
    Root.DOUBLE: (Root.TINYINT, Root.SMALLINT, Root.INT, Root.FLOAT),
}
"""Numbers that a floating type holds without rounding."""
_NUMBERS: Final = frozenset({*_INTEGERS, Root.FLOAT, Root.DOUBLE, Root.DECIMAL})
_OF_LENGTH: Final = {
    Root.VARCHAR: (Root.CHAR, Root.VARCHAR),
    Root.VARBINARY: (Root.BINARY, Root.VARBINARY),
}
_OF_PRECISION: Final = (Root.TIME, Root.TIMESTAMP, Root.TIMESTAMP_LTZ)
_DECIMAL_DIGITS_MAX: Final = 38
_MICROS: Final = 6
"""With more digits a TIMESTAMP does not reach as far as a DATE."""


class Width(StrEnum):
    """How the type of a column stands to the one that is declared; nullability is not looked at."""

    SAME = "same"
    NARROWER = "narrower"
    """The declared type holds all that is there: the column may be widened."""
    WIDER = "wider"
    """The column holds more than declared, as after a sync: it may stay."""
    OTHER = "other"
    """Neither holds the other: a change would give values another meaning."""


def width(current: DataType, declared: DataType) -> Width:
    """How ``current`` stands to ``declared``, both without parts."""
    current, declared = (with_nullability(t, nullable=True) for t in (current, declared))
    if current == declared:
        return Width.SAME
    if not isinstance(current, Atomic) or not isinstance(declared, Atomic):
        return Width.OTHER
    if _holds(declared, current):
        return Width.NARROWER
    if _holds(current, declared) or _a_sync_makes(current, declared):
        return Width.WIDER
    return Width.OTHER


def holds_all(current: DataType, agreed: DataType) -> bool:
    """Whether who expects ``agreed`` can take all that a column of ``current`` gives, NULL too."""
    fits = width(current, agreed) in {Width.SAME, Width.NARROWER} or _same_parts(current, agreed)
    return fits and (agreed.nullable or not current.nullable)


def keeps_all(old: DataType, new: DataType) -> bool:
    """Whether each value of a column of ``old`` can be told once the column is of ``new``."""
    old, new = (with_nullability(t, nullable=True) for t in (old, new))
    if old == new or not isinstance(new, Atomic):
        return old == new
    is_text = new.root is Root.VARCHAR and new.length == MAX_LENGTH
    if not isinstance(old, Atomic):
        return is_text
    if is_text and old.root not in _OF_LENGTH[Root.VARBINARY]:  # bytes are not always text
        return True
    of_day = old.root is Root.DATE and new.root is Root.TIMESTAMP and new.precision <= _MICROS
    of_truth = old.root is Root.BOOLEAN and new.root in _INTEGERS
    return of_day or of_truth or _holds(new, old)


def _same_parts(current: DataType, agreed: DataType) -> bool:
    """Types with parts, compared without the numbers that a table gives their members."""
    texts = (type_text(with_nullability(t, nullable=True)) for t in (current, agreed))
    return not isinstance(current, Atomic) and len(set(texts)) == 1


def union(current: DataType, declared: DataType) -> Atomic | None:
    """The narrowest DECIMAL that holds both, to propose it; None if there is none."""
    if not isinstance(current, Atomic) or not isinstance(declared, Atomic):
        return None
    sizes = [_decimal(current), _decimal(declared)]
    if None in sizes:
        return None
    whole, scale = (max(size[at] for size in sizes if size) for at in (0, 1))
    if whole + scale > _DECIMAL_DIGITS_MAX:
        return None
    return Atomic(Root.DECIMAL, precision=whole + scale, scale=scale)


def _holds(wide: Atomic, narrow: Atomic) -> bool:
    """Whether each value of ``narrow`` is one of ``wide``, and reads the same."""
    if wide.root in _INTEGERS and narrow.root in _INTEGERS:
        return _DIGITS[wide.root] >= _DIGITS[narrow.root]
    if wide.root is Root.DECIMAL and (size := _decimal(narrow)) is not None:
        return wide.precision - wide.scale >= size[0] and wide.scale >= size[1]
    if narrow.root in _EXACT_IN.get(wide.root, ()):
        return True
    if narrow.root in _OF_LENGTH.get(wide.root, ()):
        return wide.length >= narrow.length
    return (
        wide.root is narrow.root
        and wide.root in _OF_PRECISION
        and wide.precision >= narrow.precision
    )


def _decimal(type_: Atomic) -> tuple[int, int] | None:
    """Digits before and after the point of an exact number."""
    if type_.root is Root.DECIMAL:
        return type_.precision - type_.scale, type_.scale
    return (_DIGITS[type_.root], 0) if type_.root in _DIGITS else None


def _a_sync_makes(current: Atomic, declared: Atomic) -> bool:
    """Whether a source of changes could have made ``current`` of ``declared``, see ``cdc.model.evolution``."""
    if current.root is Root.DOUBLE:
        return declared.root in _NUMBERS
    if current.root is Root.TIMESTAMP:
        return declared.root is Root.DATE
    return current.root is Root.VARCHAR and current.length == MAX_LENGTH
