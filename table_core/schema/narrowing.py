"""Columns that a change of the schema gives a type which does not hold all that the old one holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from table_core.datatypes.kinds import Array, DataType, Field, Map, Multiset, Row, Vector
from table_core.datatypes.text import type_text
from table_core.datatypes.widths import keeps_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Narrowing", "narrowings"]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """One of them.  ``path`` leads there from the column of the table that is called ``path[0]`` now."""

    path: tuple[str, ...]
    old: DataType
    new: DataType

    @property
    def name(self) -> str:
        """As the changes of a schema name it."""
        return ".".join(self.path)

    def __str__(self) -> str:
        return f"{self.name}: {type_text(self.old)} -> {type_text(self.new)}"


def narrowings(before: Sequence[Field], after: Sequence[Field]) -> Iterator[Narrowing]:
    """Columns and members of them that are in both schemas, and narrower ``after``."""
    kept = {field.id: field for field in after}
    for field in before:
        if field.id in kept:
            yield from _of_type((field.name,), field.type, kept[field.id].type)


def _of_type(path: tuple[str, ...], old: DataType, new: DataType) -> Iterator[Narrowing]:
    keeps = new.nullable or not old.nullable
    match old, new:
        case Row(before), Row(after):
            for inner in narrowings(before, after):
                yield Narrowing((*path, *inner.path), inner.old, inner.new)
        case (Array(before), Array(after)) | (Multiset(before), Multiset(after)):
            yield from _of_type((*path, "element"), before, after)
        case Vector(before), Vector(after):
            yield from _of_type((*path, "element"), before, after)
        case Map(_, before), Map(_, after):  # keys keep their type
            yield from _of_type((*path, "value"), before, after)
        case _:
            keeps = keeps and keeps_all(old, new)
    if not keeps:
        yield Narrowing(path, old, new)
