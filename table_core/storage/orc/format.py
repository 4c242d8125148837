"""ORC data files to and from Arrow (format 5.3).

Field ids are the type attribute ``paimon.id``; TIME is an int of milliseconds.  Statistics of
stripes are not looked at, so ``keep`` is never asked.
"""

from __future__ import annotations

import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import cramjam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc

from table_core.datatypes.arrow import arrow_schema
from table_core.errors import OptionError, TableError, UnsupportedFeatureError
from table_core.options import codecs, parse
from table_core.options.budgets import STRIPE_BYTES
from table_core.storage.columns.conform import missing_columns, read_batch, written_table
from table_core.storage.columns.data_format import (
    ALL,
    check_rows,
    close_quietly,
    decoding,
    encoding,
    own_option,
    rows_within,
)
from table_core.storage.columns.stored_schema import ORC_ID, asked_paths, schema_with_ids
from table_core.storage.orc.chars import has_chars, trimmed
from table_core.storage.orc.in_batches import rows_in_batches
from table_core.storage.orc.mended import mend
from table_core.storage.orc.room import room_of
from table_core.storage.orc.sink import OrcSink
from table_core.storage.orc.stripes import check_lengths, read_tail
from table_core.storage.orc.timestamps import read_timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from table_core.datatypes.kinds import Field
    from table_core.ports import Storage
    from table_core.storage.columns.data_format import FileWriter, Wanted, WriterSettings
    from table_core.storage.orc.stripes import OrcTail

__all__ = ["OrcFormat"]

_STRIPE_BYTES: Final = 64 * 2**20
_ROWS_AT_ONCE: Final = 65_536
_PER_SECOND: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_BOUNDS_BYTES: Final = 1 << 21
"""More than this of texts in what is said of columns is too much: readers have a budget for it."""
_COPIED_BYTES: Final = 1 << 20
_RATIO: Final = 0.4
"""A guess of bytes in the file per byte in memory, for what a stripe still collects."""


@dataclass(frozen=True, slots=True)
class OrcFormat:
    """ORC."""

    name: str = "orc"

    def open_writer(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> FileWriter:
        """A writer of ``path``."""
        return _OrcFileWriter(storage, path, fields, settings)

    def columns(self, storage: Storage, path: str, file_size: int) -> list[str]:
        """Names of the top-level columns of ``path``."""
        with storage.open_input(path, file_size) as source, decoding(storage, path):
            names: list[str] = _checked(source)[1].schema.names
            return names

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
        """Rows of ``path``, stripe after stripe; see ``DataFormat.read``."""
        schema = arrow_schema(fields)
        with storage.open_input(path, file_size) as source:
            with decoding(storage, path):
                tail, file = _checked(source)
                missing_columns(file.schema.names, fields, path=path)
            check_rows(storage, path, file.nrows, row_count)
            if not fields:
                yield from _bare_rows(file.nrows if wanted.part.number == 0 else 0, batch_rows)
                return
            for number in wanted.part.of(file.nstripes):
                with decoding(storage, path):
                    for part in _parts(
                        file, source, tail, number, schema, path, wanted.refuse_wide
                    ):
                        stripe = _without_padding(part, fields)
                        size = rows_within(batch_bytes, stripe.num_rows, stripe.nbytes, batch_rows)
                        for start in range(0, stripe.num_rows, size):
                            yield read_batch(stripe.slice(start, size), fields, schema, path=path)


def _checked(source: Any) -> tuple[OrcTail, Any]:
    """The tail of the file, without what ends the process in Arrow's reader; and that reader."""
    with _structure():
        tail = read_tail(source, source.size())
    return tail, orc.ORCFile(source)


@contextmanager
def _structure() -> Iterator[None]:
    """Tell what our own look at a damaged file runs into as Arrow would."""
    try:
        yield
    except TableError:
        raise
    except (
        ValueError,
        LookupError,
        OverflowError,
        zlib.error,
        cramjam.DecompressionError,
    ) as error:
        raise pa.ArrowInvalid(f"damaged ORC: {error!r}") from error


def _parts(
    file: Any,
    source: Any,
    tail: OrcTail,
    number: int,
    schema: pa.Schema,
    path: str,
    refuse_wide: Callable[[int], None] | None,
) -> Iterator[pa.RecordBatch]:
    """One stripe, whole if there may be so much in memory."""
    with _structure():
        room, lengths = room_of(source, tail, number, schema.names)
        check_lengths(source, tail, number, schema.names, lengths)
    if refuse_wide is not None:
        refuse_wide(room.least)
    if room.whole + room.always <= STRIPE_BYTES.most:
        yield _stripe(file, source, tail, number, schema, path)
    else:
        yield from rows_in_batches(source, tail, number, schema.names, room)


def _stripe(
    file: Any, source: Any, tail: OrcTail, number: int, schema: pa.Schema, path: str
) -> pa.RecordBatch:
    """The columns ``schema`` of one stripe, as Arrow gives them or, where it cannot, as we do."""
    try:
        return file.read_stripe(number, columns=asked_paths(schema, file.schema))
    except pa.ArrowInvalid as error:
        if "nanosecond" not in str(error):
            raise
    columns = {}
    for field in schema:
        try:
            stripe = file.read_stripe(number, columns=[field.name])
            columns[field.name] = stripe.column(field.name)
        except pa.ArrowInvalid as error:
            if "nanosecond" not in str(error):
                raise
            with _structure():
                columns[field.name] = read_timestamps(source, tail, number, field, path=path)
    return pa.RecordBatch.from_pydict(columns)


def _without_padding(stripe: pa.RecordBatch, fields: Sequence[Field]) -> pa.RecordBatch:
    for field in fields:
        if has_chars(field.type):
            at = stripe.schema.get_field_index(field.name)
            column = trimmed(stripe.column(at), field.type)
            stripe = stripe.set_column(at, stripe.schema.field(at), column)
    return stripe


def _bare_rows(rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Batches that have rows and no columns."""
    for start in range(0, rows, batch_rows):
        count = min(batch_rows, rows - start)
        yield pa.RecordBatch.from_struct_array(pa.nulls(count, pa.struct([])))


class _OrcFileWriter:
    """One ORC file in the making; Arrow's writer collects a stripe."""

    def __init__(
        self, storage: Storage, path: str, fields: Sequence[Field], settings: WriterSettings
    ) -> None:
        codec = codecs.ORC.get(settings.compression)
        if codec is None:
            raise OptionError(
                f"file.compression={settings.compression!r} cannot be written to ORC; "
                f"use one of {sorted(codecs.ORC)}",
                option="file.compression",
                value=settings.compression,
            )
        self._storage, self._path, self._fields = storage, path, tuple(fields)
        self._schema = schema_with_ids(fields, ORC_ID)
        stripe = settings.block_size or own_option(
            settings,
            "orc.stripe.size",
            parse.size_bytes,
            min(_STRIPE_BYTES, 2 * (settings.memory or _STRIPE_BYTES)),
            least=1,
        )
        stride = own_option(settings, "orc.row.index.stride", parse.integer, 10_000, least=1)
        self._collected = self._told = 0
        self._sink = OrcSink(storage.open_output(path))
        self._writer: Any = orc.ORCWriter(
            self._sink,
            compression=codec,
            stripe_size=stripe,
            row_index_stride=stride,
            dictionary_key_size_threshold=own_option(
                settings, "orc.dictionary.key.threshold", parse.number, 0.4
            ),
            batch_size=1024,
        )
        self._empty = True
        self._mends = False
        self._longest: dict[str, int] = {}

    def write(self, table: pa.Table) -> None:
        """Add rows."""
        rows = written_table(table, self._fields)
        with encoding(self._storage, self._path):
            for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
                self._add(rows.slice(start, _ROWS_AT_ONCE))

    def _add(self, rows: pa.Table) -> None:
        for field, column in zip(self._fields, rows.columns, strict=True):
            array = column.combine_chunks()
            self._mends |= _has_fractions_before_1970(array, field.name)
            self._longest[field.name] = max(self._longest.get(field.name, 0), _longest_text(array))
        columns = [
            _storable(column.combine_chunks()).cast(target.type)
            for column, target in zip(rows.columns, self._schema, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))
        self._sink.check()
        self._empty = False
        told = self._sink.tell()
        self._collected = 0 if told != self._told else self._collected + rows.nbytes
        self._told = told

    def suits(self, table: pa.Table) -> bool:  # noqa: ARG002 - the form of all formats
        """Any rows do."""
        return True

    def size_estimate(self) -> int:
        """Bytes written, and a guess of those that wait."""
        return int(self._told + self._collected * _RATIO)

    def close(self) -> int:
        """Write the last stripe and the footer."""
        with encoding(self._storage, self._path):
            if self._empty:
                self._writer.write(self._schema.empty_table())
            self._writer.close()
            self._sink.check()
            self._sink.file.close()
            if self._mends or 2 * sum(self._longest.values()) > _BOUNDS_BYTES:
                self._mend()
        return self._sink.tell()

    def _mend(self) -> None:
        """Write the file again, by way of the local disk: what Arrow gets wrong is mended."""
        size, self._writer = self._sink.tell(), None  # which holds a stripe
        with tempfile.TemporaryFile() as arrows:
            with self._storage.open_input(self._path) as source:
                while part := source.read(_COPIED_BYTES):
                    arrows.write(part)
            self._sink = OrcSink(self._storage.open_output(self._path))
            mend(arrows, size, self._sink.write)
        self._sink.check()
        self._sink.file.close()

    def abort(self) -> None:
        """Close and delete the file."""
        self._sink.give_up()
        close_quietly(self._sink.file)
        self._storage.delete([self._path])


def _storable(array: Any) -> Any:
    """``array`` as Arrow's ORC writer stores it rightly.

    That writer loses nulls of structs where chunks meet, and shifts the members of nested structs
    unless they are null wherever the struct is: so one chunk, with nulls pushed down.
    """
    if not _has_structs(array.type):
        return array
    whole = array.take(pa.array(np.arange(len(array))))  # offsets from 0
    return _pushed(whole)


def _has_structs(type_: Any) -> bool:
    if pa.types.is_map(type_):
        return _has_structs(type_.key_type) or _has_structs(type_.item_type)
    if pa.types.is_list(type_):
        return _has_structs(type_.value_type)
    return bool(pa.types.is_struct(type_))


def _pushed(array: Any) -> Any:
    type_ = array.type
    if pa.types.is_struct(type_):
        members = [_pushed(member) for member in array.flatten()]
        fields = [pa.field(f.name, m.type) for f, m in zip(type_, members, strict=True)]
        return pa.StructArray.from_arrays(members, fields=fields, mask=array.is_null())
    if pa.types.is_map(type_):
        keys, items = _pushed(array.keys), _pushed(array.items)
        return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())
    if pa.types.is_list(type_):
        return pa.ListArray.from_arrays(array.offsets, _pushed(array.values), mask=array.is_null())
    return array


def _longest_text(array: Any) -> int:
    """Bytes of the longest text in ``array``, however nested; of several members, added up."""
    type_ = array.type
    if pa.types.is_struct(type_):
        return sum(map(_longest_text, array.flatten()))
    if pa.types.is_map(type_):
        return _longest_text(array.keys) + _longest_text(array.items)
    if pa.types.is_list(type_):
        return _longest_text(array.flatten())
    if not (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
        return 0  # of bytes it keeps no bounds
    return pc.max(pc.binary_length(array)).as_py() or 0


def _has_fractions_before_1970(array: Any, name: str) -> bool:
    """Whether there is a timestamp, however nested, that Arrow's ORC writer stores wrongly.

    Raises:
        UnsupportedFeatureError: it is in the last second before 1970, where ORC has no room for
            milliseconds: its readers, Java's as well, take them for those after 1970.
    """
    type_ = array.type
    if pa.types.is_timestamp(type_):
        second = _PER_SECOND[type_.unit]
        values = array.cast(pa.int64()).fill_null(0).to_numpy()
        if ((values < 0) & (values + second >= max(second // 1000, 1)) & (values > -second)).any():
            raise UnsupportedFeatureError(
                f"column {name!r} holds times in the last second before 1970, which ORC files "
                "cannot distinguish from those in the first second after; use file.format=parquet",
                feature="ORC timestamps in the last second before 1970",
                column=name,
            )
        return bool(((values < 0) & (values % second != 0)).any())
    if pa.types.is_struct(type_):
        parts = array.flatten()
    elif pa.types.is_map(type_):
        parts = [array.keys, array.items]
    elif pa.types.is_list(type_):
        parts = [array.flatten()]
    else:
        return False
    flags = [_has_fractions_before_1970(part, name) for part in parts]
    return any(flags)
