"""Formats by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from table_core.errors import UnsupportedFeatureError
from table_core.storage.avro_rows import AvroFormat
from table_core.storage.data_format import (
    DataFormat,
    FileWriter,
    RangeStats,
    WriterSettings,
    format_name,
)
from table_core.storage.orc import OrcFormat
from table_core.storage.parquet import ParquetFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DataFormat",
    "FileWriter",
    "RangeStats",
    "WriterSettings",
    "format_for",
    "format_name",
]

_FORMATS: Final[Mapping[str, DataFormat]] = {
    f.name: f for f in (ParquetFormat(), OrcFormat(), AvroFormat())
}


def format_for(name: str) -> DataFormat:
    """The format called ``name``: ``parquet``, ``orc``, ``avro``.

    Raises:
        UnsupportedFeatureError: a format of Paimon that this release does not read.
    """
    found = _FORMATS.get(name.lower())
    if found is None:
        raise UnsupportedFeatureError(
            f"files of format {name!r} are not supported; there are {sorted(_FORMATS)}",
            feature=f"file format {name}",
        )
    return found
