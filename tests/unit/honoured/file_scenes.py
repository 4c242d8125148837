"""Options that say what files look like: names, forms, sizes, statistics."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import table_core as tc
from tests.tables import write_rows
from tests.unit.honoured.scenes import SCHEMA, files, footer, made, put, shows

Options = Mapping[str, str]


@shows("data-file.prefix", "rows-", "data-", "rows-")
def data_prefix(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return files(table, "bucket-0/")[0].partition("/")[2][:5]


@shows("changelog-file.prefix", "diff-", 0, 1)
def changelog_prefix(options: Options) -> Any:
    table = made(options, changelog_producer="input")
    put(table, [1])
    return len(files(table, "/diff-"))


@shows("data-file.path-directory", "inner", False, True)
def directory(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return files(table, "data-")[0].startswith("inner/")


@shows("file.suffix.include.compression", "true", "parquet", "zstd.parquet")
def suffix(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return files(table, "/data-")[0].split(".", 1)[1]


@shows("file.format", "orc", "parquet", "orc")
def format_of_data(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    assert table.read().to_arrow().num_rows == 1
    return files(table, "/data-")[0].rsplit(".", 1)[1]


@shows("changelog-file.format", "avro", "parquet", "avro")
def format_of_changelog(options: Options) -> Any:
    table = made(options, changelog_producer="input")
    put(table, [1])
    return files(table, "/changelog-")[0].rsplit(".", 1)[1]


@shows("file.format.per.level", "0:avro,5:orc", {"parquet"}, {"avro", "orc"})
def format_per_level(options: Options) -> Any:
    table = made(options, write_only="true")
    put(table, [1])
    table.compact()
    return {path.rsplit(".", 1)[1] for path in files(table, "/data-")}


@shows("file.compression", "snappy", "ZSTD", "SNAPPY")
def compression(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    return footer(table).row_group(0).column(0).compression


@shows("changelog-file.compression", "snappy", "ZSTD", "SNAPPY")
def compression_of_changelog(options: Options) -> Any:
    table = made(options, changelog_producer="input")
    put(table, [1])
    return footer(table, "/changelog-").row_group(0).column(0).compression


@shows("file.compression.per.level", "0:snappy,5:zstd", {"ZSTD"}, {"ZSTD", "SNAPPY"})
def compression_per_level(options: Options) -> Any:
    table = made(options, write_only="true")
    put(table, [1])
    put(table, [1])
    first = footer(table).row_group(0).column(0).compression
    old = set(files(table, "/data-"))
    table.compact()
    (new,) = set(files(table, "/data-")) - old
    return {first, footer(table, new).row_group(0).column(0).compression}


@shows("file.compression.zstd-level", "19", "as wide", "narrower")
def compression_level(options: Options) -> Any:
    keys = [(i * 7919) % 100_003 for i in range(40_000)]
    plain, table = made(keys=()), made(options, keys=())
    put(plain, keys)
    put(table, keys)
    sizes = [
        sum(t.system("files").to_arrow()["file_size_in_bytes"].to_pylist()) for t in (plain, table)
    ]
    return "narrower" if sizes[1] < sizes[0] else "as wide"


@shows("file.block-size", "64 kb", 1, "many")
def block_size(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(200_000))
    groups = footer(table).num_row_groups
    return groups if groups == 1 else "many"


@shows("parquet.enable.dictionary", "false", True, False)
def dictionary(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(10))
    return "RLE_DICTIONARY" in footer(table).row_group(0).column(2).encodings


@shows("target-file-row-num", "2", 1, 3)
def rows_of_a_file(options: Options) -> Any:
    table = made(options, keys=())
    put(table, range(5))
    return len(files(table, "/data-"))


@shows("target-file-size", "1 kb", 1, "many")
def size_of_a_file(options: Options) -> Any:
    table = made({"file.block-size": "16 kb", **options}, keys=())
    put(table, range(300_000))  # it is looked at from time to time
    found = len(files(table, "/data-"))
    return found if found == 1 else "many"


@shows("data-file.thin-mode", "true", True, False)
def thin(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    assert table.read().to_arrow()["k"].to_pylist() == [1]
    return "_KEY_k" in footer(table).schema.names


@shows("metadata.stats-mode", "none", True, False)
def statistics(options: Options) -> Any:
    table = made(options, keys=())
    put(table, [1])
    return "k=1" in (table.system("files").to_arrow().to_pylist()[0]["min_value_stats"] or "")


@shows("metadata.stats-mode.per.level", "0:none", True, False)
def statistics_per_level(options: Options) -> Any:
    table = made(options, write_only="true")
    put(table, [1])
    return "v=1" in (table.system("files").to_arrow().to_pylist()[0]["min_value_stats"] or "")


@shows("metadata.stats-keep-first-n-columns", "1", True, False)
def statistics_of_first(options: Options) -> Any:
    table = made(options, keys=())
    put(table, [1])
    return "v=1" in (table.system("files").to_arrow().to_pylist()[0]["min_value_stats"] or "")


@shows("metadata.stats-dense-store", "false", ("k",), None)
def dense_statistics(options: Options) -> Any:
    """A dense entry names the columns that have statistics, and leaves the others out."""
    table = made(options, keys=(), metadata__stats_keep_first_n_columns="1")
    put(table, [1])
    (entry,) = table.access.live_entries(table.latest_snapshot())
    named = entry.file.value_stats_cols
    return None if named is None else tuple(named)


@shows("partition.default-name", "__none__", True, False)
def name_of_null(options: Options) -> Any:
    table = made(options, keys=(), by=("dt",))
    put(table, [1], dt=None)
    return bool(files(table, "dt=__DEFAULT_PARTITION__"))


@shows("manifest.compression", "null", b"zstandard", b"null")
def manifest_codec(options: Options) -> Any:
    table = made(options)
    put(table, [1])
    body = table.access.storage.read(files(table, "manifest/manifest-list")[0])
    return b"zstandard" if b"zstandard" in body else b"null"


@shows("manifest.target-file-size", "1 b", 2, 5)
def manifest_size(options: Options) -> Any:
    """Manifests below the size are merged when there are enough of them."""
    table = made(options, keys=(), manifest__merge_min_count="2", write_only="true")
    for key in range(5):
        put(table, [key])
    return table.system("manifests").to_arrow().num_rows


@shows("manifest.merge-min-count", "2", 3, "fewer")
def manifest_merges(options: Options) -> Any:
    table = made(options, keys=(), write_only="true")
    for key in range(3):
        put(table, [key])
    found = table.system("manifests").to_arrow().num_rows
    return found if found == 3 else "fewer"


@shows("bucket", "3", {"bucket-0"}, {"bucket-0", "bucket-1", "bucket-2"})
def buckets(options: Options) -> Any:
    table = made(options)
    put(table, range(50))
    return {path.split("/")[0] for path in files(table, "bucket-")}


@shows("bucket-key", "k", True, False)
def bucket_key(options: Options) -> Any:
    """Whether rows of one ``k`` lie in several buckets."""
    table = made(options, keys=("k", "v"), bucket="7")
    for plus in range(4):
        put(table, [1], plus=plus)
    return len({path.split("/")[0] for path in files(table, "/data-")}) > 1


@shows("bucket-function.type", "mod", False, True)
def bucket_function(options: Options) -> Any:
    table = made(options, keys=(), bucket="4", bucket_key="k")
    put(table, [6])
    return files(table, "/data-")[0].startswith("bucket-2/")


@shows("index-file-in-data-file-dir", "true", "index/", "bucket-0/")
def index_directory(options: Options) -> Any:
    table = made(options, keys=(), deletion_vectors__enabled="true")
    put(table, range(10))
    table.delete("k = 3")
    return files(table, "/index-")[0].partition("index-")[0]


@shows("deletion-vectors.bitmap64", "true", 0, 1)
def wide_vectors(options: Options) -> Any:
    """A vector of 64 bits begins with another magic number."""
    table = made(options, keys=(), deletion_vectors__enabled="true")
    put(table, range(10))
    table.delete("k = 3")
    body = table.access.storage.read(files(table, "index/")[0])
    return int((1681511377).to_bytes(4, "little") in body)


@shows("partition.legacy-name", "false", True, False)
def legacy_name(options: Options) -> Any:
    """A date was written as its number of days once."""
    catalog = tc.open_catalog(f"memory://{uuid.uuid4().hex}")
    catalog.create_database("d")
    schema = SCHEMA.append(pa.field("day", pa.date32()))
    table = catalog.create_table(
        "d.t", schema, partition_by=("day",), options={"bucket": "-1", **options}
    )
    data = pa.table({"k": [1], "v": [1], "dt": ["a"], "day": [20_000]}, schema=schema)
    write_rows(table, data)
    return bool(files(table, "day=20000/"))
