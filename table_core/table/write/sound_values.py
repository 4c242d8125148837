"""Values that their type does not allow, though Arrow holds them: text that is no UTF-8, decimals of more digits.

Arrow looks at them only if it is asked.  Readers of a file do look, so one such row would make a file that
nobody can read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from table_core.datatypes.arrow import arrow_type
from table_core.errors import DataError
from table_core.storage.columns.validity import check_values

if TYPE_CHECKING:
    from table_core.datatypes.kinds import Field

__all__ = ["refuse_unsound", "unsound_value"]

_SHOWN_BYTES: Final = 40
"""So many bytes of a text are shown."""
_RULES: Final = (
    (pa.types.is_string, "text is UTF-8; decode it before you write it, or store it as bytes"),
    (pa.types.is_decimal, "a decimal has no more digits than its type; write one that fits"),
)
"""What a type asks for, and what to do; a nested type may mean any of them."""


def refuse_unsound(field: Field, column: pa.ChunkedArray, first_row: int) -> None:
    """Require that each value of ``column`` is what its type says.

    Raises:
        DataError: one is not.
    """
    for chunk in column.chunks:
        if not _is_sound(chunk):
            at = _first_unsound(chunk)
            raise unsound_value(field, first_row + at, _shown(chunk[at]))
        first_row += len(chunk)


def unsound_value(field: Field, row: int | None = None, shown: str | None = None) -> DataError:
    """The error of a value, ``shown`` as text, that is not what its type says; None: nobody knows."""
    where = f"column {field.name!r}" if row is None else f"column {field.name!r}, row {row}"
    type_ = arrow_type(field.type)
    rules = [rule for applies, rule in _RULES if applies(type_)] or [rule for _, rule in _RULES]
    return DataError(
        f"{where}: {shown or 'a value'} is no {type_}: {'; or '.join(rules)}",
        column=field.name,
        row=row,
        value=shown,
    )


def _is_sound(array: pa.Array) -> bool:
    type_ = array.type
    if pa.types.is_struct(type_):
        return all(map(_is_sound, array.flatten()))
    if pa.types.is_map(type_):
        first, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return all(_is_sound(part.slice(first, end - first)) for part in (array.keys, array.items))
    if pa.types.is_nested(type_):
        return _is_sound(array.flatten())
    if not (pa.types.is_string(type_) or pa.types.is_decimal(type_)):
        return True
    try:
        check_values(array)
    except pa.ArrowException:
        return False
    return True


def _first_unsound(chunk: pa.Array) -> int:
    """By halving."""
    low, high = 0, len(chunk)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_sound(chunk.slice(low, middle - low)) else (low, middle)
    return low


def _shown(value: pa.Scalar) -> str:
    if not pa.types.is_string(value.type):
        return "a value in it" if pa.types.is_nested(value.type) else str(value)
    return f"0x{value.cast(pa.binary()).as_py()[:_SHOWN_BYTES].hex().upper()}"
