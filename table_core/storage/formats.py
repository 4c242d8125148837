"""Formats by name."""

from __future__ import annotations

from table_core.errors import UnsupportedFeatureError
from table_core.schema.validate import WRITTEN_FORMATS
from table_core.storage.columns.data_format import (
    DataFormat,
    FileWriter,
    RangeStats,
    WriterSettings,
    format_name,
)
from table_core.storage.parquet.format import ParquetFormat

__all__ = [
    "DataFormat",
    "FileWriter",
    "RangeStats",
    "WriterSettings",
    "format_for",
    "format_name",
]


def format_for(name: str) -> DataFormat:
    """The format called ``name``: ``parquet``, ``orc``, ``avro``.

    Raises:
        UnsupportedFeatureError: a format of Paimon that this release does not read.
    """
    match name.lower():
        case "parquet":
            return ParquetFormat()
        case "orc":
            from table_core.storage.orc.format import OrcFormat  # much code, for few tables

            return OrcFormat()
        case "avro":
            from table_core.storage.avro.rows import AvroFormat

            return AvroFormat()
    raise UnsupportedFeatureError(
        f"files of format {name!r} are not supported; there are {list(WRITTEN_FORMATS)}",
        feature=f"file format {name}",
    )
