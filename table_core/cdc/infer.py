"""What events tell about the columns of a table that lacks them, or is not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.envelope import bad_line
from table_core.datatypes.kinds import STRING, Atomic, DataType, Field, Root, not_null
from table_core.schema.change import AddColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from table_core.cdc.changes import Changes

__all__ = ["missing_columns", "table_fields"]

_INTEGER: Final = Atomic(Root.BIGINT)
_NUMBER: Final = Atomic(Root.DOUBLE)
_WIDTH: Final = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}


def missing_columns(changes: Iterable[Changes], fields: Iterable[Field]) -> tuple[AddColumn, ...]:
    """Columns that events have and the table lacks, in the order of the events.

    Without embedded schema a column is known once it has a value; until then nothing is lost.
    """
    there = {field.name for field in fields}
    return tuple(
        AddColumn(name, type_) for name, type_ in _columns(changes).items() if name not in there
    )


def with_columns(fields: Iterable[Field], added: Iterable[AddColumn]) -> tuple[Field, ...]:
    """``fields`` as they are once ``added`` of ``missing_columns`` is applied; without field ids."""
    new = []
    for column in added:
        assert not isinstance(column.type, str), "missing_columns gives types of the tree"
        new.append(Field(-1, column.name, column.type))
    return (*fields, *new)


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
    seen: list[tuple[int, int, str, DataType, bool]] = []
    for one in changes:
        told = one.declared or {}
        for images in (one.after, one.before):
            for at, (name, column) in enumerate(images.columns.items()):
                if name not in told and column.null_count < len(column):
                    first = int(one.lines[np.argmax(np.asarray(column.is_valid()))])
                    seen.append((first, at, name, _of_json(column.type), False))
        first = int(one.lines[0])
        seen += [(first, at, name, d.type, True) for at, (name, d) in enumerate(told.items())]
    found: dict[str, DataType] = {}
    for *_, name, type_, is_told in sorted(seen, key=lambda s: s[:2]):
        known = found.get(name)
        if known is None:
            found[name] = type_
        else:
            found[name] = _newer(known, type_) if is_told else _wider(known, type_)
    return found


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
