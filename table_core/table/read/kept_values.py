"""A type is narrowed only where that is asked for, and where all values that are stored fit the new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Array, Map, Multiset, Row, Vector
from table_core.datatypes.lost_values import lost_value
from table_core.datatypes.text import type_text
from table_core.errors import ArgumentError, DataError, SchemaError
from table_core.schema.narrowing import narrowings
from table_core.table.read.committed_rows import committed_rows
from table_core.table.read.split_reader import SplitReader

if TYPE_CHECKING:
    from collections.abc import Collection

    from table_core.datatypes.kinds import DataType
    from table_core.schema.narrowing import Narrowing
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = ["KeptValues"]

_NARROW: Final = "narrow"


@dataclass(frozen=True, slots=True)
class KeptValues:
    """What ``alter`` asks before it stores a schema.  ``narrow``: whether types may be narrowed."""

    access: TableAccess
    narrow: bool

    @classmethod
    def of(cls, access: TableAccess, allow: str | Collection[str]) -> KeptValues:
        """``allow`` as a caller gives it: a word, or several.

        Raises:
            ArgumentError: an unknown word.
        """
        words = {allow} if isinstance(allow, str) else set(allow)
        if unknown := sorted(words - {_NARROW}):
            raise ArgumentError(
                f"allow={unknown[0]!r}: no such word; there is {_NARROW!r}",
                argument="allow",
                value=unknown[0],
            )
        return cls(access, _NARROW in words)

    def __call__(self, before: TableSchema, after: TableSchema) -> None:
        """Refuse ``after`` where it may not follow ``before``.

        Every stored version of a row is looked at, those too that a later one replaces: a file is read
        under the new type as a whole.

        Raises:
            SchemaError: a type would be narrowed, and nobody asked for that.
            DataError: a value does not fit.
        """
        lost = list(narrowings(before.fields, after.fields))
        head = self.access.head() if lost else None
        if head is None or not head.total_record_count:
            return
        if not self.narrow:
            problems = [
                f"{one}: the new type does not hold every value of the old one" for one in lost
            ]
            raise SchemaError(
                f"{self.access.name}: {'; '.join(problems)}. Nothing was changed: with allow={_NARROW!r} "
                "the values are looked at, and the type is changed if all of them fit",
                problems=problems,
            )
        access = self.access.with_schema(before)
        names = list(dict.fromkeys(one.path[0] for one in lost))
        scan = committed_rows(access, head, columns=names)
        reader = scan.own_reader
        assert isinstance(reader, SplitReader)
        for split in scan.splits():
            files = replace(reader.file_reader(split), deletions=None, ignores_damage=False)
            for file in split.files if split.branch is None else ():
                for rows in files.read(file):
                    self._look(lost, rows)

    def _look(self, lost: list[Narrowing], rows: pa.RecordBatch) -> None:
        types = {field.name: field.type for field in self.access.schema.fields}
        for one in lost:
            name, *steps = one.path
            values = _inside(rows.column(name), types[name], steps)
            value = lost_value(values, one.old, one.new)
            if value is not None:
                raise DataError(
                    f"{self.access.name}: column {one.name!r} cannot become {type_text(one.new)}: it holds "
                    f"{value}. Nothing was changed. Change such values first; if no row shows one, it is of "
                    "an older version of a row, which a full compaction removes",
                    column=one.name,
                    row=None,
                    value=value,
                )


def _inside(values: Any, type_: DataType, steps: list[str]) -> pa.Array:
    """The values that ``steps`` lead to, of what is there and not NULL."""
    for step in steps:
        values = values.take(pc.indices_nonzero(values.is_valid()))
        match type_:
            case Row(fields):
                type_ = next(field.type for field in fields if field.name == step)
                values = values.field(step)
            case Array(element) | Vector(element):
                type_, values = element, values.flatten()
            case Multiset(element):
                type_, values = element, values.keys
            case Map(_, value):
                type_, values = value, values.items
            case _:
                raise AssertionError(step)
    return values
