"""Values that PostgreSQL did not send: large ones, kept out of line, that an update left alone.

Debezium puts a text in their place.  The value is that of the row before: an earlier event of the
same batch, or the table; after a change of the primary key, the row of the old key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.envelope import bad_line
from table_core.datatypes.row_kind import ROW_KIND_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from table_core.cdc.model.record import EventBatch, Place

__all__ = ["UNCHANGED", "EarlierRows", "with_earlier_values", "without_unavailable"]

_PLACEHOLDER: Final = "__debezium_unavailable_value"
UNCHANGED: Final = object()
"""What stands in a row for a value that an event does not tell, because it did not change."""
_CODES: Final = list(_PLACEHOLDER.encode())
"""What arrays of numbers hold instead."""
_UUID: Final = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
"""What arrays of ``uuid`` hold instead: Java's name-based UUID of the placeholder."""
_UNAVAILABLE: Final = pa.array(
    [
        _PLACEHOLDER,
        "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",
        _PLACEHOLDER.encode().hex(),
        f'["{_PLACEHOLDER}"]',
        _UUID,
        f'["{_UUID}"]',
        f'{{"{_PLACEHOLDER}":"{_PLACEHOLDER}"}}',
        str(_CODES).replace(" ", ""),
    ]
)
"""The placeholder as text, base64, hexadecimal, as the one element of a list or map, as numbers."""

Flags = np.ndarray[Any, np.dtype[np.bool_]]
Key = tuple[Any, ...]


class EarlierRows(Protocol):
    """Looks rows up by key in the table as it was before the batch."""

    def __call__(self, keys: Sequence[Key], columns: Sequence[str]) -> Mapping[Key, Sequence[Any]]:
        """Values of ``columns`` by key; keys that are not there are left out."""
        ...


def without_unavailable(values: pa.Array) -> tuple[pa.Array, Flags | None]:
    """``values`` with null for placeholders, and where those were (None: nowhere)."""
    texts = values
    if pa.types.is_list(values.type) and pa.types.is_integer(values.type.value_type):
        return _without_codes(values)
    if pa.types.is_list(values.type) and pa.types.is_string(values.type.value_type):
        single = pc.fill_null(pc.equal(pc.list_value_length(values), 1), False)
        if not pc.any(single).as_py():
            return values, None
        firsts = pc.list_flatten(pc.list_slice(values.filter(single), 0, 1))
        texts = pc.replace_with_mask(pa.nulls(len(values), pa.string()), single, firsts)
    if not pa.types.is_string(texts.type):
        return values, None
    placeholders = pc.is_in(texts, value_set=_UNAVAILABLE)
    if not pc.any(placeholders).as_py():
        return values, None
    flags = np.asarray(placeholders)
    return pc.if_else(placeholders, pa.scalar(None, values.type), values), flags


def _without_codes(values: pa.ListArray) -> tuple[pa.Array, Flags | None]:
    """The same for arrays of numbers."""
    long = np.asarray(pc.fill_null(pc.equal(pc.list_value_length(values), len(_CODES)), False))
    items = np.asarray(values.filter(pa.array(long)).flatten().cast(pa.float64()))
    flags = long.copy()
    flags[long] = (items.reshape(-1, len(_CODES)) == _CODES).all(axis=1)
    if not flags.any():
        return values, None
    return pc.if_else(pa.array(flags), pa.scalar(None, values.type), values), flags


def with_earlier_values(
    batch: EventBatch,
    key: Sequence[str],
    old_key: Callable[[int], Key | None],
    earlier: EarlierRows,
    place: Callable[[int], Place],
) -> pa.Table:
    """The rows of ``batch`` with every value that was not sent filled in.

    Args:
        batch: with ``lacking``.
        key: the primary key of the table.
        old_key: the key that the event with a number moved its row from, as the table's types.
        earlier: the table before the batch.
        place: where an event stands.

    Raises:
        EventError: a value is nowhere to be found.
    """
    rows, lacking = batch.rows, batch.lacking
    if not lacking or not any(mask.any() for mask in lacking.values()):
        return rows
    names = list(lacking)
    keys = [tuple(row.values()) for row in rows.select(list(key)).to_pylist()]
    kinds = rows[ROW_KIND_COLUMN].to_pylist()
    values = {name: rows[name].to_pylist() for name in names}
    rows_lacking = np.flatnonzero(np.logical_or.reduce(list(lacking.values())))
    origin = {n: _origin(n, keys, kinds, batch, old_key) for n in rows_lacking.tolist()}
    earlier_values = dict(earlier(list(dict.fromkeys(origin.values())), names))
    state: dict[Key, list[Any]] = {}
    for n, own in enumerate(keys):
        if n in origin:
            before = state.get(origin[n], earlier_values.get(origin[n]))
            for at, name in enumerate(names):
                if not lacking[name][n]:
                    continue
                if before is None and kinds[n] in {"+I", "+U"}:
                    _refuse(name, place(int(batch.numbers[n])))
                values[name][n] = None if before is None else before[at]
        if kinds[n] in {"+I", "+U"}:
            state[own] = [values[name][n] for name in names]
    for name in names:
        at = rows.schema.get_field_index(name)
        filled = pa.array(values[name], rows.schema.field(at).type)
        rows = rows.set_column(at, rows.schema.field(at), filled)
    return rows


def _origin(
    n: int,
    keys: Sequence[Key],
    kinds: Sequence[str],
    batch: EventBatch,
    old_key: Callable[[int], Key | None],
) -> Key:
    """The key under which row ``n`` was before: its own, or that of the ``-D`` of its event."""
    number = batch.numbers[n]
    if kinds[n] == "+I":
        if n and batch.numbers[n - 1] == number and kinds[n - 1] == "-D":
            return keys[n - 1]
        return old_key(int(number)) or keys[n]
    return keys[n]


def _refuse(column: str, place: Place) -> None:
    why = (
        f"PostgreSQL did not send column {column!r}, which is large and did not change, and the "
        "row is not in the table; sync from the start of the events, or run ALTER TABLE … REPLICA "
        "IDENTITY FULL on the source and take a new snapshot"
    )
    raise bad_line(place, why, column=column)
