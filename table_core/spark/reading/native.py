"""What Spark's own vectorised scan may read: files in which every row stands as it lies.

That is files of append tables, and files of key tables whose keys no other file has and that hold no
retracts; without deletion vectors, with columns of the type that is asked for.  They are
read by the names that they were written under, one scan for each schema; old names become new ones,
columns that came later are NULL.  All others stay with the merging reader.

Of a bucket with files a (keys 1-5), b (3-8), c (9-12) and d (13-14, with a delete) Spark scans c.  Keys 3 to 5
may be in a and in b, and only a merge knows which version counts; Spark would show the deleted row of d.

Partition columns come from the names of folders, where those tell the value (format T38).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import functions as f
from pyspark.sql import types as spark

from table_core.datatypes.castable import EXACT_INTEGERS, TIMESTAMPS
from table_core.datatypes.kinds import Atomic, Root, Row
from table_core.datatypes.row_kind import ROW_KIND_COLUMN
from table_core.lsm.overlap import sections
from table_core.ondisk import layout
from table_core.ondisk.partition_text import partition_text
from table_core.options import keys_files, keys_scan
from table_core.scan.prune import value_ranges
from table_core.schema.projection import project
from table_core.spark.reading.guards import guarded, has_times, near_missing_days
from table_core.spark.session.conditions import named, spark_condition
from table_core.spark.session.schema_bridge import holds, spark_type
from table_core.table.files.row_form import RowForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from table_core.datatypes.kinds import DataType, Field
    from table_core.ondisk.data_file import DataFile
    from table_core.scan.split import Split
    from table_core.schema.projection import Projection
    from table_core.table.read.split_reader import SplitReader

__all__ = ["NativeScan", "native_scan"]

_FileKind: TypeAlias = "tuple[str, int, bool]"
"""Format and schema of files that one scan reads, and whether they may hold times near the days that 1582 lacks."""
_FORMATS: Final = frozenset({"parquet", "orc"})
_NOT_IN_ORC: Final = frozenset({*TIMESTAMPS, Root.DATE, Root.CHAR})
"""Spark's ORC reader shifts times by its zone, takes dates before 1582-10-15 for Julian ones, and cuts blanks off."""
_LONG: Final = frozenset(
    {Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY, Root.BLOB, Root.VARIANT}
)
_WIDE_BYTES: Final = 1 << 20
"""Stored bytes of a mean row from which on Spark's scan is left out: it holds 4,096 rows at once, or all of a row group."""
_SCHEMES: Final = ("file:", "hdfs:")
"""Stores that Spark reaches as we do; others it would need credentials for."""
_GLOB: Final = frozenset("{}[]*?\\%")
_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_TOLD_BY_FOLDER: Final = frozenset({*EXACT_INTEGERS, Root.VARCHAR, Root.DATE, Root.BOOLEAN})
_PARQUET: Final = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "mergeSchema": "false",
}


def native_scan(reader: SplitReader, splits: Iterable[Split]) -> tuple[NativeScan, list[Split]]:
    """What Spark reads of ``splits``, and what is left to ``reader``."""
    scan = NativeScan(reader)
    if not scan.is_possible:
        return scan, list(splits)
    return scan, [rest for split in splits for rest in scan.take(split)]


@dataclass(slots=True)
class NativeScan:
    """The files of one read that Spark scans itself."""

    reader: SplitReader
    _paths: dict[_FileKind, list[str]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )
    _projections: dict[_FileKind, Projection | None] = field(init=False, default_factory=dict)
    """How files of a schema give the columns; None if their types differ."""
    _partitions: dict[bytes, bool] = field(init=False, default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing for Spark to scan."""
        return not self._paths

    @property
    def is_possible(self) -> bool:
        """Whether any file of this table may be scanned by Spark."""
        access, options = self.reader.access, self.reader.access.options
        uri = access.storage.uri
        ours = (
            keys_scan.SCAN_IGNORE_LOST_FILES,
            keys_scan.SCAN_IGNORE_CORRUPT_FILES,
            keys_scan.SCAN_PLAN_SORT_PARTITION,  # Spark reads the largest file first
        )
        return (
            self.reader.form in {RowForm.STATE, RowForm.INSERTS}
            and uri.startswith(_SCHEMES)
            and _GLOB.isdisjoint(uri)
            and all(
                field.name in access.schema.by_name for field in self.reader.fields
            )  # no members
            and not options.is_set(keys_scan.SOURCE_SPLIT_TARGET_SIZE)
            and not any(options.get(option) for option in ours)
            and self._filter(_columns(self._read_fields)) is not None
        )

    def take(self, split: Split) -> Iterator[Split]:
        """Take the files of ``split`` that Spark can read; what is left."""
        if split.branch is not None or split.retracts or split.before is not None:
            yield split
            return
        for files, single in self._parts(split):
            left = [file for file in files if not (single and self._takes(split, file))]
            if left:
                yield replace(split, files=tuple(left))

    def frame(self, session: SparkSession) -> DataFrame:
        """The rows of all files that were taken."""
        condition = self._filter(_columns(self._read_fields))
        assert condition is not None, "nothing is taken where is_possible says no"
        frames = [
            self._scanned(session, kind, paths).where(condition).select(*self._shown(kind))
            for kind, paths in self._paths.items()
        ]
        return reduce(lambda rows, other: rows.unionAll(other), frames)

    def _shown(self, kind: _FileKind) -> list[Column]:
        """The columns as the query gets them: a filter of its own finds what ours would."""
        folders, near = self.reader.access.schema.partition_keys, kind[2]
        columns = [
            named(field.name)
            if field.name in folders
            else guarded(named(field.name), field.type, near=near).alias(field.name)
            for field in self.reader.fields
        ]
        if self.reader.form is RowForm.INSERTS:
            columns.insert(0, f.lit("+I").alias(ROW_KIND_COLUMN))
        return columns

    # ------------------------------------------------------------------------------ deciding
    @property
    def _read_fields(self) -> tuple[Field, ...]:
        where = self.reader.where
        names = {field.name for field in self.reader.fields} | (where.columns if where else set())
        return tuple(field for field in self.reader.access.schema.fields if field.name in names)

    def _filter(self, columns: dict[str, Column]) -> Column | None:
        where = self.reader.where
        return f.lit(True) if where is None else spark_condition(where, columns)

    def _parts(self, split: Split) -> Iterator[tuple[Sequence[DataFile], bool]]:
        """The files of ``split`` that are read together, and whether each key occurs once in them."""
        access = self.reader.access
        if split.raw_convertible or not access.schema.is_key_table:
            yield split.files, True
            return
        together: list[DataFile] = []
        for section in sections(split.files, access.bounds):
            files = [file for run in section for file in run.files]
            if len(section) == 1 and all(file.delete_row_count == 0 for file in files):
                yield files, True
            else:
                together += files
        if together:
            yield together, False

    def _takes(self, split: Split, file: DataFile) -> bool:
        kind = (file.format, file.schema_id, self._may_be_near(file))
        if (
            file.format not in _FORMATS
            or file.external_path is not None
            or file.write_cols is not None
            or _is_hidden(file.file_name)
            or file.file_name in split.deletions
            or (self._has_long and file.file_size > _WIDE_BYTES * file.row_count)
            or not self._folder_tells(split.partition)
            or self._projection(kind) is None
        ):
            return False
        access = self.reader.access
        path = layout.data_file_path(access.schema, split.partition, split.bucket, file)
        self._paths[kind].append(f"{access.storage.uri}/{path}")
        return True

    def _may_be_near(self, file: DataFile) -> bool:
        """Whether ``file`` may hold, in a column that is shown, times near the days that 1582 lacks."""
        dated = [field for field in self.reader.fields if has_times(field.type)]
        if not dated:
            return False
        written = self.reader.access.metadata.schema(file.schema_id)
        if any(field.id not in {f.id for f in written.fields} for field in dated):
            return True
        names = {f.id: f.name for f in written.fields}
        ranges = value_ranges(file, written)
        return any(near_missing_days(field.type, ranges.get(names[field.id])) for field in dated)

    def _projection(self, kind: _FileKind) -> Projection | None:
        if kind not in self._projections:
            written = self.reader.access.metadata.schema(kind[1])
            projection = project(written, self._stored, None)
            names = {field.name.lower() for field in projection.file_fields}
            keys = {name.lower() for name in self.reader.access.schema.partition_keys}
            fits = (
                projection.keeps_values and _told_apart(written.fields) and names.isdisjoint(keys)
            )
            fits = fits and not any(map(_is_finer, self._stored)) and holds(self._stored)
            if kind[0] == "orc":
                fits = fits and not any(_within(field.type, _NOT_IN_ORC) for field in self._stored)
            self._projections[kind] = projection if fits else None
        return self._projections[kind]

    @property
    def _has_long(self) -> bool:
        """Whether a column is read whose values may be large."""
        types = [field.type for field in self._stored]
        return any(not isinstance(type_, Atomic) or type_.root in _LONG for type_ in types)

    @property
    def _stored(self) -> tuple[Field, ...]:
        keys = self.reader.access.schema.partition_keys
        return tuple(field for field in self._read_fields if field.name not in keys)

    def _folder_tells(self, partition: bytes) -> bool:
        """Whether the folder of ``partition`` says the values of its columns."""
        known = self._partitions.get(partition)
        if known is None:
            schema = self.reader.access.schema
            default = schema.options.get(keys_files.PARTITION_DEFAULT_NAME)
            types = [field.type for field in schema.partition_fields]
            texts = partition_text(schema, partition).values() if types else ()
            known = all(isinstance(t, Atomic) and t.root in _TOLD_BY_FOLDER for t in types)
            known = known and not any(text in {default, _HIVE_NULL} for text in texts)
            self._partitions[partition] = known
        return known

    # ------------------------------------------------------------------------------- scanning
    def _scanned(self, session: SparkSession, kind: _FileKind, paths: Sequence[str]) -> DataFrame:
        """The files of one schema, with the columns that are read now."""
        schema = self.reader.access.schema
        written = self.reader.access.metadata.schema(kind[1])
        projection = project(written, self._stored, None)
        stored = [
            spark.StructField(wanted.name, spark_type(wanted.type, wanted.name))
            for wanted in projection.file_fields
        ]
        folders = [spark.StructField(name, spark.StringType()) for name in schema.partition_keys]
        rows = session.read.options(**_PARQUET, basePath=self.reader.access.storage.uri)
        shape = spark.StructType([*stored, *folders])
        scanned = rows.format(kind[0]).schema(shape).load(list(paths))
        names = projection.stored_names
        legacy = schema.options.get(keys_files.PARTITION_LEGACY_NAME)
        columns = []
        for wanted in self._read_fields:
            name = names.get(wanted.name)
            if wanted.name in schema.partition_keys:
                column = _from_folder(named(wanted.name), wanted, legacy=legacy)
            elif name is None:
                column = f.lit(None).cast(spark_type(wanted.type, wanted.name))
            else:
                column = named(name)
            columns.append(column.alias(wanted.name))
        return scanned.select(*columns)


def _is_hidden(name: str) -> bool:
    """Whether Spark leaves files of this name out, although they are asked for by name."""
    return name.startswith(("_", ".")) or name.endswith("._COPYING_")


def _columns(fields: Iterable[Field]) -> dict[str, Column]:
    return {field.name: named(field.name) for field in fields}


def _from_folder(text: Column, of: Field, *, legacy: bool) -> Column:
    type_ = of.type
    if isinstance(type_, Atomic) and type_.root is Root.DATE and legacy:
        return f.date_from_unix_date(text.cast("int"))
    return text.cast(spark_type(type_, of.name))


def _is_finer(of: Field) -> bool:
    """Whether Spark cannot hold all digits of a time."""
    return isinstance(of.type, Atomic) and of.type.root in TIMESTAMPS and of.type.precision > 6


def _told_apart(fields: Sequence[Field]) -> bool:
    """Whether names differ by more than their case, which Spark may not look at."""
    nested = [field.type.fields for field in fields if isinstance(field.type, Row)]
    return len({field.name.lower() for field in fields}) == len(fields) and all(
        map(_told_apart, nested)
    )


def _within(type_: DataType, roots: frozenset[Root]) -> bool:
    """Whether ``type_`` is of ``roots``; of nested types nothing is taken for granted."""
    return not isinstance(type_, Atomic) or type_.root in roots
