"""Ids and sequence numbers of the rows of append tables (``row-tracking.enabled``).

A commit gives them to whole files: ids count on from the first of the file, and each row has the
number of the file.  Files of rows that were written before store both; a number that is missing there
is that of the file again.

Source: ``org.apache.paimon.io.DataFileRecordReader``; format 5.1 and 10.6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_field
from table_core.datatypes.kinds import Atomic, Root
from table_core.errors import CorruptFileError
from table_core.schema.table_schema import ROW_ID_FIELD, SEQUENCE_FIELD, TRACKING_FIELDS

if TYPE_CHECKING:
    from table_core.datatypes.kinds import Field
    from table_core.ondisk.data_file import DataFile

__all__ = ["stored_tracking", "with_tracking"]

_STORED: Final = tuple(replace(f, type=Atomic(Root.BIGINT)) for f in TRACKING_FIELDS)


def stored_tracking(file: DataFile) -> tuple[Field, ...]:
    """Which of the two ``file`` has as columns."""
    return tuple(f for f in _STORED if f.name in (file.write_cols or ()))


def with_tracking(
    rows: pa.RecordBatch, stored: pa.RecordBatch, file: DataFile, first: int, *, path: str
) -> pa.RecordBatch:
    """``rows`` with ids and numbers behind; they are those of ``file`` from position ``first`` on.

    ``stored``: the same rows with what the file has of ``stored_tracking``.

    Raises:
        CorruptFileError: nothing tells the id of a row.
    """
    number = pa.repeat(pa.scalar(file.max_sequence_number, pa.int64()), rows.num_rows)
    if file.first_row_id is None:
        id_ = pa.nulls(rows.num_rows, pa.int64())
    else:
        begin = file.first_row_id + first
        id_ = pa.array(np.arange(begin, begin + rows.num_rows, dtype=np.int64))
    for field, inherited in ((ROW_ID_FIELD, id_), (SEQUENCE_FIELD, number)):
        at = stored.schema.get_field_index(field.name)
        values = inherited if at < 0 else pc.coalesce(stored.column(at), inherited)
        if values.null_count:
            what = f"rows without {field.name}: neither the file nor its manifest has them"
            raise CorruptFileError(f"{path}: {what}", path=path, problems=[what])
        rows = rows.append_column(arrow_field(field), values)
    return rows
