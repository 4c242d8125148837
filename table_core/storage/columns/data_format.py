"""What a data file format offers, and what its writers are told."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import pyarrow as pa

from table_core.errors import (
    CorruptFileError,
    DataError,
    OptionError,
    StorageUnavailableError,
    UnsupportedFeatureError,
)
from table_core.options import keys_files, keys_write
from table_core.storage.stores.os_errors import table_error

if TYPE_CHECKING:
    import decimal
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.options.table import TableOptions
    from table_core.ports import Storage

__all__ = [
    "ALL",
    "ALONE_BYTES",
    "WHOLE",
    "DataFormat",
    "FileWriter",
    "Keep",
    "Part",
    "Probe",
    "RangeStats",
    "Wanted",
    "WriterSettings",
    "check_rows",
    "close_quietly",
    "decoding",
    "encoding",
    "format_name",
    "own_option",
    "row_bits",
    "rows_within",
]

ALONE_BYTES: Final = 4 << 20
"""A row of more bytes is stored by itself: who reads those before it does not hold it."""
_WRITERS: Final = 8
_GROUP_BYTES_MIN: Final = 4 << 20
Value: TypeAlias = "bool | int | float | str | bytes | decimal.Decimal"


@dataclass(frozen=True, slots=True)
class RangeStats:
    """What is known of one column in one part of a file.  None is unknown.

    Values: DATE in days, TIME in milliseconds, timestamps in nanoseconds since the epoch.
    """

    min: Value | None
    max: Value | None
    null_count: int | None
    row_count: int


Keep: TypeAlias = "Callable[[Mapping[str, RangeStats]], bool]"
"""Whether rows within these ranges may be wanted."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A look at few columns of a file, which tells what of the others need not be read."""

    fields: tuple[Field, ...]
    """As the file calls them."""
    matches: Callable[[pa.RecordBatch], pa.BooleanArray]
    """Which rows of those columns may be wanted."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of ``count`` parts of a file that are read beside one another, the first being 0."""

    number: int
    count: int

    def of(self, units: int) -> range:
        """Which of ``units`` row groups or stripes belong to this part."""
        return range(units * self.number // self.count, units * (self.number + 1) // self.count)


WHOLE: Final = Part(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a file."""

    keep: Keep | None = None
    """Rows in ranges that it refuses may be left out."""
    probe: Probe | None = None
    """Rows where it finds no match may be left out."""
    part: Part = WHOLE
    """All parts of a file, in order, give its rows in order."""
    parallel: bool = False
    """Whether enough others read at the same time, so that more threads would be in their way."""
    refuse_wide: Callable[[int], None] | None = None
    """Asked before rows are decoded, with the bytes that one of them takes at least: it raises where they are too many.

    Of Avro nothing says it before: a block has other rows, too."""


ALL: Final = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """How to write a data file."""

    compression: str = "zstd"
    zstd_level: int = 1
    block_size: int | None = None
    """Bytes in memory of a row group or stripe; None leaves it to the format."""
    memory: int | None = None
    """What a group may take that nothing else says the size of; several writers are open at once."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Table options; the format picks those that begin with its name."""
    encodings: dict[object, Any] = field(default_factory=dict, compare=False)
    """What the format chose for files of these columns; shared by the files of one writer."""

    @classmethod
    def of(
        cls, options: TableOptions, *, level: int = 0, changelog: bool = False
    ) -> WriterSettings:
        """What ``options`` say of files of ``level``, or of changelog files."""
        codec = options.get(keys_files.FILE_COMPRESSION)
        codec = options.get(keys_files.FILE_COMPRESSION_PER_LEVEL).get(level, codec)
        if changelog:
            codec = options.get(keys_files.CHANGELOG_FILE_COMPRESSION) or codec
        limits = (
            options.get(keys_write.WRITE_BUFFER_SIZE),
            options.get(keys_files.WRITE_MEMORY_LIMIT),
            options.get(keys_files.READ_MEMORY_LIMIT),
        )
        return cls(
            compression=codec.lower(),
            zstd_level=options.get(keys_files.FILE_COMPRESSION_ZSTD_LEVEL),
            block_size=options.get(keys_files.FILE_BLOCK_SIZE),
            memory=max(min(limit for limit in limits if limit) // _WRITERS, _GROUP_BYTES_MIN),
            options=options.raw,
        )


def format_name(options: TableOptions, *, level: int = 0, changelog: bool = False) -> str:
    """The format of new files of ``level``, or of changelog files: ``parquet``, ``orc``, ``avro``."""
    name = options.get(keys_files.FILE_FORMAT)
    name = options.get(keys_files.FILE_FORMAT_PER_LEVEL).get(level, name)
    if changelog:
        name = options.get(keys_files.CHANGELOG_FILE_FORMAT) or name
    return name.lower()


def own_option(
    settings: WriterSettings,
    key: str,
    read: Callable[[str], Any],
    default: Any,
    least: int | None = None,
) -> Any:
    """The option ``key`` of one format, or ``default``.

    Raises:
        OptionError: it does not parse, or is below ``least``.
    """
    text = settings.options.get(key)
    if text is None:
        return default
    try:
        value = read(text)
        if least is not None and value < least:
            raise ValueError(f"it must be at least {least}")
        return value
    except ValueError as error:
        raise OptionError(
            f"option {key!r} cannot be {text!r}: {error}", option=key, value=text
        ) from error


class FileWriter(Protocol):
    """One data file in the making."""

    def write(self, table: pa.Table) -> None:
        """Add rows.  Columns are found by name and cast without loss.

        Raises:
            DataError: a value does not fit its column, or NULL where NOT NULL is declared.
        """
        ...

    def suits(self, table: pa.Table) -> bool:
        """Whether rows like those of ``table`` belong into this file: else the next one holds less in memory."""
        ...

    def size_estimate(self) -> int:
        """About how many bytes the file would have if it were closed now."""
        ...

    def close(self) -> int:
        """Finish the file.  Returns its size in bytes."""
        ...

    def abort(self) -> None:
        """Give up and delete what was written."""
        ...


class DataFormat(Protocol):
    """Data files to and from Arrow."""

    @property
    def name(self) -> str:
        """Also the extension of the files."""
        ...

    def open_writer(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> FileWriter:
        """A writer of the new file ``path`` with the columns ``fields``."""
        ...

    def read(
        self,
        storage: Storage,
        path: str,
        row_count: int | None,
        fields: Sequence[Field],
        *,
        batch_rows: int,
        batch_bytes: int | None = None,
        file_size: int | None = None,
        wanted: Wanted = ALL,
    ) -> Iterator[pa.RecordBatch]:
        """Rows of ``path``: the columns called as ``fields``, as ``arrow_schema(fields)``.

        Batches have at most ``batch_rows``, and about ``batch_bytes`` where rows are wide.  A format
        that cannot cut files gives all rows as the first part.  For ``file_size`` see ``open_input``.

        Raises:
            CorruptFileError: the file does not decode, lacks a column, or has not ``row_count``
                rows (where that is known): then it is cut, or another file.
            UnsupportedFeatureError: it holds what this release cannot represent.
        """
        ...

    def columns(self, storage: Storage, path: str, file_size: int) -> list[str]:
        """Names of the top-level columns of ``path``."""
        ...


def row_bits(schema: pa.Schema) -> int | None:
    """Bits of a decoded row; None where they differ from row to row."""
    bits = 0
    for column in schema:
        type_ = column.type
        if not (
            pa.types.is_primitive(type_)
            or pa.types.is_decimal(type_)
            or pa.types.is_fixed_size_binary(type_)
        ):
            return None
        bits += 1 + type_.bit_width
    return bits


def rows_within(batch_bytes: int | None, rows: int, size: int, most: int) -> int:
    """How many rows the next batch may have where ``rows`` took ``size`` bytes."""
    if batch_bytes is None or not rows or not size:
        return most
    return max(1, min(most, batch_bytes * rows // size))


def check_rows(storage: Storage, path: str, actual: int, expected: int | None) -> None:
    """Refuse ``actual`` rows where the table, or the file's own footer, knows of ``expected``."""
    if expected not in {None, actual}:
        what = f"{actual} rows instead of {expected}"
        raise CorruptFileError(f"{storage.uri}/{path}: {what}", path=path, problems=[what])


@contextmanager
def decoding(storage: Storage, path: str) -> Iterator[None]:
    """Tell a failure to read as a store that failed, or as a file that is damaged."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # Arrow's own complaints about bytes have none
            raise table_error(error, root=storage.uri, path=path, action="read") from error
        raise _corrupt(storage, path, error) from error
    except (pa.ArrowException, UnicodeDecodeError, OverflowError, EOFError) as error:
        raise _corrupt(storage, path, error) from error


def _corrupt(
    storage: Storage, path: str, error: Exception
) -> CorruptFileError | UnsupportedFeatureError:
    if isinstance(error, pa.ArrowNotImplementedError) and "LZO" in str(error).upper():
        return UnsupportedFeatureError(
            f"{storage.uri}/{path} is compressed with LZO, which this release cannot read: "
            "rewrite the table with file.compression=zstd",
            feature="LZO compression",
            path=path,
        )
    return CorruptFileError(
        f"{storage.uri}/{path} does not decode: {error}", path=path, problems=[str(error)]
    )


@contextmanager
def encoding(storage: Storage, path: str) -> Iterator[None]:
    """Tell a failure to write as a store that failed, or as rows that do not fit."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise table_error(error, root=storage.uri, path=path, action="write") from error
        raise StorageUnavailableError(
            f"cannot write {storage.uri}/{path}: {error}", path=path, reason=str(error)
        ) from error
    except pa.ArrowException as error:
        raise DataError(
            f"cannot write {storage.uri}/{path}: {error}", column=None, row=None, value=None
        ) from error


def close_quietly(file: Any) -> None:
    """Close a file that is given up; that it cannot be flushed any more is no news."""
    try:
        file.close()
    except OSError:
        return
