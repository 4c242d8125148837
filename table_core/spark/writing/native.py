"""Append tables that Spark's own Parquet writer writes, as far as ``native_fit`` lets it: no row leaves the JVM.

Spark writes into a folder of its own inside the table.  What its committer put there, and nothing of
attempts that failed or were not needed, is renamed into the buckets, described by its footers, and
committed like any other file.  A job that is killed leaves that folder and renamed files that nothing
names: ``remove_orphan_files`` knows both.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from table_core.commit.basis import Basis, Opened
from table_core.errors import TableError
from table_core.ondisk import layout
from table_core.ondisk.data_file import FileSource
from table_core.options import parse
from table_core.spark.session.create import parallelism
from table_core.spark.session.tasks import RESULT_TYPE, distribute, packed, unpacked
from table_core.spark.writing.native_columns import native_columns, row_bytes, staged_partitions
from table_core.spark.writing.native_fit import CODECS
from table_core.spark.writing.shuffle import by_bucket
from table_core.storage.columns.data_format import WriterSettings, own_option
from table_core.table.commit_io.prepared import BucketChange, WriteResult
from table_core.table.commit_io.uncommitted import undone_by
from table_core.table.files.adopted_files import adopted, described
from table_core.table.files.data_files import FileFactory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from table_core.ports import FileInfo
    from table_core.table.files.adopted_files import Adopted, Described
    from table_core.table.metadata.access import TableAccess

__all__ = ["native_write"]

_log = logging.getLogger(__name__)
_AT_ONCE: Final = 8
_FOOTERS_HERE: Final = 32
"""So many footers the driver reads sooner than a job starts."""
_SETTINGS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.sources.outputCommitterClass": "",
    "spark.sql.caseSensitive": "true",
}
"""How types are stored, and that files of attempts that do not count never come into the folder."""
_COMMITTER: Final = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.output.basename": "part",
}
_ATTEMPTS: Final = "_temporary"
_PAGES: Final = {
    "parquet.writer.version": "PARQUET_1_0",
    "parquet.page.size.row.check.min": "1",
}
"""Encodings that Paimon's vectorised reader knows, whatever the cluster's own configuration says.

And a look at the size of pages and row groups before 100 rows are in them: of rows of 10 MB that would be a gigabyte
for whoever writes, and again for whoever reads.
"""
_STATISTICS: Final = "parquet.column.statistics.enabled"
_BOUNDS: Final = {_STATISTICS: "true", "parquet.statistics.truncate.length": str(2**31 - 1)}
"""What we know of the rows is what the footers say: all of it, whatever the session is set to."""
_OF_PARQUET: Final = (
    "parquet.page.size",
    "parquet.dictionary.page.size",
    "parquet.block.size",
    "parquet.enable.dictionary",
)
_BYTES_OF_PARQUET: Final = frozenset(_OF_PARQUET[:3])


def native_write(df: DataFrame, access: TableAccess) -> list[WriteResult]:
    """Write ``df``, whose columns are in the table's spelling; what the commit needs.

    Raises:
        DataError: a value does not fit; nothing is left.
    """
    schema, storage = access.schema, access.storage
    session = df.sparkSession
    access.require_there()
    factory = FileFactory(storage, schema, access.clock, access.ids)
    staging = layout.staging_folder(access.ids.uuid())
    rows = native_columns(by_bucket(df, schema, parallelism(session)), schema)
    rows, partitions = staged_partitions(rows, schema)
    with undone_by(factory.discard):
        try:
            _saved(rows, f"{storage.uri}/{staging}", partitions, _options(factory))
            files = [info for info in storage.walk(staging) if _is_file_of_rows(info)]
            pairs = zip(files, _described(session, access, files), strict=True)
            taken = [adopted(factory, info.path, stored) for info, stored in pairs if stored]
            _move(factory, taken)
        finally:
            _remove(access, staging)
        factory.sync()
    return [WriteResult(changes=_changes(access, taken), basis=_basis(access))]


def _saved(
    rows: DataFrame, folder: str, partitions: Sequence[str], options: Mapping[str, str]
) -> None:
    """Let Spark write ``rows``, under settings that hold for this write alone."""
    session: Any = rows.sparkSession
    own = session._jsparkSession.cloneSession()  # noqa: SLF001 - PySpark has no such call
    for key, value in _SETTINGS.items():
        if value:
            own.conf().set(key, value)
        else:
            own.conf().unset(key)
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001
    frame = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(own, plan)  # noqa: SLF001
    writer = ClassicFrame(frame, session).write.format("parquet").mode("append")
    writer.partitionBy(*partitions).options(**options).save(folder)


def _options(factory: FileFactory) -> dict[str, str]:
    """How the files are written, by the options of the table."""
    settings = factory.settings(level=0, changelog=False)
    rows = min(
        factory.target_rows(FileSource.APPEND),
        max(1, factory.target_size() // row_bytes(factory.schema)),
    )
    options = {**_COMMITTER, **_PAGES, **_BOUNDS, "compression": CODECS[settings.compression]}
    options |= {f"{_STATISTICS}#{field.name}": "true" for field in factory.schema.fields}
    options["maxRecordsPerFile"] = str(rows)
    if settings.block_size is not None:
        options["parquet.block.size"] = str(settings.block_size)
    for key in settings.options:
        if key.partition("#")[0] in _OF_PARQUET and key not in options:
            options[key] = _of_parquet(settings, key)
    level = own_option(
        settings, "parquet.compression.codec.zstd.level", parse.integer, settings.zstd_level
    )
    options["parquet.compression.codec.zstd.level"] = str(level)
    return options


def _of_parquet(settings: WriterSettings, key: str) -> str:
    read = parse.size_bytes if key in _BYTES_OF_PARQUET else parse.boolean
    return str(own_option(settings, key, read, None)).lower()


def _is_file_of_rows(info: FileInfo) -> bool:
    """Whether the committer put it there, whatever it is called: attempts have a folder of their own."""
    return info.path.endswith(".parquet") and _ATTEMPTS not in info.path.split("/")


def _described(
    session: SparkSession, access: TableAccess, files: Sequence[FileInfo]
) -> list[Described | None]:
    """What the manifest says of each file: read here, or by tasks where they are many."""
    read = partial(_descriptions, access)
    if len(files) <= _FOOTERS_HERE:
        return read(files)
    groups = [files[at : at + _FOOTERS_HERE] for at in range(0, len(files), _FOOTERS_HERE)]

    def work(group: Sequence[FileInfo]) -> Iterator[pa.RecordBatch]:
        yield packed(read(group))

    results = unpacked(distribute(session, groups, work, RESULT_TYPE))
    return [one for group in results for one in group]


def _descriptions(access: TableAccess, files: Sequence[FileInfo]) -> list[Described | None]:
    schema, storage = access.schema, access.storage
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda info: described(schema, storage, info.path, info.size), files))


def _move(factory: FileFactory, taken: Sequence[Adopted]) -> None:
    """Rename the files into their buckets."""

    def move(adopted_file: Adopted) -> None:
        folder = layout.bucket_path(factory.schema, adopted_file.partition, 0)
        target = f"{folder}/{adopted_file.file.file_name}"
        factory.begin(target)
        factory.storage.move(adopted_file.path, target)
        factory.finished(target, sync=False)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(move, taken):
            pass


def _changes(access: TableAccess, taken: Sequence[Adopted]) -> tuple[BucketChange, ...]:
    by_partition: dict[bytes, list[Adopted]] = {}
    for adopted_file in taken:
        by_partition.setdefault(adopted_file.partition, []).append(adopted_file)
    return tuple(
        BucketChange(
            partition=partition,
            bucket=0,
            total_buckets=access.schema.bucket,
            added=tuple(one.file for one in files),
        )
        for partition, files in by_partition.items()
    )


def _basis(access: TableAccess) -> Basis:
    return Basis(opened=frozenset({Opened.of(access.schema)}))


def _remove(access: TableAccess, staging: str) -> None:
    """Take the folder away; what is left of it if that fails, ``remove_orphan_files`` finds."""
    try:
        access.storage.delete_tree(staging)
    except TableError as error:
        _log.warning("%s: the folder of a write is left over: %s", access.name, error)
