"""Values that a column of another type would not hold: cut, rounded, out of range, or no value of it at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.cast import cast_array
from table_core.datatypes.cast_text import to_text
from table_core.datatypes.castable import BINARIES, STRINGS, is_castable
from table_core.datatypes.kinds import STRING, Atomic, DataType, Root
from table_core.errors import DataError
from table_core.shortened import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lost_value"]


def lost_value(values: pa.Array, old: DataType, new: DataType) -> str | None:
    """The first of ``values``, a column of ``old``, that one of ``new`` would not hold; None: it holds all.

    Told as a user reads it, with what it would become where it would become another value.
    """
    if values.null_count and not new.nullable:
        return "NULL"
    if not isinstance(new, Atomic):
        return None
    there = pc.drop_null(values)
    there = there.unique() if isinstance(old, Atomic) else there
    try:
        lost = _lost(there, old, new)
    except DataError:  # some value cannot be carried over at all: which one?
        return next(_stuck(there, old, new), None)
    at = pc.index(lost, True).as_py()
    if at < 0:
        return None
    one = there.slice(at, 1)
    became = cast_array(one, old, new)
    return f"{_told(one, old)}, which would become {_told(became, new)}"


def _lost(values: pa.Array, old: DataType, new: Atomic) -> Any:
    """Which of ``values`` become another one, or NULL."""
    became = cast_array(values, old, new)
    is_bytes = isinstance(old, Atomic) and old.root in BINARIES
    if new.root in STRINGS and not is_bytes:
        whole = to_text(values, old, STRING)
        return pc.not_equal(
            *(pc.utf8_rtrim(t, " ") if new.root is Root.CHAR else t for t in (became, whole))
        )
    if not isinstance(old, Atomic) or old.root in STRINGS or not is_castable(new, old):
        return pc.is_null(became)
    back = cast_array(became, new, old)
    same = pc.equal(back, values)
    if pa.types.is_floating(values.type):
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(values)))
    return pc.invert(pc.fill_null(same, False))


def _stuck(values: pa.Array, old: DataType, new: Atomic) -> Iterator[str]:
    for at in range(len(values)):
        one = values.slice(at, 1)
        try:
            _lost(one, old, new)
        except DataError:
            yield _told(one, old)


def _told(one: pa.Array, type_: DataType) -> str:
    text = to_text(one, type_, STRING)[0].as_py()
    if text is None:
        return "NULL"
    shown = shortened(text, 100)
    is_text = isinstance(type_, Atomic) and type_.root in STRINGS
    return repr(shown) if is_text else str(shown)
