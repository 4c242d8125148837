"""Columns that are computed from others, and columns that say where a row is from.

``"dt=date_format(created_at, yyyy-MM-dd)"`` names the new column, a function, the column it works
on and literals.

Source: ``org.apache.paimon.flink.action.cdc.Expression`` and ``CdcMetadataConverter``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.cdc.model.date_format import date_format, pattern_parts
from table_core.cdc.model.embedded_schema import Declared
from table_core.cdc.model.encoding import Encoding
from table_core.datatypes.arrow import arrow_type
from table_core.datatypes.kinds import STRING, Atomic, DataType, Field, Root
from table_core.datatypes.text import parse_type
from table_core.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from table_core.cdc.model.changes import Changes, RowImages

__all__ = ["METADATA_COLUMNS", "ComputedColumn", "computed_columns", "with_metadata"]

_TEXT: Final = re.compile(r"^\s*([^=\s]+)\s*=\s*([A-Za-z_]+)\s*\((.*)\)\s*$", re.DOTALL)
_ARGUMENT: Final = re.compile(r"(?:'(?:[^']|'')*'|\([^)]*\)|[^,'(])+")
"""Up to a comma that is neither in quotes nor in parentheses."""
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")
_INT: Final = Atomic(Root.INT)
METADATA_COLUMNS: Final = ("database_name", "schema_name", "table_name", "op_ts")
_OP_TS: Final = Atomic(Root.TIMESTAMP_LTZ, precision=3)
_PARTS: Final = ("year", "month", "day", "hour", "minute", "second")
_UNITS: Final = {"0": "s", "3": "ms", "6": "us", "9": "ns"}
_EXACT: Final = Context(prec=80)
_BLANKS: Final = "".join(map(chr, range(33)))
"""What Java's ``trim`` takes away."""


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """One computed column, ready to be applied to typed rows."""

    name: str
    function: str
    argument: str | None
    literals: tuple[str, ...]
    is_quoted: bool = False
    """Whether a constant was written in quotes, so that it is not meant to be a column."""

    @property
    def type(self) -> DataType:
        """What it gives; ``truncate`` and ``cast`` depend on their arguments: see ``type_of``."""
        return _INT if self.function in _PARTS else STRING

    def field(self, fields: Sequence[Field]) -> Field:
        """The column of the table.

        Raises:
            ArgumentError: it works on a column that is not there.
        """
        argument = next((f for f in fields if f.name == self.argument), None)
        if self.argument is not None and argument is None:
            raise ArgumentError(
                f"computed column {self.name!r} works on {self.argument!r}, which the events do "
                f"not have; they have {[f.name for f in fields]}",
                argument="computed_columns",
                value=self.name,
            )
        type_ = self.type
        if self.function == "cast":
            type_ = parse_type(self.literals[-1])
        elif self.function == "now":
            type_ = Atomic(Root.TIMESTAMP_LTZ, precision=3)
        elif self.function == "truncate" and argument is not None:
            type_ = replace(argument.type, nullable=True)
        return Field(-1, self.name, type_)

    def values(self, rows: pa.Table, type_: DataType, now_ms: int) -> pa.Array:
        """The column for ``rows``.

        Shape: ``rows[n]`` to ``arrow_type(type_)[n]``.
        """
        target = arrow_type(type_)
        if self.function == "now":
            return pa.repeat(pa.scalar(now_ms, pa.timestamp("ms", "UTC")), len(rows)).cast(target)
        if self.argument is None:
            if self.literals[0] in rows.column_names and not self.is_quoted:
                raise _refused(
                    f"{self.name}=cast({', '.join(self.literals)})",
                    f"cast takes a constant, and {self.literals[0]!r} is a column: write date_format(column, "
                    "yyyy-MM-dd) for a date, or quote the constant",
                )
            return pa.repeat(pa.scalar(self.literals[0]).cast(target), len(rows))
        column = rows[self.argument].combine_chunks()
        return _FUNCTIONS[self.function](column, self.literals).cast(target)


def computed_columns(texts: Sequence[str]) -> tuple[ComputedColumn, ...]:
    """Parse ``name=function(column, literal …)``.

    Raises:
        ArgumentError: no such function, or arguments it does not take.
    """
    return tuple(_parsed(text) for text in texts)


def _parsed(text: str) -> ComputedColumn:
    match = _TEXT.match(text)
    if match is None:
        raise _refused(text, "write name=function(column, …)")
    name, function = match[1], match[2].lower()
    written = [part.strip() for part in _ARGUMENT.findall(match[3]) if part.strip()]
    parts = [_unquoted(part) for part in written]
    if function not in _LITERALS:
        raise _refused(text, f"no function {function!r}; there are {', '.join(_LITERALS)}")
    low, high = _LITERALS[function]
    if function == "now":
        if parts:
            raise _refused(text, "now() takes no argument")
        return ComputedColumn(name, function, None, ())
    if function == "cast" and len(parts) <= 2:
        literals = (parts[0], parts[1] if len(parts) == 2 else "STRING") if parts else ()
        if not literals:
            raise _refused(text, "cast(value, type) takes a constant")
        return ComputedColumn(name, function, None, literals, is_quoted=parts[0] != written[0])
    if not parts or not low <= len(parts) - 1 <= high:
        raise _refused(text, f"{function} takes a column and {low} to {high} literals")
    _check_literals(text, function, parts[1:])
    return ComputedColumn(name, function, parts[0], tuple(parts[1:]))


def _unquoted(argument: str) -> str:
    """Without the quotes around all of it; those of a pattern stay."""
    match = _QUOTED.fullmatch(argument)
    return argument if match is None else match[1].replace("''", "'")


def _check_literals(text: str, function: str, literals: Sequence[str]) -> None:
    """Refuse literals before the first row comes."""
    if function in {"substring", "truncate"}:
        if not all(literal.isdigit() for literal in literals):
            raise _refused(text, f"{function} takes whole numbers that are not negative")
        if len(literals) == 2 and int(literals[1]) <= int(literals[0]):
            raise _refused(text, "the end has to be behind the beginning")
        if function == "truncate" and int(literals[0]) == 0:
            raise _refused(text, "no number is a multiple of 0: give a width of at least 1")
        return
    if function == "date_format":
        pattern_parts(literals[0])
        literals = literals[1:]
    if any(literal not in _UNITS for literal in literals):
        raise _refused(text, "numbers since 1970 are in units of 0 (s), 3 (ms), 6 (µs) or 9 (ns)")


def _refused(text: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"computed column {text!r}: {why}", argument="computed_columns", value=text
    )


_LITERALS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(_PARTS, (0, 1)),
    "date_format": (1, 2),
    "substring": (1, 2),
    "truncate": (1, 1),
    "cast": (0, 1),
    "upper": (0, 0),
    "lower": (0, 0),
    "trim": (0, 0),
    "now": (0, 0),
}
"""How many literals each function takes behind its column."""


def _moment(column: pa.Array, unit: str) -> pa.Array:
    """Dates, timestamps, ISO text, or numbers since 1970 in ``unit`` (0 s, 3 ms, 6 µs, 9 ns)."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64()).cast(pa.timestamp(_UNITS[unit]))
    if pa.types.is_string(column.type):
        return pc.replace_substring_regex(column, r"(Z|[+-]\d\d:?\d\d)$", "").cast(
            pa.timestamp("us")
        )
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp(column.type.unit))
    return column.cast(pa.timestamp("ms"))


def _part(name: str) -> Callable[[pa.Array, Sequence[str]], pa.Array]:
    kernel = getattr(pc, name)
    return lambda column, literals: kernel(_moment(column, literals[0] if literals else "0"))


def _date_format(column: pa.Array, literals: Sequence[str]) -> pa.Array:
    return date_format(_moment(column, literals[1] if len(literals) > 1 else "0"), literals[0])


def _substring(column: pa.Array, literals: Sequence[str]) -> pa.Array:
    end = int(literals[1]) if len(literals) > 1 else None
    return pc.utf8_slice_codeunits(column.cast(pa.string()), int(literals[0]), end)


def _truncate(column: pa.Array, literals: Sequence[str]) -> pa.Array:
    """Numbers down to a multiple of the width (decimals: of their last digit); text to a length."""
    width = int(literals[0])
    if pa.types.is_string(column.type):
        return pc.utf8_slice_codeunits(column, 0, width)
    if pa.types.is_decimal(column.type):
        step, scale = width, column.type.scale
        whole = [None if v is None else int(v.scaleb(scale, _EXACT)) for v in column.to_pylist()]
        down = [None if v is None else v - (v % step) for v in whole]
        return pa.array(
            [None if v is None else Decimal(v).scaleb(-scale, _EXACT) for v in down], column.type
        )
    if not pa.types.is_integer(column.type):
        raise ArgumentError(
            f"truncate takes whole numbers, decimals and text, not {column.type}",
            argument="computed_columns",
            value=str(column.type),
        )
    numbers = np.asarray(pc.fill_null(column, 0)).astype(np.int64)
    return pa.array(numbers - np.mod(numbers, width), mask=np.asarray(column.is_null()))


def _cased(
    column: pa.Array, ascii: Callable[[pa.Array], pa.Array], other: Callable[[str], str]
) -> pa.Array:
    """Arrow has one letter for each; elsewhere one may become two."""
    if pc.all(pc.string_is_ascii(column)).as_py():
        return ascii(column)
    return pa.array([None if v is None else other(v) for v in column.to_pylist()], pa.string())


_FUNCTIONS: Final[dict[str, Callable[[pa.Array, Sequence[str]], pa.Array]]] = {
    **{name: _part(name) for name in _PARTS},
    "date_format": _date_format,
    "substring": _substring,
    "truncate": _truncate,
    "upper": lambda column, _: _cased(column.cast(pa.string()), pc.ascii_upper, str.upper),
    "lower": lambda column, _: _cased(column.cast(pa.string()), pc.ascii_lower, str.lower),
    "trim": lambda column, _: pc.utf8_trim(column.cast(pa.string()), _BLANKS),
}


# ----------------------------------------------------------------------------------- metadata
def with_metadata(changes: Changes, names: Sequence[str], prefix: str = "") -> Changes:
    """``changes`` with the columns that say which table and when each row is from."""
    if not names:
        return changes
    count = len(changes.lines)
    values: dict[str, tuple[pa.Array, Atomic]] = {}
    for name in names:
        if name == "op_ts":
            times = changes.times_ms
            column = pa.nulls(count, pa.int64()) if times is None else times
            values[prefix + name] = column.cast(pa.timestamp("ms", "UTC")), _OP_TS
        else:
            text = changes.table.name if name == "table_name" else changes.table.database
            values[prefix + name] = pa.repeat(pa.scalar(text), count), STRING
    declared = changes.declared
    metadata = {name: Declared(type_, Encoding(), None) for name, (_, type_) in values.items()}
    return replace(
        changes,
        before=_with(changes.before, {n: c for n, (c, _) in values.items()}),
        after=_with(changes.after, {n: c for n, (c, _) in values.items()}),
        declared=metadata if declared is None else {**declared, **metadata},
    )


def _with(images: RowImages, columns: dict[str, Any]) -> RowImages:
    unavailable = {n: mask for n, mask in images.unavailable.items() if n not in columns}
    return replace(images, columns={**images.columns, **columns}, unavailable=unavailable)
