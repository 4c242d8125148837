"""Whether rows of an older schema can be read under a newer one.

Each change of a type is allowed by itself; two of them in a row need not be.  BOOLEAN may become INT and INT may
become TIMESTAMP, but a file that holds BOOLEAN is read as TIMESTAMP at once, and there is no rule for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.datatypes.castable import is_castable
from table_core.datatypes.kinds import Array, DataType, Field, Map, Multiset, Row
from table_core.datatypes.text import type_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["unreadable"]


def unreadable(old: Sequence[Field], new: Sequence[Field]) -> list[str]:
    """What of ``new`` cannot be read from files with the columns ``old``, each said in words."""
    return list(_unreadable(old, new, ""))


def _unreadable(old: Sequence[Field], new: Sequence[Field], path: str) -> Iterator[str]:
    by_id = {field.id: field for field in old}
    for field in new:
        stored = by_id.get(field.id)
        if stored is not None:
            yield from _of(stored.type, field.type, f"{path}{field.name}")


def _of(stored: DataType, asked: DataType, path: str) -> Iterator[str]:
    if isinstance(stored, Row) and isinstance(asked, Row):
        yield from _unreadable(stored.fields, asked.fields, f"{path}.")
    elif isinstance(stored, Map) and isinstance(asked, Map):
        yield from _of(stored.key, asked.key, f"{path}.key")
        yield from _of(stored.value, asked.value, f"{path}.value")
    elif isinstance(stored, Array | Multiset) and isinstance(asked, Array | Multiset):
        yield from _of(stored.element, asked.element, f"{path}.element")
    elif not is_castable(stored, asked):
        yield f"column {path!r} is {type_text(stored)} there and cannot be read as {type_text(asked)}"
