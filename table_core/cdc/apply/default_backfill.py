"""Defaults of columns that were added to the source: rows that were there have them, no event says so.

What is still to be filled stands in an option of the table, set with the very schema change that
adds the column; what is filled stands in a property of the snapshot that holds the filled rows.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.apply.target import BACKFILLED_PROPERTY
from table_core.cdc.model.encoding import PlainSettings, convert, resolved
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import Array, Atomic
from table_core.datatypes.row_kind import KIND_TEXTS, ROW_KIND_COLUMN, RowKind
from table_core.options import keys_merge
from table_core.predicate.expression import col
from table_core.schema.change import AddColumn
from table_core.validation_errors import stored_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from table_core.cdc.apply.settings import ApplySettings
    from table_core.cdc.apply.target import SyncTarget
    from table_core.cdc.model.changes import Changes
    from table_core.datatypes.kinds import Field
    from table_core.schema.change import SchemaChange
    from table_core.table.api.table import Table

__all__ = [
    "BACKFILL_OPTION",
    "all_defaults",
    "backfill_pending",
    "default_texts",
    "late_columns",
    "pending_defaults",
    "with_defaults",
]

BACKFILL_OPTION: Final = "tc.fill."


def late_columns(changes: Sequence[Changes], fields: Sequence[Field]) -> list[AddColumn]:
    """Columns that older ones of the events did not have yet."""
    declared = [one.declared.keys() for one in changes if one.declared is not None]
    return [
        AddColumn(f.name, f.type) for f in fields if any(f.name not in names for names in declared)
    ]


def default_texts(changes: Sequence[Changes], wanted: Sequence[SchemaChange]) -> dict[str, str]:
    """The defaults of columns about to be added, as text that casts to their types."""
    added = {c.name: c.type for c in wanted if isinstance(c, AddColumn)}
    texts: dict[str, str] = {}
    for one in changes:
        for name, declared in (one.declared or {}).items():
            type_ = added.get(name)
            if declared.default is None or not isinstance(type_, Atomic | Array):
                continue
            default = pa.array([declared.default])
            if pa.types.is_binary(arrow_type(type_)) and declared.json is None:
                continue  # a statement's text, which is not what events hold of bytes
            try:
                encoding = resolved(default, declared.encoding, type_, PlainSettings())
                texts[name] = _text(convert(default, encoding, type_))
            except (pa.ArrowException, TypeError, ValueError, ArithmeticError):
                continue  # e.g. a function; rows that are there keep NULL
    return texts


def _text(value: pa.Array) -> str:
    """One value as text: bytes as base64, a list as JSON."""
    if pa.types.is_binary(value.type):
        return base64.b64encode(value[0].as_py()).decode()
    if pa.types.is_list(value.type):
        return json.dumps(value[0].as_py())
    text: str = value.cast(pa.string())[0].as_py()
    return text


def _value(text: str, type_: pa.DataType) -> pa.Scalar:
    """The value that ``_text`` wrote."""
    if pa.types.is_binary(type_):
        return pa.scalar(base64.b64decode(text), type_)
    if pa.types.is_list(type_):
        return pa.array([json.loads(text)], type_)[0]
    return pa.scalar(text).cast(type_)


def with_defaults(
    rows: pa.Table,
    numbers: np.ndarray[Any, Any],
    changes: Sequence[Changes],
    defaults: Mapping[str, str],
) -> pa.Table:
    """Rows of events that lack an added column get its default too.

    They are older than the column, or of a shard that does not have it yet.
    """
    for name, text in defaults.items():
        at = rows.schema.get_field_index(name)
        lacking = [one.lines for one in changes if name not in one.after.columns]
        if at < 0 or not lacking:
            continue
        mask = pa.array(np.isin(numbers, np.concatenate(lacking)))
        type_ = rows.schema.field(at).type
        value = _value(text, type_)
        backfilled = pc.if_else(mask, pc.coalesce(rows.column(at), value), rows.column(at))
        rows = rows.set_column(at, rows.schema.field(at), backfilled)
    return rows


def backfill_pending(target: SyncTarget, table: Table, settings: ApplySettings) -> None:
    """Give rows that are there the defaults that they do not have yet, in the commit to come."""
    pending = pending_defaults(target, table)
    if not pending or not settings.fill_defaults:
        return
    backfilled = _backfilled(target, table)
    if (
        not target.state.pending.replaces
        and _keeps_last_row(table)
        and table.latest_snapshot() is not None
    ):
        target.flush(complete=False)
        _backfill(target, table, pending)
    names = json.dumps(sorted({*backfilled, *pending}))
    target.wait(properties={BACKFILLED_PROPERTY: names})


def pending_defaults(target: SyncTarget, table: Table) -> dict[str, str]:
    """Defaults that rows which are there do not have yet."""
    defaults = all_defaults(table)
    if not defaults:
        return {}
    backfilled = _backfilled(target, table)
    return {name: text for name, text in defaults.items() if name not in backfilled}


def _backfilled(target: SyncTarget, table: Table) -> set[str]:
    waiting = target.state.pending.properties
    texts = (table.position(BACKFILLED_PROPERTY), waiting.get(BACKFILLED_PROPERTY))
    return {name for text in texts for name in stored_names(BACKFILLED_PROPERTY, text)}


def all_defaults(table: Table) -> dict[str, str]:
    """Defaults of all columns that the source added, as text."""
    options = table.options
    return {
        key.removeprefix(BACKFILL_OPTION): text
        for key, text in options.items()
        if key.startswith(BACKFILL_OPTION)
    }


def _keeps_last_row(table: Table) -> bool:
    engine = table.definition.options.get(keys_merge.MERGE_ENGINE)
    return not table.primary_key or engine == "deduplicate"


def _backfill(target: SyncTarget, table: Table, pending: Mapping[str, str]) -> None:
    """Write the rows that lack a value once more; a table without key is written anew."""
    lacking = [col(name).is_null() for name in pending]
    where = lacking[0]
    for more in lacking[1:]:
        where = where | more  # type: ignore[assignment]  # a condition of conditions
    scan = table.read(where=where) if table.primary_key else table.read()
    if not table.primary_key:
        target.start_over()
    types = {f.name: f.type for f in table.definition.fields}
    for batch in scan.to_batches():
        rows = pa.Table.from_batches([batch])
        for name, text in pending.items():
            at = rows.schema.get_field_index(name)
            value = _value(text, arrow_type(types[name]))
            rows = rows.set_column(at, rows.schema.field(at), pc.coalesce(rows.column(at), value))
        kind = pa.repeat(pa.scalar(KIND_TEXTS[RowKind.INSERT]), len(rows))
        target.write(rows.append_column(ROW_KIND_COLUMN, kind))
