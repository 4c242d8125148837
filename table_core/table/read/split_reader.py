"""Reads one split as Arrow batches: raw where nothing needs merging, by merge where keys overlap.

A section of one run is read file by file; a section of several is merged by key window, so memory
is runs times batch.  Rows whose merged kind is a retract are gone (format 7.6).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from table_core.datatypes.arrow import arrow_schema
from table_core.datatypes.row_kind import (
    KIND_COLUMN,
    KIND_TEXTS,
    LEVEL_COLUMN,
    ROW_KIND_COLUMN,
    SEQUENCE_COLUMN,
)
from table_core.errors import UnsupportedFeatureError
from table_core.lsm.overlap import sections
from table_core.lsm.triggers import needs_lookup
from table_core.merge.engines.engine import engine_for
from table_core.merge.sort import is_retract
from table_core.ondisk import layout
from table_core.ondisk.deletion_vector import DeletionRange, decode_index_file
from table_core.options import keys_identity, keys_merge, keys_scan
from table_core.predicate.bound import AllOf, conjuncts, on_columns
from table_core.predicate.by_stats import equal_values, may_match
from table_core.predicate.to_arrow import mask, rows_that_meet
from table_core.schema.members import held, picked
from table_core.schema.projection import evolve_ranges
from table_core.schema.table_schema import SEQUENCE_FIELD
from table_core.storage.columns.data_format import WHOLE, Part
from table_core.storage.stores.paths import is_local
from table_core.table.files.file_reader import FileReader
from table_core.table.files.merging import MergeLimits, rows_for_merge
from table_core.table.files.row_form import RowForm

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from table_core.datatypes.kinds import Field
    from table_core.lsm.sorted_run import SortedRun
    from table_core.ondisk.data_file import DataFile
    from table_core.options.table import TableOptions
    from table_core.predicate.bound import Bound
    from table_core.scan.split import Split
    from table_core.table.metadata.access import TableAccess

__all__ = ["CORES", "PartReader", "SplitReader"]

_ADDS: Final = pa.array([0, 2], pa.int8())
_KINDS: Final = pa.array(KIND_TEXTS)
_PART_ROWS: Final = 1 << 19
_PART_BYTES: Final = 1 << 25
"""The most rows and bytes of a part of a file that is read by itself."""
_SPLITS_AT_ONCE: Final = 4
"""How many splits a whole scan merges at once. Each has its share of the memory."""
CORES: Final = min(_SPLITS_AT_ONCE, os.cpu_count() or 1)
"""So many threads compute at the same time; of files on this machine, that is all they do."""
_TAKES_ROWS_WHOLE: Final = frozenset({"deduplicate", "first-row"})
"""Merge engines that take one version of a row or another, and look at none of its values."""
_PARTS_AT_ONCE: Final = 8
"""Of files elsewhere, which are waited for: so many, where nothing is merged."""


PartReader: TypeAlias = "Callable[[bool], Iterator[pa.Table]]"
"""Reads a part of a split; told whether enough others read at the same time to keep all cores busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitReader:
    """Reads splits for one scan: these columns, this condition."""

    access: TableAccess
    fields: tuple[Field, ...]
    """Columns of the result, in order."""
    where: Bound | None = None
    form: RowForm = RowForm.STATE
    ignores_damage: bool = False
    """Whether options may have files left out that fail: not where rows are written again."""
    with_number: bool = False
    """Whether rows of ``AUDIT`` and ``CHANGES`` show their sequence number after the kind."""
    parallel: bool = False
    """Whether enough others read at the same time to keep all cores busy."""
    _needed: tuple[Field, ...] = field(init=False)

    def __post_init__(self) -> None:
        whole = () if self.where is None else self.where.columns
        needed = held(self.access.schema.fields, self.fields, whole)
        object.__setattr__(self, "_needed", needed)

    @property
    def condition_fields(self) -> tuple[Field, ...]:
        """The columns that a condition may name: all of the table."""
        return self.access.schema.fields

    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        fields = arrow_schema((*((SEQUENCE_FIELD,) if self.with_number else ()), *self.fields))
        if not self.form.with_kind:
            return fields
        kind = pa.field(ROW_KIND_COLUMN, pa.string(), nullable=False)
        return pa.schema([kind, *fields])

    def read(self, split: Split) -> Iterator[pa.Table]:
        """The rows of ``split``."""
        return self._shown(self._rows(split), split)

    def file_reader(self, split: Split) -> FileReader:
        """What reads the files of ``split``, each as it lies."""
        return self._reader(split, self.fields)

    def parts(self, split: Split) -> list[PartReader]:
        """Parts of what ``read`` gives, in order, to be read beside one another, and as a whole."""
        if split.deletions or not self.is_plain(split):
            return [lambda parallel: replace(self, parallel=parallel).read(split)]
        return [
            partial(self._part, split, file, part)
            for file in split.files
            for part in self._parts_of(file)
        ]

    def at_once(self, splits: Sequence[Split]) -> int:
        """How many parts of ``splits`` to read beside one another."""
        if is_local(self.access.storage.uri):
            return CORES
        plain = all(self.is_plain(split) and split.branch is None for split in splits)
        return _PARTS_AT_ONCE if plain else _SPLITS_AT_ONCE

    def _part(self, split: Split, file: DataFile, part: Part, parallel: bool) -> Iterator[pa.Table]:
        reader = self._reader(split, self._needed, where=self.where, large=True, parallel=parallel)
        return self._shown(_tables(reader.read(file, part)), split)

    def _parts_of(self, file: DataFile) -> Sequence[Part]:
        """Large files are cut, but not where there is a condition: it is looked at once a file."""
        if self.where is not None or self.forgives_any:
            return (WHOLE,)
        count = max(1, -(-file.row_count // _PART_ROWS), -(-file.file_size // _PART_BYTES))
        return [Part(number, count) for number in range(count)]

    def _shown(self, tables: Iterable[pa.Table], split: Split) -> Iterator[pa.Table]:
        """What of the rows of ``split`` fulfils the condition, as the result has it."""
        for table in tables:
            kept = table
            if self.where is not None and table.num_rows:
                kept = rows_that_meet(self.where, table)
            if kept.num_rows:
                yield self._result(kept, split)

    def keyed(self, split: Split) -> Iterator[pa.Table]:
        """Each key of ``split`` once, in key order, retracts too.  Knows no condition.

        Shape: KV rows: number and kind of the newest version, then all columns of ``fields``.
        """
        return self._merged(split, with_system=True)

    # --------------------------------------------------------------------------------- kinds
    def _rows(self, split: Split) -> Iterator[pa.Table]:
        if self.is_plain(split):
            return self._plain(split)
        match self.form:
            case RowForm.CHANGES if split.inserts:
                return self._state(split)
            case RowForm.CHANGES if split.retracts:  # what was there, not what was written
                return map(_adds, self._merged(split, with_system=True))
            case RowForm.CHANGES:
                return self._as_stored(split)
            case RowForm.ADDS:
                return map(_adds, self._as_stored(split))
            case RowForm.AUDIT:
                return self._merged(split, with_system=True)
            case _:
                return self._state(split)

    def is_plain(self, split: Split) -> bool:
        """Whether rows are read as they lie: every key occurs once, and none is -D."""
        if not self.access.schema.is_key_table:
            return True
        is_state = self.form in {RowForm.STATE, RowForm.INSERTS} or (
            self.form is RowForm.CHANGES and split.inserts
        )
        return is_state and split.raw_convertible

    def _plain(self, split: Split) -> Iterator[pa.Table]:
        read, part = self._reader(split, self._needed, where=self.where).read, Part(*split.part)
        return _tables(batch for file in split.files for batch in read(file, part))

    def _state(self, split: Split) -> Iterator[pa.Table]:
        """The rows that are there."""
        return map(_adds, self._merged(split, with_system=False))

    def _as_stored(self, split: Split) -> Iterator[pa.Table]:
        """Changelog or level-0 files, unmerged, kinds and all."""
        reader = self._reader(split, self._needed, system=True)
        return _tables(batch for file in split.files for batch in reader.read(file))

    def _merged(self, split: Split, *, with_system: bool) -> Iterator[pa.Table]:
        """Merged sections, in key order, retracts and all.

        Without ``with_system`` files that hold no retracts may come without kinds.

        Raises:
            UnsupportedFeatureError: the files are not in the order of the key.
        """
        if self.access.options.get(keys_identity.PK_CLUSTERING_OVERRIDE):
            raise UnsupportedFeatureError(
                f"{self.access.name} has pk-clustering-override=true: its files are not sorted by "
                "the key, so they cannot be merged or compared. Compact the table, and read its "
                "state or its changelog",
                feature="pk-clustering-override",
            )
        schema = self.access.schema
        engine = engine_for(schema)
        names = set(engine.required_columns([f.name for f in self._needed]))
        names |= {*schema.trimmed_primary_keys, *(f.name for f in self._needed)}
        fields = tuple(f for f in schema.fields if f.name in names)
        if schema.options.get(keys_merge.MERGE_ENGINE) in _TAKES_ROWS_WHOLE:
            pruned = {f.name: f for f in self._needed}
            fields = tuple(pruned.get(f.name, f) for f in fields)
        engine = engine_for(schema, [f.name for f in fields])
        ordering = {SEQUENCE_COLUMN, *engine.order.key} - {f.name for f in self._needed}
        without = () if with_system or self.with_number else tuple(ordering)
        levels = _settles_by_level(schema.options)
        if levels:
            from table_core.merge.engines.lookup import LowestLevel

            engine = LowestLevel(engine)
        for section in sections(split.files, self.access.bounds):
            if len(section) == 1:
                yield from self._single(split, section[0], fields, with_system=with_system)
                continue
            at_once = self._limits.at_once(section, fields)
            reader = replace(
                self._reader(split, fields, system=True, where=self._of_key(), runs=at_once),
                refuse_wide=self._limits.refuse_wide,
            )
            oldest_first = sorted(section, key=_first_number)
            runs = [_batches(reader, run, levels=levels) for run in oldest_first]
            yield from self._limits.merged(runs, engine, at_once=at_once, without=without)

    def _single(
        self, split: Split, run: SortedRun, fields: tuple[Field, ...], *, with_system: bool
    ) -> Iterator[pa.Table]:
        """A section of one run: nothing to merge."""
        with_kind = self._reader(split, fields, system=True, where=self.where)
        without = self._reader(split, self._needed, where=self.where)
        for file in run.files:
            plain = file.delete_row_count == 0 and not with_system
            for batch in (without if plain else with_kind).read(file):
                yield pa.Table.from_batches([batch])

    # --------------------------------------------------------------------------------- parts
    def _reader(
        self,
        split: Split,
        fields: tuple[Field, ...],
        *,
        system: bool = False,
        where: Bound | None = None,
        runs: int = 1,
        large: bool = False,
        parallel: bool = False,
    ) -> FileReader:
        """``where``: what a row group must possibly fulfil to be read; ``runs``: read together."""
        points = None if where is None else self._points(where)
        return FileReader(
            access=self.access,
            partition=split.partition,
            bucket=split.bucket,
            fields=fields,
            system=system,
            ignores_damage=self.ignores_damage,
            deletions=self._deletions(split) if split.deletions else None,
            prunes=None if where is None else partial(self._row_groups, where),
            batch_bytes=self._limits.batch_bytes(runs),
            large=large,
            parallel=parallel or self.parallel,
            probed=() if points is None else self._stored_fields(points),
            matches=None if points is None else partial(mask, points),
        )

    @property
    def forgives_any(self) -> bool:
        """Whether a file may lack rows: then it has none from there to its end."""
        forgiving = (keys_scan.SCAN_IGNORE_CORRUPT_FILES, keys_scan.SCAN_IGNORE_LOST_FILES)
        return self.ignores_damage and any(self.access.options.get(option) for option in forgiving)

    @property
    def _limits(self) -> MergeLimits:
        """Of one split: half of the bytes for batches in hand, the rest for what is made of them."""
        return MergeLimits.of_read(self.access.options, shares=_SPLITS_AT_ONCE)

    def _points(self, where: Bound) -> Bound | None:
        """The parts of ``where`` that ask for a few values of a column, which most rows lack."""
        schema = self.access.schema
        parts = tuple(
            part
            for part in conjuncts(where)
            if len(part.columns) == 1
            and part.columns.isdisjoint(schema.partition_keys)
            and equal_values(part, tuple(part.columns)) is not None
        )
        return AllOf(parts) if parts else None

    def _stored_fields(self, where: Bound) -> tuple[Field, ...]:
        return tuple(f for f in self.access.schema.fields if f.name in where.columns)

    def _of_key(self) -> Bound | None:
        """The part of the condition that tests keys alone: it holds for all versions or for none."""
        if self.where is None:
            return None
        keys = frozenset(self.access.schema.trimmed_primary_keys)
        return on_columns(self.where, keys)

    def _row_groups(
        self, where: Bound, schema_id: int
    ) -> Callable[[Mapping[str, Any]], bool] | None:
        """A test of row groups of files written under ``schema_id``."""
        schema = self.access.schema
        written = self.access.metadata.schema(schema_id)

        def keep(ranges: Mapping[str, Any]) -> bool:
            return may_match(where, evolve_ranges(written, schema, ranges))

        return keep

    def _deletions(self, split: Split) -> Callable[[str], np.ndarray[Any, Any] | None]:
        bodies: dict[str, bytes] = {}

        def find(file_name: str) -> np.ndarray[Any, Any] | None:
            reference = split.deletions.get(file_name)
            if reference is None:
                return None
            name, offset, length, count = reference
            path = layout.index_file_path(self.access.schema, split.partition, split.bucket, name)
            if path not in bodies:
                bodies.clear()
                bodies[path] = self.access.metadata.named_file(path)
            range_ = DeletionRange(file_name, offset, length, count)
            return decode_index_file(bodies[path], [range_], path=path)[file_name]

        return find

    def _result(self, rows: pa.Table, split: Split) -> pa.Table:
        if rows.schema.equals(self.schema()):
            return rows
        columns = [picked(rows, field) for field in self.fields]
        if self.with_number:
            columns.insert(0, rows[SEQUENCE_COLUMN])
        if self.form.with_kind:
            inserts = split.inserts or self.form is RowForm.INSERTS
            if split.retracts:
                kinds = pa.repeat(pa.scalar("-D"), rows.num_rows)
            elif KIND_COLUMN in rows.column_names and not inserts:
                kinds = _KINDS.take(rows[KIND_COLUMN].combine_chunks())
            else:
                kinds = pa.repeat(pa.scalar("+I"), rows.num_rows)
            columns.insert(0, kinds)
        if not columns:
            return rows.select([])  # which knows how many rows there are; Arrow's makers do not
        return pa.Table.from_arrays(columns, schema=self.schema())


def _settles_by_level(options: TableOptions) -> bool:
    """Whether a version above level 0 stands for all older ones, and that makes a difference."""
    match options.get(keys_merge.MERGE_ENGINE):
        case "first-row":
            return False
        case "deduplicate" if not options.get(keys_merge.SEQUENCE_FIELD):
            return False
        case _:
            return needs_lookup(options)


def _first_number(run: SortedRun) -> int:
    return min(file.min_sequence_number for file in run.files)


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    return (pa.Table.from_batches([batch]) for batch in batches)


def _batches(reader: FileReader, run: SortedRun, *, levels: bool) -> Generator[pa.RecordBatch]:
    for file in run.files:
        level = pa.scalar(file.level, pa.int32())
        for batch in rows_for_merge(reader.read(file), file, reader.batch_bytes):
            if levels:
                yield batch.append_column(LEVEL_COLUMN, pa.repeat(level, batch.num_rows))
            else:
                yield batch


def _adds(rows: pa.Table) -> pa.Table:
    if KIND_COLUMN not in rows.column_names or not bool(is_retract(rows).any()):
        return rows
    return rows.filter(pc.is_in(rows[KIND_COLUMN], value_set=_ADDS))
