"""Which reader of streams fits the installed Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from table_core.errors import UnsupportedFeatureError
from table_core.scan.stream_offset import NO_LIMIT
from table_core.spark._compat import STREAM_ADMISSION
from table_core.spark.streams.source import StreamReader

if TYPE_CHECKING:
    from table_core.spark.streams.source_options import SourceOptions

__all__ = ["stream_reader"]


def stream_reader(options: SourceOptions, columns: tuple[str, ...]) -> StreamReader:
    """The source of a stream, with what this version of Spark can do.

    Raises:
        UnsupportedFeatureError: ``read.stream.*`` before PySpark 4.2.
    """
    if STREAM_ADMISSION:
        from table_core.spark.streams.admission import AdmittingReader

        return AdmittingReader(options, columns)
    if options.limit != NO_LIMIT:
        raise UnsupportedFeatureError(
            "read.stream.*: this PySpark does not let a source limit its micro-batches, 4.2 does; "
            "table_core.spark.drain reads what is there in bounded batches with any version",
            feature="read.stream.* before PySpark 4.2",
        )
    return StreamReader(options, columns)
