"""What events tell about the columns of a table that lacks them, or is not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.model.envelope import bad_line
from table_core.datatypes.kinds import STRING, Atomic, DataType, Field, Root, not_null
from table_core.schema.change import AddColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from table_core.cdc.model.changes import Changes

__all__ = ["fractions", "missing_columns", "table_fields", "whole_columns"]

_INTEGER: Final = Atomic(Root.BIGINT)
_NUMBER: Final = Atomic(Root.DOUBLE)
_EXACT: Final = 2**53
_DECLARED: Final = "declared"
_FIXED: Final = "fixed"
"""Of whole numbers that a double does not hold: their column gets no fractions."""
_WIDTH: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}


def missing_columns(changes: Iterable[Changes], fields: Iterable[Field]) -> tuple[AddColumn, ...]:
    """Columns that events have and the table lacks, in the order of the events.

    Without embedded schema a column is known once it has a value; until then nothing is lost.
    """
    there = {field.name for field in fields}
    return tuple(
        AddColumn(name, type_) for name, type_ in _columns(changes).items() if name not in there
    )


def table_fields(changes: Sequence[Changes], key: Sequence[str]) -> tuple[Field, ...]:
    """The columns of a new table; those of the primary key are NOT NULL.

    Raises:
        EventError: the events lack a column of the key.
    """
    types = _columns(changes)
    lacking = [name for name in key if name not in types]
    if lacking:
        why = f"the event has no column {lacking[0]!r} for the primary key; it has {list(types)}"
        raise bad_line(changes[0].place(int(changes[0].lines[0])), why, column=lacking[0])
    return tuple(
        Field(n, name, not_null(type_) if name in key else type_)
        for n, (name, type_) in enumerate(types.items())
    )


def _columns(changes: Iterable[Changes]) -> dict[str, DataType]:
    """Columns in the order of the events that tell them first, with the types that all of them need.

    It is that of one event after the other: of a column without schema the first value decides, and
    whole numbers make room for others.
    """
    seen: list[tuple[int, int, str, DataType, str]] = []
    for group in changes:
        declared = group.declared or {}
        for images in (group.after, group.before):
            for at, (name, column) in enumerate(images.columns.items()):
                if name in declared or column.null_count == len(column):
                    continue
                lines = group.lines[np.asarray(column.is_valid())]
                seen.append((int(lines[0]), at, name, _of_json(column.type), ""))
                whole = pa.types.is_integer(column.type)
                large = _large(column.drop_null()).tolist() if whole else []
                if len(large):
                    seen.append((int(lines[large[0]]), at, name, _INTEGER, _FIXED))
        first = int(group.lines[0])
        seen += [
            (first, at, name, d.type, _DECLARED) for at, (name, d) in enumerate(declared.items())
        ]
    columns: dict[str, DataType] = {}
    fixed = set()
    for _, _, name, type_, origin in sorted(seen, key=lambda s: s[:2]):
        known = columns.setdefault(name, type_)
        if origin == _DECLARED:
            columns[name] = _newer(known, type_)
        elif name not in fixed:
            columns[name] = _wider(known, type_)
        if origin == _FIXED and columns[name] == _INTEGER:
            fixed.add(name)
    return columns


def whole_columns(changes: Iterable[Changes], fields: Iterable[Field]) -> set[str]:
    """Columns of ``fields`` that events without schema made, and that may make room for fractions."""
    names = {name for one in changes for name, _, _ in _values(one)}
    return {f.name for f in fields if f.name in names and _is_whole(f.type)}


def fractions(
    changes: Iterable[Changes], fields: Iterable[Field], whole_names: set[str]
) -> tuple[set[str], set[str]]:
    """Of the columns ``whole_names`` those that get fractions, and those that must stay as they are.

    A column with whole numbers that a double does not hold stays: what comes first decides.
    """
    types = {f.name: f.type for f in fields}
    first: dict[str, tuple[int, bool]] = {}
    for one in changes:
        for name, column, lines in _values(one):
            if name not in whole_names or name not in types or not _is_whole(types[name]):
                continue
            if pa.types.is_floating(column.type):
                seen = (int(lines[0]), True)
            elif pa.types.is_integer(column.type) and len(large := _large(column)):
                seen = (int(lines[large[0]]), False)
            else:
                continue
            first[name] = min(first.get(name, seen), seen)
    return (
        {name for name, (_, fraction) in first.items() if fraction},
        {name for name, (_, fraction) in first.items() if not fraction},
    )


def _values(
    changes: Changes,
) -> Iterator[tuple[str, pa.Array, np.ndarray[Any, np.dtype[np.int64]]]]:
    """Columns that no schema tells, without nulls, and the lines of their values."""
    for images in (changes.after, changes.before):
        for name, column in images.columns.items():
            if name not in (changes.declared or ()) and column.null_count < len(column):
                there = np.asarray(column.is_valid())
                yield name, column.drop_null(), changes.lines[there]


def _large(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    numbers = np.asarray(column)
    return np.flatnonzero((numbers >= _EXACT) | (numbers <= -_EXACT))


def _is_whole(type_: DataType) -> bool:
    return isinstance(type_, Atomic) and type_.root is Root.BIGINT


def _of_json(type_: pa.DataType) -> DataType:
    if pa.types.is_boolean(type_):
        return Atomic(Root.BOOLEAN)
    if pa.types.is_integer(type_):
        return _INTEGER
    return _NUMBER if pa.types.is_floating(type_) else STRING


def _wider(known: DataType, other: DataType) -> DataType:
    """A type for the values of both, if the first one has room for the second or can make it."""
    return _NUMBER if (known, other) == (_INTEGER, _NUMBER) else known


def _newer(known: DataType, declared: DataType) -> DataType:
    """A type for two versions of a source column; what else differs, ``evolution`` makes room for."""
    if isinstance(known, Atomic) and isinstance(declared, Atomic):
        both = [known.root, declared.root]
        if all(root in _WIDTH for root in both):
            return Atomic(max(both, key=_WIDTH.__getitem__))
    return known
