"""What a manifest says of one data file, and whether the file is added or deleted.

Source: ``org.apache.paimon.io.DataFileMeta``, ``org.apache.paimon.manifest.ManifestEntry``;
format 4.3 to 4.6.  Keys, partitions and bounds stay bytes here (``BinaryRow`` with its
big-endian arity prefix); ``binary_row`` decodes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EMPTY_ROW",
    "EMPTY_STATS",
    "DataFile",
    "EntryKind",
    "FileSource",
    "ManifestEntry",
    "SimpleStats",
]

EMPTY_ROW: Final = bytes(12)
"""The row of arity 0: the partition of an unpartitioned table, the key of an append file."""


class EntryKind(IntEnum):
    """Whether an entry brings its file into the table or takes it out."""

    ADD = 0
    DELETE = 1


class FileSource(IntEnum):
    """What made a file."""

    APPEND = 0
    COMPACT = 1


@dataclass(frozen=True, slots=True)
class SimpleStats:
    """Smallest and largest values (serialized rows) and null counts, one of each a column."""

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None


EMPTY_STATS: Final = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One data or changelog file.  Immutable; an upgrade is a new value with another ``level``."""

    file_name: str
    file_size: int
    row_count: int
    min_key: bytes = EMPTY_ROW
    max_key: bytes = EMPTY_ROW
    key_stats: SimpleStats = EMPTY_STATS
    value_stats: SimpleStats = EMPTY_STATS
    min_sequence_number: int
    max_sequence_number: int
    schema_id: int
    level: int = 0
    extra_files: tuple[str, ...] = ()
    creation_time_ms: int | None = None
    """Local wall clock of the writer encoded as if UTC (format T12)."""
    delete_row_count: int | None = None
    embedded_index: bytes | None = None
    file_source: FileSource | None = None
    value_stats_cols: tuple[str, ...] | None = None
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    write_cols_sequences: tuple[int, ...] | None = None
    extra: Mapping[str, object] = field(default_factory=dict, compare=False)
    """Members of ``_FILE`` that this release does not know."""
    update_row_count: int | None = field(default=None, compare=False)
    """How many rows are ``+U``, as the writer of a changelog file has counted.  Not stored: manifests know it of none."""

    def upgraded(self, level: int) -> DataFile:
        """The same file at another level."""
        return replace(self, level=level)

    @property
    def format(self) -> str:
        """``parquet``, ``orc``, ``avro`` ...: from the name, which is all that tells (format 1.3)."""
        return self.file_name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One line of a manifest."""

    kind: EntryKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFile

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two entries speak of one file; the level counts (format 4.6, T15)."""
        f = self.file
        return (
            self.partition,
            self.bucket,
            f.level,
            f.file_name,
            f.extra_files,
            f.embedded_index,
            f.external_path,
        )

    def without_stats(self) -> ManifestEntry:
        """The same entry, saying nothing about the values in the file."""
        file = replace(self.file, value_stats=EMPTY_STATS, value_stats_cols=())
        return replace(self, file=file)

    def deleted(self) -> ManifestEntry:
        """The entry that takes this file out."""
        return replace(self, kind=EntryKind.DELETE)
