"""Whether events fit into a table beside the types of their values: names, keys, computed columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from table_core.cdc.model.bad import UNFORESEEN
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.record import shortened
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.errors import ArgumentError, DataError
from table_core.schema.table_schema import KEY_PREFIX, SYSTEM_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from table_core.cdc.model.changes import Changes
    from table_core.cdc.model.computed import ComputedColumn
    from table_core.cdc.model.record import Place
    from table_core.datatypes.kinds import DataType, Field
    from table_core.errors import EventError

    Ints = np.ndarray[Any, np.dtype[np.int64]]
    Flags = np.ndarray[Any, np.dtype[np.bool_]]

__all__ = ["Computed", "computed_values", "nulls", "unfit_columns", "without_key"]


_NAME_MAX: Final = 255
"""Letters; databases have columns with names of 64 to 128."""


def unfit_columns(
    changes: Sequence[Changes], fields: Iterable[Field], most: int
) -> Iterator[EventError]:
    """Errors for events with a column that no table can have, or with too many of them.

    Args:
        changes: of one table.
        fields: those that the table has.
        most: how many columns a table may have.
    """
    there = {f.name for f in fields}
    for group in sorted(changes, key=lambda c: int(c.lines[0])):
        fresh = dict.fromkeys(name for name in _names(group) if name not in there)
        for name in fresh:
            if (why := _unfit(name)) is not None:
                yield from _errors(
                    group, _has(group, name), f"column {shortened(name)!r} {why}", name
                )
        if len(there) + len(fresh) <= most:
            there |= fresh.keys()
        else:
            yield from _too_many(group, list(fresh), there, most)


def _too_many(
    changes: Changes, fresh: Sequence[str], there: set[str], most: int
) -> Iterator[EventError]:
    """Errors for the events that bring the columns for which there is no room."""
    has = {name: _has(changes, name) for name in fresh}
    lines = np.logical_or.reduce(list(has.values()))
    for at in np.flatnonzero(lines).tolist():
        brought = [name for name in fresh if has[name][at] and name not in there]
        if len(there) + len(brought) <= most:
            there.update(brought)
            continue
        why = f"{len(there) + len(brought)} columns are more than max_columns={most}"
        yield bad_line(changes.place(int(changes.lines[at])), why, column=brought[0])


def _names(changes: Changes) -> Iterator[str]:
    yield from changes.declared or ()
    for images in (changes.after, changes.before):
        for name, column in images.columns.items():
            if column.null_count < len(column):
                yield name


def _unfit(name: str) -> str | None:
    if not name.strip():
        return "has no name"
    if name in SYSTEM_NAMES or name.startswith(KEY_PREFIX) or name == ROW_KIND_COLUMN:
        return "has a name that is reserved"
    if len(name) > _NAME_MAX:
        return f"has a name of more than {_NAME_MAX} letters"
    return None


def _has(changes: Changes, name: str) -> Flags:
    """Which of the events have a column: all of those whose schema has it."""
    has = np.full(len(changes.lines), changes.declared is not None and name in changes.declared)
    for images in (changes.after, changes.before):
        if (column := images.columns.get(name)) is not None:
            has |= np.asarray(column.is_valid())
    return has


def _errors(changes: Changes, which: Flags, why: str, column: str) -> Iterator[EventError]:
    for line in changes.lines[which].tolist():
        yield bad_line(changes.place(line), why, column=column)


def without_key(changes: Sequence[Changes], key: Sequence[str]) -> Iterator[EventError]:
    """Errors for events that lack a column of the primary key of a table to be made."""
    for group in changes:
        has = set(_names(group))
        lacking = [name for name in key if name not in has]
        if lacking:
            why = (
                f"the event has no column {lacking[0]!r} for the primary key; it has {sorted(has)}"
            )
            every = np.ones(len(group.lines), bool)
            yield from _errors(group, every, why, lacking[0])


def without_columns(changes: Sequence[Changes]) -> Iterator[EventError]:
    """Errors for events with nothing but NULLs, from a source that tells no types."""
    why = "no column of the event has a value or a type, so its table cannot be made"
    for group in changes:
        yield from (bad_line(group.place(line), why) for line in group.lines.tolist())


@dataclass(frozen=True, slots=True)
class Computed:
    """A computed column, and the rows whose value cannot be computed."""

    values: pa.Array
    unfit: dict[int, str] = field(default_factory=dict)

    def errors(
        self, name: str, numbers: Ints, place: Callable[[int], Place]
    ) -> Iterator[DataError]:
        """Errors for their events."""
        for row, why in self.unfit.items():
            where = place(int(numbers[row]))
            yield DataError(
                f"{where.text}: column {name!r} cannot be computed: {why}",
                column=name,
                row=int(numbers[row]),
                **where.facts,
            )


def computed_values(
    column: ComputedColumn, rows: pa.Table, type_: DataType, now_ms: int
) -> Computed:
    """The values of a computed column; null where they cannot be computed.

    Raises:
        ArgumentError: of no row they can.
    """
    try:
        return Computed(column.values(rows, type_, now_ms))
    except ArgumentError:
        raise
    except UNFORESEEN:
        unfit: dict[int, str] = {}
    left = [(0, len(rows))]
    while left:
        first, end = left.pop()
        try:
            column.values(rows.slice(first, end - first), type_, now_ms)
        except UNFORESEEN as error:
            if end - first == 1:
                unfit[first] = str(error)
            else:
                middle = (first + end) // 2
                left += [(middle, end), (first, middle)]
    return Computed(pa.nulls(len(rows), arrow_type(type_)), unfit)


def nulls(
    name: str, where: Flags, numbers: Ints, place: Callable[[int], Place]
) -> Iterator[DataError]:
    """Errors for the events of rows that are null in a column which must not be."""
    for row in np.flatnonzero(where).tolist():
        at = place(int(numbers[row]))
        yield DataError(
            f"{at.text}: column {name!r} is null, but it is a key column, a partition column or "
            "NOT NULL",
            column=name,
            value="null",
            row=int(numbers[row]),
            **at.facts,
        )
