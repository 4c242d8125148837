"""Finds the old values of keys in the levels above a compaction (docs/adr/0003).

Files are asked level by level, lowest first, for the keys that are still missing.  Whole files are
ruled out by their bounds, row groups by their statistics, rows by hash; what is left is compared.
Files that are asked again come from ``lookup_cache``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_core.merge.engines.lookup import rows_of_keys
from table_core.merge.ordinal import single_chunk
from table_core.merge.sort import key_order
from table_core.ondisk.binary_row import sort_key, values_of
from table_core.schema.projection import evolve_ranges
from table_core.table.compact.lookup_cache import CACHE
from table_core.table.files.file_reader import POSITION_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from table_core.lsm.sorted_run import Key, SortedRun
    from table_core.ondisk.data_file import DataFile
    from table_core.table.compact.lookup_cache import LookupCache
    from table_core.table.files.file_reader import FileReader

__all__ = ["OldValues"]

_HASHED_MAX: Final = 1 << 20
"""More keys than this are not hashed for every batch."""


@dataclass(slots=True, kw_only=True)
class OldValues:
    """The rows of higher levels of one bucket, by key."""

    reader: FileReader
    """With system columns; with positions if ``mark`` is given."""
    runs: Sequence[SortedRun]
    """Lowest level first."""
    mark: Callable[[str, npt.NDArray[np.int64]], None] | None = None
    """Told the positions of the rows that were found, file by file: they are replaced."""
    kept: Callable[[pa.Table], pa.Table] | None = None
    """Those of the rows found that are not expired: nobody finds the others."""
    cache: LookupCache = CACHE
    _key: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._key = self.reader.access.schema.trimmed_primary_keys

    def find(self, keys: pa.Table) -> pa.Table:
        """The newest row of each of ``keys`` that has one, in key order.

        Shape: ``keys[n]``, each once and in order, to KV rows ``[r]`` with ``r <= n``.
        """
        parts: list[pa.Table] = []
        left = keys
        for run in self.runs:
            here = [rows for file in run.files for rows in self._in_file(file, left)]
            if not here:
                continue
            parts += here
            left = rows_of_keys(left, pa.concat_tables(here), self._key, without=True)
            if not left.num_rows:
                break
        if not parts:
            return self.reader.schema().empty_table()
        rows = pa.concat_tables(parts).combine_chunks()
        return rows.take(pa.array(key_order(rows, self._key)))

    def _in_file(self, file: DataFile, keys: pa.Table) -> list[pa.Table]:
        if not keys.num_rows:
            return []
        low, high = self.reader.access.bounds(file)
        if self._key_at(keys, keys.num_rows - 1) < low or self._key_at(keys, 0) > high:
            return []
        batches = [rows for rows in self._rows(file, keys) if rows.num_rows]
        if self.kept is not None:
            batches = [self.kept(rows) for rows in batches]
        if self.mark is not None and batches:
            columns = [single_chunk(rows[POSITION_COLUMN]).to_numpy() for rows in batches]
            self.mark(file.file_name, np.concatenate(columns))
        return [
            rows.drop_columns([POSITION_COLUMN]) if POSITION_COLUMN in rows.column_names else rows
            for rows in batches
            if rows.num_rows
        ]

    def _rows(self, file: DataFile, keys: pa.Table) -> Iterator[pa.Table]:
        """The rows of ``keys`` in ``file``, from the cache or by reading it."""
        reader = self.reader
        cached = self.cache.find(reader, file)
        if cached is not None:
            deleted = reader.deletions(file.file_name) if reader.deletions else None
            for rows, part in cached.candidates(keys):
                here = self._among(rows, part)
                if deleted is not None and here.num_rows:
                    at = single_chunk(here[POSITION_COLUMN]).to_numpy()
                    here = here.filter(pa.array(~np.isin(at, deleted)))
                yield here
            return
        if self.mark is None:
            reader = reader.pruned(lambda schema_id: self._row_groups(schema_id, keys))
        for batch in reader.read(file):
            yield self._among(pa.Table.from_batches([batch]), keys)

    def _among(self, rows: pa.Table, keys: pa.Table) -> pa.Table:
        """Those ``rows`` whose key is one of ``keys``."""
        if keys.num_rows <= _HASHED_MAX:
            for name in self._key:
                if not pa.types.is_floating(keys[name].type):  # zeros and NaN hash as they like
                    wanted = single_chunk(keys[name])
                    rows = rows.filter(pc.is_in(rows[name], value_set=wanted))
            if len(self._key) == 1 and not pa.types.is_floating(keys[self._key[0]].type):
                return rows
        return rows_of_keys(rows, keys, self._key) if rows.num_rows else rows

    def _key_at(self, keys: pa.Table, row: int) -> Key:
        fields = self.reader.access.schema.trimmed_key_fields
        values = [values_of(keys[f.name].slice(row, 1), f.type)[0] for f in fields]
        return sort_key([f.type for f in fields], values)

    def _row_groups(self, schema_id: int, keys: pa.Table) -> Callable[[Mapping[str, Any]], bool]:
        """A test of row groups by their range of the first key column."""
        access = self.reader.access
        written, schema = access.metadata.schema(schema_id), access.schema
        first = schema.trimmed_key_fields[0]
        wanted = single_chunk(keys[first.name])
        if wanted.null_count:  # ranges leave NULL out
            return lambda ranges: True  # noqa: ARG005 - the form of a test
        numbers = None
        if pa.types.is_integer(wanted.type):
            numbers = np.sort(wanted.to_numpy())
        low = sort_key([first.type], values_of(keys[first.name].slice(0, 1), first.type))
        last = keys[first.name].slice(keys.num_rows - 1)
        high = sort_key([first.type], values_of(last, first.type))

        def keep(ranges: Mapping[str, Any]) -> bool:
            known = evolve_ranges(written, schema, ranges).get(first.name)
            if known is None or known.min is None or known.max is None:
                return True
            if numbers is not None:
                start = np.searchsorted(numbers, known.min, "left")
                return bool(start < np.searchsorted(numbers, known.max, "right"))
            smallest = sort_key([first.type], [known.min])
            return smallest <= high and low <= sort_key([first.type], [known.max])

        return keep
