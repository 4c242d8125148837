"""How a connector writes times and decimals, where only the values can tell.

Debezium's settings are nowhere in events without schema.  ``time.precision.mode``: ``adaptive`` modes
write DATETIME of more than three digits and TIME in microseconds, ``connect`` both in milliseconds;
the numbers of one are out of reach for the other.  ``decimal.handling.mode``: what ``precise`` writes
has letters somewhere, what ``string`` writes has points.  One answer holds for all tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.envelope import bad_line
from table_core.cdc.typed_values import DAY_MS, MILLIS_MAX
from table_core.cdc.wire import NUMBER, Meaning, Wire
from table_core.datatypes.kinds import Atomic, Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from table_core.cdc.changes import Changes
    from table_core.cdc.embedded_schema import Declared
    from table_core.cdc.record import SourceTable

    Told = Mapping[SourceTable, Mapping[str, Declared]]

__all__ = ["settled", "without_sign"]

_UNSIGNED: Final = Wire(Meaning.UNSIGNED)
_BIGINT: Final = Atomic(Root.BIGINT)
_OPEN: Final = {Meaning.MOMENT, Meaning.TIME, Meaning.DECIMAL}
_COARSE: Final = {Meaning.MOMENT: Meaning.MILLIS, Meaning.TIME: Meaning.TIME_MILLIS}
_FINE: Final = {Meaning.MOMENT: Meaning.MICROS, Meaning.TIME: Meaning.TIME_MICROS}
_LEAST_MILLIS: Final = {Meaning.MOMENT: 10**10, Meaning.TIME: 1}
"""What is smaller shows nothing: April 1970, or three hours after its beginning."""
_BEYOND: Final = {
    Meaning.MILLIS: MILLIS_MAX,
    Meaning.MICROS: MILLIS_MAX * 1000,
    Meaning.TIME_MILLIS: DAY_MS,
    Meaning.TIME_MICROS: 839 * 3_600_000_000,
}
"""No such moment of four-digit years, and no such time of MySQL, is as large."""


def settled(told: Told, changes: Sequence[Changes]) -> Told:
    """``told`` with what the values of ``changes`` show; the same where they show nothing.

    A connector that is known to write microseconds anywhere does so everywhere.

    Raises:
        EventError: numbers cannot be what they were taken for.
    """
    known: dict[Meaning, Meaning] = {}
    if any(_is_open(columns) for columns in told.values()):
        known = {**_units(told, changes), **_decimals(told, changes)}
    if known:
        told = {
            table: {name: _with(d, known) for name, d in columns.items()}
            for table, columns in told.items()
        }
    _refuse_mistaken(told, changes)
    return told


def _units(told: Told, changes: Sequence[Changes]) -> dict[Meaning, Meaning]:
    shown = {meaning: _largest(_values(told, changes, meaning)) for meaning in _COARSE}
    fine = any(shown[meaning] >= _BEYOND[_COARSE[meaning]] for meaning in _COARSE) or any(
        d.wire is not None and d.wire.meaning in {Meaning.MICROS, Meaning.TIME_MICROS}
        for columns in told.values()
        for d in columns.values()
    )
    if fine:
        return _FINE
    return {m: _COARSE[m] for m, largest in shown.items() if largest >= _LEAST_MILLIS[m]}


def _refuse_mistaken(told: Told, changes: Sequence[Changes]) -> None:
    """Numbers that are too large for what they are taken for are of another setting."""
    for one in _without_schema(changes):
        for name, declared in told.get(one.table, {}).items():
            beyond = None if declared.wire is None else _BEYOND.get(declared.wire.meaning)
            if beyond is None or declared.wire is None:
                continue
            for images in (one.before, one.after):
                column = images.columns.get(name)
                if column is not None and _largest([column]) >= beyond:
                    taken = declared.wire.meaning.name.lower().replace("_", " in ")
                    why = (
                        f"column {name!r} has numbers that are no {taken}; drop the table, and say "
                        "timestamps='adaptive', or with time.precision.mode=microseconds or "
                        "nanoseconds: timestamps='micros', times='micros', or 'nanos'"
                    )
                    raise bad_line(one.place(int(one.lines[0])), why, column=name)


def _without_schema(changes: Sequence[Changes]) -> list[Changes]:
    return [one for one in changes if one.declared is None]


def _decimals(told: Told, changes: Sequence[Changes]) -> dict[Meaning, Meaning]:
    texts = [c for c in _values(told, changes, Meaning.DECIMAL) if pa.types.is_string(c.type)]
    if any(pc.any(pc.match_substring(column, ".")).as_py() for column in texts):
        return {Meaning.DECIMAL: Meaning.PLAIN}
    if not all(pc.all(pc.match_substring_regex(column, NUMBER)).as_py() for column in texts):
        return {Meaning.DECIMAL: Meaning.UNSCALED}
    return {}


def _is_open(columns: Mapping[str, Declared]) -> bool:
    return any(d.wire is not None and d.wire.meaning in _OPEN for d in columns.values())


def _with(declared: Declared, known: Mapping[Meaning, Meaning]) -> Declared:
    if declared.wire is None or (meaning := known.get(declared.wire.meaning)) is None:
        return declared
    return replace(declared, wire=Wire(meaning, declared.wire.scale))


def _values(told: Told, changes: Sequence[Changes], meaning: Meaning) -> Iterator[pa.Array]:
    """The values of all columns whose wire has ``meaning``."""
    for one in _without_schema(changes):
        for name, declared in told.get(one.table, {}).items():
            if declared.wire is None or declared.wire.meaning is not meaning:
                continue
            for images in (one.before, one.after):
                column = images.columns.get(name)
                if column is not None:
                    yield column


def _largest(columns: Iterable[pa.Array]) -> int:
    """The largest distance from zero, to the last digit."""
    edges = [
        edge.as_py()
        for column in columns
        if pa.types.is_integer(column.type) and column.null_count < len(column)
        for edge in pc.min_max(column).values()
    ]
    return max(map(abs, edges), default=0)


def without_sign(
    declared: Mapping[str, Declared], told: Mapping[str, Declared]
) -> Mapping[str, Declared]:
    """The columns of an embedded schema, those without sign that it calls int64 as the table has them."""
    known = {
        name: replace(declared[name], type=one.type, wire=one.wire)
        for name, one in told.items()
        if one.wire == _UNSIGNED and name in declared and declared[name].type == _BIGINT
    }
    return {**declared, **known} if known else declared
