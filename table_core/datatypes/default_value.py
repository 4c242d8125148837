"""The default of a column: kept as text, written as a value of the column's type.

Source: ``org.apache.paimon.casting.DefaultValueRow``, ``CastExecutors``; format 2.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.cast_text import from_text
from table_core.datatypes.castable import BINARIES, STRINGS
from table_core.datatypes.kinds import MAX_LENGTH, Atomic, Root
from table_core.datatypes.text import type_text
from table_core.errors import DataError

if TYPE_CHECKING:
    from table_core.datatypes.kinds import Field

__all__ = ["default_value"]

_WITHOUT = frozenset({Root.VARIANT, Root.BLOB})


def default_value(field: Field) -> pa.Scalar:
    """What rows get that have no value for ``field``; its default must not be None.

    Raises:
        DataError: the text is no value of the type, or the type takes no default.
    """
    type_, text = field.type, str(field.default)
    if not isinstance(type_, Atomic) or type_.root in _WITHOUT:
        raise _misfit(field, "a column of this type takes no default")
    try:
        value = from_text(pa.array([text], pa.string()), type_)
    except DataError as error:
        raise _misfit(field, "it cannot be read as that type") from error
    if not value[0].is_valid:
        raise _misfit(field, "it is out of range")
    if type_.root in STRINGS | BINARIES and 0 < type_.length < MAX_LENGTH:
        scalar = pa.scalar(text) if type_.root in STRINGS else pa.scalar(text.encode())
        measure = pc.utf8_length if type_.root in STRINGS else pc.binary_length
        if measure(scalar).as_py() > type_.length:
            raise _misfit(field, "it is too long")
    return value[0]


def _misfit(field: Field, why: str) -> DataError:
    return DataError(
        f"default {field.default!r} of column {field.name!r} is no {type_text(field.type)}: {why}",
        column=field.name,
        row=None,
        value=field.default,
    )
