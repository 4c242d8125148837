"""Reads one split as Arrow batches: raw where nothing needs merging, by merge where keys overlap.

A section of one run is read file by file; a section of several is merged by key window, so memory
is runs times batch.  Rows whose merged kind is a retract are gone (spec 7.6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import KIND_COLUMN, KIND_TEXTS, ROW_KIND_COLUMN
from table_core.lsm.overlap import sections
from table_core.merge.engine import engine_for
from table_core.merge.kway import merge_runs
from table_core.ondisk import layout
from table_core.ondisk.deletion_vector import DeletionRange, decode_index_file
from table_core.predicate.by_stats import may_match
from table_core.predicate.to_arrow import mask
from table_core.schema.projection import evolve_ranges
from table_core.table.file_reader import FileReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np

    from table_core.datatypes.kinds import Field
    from table_core.lsm.sorted_run import SortedRun
    from table_core.predicate.bound import Bound
    from table_core.scan.split import Split
    from table_core.table.access import TableAccess

__all__ = ["SplitReader"]

_ADDS: Final = pa.array([0, 2], pa.int8())
_KINDS: Final = pa.array(KIND_TEXTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReader:
    """Reads splits for one scan: these columns, this condition."""

    access: TableAccess
    fields: tuple[Field, ...]
    """Columns of the result, in order."""
    where: Bound | None = None
    with_kind: bool = False
    """Whether results begin with ``_ROW_KIND``, and retracts stay: what a stream of changes is."""
    _needed: tuple[Field, ...] = field(init=False)

    def __post_init__(self) -> None:
        asked = {f.name for f in self.fields}
        if self.where is not None:
            asked |= self.where.columns
        needed = tuple(f for f in self.access.schema.fields if f.name in asked)
        object.__setattr__(self, "_needed", needed)

    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        fields = arrow_schema(self.fields)
        if not self.with_kind:
            return fields
        kind = pa.field(ROW_KIND_COLUMN, pa.string(), nullable=False)
        return pa.schema([kind, *fields])

    def read(self, split: Split) -> Iterator[pa.Table]:
        """The rows of ``split``."""
        if not self.access.schema.is_key_table:
            rows = self._plain(split)
        elif self.with_kind:
            rows = self._as_stored(split)
        elif split.raw_convertible:
            rows = self._raw(split)
        else:
            rows = self._merged(split)
        for table in rows:
            kept = table
            if self.where is not None and table.num_rows:
                kept = table.filter(mask(self.where, table))
            if kept.num_rows:
                yield self._result(kept)

    # --------------------------------------------------------------------------------- kinds
    def _plain(self, split: Split) -> Iterator[pa.Table]:
        """Rows of an append table: all of them are ``+I``."""
        reader = self._reader(split, self._needed, prunes=True)
        for file in split.files:
            for batch in reader.read(file):
                yield pa.Table.from_batches([batch])

    def _raw(self, split: Split) -> Iterator[pa.Table]:
        """Files in which every key occurs once and no row is a retract."""
        yield from self._plain(split)

    def _as_stored(self, split: Split) -> Iterator[pa.Table]:
        """Changelog or level-0 files, unmerged, kinds and all."""
        reader = self._reader(split, self._needed, system=True)
        for file in split.files:
            for batch in reader.read(file):
                yield pa.Table.from_batches([batch])

    def _merged(self, split: Split) -> Iterator[pa.Table]:
        """Merge sections; what is left of each key is an add or nothing."""
        schema = self.access.schema
        engine = engine_for(schema)
        names = set(engine.required_columns([f.name for f in self._needed]))
        names |= {*schema.trimmed_primary_keys, *(f.name for f in self._needed)}
        fields = tuple(f for f in schema.fields if f.name in names)
        engine = engine_for(schema, [f.name for f in fields])
        for section in sections(split.files, self.access.bounds):
            if len(section) == 1:
                yield from self._single(split, section[0], fields)
                continue
            reader = self._reader(split, fields, system=True)
            runs = [_batches(reader, run) for run in section]
            for merged in merge_runs(runs, engine):
                yield _adds(merged)

    def _single(
        self, split: Split, run: SortedRun, fields: tuple[Field, ...]
    ) -> Iterator[pa.Table]:
        """A section of one run: nothing to merge; a file without retracts needs no kind either."""
        with_kind = self._reader(split, fields, system=True, prunes=True)
        without = self._reader(split, self._needed, prunes=True)
        for file in run.files:
            clean = file.delete_row_count == 0
            for batch in (without if clean else with_kind).read(file):
                table = pa.Table.from_batches([batch])
                yield table if clean else _adds(table)

    # --------------------------------------------------------------------------------- parts
    def _reader(
        self, split: Split, fields: tuple[Field, ...], *, system: bool = False, prunes: bool = False
    ) -> FileReader:
        return FileReader(
            access=self.access,
            partition=split.partition,
            bucket=split.bucket,
            fields=fields,
            system=system,
            deletions=self._deletions(split) if split.deletions else None,
            prunes=self._row_groups if prunes and self.where is not None else None,
        )

    def _row_groups(self, schema_id: int) -> Callable[[Mapping[str, Any]], bool] | None:
        """A test of row groups of files written under ``schema_id``."""
        where, schema = self.where, self.access.schema
        assert where is not None
        written = self.access.metadata.schema(schema_id)

        def keep(ranges: Mapping[str, Any]) -> bool:
            return may_match(where, evolve_ranges(written, schema, ranges))

        return keep

    def _deletions(self, split: Split) -> Callable[[str], np.ndarray[Any, Any] | None]:
        def find(file_name: str) -> np.ndarray[Any, Any] | None:
            reference = split.deletions.get(file_name)
            if reference is None:
                return None
            name, offset, length = reference
            body = self.access.storage.read(layout.index_path(name))
            return decode_index_file(body, [DeletionRange(file_name, offset, length)], path=name)[
                file_name
            ]

        return find

    def _result(self, rows: pa.Table) -> pa.Table:
        columns = [rows[f.name] for f in self.fields]
        if self.with_kind:
            if KIND_COLUMN in rows.column_names:
                columns.insert(0, _KINDS.take(rows[KIND_COLUMN].combine_chunks()))
            else:
                columns.insert(0, pa.repeat(pa.scalar("+I"), rows.num_rows))
        return pa.Table.from_arrays(columns, schema=self.schema())


def _batches(reader: FileReader, run: SortedRun) -> Iterator[pa.RecordBatch]:
    for file in run.files:
        yield from reader.read(file)


def _adds(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.is_in(rows[KIND_COLUMN], value_set=_ADDS))
