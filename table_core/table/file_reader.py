"""Reads one data file as rows of the schema that the reader wants.

Old files come under their own schema and are projected (spec 2.5); partition columns come from
the manifest (spec T38); rows that a deletion vector marks are left out before anything else (T49).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import KIND_COLUMN, SEQUENCE_COLUMN
from table_core.errors import FilesExpiredError, NotFoundError
from table_core.ondisk import layout
from table_core.ondisk.binary_row import array_of, decode_row
from table_core.options import keys_files
from table_core.schema.projection import project
from table_core.schema.table_schema import KIND_FIELD, SEQUENCE_FIELD
from table_core.storage.formats import format_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from table_core.datatypes.kinds import Field
    from table_core.ondisk.data_file import DataFile
    from table_core.table.access import TableAccess

__all__ = ["FileReader"]

_SYSTEM = (SEQUENCE_FIELD, KIND_FIELD)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Reads the files of one bucket.

    ``fields`` are columns of the read schema.  With ``system``, batches begin with sequence number
    and kind.  ``prunes`` turns the schema of a file into a test of its row groups.
    """

    access: TableAccess
    partition: bytes
    bucket: int
    fields: tuple[Field, ...]
    system: bool = False
    deletions: Callable[[str], np.ndarray[Any, Any] | None] | None = None
    prunes: Callable[[int], Callable[[Mapping[str, Any]], bool] | None] | None = None
    _constants: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        schema = self.access.schema
        types = [f.type for f in schema.partition_fields]
        values = decode_row(types, self.partition, path="partition") if types else ()
        for column, value in zip(schema.partition_fields, values, strict=True):
            self._constants[column.name] = array_of([value], column.type)[0]

    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return arrow_schema((*(_SYSTEM if self.system else ()), *self.fields))

    def read(self, file: DataFile) -> Iterator[pa.RecordBatch]:
        """The rows of ``file``, in file order.

        Raises:
            FilesExpiredError: the file is gone.
            CorruptFileError: it does not decode.
        """
        access = self.access
        file_schema = access.metadata.schema(file.schema_id)
        stored = tuple(f for f in self.fields if f.name not in self._constants)
        projection = project(file_schema, stored, file.write_cols)
        wanted = (*(_SYSTEM if self.system else ()), *projection.file_fields)
        path = layout.data_file_path(access.schema, self.partition, self.bucket, file)
        deleted = self.deletions(file.file_name) if self.deletions else None
        keep = self.prunes(file.schema_id) if self.prunes and deleted is None else None
        try:
            batches = format_for(file.format).read(
                access.storage,
                path,
                file.file_size,
                wanted,
                batch_rows=max(access.options.get(keys_files.READ_BATCH_SIZE), 1 << 16),
                keep=keep,
            )
            first = 0
            for batch in batches:
                rows = batch
                if deleted is not None:
                    rows = _without(batch, deleted, first)
                    first += batch.num_rows
                yield self._assemble(projection.apply, rows)
        except NotFoundError as error:
            raise FilesExpiredError(
                f"{path} is gone: its snapshot was expired while it was read; read a newer "
                "snapshot, or raise 'snapshot.time-retained', or create a tag or a consumer",
                path=path,
            ) from error

    def _assemble(self, apply: Callable[[Any], Any], rows: pa.RecordBatch) -> pa.RecordBatch:
        """Put projected columns, constants and system columns in the order of ``schema``."""
        projected = apply(rows)
        columns = []
        if self.system:
            columns = [rows.column(SEQUENCE_COLUMN), rows.column(KIND_COLUMN)]
        for column in self.fields:
            constant = self._constants.get(column.name)
            if constant is None:
                columns.append(projected.column(column.name))
            else:
                columns.append(pa.repeat(constant, rows.num_rows))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema())


def _without(batch: pa.RecordBatch, deleted: np.ndarray[Any, Any], first: int) -> pa.RecordBatch:
    """Rows of ``batch``, whose first row has position ``first``, that are not ``deleted``."""
    last = first + batch.num_rows
    here = deleted[np.searchsorted(deleted, first) : np.searchsorted(deleted, last)] - first
    if not len(here):
        return batch
    kept = np.ones(batch.num_rows, dtype=bool)
    kept[here] = False
    return batch.filter(pa.array(kept))
