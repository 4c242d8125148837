"""Decoded events to rows of a table: row kinds, types, order.

A create or snapshot read is ``+I``; an update ``-U`` and ``+U``, or ``-D`` and ``+I`` if it moves
the row to another primary key; a delete ``-D``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.bad import UNFORESEEN, refuse
from table_core.cdc.model.encoding import convert, resolved
from table_core.cdc.model.envelope import bad_line
from table_core.cdc.model.record import EventBatch, shortened
from table_core.cdc.model.unavailable_values import without_unavailable
from table_core.datatypes.arrow import arrow_schema, arrow_type
from table_core.datatypes.kinds import Atomic, Root, with_nullability
from table_core.datatypes.row_kind import KIND_TEXTS, ROW_KIND_COLUMN, RowKind
from table_core.errors import DataError, EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.cdc.model.bad import BadEvent
    from table_core.cdc.model.changes import Changes, RowImages
    from table_core.cdc.model.encoding import Encoding, PlainSettings
    from table_core.cdc.model.record import Place
    from table_core.datatypes.kinds import DataType, Field

__all__ = ["Converted", "Target", "event_batch", "null_keys", "typed"]

_FLOAT: Final = Atomic(Root.FLOAT)

Ints = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table that events go into."""

    fields: Sequence[Field]
    key: Sequence[str]
    """Primary key; () for a table without one."""
    keep_before: bool = True
    """Whether updates also give their old row.  Needed where the table hands on its input as
    changes, or a merge engine takes old values back; else half the rows can be spared."""

    @property
    def layout(self) -> tuple[tuple[tuple[str, DataType], ...], tuple[str, ...]]:
        """What values are converted by: names and types of the columns in their order, and the key."""
        types = tuple((f.name, with_nullability(f.type, nullable=True)) for f in self.fields)
        return types, tuple(self.key)


@dataclass(frozen=True, slots=True)
class Converted:
    """The rows of events, and the table that they were made for."""

    target: Target
    events: EventBatch

    def fitted(self, target: Target) -> Converted | None:
        """The same for another table; None where values have to be converted anew for it.

        Old rows of updates are spared as ``event_batch`` spares them.  Of an update of a row 1 and one
        that moves a row 2 to the key 3 there are the kinds ``-U +U -D +I``, and ``+U -D +I`` are left:
        ``-D`` takes a row out that no other row replaces.
        """
        if target.layout != self.target.layout or (
            target.keep_before and not self.target.keep_before
        ):
            return None
        if target.keep_before == self.target.keep_before:
            return self
        events = self.events
        left = pc.not_equal(events.rows[ROW_KIND_COLUMN], KIND_TEXTS[RowKind.UPDATE_BEFORE])
        mask = np.asarray(left)
        lacking = {name: flags[mask] for name, flags in events.lacking.items()}
        return Converted(
            target,
            EventBatch(
                events.rows.filter(left),
                numbers=events.numbers[mask],
                lacking={name: flags for name, flags in lacking.items() if flags.any()},
            ),
        )


def event_batch(
    changes: Sequence[Changes],
    target: Target,
    settings: PlainSettings,
    *,
    together: bool = False,
) -> EventBatch:
    """All events of one block that go into one table, in the order of their lines.

    Args:
        changes: of one block, between two truncates (see ``truncates.cuts``); several source tables may
            feed one target.
        target: the table as its rows will find it.
        settings: how to read values without embedded schema.
        together: tell all events that do not fit, not the first alone.

    Raises:
        DataError: a value does not fit, or a key is null.
        EventError: an event lacks the row that it is about.
        BadEvents: with ``together``: all of them.
    """
    bad: list[BadEvent] = []
    parts = [_rows(group, target, settings, bad) for group in changes]
    refuse(bad, together=together)
    # events that differ have room for their own columns, and together for those of the table
    shape = _shape(target.fields)
    none = pa.table([pa.chunked_array([], type_) for type_ in shape.types], schema=shape)
    rows = pa.concat_tables([none, *(part for part, _, _ in parts)], promote_options="default")
    moments = np.concatenate([moment for _, moment, _ in parts])
    lacking = _joined([lacks for _, _, lacks in parts], [len(moment) for _, moment, _ in parts])
    if len(parts) > 1:
        order = np.argsort(moments, kind="stable")
        rows, moments = rows.take(pa.array(order)), moments[order]
        lacking = {name: mask[order] for name, mask in lacking.items()}
    return EventBatch(rows, numbers=moments // 2, lacking=lacking)


def _joined(parts: Sequence[Mapping[str, Flags]], sizes: Sequence[int]) -> dict[str, Flags]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: np.concatenate(
            [p.get(name, np.zeros(size, bool)) for p, size in zip(parts, sizes, strict=True)]
        )
        for name in names
    }


def _shape(fields: Sequence[Field]) -> pa.Schema:
    """Columns of rows of events: each may be null until the table says otherwise."""
    nullable = [field.with_nullable(True) for field in arrow_schema(fields)]
    return pa.schema([*nullable, pa.field(ROW_KIND_COLUMN, pa.string())])


def _rows(
    changes: Changes, target: Target, settings: PlainSettings, bad: list[BadEvent]
) -> tuple[pa.Table, Ints, dict[str, Flags]]:
    """Typed rows of the columns that there are, the moment of each, and what was not sent of them.

    A moment is twice the number of its event, and one more for the row after.  Where an event is
    ``bad`` its values are null.
    """
    ops, moved = changes.ops, _moved(changes, target, settings)
    is_update, is_delete = pc.equal(ops, "u"), pc.equal(ops, "d")
    puts = pc.is_in(ops, value_set=pa.array(["c", "r", "u"]))
    bad += _lacking(changes, puts, changes.after, "after")
    bad += _lacking(changes, is_delete, changes.before, "before")
    if not target.key:  # nothing else tells which row it was
        bad += _lacking(changes, is_update, changes.before, "before")
    old = pc.and_(is_update, changes.before.there)
    if not target.keep_before:
        old = pc.and_(old, moved)
    after = np.flatnonzero(np.asarray(puts))
    before = np.flatnonzero(np.asarray(pc.or_(is_delete, old)))
    stays = np.asarray(pc.and_(is_update, pc.invert(moved)))
    kinds = np.concatenate(
        [
            np.where(stays[before], RowKind.UPDATE_BEFORE, RowKind.DELETE),
            np.where(stays[after], RowKind.UPDATE_AFTER, RowKind.INSERT),
        ]
    )
    moments = np.concatenate([2 * changes.lines[before], 2 * changes.lines[after] + 1])
    order = np.argsort(moments, kind="stable") if len(before) else None
    if order is not None:
        moments = moments[order]
    columns, lacking = [], {}
    sent = {*target.key, *changes.before.columns, *changes.after.columns}
    fields = [field for field in target.fields if field.name in sent]
    for field in fields:
        pieces = [
            _column(changes, changes.before, before, field, settings, bad),
            _column(changes, changes.after, after, field, settings, bad),
        ]
        columns.append(_ordered([piece for piece, _ in pieces], order))
        if any(lacks is not None for _, lacks in pieces):
            flags = [
                np.zeros(len(piece), bool) if lacks is None else lacks for piece, lacks in pieces
            ]
            mask = np.concatenate(flags)
            lacking[field.name] = mask if order is None else mask[order]
        elif field.name in target.key and columns[-1].null_count:
            bad += null_keys(field.name, columns[-1], moments // 2, changes.place)
    kind = pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int8)), pa.array(KIND_TEXTS))
    columns.append(_ordered([kind.cast(pa.string())], order))
    return pa.Table.from_arrays(columns, schema=_shape(fields)), moments, lacking


def _ordered(pieces: Sequence[pa.Array], order: Ints | None) -> pa.Array:
    filled = [piece for piece in pieces if len(piece)] or [pieces[0]]
    whole = filled[0] if len(filled) == 1 else pa.concat_arrays(filled)
    return whole if order is None else whole.take(pa.array(order))


def _moved(changes: Changes, target: Target, settings: PlainSettings) -> pa.BooleanArray:
    """Whether an update changed the primary key.

    Without a schema, 1 beside 2.5 and text beside numbers come as columns of two types, and a scaled decimal as
    a block: those are compared as the table has them.
    """
    is_update = np.asarray(pc.equal(changes.ops, "u"))
    moved, updates = np.zeros(len(is_update), bool), np.flatnonzero(is_update)
    for field in (field for field in target.fields if field.name in target.key):
        before, after = (r.columns.get(field.name) for r in (changes.before, changes.after))
        if before is None or after is None or not len(updates):
            continue
        if before.type == after.type and not _is_incomparable(before.type):
            moved |= np.asarray(pc.fill_null(pc.not_equal(before, after), False))
            continue
        known: list[BadEvent] = []  # told when the rows are made
        old, new = (
            _column(changes, rows, updates, field, settings, known)[0]
            for rows in (changes.before, changes.after)
        )
        moved[updates] |= np.asarray(pc.fill_null(pc.not_equal(old, new), False))
    return pa.array(moved & is_update)


def _is_incomparable(type_: pa.DataType) -> bool:
    """Whether Arrow cannot compare two columns of the type."""
    return bool(pa.types.is_nested(type_) or pa.types.is_null(type_))


def _lacking(
    changes: Changes, which: pa.BooleanArray, rows: RowImages, side: str
) -> Iterator[EventError]:
    """Errors for events that should have a row."""
    for at in np.flatnonzero(np.asarray(pc.and_(which, pc.invert(rows.there)))).tolist():
        op = changes.ops[at].as_py()
        why = f"an event with op {op!r} has no row {side!r}"
        if op == "u" and side == "before":
            why += ", and the table has no primary key to find it by: give primary_key"
        yield bad_line(changes.place(int(changes.lines[at])), why)


def _column(
    changes: Changes,
    rows: RowImages,
    chosen: Ints,
    field: Field,
    settings: PlainSettings,
    bad: list[BadEvent],
) -> tuple[pa.Array, Flags | None]:
    column = rows.columns.get(field.name)
    if column is None or not len(chosen):
        return pa.nulls(len(chosen), arrow_type(field.type)), None
    values = column if len(chosen) == len(column) else column.take(pa.array(chosen))
    lines = changes.lines[chosen]
    values, lacking = without_unavailable(values)
    if (unavailable := rows.unavailable.get(field.name)) is not None:
        lacking = unavailable[chosen] if lacking is None else lacking | unavailable[chosen]
    declared = changes.declared.get(field.name) if changes.declared is not None else None
    encoding = declared.encoding if declared else None
    if declared and declared.type == _FLOAT and pa.types.is_floating(values.type):
        values = values.cast(pa.float32()).cast(pa.float64())  # as exact as the source holds it
    try:
        return typed(values, encoding, field, settings), lacking
    except UNFORESEEN:
        unfit = _unfit(values, encoding, field, settings)
    fit, why_none = _without(values, unfit, encoding, field, settings)
    if why_none is not None:
        unfit = (
            dict.fromkeys(np.flatnonzero(np.asarray(values.is_valid())).tolist(), why_none) | unfit
        )
    for row, why in unfit.items():
        place = changes.place(int(lines[row]))
        value = shortened(values[row].as_py())
        shown = value if value != "" else "''"
        bad.append(
            DataError(
                f"{place.text}: column {field.name!r} cannot take {shown}: {why}{_way_out(field)}",
                column=field.name,
                value=value,
                row=int(lines[row]),
                **place.facts,
            )
        )
    return fit, lacking


def _way_out(field: Field) -> str:
    """What helps where a type that a user can choose does not hold a value."""
    if isinstance(field.type, Atomic) and field.type.root is Root.BOOLEAN:
        return "; if it is a TINYINT(1) with numbers, drop the table and say type_mapping=['tinyint1-not-bool']"
    return ""


def _without(
    values: pa.Array,
    unfit: Mapping[int, str],
    encoding: Encoding | None,
    field: Field,
    settings: PlainSettings,
) -> tuple[pa.Array, str | None]:
    """The values but those that do not fit, which are null; why there are none where it cannot be."""
    fits = np.ones(len(values), bool)
    fits[list(unfit)] = False
    kept = pc.if_else(pa.array(fits), values, pa.scalar(None, values.type))
    try:
        return typed(kept, encoding, field, settings), None
    except UNFORESEEN as error:
        return pa.nulls(len(values), arrow_type(field.type)), str(error)


def typed(
    values: pa.Array, encoding: Encoding | None, field: Field, settings: PlainSettings
) -> pa.Array:
    """Values of JSON as the column takes them.

    Raises:
        ValueError: one does not fit; nothing says which.
    """
    return convert(values, resolved(values, encoding, field.type, settings), field.type)


def _unfit(
    values: pa.Array, encoding: Encoding | None, field: Field, settings: PlainSettings
) -> dict[int, str]:
    """The rows that ``convert`` refuses, by bisection, and why."""
    try:
        encoding = resolved(values, encoding, field.type, settings)
    except UNFORESEEN as error:
        return dict.fromkeys(np.flatnonzero(np.asarray(values.is_valid())).tolist(), str(error))
    reasons: dict[int, str] = {}
    left = [(0, len(values))]
    while left:
        first, end = left.pop()
        try:
            convert(values.slice(first, end - first), encoding, field.type)
        except UNFORESEEN as error:
            if end - first == 1:
                reasons[first] = str(error)
            else:
                middle = (first + end) // 2
                left += [(middle, end), (first, middle)]
    return reasons


def null_keys(
    name: str, column: pa.Array, numbers: Ints, place: Callable[[int], Place]
) -> Iterator[DataError]:
    """Errors for events whose rows are null where a key, or a column that may not be, is."""
    for at in np.flatnonzero(np.asarray(column.is_null())).tolist():
        where = place(int(numbers[at]))
        yield DataError(
            f"{where.text}: column {name!r} of the primary key is null",
            column=name,
            value="null",
            row=int(numbers[at]),
            **where.facts,
        )
