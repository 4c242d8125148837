"""Reads one data file as rows of the schema that the reader wants.

Old files come under their own schema and are projected (format 2.5); partition columns come from
the manifest (format T38); rows that a deletion vector marks are left out before anything else
(format T49).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import (
    CorruptFileError,
    FilesExpiredError,
    NotFoundError,
    TableError,
    UnsupportedFeatureError,
)
from table_core.ondisk import layout
from table_core.ondisk.binary_row import array_of, decode_row
from table_core.ondisk.data_file import FileSource
from table_core.options import keys_files, keys_merge, keys_scan
from table_core.schema.projection import project
from table_core.schema.table_schema import KIND_FIELD, SEQUENCE_FIELD
from table_core.storage.columns.data_format import WHOLE, Part, Probe, Wanted
from table_core.storage.formats import format_for
from table_core.table.files.row_ids import stored_tracking, with_tracking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Prunes: TypeAlias = Callable[[int], Callable[[Mapping[str, Any]], bool] | None]

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.data_file import DataFile
    from table_core.schema.table_schema import TableSchema
    from table_core.table.metadata.access import TableAccess

__all__ = ["POSITION_COLUMN", "FileReader"]

_log: Final = logging.getLogger(__name__)
POSITION_COLUMN: Final = "_POSITION"
"""The row number in the file, deleted rows included; in memory only."""
_SYSTEM = (SEQUENCE_FIELD, KIND_FIELD)
_BATCH_ROWS: Final = 1 << 16
_SHARES: Final = 8
_LARGE_BATCH_ROWS: Final = 1 << 20
"""Columns are decoded beside one another batch by batch, so that small ones keep cores waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Reads the files of one bucket.

    ``fields`` are columns of the read schema.  With ``system``, batches begin with sequence number
    and kind; with ``positions`` they end with row numbers, with ``tracks`` with the ids and sequence
    numbers of rows (``row_ids``).  ``prunes`` turns the schema of a file into a test of its row
    groups.  Wide rows come in batches of about ``batch_bytes``.  Rows whose columns ``probed`` do not
    fulfil ``matches`` may be left out.
    """

    access: TableAccess
    partition: bytes
    bucket: int
    fields: tuple[Field, ...]
    system: bool = False
    deletions: Callable[[str], np.ndarray[Any, Any] | None] | None = None
    prunes: Prunes | None = None
    positions: bool = False
    tracks: bool = False
    ignores_damage: bool = False
    """Whether users see the rows; what rewrites files must not lose any."""
    batch_bytes: int = 0
    """0: an eighth of ``read.memory-limit``."""
    large: bool = False
    """Whether rows come in large batches, where ``batch_bytes`` surely hold so many."""
    parallel: bool = False
    """See ``Wanted``."""
    refuse_wide: Callable[[int], None] | None = None
    """See ``Wanted``.  Not asked of a file of which rows are deleted: the wide one may be among them."""
    probed: tuple[Field, ...] = ()
    matches: Callable[[pa.RecordBatch], Any] | None = None
    _constants: dict[str, Any] = field(init=False, default_factory=dict)
    _schema: pa.Schema = field(init=False)

    def __post_init__(self) -> None:
        shown = arrow_schema((*(_SYSTEM if self.system else ()), *self.fields))
        object.__setattr__(self, "_schema", shown)
        schema = self.access.schema
        types = [f.type for f in schema.partition_fields]
        values = decode_row(types, self.partition, path="partition") if types else ()
        asked = {column.name for column in self.fields}
        for column, value in zip(schema.partition_fields, values, strict=True):
            if column.name in asked:
                self._constants[column.name] = array_of([value], column.type)[0]

    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._schema

    def pruned(self, prunes: Prunes) -> FileReader:
        """The same, with another test of row groups."""
        return replace(self, prunes=prunes)

    def positioned(self) -> FileReader:
        """The same with row numbers, deleted rows too."""
        return replace(self, prunes=None, deletions=None, positions=True)

    def read(self, file: DataFile, part: Part = WHOLE) -> Iterator[pa.RecordBatch]:
        """The rows of ``part`` of ``file``, in file order.  What counts rows reads whole files.

        Where the reader ``ignores_damage``, ``scan.ignore-lost-files`` and ``scan.ignore-corrupt-files`` make
        warnings of these errors: the rest of such a file has no rows then.

        Raises:
            FilesExpiredError: the file is gone.
            CorruptFileError: it does not decode.
        """
        try:
            yield from self._read(file, part)
        except FilesExpiredError as error:
            if not (
                self.ignores_damage and self.access.options.get(keys_scan.SCAN_IGNORE_LOST_FILES)
            ):
                raise
            _log.warning("left out, as scan.ignore-lost-files says: %s", error)
        except CorruptFileError as error:
            if not (
                self.ignores_damage and self.access.options.get(keys_scan.SCAN_IGNORE_CORRUPT_FILES)
            ):
                raise
            _log.warning("left out, as scan.ignore-corrupt-files says: %s", error)

    def _read(self, file: DataFile, part: Part) -> Iterator[pa.RecordBatch]:
        access = self.access
        if file.external_path is not None:
            raise UnsupportedFeatureError(
                f"{file.external_path} lies outside the table (data-file.external-paths), where "
                "this release does not read",
                feature="external paths",
            )
        file_schema = access.metadata.schema(file.schema_id)
        stored = tuple(f for f in self.fields if f.name not in self._constants)
        projection = project(file_schema, stored, file.write_cols)
        tracked = stored_tracking(file) if self.tracks else ()
        fields = (*(_SYSTEM if self.system else ()), *projection.file_fields, *tracked)
        path = layout.data_file_path(access.schema, self.partition, self.bucket, file)
        deleted = self.deletions(file.file_name) if self.deletions else None
        if deleted is not None and len(deleted) and deleted[-1] >= file.row_count:
            what = f"its deletion vector marks row {deleted[-1]} of {file.row_count}"
            raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
        counts = deleted is not None or self.positions or self.tracks
        keep = self.prunes(file.schema_id) if self.prunes and not counts else None
        number = self._number(file)
        try:
            batches = format_for(file.format).read(
                access.storage,
                path,
                file.row_count,
                fields,
                batch_rows=self._batch_rows,
                batch_bytes=self.batch_bytes or self._limit // _SHARES,
                file_size=file.file_size,
                wanted=Wanted(
                    keep=keep,
                    probe=None if counts else self._probe(file, file_schema),
                    part=part,
                    parallel=self.parallel,
                    refuse_wide=self.refuse_wide if deleted is None else None,
                ),
            )
            first = 0
            for batch in batches:
                kept = None if deleted is None else _kept(batch.num_rows, deleted, first)
                rows = self._assemble(projection.apply, batch, number)
                if self.positions:
                    numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
                    rows = rows.append_column(POSITION_COLUMN, pa.array(numbers))
                if self.tracks:
                    rows = with_tracking(rows, batch, file, first, path=path)
                first += batch.num_rows
                yield rows if kept is None else rows.filter(kept)
        except NotFoundError as error:
            raise FilesExpiredError.of(path, needed=self._is_needed(file)) from error

    def _is_needed(self, file: DataFile) -> bool | None:
        """Whether the newest snapshot names ``file``; None: that cannot be read now."""
        try:
            live = self.access.live_entries(
                self.access.metadata.head(), keep_partition=lambda p: p == self.partition
            )
        except TableError:
            return None
        return any(entry.file.file_name == file.file_name for entry in live)

    @property
    def _limit(self) -> int:
        return self.access.options.get(keys_files.READ_MEMORY_LIMIT)

    @property
    def _batch_rows(self) -> int:
        asked = self.access.options.get(keys_files.READ_BATCH_SIZE)
        return max(asked, _LARGE_BATCH_ROWS if self.large else _BATCH_ROWS)

    def _probe(self, file: DataFile, file_schema: TableSchema) -> Probe | None:
        matches = self.matches
        if matches is None:
            return None
        projection = project(file_schema, self.probed, file.write_cols)
        if not projection.file_fields:
            return None
        return Probe(projection.file_fields, lambda rows: matches(projection.apply(rows)))

    def _number(self, file: DataFile) -> pa.Scalar | None:
        """The sequence number of all rows of ``file``; None: each has its own.

        Raises:
            CorruptFileError: rows are ordered by snapshot, and nothing says where the file is from.
        """
        if not self.system or not self.access.options.get(keys_merge.SEQUENCE_SNAPSHOT_ORDERING):
            return None
        if file.file_source is None:
            raise CorruptFileError(
                f"{file.file_name} has no _FILE_SOURCE, without which the versions of a row are not "
                "ordered by snapshot (sequence.snapshot-ordering)",
                path=file.file_name,
            )
        appended = file.file_source is FileSource.APPEND
        return pa.scalar(file.max_sequence_number, pa.int64()) if appended else None

    def _assemble(
        self, apply: Callable[[Any], Any], rows: pa.RecordBatch, number: pa.Scalar | None
    ) -> pa.RecordBatch:
        """Put projected columns, constants and system columns in the order of ``schema``."""
        projected = apply(rows)
        if not (self.system or self._constants):
            return projected
        columns = []
        if self.system:
            numbers = rows.column(SEQUENCE_COLUMN)
            if number is not None:
                numbers = pa.repeat(number, rows.num_rows)
            columns = [numbers, rows.column(KIND_COLUMN)]
        for column in self.fields:
            constant = self._constants.get(column.name)
            if constant is None:
                columns.append(projected.column(column.name))
            else:
                columns.append(pa.repeat(constant, rows.num_rows))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _kept(count: int, deleted: np.ndarray[Any, Any], first: int) -> pa.Array | None:
    """Which of ``count`` rows from position ``first`` on are not ``deleted``; None: all."""
    here = deleted[np.searchsorted(deleted, first) : np.searchsorted(deleted, first + count)]
    if not len(here):
        return None
    kept = np.ones(count, dtype=bool)
    kept[here - first] = False
    return pa.array(kept)
