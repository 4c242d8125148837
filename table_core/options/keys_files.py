"""Table options: files and formats.

Source: ``org.apache.paimon.CoreOptions``; format 13.
"""

from __future__ import annotations

from typing import Final

from table_core.options import fits, parse
from table_core.options.option import Option

__all__ = [
    "CHANGELOG_FILE_COMPRESSION",
    "CHANGELOG_FILE_FORMAT",
    "CHANGELOG_FILE_PREFIX",
    "CHANGELOG_FILE_STATS_MODE",
    "DATA_FILE_EXTERNAL_PATHS",
    "DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS",
    "DATA_FILE_EXTERNAL_PATHS_STRATEGY",
    "DATA_FILE_EXTERNAL_PATHS_WEIGHTS",
    "DATA_FILE_PATH_DIRECTORY",
    "DATA_FILE_PREFIX",
    "DATA_FILE_THIN_MODE",
    "FILE_BLOCK_SIZE",
    "FILE_COMPRESSION",
    "FILE_COMPRESSION_PER_LEVEL",
    "FILE_COMPRESSION_ZSTD_LEVEL",
    "FILE_FORMAT",
    "FILE_FORMAT_PER_LEVEL",
    "FILE_INDEX_IN_MANIFEST_THRESHOLD",
    "FILE_INDEX_READ_ENABLED",
    "FILE_OPERATION_THREAD_NUM",
    "FILE_SUFFIX_INCLUDE_COMPRESSION",
    "INDEX_FILE_IN_DATA_FILE_DIR",
    "METADATA_STATS_DENSE_STORE",
    "METADATA_STATS_KEEP_FIRST_N_COLUMNS",
    "METADATA_STATS_MODE",
    "METADATA_STATS_MODE_PER_LEVEL",
    "PARTITION_DEFAULT_NAME",
    "PARTITION_LEGACY_NAME",
    "READ_BATCH_SIZE",
    "READ_MEMORY_LIMIT",
    "TARGET_FILE_ROW_NUM",
    "TARGET_FILE_SIZE",
    "WRITE_BATCH_SIZE",
    "WRITE_MEMORY_LIMIT",
]

FILE_FORMAT: Final[Option[str]] = Option(
    "file.format",
    parse.text,
    "parquet",
    "format of data files: parquet, orc or avro",
    fits=fits.file_format,
)
FILE_FORMAT_PER_LEVEL: Final[Option[dict[int, str]]] = Option(
    "file.format.per.level",
    parse.level_map,
    {},
    "file format of each level, as level:format",
    fits=fits.level_values(fits.file_format),
)
FILE_COMPRESSION: Final[Option[str]] = Option(
    "file.compression", parse.text, "zstd", "codec of data files", fits=fits.codec
)
FILE_COMPRESSION_PER_LEVEL: Final[Option[dict[int, str]]] = Option(
    "file.compression.per.level",
    parse.level_map,
    {},
    "codec of each level, as level:codec",
    fits=fits.level_values(fits.codec),
)
FILE_COMPRESSION_ZSTD_LEVEL: Final[Option[int]] = Option(
    "file.compression.zstd-level",
    parse.integer,
    1,
    "zstd level of data files and manifests",
    fits=fits.ZSTD_LEVEL,
)
FILE_BLOCK_SIZE: Final[Option[int | None]] = Option(
    "file.block-size",
    parse.size_bytes,
    None,
    "size of a row group or stripe; default: that of the format",
    fits=fits.at_least(1),
)
FILE_SUFFIX_INCLUDE_COMPRESSION: Final[Option[bool]] = Option(
    "file.suffix.include.compression", parse.boolean, False, "put the codec into file names"
)
DATA_FILE_PREFIX: Final[Option[str]] = Option(
    "data-file.prefix",
    parse.text,
    "data-",
    "prefix of the names of data files",
    fits=fits.name_part,
)
CHANGELOG_FILE_PREFIX: Final[Option[str]] = Option(
    "changelog-file.prefix",
    parse.text,
    "changelog-",
    "prefix of the names of changelog files",
    fits=fits.name_part,
)
CHANGELOG_FILE_FORMAT: Final[Option[str | None]] = Option(
    "changelog-file.format",
    parse.text,
    None,
    "format of changelog files; default: that of data files",
    fits=fits.file_format,
)
CHANGELOG_FILE_COMPRESSION: Final[Option[str | None]] = Option(
    "changelog-file.compression",
    parse.text,
    None,
    "codec of changelog files; default: that of data files",
    fits=fits.codec,
)
CHANGELOG_FILE_STATS_MODE: Final[Option[str | None]] = Option(
    "changelog-file.stats-mode",
    parse.text,
    None,
    "statistics of changelog files; default: as for data files",
    fits=fits.stats_mode,
)
DATA_FILE_THIN_MODE: Final[Option[bool]] = Option(
    "data-file.thin-mode", parse.boolean, False, "leave the _KEY_ columns out of data files"
)
DATA_FILE_PATH_DIRECTORY: Final[Option[str | None]] = Option(
    "data-file.path-directory",
    parse.folder,
    None,
    "additional folder above the partitions",
    immutable=True,
)
DATA_FILE_EXTERNAL_PATHS: Final[Option[str | None]] = Option(
    "data-file.external-paths",
    parse.text,
    None,
    "folders outside the table for data files, as a list with commas",
)
DATA_FILE_EXTERNAL_PATHS_STRATEGY: Final[Option[str]] = Option(
    "data-file.external-paths.strategy",
    parse.choice("none", "specific-fs", "round-robin", "weight-robin", "entropy-inject"),
    "none",
    "how an external folder is chosen: none, specific-fs, round-robin, weight-robin or "
    "entropy-inject",
)
DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS: Final[Option[str | None]] = Option(
    "data-file.external-paths.specific-fs", parse.text, None, "scheme for the strategy specific-fs"
)
DATA_FILE_EXTERNAL_PATHS_WEIGHTS: Final[Option[str | None]] = Option(
    "data-file.external-paths.weights", parse.text, None, "weights for the strategy weight-robin"
)
INDEX_FILE_IN_DATA_FILE_DIR: Final[Option[bool]] = Option(
    "index-file-in-data-file-dir",
    parse.boolean,
    False,
    "store index files next to the data files",
    immutable=True,
)
TARGET_FILE_SIZE: Final[Option[int | None]] = Option(
    "target-file-size",
    parse.size_bytes,
    None,
    "size of data files; default: 128 MB with a primary key, 256 MB without",
    fits=fits.at_least(1),
)
TARGET_FILE_ROW_NUM: Final[Option[int]] = Option(
    "target-file-row-num",
    parse.long_integer,
    2**63 - 1,
    "rows after which a write starts the next file; compactions ignore it",
    fits=fits.at_least(1),
)
METADATA_STATS_MODE: Final[Option[str]] = Option(
    "metadata.stats-mode",
    parse.text,
    "truncate(16)",
    "statistics of columns: none, counts, truncate(n) or full",
    fits=fits.stats_mode,
)
METADATA_STATS_MODE_PER_LEVEL: Final[Option[dict[int, str]]] = Option(
    "metadata.stats-mode.per.level",
    parse.level_map,
    {},
    "statistics mode of each level, as level:mode",
    fits=fits.level_values(fits.stats_mode),
)
METADATA_STATS_DENSE_STORE: Final[Option[bool]] = Option(
    "metadata.stats-dense-store",
    parse.boolean,
    True,
    "leave columns with mode none out of the stored statistics",
)
METADATA_STATS_KEEP_FIRST_N_COLUMNS: Final[Option[int]] = Option(
    "metadata.stats-keep-first-n-columns",
    parse.integer,
    -1,
    "store statistics of only the first n columns; -1: all",
    fits=fits.at_least(-1),
)
FILE_INDEX_IN_MANIFEST_THRESHOLD: Final[Option[int]] = Option(
    "file-index.in-manifest-threshold",
    parse.size_bytes,
    500,
    "largest file index that is stored in the manifest",
)
FILE_INDEX_READ_ENABLED: Final[Option[bool]] = Option(
    "file-index.read.enabled", parse.boolean, True, "use file indexes when reading"
)
READ_BATCH_SIZE: Final[Option[int]] = Option(
    "read.batch-size", parse.integer, 1024, "rows of a batch when reading", fits=fits.at_least(1)
)
WRITE_BATCH_SIZE: Final[Option[int]] = Option(
    "write.batch-size",
    parse.integer,
    1024,
    "accepted, no effect: rows are written as they come",
    aliases=("orc.write.batch-size",),
)
PARTITION_DEFAULT_NAME: Final[Option[str]] = Option(
    "partition.default-name",
    parse.text,
    "__DEFAULT_PARTITION__",
    "folder name of a partition whose value is NULL or blank",
    fits=fits.name,
)
PARTITION_LEGACY_NAME: Final[Option[bool]] = Option(
    "partition.legacy-name",
    parse.boolean,
    True,
    "name partition folders by toString() of their values",
)
READ_MEMORY_LIMIT: Final[Option[int]] = Option(
    "read.memory-limit",
    parse.size_bytes,
    536870912,
    "memory limit of one merging read (an option of this library)",
    fits=fits.at_least(1),
)
WRITE_MEMORY_LIMIT: Final[Option[int | None]] = Option(
    "write.memory-limit",
    parse.size_bytes,
    None,
    "an upper limit for write-buffer-size (an option of this library)",
    fits=fits.at_least(1),
)
FILE_OPERATION_THREAD_NUM: Final[Option[int | None]] = Option(
    "file-operation.thread-num",
    parse.integer,
    None,
    "number of threads for deleting and listing files",
    aliases=("delete-file.thread-num",),
    fits=fits.at_least(1),
)
