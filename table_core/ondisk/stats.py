"""Column statistics of data files: smallest and largest value and how many NULLs.

A reader skips files by them, so a bound may be too wide but never too narrow: a shortened maximum
is raised, and where it cannot be raised both bounds are unknown (format T28); floats with a NaN
have no bounds, and zero takes the sign that widens them (format T31).

Source: ``org.apache.paimon.format.SimpleStatsCollector``, ``TruncateSimpleColStatsCollector``;
format 4.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import CorruptFileError, OptionError
from table_core.ondisk.binary_row import decode_row, encode_row, sort_key, values_of
from table_core.ondisk.data_file import EMPTY_ROW, SimpleStats
from table_core.options import keys_files
from table_core.options.fits import STATS_MODE
from table_core.schema.table_schema import KEY_PREFIX, SYSTEM_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from table_core.datatypes.kinds import DataType, Field
    from table_core.ondisk.binary_row import Value
    from table_core.options.table import TableOptions

__all__ = [
    "SYSTEM_MODE",
    "Counted",
    "StatsBuilder",
    "StatsKind",
    "StatsMode",
    "covered_fields",
    "decode_stats",
    "modes_for",
    "parse_mode",
]


class StatsKind(Enum):
    """How much of a column is counted."""

    NONE = "none"
    COUNTS = "counts"
    TRUNCATE = "truncate"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """What statistics a column gets; ``length`` is that of truncated text and binaries."""

    kind: StatsKind
    length: int = 0


SYSTEM_MODE: Final = StatsMode(StatsKind.TRUNCATE, 128)
"""Mode of ``_KEY_`` and other system columns, whatever the options say."""
_NO_BOUNDS: Final = frozenset({Root.VARIANT, Root.BLOB})
_TEXT: Final = frozenset({Root.CHAR, Root.VARCHAR})
_BINARY: Final = frozenset({Root.BINARY, Root.VARBINARY})
_FLOATS: Final = frozenset({Root.FLOAT, Root.DOUBLE})
_LONG_BYTES: Final = 1 << 12
"""A longer text is cut before it is compared; shorter ones, of which there are many, are compared as they are."""


def parse_mode(text: str) -> StatsMode:
    """The mode that ``metadata.stats-mode`` or a column's ``stats-mode`` names.

    Raises:
        OptionError: none of ``none, counts, truncate(n), full``.
    """
    match = STATS_MODE.fullmatch(text.strip().lower())
    if match is None:
        raise OptionError(
            f"statistics mode {text!r} is none of none, counts, truncate(n) and full",
            option="metadata.stats-mode",
            value=text,
        )
    if match[2] is not None:
        return StatsMode(StatsKind.TRUNCATE, int(match[2]))
    return StatsMode(StatsKind(match[1]))


def modes_for(
    options: TableOptions, names: Iterable[str], *, default: str | None = None
) -> tuple[StatsMode, ...]:
    """The mode of each column.

    A column's own mode wins, then ``metadata.stats-keep-first-n-columns``, then ``default`` (that
    of a level or of changelog files) or ``metadata.stats-mode``.
    """
    rest = parse_mode(default or options.get(keys_files.METADATA_STATS_MODE))
    keep = options.get(keys_files.METADATA_STATS_KEEP_FIRST_N_COLUMNS)
    modes = []
    for at, name in enumerate(names):
        own = options.for_column(name, "stats-mode")
        if own is not None:
            modes.append(parse_mode(own))
        elif name in SYSTEM_NAMES or name.startswith(KEY_PREFIX):
            modes.append(SYSTEM_MODE)
        else:
            modes.append(rest if keep < 0 or at < keep else StatsMode(StatsKind.NONE))
    return tuple(modes)


class Counted(Protocol):
    """What the writer of a file says of one column in a part of it.  None is unknown."""

    @property
    def min(self) -> Value:
        """The smallest value, or a bound below it."""
        ...

    @property
    def max(self) -> Value:
        """The largest value, or a bound above it."""
        ...

    @property
    def null_count(self) -> int | None:
        """How many are NULL."""
        ...

    @property
    def row_count(self) -> int:
        """How many rows the part has."""
        ...


class _ColumnStats:
    """What is known of one column so far."""

    def __init__(self, type_: DataType, mode: StatsMode) -> None:
        self.type = type_
        self.mode = mode
        self.root = type_.root if isinstance(type_, Atomic) else None
        self.nulls: int | None = 0
        self.low: Value = None
        self.high: Value = None
        self.bounded = (
            mode.kind in {StatsKind.TRUNCATE, StatsKind.FULL}
            and self.root is not None
            and self.root not in _NO_BOUNDS
        )

    def add(self, column: pa.ChunkedArray | pa.Array) -> None:
        if self.mode.kind is StatsKind.NONE:
            return
        self._count(column.null_count)
        if not self.bounded or column.null_count == len(column):
            return
        if self.root in _FLOATS and pc.any(pc.is_nan(column)).as_py():
            self._unbound()
            return
        bounds = pc.min_max(self._shortened(column))
        extremes = pa.array([bounds["min"], bounds["max"]], bounds["min"].type)
        self._widen(*values_of(extremes, self.type))

    def _shortened(self, column: Any) -> Any:
        """Long texts as far as they tell: the character after the last one says that more would follow.

        The smallest and the largest would be copied several times, and be held until the file is done.
        """
        is_long = column.nbytes > _LONG_BYTES * len(column)
        if self.mode.kind is not StatsKind.TRUNCATE or not is_long:
            return column
        if self.root in _TEXT:
            return pc.utf8_slice_codeunits(column, 0, self.mode.length + 1)
        return pc.binary_slice(column, 0, self.mode.length + 1) if self.root in _BINARY else column

    def add_counted(self, counted: Counted | None) -> None:
        """Rows that another writer counted; None: it did not."""
        if self.mode.kind is StatsKind.NONE:
            return
        nulls = None if counted is None else counted.null_count
        self._count(nulls)
        if not self.bounded or (counted is not None and nulls == counted.row_count):
            return
        if counted is None or counted.min is None or counted.max is None or self.root in _FLOATS:
            self._unbound()  # others say of floats neither whether NaN is among them nor which zero
        else:
            self._widen(counted.min, counted.max)

    def _count(self, nulls: int | None) -> None:
        self.nulls = None if self.nulls is None or nulls is None else self.nulls + nulls

    def _unbound(self) -> None:
        self.bounded, self.low, self.high = False, None, None

    def join(self, other: _ColumnStats) -> None:
        self._count(other.nulls)
        if self.bounded and not other.bounded:
            self._unbound()
        elif self.bounded and other.low is not None:
            self._widen(other.low, other.high)

    def _widen(self, low: Value, high: Value) -> None:
        if self.low is None or self._rank(low) < self._rank(self.low):
            self.low = low
        if self.high is None or self._rank(self.high) < self._rank(high):
            self.high = high

    def _rank(self, value: Value) -> Any:
        return sort_key([self.type], [value])

    def bounds(self) -> tuple[Value, Value]:
        low, high = self.low, self.high
        if self.root in _FLOATS:
            return -0.0 if low == 0 else low, 0.0 if high == 0 else high
        if self.mode.kind is StatsKind.TRUNCATE and isinstance(high, str | bytes):
            raised = _raised(high, self.mode.length)
            if raised is None:
                return None, None
            assert isinstance(low, str | bytes)
            return low[: self.mode.length], raised
        return low, high


def _raised(value: str | bytes, length: int) -> str | bytes | None:
    """The shortest bound of at most ``length`` that is not below ``value``; None if there is none.

    Text counts code points, which is how Python counts.
    """
    if len(value) <= length:
        return value
    if isinstance(value, bytes):
        kept = value[:length].rstrip(b"\xff")
        return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
    start = value[:length].rstrip("\U0010ffff")
    if not start:
        return None
    # Surrogates are no characters of their own: after U+D7FF comes U+E000.
    following = ord(start[-1]) + 1
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)


class StatsBuilder:
    """Gathers the statistics of one data file while it is written."""

    def __init__(
        self, fields: Sequence[Field], modes: Sequence[StatsMode], *, dense: bool = True
    ) -> None:
        """Count ``fields``, each in its mode.

        ``dense`` is ``metadata.stats-dense-store``: columns without statistics leave no trace
        instead of three unknowns.  Key statistics are never dense (format T30).
        """
        self._names = tuple(field.name for field in fields)
        self._columns = tuple(
            _ColumnStats(field.type, mode) for field, mode in zip(fields, modes, strict=True)
        )
        self._dense = dense

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Count ``rows``.

        Shape: has a column for each field, looked up by name; others do not matter.
        """
        for name, column in zip(self._names, self._columns, strict=True):
            column.add(rows.column(name))

    def add_counted(self, columns: Mapping[str, Counted]) -> None:
        """Count rows that another writer has counted; columns that are not in ``columns`` are unknown.

        Bounds of floats are not taken: a footer may leave NaN and the sign of zero out.
        """
        for name, column in zip(self._names, self._columns, strict=True):
            column.add_counted(columns.get(name))

    def join(self, other: StatsBuilder) -> None:
        """Count the rows that ``other``, of the same fields and modes, has counted."""
        for mine, theirs in zip(self._columns, other._columns, strict=True):
            mine.join(theirs)

    def finish(self) -> tuple[SimpleStats, tuple[str, ...] | None]:
        """The statistics, and the columns that they cover (None: all)."""
        kept = [
            (name, column)
            for name, column in zip(self._names, self._columns, strict=True)
            if not (self._dense and column.mode.kind is StatsKind.NONE)
        ]
        types = [column.type for _, column in kept]
        bounds = [column.bounds() for _, column in kept]
        stats = SimpleStats(
            encode_row(types, [low for low, _ in bounds]),
            encode_row(types, [high for _, high in bounds]),
            tuple(
                None if column.mode.kind is StatsKind.NONE else column.nulls for _, column in kept
            ),
        )
        everything = len(kept) == len(self._columns)
        return stats, None if everything else tuple(name for name, _ in kept)


def covered_fields(
    fields: Sequence[Field], cols: Sequence[str] | None, *, path: str = ""
) -> tuple[Field, ...]:
    """Those ``fields`` of a file's schema that its value statistics cover (format T29).

    Raises:
        CorruptFileError: ``cols`` names a column that the schema lacks.
    """
    if cols is None:
        return tuple(fields)
    by_name = {field.name: field for field in fields}
    missing = [name for name in cols if name not in by_name]
    if missing:
        what = f"_VALUE_STATS_COLS names {missing}, which the schema lacks"
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
    return tuple(by_name[name] for name in cols)


def decode_stats(
    stats: SimpleStats, fields: Sequence[Field], *, path: str = ""
) -> dict[str, tuple[Value, Value, int | None]]:
    """Column to (smallest, largest, NULLs), each None where unknown; ``{}`` for empty statistics.

    Raises:
        CorruptFileError: they are not of ``fields`` (see ``covered_fields``).
    """
    if stats.min_values == EMPTY_ROW and stats.max_values == EMPTY_ROW:
        return {}
    types = [field.type for field in fields]
    lows = decode_row(types, stats.min_values, path=path)
    highs = decode_row(types, stats.max_values, path=path)
    nulls = stats.null_counts or (None,) * len(types)
    if len(nulls) != len(types):
        what = f"{len(nulls)} null counts of {len(types)} columns"
        raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
    return {
        field.name: (low, high, count)
        for field, low, high, count in zip(fields, lows, highs, nulls, strict=True)
    }
